"""Edits of a YAML text as splices: add to a list, set or drop a field, drop a list entry."""

from __future__ import annotations

from byheart.domain.changes import Splice
from byheart.domain.records import Value
from byheart.text import lines
from byheart.text.patterns import deferred
from byheart.text.yamlspans import Node, inline, quoted

_COMMA = deferred(r"\s*,[ \t]*")


def entry(fields: dict[str, Value], column: int, newline: str) -> str:
    """A mapping as an entry of a block list whose dashes stand at `column`; it ends without a line break."""
    pad = " " * (column + 2)
    rows = [f"{quoted(name)}:{_rendered(value, column + 2, newline)}" for name, value in fields.items()]
    return " " * column + "- " + (newline + pad).join(rows)


def _rendered(value: Value, column: int, newline: str) -> str:
    """What follows a field's colon. Maps get a line a part, since people read them; lists stay on one line."""
    if isinstance(value, dict) and value:
        pad = newline + " " * (column + 2)
        return "".join(f"{pad}{quoted(name)}: {inline(part)}" for name, part in value.items())
    return " " + inline(value)


def append_entries(text: str, owner: Node, name: str, entries: list[dict[str, Value]], newline: str) -> list[Splice]:
    """Add entries at the end of the list `name` of a mapping, whatever style the list has; create it if missing."""
    field = owner.field(name)
    if field is None:
        return [_new_list(text, owner, name, entries, newline)]
    key, value = field
    if owner.flow or (value.flow and (value.parts or "#" in text[value.start : value.end])):
        return [_into_flow_list(value, entries)]
    if value.parts and not value.flow:
        column = _dash(text, value.parts[0]) - lines.line_start(text, _dash(text, value.parts[0]))
        at = lines.line_end(text, value.end)
        return [Splice(at, at, "".join(newline + entry(each, column, newline) for each in entries))]
    rows = "".join(newline + entry(each, key.column + 2, newline) for each in entries)
    start = value.start
    if value.start != value.end and text[value.start - 1 : value.start] == " " and text[value.start - 2] == ":":
        start -= 1
    end_of_line = lines.line_end(text, value.end)
    # An empty list's brackets go, what the person wrote behind them stays.
    removal = Splice(start, value.end, "") if value.end > value.start else None
    insertion = Splice(end_of_line, end_of_line, rows)
    return [removal, insertion] if removal else [insertion]


def _new_list(text: str, owner: Node, name: str, entries: list[dict[str, Value]], newline: str) -> Splice:
    if owner.flow:
        body = f"{quoted(name)}: {inline([dict(each) for each in entries])}"
        return _into_flow_map(owner, body)
    rows = "".join(newline + entry(each, owner.column + 2, newline) for each in entries)
    at = lines.line_end(text, owner.end)
    return Splice(at, at, f"{newline}{' ' * owner.column}{quoted(name)}:{rows}")


def _into_flow_list(value: Node, entries: list[dict[str, Value]]) -> Splice:
    body = ", ".join(inline(dict(each)) for each in entries)
    if value.parts:
        return Splice(value.parts[-1].end, value.parts[-1].end, ", " + body)
    if value.flow:
        return Splice(value.start + 1, value.start + 1, body)
    return Splice(value.start, value.end, f" [{body}]")


def _into_flow_map(owner: Node, body: str) -> Splice:
    if owner.pairs:
        at = owner.pairs[-1][1].end
        return Splice(at, at, ", " + body)
    # In an empty map every field brings its own comma; a last one is allowed.
    return Splice(owner.start + 1, owner.start + 1, body + ", ")


