"""Agents on this machine: who is here, connecting them, and whether the connection works."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from byheart import __version__, extensions
from byheart.agents import register
from byheart.agents.agent import connectable, every
from byheart.agents.installing.connections import Connections
from byheart.agents.installing.pieces import AgentStatus, Installed, InstallTarget, PieceKind
from byheart.domain.documents import Place
from byheart.domain.errors import BadInput, Conflict, NothingFound, Refused
from byheart.storage import background
from byheart.storage.files.disk import DiskFiles
from byheart.text.deferred import module

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from byheart.agents.installing.pieces import Recipe
    from byheart.agents.reading import folders
    from byheart.app.open import OpenMemory, Surroundings
    from byheart.learning import handbook_files, linking
    from byheart.learning.handbook_files import HandbookFiles
else:
    # Only linking needs them.
    folders = module("byheart.agents.reading.folders")
    handbook_files = module("byheart.learning.handbook_files")
    linking = module("byheart.learning.linking")

USER = "user"
_SECONDS = 20
# Files of agents' that hold their whole state may be large.
_LARGEST = 64_000_000


def names() -> tuple[str, ...]:
    """Every agent that can be connected."""
    return tuple(connectable())


def agent_called(name: str) -> str:
    """An agent's own name from what somebody types: the name itself, or a beginning that only one has. Raises BadInput with the nearest."""
    known = names()
    fitting = [each for each in known if each == name] or [each for each in known if name and each.startswith(name)]
    if len(fitting) == 1:
        return fitting[0]
    import difflib

    near = fitting or difflib.get_close_matches(name, known, 3, 0.5)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Known agents: {', '.join(known)}"
    raise BadInput(f"Unknown agent {name!r}. {hint}")


def launcher() -> tuple[str, ...]:
    """The words that call this byheart from anywhere."""
    beside = os.path.join(os.path.dirname(sys.executable), "byheart")
    return (beside,) if os.access(beside, os.X_OK) else (sys.executable, "-m", "byheart")


