"""How much of a turn is kept for searching, and cutting it so that no secret is cut in two.

A text is first narrowed to a window with a margin, then looked through for secrets, then trimmed to size. Both cuts a
secret could straddle lie in the margin, so what is kept was seen whole.
"""

from __future__ import annotations

import re

_MARGIN = 256
_BREAK = "\n\x1d\n"
_BLOB = re.compile(r"(?:data:([\w.+/-]{1,60});base64,)?(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{400,}={0,2}")
_BEGIN, _END = "-----BEGIN", "-----END"


def windowed(text: str, head: int, tail: int) -> str:
    """The beginning and the end of a long text, each with a margin."""
    if len(text) <= head + tail + 2 * _MARGIN:
        return named(text)
    first, last = text[: head + _MARGIN], text[len(text) - tail - _MARGIN :] if tail else ""
    if _BEGIN in first and first.rfind(_BEGIN) > first.rfind(_END):
        # A key that does not end in the window cannot be recognised as one.
        first = first[: first.rfind(_BEGIN)] + "[key block]"
    if _END in last and (last.find(_BEGIN) < 0 or last.find(_END) < last.find(_BEGIN)):
        last = "[key block]" + last[last.find(_END) + len(_END) :]
    return f"{named(first)}{_BREAK}{named(last)}"


def trimmed(text: str, head: int, tail: int) -> str:
    """A window without its margin, cut at a line's or a word's end, and with a mark where something was left out."""
    if "\x1d" not in text or _BREAK not in text:
        return text if len(text) <= head + tail + 2 * _MARGIN else _front(text, head + tail)
    first, _, last = text.partition(_BREAK)
    kept = _front(first, head)
    return f"{kept}\n[…]\n{_back(last, tail)}" if tail else f"{kept}\n[…]"


def named(text: str) -> str:
    """Long runs without a space (pictures, encrypted blobs) become a word about them."""
    if len(text) < 400 or max(map(len, text.split("\n"))) < 400:
        return text
    return _BLOB.sub(lambda found: f"[{found.group(1) or 'blob'}, {len(found.group())} characters]", text)


def _front(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    cut = max(text.rfind("\n", most // 2, most), text.rfind(" ", most - 80, most))
    return text[: cut if cut > 0 else most].rstrip()


def _back(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    start = len(text) - most
    line = text.find("\n", start, start + most // 2)
    word = text.find(" ", start, start + 80)
    cut = line if line >= 0 else word
    return text[cut + 1 if cut >= 0 else start :].lstrip("\n")
