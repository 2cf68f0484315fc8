"""What a new memory does to the ones that are there: added, reinforced, replaced, or outvoted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.documents import Add, Change, Drop, Replace
from byheart.domain.records import CONFLICT, NEEDS_CONFIRMATION, Confidence, Kind, Placed, Record, Signal, spoken
from byheart.domain.values import dataclass, replace
from byheart.language import opposition
from byheart.text.similarity import normalised

if TYPE_CHECKING:
    from datetime import date

    from byheart.domain.documents import Document

_STRICTNESS = (Kind.NOTE, Kind.LESSON, Kind.PREFERENCE, Kind.RULE, Kind.CONSTRAINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The changes to make, what to call them, the record that results, and what to tell the person."""

    changes: tuple[Change, ...]
    action: str
    record: Record
    notes: tuple[str, ...] = ()


def into_profile(
    document: Document, incoming: Record, signal: Signal, today: date, *, copied: bool = False
) -> Decision:
    """Merge by key: equal values reinforce, different ones are settled by confidence."""
    rivals = [each for each in document.placed if each.record.key is not None and each.record.key == incoming.key]
    if not rivals:
        instead = [each for each in document.placed if opposition.exclude(each.record.text, incoming.text)]
        strong = (incoming.confidence or Confidence.MEDIUM).rank
        if instead and strong >= (instead[-1].record.confidence or Confidence.MEDIUM).rank and not copied:
            fresh = labelled(replace(incoming, added=incoming.added or today))
            note = f"it replaces {instead[-1].record.key or instead[-1].record.text}: {_brief(instead[-1].record)}; only one of them can hold"
            weaker = [each for each in instead[:-1] if strong >= (each.record.confidence or Confidence.MEDIUM).rank]
            gone: tuple[Change, ...] = tuple(Drop(old=each, reason=None) for each in weaker)
            more = tuple(f"it replaces {each.record.key or each.record.text}, too" for each in weaker)
            changes = (*gone, Replace(old=instead[-1], new=fresh))
            return Decision(changes=changes, action="replaced", record=fresh, notes=(note, *more))
        fresh = labelled(replace(incoming, added=incoming.added or today))
        return Decision(changes=(Add(record=fresh),), action="added", record=fresh)
    old = rivals[-1]
    if _same_value(old.record, incoming):
        return _united(old, incoming) if copied else _reinforced(old, incoming, signal, today)
    return _settled(old, incoming, today)


def _united(old: Placed, incoming: Record) -> Decision:
    """The same record from two notebooks: the stronger confidence, nothing added up."""
    current, arriving = old.record.confidence or Confidence.LOW, incoming.confidence or Confidence.LOW
    if arriving.rank <= current.rank:
        return Decision(changes=(), action="unchanged", record=old.record, notes=("it was already known",))
    tags = tuple(tag for tag in old.record.tags if tag != NEEDS_CONFIRMATION)
    after = replace(old.record, confidence=arriving, tags=tags)
    return Decision(changes=(Replace(old=old, new=after),), action="reinforced", record=after)


def _reinforced(old: Placed, incoming: Record, signal: Signal, today: date) -> Decision:
    before = old.record
    current = before.confidence or Confidence.MEDIUM
    again = f"{Signal.REPEATED.value}, {today.isoformat()}"
    if signal is Signal.INFERRED and (
        before.source == again or (before.added == today and before.source == signal.value)
    ):
        # What an agent makes out several times in a day is one signal.
        return Decision(
            changes=(),
            action="unchanged",
            record=before,
            notes=("it was already noted today; another day counts for more",),
        )
    explicit = signal in (Signal.EXPLICIT, Signal.CONFIRMED)
    confidence = Confidence.HIGH if explicit else current.raised()
    tags = tuple(dict.fromkeys((*(tag for tag in before.tags if tag != NEEDS_CONFIRMATION), *incoming.tags)))
    tags = tuple(tag for tag in tags if tag != NEEDS_CONFIRMATION)
    source = before.source
    if confidence is not before.confidence or source is None:
        source = Signal.EXPLICIT.value if explicit else again if signal is Signal.INFERRED else Signal.REPEATED.value
    after = replace(before, confidence=confidence, tags=tags, source=source)
    if explicit and isinstance(incoming.value, str) and isinstance(before.value, str):
        # The user may be correcting no more than a capital letter.
        after = replace(after, value=incoming.value, text=incoming.text)
    if after == before:
        return Decision(changes=(), action="unchanged", record=before, notes=("it was already known",))
    return Decision(changes=(Replace(old=old, new=after),), action="reinforced", record=after)