def plugin(opened: OpenMemory, around: Surroundings, agent: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """An agent's plugin as files by path, and the commands that add it."""
    plugins = {name: known for name, known in connectable().items() if known.plugin}
    known = plugins.get(agent)
    if known is None or known.plugin is None:
        raise BadInput(f"there is no plugin for {agent!r}; there are {', '.join(plugins)}")
    _put_gate(opened)
    return known.plugin(_target(opened, around, None), extensions.text), known.plugin_commands


def recipe(opened: OpenMemory, around: Surroundings, agent: str, project: str | None) -> Recipe:
    """How an agent is connected here."""
    known = connectable().get(agent)
    if known is None or known.recipe is None:
        raise BadInput(f"Unknown agent {agent!r}. Known agents: {', '.join(names())}")
    return known.recipe(_target(opened, around, project), extensions.text)


def _target(opened: OpenMemory, around: Surroundings, project: str | None) -> InstallTarget:
    """Where agents' files lie, and how byheart is called from there."""
    home = around.environment.get("HOME") or os.path.expanduser("~")
    chosen = around.environment.get("BYHEART_HOME")
    settings = opened.config.brief
    return InstallTarget(
        home=home,
        environment=dict(around.environment),
        command=launcher(),
        # An agent hands its servers no more of the environment than it likes.
        variables={"BYHEART_HOME": chosen} if chosen else {},
        version=__version__,
        project=project,
        moments=opened.config.moments.enabled,
        gate=os.path.join(opened.home, "bin", "byheart"),
        system=sys.platform,
        tokens=settings.tokens,
    )


def connections(home: str) -> Connections:
    """What of ours is in agents' files."""
    return Connections(DiskFiles(file_bytes=_LARGEST), home, os.path.isdir, _prune)


def _prune(folder: str) -> None:
    """Take a folder away that holds nothing."""
    if os.path.isdir(folder) and not os.listdir(folder):
        os.rmdir(folder)


def here(opened: OpenMemory, around: Surroundings) -> list[str]:
    """The agents that are on this machine: their program is, or their folder."""
    return [name for name in names() if _is_here(recipe(opened, around, name, None), around)]


def _is_here(found: Recipe, around: Surroundings) -> bool:
    path = around.environment.get("PATH", os.defpath)
    return any(os.path.isdir(folder) for folder in found.folders) or any(
        shutil.which(each, path=path) for each in found.programs
    )


def scope_of(project: str | None) -> str:
    """What a connection is recorded under."""
    return f"project {project}" if project else USER


def install(
    opened: OpenMemory, around: Surroundings, agent: str, project: str | None, *, dry: bool, trust: bool = True
) -> Installed:
    """Connect an agent, or only say what that would change."""
    found = recipe(opened, around, agent, project)
    known = connections(opened.home)
    if dry:
        return known.planned(found, scope_of(project))
    notes: list[str] = []
    with_trust = connectable()[agent].trust
    if with_trust:
        notes = [connectable()[agent].trust_by_hand]
        hooks = next(
            (each for each in known.planned(found, scope_of(project)).changes if each.path.endswith("hooks.json")), None
        )
        if trust and hooks is not None and hooks.after is not None:
            found, notes = with_trust(found, hooks.after, os.path.realpath(hooks.path), dict(around.environment))
    _put_gate(opened)
    with _alone(opened.home), uninterrupted():
        done = known.connect(found, scope_of(project))
    done.notes += notes
    return done


def _put_gate(opened: OpenMemory) -> None:
    """Write the script that agents' hooks call."""
    command = launcher()
    chosen = os.environ.get("BYHEART_HOME")
    gone = f"byheart is gone from {command[0]}. Install it again and run: byheart install --all"
    text = (
        extensions.text("gate.sh")
        .replace("{{home}}", shlex.quote(opened.home))
        .replace("{{python}}", shlex.quote(command[0]))
        .replace("{{gone}}", shlex.quote(json.dumps({"systemMessage": gone})))
        .replace("{{variables}}", f"export BYHEART_HOME={shlex.quote(opened.home)}" if chosen else ":")
        .replace("{{command}}", shlex.join(command))
    )
    place = Place(opened.home, "bin/byheart")
    held = DiskFiles().read(place)
    if held.text != text:
        try:
            DiskFiles().write(place, text, held.digest)
        except Conflict:
            # Another install wrote it at the same moment.
            return


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A stretch that Ctrl-C does not cut in two: an agent's files and the record of what was put into them belong together. It is
    obeyed where the stretch ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def _alone(home: str) -> AbstractContextManager[None]:
    """One byheart at a time changes agents' files: what it did is written down at the end."""
    return background.waited_for(os.path.join(home, "state", "install.lock"))


def uninstall(opened: OpenMemory, agent: str, scope: str, *, dry: bool) -> Installed:
    """Disconnect an agent."""
    with _alone(opened.home), uninterrupted():
        return connections(opened.home).disconnect(agent, scope, dry=dry)


def installed(opened: OpenMemory) -> list[tuple[str, str]]:
    """What is connected: (agent, scope)."""
    return recorded(opened.home)


def recorded(home: str) -> list[tuple[str, str]]:
    """What is connected to a home: (agent, scope)."""
    return [(each["agent"], each["scope"]) for each in connections(home).record().values()]


def statuses(
    opened: OpenMemory, around: Surroundings, chosen: Sequence[str] = (), *, live: bool = True
) -> list[AgentStatus]:
    """How each agent stands. A live check calls the hook and the server as the agent would."""
    known = connections(opened.home)
    record = known.record()
    found = []
    for name in chosen or names():
        own = recipe(opened, around, name, None)
        scopes = tuple(each["scope"] for each in record.values() if each["agent"] == name)
        problems = []
        for scope in scopes:
            project = scope.removeprefix("project ") if scope != USER else None
            planned = known.planned(known.with_recorded(recipe(opened, around, name, project), scope), scope)
            problems += [planned.problem] if planned.problem else []
            problems += [
                f"{change.path} is not as byheart install would write it"
                for change in planned.changes
                if change.is_change
            ]
        works: list[tuple[str, str]] = []
        if scopes and live:
            texts = [
                text
                for each in record.values()
                if each["agent"] == name
                for path in each["files"]
                if (text := _file(path))
            ]
            hook, server = _written(texts, name)
            mend = f"Rewrite it with: byheart install {name}"
            if _has_server(own):
                is_there = server is not None or any(_BRINGS_SERVER.search(text) for text in texts)
                works.append(("server", _server(around, server) if is_there else "is not in its settings"))
                problems += [] if is_there else [f"no memory server is in its settings. {mend}"]
            if any(_OFF.search(text) for text in texts):
                works.append(("hook", "switched off"))
                problems.append("hooks are switched off in its settings (disableAllHooks)")
            elif hook is None and _has_hook(own):
                works.append(("hook", "is not in its settings"))
                problems.append(f"no hook for a session's start is in its settings. {mend}")
            else:
                how, wrong = _hook(around, name, hook)
                works.append(("hook", how))
                problems += [wrong] if wrong else []
        found.append(
            AgentStatus(agent=name, is_here=_is_here(own, around), version=_version(own, around) if live else "", scopes=scopes, works=tuple(works), problems=tuple(problems))
        )  # fmt: skip
    return found


def _file(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read(_LARGEST)
    except OSError:
        return ""


def _has_server(found: Recipe) -> bool:
    return any("mcp" in piece.path.lower() or "mcp" in str(piece.at).lower() or piece.kind is PieceKind.BLOCK or "mcpServers" in piece.text for piece in found.pieces)  # fmt: skip


def _has_hook(found: Recipe) -> bool:
    """Whether a recipe puts a command for the start of a session into a file that we can read back."""
    return any("hook session-start" in f"{piece.value}{piece.text}" for piece in found.pieces)


def _version(found: Recipe, around: Surroundings) -> str:
    """What an agent says of its version."""
    path = around.environment.get("PATH", os.defpath)
    program = next((there for each in found.programs if (there := shutil.which(each, path=path))), None)
    if program is None:
        return ""
    told = _told([program, "--version"], b"", around)
    return told.strip().split("\n")[0][:60]


# What keeps a hook quiet whose script is gone.
_GUARDED = re.compile(r"^\[ ! -r (.+?) \] \|\|")
_HOOKED = re.compile(r'"((?:[^"\\]|\\.)*\bhook session-start\b(?:[^"\\]|\\.)*)"')
_WORDS = re.compile(r'\[\s*"(/(?:[^"\\]|\\.)*)"((?:\s*,\s*"(?:[^"\\]|\\.)*")*)\s*\]')
_SERVED = re.compile(r'"command"\s*:\s*"((?:[^"\\]|\\.)*)"\s*,\s*"args"\s*:\s*\[([^\]]*"mcp"[^\]]*)\]')
_SERVED_ARRAY = re.compile(
    r'"byheart"\s*:\s*\{[^{}]*"command"\s*:\s*(\[\s*"(?:[^"\\]|\\.)*"(?:\s*,\s*"(?:[^"\\]|\\.)*")*\s*\])'
)
_BRINGS_SERVER = re.compile(r'"mcp"|\bmcp\b.{0,200}\bbyheart\b|\bbyheart\b.{0,200}\bmcp\b', re.DOTALL)
_OFF = re.compile(r'"disableAllHooks"\s*:\s*true')
_SERVED_TOML = re.compile(r'command = ("(?:[^"\\]|\\.)*")\nargs = (\[[^\]]*"mcp"[^\]]*\])')


def _written(texts: Sequence[str], client: str) -> tuple[list[str] | None, list[str] | None]:
    """The commands that an agent's own files have for the hook and for the server; None where they have none."""
    hook: list[str] | None = None
    server: list[str] | None = None
    for text in texts:
        if hook is None and (found := _HOOKED.search(text)):
            hook = ["sh", "-c", str(json.loads(f'"{found[1]}"'))]
        elif hook is None and "session-start" in text and (found := _WORDS.search(text)):
            hook = [*json.loads(found[0]), "hook", "session-start", "--client", client]
        if server is None and (found := _SERVED.search(text)):
            server = [str(json.loads(f'"{found[1]}"')), *json.loads(f"[{found[2]}]")]
        elif server is None and (found := _SERVED_ARRAY.search(text)):
            server = list(json.loads(found[1]))
        elif server is None and (found := _SERVED_TOML.search(text)):
            server = [str(json.loads(found[1])), *json.loads(found[2])]
    return hook, server


def _server(around: Surroundings, words: list[str] | None) -> str:
    """Whether the server answers that an agent would start."""
    ask = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}},
    }
    command = words or [*launcher(), "mcp"]
    _, told = _ran(command, json.dumps(ask).encode() + b"\n", around)
    return "answers" if '"serverInfo"' in told else f"does not answer ({shlex.join(command)})"


