"""memories.ndjson: one rule, constraint or preference a line, keyed by its triple."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from datetime import date

from byheart.domain.documents import Add, Change, Document, Drop, Problem, Replace, Splice
from byheart.domain.records import Kind, Placed, Record, Triple
from byheart.text import lines
from byheart.text.deferred import deferred
from byheart.text.lines import BOM, compact, fields

NAME = "triples"
KINDS = (Kind.CONSTRAINT, Kind.RULE, Kind.PREFERENCE)
_BY_NAME = {kind.value: kind for kind in KINDS}
_SURROGATE = deferred("[\ud800-\udfff]")
_SEPARATORS = str.maketrans({"-": " ", "_": " ", "|": "/"})


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
        return _parsed(text, 0, 1, [], [])

    def reparse(self, before: Document, text: str, first: int) -> Document:
        """The same as parsing `text`, which is as it was up to the position `first`; what stands before is not read again."""
        return _parsed(text, *before.above(text, first))

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


def _parsed(text: str, begin: int, line: int, placed: list[Placed], problems: list[Problem]) -> Document:
    """Parse from a line's beginning on, behind what has been parsed already."""
    seen = {}
    for each in reversed(placed):
        seen[each.record.key] = each.line
    start = begin
    while start < len(text):
        newline = text.find("\n", start)
        end = newline + 1 if newline >= 0 else len(text)
        row = text[start:end]
        body = row.lstrip(BOM)
        if body.strip():
            found = _record(body)
            if isinstance(found, str):
                problems.append(Problem(line=line, rule="broken-line", message=found))
            else:
                stop = end - len(body) + len(body.rstrip("\r\n"))
                placed.append(Placed(record=found, line=line, start=end - len(body), end=stop))
                if found.key in seen:
                    message = f"the same triple stands at line {seen[found.key]} already"
                    problems.append(Problem(line=line, rule="duplicate-key", message=message))
                else:
                    seen[found.key] = line
        start, line = end, line + 1
    return Document(text=text, placed=tuple(placed), problems=tuple(problems))


def triple_key(triple: Triple) -> str:
    """The dedupe key: the three parts in lower case, blanks and dashes as underscores, joined by bars."""
    return f"{_normalised(triple[0])}|{_normalised(triple[1])}|{_normalised(triple[2])}"


def _normalised(part: str) -> str:
    if not part.isascii():
        part = unicodedata.normalize("NFKC", part).casefold()
    return "_".join(part.lower().translate(_SEPARATORS).split())


def _record(row: str) -> Record | str:
    """The entry a line holds, or what is wrong with it."""
    try:
        entry = json.loads(row)
    except (ValueError, RecursionError):
        return "not valid JSON"
    if not isinstance(entry, dict):
        return "not a JSON object"
    kind, triple, text, weight = entry.get("k"), entry.get("t"), entry.get("n"), entry.get("w", 1)
    known = _BY_NAME.get(kind) if isinstance(kind, str) else None
    if known is None:
        return "k is none of constraint, rule, preference"
    if type(triple) is not list or len(triple) != 3 or {type(part) for part in triple} != {str}:
        return "t is not a list of three texts"
    if type(text) is not str:
        return "n is not a text"
    if type(weight) is not int or weight < 1:
        return "w is not a whole number from 1"
    tags = entry.get("tags") or ()
    if tags and not (isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)):
        tags = ()
    whole: Triple = (triple[0], triple[1], triple[2])
    if "\\u" in row and _SURROGATE.search("".join((text, *whole, *tags))):
        return "half a character (a lone surrogate) stands in it"
    return Record(text=text, kind=known, key=triple_key(whole), triple=whole, weight=weight, tags=tuple(tags))


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
