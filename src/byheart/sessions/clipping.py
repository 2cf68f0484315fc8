"""How much of a text is kept for searching, and cutting it so that no secret is cut in two.

A long text is narrowed to its beginning and its end, each with a margin that is looked through but not kept. Secrets are
found as places in the text, so a cut that falls into one moves in front of it, whatever else was taken out. What was found once
in a session is not kept where it is said again without a word that announces it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

from byheart.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Span = tuple[int, int, str]
# At least as far as a rule looks around for what makes a value a secret.
_MARGIN = 768
_BLOB = re.compile(r"(?:data:([\w.+/-]{1,60});base64,)?(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{400,}={0,2}")
_BEGIN, _END = "-----BEGIN", "-----END"
GAP = "\n[…]\n"
BETWEEN = "\n\n"
_SCANNED, _SHORT = 60_000, 400
# Which values are known again: no shorter, no longer, and no more than so many.
_SHORTEST, _LONGEST, _MOST_KNOWN = 8, 200, 200


class Spans(Protocol):
    """Whatever tells where secrets stand."""

    def spans(self, text: str) -> list[Span]: ...


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


def cleaned(texts: Sequence[str], sizes: Sequence[tuple[int, int]], scanner: Spans) -> list[str]:
    """Texts without secrets, each cut to its size."""
    out = list(texts)
    flat: list[str] = []
    held: list[tuple[int, list[Window] | None]] = []
    for place, (text, size) in enumerate(zip(texts, sizes, strict=True)):
        if not text:
            continue
        parts = windows(text, *size) if len(text) > size[0] + size[1] else None
        held.append((place, parts))
        if parts is None:
            flat.append(text)
        else:
            flat += [window.text for window in parts]
    spans, at = _spans(flat, scanner), 0
    for place, parts in held:
        if parts is None:
            found, text = spans.get(at), texts[place]
            at += 1
            if found:
                out[place] = clipped([(Window(text, 0, len(text)), found)])
            elif len(text) >= _SHORT:
                out[place] = named(text)
        else:
            out[place] = clipped([(window, spans.get(at + offset, ())) for offset, window in enumerate(parts)])
            at += len(parts)
    return out


def _spans(texts: Sequence[str], scanner: Spans) -> dict[int, list[Span]]:
    """The secrets in these texts by their place in the list, looked for in many at once."""
    found: dict[int, list[Span]] = {}
    start = 0
    while start < len(texts):
        end, length = start, 0
        while end < len(texts) and (length == 0 or length + len(texts[end]) <= _SCANNED):
            length += len(texts[end]) + len(BETWEEN)
            end += 1
        secrets = scanner.spans(BETWEEN.join(texts[start:end]))
        offsets = [0, *accumulate(len(text) + len(BETWEEN) for text in texts[start : end - 1])] if secrets else []
        for first, last, name in secrets:
            # One that reaches over the end of a text is a part of each of them.
            place = bisect_right(offsets, first) - 1
            while place < len(offsets) and offsets[place] < last:
                size = len(texts[start + place])
                low, high = max(0, first - offsets[place]), min(size, last - offsets[place])
                if low < high:
                    found.setdefault(start + place, []).append((low, high, name))
                place += 1
        start = end
    return found


class EchoScanner:
    """A scanner that knows again what it has found: agents repeat a password that they were told, and call it nothing. Values live as
    long as this does, which is one reading of one file."""

    def __init__(self, scanner: Spans) -> None:
        self._scanner, self._known = scanner, dict[str, str]()

    def spans(self, text: str) -> list[Span]:
        """Where secrets stand, and where those that were found before are said again; in order and not overlapping."""
        found = list(self._scanner.spans(text))
        for first, last, name in found:
            value = text[first:last].strip("\"'`")
            if len(self._known) < _MOST_KNOWN and value not in self._known and _is_telling(value):
                self._known[value] = name
        if not self._known:
            return found
        merged: list[Span] = []
        for first, last, name in sorted([*found, *self._again(text)]):
            if merged and first < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]), merged[-1][2])
            else:
                merged.append((first, last, name))
        return merged

    def _again(self, text: str) -> Iterator[Span]:
        """Where a known value stands by itself. Looked for one by one: one pattern for all of them would be tried at every place."""
        for value, name in self._known.items():
            at = text.find(value)
            while at >= 0:
                end = at + len(value)
                if not _goes_on(text[at - 1 : at] if at else "") and not _goes_on(text[end : end + 1]):
                    yield at, end, name
                at = text.find(value, end)


def _goes_on(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _is_telling(value: str) -> bool:
    """Whether a value is no word: it would be taken out of every sentence that has it."""
    kinds = sum(bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", "[0-9]", r"[^\w\s]"))
    return _SHORTEST <= len(value) <= _LONGEST and kinds > 1 and not re.search(r"\s", value)
