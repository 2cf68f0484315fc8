"""Edits of JSON that a person wrote: one member or element more or less, everything else as it was, comments and all.

Agents' settings are JSON with comments and trailing commas as often as not. They are never written anew: a text is taken apart
with its places, and only the part that changes is spliced.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from byheart.domain.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Sequence

Path = tuple[str, ...]
_SPACE = " \t\r\n"
_DEEPEST = 200


class NotJson(ValueError):
    """A text that cannot be understood as JSON, with or without comments."""


@dataclass(slots=True)
class _Node:
    """A value with its place; of an object its members by name, of a list its elements."""

    start: int
    end: int
    value: Any
    members: dict[str, tuple[int, _Node]] = field(default_factory=dict)
    elements: list[_Node] = field(default_factory=list)
    # Where the last comma stands that nothing follows, if one does.
    trailing: int = -1


def parsed(text: str) -> Any:
    """What a text says. Raises NotJson."""
    return _read(text).value if text.strip() else {}


def with_member(text: str, path: Path, value: object) -> str:
    """A text in which `path` has this value; objects on the way are made where there are none. Raises NotJson where something
    else stands in the way."""
    if not text.strip():
        text = "{}\n"
    node, done = _walked(text, path[:-1])
    missing = path[len(done) : -1]
    name = missing[0] if missing else path[-1]
    made = _nested(missing[1:], path[-1], value) if missing else value
    if not isinstance(node.value, dict):
        raise NotJson(f"{'.'.join(done) or 'the whole'} is not an object")
    known = node.members.get(name)
    if known is not None:
        return _spliced(text, known[1].start, known[1].end, _dumped(made, text, known[1].start))
    return _added(text, node, f"{json.dumps(name, ensure_ascii=False)}: ", made)


def _nested(names: Sequence[str], last: str, value: object) -> object:
    made: object = {last: value}
    for name in reversed(names):
        made = {name: made}
    return made


def with_element(text: str, path: Path, value: object) -> str:
    """A text whose list at `path` has one element more; the list is made where there is none."""
    if not text.strip():
        text = "{}\n"
    node, done = _walked(text, path)
    if len(done) < len(path):
        return with_member(text, path, [value])
    if not isinstance(node.value, list):
        raise NotJson(f"{'.'.join(path)} is not a list")
    return _added(text, node, "", value)


def without_member(text: str, path: Path) -> str:
    """A text without the member at `path`; the same where there is none."""
    node, done = _walked(text, path[:-1])
    if len(done) < len(path) - 1 or path[-1] not in node.members:
        return text
    spans = [(start, each.end) for start, each in node.members.values()]
    return _removed(text, node, spans, list(node.members).index(path[-1]))


def without_element(text: str, path: Path, index: int) -> str:
    """A text whose list at `path` lacks one element."""
    node, done = _walked(text, path)
    if len(done) < len(path) or index >= len(node.elements):
        return text
    return _removed(text, node, [(each.start, each.end) for each in node.elements], index)


def _walked(text: str, path: Path) -> tuple[_Node, Path]:
    """The deepest value on the way to a path, and how far it goes."""
    node = _read(text)
    for depth, name in enumerate(path):
        if name in node.members:
            node = node.members[name][1]
        elif name.isdecimal() and isinstance(node.value, list) and int(name) < len(node.elements):
            node = node.elements[int(name)]
        else:
            return node, path[:depth]
    return node, path


def _added(text: str, node: _Node, lead: str, value: object) -> str:
    """One more at the end of an object or a list."""
    inner = [(start, each.end) for start, each in node.members.values()] or [
        (each.start, each.end) for each in node.elements
    ]
    own = _indent(text, node.start)
    if not inner:
        unit = _unit(text)
        body = lead + _dumped_at(value, own + unit, unit)
        # What stands between the brackets, a comment perhaps, stays.
        held = text[node.start + 1 : node.end - 1].rstrip()
        kept = f"{held}\n" if held else "\n"
        return _spliced(text, node.start + 1, node.end - 1, f"{kept}{own}{unit}{body}\n{own}")
    last = inner[-1][1]
    one_line = "\n" not in text[node.start : node.end]
    step = _indent(text, inner[0][0]) if not one_line else ""
    body = lead + (json.dumps(value, ensure_ascii=False) if one_line else _dumped_at(value, step, _unit(text)))
    if one_line:
        return _spliced(text, last, last, f", {body}")
    if node.trailing >= 0:
        at = _line_rest(text, node.trailing + 1)
        return _spliced(text, at, at, f"\n{step}{body},")
    # A comment behind the last one is about the last one.
    at = _line_rest(text, last)
    return f"{text[:last]},{text[last:at]}\n{step}{body}{text[at:]}"


def _line_rest(text: str, at: int) -> int:
    """The end of a comment that stands behind this place in its line; the place itself where there is none."""
    end = at
    while end < len(text) and text[end] in " \t":
        end += 1
    if text.startswith("//", end):
        stop = text.find("\n", end)
        return len(text) if stop < 0 else stop
    if text.startswith("/*", end):
        stop = text.find("*/", end) + 2
        return stop if "\n" not in text[end:stop] else at
    return at


def _removed(text: str, node: _Node, spans: Sequence[tuple[int, int]], index: int) -> str:
    """One less: with the comma before it, or that behind it where it was the first; brackets around nothing close up."""
    start, end = spans[index]
    if len(spans) == 1:
        stop = node.trailing + 1 if node.trailing >= 0 else end
        before, behind = text[node.start + 1 : start], text[stop : node.end - 1]
        if not before.strip() and not behind.strip():
            return _spliced(text, node.start + 1, node.end - 1, "")
        return _spliced(text, _back(text, start), stop, "")
    if index:
        previous = spans[index - 1][1]
        comma = text.index(",", previous)
        rest = _line_rest(text, comma + 1)
        if node.trailing >= 0 and index == len(spans) - 1:
            # The comma at the very end stays for the one before: it is the house's style.
            return _spliced(text, rest, node.trailing + 1, "")
        return text[:comma] + text[comma + 1 : rest] + text[end:]
    following = spans[1][0]
    return _spliced(text, start, following, "")


def _back(text: str, at: int) -> int:
    while at and text[at - 1] in " \t":
        at -= 1
    return at - 1 if at and text[at - 1] == "\n" else at


def _spliced(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _indent(text: str, at: int) -> str:
    """The white space that the line of a place begins with."""
    line = text.rfind("\n", 0, at) + 1
    end = line
    while end < len(text) and text[end] in " \t":
        end += 1
    return text[line:end]


def _unit(text: str) -> str:
    """By how much this text indents: what its first indented line begins with."""
    for line in text.split("\n"):
        blank = line[: len(line) - len(line.lstrip(" \t"))]
        if blank and line.strip():
            return blank if len(blank) <= 8 else "  "
    return "  "


def _dumped(value: object, text: str, at: int) -> str:
    return _dumped_at(value, _indent(text, at), _unit(text))


def _dumped_at(value: object, indent: str, unit: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return f"\n{indent}".join(lines)


def _read(text: str) -> _Node:
    reader = _Reader(text)
    node = reader.value(reader.skipped(0), 0)
    if reader.skipped(node.end) != len(text):
        raise NotJson(f"there is more behind the end of it, in line {text.count(chr(10), 0, node.end) + 1}")
    return node


class _Reader:
    """Goes through JSON with comments and trailing commas."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._decoder = json.JSONDecoder()

    def _wrong(self, at: int, what: str) -> NotJson:
        return NotJson(f"{what} in line {self._text.count(chr(10), 0, at) + 1}")

    def skipped(self, at: int) -> int:
        """The next place that is neither white space nor comment."""
        text = self._text
        while at < len(text):
            if text[at] in _SPACE or text[at] == "\ufeff":
                at += 1
            elif text.startswith("//", at):
                end = text.find("\n", at)
                at = len(text) if end < 0 else end
            elif text.startswith("/*", at):
                end = text.find("*/", at + 2)
                if end < 0:
                    raise self._wrong(at, "a comment without an end")
                at = end + 2
            else:
                break
        return at

    def value(self, at: int, depth: int) -> _Node:
        """The value that begins here."""
        text = self._text
        if at >= len(text):
            raise self._wrong(at, "a value is missing")
        if depth > _DEEPEST:
            raise self._wrong(at, "it is nested too deeply")
        if text[at] == "{":
            return self._object(at, depth)
        if text[at] == "[":
            return self._list(at, depth)
        try:
            found, end = self._decoder.raw_decode(text, at)
        except ValueError:
            raise self._wrong(at, "something that is no JSON") from None
        return _Node(at, end, found)

    def _object(self, start: int, depth: int) -> _Node:
        node = _Node(start, start, {})
        at = self.skipped(start + 1)
        while at < len(self._text) and self._text[at] != "}":
            if self._text[at] != '"':
                raise self._wrong(at, "a name without quotes")
            key = self.value(at, depth)
            colon = self.skipped(key.end)
            if colon >= len(self._text) or self._text[colon] != ":":
                raise self._wrong(colon, "a colon is missing")
            value = self.value(self.skipped(colon + 1), depth + 1)
            # Of two with one name the last counts, as everywhere.
            node.members.pop(key.value, None)
            node.members[key.value] = (at, value)
            node.value[key.value] = value.value
            at = self._behind(node, value.end, "}")
        return self._closed(node, at)

    def _list(self, start: int, depth: int) -> _Node:
        node = _Node(start, start, [])
        at = self.skipped(start + 1)
        while at < len(self._text) and self._text[at] != "]":
            value = self.value(at, depth + 1)
            node.elements.append(value)
            node.value.append(value.value)
            at = self._behind(node, value.end, "]")
        return self._closed(node, at)

    def _behind(self, node: _Node, end: int, bracket: str) -> int:
        """The next member's or element's place, or that of the closing bracket."""
        at = self.skipped(end)
        if at < len(self._text) and self._text[at] == ",":
            following = self.skipped(at + 1)
            if following < len(self._text) and self._text[following] == bracket:
                node.trailing = at
            return following
        if at < len(self._text) and self._text[at] != bracket:
            raise self._wrong(at, "a comma is missing")
        return at

    def _closed(self, node: _Node, at: int) -> _Node:
        if at >= len(self._text):
            raise self._wrong(at, "a bracket is not closed")
        node.end = at + 1
        return node
