"""What is known of one agent, as a value: everything that reads, connects or describes agents takes it from here."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from byheart.agents.reading.folders import Machine
from byheart.agents.reading.memory_files import Native
from byheart.agents.reading.passes import Reader
from byheart.agents.register import MODULES
from byheart.domain.installing import InstallTarget, Recipe
from byheart.domain.records import Scope
from byheart.domain.sessions import Caps, Event, Found, Session, Tally
from byheart.domain.values import dataclass

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
class Agent:
    """One agent. `name` is what its sessions are filed under, `client` what connecting calls it where that differs; each part that an
    agent does not have is None.

    Sessions: `transcripts` lists them; `lines`, `document` and `store` read JSON lines, a whole document, one session of a store;
    `stored` lists the sessions of a store. `endings` are endings of files that nobody else writes; `is_line`, `is_document` and
    `is_prose` tell a file of this agent by a line, by its value, by its beginning, each with its path. `is_active` tells whether a
    session is open right now, `cleared_after` after how many days the agent deletes it.
    Connecting: `recipe`; `plugin` gives files by path, `plugin_commands` add them; `trust` gives a recipe that has the agent run our
    hooks, or what to tell where it cannot, `trust_by_hand` says how a person does it.
    Memory: `memories` lists the agent's own, given the project's folder.
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
