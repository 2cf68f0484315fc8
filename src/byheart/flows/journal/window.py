"""The rolling window: the oldest records leave MEMORY.md, and are in the archive before they do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from byheart.domain.changes import Drop, spliced
from byheart.domain.errors import Conflict
from byheart.domain.records import Placed
from byheart.flows.desk import JOURNAL, Desk
from byheart.flows.journal.shelf import Shelf, holds_secret, parsed, read
from byheart.policies import retention

_ROUNDS = 12


def trim(desk: Desk, shelf: Shelf) -> int:
    """Bring MEMORY.md back under its limits; how many records left it. Daily logs are not touched. The root is locked."""
    most, chars = desk.journal.memory_max_records, desk.journal.memory_max_chars
    if not most and not chars:
        return 0
    archived: set[str] = set()
    for _ in range(_ROUNDS):
        snapshot = read(desk, shelf.memory)
        text = snapshot.text or ""
        # A look that costs little: nearly always there is room.
        if (not most or text.count("- {") <= most) and (not chars or len(text) <= chars):
            return 0
        document = parsed(desk, text)
        gone = retention.beyond_window(document, most, chars)
        if holds_secret(desk, lines_of(text, gone)):
            # A line with a credential in it stays where the person put it: it is not ours to copy about.
            clean = [each for each in document.placed if not holds_secret(desk, lines_of(text, [each]))]
            gone = retention.beyond_window(replace(document, placed=tuple(clean)), most, chars)
        if not gone:
            return 0
        archive(desk, shelf, lines_of(text, gone), archived)
        changes = [Drop(old=each, reason=None) for each in gone]
        splices = desk.dialects[JOURNAL].plan(document, changes, desk.clock().date())
        try:
            desk.files.write(shelf.memory, spliced(text, splices), snapshot.digest)
            return len(gone)
        except Conflict as conflict:
            last = conflict
    raise last


def lines_of(text: str, placed: Iterable[Placed]) -> list[str]:
    """The lines of these records, as they stand in the file."""
    return [text[each.start : each.end] for each in placed]


def archive(desk: Desk, shelf: Shelf, lines: list[str], known: set[str]) -> None:
    """Put lines, or blocks of lines, at the archive's end, those that are not there already; `known` is which lines are."""
    fresh = [line for line in lines if not known.issuperset(line.split("\n"))]
    if fresh:
        text = "".join(line + "\n" for line in fresh)
        desk.files.append(shelf.archive, text, None)
        known.update(text.split("\n"))
