"""Documents and what may become of them: where a scope's files lie, one file's text as placed records, and changes to it in three
forms: what should differ, which characters differ, in which file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from byheart.domain.records import Placed, Record
from byheart.domain.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from byheart.domain.records import Scope


@dataclass(frozen=True, slots=True)
class Place:
    """A file: a base folder that the user chose, and a relative path that may not leave it."""

    base: str
    path: str

    def __str__(self) -> str:
        return f"{self.base.rstrip('/')}/{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project's identity: the same for every worktree of a repository, and for clones of one remote."""

    id: str
    name: str
    folder: str
    remote: str | None = None
    common_folder: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """One scope's memory: its own folder for lock, log and backups, and its documents by dialect name. `rivals` are
    places that take over once the user has moved a document there; `kept` are documents at home that are read beside the
    repository's own. `chosen` are the notebooks that a person keeps: their file is in the repository or at a shared place, or a
    setting names it."""

    scope: Scope
    folder: Place
    documents: Mapping[str, Place]
    rivals: Mapping[str, Place] = field(default_factory=dict)
    kept: Mapping[str, Place] = field(default_factory=dict)
    chosen: frozenset[str] = frozenset()

    def places(self, name: str) -> tuple[Place, ...]:
        """Every file of a format that this scope reads; the last one is written to, and of two that say different things it
        counts."""
        return (self.kept[name], self.documents[name]) if name in self.kept else (self.documents[name],)

    def every(self) -> list[tuple[str, Place]]:
        """Every file that this scope reads, with its format."""
        return [(name, place) for name in self.documents for place in self.places(name)]

    def own(self, name: str) -> Place:
        """A file of our own (lock, log, tombstones) in this root's `.byheart` folder."""
        return Place(self.folder.base, f"{self.folder.path}/.byheart/{name}".lstrip("/"))


# A block beside the one that is read: the next write puts it aside.
SEVERAL_BLOCKS = "several-blocks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something in a file that could not be read as meant; the bytes stay as they are."""

    line: int
    rule: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The switches a notebook carries in itself."""

    enabled: bool = True
    announce_writes: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """A tombstone as the file itself spells it."""

    key: str | None
    removed: date | None
    reason: str | None
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A parsed text. `intact` is False when the next write must recover the file first."""

    text: str
    placed: tuple[Placed, ...] = ()
    problems: tuple[Problem, ...] = ()
    settings: Settings = Settings()
    deletions: tuple[Deletion, ...] = ()
    intact: bool = True
    # What the dialect needs to plan a change; opaque to everyone else.
    layout: object = field(default=None, repr=False, compare=False)

    def has(self, rule: str) -> bool:
        """Whether a problem of this kind was found."""
        return any(problem.rule == rule for problem in self.problems)

    def above(self, text: str, first: int) -> tuple[int, int, list[Placed], list[Problem]]:
        """What still holds of a document of lines when its text is as it was up to the position `first`: where to read on,
        in which line, and the records and problems above that."""
        start = text.rfind("\n", 0, first) + 1
        line = text.count("\n", 0, start) + 1
        placed = [each for each in self.placed if each.end < start]
        return start, line, placed, [each for each in self.problems if each.line < line]


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """A record that the file does not hold yet; it becomes the last one unless it should stand before another."""

    record: Record
    before: Placed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """A record whose fields should differ; only the fields that do are touched."""

    old: Placed
    new: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """A record that should go. With `reason` None nothing is noted about it in the file; with `named` False its key is
    not noted, since it was made from the text."""

    old: Placed
    reason: str | None
    named: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A switch of the notebook that should differ."""

    name: str
    on: bool


Change = Add | Replace | Drop | Setting


@dataclass(frozen=True, slots=True)
class Splice:
    """Replace the characters from start to end by text."""

    start: int
    end: int
    text: str


def spliced(text: str, splices: Iterable[Splice]) -> str:
    """The text with all splices made; they must not overlap, and keep their order where they meet."""
    parts: list[str] = []
    position = 0
    for splice in sorted(splices, key=lambda each: (each.start, each.end)):
        if splice.start < position:
            raise ValueError("splices overlap")
        parts += (text[position : splice.start], splice.text)
        position = splice.end
    parts.append(text[position:])
    return "".join(parts)
