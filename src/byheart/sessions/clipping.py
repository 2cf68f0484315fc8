"""How much of a text is kept for searching, and cutting it so that no secret is cut in two.

A long text is narrowed to its beginning and its end, each with a margin that is looked through but not kept. Secrets are
found as places in the text, so a cut that falls into one moves in front of it, whatever else was taken out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

Span = tuple[int, int, str]
# At least as far as a rule looks around for what makes a value a secret.
_MARGIN = 768
_BLOB = re.compile(r"(?:data:([\w.+/-]{1,60});base64,)?(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{400,}={0,2}")
_BEGIN, _END = "-----BEGIN", "-----END"
GAP = "\n[…]\n"


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a text: what is looked through, and which part of that is kept."""

    text: str
    start: int
    end: int


def windows(text: str, head: int, tail: int) -> list[Window]:
    """One window for a short text; for a long one its beginning and its end."""
    if len(text) <= head + tail + 2 * _MARGIN:
        return [Window(text, 0, len(text))]
    first = Window(text[: head + _MARGIN], 0, head)
    if not tail:
        return [first]
    start = len(text) - tail - _MARGIN
    return [first, Window(text[start:], _behind_key(text, start), tail + _MARGIN)]


def _behind_key(text: str, start: int) -> int:
    """Where the kept part of a last window begins: behind a key block that began before it."""
    begun = text.rfind(_BEGIN, 0, start + _MARGIN)
    if begun < 0 or 0 <= text.find(_END, begun, start + _MARGIN) < start + _MARGIN:
        return _MARGIN
    ends = text.find(_END, start)
    return len(text) - start if ends < 0 else min(len(text), ends + 60) - start


def clipped(pieces: Sequence[tuple[Window, Sequence[Span]]]) -> str:
    """The kept parts of a text's windows, with the secrets in them replaced, and a mark where something was left out."""
    kept = []
    for place, (window, spans) in enumerate(pieces):
        start, end = window.start, window.end
        if len(pieces) > 1 or end < len(window.text):
            start, end = (start, _front(window.text, end)) if place == 0 else (_back(window.text, start), end)
        kept.append(named(_redacted(window.text, start, end, spans)))
    if len(pieces) == 1 and pieces[0][0].end < len(pieces[0][0].text):
        return kept[0].rstrip() + GAP.rstrip()
    return (
        GAP.join(part.strip("\n") if place else part.rstrip() for place, part in enumerate(kept))
        if len(kept) > 1
        else kept[0]
    )


def _redacted(text: str, start: int, end: int, spans: Sequence[Span]) -> str:
    """A part of a text without secrets; one that reaches over an edge is left out with all that it covers."""
    out: list[str] = []
    position = start
    for first, last, name in spans:
        if last <= position or first >= end:
            continue
        out.append(text[position : max(position, first)])
        out.append(f"[REDACTED:{name}]")
        position = last
    if position < end:
        out.append(text[position:end])
    whole = "".join(out)
    begun = whole.rfind(_BEGIN)
    if begun >= 0 and begun > whole.rfind(_END) and end < len(text):
        # A key that does not end in the window cannot be recognised as one.
        whole = whole[:begun] + "[key block]"
    return whole


def named(text: str) -> str:
    """Long runs without a space (pictures, encrypted blobs) become a word about them."""
    if len(text) < 400 or max(map(len, text.split("\n"))) < 400:
        return text
    return _BLOB.sub(lambda found: f"[{found.group(1) or 'blob'}, {len(found.group())} characters]", text)


def _front(text: str, most: int) -> int:
    if len(text) <= most:
        return len(text)
    cut = max(text.rfind("\n", most // 2, most), text.rfind(" ", most - 80, most))
    return cut if cut > 0 else most


def _back(text: str, start: int) -> int:
    if not 0 < start < len(text):
        return start
    room = len(text) - start
    line = text.find("\n", start, start + room // 2)
    word = text.find(" ", start, start + 80)
    cut = line if line >= 0 else word
    return cut + 1 if cut >= 0 else start
