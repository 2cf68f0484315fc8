"""Where each agent keeps its transcripts on this machine, by its own rules and its own variables."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

from byheart.agents.transcripts import goose, openclaw, opencode
from byheart.domain.sessions import Found
from byheart.domain.values import dataclass

_SKIPPED = frozenset({"memory", "tool-results", "node_modules", ".git"})
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_SERVERS = (".vscode-server", ".vscode-server-insiders", ".cursor-server", ".windsurf-server")
EXTENSIONS = {"saoudrizwan.claude-dev": "cline", "rooveterinaryinc.roo-cline": "roo", "kilocode.kilo-code": "kilo-code"}
# How deep a folder tree is followed; agents nest a handful of levels.
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Machine:
    """The user's home, the environment, and the project folders that may hold transcripts of their own."""

    home: str
    environment: Mapping[str, str]
    projects: tuple[str, ...] = ()

    def variable(self, name: str, default: str) -> str:
        """A folder that a variable may move; a blank one counts as unset."""
        chosen = self.environment.get(name, "").strip()
        return os.path.expanduser(chosen) if chosen else os.path.join(self.home, default)

    @property
    def data(self) -> str:
        return self.variable("XDG_DATA_HOME", ".local/share")


def _file(agent: str, path: str) -> Found | None:
    try:
        path.encode("utf-8")
        status = os.stat(path)
    except (OSError, ValueError):
        # A name that is no text cannot be kept, and is no agent's.
        return None
    return Found(agent=agent, path=path, size=status.st_size, modified=status.st_mtime_ns, inode=status.st_ino)


