"""Changes in three forms: what should differ, which characters differ, in which file."""

from __future__ import annotations

from collections.abc import Iterable

from byheart.domain.records import Placed, Record
from byheart.domain.values import dataclass


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
