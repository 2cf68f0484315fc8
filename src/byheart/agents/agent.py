"""What is known of one agent, as a value: everything that reads, connects or describes agents takes it from here."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from byheart.agents.installing.pieces import InstallTarget, Recipe
from byheart.agents.reading import lines
from byheart.agents.reading.folders import Machine, file_of, files_in
from byheart.agents.reading.lines import Broken
from byheart.agents.reading.memory_files import Native
from byheart.agents.reading.passes import LineReading, Reader, WholeReading
from byheart.agents.register import MODULES
from byheart.domain.learning import Headless
from byheart.domain.records import Scope
from byheart.domain.sessions import Caps, Event, Found, Mark, Reading, Session, Tally
from byheart.domain.values import dataclass, replace

# The texts that byheart puts into agents' files, by name.
Texts = Callable[[str], str]
Whole = Callable[[Found, Caps, Tally], Iterator[Event]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFolder:
    """A folder where an agent keeps memory of its own: which files count (a pattern of their names), for this project or for all,
    and how one is taken apart."""

    scope: Scope
    folder: str
    names: str
    read: Callable[[str, str], Iterator[Native]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnHandbook:
    """A folder where an agent keeps a handbook of the form of ours; `is_shared` where it is one for all projects."""

    folder: str
    is_shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One agent. `name` is what its sessions are filed under, `client` what connecting calls it where that differs; each part that an
    agent does not have is None.

    Sessions: `transcripts` lists them; `lines`, `document` and `store` read JSON lines, a whole document, one session of a store;
    `stored` lists the sessions of a store. `endings` are endings of files that nobody else writes; `is_line`, `is_document` and
    `is_prose` tell a file of this agent by a line, by its value, by its beginning, each with its path. `is_active` tells whether a
    session is open right now, `cleared_after` after how many days the agent deletes it.
    Connecting: `recipe`; `plugin` gives files by path, `plugin_commands` add them; `trust` gives a recipe that has the agent run our
    hooks, or what to tell where it cannot, `trust_by_hand` says how a person does it.
    Memory: `memories` lists the agent's own, given the project's folder; `handbook` is where one of our form is. Asking: `headless` says how it answers a question without a
    session.
    """

    name: str
    client: str = ""
    transcripts: Callable[[Machine], Iterator[Found]] | None = None
    lines: Callable[[Found], Reader] | None = None
    document: Whole | None = None
    store: Whole | None = None
    stored: Callable[[str], Iterator[Found]] | None = None
    endings: tuple[str, ...] = ()
    is_line: Callable[[dict[str, Any], str], bool] | None = None
    is_document: Callable[[Any, str], bool] | None = None
    is_prose: Callable[[str, str], bool] | None = None
    is_active: Callable[[Machine, Session], bool | None] | None = None
    cleared_after: Callable[[Machine], float] | None = None
    recipe: Callable[[InstallTarget, Texts], Recipe] | None = None
    plugin: Callable[[InstallTarget, Texts], dict[str, str]] | None = None
    plugin_commands: tuple[str, ...] = ()
    trust: Callable[[Recipe, str, str, dict[str, str]], tuple[Recipe, list[str]]] | None = None
    trust_by_hand: str = ""
    memories: Callable[[Machine, str], list[MemoryFolder]] | None = None
    handbook: Callable[[Machine, str], OwnHandbook] | None = None
    headless: Headless | None = None

    @property
    def installed_as(self) -> str:
        """What connecting, hooks and its own memory call it."""
        return self.client or self.name

    @property
    def is_read(self) -> bool:
        """Whether its sessions can be read."""
        return bool(self.lines or self.document or self.store)


@cache
def every() -> Mapping[str, Agent]:
    """All agents by name."""
    modules = [importlib.import_module(f"byheart.agents.{name}") for name in MODULES]
    return {agent.name: agent for module in modules for agent in module.AGENTS}


def connectable() -> dict[str, Agent]:
    """The agents that can be connected, by what connecting calls them."""
    return {agent.installed_as: agent for agent in every().values() if agent.recipe}


_ENDINGS = (".jsonl", ".jsonl.zst", ".json", ".md", ".traj", ".db", ".sqlite", ".txt")
_STORES = (".db", ".sqlite")
# Nearly always the first part tells; a first line with a long prompt in it takes the whole.
_FIRST, _HEAD = 32_768, 262_144
_VOTING_LINES = 40


def names() -> tuple[str, ...]:
    """The agents whose sessions can be read."""
    return tuple(agent.name for agent in every().values() if agent.is_read)


class AgentSource:
    """One agent's transcripts on this machine."""

    def __init__(self, agent: Agent, machine: Machine, caps: Caps) -> None:
        self.agent = agent.name
        self._known, self._machine, self._caps = agent, machine, caps

    def found(self) -> Iterator[Found]:
        """Every transcript there is, with what tells whether it changed."""
        return self._known.transcripts(self._machine) if self._known.transcripts else iter(())

    def read(self, found: Found, mark: Mark | None) -> Reading:
        """A pass over one of them."""
        return reading(found, mark, self._caps)

    def is_active(self, session: Session) -> bool | None:
        """Whether the agent holds the session open right now; None where it leaves no sign."""
        return self._known.is_active(self._machine, session) if self._known.is_active else None