def walked(folder: str, depth: int = _DEEPEST) -> Iterator[str]:
    """All ordinary files below a folder. Links to folders are not followed, so no circle can hold us."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                if depth > 0 and entry.name not in _SKIPPED:
                    yield from walked(entry.path, depth - 1)
            elif entry.is_file():
                yield entry.path
        except OSError:
            continue


def _files(agent: str, folder: str, *endings: str, depth: int = _DEEPEST) -> Iterator[Found]:
    for path in walked(folder, depth):
        if path.endswith(endings) and (found := _file(agent, path)):
            yield found


def claude_code(machine: Machine) -> Iterator[Found]:
    """~/.claude/projects, or where CLAUDE_CONFIG_DIR says; ~/.config/claude before that."""
    chosen = machine.environment.get("CLAUDE_CONFIG_DIR", "")
    folders = [os.path.expanduser(each.strip()) for each in chosen.split(",") if each.strip()]
    folders = folders or [os.path.join(machine.home, ".claude"), os.path.join(machine.home, ".config/claude")]
    for folder in folders:
        for found in _files("claude-code", os.path.join(folder, "projects"), ".jsonl"):
            if os.path.basename(found.path) != "journal.jsonl":
                yield found


def codex_home(machine: Machine) -> str:
    """~/.codex, or CODEX_HOME."""
    return machine.variable("CODEX_HOME", ".codex")


def codex(machine: Machine) -> Iterator[Found]:
    """Live and archived rollouts; a packed one only where the plain one is gone."""
    for folder in ("sessions", "archived_sessions"):
        every = list(_files("codex", os.path.join(codex_home(machine), folder), ".jsonl", ".jsonl.zst", ".json"))
        plain = {found.path for found in every}
        for found in every:
            if not (found.path.endswith(".zst") and found.path.removesuffix(".zst") in plain):
                yield found


def pi(machine: Machine) -> Iterator[Found]:
    """~/.pi/agent/sessions, or PI_CODING_AGENT_DIR/sessions."""
    yield from _files("pi", os.path.join(machine.variable("PI_CODING_AGENT_DIR", ".pi/agent"), "sessions"), ".jsonl")


def oh_my_pi(machine: Machine) -> Iterator[Found]:
    """~/.omp/agent/sessions, profiles, and the XDG folders."""
    own = (
        machine.variable("PI_CONFIG_DIR", ".omp")
        if os.path.isabs(machine.environment.get("PI_CONFIG_DIR", ""))
        else os.path.join(machine.home, machine.environment.get("PI_CONFIG_DIR", "") or ".omp")
    )
    folders = [os.path.join(own, "agent"), os.path.join(machine.data, "omp")]
    folders += [os.path.join(own, "profiles", name, "agent") for name in _names(os.path.join(own, "profiles"))]
    for folder in folders:
        yield from _files("oh-my-pi", os.path.join(folder, "sessions"), ".jsonl")


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def open_claw(machine: Machine) -> Iterator[Found]:
    """~/.openclaw/agents/*: a store, or JSON lines in versions before it."""
    agents = os.path.join(machine.variable("OPENCLAW_STATE_DIR", ".openclaw"), "agents")
    for name in _names(agents):
        store = os.path.join(agents, name, "agent", "openclaw-agent.sqlite")
        if os.path.isfile(store):
            yield from openclaw.in_store(store)
        yield from _files("openclaw", os.path.join(agents, name, "sessions"), ".jsonl")


def gemini(machine: Machine) -> Iterator[Found]:
    """~/.gemini/tmp/*/chats, below GEMINI_CLI_HOME where that is set."""
    base = os.path.join(machine.variable("GEMINI_CLI_HOME", ""), ".gemini", "tmp")
    for name in _names(base):
        every = list(_files("gemini", os.path.join(base, name, "chats"), ".json", ".jsonl"))
        newer = {found.path for found in every}
        for found in every:
            if not (found.path.endswith(".json") and f"{found.path}l" in newer):
                yield found


def qwen(machine: Machine) -> Iterator[Found]:
    """~/.qwen/projects/*/chats, and sub-agents beside them."""
    base = os.path.join(machine.home, ".qwen", "projects")
    for name in _names(base):
        for folder in ("chats", "subagents"):
            yield from _files("qwen", os.path.join(base, name, folder), ".jsonl")


def open_code(machine: Machine, name: str = "opencode") -> Iterator[Found]:
    """The store in the data folder, and the JSON trees of earlier versions where there is no store."""
    base = os.path.join(machine.data, name)
    there = [each for each in _names(base) if each.endswith(".db") and each.startswith(name)]
    for each in there:
        yield from opencode.in_store(os.path.join(base, each), name)
    if not there:
        yield from opencode.in_folder(os.path.join(base, "storage"), name)
        for project in _names(os.path.join(base, "project")):
            yield from opencode.in_folder(os.path.join(base, "project", project, "storage"), name)


def kilo(machine: Machine) -> Iterator[Found]:
    """The same layout under another name."""
    return open_code(machine, "kilo")


def copilot(machine: Machine) -> Iterator[Found]:
    """~/.copilot, or COPILOT_HOME; XDG_STATE_HOME/.copilot in early versions."""
    folders = [machine.variable("COPILOT_HOME", ".copilot")]
    if state := machine.environment.get("XDG_STATE_HOME", ""):
        folders.append(os.path.join(state, ".copilot"))
    for folder in folders:
        yield from _files("copilot", os.path.join(folder, "session-state"), ".jsonl", depth=1)
        yield from _files("copilot", os.path.join(folder, "history-session-state"), ".json", depth=0)


def cursor(machine: Machine) -> Iterator[Found]:
    """~/.cursor/projects/*/agent-transcripts."""
    base = os.path.join(machine.home, ".cursor", "projects")
    for name in _names(base):
        yield from _files("cursor", os.path.join(base, name, "agent-transcripts"), ".jsonl", ".txt")


def aider(machine: Machine) -> Iterator[Found]:
    """A history file in each repository, or where AIDER_CHAT_HISTORY_FILE says."""
    chosen = machine.environment.get("AIDER_CHAT_HISTORY_FILE", "")
    paths = [os.path.expanduser(chosen)] if os.path.isabs(chosen) else []
    paths += [os.path.join(folder, chosen or ".aider.chat.history.md") for folder in machine.projects]
    for path in dict.fromkeys(paths):
        if os.path.isfile(path) and (found := _file("aider", path)):
            yield found


def specstory(machine: Machine) -> Iterator[Found]:
    """.specstory/history in each project."""
    for folder in machine.projects:
        yield from _files("specstory", os.path.join(folder, ".specstory", "history"), ".md", depth=0)


def goose_sessions(machine: Machine) -> Iterator[Found]:
    """The data folder's sessions: a store, and the lines that were not taken over into it."""
    folders = [os.path.join(machine.data, "goose", "sessions")]
    if root := machine.environment.get("GOOSE_PATH_ROOT", ""):
        folders = [os.path.join(root, "data", "sessions")]
    elif sys.platform == "darwin":
        folders.append(os.path.join(machine.home, "Library/Application Support/Block/goose/sessions"))
    for folder in folders:
        store = os.path.join(folder, "sessions.db")
        stored = list(goose.in_store(store)) if os.path.isfile(store) else []
        yield from stored
        names = {found.part for found in stored}
        for found in _files("goose", folder, ".jsonl", depth=0):
            if os.path.basename(found.path).removesuffix(".jsonl") not in names:
                yield found


