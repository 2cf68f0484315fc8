"""Sessions and learning, opened: agents' transcripts with their index, and what is learnt from them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from byheart.agents.reading.folders import Machine
from byheart.agents.sources import cleared_after, is_gone, names, sources
from byheart.app import trusted
from byheart.app.open import OpenMemory, Surroundings, models, recall_models
from byheart.app.upkeep import known_folders
from byheart.brief import collect
from byheart.domain.errors import BadInput, BadSetting, Unnatural, Unwanted
from byheart.domain.errors import Environment as EnvironmentProblem
from byheart.domain.sessions import Which
from byheart.journal.experiences import RECENT
from byheart.learning.learning import Learning
from byheart.sessions.forgotten_sessions import (
    ForgettingScanner,
    Seen,
    everything_forgotten,
    forgotten,
    without_forgotten,
)
from byheart.sessions.refresh import SessionTools
from byheart.sessions.sessions import Sessions
from byheart.storage import background, projects
from byheart.storage.index.sqlite import SqliteIndex
from byheart.storage.queue.sqlite import SqliteQueue
from byheart.storage.scanners.scanner import RuleScanner
from byheart.workspace.tombstones import Forgotten

if TYPE_CHECKING:
    from byheart.domain.experiences import PossibleExperience
    from byheart.domain.ports import Scanner


def open_sessions(opened: OpenMemory, around: Surroundings, *, even_off: bool = False) -> Sessions:
    """Every agent's sessions on this machine. Raises Unwanted while memory is switched off, since an index is a memory too, but
    for who wants something forgotten."""
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
        if name not in (known := agent_names()):
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
    found = SqliteIndex(os.path.join(home, "state", "index.db"))
    if even_broken:
        try:
            found.folders()
        except (EnvironmentProblem, Unnatural):
            return SqliteIndex(":memory:")
    return found


def open_learning(
    opened: OpenMemory, around: Surroundings, every: Sessions | None = None, *, even_off: bool = False
) -> Learning:
    """Learning of all projects. Raises Unwanted while memory is switched off, but for who wants something forgotten."""
    config = opened.config
    queue = SqliteQueue(os.path.join(opened.home, "state", "state.db"), around.clock)
    return Learning(
        opened.memory.context,
        opened.home,
        every or open_sessions(opened, around, even_off=even_off),
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
    flags = [word for flag in around.flags for word in ("--set", flag)]
    arguments = [*flags, "-C", os.path.abspath(around.folder), "learn", "--hand", "--no-refresh", "--json"]
    return background.crew(arguments, {**around.environment, "BYHEART_CHILD": "1"}, count)


def has_handbook(opened: OpenMemory) -> bool:
    """Whether something was learnt of the project we stand in."""
    return os.path.exists(os.path.join(opened.home, "projects", opened.project.id, "handbook", "MEMORY.md"))


def learnt_of(opened: OpenMemory, around: Surroundings) -> Sequence[PossibleExperience]:
    """What the sessions of a project showed, as far as they have been read; nothing where none has been."""
    if not os.path.exists(os.path.join(opened.home, "state", "index.db")):
        return ()
    return open_sessions(opened, around).learnt(Which(project=opened.project.id), RECENT)


def project_id(opened: OpenMemory, folder: str) -> str:
    """The identity of the project that a folder belongs to."""
    home = opened.home
    return (
        projects.identity(
            os.path.abspath(folder), None, lambda name: os.path.isdir(os.path.join(home, "projects", name))
        )
        or ""
    )


def agent_names() -> tuple[str, ...]:
    """The names of all agents whose sessions can be read."""
    return names()
