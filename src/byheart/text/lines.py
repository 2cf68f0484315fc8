"""Lines and their offsets, counted the way Markdown and YAML count them."""

from __future__ import annotations

from bisect import bisect_right

from byheart.text.patterns import deferred

# str.splitlines also splits at form feeds and U+2028, which are ordinary characters to Markdown and JSON.
_BREAK = deferred(r"\r\n|\n|\r")


def starts(text: str) -> list[int]:
    """The offset of each line's first character; a text that ends in a line break has an empty last line."""
    return [0, *(found.end() for found in _BREAK.finditer(text))]


def number(offsets: list[int], position: int) -> int:
    """The 1-based line that holds a position, given the offsets of all lines."""
    return bisect_right(offsets, position)


def line_start(text: str, position: int) -> int:
    """Where the line that holds a position begins."""
    return max(text.rfind("\n", 0, position), text.rfind("\r", 0, position)) + 1


def line_end(text: str, position: int) -> int:
    """Where the line that holds a position ends, before its line break."""
    found = _BREAK.search(text, position)
    return found.start() if found else len(text)


def after_break(text: str, position: int) -> int:
    """The first position after the line break that stands at `position`, if one does."""
    found = _BREAK.match(text, position)
    return found.end() if found else position


def break_style(text: str) -> str:
    """The line break to add lines with: the text's first one, but never a lone carriage return."""
    found = _BREAK.search(text)
    return "\r\n" if found and found.group() == "\r\n" else "\n"
