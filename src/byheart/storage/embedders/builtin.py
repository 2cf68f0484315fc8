"""The models that byheart knows by itself: a sentence embedder, and a cross-encoder for reading question and text together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from byheart.storage.embedders.shipped import EMBEDDER, RERANKER
from byheart.storage.embedders.weights import floats, loaded
from byheart.storage.embedders.wordpiece import WordPiece

_LONGEST_READ, _LATIN_END = 1_000, "\u0250"
_LONGEST, _LONGEST_PAIR, _LONGEST_QUESTION = 256, 320, 64


class BuiltinEmbedder:
    """bge-small in numpy."""

    width = 384
    id = EMBEDDER.id
    scale = (0.45, 0.63)

    def __init__(self, store: str) -> None:
        self._bert, words = loaded(EMBEDDER, store)
        self._pieces = WordPiece(words)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector of length one for each text, as float32."""
        if not texts:
            return []
        pieces = self._pieces
        tokens = [[pieces.start, *pieces.ids(text, _LONGEST - 2), pieces.end] for text in texts]
        found = floats(self._bert.first(tokens))
        for place, text in enumerate(texts):
            if not _is_readable(text):
                found[place] = 0
        return [row.tobytes() for row in found]


def _is_readable(text: str) -> bool:
    """Whether most letters are ones that the model has learnt to read: to it, all Chinese sentences are alike, so they get a
    vector that is near to none."""
    if text.isascii():
        return True
    letters = [each for each in text[:_LONGEST_READ] if each.isalpha()]
    return 2 * sum(each < _LATIN_END for each in letters) >= len(letters)


class BuiltinReranker:
    """ms-marco-MiniLM in numpy."""

    id = RERANKER.id

    def __init__(self, store: str) -> None:
        self._bert, words = loaded(RERANKER, store)
        self._pieces = WordPiece(words)

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the question; above 0 is more likely than not."""
        if not texts:
            return []
        pieces = self._pieces
        head = [pieces.start, *pieces.ids(question, _LONGEST_QUESTION), pieces.end]
        rows, kinds = [], []
        for text in texts:
            tail = [*pieces.ids(text, _LONGEST_PAIR - len(head) - 1), pieces.end]
            rows.append(head + tail)
            kinds.append([0] * len(head) + [1] * len(tail))
        return [float(score) for score in np.asarray(self._bert.score(self._bert.first(rows, kinds)))]
