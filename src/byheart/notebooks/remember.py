"""remember, confirm and the notebook's own switches."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from byheart.domain.documents import Deletion, Document, Drop, Place, Root, Setting
from byheart.domain.errors import NothingFound, Refused, Unwanted
from byheart.domain.ports import Dialect
from byheart.domain.records import Kind, Record, Request, Scope, spoken
from byheart.domain.reports import Verdict
from byheart.domain.results import Receipt
from byheart.domain.values import replace
from byheart.language import opposition
from byheart.notebooks import merge
from byheart.notebooks.commit import Committed, commit
from byheart.notebooks.merge import Decision
from byheart.notebooks.request import judge, prepared
from byheart.text.deferred import module
from byheart.workspace import ledger, tombstones
from byheart.workspace.context import (
    JOURNAL,
    PROFILE,
    RULES,
    Context,
    cleaned,
    find_one,
    handle_of,
    holder,
    is_enabled,
    opened,
    own_part,
)

if TYPE_CHECKING:
    from byheart.journal import importing
else:
    importing = module("byheart.journal.importing")


def remember(context: Context, request: Request) -> Receipt:
    """Store one memory where its kind belongs. Raises Unsafe, Unwanted or Refused, and then nothing is written."""
    candidate, scope, name = prepared(context, request)
    root = context.roots[scope]
    if not request.asked:
        candidate = _captured(context, root, candidate, request)
    if name == JOURNAL:
        return importing.noted(
            context, scope, candidate, request, lost(context.dialects[name].keeps, candidate, request.given)
        )
    dialect = context.dialects[name]
    spelt = _spelt(dialect, candidate)
    key = dialect.key_of(spelt)

    def decide(document: Document) -> Decision:
        document = own_part(context, root.documents[name], name, document)
        if not request.asked:
            _refuse_forgotten(context, document, candidate, key)
        return _decided(document, name, spelt, dialect, request, context.clock().date())

    done = commit(
        context, root, name, decide, handle=lambda record: _handle(root, name, dialect.key_of(record), record)
    )
    receipt = _receipt(context, root, name, done, candidate, request)
    if done.written and request.asked and not request.copied:
        notes = _superseded(context, root, name, done.decision.record)
        receipt = replace(receipt, notes=(*receipt.notes, *map(context.scanner.redacted, notes)))
    return receipt


def _superseded(context: Context, root: Root, name: str, record: Record) -> list[str]:
    """Take out of the other notebook what the user's newest word excludes, and say so; a rule that must hold stays beside it."""
    other = RULES if name == PROFILE else PROFILE
    place = root.documents[other]
    if context.files.size(place) is None:
        return []
    notes: list[str] = []

    def decide(document: Document) -> Decision:
        decision = _excluded(own_part(context, place, other, document), place, record)
        notes[:] = decision.notes
        return decision

    done = commit(context, root, other, decide)
    if done.written and done.undoable:
        notes.append(f"bring the older one back with: byheart undo {done.id}")
    return notes


def _excluded(document: Document, place: Place, record: Record) -> Decision:
    """What has to leave another notebook for a record, and what cannot."""
    rivals = [each for each in document.placed if opposition.exclude(each.record.text, record.text)]
    strict = [each for each in rivals if each.record.kind is Kind.CONSTRAINT]
    notes = [f"it excludes the rule {each.record.text!r}; forget the one that does not hold" for each in strict]
    gone = tuple(Drop(old=each, reason=None) for each in rivals if each not in strict)
    notes += [f"it replaces {each.old.record.text!r} in {os.path.basename(str(place))}" for each in gone]
    return Decision(changes=gone, action="replaced" if gone else "unchanged", record=record, notes=tuple(notes))


def foreseen(context: Context, request: Request) -> str:
    """What storing this would do to what is there, in words; nothing is written."""
    candidate, scope, name = prepared(context, request)
    if name == JOURNAL:
        return "it would be added to the journal"
    root, dialect = context.roots[scope], context.dialects[name]
    document = own_part(context, root.documents[name], name, opened(context, root, name).document)
    decision = _decided(document, name, _spelt(dialect, candidate), dialect, request, context.clock().date())
    words = {"added": "it would be added", "unchanged": "nothing would change", "reinforced": "it would be reinforced"}
    done = words.get(decision.action, f"one would be {decision.action}")
    notes = [*decision.notes]
    other = RULES if name == PROFILE else PROFILE
    place = root.documents[other]
    if request.asked and not request.copied and context.files.size(place) is not None:
        notes += _excluded(
            own_part(context, place, other, opened(context, root, other).document), place, candidate
        ).notes
    where = f"{done} ({scope.value}, {os.path.basename(str(root.documents[name]))})"
    return "; ".join((where, *(context.scanner.redacted(note) for note in notes)))


def _decided(document: Document, name: str, spelt: Record, dialect: Dialect, request: Request, today: date) -> Decision:
    if name == RULES:
        return merge.into_rules(document, spelt, dialect.key_of(spelt) or "", copied=request.copied)
    return merge.into_profile(document, spelt, request.signal, today, copied=request.copied)


def _spelt(dialect: Dialect, record: Record) -> Record:
    """The record with only what the format can say, as it will be read back."""
    if dialect.name == RULES:
        return Record(
            text=record.text, kind=record.kind, key=dialect.key_of(record), triple=record.triple,
            weight=record.weight, tags=record.tags,
        )  # fmt: skip
    return replace(record, triple=None, weight=1)