def _hook(around: Surroundings, client: str, words: list[str] | None) -> tuple[str, str]:
    """What the hook at a session's start would tell, and what is wrong with it."""
    if client not in register.CLIENTS:
        return "none needed", ""
    given = json.dumps({"cwd": around.folder, "hook_event_name": "SessionStart"}).encode()
    command = words or [*launcher(), "hook", "session-start", "--client", client]
    code, told = _ran(command, given, around)
    guarded = _GUARDED.search(command[2]) if command[:2] == ["sh", "-c"] else None
    gate = shlex.split(guarded[1])[0] if guarded else ""
    if gate and not os.access(gate, os.R_OK):
        return "does not run", f"the hook in its settings calls {gate}, which is gone; run: byheart install {client}"
    if "systemMessage" in told and "byheart is gone from" in told:
        return "does not run", f"{json.loads(told)['systemMessage']}"
    if code:
        shown = command[2] if command[:2] == ["sh", "-c"] else shlex.join(command)
        return (
            "does not run",
            f"the hook in its settings fails with exit code {code}: {shown}. Rewrite it with: byheart install {client}",
        )
    size = len(_brief_in(told))
    return (f"OK (brief: {size:,} characters)" if size else "OK (nothing to tell here yet)"), ""


def _brief_in(told: str) -> str:
    """What of a hook's answer reaches the model."""
    try:
        found = json.loads(told)
    except ValueError:
        return told
    inner = found.get("hookSpecificOutput", found) if isinstance(found, dict) else {}
    return (
        str(inner.get("additionalContext") or inner.get("additional_context") or "") if isinstance(inner, dict) else ""
    )


