"""MEMORY.md and its daily logs: one record a line, a dash and a JSON object; every other line is a person's own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date

from byheart.domain.documents import Add, Change, Document, Drop, Problem, Replace, Splice
from byheart.domain.journal import DECISION, LEARNED, NOTE, USER_PREFERENCE, Origin, Sensitivity, strictest
from byheart.domain.records import Confidence, Kind, Placed, Record
from byheart.text import lines
from byheart.text.deferred import deferred
from byheart.text.lines import BOM, compact, fields

NAME = "journal"
TEMPLATE = """# MEMORY

<!-- byheart journal: one record a line, newest last. Your own notes between the records stay as they are. -->

"""
_KINDS = {LEARNED: Kind.LESSON, USER_PREFERENCE: Kind.PREFERENCE, DECISION: Kind.RULE}
_LABELS = {each.value: each for each in Sensitivity}
_SURROGATE = deferred("[\ud800-\udfff]")
_LABELLED = deferred(r"sensitivity\W{0,8}:\s*\W{0,4}(?!public\b|operational\b|private-user\b)\w", re.IGNORECASE)
_decode = json.JSONDecoder().decode


class Journal:
    """The dialect of MEMORY.md."""

    name = NAME
    keeps = frozenset({"text", "kind", "confidence", "source", "added", "origin"})

    def blank(self) -> str:
        return TEMPLATE

    def key_of(self, record: Record) -> str | None:
        return record.origin.id if record.origin else None

    def parse(self, text: str) -> Document:
        """A record for each line that is one; a line that begins like a record and is none is a problem."""
        return _parsed(text, 0, 1, [], [])

    def reparse(self, before: Document, text: str, first: int) -> Document:
        """The same as parsing `text`, which is as it was up to the position `first`."""
        return _parsed(text, *before.above(text, first))

    def plan(self, document: Document, changes: Sequence[Change], today: date) -> list[Splice]:
        """New records become the last lines or stand before another; dropped ones take their line along."""
        del today  # a record has its own timestamp
        text, splices = document.text, []
        newline = lines.break_style(text)
        fresh = []
        for change in changes:
            match change:
                case Add(before=None):
                    fresh.append(row(change.record))
                case Add(before=Placed() as before):
                    start = text.rfind("\n", 0, before.start) + 1
                    splices.append(Splice(start, start, row(change.record) + newline))
                case Replace():
                    splices += _replaced(text, change)
                case Drop():
                    splices.append(Splice(*line_span(text, change.old), ""))
        splices += _loose_end(text, splices)
        if fresh:
            # A file without a final line break keeps having none, so that dropping the record restores it.
            whole = text.endswith("\n") or not text
            added = "".join(each + newline if whole else newline + each for each in fresh)
            splices.append(Splice(len(text), len(text), added))
        return splices

    def recovered(self, text: str) -> str:
        """Lines stand on their own, so there is nothing to recover."""
        return text


def looks_like(text: str) -> bool:
    """Whether a MEMORY.md is a journal: it has a record, or is the template that one starts from."""
    return TEMPLATE.split("\n")[2] in text or bool(_parsed(text, 0, 1, [], []).placed)


def _parsed(text: str, begin: int, line: int, placed: list[Placed], problems: list[Problem]) -> Document:
    """Parse from a line's beginning on, behind what has been parsed already."""
    position = begin
    for piece in (text[begin:] if begin else text).split("\n"):
        body = piece.strip().lstrip(BOM)
        if body.startswith("- "):
            rest = body[2:].lstrip()
            # An object only: "- 12" and "- [a list]" are a person's own list items, JSON or not.
            if rest.startswith("{"):
                found = _record(rest)
                if not isinstance(found, str):
                    start = position + piece.index("-")
                    placed.append(Placed(record=found, line=line, start=start, end=start + len(body)))
                elif '"' in rest:
                    problems.append(Problem(line=line, rule="broken-line", message=found))
        position += len(piece) + 1
        line += 1
    return Document(text=text, placed=tuple(placed), problems=tuple(problems))


def _record(body: str) -> Record | str:
    """The record that a line's JSON holds, or what is wrong with it."""
    try:
        raw = _decode(body)
    except (ValueError, RecursionError):
        return "it begins like a record, but is not valid JSON"
    text = raw.get("text")
    if type(text) is not str:
        return "it is JSON, but has no text"
    if "\\u" in body and _has_surrogate(raw):
        return "half a character (a lone surrogate) stands in it"
    source = raw.get("provenance")
    provenance = source if type(source) is dict else {}
    category = _text(raw.get("category"), NOTE)
    certainty = _certainty(provenance.get("confidence", raw.get("confidence")))
    stamp = _text(provenance.get("timestamp"), "")
    channel = _text(provenance.get("sourceChannel"), "")
    return Record(
        text=text,
        kind=_KINDS.get(category, Kind.NOTE),
        confidence=_confidence(certainty),
        source=channel or None,
        added=_day(stamp),
        origin=Origin(
            id=_text(raw.get("id"), ""),
            session=_text(raw.get("sessionId"), ""),
            category=category,
            channel=channel,
            certainty=certainty,
            timestamp=stamp or None,
            sensitivity=_sensitivity(raw, source),
        ),
    )


def _text(value: object, otherwise: str) -> str:
    return value if type(value) is str else otherwise