def _captured(context: Context, root: Root, candidate: Record, request: Request) -> Record:
    """The candidate as the capture policy lets it through; raises Refused with the policy's reason."""
    if not is_enabled(context, root):
        raise Unwanted("not stored: memory is off here; turn it on with: byheart settings enabled on")
    verdict = verdict_of(context, candidate, request)
    if not verdict.stored:
        failed = next(reason for reason in verdict.reasons if not reason.passed)
        raise Refused(f"not stored: not {failed.test}: {failed.because}")
    confidence = min(verdict.confidence, request.confidence or verdict.confidence, key=lambda each: each.rank)
    return merge.labelled(replace(candidate, confidence=confidence))


def verdict_of(context: Context, candidate: Record, request: Request) -> Verdict:
    """What the capture policy says about a candidate, with all its reasons."""
    text = request.text or candidate.text
    findings = context.scanner.findings(text)
    lesson = candidate.kind is Kind.LESSON
    return judge(
        text,
        request.signal,
        findings,
        lesson=lesson,
        most=context.limits.record_characters,
        evidence=request.evidence,
        is_keyed=request.key is not None,
    )


def _refuse_forgotten(context: Context, document: Document, candidate: Record, key: str | None) -> None:
    if key is not None and any(each.record.key == key for each in document.placed):
        return
    when = forgotten_on(context, document.deletions, key, (candidate.text, spoken(candidate.value)))
    if when is not None:
        raise Unwanted(f"not stored: this was forgotten on {when}; only the user may bring it back")


def forgotten_on(context: Context, deletions: Sequence[Deletion], key: str | None, texts: Sequence[str]) -> str | None:
    """The day something with this key or text was forgotten, by our tombstones or the file's own; None if it was not."""
    stone = tombstones.blocks(ledger.tombstones(context), context.salt(), key, texts)
    if stone is not None:
        return stone.removed
    spelled = tombstones.spelled(deletions, key, texts)
    if spelled is None:
        return None
    return spelled.removed.isoformat() if spelled.removed else "an unknown day"


def _handle(root: Root, name: str, key: str | None, record: Record) -> str:
    return handle_of(root.scope, name, key, record.text)


def _receipt(context: Context, root: Root, name: str, done: Committed, candidate: Record, request: Request) -> Receipt:
    dialect = context.dialects[name]
    record = done.decision.record
    handle = _handle(root, name, dialect.key_of(record), record)
    line = next((each.line for each in reversed(done.document.placed) if _same(dialect, each.record, record)), None)
    notes = list(done.decision.notes)
    notes += done.notes
    if done.recovered:
        notes.append(
            f"{root.documents[name]} had no readable block and was recovered; the old content is kept below it"
        )
    announce = request.asked or opened(context, root, PROFILE).document.settings.announce_writes
    return Receipt(
        id=done.id,
        action=done.decision.action,
        scope=root.scope,
        dialect=name,
        path=str(root.documents[name]),
        record=cleaned(context, record),
        handle=handle,
        line=line,
        lost=lost(dialect.keeps, candidate, request.given),
        notes=tuple(context.scanner.redacted(each) for each in notes),
        announce=announce,
        remove_with=f"byheart forget {handle}",
        undo_with=f"byheart undo {done.id}" if done.undoable else None,
    )


def _same(dialect: Dialect, found: Record, wanted: Record) -> bool:
    key = dialect.key_of(wanted)
    return dialect.key_of(found) == key if key is not None else found.text == wanted.text


def lost(keeps: frozenset[str], record: Record, given: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The fields this record has that the format cannot spell."""
    has = {
        "confidence": record.confidence is not None,
        "tags": bool(record.tags),
        "source": record.source is not None,
        "added": record.added is not None,
        "weight": record.weight > 1,
        "key": "key" in given and record.key is not None,
        "triple": "triple" in given and record.triple is not None,
        "value": "value" in given and record.value is not None,
    }
    missing = [name for name, present in has.items() if present and name not in keeps]
    if "confidence" in keeps and (record.kind is Kind.CONSTRAINT or (record.kind is Kind.RULE and "value" in keeps)):
        missing.append("kind")
    return tuple(missing)


def confirm(context: Context, selector: str, scope: Scope | None) -> Receipt:
    """Say that one record is right, on the user's word."""
    hit = find_one(context, selector, scope)
    root = holder(context, hit)

    def decide(document: Document) -> Decision:
        current = [each for each in document.placed if each.record == hit.record]
        if not current:
            raise NothingFound(f"{selector!r} changed in the meantime; nothing was confirmed")
        return merge.confirmed(current[-1])

    done = commit(context, root, hit.dialect, decide, handle=lambda _: hit.id)
    if hit.dialect == RULES and not done.written:
        raise Refused(f"{selector!r} is a rule that waits for nothing; {done.decision.notes[0]}")
    request = Request(text=hit.record.text)
    return _receipt(context, root, hit.dialect, done, done.decision.record, request)


def switch(context: Context, name: str, on: bool, scope: Scope) -> Receipt:
    """Turn one of the notebook's own settings on or off."""
    root = context.roots[scope]

    def decide(document: Document) -> Decision:
        current = getattr(document.settings, name)
        changes = () if current == on else (Setting(name=name, on=on),)
        action = "switched" if changes else "unchanged"
        return Decision(changes=changes, action=action, record=Record(text=""), notes=())

    done = commit(context, root, PROFILE, decide)
    if name == "enabled" and on:
        context.trust.switched_on(root.documents[PROFILE])
        context.drop_briefs()
    return Receipt(
        id=done.id,
        action=done.decision.action,
        scope=scope,
        dialect=PROFILE,
        path=str(root.documents[PROFILE]),
        record=None,
        notes=(f"{name} is {'on' if on else 'off'}", *done.notes),
        undo_with=f"byheart undo {done.id}" if done.undoable else None,
    )