def _told(words: list[str], given: bytes, around: Surroundings) -> str:
    return _ran(words, given, around)[1]


def _ran(words: list[str], given: bytes, around: Surroundings) -> tuple[int, str]:
    # Whoever only tries a hook is told nothing that is said once.
    environment = {**around.environment, "BYHEART_CHECK": "1"}
    environment.pop("BYHEART_CHILD", None)
    try:
        done = subprocess.run(words, input=given, capture_output=True, timeout=_SECONDS, env=environment, cwd=around.folder, check=False)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return 127, ""
    return done.returncode, done.stdout.decode("utf-8", "replace")


def linkable() -> list[str]:
    """The agents that keep a handbook of their own that ours can be linked with."""
    return sorted(agent.installed_as for agent in every().values() if agent.handbook)


def link(opened: OpenMemory, around: Surroundings, agent: str, *, writes: bool) -> tuple[list[str], list[str]]:
    """Link this project's handbook with an agent's own: which of our files came of theirs, and which of theirs were written."""
    own = _own_handbook(opened)
    found = next((each for each in every().values() if each.handbook and agent in (each.name, each.installed_as)), None)
    if found is None or found.handbook is None:
        raise BadInput(f"{agent!r} keeps no handbook of its own. byheart link works with: {', '.join(linkable())}")
    machine = folders.Machine(
        home=around.environment.get("HOME") or os.path.expanduser("~"), environment=dict(around.environment)
    )
    theirs = found.handbook(machine, opened.project.folder)
    known = linking.links(own)
    mine = next((each for each in known if each.agent == found.installed_as), None)
    if mine is not None and mine.writes and not writes:
        raise Refused(
            f"byheart writes {found.installed_as}'s handbook. Stop that first with: byheart unlink {found.installed_as}"
        )
    if mine is None:
        mine = linking.Link(
            agent=found.installed_as, folder=theirs.folder, cwd=opened.project.folder, is_shared=theirs.is_shared
        )
        known.append(mine)
    mine.writes = writes
    linking.kept(own, known)
    came = linking.taken_in(own)
    opened.memory.context.drop_briefs()
    return came, linking.handed_out(own)


def unlink(opened: OpenMemory, agent: str) -> list[str]:
    """Undo a link; the agent's files that changed."""
    own = _own_handbook(opened)
    if agent not in [each.agent for each in linking.links(own)]:
        raise NothingFound(f"{agent} is not linked with this project. See what is with: byheart link")
    changed = linking.cut(own, agent)
    opened.memory.context.drop_briefs()
    return changed


def linked(opened: OpenMemory) -> list[Mapping[str, object]]:
    """What this project's handbook is linked with."""
    return linking.told(_own_handbook(opened))


def _own_handbook(opened: OpenMemory) -> HandbookFiles:
    return handbook_files.handbook_files_of(opened.memory.context, opened.home, opened.project.id)
