"""YAML as a tree that knows where each node stands, and edits of it as splices: add to a list, set or drop a field, drop an entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from byheart.domain.documents import Splice
from byheart.domain.records import Value
from byheart.text import lines
from byheart.text.deferred import deferred

# libyaml where it is built in (ten times faster), the same grammar in Python elsewhere.
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# PyYAML's stubs call every mark optional and hide the fields of concrete events; its parsers always set them.
_Event = Any
_DEPTH = 24
_INT = deferred(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = deferred(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][-+]?[0-9]+)?")
_PLAIN = deferred(r"[A-Za-z_][A-Za-z0-9_./+()@%-]*( [A-Za-z0-9_./+()@%-]+)*")
_RESERVED = frozenset("true false null yes no on off y n".split())
_UNPRINTED = "\x7f\x85\u2028\u2029\ufeff\ufffe\uffff"
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


class Bare(str):
    """A text that is written without quotes although it looks like a date."""

    __slots__ = ()


class BrokenYaml(Exception):
    """Not YAML that we can read; `refused` when it is YAML of a kind that we will not follow."""

    def __init__(self, line: int, message: str, *, refused: bool = False) -> None:
        self.line, self.message, self.refused = line, message, refused
        super().__init__(f"line {line}: {message}")


class Node:
    """A scalar, sequence or mapping. `end` is the node's own end, before trailing comments and blank lines."""

    __slots__ = ("column", "end", "flow", "line", "pairs", "parts", "scalar", "start", "style")

    def __init__(self, event: _Event, *, flow: bool) -> None:
        self.start: int = event.start_mark.index
        self.end: int = event.end_mark.index
        self.line: int = event.start_mark.line
        self.column: int = event.start_mark.column
        self.flow = flow
        self.style: str | None = None
        self.scalar: str | None = None
        self.parts: list[Node] | None = None
        self.pairs: list[tuple[Node, Node]] | None = None

    def get(self, name: str) -> Node | None:
        """The value of a mapping's key; of duplicates the last, as YAML readers take it."""
        field = self.field(name)
        return field[1] if field else None

    def field(self, name: str) -> tuple[Node, Node] | None:
        for key, value in reversed(self.pairs or ()):
            if key.scalar == name:
                return key, value
        return None

    @property
    def is_null(self) -> bool:
        return self.scalar is not None and not self.style and self.scalar in ("", "~", "null", "Null", "NULL")