def cline(machine: Machine) -> Iterator[Found]:
    """The CLI's sessions, and the task folders of the editor extensions."""
    own = os.path.join(machine.variable("CLINE_DIR", ".cline"), "data")
    for name in _names(os.path.join(own, "sessions")):
        yield from _files("cline", os.path.join(own, "sessions", name), ".messages.json", depth=1)
    yield from _tasks("cline", own)
    bases = [os.path.join(machine.home, server, "data") for server in _SERVERS]
    settings = "Library/Application Support" if sys.platform == "darwin" else ".config"
    bases += [os.path.join(machine.variable("XDG_CONFIG_HOME", settings), editor) for editor in _EDITORS]
    for base in bases:
        for extension, agent in EXTENSIONS.items():
            yield from _tasks(agent, os.path.join(base, "User", "globalStorage", extension))


def _tasks(agent: str, folder: str) -> Iterator[Found]:
    for name in _names(os.path.join(folder, "tasks")):
        path = os.path.join(folder, "tasks", name, "api_conversation_history.json")
        if os.path.isfile(path) and (found := _file(agent, path)):
            yield found


def continue_sessions(machine: Machine) -> Iterator[Found]:
    """~/.continue/sessions, or CONTINUE_GLOBAL_DIR/sessions."""
    folder = os.path.join(machine.variable("CONTINUE_GLOBAL_DIR", ".continue"), "sessions")
    for found in _files("continue", folder, ".json", depth=0):
        if os.path.basename(found.path) != "sessions.json":
            yield found


def vibe(machine: Machine) -> Iterator[Found]:
    """~/.vibe/logs/session/unified, or below VIBE_HOME; a new generation makes a new CURRENT."""
    base = os.path.join(machine.variable("VIBE_HOME", ".vibe"), "logs/session/unified")
    for name in _names(base):
        meta, current = (_file("vibe", os.path.join(base, name, each)) for each in ("meta.json", "CURRENT"))
        if meta and current:
            yield Found(
                agent="vibe",
                path=meta.path,
                size=meta.size + current.size,
                modified=max(meta.modified, current.modified),
                inode=meta.inode,
            )


def openhands(machine: Machine) -> Iterator[Found]:
    """~/.openhands/conversations, a file for each event."""
    base = os.path.join(machine.variable("OPENHANDS_PERSISTENCE_DIR", ".openhands"), "conversations")
    for name in _names(base):
        state, events = os.path.join(base, name, "base_state.json"), os.path.join(base, name, "events")
        found = _file("openhands", state) if os.path.isfile(state) else None
        folder = _file("openhands", events)
        if found and folder:
            yield Found(
                agent="openhands",
                path=state,
                size=len(_names(events)),
                modified=max(found.modified, folder.modified),
                inode=found.inode,
            )


def swe_agent(machine: Machine) -> Iterator[Found]:
    """trajectories/ in each project."""
    for folder in machine.projects:
        yield from _files("swe-agent", os.path.join(folder, "trajectories"), ".traj", depth=4)


def any_folder(folders: tuple[str, ...]) -> Iterator[Found]:
    """Everything in the folders that the user named; what each file is shows when it is read."""
    endings = (".jsonl", ".jsonl.zst", ".json", ".md", ".traj", ".db", ".sqlite", ".txt")
    for folder in folders:
        for found in [_file("folder", folder)] if os.path.isfile(folder) else _files("folder", folder, *endings):
            if found is None:
                continue
            if found.path.endswith((".db", ".sqlite")):
                yield from stored(found.path)
            else:
                yield found


def stored(path: str) -> Iterator[Found]:
    """The sessions of a store of any known kind."""
    name = "kilo" if "kilo" in os.path.basename(path) else "opencode"
    every = [*opencode.in_store(path, name), *goose.in_store(path), *openclaw.in_store(path)]
    yield from [found for found in every if found.part] or every[:1]
