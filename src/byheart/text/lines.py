"""Places in a text: lines and their offsets, counted the way Markdown and YAML count them; fenced code blocks, found as CommonMark finds
them; the fields of a one-line JSON object, so that one value can be spliced."""

from __future__ import annotations

import json
import re
from bisect import bisect_right

from byheart.domain.values import dataclass
from byheart.text.deferred import deferred

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


BOM = "\ufeff"
_OPENING = deferred(r"(`{3,})([^`\r\n]*)|(~{3,})([^\r\n]*)")


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block: the span of its content, its 1-based opening line, and whether it is closed."""

    start: int
    end: int
    line: int
    closed: bool


def yaml_fences(text: str) -> list[Fence]:
    """All fenced blocks outside lists and quotes whose language is yaml or yml, in order."""
    shift = 1 if text.startswith(BOM) else 0
    first = _leading(text, shift)
    if first is not None and "```" not in text[first.end + 3 :] and "~~~" not in text[first.end + 3 :]:
        return [first]
    return _all(text, shift)


def safe_marker(text: str) -> str:
    """A tilde fence longer than any run of tildes in the text, so that the text cannot close it."""
    longest = max((len(run) for run in re.findall(r"~+", text)), default=0)
    return "~" * max(4, longest + 1)


def _language(info: str) -> str:
    words = info.split()
    return words[0].casefold() if words else ""


def _closes(line: str, marker: str) -> bool:
    body = line.rstrip(" \t\r\n")
    stripped = body.lstrip(" ")
    return len(body) - len(stripped) <= 3 and len(stripped) >= len(marker) and set(stripped) == {marker[0]}


def _leading(text: str, shift: int) -> Fence | None:
    """The block that opens the document. Nothing precedes it, so no list, quote or HTML can hide it,
    and the Markdown parser (60 ms to import) is not needed for a file as byheart writes it."""
    found = _OPENING.match(text, shift)
    if found is None or found.end() != line_end(text, found.end()):
        return None
    marker, info = (found[1], found[2]) if found[1] else (found[3], found[4])
    if _language(info) not in ("yaml", "yml"):
        return None
    content = after_break(text, found.end())
    run = re.escape(marker[0])
    closing = re.compile(rf"^ {{0,3}}{run}{{{len(marker)},}}[ \t]*\r?$", re.MULTILINE).search(text, content)
    if closing is None or content > len(text):
        return Fence(content, len(text), 1, closed=False)
    return Fence(content, closing.start(), 1, closed=True)


def _all(text: str, shift: int) -> list[Fence]:
    from markdown_it import MarkdownIt

    body = text[shift:]
    offsets = starts(body)
    found = []
    for token in MarkdownIt("commonmark").parse(body):
        if token.type != "fence" or token.level != 0 or token.map is None:
            continue
        if _language(token.info) not in ("yaml", "yml"):
            continue
        first, after = token.map
        last = offsets[after - 1] if after - 1 < len(offsets) else len(body)
        closed = after - 1 > first and _closes(body[last : line_end(body, last)], token.markup)
        start = offsets[first + 1] if first + 1 < len(offsets) else len(body)
        stop = last if closed else (offsets[after] if after < len(offsets) else len(body))
        found.append(Fence(start + shift, max(start, stop) + shift, first + 1, closed))
    return found


_DECODER = json.JSONDecoder()
_SPACE = " \t\r"


def fields(line: str, start: int = 0) -> dict[str, tuple[int, int]]:
    """The span of each top-level value of the object that opens at `start`; of duplicates the last.

    The line must be a valid JSON object already.
    """
    spans: dict[str, tuple[int, int]] = {}
    at = _skipped(line, line.index("{", start) + 1)
    while line[at] != "}":
        name, at = _DECODER.raw_decode(line, at)
        at = _skipped(line, _skipped(line, at) + 1)
        end = _DECODER.raw_decode(line, at)[1]
        spans[name] = (at, end)
        at = _skipped(line, end)
        if line[at] == ",":
            at = _skipped(line, at + 1)
    return spans


def _skipped(line: str, at: int) -> int:
    while line[at] in _SPACE:
        at += 1
    return at


def compact(value: object) -> str:
    """JSON on one line without spaces. U+2028 and U+2029 are escaped, since some readers break lines there."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


_ESCAPE = re.compile(r"(?:\\u[0-9a-fA-F]{4})+|\\x[0-9a-fA-F]{2}|\\[nrtbf]")


def unescaped(text: str) -> str:
    """A text with the escapes of JSON and YAML read as what they stand for; line breaks and tabs become blanks."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: _meant(found.group()), text)


def _meant(escape: str) -> str:
    if escape[1] == "u":
        units = b"".join(int(each, 16).to_bytes(2, "big") for each in escape.split("\\u")[1:])
        return units.decode("utf-16-be", "replace")
    return chr(int(escape[2:], 16)) if escape[1] == "x" else " "