def tree(text: str) -> Node | None:
    """The document's root node, or None where it is empty. Raises Broken."""
    try:
        return _built(text, yaml.parse(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BrokenYaml(mark.line + 1 if mark else 1, error.problem or "not valid YAML") from None
    except yaml.YAMLError as error:
        raise BrokenYaml(1, f"not valid YAML ({type(error).__name__})") from None


def _built(text: str, events: Iterator[_Event]) -> Node | None:
    root: Node | None = None
    open_nodes: list[Node] = []
    documents = 0
    for event in events:
        kind = type(event)
        if kind is yaml.ScalarEvent or kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            _refuse_references(event)
            node = _opened(text, event)
            if open_nodes:
                _attach(text, open_nodes[-1], node)
            else:
                root = node
            if node.scalar is None:
                open_nodes.append(node)
                if len(open_nodes) > _DEPTH:
                    raise BrokenYaml(node.line + 1, f"nested more than {_DEPTH} levels deep", refused=True)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            _closed(open_nodes.pop(), event)
        elif kind is yaml.AliasEvent:
            raise BrokenYaml(event.start_mark.line + 1, "an alias (*name) is not followed", refused=True)
        elif kind is yaml.DocumentStartEvent:
            documents += 1
            if documents > 1:
                raise BrokenYaml(event.start_mark.line + 1, "more than one YAML document in the block")
    return root


def _refuse_references(event: _Event) -> None:
    if event.anchor is not None:
        raise BrokenYaml(event.start_mark.line + 1, "an anchor (&name) is not followed", refused=True)
    if event.tag is not None:
        raise BrokenYaml(event.start_mark.line + 1, "a tag (!name) is not followed", refused=True)


def _opened(text: str, event: _Event) -> Node:
    if isinstance(event, yaml.ScalarEvent):
        node = Node(event, flow=False)
        node.scalar, node.style = event.value, event.style
        if event.style in ("|", ">"):
            node.end = _block_scalar_end(text, node.start, node.end)
        return node
    node = Node(event, flow=bool(event.flow_style))
    if isinstance(event, yaml.MappingStartEvent):
        node.pairs = []
    else:
        node.parts = []
    return node


def _block_scalar_end(text: str, start: int, end: int) -> int:
    """The end of the last line with content; the parser's mark may lie beyond blank lines and comments."""
    header_end = text.find("\n", start)
    if header_end < 0 or header_end >= end:
        return len(text[:end].rstrip()) if text[start:end].strip() else end
    if "+" in text[start:header_end].split("#")[0]:
        # "Keep": the blank lines that follow belong to the value.
        return len(text[:end].removesuffix("\n").removesuffix("\r"))
    return max(start + 1, len(text[:end].rstrip()))


def _attach(text: str, parent: Node, node: Node) -> None:
    if parent.parts is not None:
        parent.parts.append(node)
        return
    pairs = parent.pairs
    assert pairs is not None
    if not pairs or pairs[-1][1] is not _PENDING:
        if node.scalar is None:
            raise BrokenYaml(node.line + 1, "a key that is not a plain word", refused=True)
        pairs.append((node, _PENDING))
        return
    key = pairs[-1][0]
    if node.scalar == "" and not node.style:
        # Parsers disagree on where "nothing" stands; say: right behind the colon.
        colon = text.find(":", key.end)
        node.start = node.end = colon + 1 if colon >= 0 else key.end
    pairs[-1] = (key, node)


def _closed(node: Node, event: _Event) -> None:
    if node.flow:
        node.end = event.end_mark.index
    elif node.parts:
        node.end = node.parts[-1].end
    elif node.pairs:
        node.end = node.pairs[-1][1].end
    else:
        node.end = node.start


class _Pending(Node):
    """Stands for a value that has not been read yet."""

    __slots__ = ()

    def __init__(self) -> None:
        return


_PENDING = _Pending()


def value_of(node: Node) -> Value:
    """The node as a plain value: dates stay text, and only true and false are booleans."""
    if node.pairs is not None:
        return {key.scalar or "": value_of(value) for key, value in node.pairs}
    if node.parts is not None:
        return [value_of(part) for part in node.parts]
    text = node.scalar or ""
    if node.style:
        return text
    if node.is_null:
        return None
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text[0] in "tT"
    if _INT.fullmatch(text) and len(text) < 20:
        return int(text)
    if _FLOAT.fullmatch(text) and len(text) < 40 and not text.isdigit():
        return float(text)
    return text


def flag_of(node: Node | None, default: bool) -> bool | None:
    """A switch as people write it (true, yes, on …), the default where absent, None where it is none of these."""
    if node is None or node.is_null:
        return default
    word = (node.scalar or "").casefold()
    if word in ("true", "yes", "on", "1"):
        return True
    return False if word in ("false", "no", "off", "0") else None


def quoted(text: str, style: str | None = None) -> str:
    """The text as a one-line YAML string: plain where that is safe, else quoted, keeping a given quoting style."""
    printable = all(character >= " " and character not in _UNPRINTED for character in text)
    if style == "'" and printable and not any("\x80" <= character <= "\x9f" for character in text):
        return "'" + text.replace("'", "''") + "'"
    if style != '"' and _PLAIN.fullmatch(text) and text.casefold() not in _RESERVED:
        return text
    out = []
    for character in text:
        code = ord(character)
        if character in _ESCAPES:
            out.append(_ESCAPES[character])
        elif code < 0x20 or 0x7F <= code <= 0x9F or character in _UNPRINTED or 0xD800 <= code <= 0xDFFF:
            out.append(f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
        else:
            out.append(character)
    return '"' + "".join(out) + '"'


def inline(value: Value, style: str | None = None) -> str:
    """Any value on one line, in flow style."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case Bare() if not style:
            return str(value)
        case str():
            return quoted(value, style)
        case list():
            return "[" + ", ".join(inline(part) for part in value) + "]"
        case dict():
            return "{" + ", ".join(f"{quoted(name)}: {inline(part)}" for name, part in value.items()) + "}"


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
