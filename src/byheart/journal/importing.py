"""Bringing records into a journal: a sentence as a record of its kind's category, or many at once, in one write, in the order they were
given, nothing that is there already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from byheart.domain.documents import Root
from byheart.domain.errors import ByheartError, Conflict, Refused
from byheart.domain.ports import Snapshot
from byheart.domain.records import Record, Request, Scope, Value
from byheart.domain.reports import Imported
from byheart.domain.results import Finding, Receipt
from byheart.domain.values import dataclass, replace
from byheart.journal import compact, retention
from byheart.journal.append import append, composed, refuse_unsafe
from byheart.journal.files import JournalFiles, holds_secret, journal_files, parsed, read
from byheart.journal.format import TEMPLATE, row
from byheart.text.lines import break_style
from byheart.text.slugs import content_digest, uuid_of
from byheart.workspace import foreign, ledger, tombstones
from byheart.workspace.context import JOURNAL, PROFILE, Context, handle_of, opened

_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class _Fit:
    """A record that may be stored, with what else its line has, and whether it came with a time."""

    record: Record
    more: dict[str, Value]
    dated: bool


def import_records(
    context: Context,
    records: Sequence[tuple[int, Record]],
    extras: Mapping[int, dict[str, object]],
    scope: Scope,
    *,
    dry_run: bool,
    forgotten_too: bool,
) -> Imported:
    """Store the records that may be stored and are not there yet; the others are named with the reason.

    They go to MEMORY.md alone: the daily logs say what was written on a day, and this was written before. `extras` holds
    the whole JSON of a line where it is known.
    """
    root = context.roots[scope]
    fit: list[_Fit] = []
    skipped: list[tuple[int, str]] = []
    stones, salt = ledger.tombstones(context), context.salt()
    for line, record in records:
        try:
            whole = foreign.fitted(record, JOURNAL)
            stone = None if forgotten_too else tombstones.blocks(stones, salt, None, (whole.text,))
            if stone is not None:
                raise Refused(f"it was forgotten on {stone.removed}; --include-forgotten brings it back")
            fit.append(_checked(context, whole, extras.get(line, {})))
        except ByheartError as error:
            if error.exit_code not in (2, 3):
                raise
            skipped.append((line, context.scanner.redacted(str(error))))
    passed = len(fit)
    if dry_run:
        return Imported(receipts=(), skipped=tuple(skipped), passed=passed)
    problems: list[Finding] = []
    with context.files.locked(root):
        stored = _stored(context, root, fit, problems)
    return Imported(receipts=tuple(stored), skipped=tuple(skipped), passed=passed, problems=tuple(problems))


def _checked(context: Context, record: Record, extra: dict[str, object]) -> _Fit:
    """The record, checked as an append would check it; an odd field is left out rather than the record."""
    origin = record.origin
    assert origin is not None
    source = extra.get("provenance")
    provenance: dict[str, object] = dict(source) if isinstance(source, dict) else {}
    provenance |= {"sourceChannel": origin.channel or None, "sensitivity": origin.sensitivity.value}
    provenance["confidence"] = 1 if origin.certainty is None else origin.certainty
    provenance["timestamp"] = origin.timestamp if origin.at is not None else None
    raw = {
        **extra,
        "id": origin.id or None,
        "sessionId": origin.session or None,
        "category": origin.category,
        "text": record.text,
        "provenance": provenance,
    }
    checked, more = composed(context, raw)
    refuse_unsafe(context, checked, more, asked=True)
    return _Fit(checked, more, origin.at is not None)


def _stored(context: Context, root: Root, fit: list[_Fit], notes: list[Finding]) -> list[Receipt]:
    own_journal = journal_files(context, root)
    for _ in range(_ROUNDS):
        snapshot = read(context, own_journal.memory)
        text = snapshot.text or TEMPLATE
        there = parsed(context, text).placed
        ids = {each.record.origin.id for each in there if each.record.origin and each.record.origin.id}
        texts = {_said(each.record) for each in there}
        named = {_named(each.record) for each in there}
        undated = {said[:3] for said in texts}
        fresh: list[str] = []
        receipts = []
        for each in fit:
            record = each.record
            known = _said(record) in texts or _named(record) in named
            # One without a time of its own is the same whenever it was brought.
            known = known or (not each.dated and _said(record)[:3] in undated)
            if not known:
                record = _renamed(context, record, ids)
                fresh.append(row(record, each.more))
                texts.add(_said(record))
                named.add(_named(record))
                undated.add(_said(record)[:3])
                ids.add(record.origin.id if record.origin else "")
            receipts.append(_receipt(root, record, "unchanged" if known else "added"))
        if not fresh:
            return receipts
        newline = break_style(text)
        joint = "" if text.endswith("\n") else newline
        new = text + joint + "".join(line + newline for line in fresh)
        try:
            context.files.write(own_journal.memory, new, snapshot.digest)
            notes += _trimmed_and_logged(context, own_journal, snapshot, new, len(fresh))
            return receipts
        except Conflict as conflict:
            last = conflict
    raise last


def _renamed(context: Context, record: Record, ids: set[str]) -> Record:
    """The record under an id of its own, where its id is taken by another one."""
    if record.origin is None or record.origin.id not in ids:
        return record
    return replace(record, origin=replace(record.origin, id=uuid_of("".join(context.token() for _ in range(4)))))


def _trimmed_and_logged(
    context: Context, own_journal: JournalFiles, before: Snapshot, new: str, count: int
) -> list[Finding]:
    """Keep to the window, and log the whole import as one entry; what could not be done, since the records are stored."""
    problems, trimmed, backup = [], 0, None
    try:
        trimmed = retention.trim(context, own_journal)
    except ByheartError as error:
        problems.append(Finding(rule="window", message=f"stored, but the window could not be kept: {error}"))
    try:
        if before.text and not trimmed and not holds_secret(context, before.text.split("\n")):
            backup = ledger.back_up(context, own_journal.root, own_journal.memory, before.text)
        entry = replace(
            ledger.entry_for(context, own_journal.root, JOURNAL, "imported"),
            before=before.digest,
            after=content_digest(new),
            size=len(new),
            backup=backup,
            # What the window has taken out since cannot be put back by undoing this.
            pieces=[] if before.text is None and not trimmed else None,
            note=f"{count} records imported",
        )
        ledger.record(context, own_journal.root, entry)
    except ByheartError as error:
        problems.append(Finding(rule="log", message=f"stored, but the log could not be written: {error}"))
    return problems


def _said(record: Record) -> tuple[str, ...]:
    """What makes two records the same: what they say, to the letter, in which session and category, and when."""
    origin = record.origin
    return (record.text, origin.session, origin.category, origin.timestamp or "") if origin else (record.text,)


def _named(record: Record) -> tuple[str, str]:
    return (record.origin.id if record.origin else "", record.text)


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


def noted(context: Context, scope: Scope, record: Record, request: Request, lost: tuple[str, ...]) -> Receipt:
    """Append what is to be remembered, and say so as every other notebook does."""
    fitted = foreign.fitted(record, JOURNAL)
    origin = fitted.origin
    assert origin is not None
    provenance = {"sourceChannel": "operator" if request.asked else "agent", "confidence": origin.certainty or 1}
    raw: dict[str, object] = {
        "category": request.category or origin.category,
        "text": fitted.text,
        "provenance": provenance | ({"sensitivity": request.sensitivity} if request.sensitivity else {}),
    }
    done = append(context, raw, scope, asked=request.asked)
    outcome = compact.after_append(context, scope)
    notes = list(done.notes)
    if done.trimmed:
        notes.append(f"{done.trimmed} of the oldest records went to the archive")
    if outcome is not None and outcome.ran:
        notes.append(f"{outcome.records_compacted} old records were compacted")
    handle = handle_of(scope, JOURNAL, done.id, fitted.text)
    return Receipt(
        id=done.receipt,
        action="added",
        scope=scope,
        dialect=JOURNAL,
        path=done.path,
        record=fitted,
        handle=handle,
        lost=lost,
        notes=tuple(context.scanner.redacted(each) for each in notes),
        announce=request.asked or opened(context, context.roots[scope], PROFILE).document.settings.announce_writes,
        remove_with=f"byheart forget {handle}",
        undo_with=f"byheart undo {done.receipt}" if done.receipt else None,
    )
