"""remember, confirm and the notebook's own switches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from byheart.domain.changes import Setting
from byheart.domain.documents import Document
from byheart.domain.errors import BadInput, NothingFound, Refused, Unsafe, Unwanted
from byheart.domain.ports import Dialect
from byheart.domain.records import Confidence, Kind, Record, Scope, Signal, Triple, Value, spoken
from byheart.domain.results import Receipt, Verdict
from byheart.domain.roots import Root
from byheart.flows import ledger
from byheart.flows.commit import Committed, commit
from byheart.flows.desk import PROFILE, RULES, Desk, find_one, handle_of, is_enabled, opened
from byheart.policies import capture, forgetting, merging, wording
from byheart.policies.merging import Decision

_ROUTES = {Kind.RULE: RULES, Kind.CONSTRAINT: RULES, Kind.PREFERENCE: PROFILE, Kind.LESSON: PROFILE}
_MOST_PARTS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What somebody wants remembered. `asked` is True when the user said so outright."""

    text: str
    kind: Kind | None = None
    key: str | None = None
    value: Value = None
    triple: Triple | None = None
    to: str | None = None
    scope: Scope | None = None
    signal: Signal = Signal.EXPLICIT
    asked: bool = True
    tags: tuple[str, ...] = ()
    source: str | None = None
    confidence: Confidence | None = None
    added: date | None = None
    weight: int = 1
    given: frozenset[str] = field(default_factory=frozenset)


def remember(desk: Desk, request: Request) -> Receipt:
    """Store one memory where its kind belongs. Raises Unsafe, Unwanted or Refused, and then nothing is written."""
    candidate, scope, name = compose(request)
    _refuse_unsafe(desk, candidate, request)
    root = desk.roots[scope]
    if not request.asked:
        candidate = _captured(desk, root, candidate, request)
    dialect = desk.dialects[name]
    spelt = _spelt(dialect, candidate)
    key = dialect.key_of(spelt)

    def decide(document: Document) -> Decision:
        if not request.asked:
            _refuse_forgotten(desk, root, document, candidate, key)
        if name == RULES:
            return merging.into_rules(document, spelt, key or "")
        return merging.into_profile(document, spelt, request.signal, desk.clock().date())

    done = commit(desk, root, name, decide, handle=lambda record: _handle(root, name, dialect.key_of(record), record))
    return _receipt(desk, root, name, done, candidate, request)


def _spelt(dialect: Dialect, record: Record) -> Record:
    """The record with only what the format can say, as it will be read back."""
    if dialect.name == RULES:
        return Record(
            text=record.text, kind=record.kind, key=dialect.key_of(record), triple=record.triple,
            weight=record.weight, tags=record.tags,
        )  # fmt: skip
    return replace(record, triple=None, weight=1)


def compose(request: Request) -> tuple[Record, Scope, str]:
    """The record, scope and format that a request comes to."""
    if not request.text.strip() and request.value is None:
        raise BadInput("there is nothing to remember: the text is empty")
    said = wording.parse(request.text) if request.text.strip() else None
    key = request.key or (said.key if said else None)
    kind = request.kind or (
        Kind.LESSON if key and key.startswith("lessons.") else said.kind if said else Kind.PREFERENCE
    )
    if request.key and request.kind is None and kind in (Kind.RULE, Kind.CONSTRAINT) and request.triple is None:
        # Whoever names a key means the profile, whatever the sentence sounds like.
        kind = Kind.LESSON if request.key.startswith("lessons.") else Kind.PREFERENCE
    name = request.to or _ROUTES[kind]
    if kind is Kind.LESSON and key is not None and not key.startswith("lessons."):
        key = f"lessons.{key.split('.', 1)[-1]}"
    value = request.value
    if value is None and said is not None:
        value = wording.simple_value(said.sentence) if request.key and not said.value else said.value
        if request.key and request.key != said.key and isinstance(said.value, str):
            value = _plain(request.text)
    _check_value(value)
    _check_key(key)
    sentence = said.sentence if said else f"{key}: {spoken(value)}"
    triple = request.triple or (said.triple if said else None)
    if name == RULES and triple is None:
        raise BadInput("a rule needs a sentence or --triple")
    text = sentence if name == RULES else spoken(value) or sentence
    record = Record(
        text=text,
        kind=kind if name == PROFILE or kind in (Kind.RULE, Kind.CONSTRAINT) else Kind.PREFERENCE,
        key=key,
        value=value,
        triple=triple,
        weight=request.weight,
        confidence=request.confidence or capture.confidence_for(request.signal),
        tags=request.tags,
        source=request.source or request.signal.value,
        added=request.added,
    )
    scope = request.scope or (said.scope if said else Scope.LOCAL)
    return merging.labelled(record), scope, name


