"""What connects an agent to memory: pieces of its files, and what became of putting them in."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from byheart.domain.values import dataclass, field


class PieceKind(StrEnum):
    """How a piece stands in its file."""

    MEMBER = "member"
    ELEMENT = "element"
    BLOCK = "block"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One thing in one file of an agent's: a member or an element of JSON, a marked block of a text, or a whole file of ours.
    `path` is absolute; `at` is where in the JSON, `text` what a block or a file says, `why` what it is for."""

    kind: PieceKind
    path: str
    why: str
    at: tuple[str, ...] = ()
    value: Any = None
    text: str = ""
    # What is there already counts for more.
    keeps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """All that connects one agent."""

    agent: str
    pieces: tuple[Piece, ...]
    folders: tuple[str, ...]
    programs: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallTarget:
    """Where an agent's files lie, and how byheart is called from there."""

    home: str
    environment: dict[str, str]
    command: tuple[str, ...]
    variables: dict[str, str]
    version: str
    project: str | None = None
    on_prompt: bool = False
    on_tool: bool = False
    system: str = "linux"
    # How much a session may be told.
    tokens: int = 5000


@dataclass(slots=True, kw_only=True)
class FileChange:
    """What putting pieces in does to a file: None is a file that is not there."""

    path: str
    before: str | None
    after: str | None
    whys: list[str] = field(default_factory=list)

    @property
    def is_change(self) -> bool:
        return self.before != self.after


@dataclass(slots=True, kw_only=True)
class Installed:
    """What came of connecting or disconnecting one agent."""

    agent: str
    scope: str
    changes: list[FileChange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStatus:
    """How an agent stands: whether it is here, what of ours is in place, and whether that works."""

    agent: str
    is_here: bool
    version: str
    scopes: tuple[str, ...]
    works: tuple[tuple[str, str], ...] = ()
    problems: tuple[str, ...] = ()
