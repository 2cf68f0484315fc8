"""Characters that hide text from people: tags, zero-width, bidirectional controls, stray controls."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from byheart.text.deferred import deferred

_SUSPECT = deferred(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2028\u2029\u2060-\u206f\ufeff"
    "\ud800-\udfff\ufe00-\ufe0f\ufff9-\ufffb\u115f\u1160\u3164\uffa0\U0001d173-\U0001d17a\U000e0000-\U000e01ef]"
)
_FLAG = "\U0001f3f4"
_FLAG_TAGS = deferred("[\U000e0030-\U000e007a]{2,6}\U000e007f")


def hidden(text: str) -> Iterator[tuple[int, str]]:
    """Position and rule name of each hidden character; joiners that scripts and emoji need are not among them."""
    if text.isascii() and text.isprintable():
        return
    for found in _SUSPECT.finditer(text):
        rule = _rule(text, found.start())
        if rule:
            yield found.start(), rule


def _rule(text: str, at: int) -> str | None:
    character = text[at]
    code = ord(character)
    if 0xE0000 <= code <= 0xE007F:
        return None if _in_flag(text, at) else "unicode-tag"
    if 0xE0100 <= code <= 0xE01EF or 0xFE00 <= code <= 0xFE0F:
        # One selector after a visible character picks a glyph; a run of them carries a message.
        return "unicode-selector-run" if at and _selector(text[at - 1]) else None
    if 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069:
        return "unicode-bidi"
    if character in "\u200c\u200d":
        return None if _joins(text, at) else "unicode-zero-width"
    if character in "\u200e\u200f\u00ad":
        return None
    if character == "\ufeff" and at == 0:
        return None
    if character in "\u115f\u1160\u3164\uffa0\ufff9\ufffa\ufffb" or 0x1D173 <= code <= 0x1D17A:
        return "unicode-zero-width"
    if character in "\u200b\ufeff\u180e" or 0x2060 <= code <= 0x206F:
        return "unicode-zero-width"
    return "unicode-surrogate" if 0xD800 <= code <= 0xDFFF else "unicode-control"


def _selector(character: str) -> bool:
    return 0xE0100 <= ord(character) <= 0xE01EF or 0xFE00 <= ord(character) <= 0xFE0F


def _in_flag(text: str, at: int) -> bool:
    """Whether a tag belongs to a flag emoji: black flag, two to six letters, cancel tag."""
    start = text.rfind(_FLAG, max(0, at - 8), at)
    tags = _FLAG_TAGS.match(text, start + 1) if start >= 0 else None
    return tags is not None and at < tags.end()


def _joins(text: str, at: int) -> bool:
    """Whether a joiner stands between letters of a script that uses it, or between emoji."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if not before or not after:
        return bool(before) and ord(before) > 0x2FF and unicodedata.category(before)[0] in "LM"
    return all(ord(side) > 0x2FF for side in (before, after)) and before not in "\u200b\u200c\u200d"


def visible(text: str) -> str:
    """The text without its hidden characters, for showing it to a person or a model."""
    places = {at for at, _ in hidden(text)}
    return "".join(each for at, each in enumerate(text) if at not in places) if places else text
