"""What forgetting and undoing mean for the journal's other files: the daily logs, the archive, the summaries."""

from __future__ import annotations

from dataclasses import replace

from byheart.domain.changes import Change, Drop, Replace, spliced
from byheart.domain.documents import Document
from byheart.domain.errors import Ambiguous, ByheartError, Conflict
from byheart.domain.journal import COMPACTION
from byheart.domain.records import Record
from byheart.domain.results import Hit
from byheart.domain.roots import Place, Root
from byheart.flows.desk import JOURNAL, Desk, handle_of
from byheart.flows.journal.shelf import Shelf, daily_logs, local_day, parsed, read, shelf_of
from byheart.policies import retention
from byheart.policies.summarising import sentences
from byheart.text.jsonspans import unescaped
from byheart.text.likeness import normalised

_ROUNDS = 12
# Shorter than this, a sentence says nothing by itself.
_TELLING = 4
# And shorter than this, it stands in many places by chance.
_RARE = 12


def find(desk: Desk, root: Root, selector: str) -> Record | None:
    """What a selector names in the journal's other files: a record by id, handle or whole text, or a line of a summary.

    Raises Ambiguous where an id or a handle stands for several texts.
    """
    shelf = shelf_of(desk, root)
    wanted = normalised(selector)
    found: dict[str, tuple[Record, Place, int]] = {}
    for place in (*daily_logs(desk, shelf), shelf.archive):
        for each in _document(desk, place).placed:
            origin = each.record.origin
            names = (origin.id, handle_of(root.scope, JOURNAL, origin.id, each.record.text)) if origin else ()
            if selector in names or (wanted and normalised(each.record.text) == wanted):
                found.setdefault(normalised(each.record.text), (each.record, place, each.line))
    if len(found) > 1:
        hits = [
            Hit(
                id=f"{place.path}:{line}",
                record=record,
                scope=root.scope,
                dialect=JOURNAL,
                path=str(place),
                line=line,
            )
            for record, place, line in found.values()
        ]
        raise Ambiguous(selector, hits)
    if found:
        return next(iter(found.values()))[0]
    summed = {normalised(line.strip().removeprefix("- ")) for line in _summaries(desk, shelf)}
    return Record(text=selector) if len(wanted) >= _RARE and wanted in summed else None


def _summaries(desk: Desk, shelf: Shelf) -> list[str]:
    """Every line of every summary."""
    lines = [
        line for day, piece in retention.dated(_read(desk, shelf.long_memory)) if day for line in piece.split("\n")
    ]
    for each in _document(desk, shelf.memory).placed:
        if each.record.origin is not None and each.record.origin.category == COMPACTION:
            lines += each.record.text.split("\n")
    return lines


def _read(desk: Desk, place: Place) -> str:
    try:
        return read(desk, place).text or ""
    except ByheartError:
        return ""


def _document(desk: Desk, place: Place) -> Document:
    return parsed(desk, _read(desk, place))


def purge(desk: Desk, root: Root, record: Record) -> tuple[int, list[str]]:
    """Take a forgotten record out of every other file of the journal; how many held it, and which could not be cleared.

    A record goes where it has this text; one sentence of it only from summaries, which are made of sentences. What a person
    wrote stays. The root is locked.
    """
    shelf = shelf_of(desk, root)
    whole = normalised(record.text)
    said = {whole, *(normalised(each) for each in sentences(record.text) if len(each) >= _TELLING)}
    count, failures = 0, []
    for place in (*daily_logs(desk, shelf), shelf.archive, shelf.memory):
        try:
            # The record itself leaves MEMORY.md by the one path that all changes take.
            count += _without(desk, place, whole, said, only_summaries=place is shelf.memory)
        except ByheartError as error:
            failures.append(f"{place} could not be cleared: {error}")
    # Blocks that had to leave LONGMEMORY.md stand in the archive as they were.
    for place in (shelf.long_memory, shelf.archive):
        try:
            count += _without_lines(desk, place, said)
        except ByheartError as error:
            failures.append(f"{place} could not be cleared: {error}")
    return count, failures


