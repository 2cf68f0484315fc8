"""Results as text for people and as JSON for programs."""

from __future__ import annotations

import os
import sys
from datetime import date
from typing import TYPE_CHECKING

from byheart.domain.records import Kind, Record
from byheart.domain.values import fields, is_dataclass
from byheart.text.deferred import deferred
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from byheart.domain.results import Finding, Hit, Receipt

NOTEBOOK_NAMES = {"yaml-block": "memories.md", "triples": "memories.ndjson", "journal": "MEMORY.md"}
_VERBS = {
    "added": "Saved",
    "reinforced": "Reinforced",
    "replaced": "Updated",
    "contradicted": "Doubted",
    "confirmed": "Confirmed",
    "unchanged": "Unchanged",
    "forgotten": "Forgotten",
    "undone": "Undone",
    "switched": "Changed",
    "fixed": "Fixed",
}


def as_json(value: object) -> object:
    """A result as plain JSON values; records without their empty fields."""
    if isinstance(value, Record):
        whole = {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
        return {name: part for name, part in whole.items() if part not in (None, [], "")}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(name): as_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(part) for part in value]
    if isinstance(value, date):
        return value.isoformat()
    return value


def statement(record: Record) -> str:
    """A record in one line: its key where that adds something, and what it says."""
    text = visible(" ".join(record.text.split()))
    if record.key is None or record.triple is not None or record.kind in (Kind.RULE, Kind.CONSTRAINT):
        return text
    return f"{visible(record.key)}: {text}"


def receipt_line(receipt: Receipt) -> str:
    """The one-line confirmation: what, in which scope, where, and how to take it back."""
    verb = _VERBS.get(receipt.action, receipt.action.capitalize())
    where = receipt.path + (f":{receipt.line}" if receipt.line else "")
    if receipt.record is None or not receipt.record.text:
        return f"{verb}: {receipt.handle or 'settings'} ({receipt.scope.value}, {where})"
    kind = receipt.record.kind.value
    weight = f", weight {receipt.record.weight}" if receipt.record.weight > 1 else ""
    ending = f"; remove with: {receipt.remove_with}" if receipt.remove_with else ""
    return f"{verb}: {statement(receipt.record)} ({receipt.scope.value} {kind}{weight}, {where}){ending}"


def hit_line(hit: Hit) -> str:
    """A record with its handle, its place and what qualifies it."""
    record = hit.record
    origin = record.origin
    marks = [hit.scope.value, _line(origin.category) if origin else record.kind.value]
    if origin and (at := origin.at):
        marks.append(f"{at:%Y-%m-%d}")
    if record.confidence:
        marks.append(record.confidence.value)
    if record.weight > 1:
        marks.append(f"weight {record.weight}")
    marks += [visible(tag) for tag in record.tags]
    note = f"  [{hit.note}]" if hit.note else ""
    return f"{hit.id}  {statement(record)}  ({', '.join(marks)}){note}"


def journal_line(hit: Hit) -> str:
    """A journal record: its handle, when and of which sort, and what it says."""
    record, origin = hit.record, hit.record.origin
    text = visible(" ".join(record.text.split()))
    theirs = f"  ({hit.note})" if hit.note else ""
    if origin is None:
        return f"{hit.id}  {text}{theirs}"
    label = f", {origin.sensitivity.value}" if origin.is_secret else ""
    when = f"{at:%Y-%m-%d %H:%M}" if (at := origin.at) else "undated"
    return f"{hit.id}  {when}  {text}  ({_line(origin.category)}, {_line(origin.session)}{label}){theirs}"


def _line(text: str) -> str:
    """A text on one line, without characters that play tricks."""
    return visible(" ".join(text.split()))


def record_lines(hit: Hit) -> list[str]:
    """A record in full, a field a line."""
    record = hit.record
    rows: list[tuple[str, object]] = [
        ("handle", hit.id),
        ("text", record.text),
        ("key", record.key),
        ("kind", record.kind.value),
        ("triple", " | ".join(record.triple) if record.triple else None),
        ("weight", record.weight if record.triple else None),
        ("confidence", record.confidence.value if record.confidence else None),
        ("tags", ", ".join(record.tags) or None),
        ("source", record.source),
        ("added", record.added),
        ("id", _line(record.origin.id) if record.origin else None),
        ("category", _line(record.origin.category) if record.origin else None),
        ("session", _line(record.origin.session) if record.origin else None),
        ("at", record.origin.at if record.origin else None),
        ("sensitivity", record.origin.sensitivity.value if record.origin else None),
        ("scope", hit.scope.value),
        ("stands at", f"{hit.path}:{hit.line}"),
    ]
    return [visible(f"{name + ':':<12}{value}") for name, value in rows if value is not None]


def finding_line(finding: Finding) -> str:
    """A finding with its place in front, as compilers print them."""
    where = finding.place or ""
    if finding.line:
        where += f":{finding.line}"
    if finding.column:
        where += f":{finding.column}"
    return f"{where}: {finding.message} [{finding.rule}]" if where else f"{finding.message} [{finding.rule}]"


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows in aligned columns; the last column is not padded."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in rows
    ]


# What makes the text behind it bold or coloured ends in a letter, which is none of the path's.
_STYLED = deferred(r"\x1b\[[0-9;]*m\Z")
_COLOURED = deferred(r"\x1b\[[0-9;]*m")
# Where a column begins, and what a line is broken into.
_GAP, _PIECE, _NARROWEST = deferred(r"(?<=\S) {2,}(?=\S)"), deferred(r" *\S+"), 20


def short(text: str) -> str:
    """A text with ~ in place of the home folder, wherever a path begins with it."""
    home = f"{os.path.expanduser('~').rstrip('/')}/"
    first, *rest = text.split(home) if home != "/" else (text,)
    parts = [first]
    for part in rest:
        # /mnt/home/me is not the home folder of /home/me.
        before = "" if _STYLED.search(parts[-1]) else parts[-1][-1:]
        parts += [home if before.isalnum() or (before and before in "._-~/") else "~/", part]
    return "".join(parts)


def wrapped(text: str, columns: int) -> str:
    """A text whose lines fit a terminal: broken between words, and going on below where their last column began."""
    return "\n".join(_fitted(line, columns) for line in text.split("\n")) if columns > _NARROWEST else text


def _fitted(line: str, columns: int) -> str:
    if _columns(line) <= columns:
        return line
    begins = [found.end() for found in _GAP.finditer(line) if _columns(line[: found.end()]) <= columns * 3 // 5]
    hang = _columns(line[: begins[-1]]) if begins else len(line) - len(line.lstrip()) + 2
    rows, row = [], ""
    for piece in _PIECE.findall(line):
        if row.strip() and _columns(row) + _columns(piece) > columns:
            rows.append(row)
            row = " " * hang + piece.lstrip()
        else:
            row += piece
    return "\n".join([*rows, row])


def _columns(text: str) -> int:
    """How wide a text is on a terminal: colours take no room, East Asian characters that of two."""
    plain = _COLOURED.sub("", text)
    if plain.isascii():
        return len(plain)
    # Most lines do without, and a command lives for a moment.
    from unicodedata import east_asian_width

    return sum(1 + (east_asian_width(each) in "WF") for each in plain)


def width(stream: TextIO | None = None) -> int:
    """How wide the terminal is; 0 where the result goes elsewhere and need not fit."""
    import shutil

    return shutil.get_terminal_size((0, 0)).columns if (stream or sys.stdout).isatty() else 0
