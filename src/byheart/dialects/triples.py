"""memories.ndjson: one rule, constraint or preference a line, keyed by its triple."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from datetime import date

from byheart.domain.changes import Add, Change, Drop, Replace, Splice
from byheart.domain.documents import Document, Problem
from byheart.domain.records import Kind, Placed, Record, Triple
from byheart.text import lines
from byheart.text.fences import BOM
from byheart.text.jsonspans import compact, fields

NAME = "triples"
KINDS = (Kind.CONSTRAINT, Kind.RULE, Kind.PREFERENCE)


class Triples:
    """The dialect of memories.ndjson."""

    name = NAME
    keeps = frozenset({"text", "kind", "triple", "weight", "tags"})

    def blank(self) -> str:
        return ""

    def key_of(self, record: Record) -> str | None:
        return triple_key(record.triple) if record.triple else None

    def parse(self, text: str) -> Document:
        """One record for each line that is an entry; every other line that is not blank is a problem."""
        placed: list[Placed] = []
        problems: list[Problem] = []
        seen: dict[str, int] = {}
        offsets = _line_offsets(text)
        for number, start in enumerate(offsets, start=1):
            end = offsets[number] if number < len(offsets) else len(text)
            row = text[start:end]
            if not row.strip(BOM + " \t\r\n"):
                continue
            found = _record(row.lstrip(BOM))
            if isinstance(found, str):
                problems.append(Problem(line=number, rule="broken-line", message=found))
                continue
            body = row.lstrip(BOM)
            begin = start + len(row) - len(body)
            stop = begin + len(body.rstrip("\r\n"))
            placed.append(Placed(record=found, line=number, start=begin, end=stop))
            key = found.key or ""
            if key in seen:
                message = f"the same triple stands at line {seen[key]} already"
                problems.append(Problem(line=number, rule="duplicate-key", message=message))
            seen.setdefault(key, number)
        return Document(text=text, placed=tuple(placed), problems=tuple(problems))

    def plan(self, document: Document, changes: Sequence[Change], today: date) -> list[Splice]:
        """New entries become the last lines; a changed one differs only in the fields that changed."""
        del today  # the format has no dates: line order is its clock
        text, splices = document.text, []
        fresh = [_row(change.record) for change in changes if isinstance(change, Add)]
        for change in changes:
            match change:
                case Replace():
                    splices += _replaced(text, change)
                case Drop():
                    splices.append(_dropped(text, change.old))
        if fresh:
            splices.append(_appended(text, fresh))
        return splices

    def recovered(self, text: str) -> str:
        """Lines stand on their own, so there is nothing to recover."""
        return text


def triple_key(triple: Triple) -> str:
    """The dedupe key: the three parts in lower case, blanks and dashes as underscores, joined by bars."""
    return "|".join(_normalised(part) for part in triple)


def _normalised(part: str) -> str:
    words = unicodedata.normalize("NFKC", part).casefold().replace("|", "/").replace("-", " ").replace("_", " ").split()
    return "_".join(words)


def _line_offsets(text: str) -> list[int]:
    # NDJSON lines end at a newline only; a lone carriage return is white space to JSON.
    offsets, at = [0], text.find("\n")
    while at >= 0:
        offsets.append(at + 1)
        at = text.find("\n", at + 1)
    return offsets


def _record(row: str) -> Record | str:
    """The entry a line holds, or what is wrong with it."""
    try:
        entry = json.loads(row)
    except (ValueError, RecursionError):
        return "not valid JSON"
    if not isinstance(entry, dict):
        return "not a JSON object"
    kind, triple, text, weight = entry.get("k"), entry.get("t"), entry.get("n"), entry.get("w", 1)
    if kind not in [each.value for each in KINDS]:
        return "k is none of constraint, rule, preference"
    if not (isinstance(triple, list) and len(triple) == 3 and all(isinstance(part, str) for part in triple)):
        return "t is not a list of three texts"
    if not isinstance(text, str):
        return "n is not a text"
    if isinstance(weight, bool) or not isinstance(weight, int) or weight < 1:
        return "w is not a whole number from 1"
    tags = entry.get("tags", [])
    if not (isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)):
        tags = []
    whole: Triple = (triple[0], triple[1], triple[2])
    return Record(text=text, kind=Kind(kind), key=triple_key(whole), triple=whole, weight=weight, tags=tuple(tags))


def _row(record: Record) -> str:
    if record.triple is None:
        raise ValueError("a triple is needed")
    kind = record.kind if record.kind in KINDS else Kind.PREFERENCE
    entry: dict[str, object] = {"k": kind.value, "t": list(record.triple), "w": record.weight, "n": record.text}
    if record.tags:
        entry["tags"] = list(record.tags)
    return compact(entry)


def _appended(text: str, rows: list[str]) -> Splice:
    newline = lines.break_style(text)
    end = len(text)
    if not text.strip(BOM):
        return Splice(end, end, "".join(row + newline for row in rows))
    if text.endswith("\n"):
        return Splice(end, end, "".join(row + newline for row in rows))
    # A file without a final line break keeps having none, so that dropping the entry restores it.
    return Splice(end, end, "".join(newline + row for row in rows))


def _dropped(text: str, old: Placed) -> Splice:
    after = text.find("\n", old.end)
    if after >= 0:
        return Splice(old.start, after + 1, "")
    start = len(text[: old.start].removesuffix("\n").removesuffix("\r"))
    return Splice(start, len(text), "")


def _replaced(text: str, change: Replace) -> list[Splice]:
    old, new = change.old.record, change.new
    line = text[change.old.start : change.old.end]
    spans = fields(line)
    wanted: dict[str, object] = {}
    if old.weight != new.weight:
        wanted["w"] = new.weight
    if old.text != new.text:
        wanted["n"] = new.text
    if old.kind != new.kind:
        wanted["k"] = new.kind.value
    if old.tags != new.tags:
        wanted["tags"] = list(new.tags)
    splices = []
    closing = line.rindex("}")
    for name, value in wanted.items():
        if name in spans:
            start, end = spans[name]
            splices.append(Splice(change.old.start + start, change.old.start + end, compact(value)))
        else:
            at = change.old.start + closing
            splices.append(Splice(at, at, f",{compact(name)}:{compact(value)}"))
    return splices
