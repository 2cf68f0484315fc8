"""YAML as a tree that knows where each node stands, so that an edit can be a splice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from byheart.domain.records import Value
from byheart.text.patterns import deferred

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