def _plain(text: str) -> Value:
    """The words a person typed for a key of their own, without request wrapping."""
    return wording.simple_value(wording.scoped(text)[1])


def _check_value(value: Value, depth: int = 0) -> None:
    parts: Sequence[Value] = []
    match value:
        case float() if value != value or value in (float("inf"), float("-inf")):
            raise BadInput(f"the value {value} is not a number that can be stored")
        case bool():
            return
        case int() if abs(value) >= 10**15:
            raise BadInput(f"the number {value} has more than 15 digits; store it as a text")
        case list():
            parts = value
        case dict():
            parts = list(value.values())
    if len(parts) > _MOST_PARTS or (parts and depth > 1):
        raise BadInput(
            f"a value may be a text, a number, true or false, or a small list or map (at most {_MOST_PARTS} parts)"
        )
    for part in parts:
        _check_value(part, depth + 1)


def _check_key(key: str | None) -> None:
    if key is None:
        return
    if len(key) > 120 or key != key.strip() or not key or any(ord(each) < 32 or each in "\u2028\u2029" for each in key):
        raise BadInput(f"the key {key[:40]!r} is not usable; use a short dotted name such as writing.tone")


def _refuse_unsafe(desk: Desk, candidate: Record, request: Request) -> None:
    """Look at the words as they came and at every part they were taken into; a part may hide what the whole shows."""
    most = desk.limits.record_characters
    whole = spoken(candidate.value) if candidate.value is not None else ""
    longest = max(len(candidate.text), len(whole))
    if longest > most:
        raise Refused(f"not stored: {longest} characters is too long for one memory (at most {most}); say it shorter")
    if capture.is_transcript(request.text) or capture.is_transcript(whole):
        raise Refused("not stored: it is a transcript, not one statement; store what it teaches instead")
    parts = [
        request.text,
        candidate.text,
        whole,
        candidate.key or "",
        *(candidate.triple or ()),
        *candidate.tags,
        candidate.source or "",
    ]
    if candidate.key and whole:
        parts.append(f"{candidate.key} = {whole}")
    findings = [
        finding
        for part in dict.fromkeys(parts)
        for finding in desk.scanner.findings(part)
        if not (request.asked and finding.severity == "command")
    ]
    if findings:
        raise Unsafe(findings)


def _captured(desk: Desk, root: Root, candidate: Record, request: Request) -> Record:
    """The candidate as the capture policy lets it through; raises Refused with the policy's reason."""
    if not is_enabled(desk, root):
        raise Unwanted("not stored: memory is switched off here; turn it on with: byheart settings enabled on")
    verdict = verdict_of(desk, candidate, request)
    if not verdict.stored:
        failed = next(reason for reason in verdict.reasons if not reason.passed)
        raise Refused(f"not stored: not {failed.test}: {failed.because}")
    confidence = min(verdict.confidence, request.confidence or verdict.confidence, key=lambda each: each.rank)
    return merging.labelled(replace(candidate, confidence=confidence))


