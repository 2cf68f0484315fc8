"""BERT's tokens: lower-case words without accents, taken apart into the longest pieces that the vocabulary has."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_LONGEST_WORD = 100
_REMEMBERED = 20_000
# Blocks of Chinese characters, each a word of its own to these models.
_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """A vocabulary, and taking texts apart by it."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._ids = {word: number for number, word in enumerate(vocabulary)}
        self._unknown, self.start, self.end = (self._ids[name] for name in ("[UNK]", "[CLS]", "[SEP]"))
        self._known: dict[str, tuple[int, ...]] = {}

    def ids(self, text: str, most: int) -> list[int]:
        """A text's tokens, at most so many, without the marks at both ends."""
        found: list[int] = []
        for word in _words(text, most):
            known = self._known.get(word)
            if known is None:
                known = self._pieces(word)
                if len(self._known) < _REMEMBERED:
                    self._known[word] = known
            found += known
            if len(found) >= most:
                return found[:most]
        return found

    def _pieces(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST_WORD:
            return (self._unknown,)
        pieces: list[int] = []
        start = 0
        while start < len(word):
            head = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._ids.get(head + word[start:end])
                if number is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                return (self._unknown,)
        return tuple(pieces)


def _words(text: str, most: int) -> list[str]:
    # No token is shorter than a character; the rest of a long text need not be looked at, but for spaces.
    text = text[: most * 24].lower()
    if not text.isascii():
        text = "".join(each for each in unicodedata.normalize("NFD", text) if unicodedata.category(each) != "Mn")
    known = _SPACING
    return "".join([known[each] if each in known else _spacing(each) for each in text]).split()


_SPACING: dict[str, str] = {}


def _spacing(each: str) -> str:
    """A character as it stands among words: itself, apart from its neighbours, or a space."""
    number = ord(each)
    if _is_punctuation(each, number) or any(low <= number <= high for low, high in _CHINESE):
        spaced = f" {each} "
    elif each in "\t\n\r" or unicodedata.category(each) == "Zs":
        spaced = " "
    elif number == 0xFFFD or unicodedata.category(each).startswith("C"):
        spaced = ""
    else:
        spaced = each
    if len(_SPACING) < _REMEMBERED:
        _SPACING[each] = spaced
    return spaced


def _is_punctuation(each: str, number: int) -> bool:
    return (
        33 <= number <= 47
        or 58 <= number <= 64
        or 91 <= number <= 96
        or 123 <= number <= 126
        or (unicodedata.category(each).startswith("P"))
    )
