"""A document: one file's text, parsed into placed records, settings and problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.values import dataclass, field

if TYPE_CHECKING:
    from datetime import date

    from byheart.domain.records import Placed


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

    def above(self, text: str, first: int) -> tuple[int, int, list[Placed], list[Problem]]:
        """What still holds of a document of lines when its text is as it was up to the position `first`: where to read on,
        in which line, and the records and problems above that."""
        start = text.rfind("\n", 0, first) + 1
        line = text.count("\n", 0, start) + 1
        placed = [each for each in self.placed if each.end < start]
        return start, line, placed, [each for each in self.problems if each.line < line]