def _has_surrogate(raw: dict[str, object]) -> bool:
    """Whether a text of the record, or of its provenance, cannot be encoded."""
    source = raw.get("provenance")
    every = [*raw.values(), *(source.values() if type(source) is dict else ())]
    return any(type(value) is str and _SURROGATE.search(value) for value in every)


def conceals(line: str) -> bool:
    """Whether a line that is no record looks like one, or half of one, with a label that would keep it back."""
    return bool(_LABELLED.search(line))


def _sensitivity(raw: dict[str, object], source: object) -> Sensitivity:
    """The strictest label that a record has, wherever it stands; without any it is the person's own. Where the provenance
    is none, nobody can say what it meant."""
    if type(source) is dict:
        inner = source.get("sensitivity")
    elif source is None:
        inner = None
    else:
        return Sensitivity.SECRET
    outer = raw.get("sensitivity")
    if outer is None:
        return Sensitivity.PRIVATE if inner is None else _label(inner)
    return _label(outer) if inner is None else strictest([_label(inner), _label(outer)])


def _certainty(value: object) -> float | None:
    if type(value) is int or type(value) is float:
        return value if 0 <= value <= 1 else None
    return None


def _label(value: object) -> Sensitivity:
    """A label; one that nobody knows is the strictest."""
    return _LABELS.get(value.strip().casefold(), Sensitivity.SECRET) if type(value) is str else Sensitivity.SECRET


def _confidence(certainty: float | None) -> Confidence | None:
    if certainty is None:
        return None
    return Confidence.HIGH if certainty >= 0.85 else Confidence.MEDIUM if certainty >= 0.5 else Confidence.LOW


def _day(stamp: str) -> date | None:
    try:
        return date.fromisoformat(stamp[:10]) if stamp else None
    except ValueError:
        return None


def row(record: Record, more: Mapping[str, object] | None = None) -> str:
    """A record's line, with its fields in the order that other programs write and expect; `more` is what else it has, and
    under `provenance` what else that has."""
    if record.origin is None:
        raise ValueError("a journal record needs its origin")
    origin = record.origin
    certainty = origin.certainty
    provenance: dict[str, object] = {
        "sourceChannel": origin.channel,
        "confidence": int(certainty) if certainty in (0, 1) else certainty,
        "timestamp": origin.timestamp,
        "sensitivity": origin.sensitivity.value,
    }
    entry: dict[str, object] = {
        "id": origin.id,
        "sessionId": origin.session,
        "category": origin.category,
        "text": record.text,
        "provenance": provenance,
    }
    extra = dict(more or {})
    inner = extra.pop("provenance", None)
    if isinstance(inner, dict):
        entry["provenance"] = {**provenance, **inner}
    return "- " + compact({**entry, **extra})


def line_span(text: str, placed: Placed) -> tuple[int, int]:
    """The span of a record's whole line, with its line break."""
    after = text.find("\n", placed.end)
    return text.rfind("\n", 0, placed.start) + 1, after + 1 if after >= 0 else len(text)


def _loose_end(text: str, drops: Sequence[Splice]) -> list[Splice]:
    """The line break before lines that are dropped from an end without one: the file ends without one still."""
    edge, spans = len(text), {each.end: each.start for each in drops if not each.text and each.end > each.start}
    if text.endswith("\n") or edge not in spans:
        return []
    while edge in spans:
        edge = spans[edge]
    start = len(text[:edge].removesuffix("\n").removesuffix("\r"))
    return [Splice(start, edge, "")] if start < edge else []


def _replaced(text: str, change: Replace) -> list[Splice]:
    """Splices for the fields that differ; everything else on the line stays, unknown fields among it."""
    old, new = change.old.record, change.new
    if old.origin is None or new.origin is None:
        raise ValueError("a journal record needs its origin")
    line = text[change.old.start : change.old.end]
    top = fields(line)
    wanted: dict[str, object] = {}
    if old.text != new.text:
        wanted["text"] = new.text
    for name, was, now in (
        ("id", old.origin.id, new.origin.id),
        ("sessionId", old.origin.session, new.origin.session),
        ("category", old.origin.category, new.origin.category),
    ):
        if was != now:
            wanted[name] = now
    inner: dict[str, object] = {}
    for name, before, after in (
        ("sourceChannel", old.origin.channel, new.origin.channel),
        ("confidence", old.origin.certainty, new.origin.certainty),
        ("timestamp", old.origin.timestamp, new.origin.timestamp),
        ("sensitivity", old.origin.sensitivity.value, new.origin.sensitivity.value),
    ):
        if before != after:
            inner[name] = after
    at = change.old.start
    splices = _set(top, line.rindex("}"), wanted, at)
    if inner:
        span = top.get("provenance")
        if span is None or line[span[0]] != "{":
            splices += _set(top, line.rindex("}"), {"provenance": inner}, at)
        else:
            nested = {name: (a, b) for name, (a, b) in fields(line, span[0]).items()}
            splices += _set(nested, span[1] - 1, inner, at)
    return splices


def _set(spans: dict[str, tuple[int, int]], closing: int, wanted: dict[str, object], at: int) -> list[Splice]:
    splices = [
        Splice(at + spans[name][0], at + spans[name][1], compact(value))
        for name, value in wanted.items()
        if name in spans
    ]
    added = ",".join(f"{compact(name)}:{compact(value)}" for name, value in wanted.items() if name not in spans)
    if added:
        splices.append(Splice(at + closing, at + closing, f",{added}" if spans else added))
    return splices