def set_field(text: str, owner: Node, name: str, value: Value, newline: str) -> list[Splice]:
    """Give a mapping's field a value, keeping its quoting and the comment behind it; add it if missing."""
    field = owner.field(name)
    if field is None:
        if owner.flow:
            return [_into_flow_map(owner, f"{quoted(name)}: {inline(value)}")]
        at = lines.line_end(text, owner.end)
        row = f"{newline}{' ' * owner.column}{quoted(name)}:{_rendered(value, owner.column, newline)}"
        return [Splice(at, at, row)]
    key, old = field
    if owner.flow:
        return [Splice(old.start, old.end, _spaced(text, old, inline(value, old.style)))]
    if isinstance(value, dict) and value:
        rows = _rendered(value, key.column, newline)
        if old.pairs and not old.flow:
            # Same shape: start at the first inner key, so that a comment behind the outer one stays.
            return [Splice(lines.line_start(text, old.start), old.end, rows.removeprefix(newline))]
        return [Splice(_behind_colon(text, key), old.end, rows)]
    if old.style in ("|", ">"):
        header = text[old.start : lines.line_end(text, old.start)]
        comment = "  " + header[header.index("#") :] if "#" in header else ""
        return [Splice(_behind_colon(text, key), old.end, f" {inline(value)}{comment}")]
    if old.parts is not None and not old.flow:
        return [Splice(_behind_colon(text, key), old.end, " " + inline(value))]
    return [Splice(old.start, old.end, _spaced(text, old, inline(value, old.style)))]


def _spaced(text: str, old: Node, rendered: str) -> str:
    return rendered if old.end > old.start or text[old.start - 1 : old.start] == " " else " " + rendered


def _behind_colon(text: str, key: Node) -> int:
    return text.index(":", key.end) + 1


def drop_field(text: str, owner: Node, name: str) -> list[Splice]:
    """Remove a field with its line, not the comments above it; nothing where it is missing or the only one."""
    pairs = owner.pairs or []
    index = next((i for i in reversed(range(len(pairs))) if pairs[i][0].scalar == name), None)
    if index is None or len(pairs) < 2:
        return []
    key, value = pairs[index]
    if owner.flow:
        if index > 0:
            return [Splice(pairs[index - 1][1].end, value.end, "")]
        return [Splice(key.start, pairs[1][0].start, "")]
    if index == 0:
        # The first field shares its line with the list's dash: pull the next one up to it.
        return [Splice(key.start, pairs[1][0].start, "")]
    return [Splice(_line_before(text, key.start), lines.line_end(text, value.end), "")]


def _line_before(text: str, position: int) -> int:
    """The end of the line before the one that holds a position."""
    return len(text[: lines.line_start(text, position)].removesuffix("\n").removesuffix("\r"))


def drop_entries(text: str, owner: Node, name: str, gone: list[Node]) -> list[Splice]:
    """Remove entries from the list `name`; comments above them stay, an empty list is written as []."""
    field = owner.field(name)
    if field is None or not gone:
        return []
    key, value = field
    parts = value.parts or []
    if value.flow or owner.flow:
        return [_out_of_flow(text, parts, parts.index(each)) for each in gone]
    splices = []
    for each in gone:
        # From the break before the entry to its own end: what follows, and a file without a last break, stay as they are.
        splices.append(Splice(_line_before(text, _dash(text, each)), lines.line_end(text, each.end), ""))
    if len(gone) == len(parts):
        colon = _behind_colon(text, key)
        trailing = text[colon : lines.line_end(text, colon)]
        # Spaces left behind the colon show where the brackets stood.
        at = colon + len(trailing) if trailing and not trailing.strip() else colon
        splices.append(Splice(at, at, "[]" if at > colon else " []"))
    return splices


def _out_of_flow(text: str, parts: list[Node], index: int) -> Splice:
    """One entry out of a list in brackets, with one comma; what a person wrote between the entries stays."""
    part = parts[index]
    if index > 0 and text[parts[index - 1].end : part.start].strip(", \t") == "":
        return Splice(parts[index - 1].end, part.end, "")
    comma = _COMMA.match(text, part.end)
    return Splice(part.start, comma.end() if comma else part.end, "")


def _dash(text: str, node: Node) -> int:
    """Where the dash of a block list's entry stands: the last one before the entry that opens its line."""
    at = node.start
    while True:
        at = text.rfind("-", 0, at)
        if at < 0:
            raise ValueError("no dash before a list entry")
        if not text[lines.line_start(text, at) : at].strip() and text[at + 1 : at + 2] in (" ", "\t", "\n", "\r"):
            return at