def verdict_of(desk: Desk, candidate: Record, request: Request) -> Verdict:
    """What the capture policy says about a candidate, with all its reasons."""
    text = request.text or candidate.text
    findings = desk.scanner.findings(text)
    lesson = candidate.kind is Kind.LESSON
    return capture.judge(text, request.signal, findings, lesson=lesson, most=desk.limits.record_characters)


def _refuse_forgotten(desk: Desk, root: Root, document: Document, candidate: Record, key: str | None) -> None:
    if any(each.record.key == key for each in document.placed):
        return
    texts = (candidate.text, spoken(candidate.value))
    stone = forgetting.blocks(ledger.tombstones(desk, root), desk.salt(), key, texts)
    removed = stone.removed if stone else None
    if stone is None:
        spelled = next((each for each in document.deletions if each.key is not None and each.key == key), None)
        if spelled is None:
            return
        removed = spelled.removed.isoformat() if spelled.removed else None
    when = f" on {removed}" if removed else ""
    raise Unwanted(f"not stored: this was forgotten{when}; only the user may bring it back")


def _handle(root: Root, name: str, key: str | None, record: Record) -> str:
    return handle_of(root.scope, name, key, record.text)


def _receipt(desk: Desk, root: Root, name: str, done: Committed, candidate: Record, request: Request) -> Receipt:
    dialect = desk.dialects[name]
    record = done.decision.record
    handle = _handle(root, name, dialect.key_of(record), record)
    line = next((each.line for each in reversed(done.document.placed) if _same(dialect, each.record, record)), None)
    notes = list(done.decision.notes)
    if done.recovered:
        notes.append(
            f"{root.documents[name]} had no readable block and was recovered; the old content is kept below it"
        )
    announce = request.asked or opened(desk, root, PROFILE).document.settings.announce_writes
    return Receipt(
        id=done.id,
        action=done.decision.action,
        scope=root.scope,
        dialect=name,
        path=str(root.documents[name]),
        record=record,
        handle=handle,
        line=line,
        lost=lost(dialect.keeps, candidate, request.given),
        notes=tuple(desk.scanner.redacted(each) for each in notes),
        announce=announce,
        remove_with=f"byheart forget {handle}",
        undo_with=f"byheart undo {done.id}" if done.id else None,
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
    if "confidence" in keeps and record.kind in (Kind.RULE, Kind.CONSTRAINT):
        missing.append("kind")
    return tuple(missing)


def confirm(desk: Desk, selector: str, scope: Scope | None) -> Receipt:
    """Raise one record of the profile to high confidence, on the user's word."""
    hit = find_one(desk, selector, scope)
    if hit.dialect != PROFILE:
        raise Refused(f"{selector!r} is a rule, and rules have no confidence; remember it again to give it more weight")
    root = desk.roots[hit.scope]

    def decide(document: Document) -> Decision:
        current = [
            each
            for each in document.placed
            if each.record.key == hit.record.key and each.record.text == hit.record.text
        ]
        if not current:
            raise NothingFound(f"{selector!r} is gone")
        return merging.confirmed(current[-1])

    done = commit(desk, root, hit.dialect, decide, handle=lambda _: hit.id)
    request = Request(text=hit.record.text)
    return _receipt(desk, root, hit.dialect, done, done.decision.record, request)


def switch(desk: Desk, name: str, on: bool, scope: Scope) -> Receipt:
    """Turn one of the notebook's own settings on or off."""
    root = desk.roots[scope]

    def decide(document: Document) -> Decision:
        current = getattr(document.settings, name)
        changes = () if current == on else (Setting(name=name, on=on),)
        action = "switched" if changes else "unchanged"
        return Decision(changes=changes, action=action, record=Record(text=""), notes=())

    done = commit(desk, root, PROFILE, decide)
    return Receipt(
        id=done.id,
        action=done.decision.action,
        scope=scope,
        dialect=PROFILE,
        path=str(root.documents[PROFILE]),
        record=None,
        notes=(f"{name} is {'on' if on else 'off'}",),
        undo_with=f"byheart undo {done.id}" if done.id else None,
    )