def _settled(old: Placed, incoming: Record, today: date) -> Decision:
    before = old.record
    current = before.confidence or Confidence.MEDIUM
    arriving = incoming.confidence or Confidence.MEDIUM
    if arriving.rank >= current.rank:
        tags = incoming.tags or tuple(tag for tag in before.tags if tag != NEEDS_CONFIRMATION)
        after = labelled(replace(incoming, added=today, tags=tags))
        note = f"it replaces {before.key} = {_brief(before)}"
        return Decision(changes=(Replace(old=old, new=after),), action="replaced", record=after, notes=(note,))
    lowered = current.lowered()
    after = labelled(replace(before, confidence=lowered))
    note = f"a weaker signal contradicts {before.key}; the value stays, its confidence is now {lowered.value}"
    return Decision(changes=(Replace(old=old, new=after),), action="contradicted", record=after, notes=(note,))


def into_rules(document: Document, incoming: Record, key: str, *, copied: bool = False) -> Decision:
    """Merge by triple: the same one gains weight in place; an opposing one is kept, and the conflict noted."""
    same = next((each for each in document.placed if each.record.key == key), None)
    if same is not None:
        weight = same.record.weight + incoming.weight
        after = replace(same.record, weight=max(same.record.weight, incoming.weight) if copied else weight)
        notes: list[str] = []
        if _STRICTNESS.index(incoming.kind) > _STRICTNESS.index(same.record.kind):
            after = replace(after, kind=incoming.kind)
            notes.append(f"it was a {same.record.kind.value} and is a {incoming.kind.value} now")
        if NEEDS_CONFIRMATION not in incoming.tags:
            after = replace(after, tags=tuple(tag for tag in after.tags if tag != NEEDS_CONFIRMATION))
        if after == same.record:
            return Decision(changes=(), action="unchanged", record=after, notes=("it was already known",))
        return Decision(changes=(Replace(old=same, new=after),), action="reinforced", record=after, notes=tuple(notes))
    changes: list[Change] = []
    notes = []
    tags = incoming.tags
    for each, how in opposition.rivals(document.placed, incoming):
        won = opposition.winner(each.record, incoming, how)
        if won is None:
            tags = tuple(dict.fromkeys((*tags, CONFLICT)))
            if CONFLICT not in each.record.tags:
                marked = replace(each.record, tags=(*each.record.tags, CONFLICT))
                changes.append(Replace(old=each, new=marked))
            notes.append(
                f"it may contradict line {each.line}: {each.record.text!r}; both are kept and tagged {CONFLICT}"
            )
        elif won == 0:
            notes.append(f"line {each.line} is a constraint and overrules it: {each.record.text!r}")
        else:
            notes.append(f"it overrules line {each.line}: {each.record.text!r}")
    fresh = replace(incoming, tags=tags)
    return Decision(changes=(*changes, Add(record=fresh)), action="added", record=fresh, notes=tuple(notes))


def confirmed(old: Placed) -> Decision:
    """The user said yes: high confidence where the format has it, and no longer waiting for confirmation."""
    before = old.record
    tags = tuple(tag for tag in before.tags if tag != NEEDS_CONFIRMATION)
    if before.triple is not None:
        after = replace(before, tags=tags)
        changes = (Replace(old=old, new=after),) if tags != before.tags else ()
        notes = () if changes else ("rules have no confidence; remember it again to give it more weight",)
        return Decision(changes=changes, action="confirmed" if changes else "unchanged", record=after, notes=notes)
    if before.origin is not None:
        if before.origin.certainty == 1:
            return Decision(changes=(), action="unchanged", record=before, notes=("it was confirmed already",))
        after = replace(before, confidence=Confidence.HIGH, origin=replace(before.origin, certainty=1))
        return Decision(changes=(Replace(old=old, new=after),), action="confirmed", record=after)
    source = before.source if before.source and "confirmed" in before.source else Signal.CONFIRMED.value
    # What a session taught is the user's own word from now on.
    is_learnt = bool(before.source and before.source.startswith("session "))
    if before.confidence is Confidence.HIGH and tags == before.tags and not is_learnt:
        return Decision(changes=(), action="unchanged", record=before, notes=("it was confirmed already",))
    after = replace(before, confidence=Confidence.HIGH, tags=tags, source=source)
    return Decision(changes=(Replace(old=old, new=after),), action="confirmed", record=after)


def labelled(record: Record) -> Record:
    """The record with the tag that low confidence must have; others may have it too."""
    if record.confidence is not Confidence.LOW or NEEDS_CONFIRMATION in record.tags:
        return record
    return replace(record, tags=(*record.tags, NEEDS_CONFIRMATION))


def _same_value(first: Record, second: Record) -> bool:
    mine = first.value if first.value is not None else first.text
    yours = second.value if second.value is not None else second.text
    if isinstance(mine, str) and isinstance(yours, str):
        return normalised(mine) == normalised(yours)
    return mine == yours and isinstance(mine, bool) == isinstance(yours, bool)


def _brief(record: Record) -> str:
    text = spoken(record.value) or record.text
    # Whole or not at all: half a secret is not recognised as one.
    return repr(text) if len(text) <= 60 else "an earlier, longer value"
