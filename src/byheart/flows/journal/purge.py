"""What forgetting and undoing mean for the journal's other files: the daily logs, the archive, the summaries."""

from __future__ import annotations

from dataclasses import replace

from byheart.domain.changes import Change, Drop, Replace, spliced
from byheart.domain.documents import Document
from byheart.domain.errors import Conflict
from byheart.domain.journal import COMPACTION
from byheart.domain.records import Record
from byheart.domain.roots import Place, Root
from byheart.flows.desk import JOURNAL, Desk
from byheart.flows.journal.shelf import Shelf, parsed, read, shelf_of
from byheart.policies.summarising import sentences
from byheart.text.likeness import normalised

_ROUNDS = 12
# A sentence as long as this is not in two places by chance.
_TELLING = 12


def purge(desk: Desk, root: Root, record: Record) -> int:
    """Take a forgotten record out of every other file of the journal; how many files held it. The root is locked."""
    shelf = shelf_of(desk, root)
    said = {normalised(each) for each in (record.text, *sentences(record.text)) if len(each) >= _TELLING}
    count = sum(_without(desk, place, record, said) for place in _logs(desk, shelf))
    # The record itself leaves MEMORY.md by the one path that all changes take.
    count += _without(desk, shelf.memory, record, said, only_summaries=True)
    return count + _without_lines(desk, shelf.long_memory, said)


def unlog(desk: Desk, root: Root, record: Record) -> int:
    """Take a record whose adding was undone out of the daily logs; how many held it. The root is locked."""
    return sum(_without(desk, place, record, set()) for place in _logs(desk, shelf_of(desk, root)))


def _logs(desk: Desk, shelf: Shelf) -> list[Place]:
    names = [name for name in desk.files.names(shelf.days) if name.endswith(".md")]
    places = [Place(shelf.days.base, f"{shelf.days.path}/{name}") for name in names]
    return [*(place for place in places if str(place) != str(shelf.archive)), shelf.archive]


def _without(desk: Desk, place: Place, record: Record, said: set[str], *, only_summaries: bool = False) -> int:
    """Drop the record from one file, and what it said from summaries there; 1 where there was something to do."""
    for _ in range(_ROUNDS):
        snapshot = read(desk, place)
        if snapshot.text is None:
            return 0
        document = parsed(desk, snapshot.text)
        changes = _changes(document, record, said)
        if only_summaries:
            changes = [each for each in changes if isinstance(each, Replace)]
        if not changes:
            return 0
        splices = desk.dialects[JOURNAL].plan(document, changes, desk.clock().date())
        try:
            desk.files.write(place, spliced(document.text, splices), snapshot.digest)
            return 1
        except Conflict as conflict:
            last = conflict
    raise last


def _changes(document: Document, record: Record, said: set[str]) -> list[Change]:
    found: list[Change] = []
    id_ = record.origin.id if record.origin else ""
    for each in document.placed:
        origin = each.record.origin
        same = bool(origin and id_ and origin.id == id_)
        if said:
            same = same or normalised(each.record.text) in said
        if same:
            found.append(Drop(old=each, reason=None))
        elif said and origin is not None and origin.category == COMPACTION:
            lines = each.record.text.split("\n")
            kept = [line for line in lines if normalised(line.strip().removeprefix("- ")) not in said]
            if len(kept) < len(lines):
                found.append(Replace(old=each, new=replace(each.record, text="\n".join(kept))))
    return found


def _without_lines(desk: Desk, place: Place, said: set[str]) -> int:
    """Drop the lines of a summary file that repeat what was forgotten."""
    snapshot = read(desk, place)
    lines = (snapshot.text or "").split("\n")
    kept = [line for line in lines if not line.strip() or normalised(line.strip().removeprefix("- ")) not in said]
    if len(kept) == len(lines):
        return 0
    desk.files.write(place, "\n".join(kept), snapshot.digest)
    return 1
