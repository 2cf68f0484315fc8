"""Fenced code blocks, found as CommonMark finds them."""

from __future__ import annotations

import re

from byheart.domain.values import dataclass
from byheart.text import lines
from byheart.text.patterns import deferred

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
    if found is None or found.end() != lines.line_end(text, found.end()):
        return None
    marker, info = (found[1], found[2]) if found[1] else (found[3], found[4])
    if _language(info) not in ("yaml", "yml"):
        return None
    content = lines.after_break(text, found.end())
    run = re.escape(marker[0])
    closing = re.compile(rf"^ {{0,3}}{run}{{{len(marker)},}}[ \t]*\r?$", re.MULTILINE).search(text, content)
    if closing is None or content > len(text):
        return Fence(content, len(text), 1, closed=False)
    return Fence(content, closing.start(), 1, closed=True)


def _all(text: str, shift: int) -> list[Fence]:
    from markdown_it import MarkdownIt

    body = text[shift:]
    offsets = lines.starts(body)
    found = []
    for token in MarkdownIt("commonmark").parse(body):
        if token.type != "fence" or token.level != 0 or token.map is None:
            continue
        if _language(token.info) not in ("yaml", "yml"):
            continue
        first, after = token.map
        last = offsets[after - 1] if after - 1 < len(offsets) else len(body)
        closed = after - 1 > first and _closes(body[last : lines.line_end(body, last)], token.markup)
        start = offsets[first + 1] if first + 1 < len(offsets) else len(body)
        stop = last if closed else (offsets[after] if after < len(offsets) else len(body))
        found.append(Fence(start + shift, max(start, stop) + shift, first + 1, closed))
    return found
