"""Bringing many records into a journal at once: one write, in the order they were given, nothing twice."""

from __future__ import annotations

from collections.abc import Sequence

from byheart.dialects.journal import TEMPLATE, row
from byheart.domain.errors import ByheartError, Conflict, Refused
from byheart.domain.records import Record, Scope
from byheart.domain.reports import Imported
from byheart.domain.results import Receipt
from byheart.domain.roots import Root
from byheart.flows import ledger
from byheart.flows.desk import JOURNAL, Desk, handle_of
from byheart.flows.journal.append import composed, refuse_unsafe
from byheart.flows.journal.shelf import parsed, read, shelf_of
from byheart.policies import foreign, forgetting
from byheart.text.likeness import normalised

_ROUNDS = 12


def import_records(
    desk: Desk, records: Sequence[tuple[int, Record]], scope: Scope, *, dry_run: bool, forgotten_too: bool
) -> Imported:
    """Store the records that may be stored and are not there yet; the others are named with the reason.

    They go to MEMORY.md alone: the daily logs say what was written on a day, and this was written before.
    """
    root = desk.roots[scope]
    fit: list[tuple[Record, str]] = []
    skipped: list[tuple[int, str]] = []
    stones, salt = ledger.tombstones(desk), desk.salt()
    for line, record in records:
        try:
            whole = foreign.fitted(record, JOURNAL)
            stone = None if forgotten_too else forgetting.blocks(stones, salt, None, (whole.text,))
            if stone is not None:
                raise Refused(f"it was forgotten on {stone.removed}; --include-forgotten brings it back")
            fit.append((whole, _line(desk, whole)))
        except ByheartError as error:
            if error.exit_code not in (2, 3):
                raise
            skipped.append((line, str(error)))
    passed = len(fit)
    if dry_run:
        return Imported(receipts=(), skipped=tuple(skipped), passed=passed)
    with desk.files.locked(root):
        stored = _stored(desk, root, fit)
    return Imported(receipts=tuple(stored), skipped=tuple(skipped), passed=passed)


def _line(desk: Desk, record: Record) -> str:
    """The record's line, checked as an append would check it."""
    origin = record.origin
    assert origin is not None
    provenance: dict[str, object] = {"sourceChannel": origin.channel or None, "sensitivity": origin.sensitivity.value}
    if origin.certainty is not None:
        provenance["confidence"] = origin.certainty
    if origin.at is not None:
        provenance["timestamp"] = origin.timestamp
    raw = {
        "id": origin.id or None,
        "sessionId": origin.session or None,
        "category": origin.category,
        "text": record.text,
        "provenance": provenance,
    }
    checked, more = composed(desk, raw)
    refuse_unsafe(desk, checked, more, asked=True)
    return row(checked, more)


def _stored(desk: Desk, root: Root, fit: list[tuple[Record, str]]) -> list[Receipt]:
    shelf = shelf_of(desk, root)
    for _ in range(_ROUNDS):
        snapshot = read(desk, shelf.memory)
        text = snapshot.text or TEMPLATE
        there = parsed(desk, text).placed
        ids = {each.record.origin.id for each in there if each.record.origin and each.record.origin.id}
        texts = {_said(each.record) for each in there}
        fresh = []
        receipts = []
        for record, line in fit:
            origin = record.origin
            known = (origin is not None and origin.id in ids) or _said(record) in texts
            if not known:
                fresh.append(line)
                texts.add(_said(record))
            receipts.append(_receipt(root, record, "unchanged" if known else "added"))
        if not fresh:
            return receipts
        joint = "" if text.endswith("\n") else "\n"
        try:
            new = text + joint + "".join(line + "\n" for line in fresh)
            desk.files.write(shelf.memory, new, snapshot.digest)
            return receipts
        except Conflict as conflict:
            last = conflict
    raise last


def _said(record: Record) -> tuple[str, str, str]:
    """What makes two records the same: what they say, and when it was said in which category."""
    origin = record.origin
    return (normalised(record.text), origin.category if origin else "", (origin.timestamp or "") if origin else "")


def _receipt(root: Root, record: Record, action: str) -> Receipt:
    origin = record.origin
    handle = handle_of(root.scope, JOURNAL, origin.id if origin else None, record.text)
    return Receipt(
        id="",
        action=action,
        scope=root.scope,
        dialect=JOURNAL,
        path=str(root.documents[JOURNAL]),
        record=None if record.is_secret else record,
        handle=handle,
        remove_with=f"byheart forget {handle}",
    )