class FolderSource:
    """Transcripts in folders that the user named; which agent wrote each is told by its beginning."""

    agent = "folder"

    def __init__(self, folders: tuple[str, ...], caps: Caps) -> None:
        self._folders, self._caps = folders, caps

    def found(self) -> Iterator[Found]:
        """Every file that may be one."""
        for folder in self._folders:
            ours = [file_of("folder", folder)] if os.path.isfile(folder) else files_in("folder", folder, *_ENDINGS)
            for found in ours:
                if found is None:
                    continue
                if found.path.endswith(_STORES):
                    yield from _stored(found.path)
                else:
                    yield found

    def read(self, found: Found, mark: Mark | None) -> Reading:
        """A pass over one of them; a file that is no transcript is counted as such."""
        agent = found.agent if found.part else agent_of(found.path, self._caps)
        if agent is None:
            return WholeReading(found, self._caps, _nothing)
        return reading(replace(found, agent=agent), mark, self._caps)

    def is_active(self, session: Session) -> bool | None:
        """Copies are not in use."""
        del session
        return False


def _stored(path: str) -> Iterator[Found]:
    """The sessions of a store of any known kind."""
    found = [each for agent in every().values() if agent.stored for each in agent.stored(path)]
    yield from [each for each in found if each.part] or found[:1]


def _nothing(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    del found, caps
    tally.skipped["no transcript"] += 1
    yield from ()


def sources(machine: Machine, folders: tuple[str, ...], caps: Caps) -> list[AgentSource | FolderSource]:
    """All agents, and the user's own folders."""
    known = [agent for agent in every().values() if agent.transcripts]
    found: list[AgentSource | FolderSource] = [AgentSource(agent, machine, caps) for agent in known]
    return [*found, FolderSource(folders, caps)] if folders else found


def reading(found: Found, mark: Mark | None, caps: Caps) -> Reading:
    """The right pass for a file: lines that grow, a document, or one session of a store."""
    agent = every().get(found.agent) or Agent(name=found.agent)
    if found.part or found.path.endswith(_STORES):
        return WholeReading(found, caps, agent.store or _nothing)
    if agent.lines and not found.path.endswith((".json", ".txt", ".md")):
        return LineReading(found, mark, caps, agent.lines)
    return WholeReading(found, caps, agent.document or _nothing)


def headless() -> dict[str, Headless]:
    """How agents are asked a question without a session, by their name: the surest to leave nothing behind first."""
    return {each.installed_as: each.headless for each in every().values() if each.headless is not None}


def cleared_after(name: str, machine: Machine) -> float | None:
    """After how many days an agent clears its transcripts away by itself; None where it does not."""
    agent = every().get(name)
    return agent.cleared_after(machine) if agent and agent.cleared_after else None


def is_gone(path: str) -> bool | None:
    """Whether a transcript was taken away; None where its folder is not there either, as on a disk that is not mounted."""
    plain = path.partition("#")[0]
    if not plain or os.path.lexists(plain):
        return False
    above = os.path.dirname(plain)
    return True if os.path.isdir(above) or os.path.isdir(os.path.dirname(above)) else None


def agent_of(path: str, caps: Caps) -> str | None:
    """Which agent wrote a file, by its name and its beginning; None where nothing fits."""
    known = every().values()
    for agent in known:
        if agent.endings and path.endswith(agent.endings):
            return agent.name
    if path.endswith((".md", ".txt")):
        head = _head(path).decode("utf-8", "replace")
        return next((agent.name for agent in known if agent.is_prose and agent.is_prose(head, path)), None)
    if path.endswith(".json"):
        try:
            value = lines.document(path, caps, Tally())
        except Broken:
            return None
        return next((agent.name for agent in known if agent.is_document and agent.is_document(value, path)), None)
    agent_name = _voted(path, _head(path, _FIRST))
    return agent_name if agent_name not in (None, "generic") else _voted(path, _head(path))


def _head(path: str, most: int = _HEAD) -> bytes:
    stream = lines.opened(path)
    if stream is None:
        return b""
    with stream:
        try:
            return stream.read(most) or b""
        except OSError:
            return b""


def _voted(path: str, head: bytes) -> str | None:
    votes: dict[str, int] = {}
    for raw in head.split(b"\n", _VOTING_LINES)[:_VOTING_LINES]:
        try:
            value = lines.decoded(raw, Tally()) if raw.strip() else None
        except Broken:
            continue
        if isinstance(value, dict) and (agent := _writer_of(value, path)):
            votes[agent] = votes.get(agent, 0) + 1
    # A plain line looks like anybody's, so it decides only where nothing else does.
    best = sorted(votes, key=lambda agent: (agent != "generic", votes[agent]), reverse=True)
    return best[0] if best else None


def _writer_of(value: dict[str, Any], path: str) -> str | None:
    return next((agent.name for agent in every().values() if agent.is_line and agent.is_line(value, path)), None)
