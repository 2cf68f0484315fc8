"""What somebody wants remembered: taken apart, checked for shape and for what must not be stored."""

from __future__ import annotations

from collections.abc import Sequence

from byheart.domain.errors import BadInput, Refused, Unsafe
from byheart.domain.records import Kind, Record, Scope, Value, leaves, spoken
from byheart.domain.requests import Request
from byheart.language import wording
from byheart.notebooks import capture, merge
from byheart.workspace.context import JOURNAL, PROFILE, RULES, Context

_ROUTES = {
    Kind.RULE: RULES,
    Kind.CONSTRAINT: RULES,
    Kind.PREFERENCE: PROFILE,
    Kind.LESSON: PROFILE,
    Kind.NOTE: JOURNAL,
}
_MOST_PARTS, _MOST_TRIPLE, _MOST_TAG, _MOST_SOURCE, _MOST_KEY = 24, 120, 60, 200, 120
# A request may wrap its memory in a few words ("add to memory that …").
_WRAPPING = 200


def prepared(context: Context, request: Request) -> tuple[Record, Scope, str]:
    """The record, scope and format of a request that may be stored. Raises BadInput, Refused or Unsafe."""
    most = context.limits.record_characters
    # Before anything else looks at it: no pattern should have to read a book.
    if len(request.text) > most + _WRAPPING:
        raise Refused(_too_long(len(request.text), most))
    if capture.is_transcript(request.text):
        raise Refused("not stored: it is a transcript, not one statement; store what it teaches instead")
    _refuse_unsafe(context, request)
    record, scope, name = compose(request)
    longest = max(len(record.text), len(spoken(record.value)))
    if longest > most:
        raise Refused(_too_long(longest, most))
    return record, scope, name


def _too_long(length: int, most: int) -> str:
    return f"not stored: {length} characters is too long for one memory (at most {most}); say it shorter"


def compose(request: Request) -> tuple[Record, Scope, str]:
    """The record, scope and format that a request comes to."""
    if not request.text.strip() and (request.value is None or not request.key):
        raise BadInput("there is nothing to remember: give a sentence, or --key and --value")
    said = wording.parse(request.text) if request.text.strip() else None
    key = request.key or (said.key if said else None)
    kind = _kind(request, said)
    name = request.to or _ROUTES[kind]
    if kind is Kind.LESSON and key is not None and not key.startswith("lessons."):
        key = f"lessons.{key.split('.', 1)[-1]}"
    value = request.value
    if value is None and said is not None:
        value = said.value
        if request.key and request.key != said.key and (kind is not Kind.LESSON or isinstance(said.value, str)):
            # The words for a key of the person's own are taken as they are, without the request's wrapping.
            value = wording.simple_value(wording.scoped(request.text)[1])
    sentence = said.sentence if said and not request.verbatim else request.text
    triple = request.triple or (said.triple if said else None)
    if name == RULES and triple is None:
        raise BadInput("a rule needs a sentence or --triple")
    record = Record(
        text=sentence if name != PROFILE else spoken(value) or sentence,
        kind=kind if name != RULES or kind in (Kind.RULE, Kind.CONSTRAINT) else Kind.PREFERENCE,
        key=key,
        value=value,
        triple=triple,
        weight=request.weight,
        confidence=request.confidence or capture.confidence_for(request.signal),
        tags=request.tags,
        source=request.source or request.signal.value,
        added=request.added,
    )
    _check_shape(record)
    scope = request.scope or (said.scope if said else Scope.LOCAL)
    return merge.labelled(record), scope, name


def _kind(request: Request, said: wording.Wording | None) -> Kind:
    if request.kind is not None:
        return request.kind
    if request.key and request.triple is None:
        # Whoever names a key means the profile, whatever the sentence sounds like.
        return Kind.LESSON if request.key.startswith("lessons.") else Kind.PREFERENCE
    return said.kind if said else Kind.PREFERENCE


def _check_shape(record: Record) -> None:
    _check_value(record.value)
    key = record.key
    if key is not None and (not key or len(key) > _MOST_KEY or key != key.strip() or not key.isprintable()):
        raise BadInput(f"the key {key[:40]!r} is not usable; use a short dotted name such as writing.tone")
    for part in record.triple or ():
        if not part.strip() or len(part) > _MOST_TRIPLE:
            raise BadInput(f"a part of the triple is empty or longer than {_MOST_TRIPLE} characters: {part[:40]!r}")
    for tag in record.tags:
        if not tag.strip() or len(tag) > _MOST_TAG:
            raise BadInput(f"a tag is empty or longer than {_MOST_TAG} characters: {tag[:40]!r}")
    if record.source and len(record.source) > _MOST_SOURCE:
        raise BadInput(f"the source is longer than {_MOST_SOURCE} characters; a short note will do")


def _check_value(value: Value, depth: int = 0) -> None:
    parts: Sequence[Value] = []
    match value:
        case float() if value != value or value in (float("inf"), float("-inf")):
            raise BadInput(f"the value {value} is not a number that can be stored")
        case bool():
            return
        case int() if abs(value) >= 10**15:
            raise BadInput("the number has more than 15 digits; store it as a text")
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


def _refuse_unsafe(context: Context, request: Request) -> None:
    """Scan the words as they came, and every field that somebody filled in, alone and behind its name.

    Parts that we derived from the sentence are not scanned on their own: out of context they look like what they are not.
    """
    fields = leaves(request.value)
    parts = [request.text, *fields, *request.tags, request.source or "", request.key or ""]
    if request.key:
        parts += [f"{request.key} = {each}" for each in (fields or [request.text])]
        parts += [f"{name} = {each}" for name, each in _named(request.value)]
    parts += [name for name, _ in _named(request.value)]
    if request.triple:
        parts += [*request.triple, f"{request.triple[0]} {request.triple[1]} = {request.triple[2]}"]
    findings = [
        finding
        for part in dict.fromkeys(parts)
        for finding in context.scanner.findings(part)
        if not (request.asked and finding.severity in ("command", "weak"))
    ]
    if findings:
        raise Unsafe(findings)


def _named(value: Value) -> list[tuple[str, str]]:
    """The texts of a map with their names."""
    if not isinstance(value, dict):
        return []
    return [(name, text) for name, part in value.items() for text in leaves(part)]