def remaining(desk: Desk, texts: list[str]) -> list[str]:
    """Where texts still stand in the journals' other files, of all scopes: in a person's own words, or in other records."""
    wanted = [" ".join(text.split()).casefold() for text in texts if len(text.strip()) >= _TELLING]
    notes = []
    for root in desk.roots.values():
        shelf = shelf_of(desk, root)
        for place in (*daily_logs(desk, shelf), shelf.archive, shelf.long_memory, shelf.user):
            lines = unescaped(_read(desk, place)).casefold().split("\n")
            at = next(
                (n for n, line in enumerate(lines, 1) if any(each in " ".join(line.split()) for each in wanted)), None
            )
            if at is not None:
                notes.append(f"{place}:{at} still has it")
    return notes


def relog(desk: Desk, root: Root, lines: str) -> list[str]:
    """Put records that came back into the logs of their days, where those are kept; what could not be done."""
    shelf = shelf_of(desk, root)
    failures = []
    for line in lines.splitlines():
        for each in parsed(desk, line).placed:
            at = each.record.origin.at if each.record.origin else None
            place = shelf.daily(local_day(desk, at)) if at else None
            try:
                if place is not None and desk.files.size(place) and line not in (read(desk, place).text or ""):
                    desk.files.append(place, line + "\n", None)
            except ByheartError as error:
                failures.append(f"{place} does not have it again: {error}")
    return failures


def unlog(desk: Desk, root: Root, record: Record, *, archive: bool = False) -> list[str]:
    """Take a record whose adding was undone out of the daily logs, and out of the archive if it has been there; what could
    not be done. The root is locked."""
    failures = []
    shelf = shelf_of(desk, root)
    for place in (*daily_logs(desk, shelf), *([shelf.archive] if archive else [])):
        try:
            _without(desk, place, normalised(record.text), set(), id_=record.origin.id if record.origin else "")
        except ByheartError as error:
            failures.append(f"{place} still has it: {error}")
    return failures


def _without(
    desk: Desk, place: Place, whole: str, said: set[str], *, id_: str | None = None, only_summaries: bool = False
) -> int:
    """Drop what says exactly this from one file, and what it said from summaries there; 1 where there was something."""
    for _ in range(_ROUNDS):
        snapshot = read(desk, place)
        if snapshot.text is None:
            return 0
        document = parsed(desk, snapshot.text)
        changes = _changes(document, whole, said, id_)
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


def _changes(document: Document, whole: str, said: set[str], id_: str | None) -> list[Change]:
    found: list[Change] = []
    for each in document.placed:
        origin = each.record.origin
        if normalised(each.record.text) == whole and (id_ is None or (origin is not None and origin.id == id_)):
            found.append(Drop(old=each, reason=None))
        elif said and origin is not None and origin.category == COMPACTION:
            lines = each.record.text.split("\n")
            kept = [line for line in lines if normalised(line.strip().removeprefix("- ")) not in said]
            if len(kept) < len(lines):
                found.append(Replace(old=each, new=replace(each.record, text="\n".join(kept))))
    return found


def _without_lines(desk: Desk, place: Place, said: set[str]) -> int:
    """Drop the lines of dated summaries that repeat what was forgotten; what a person wrote around them stays."""
    snapshot = read(desk, place)
    pieces = retention.dated(snapshot.text or "")
    new = "".join(_cleared(piece, said) if day else piece for day, piece in pieces)
    if new == (snapshot.text or ""):
        return 0
    desk.files.write(place, new, snapshot.digest)
    return 1


def _cleared(piece: str, said: set[str]) -> str:
    lines = piece.splitlines(keepends=True)
    return "".join(
        line for line in lines if not (line.startswith("- ") and normalised(line.strip().removeprefix("- ")) in said)
    )
