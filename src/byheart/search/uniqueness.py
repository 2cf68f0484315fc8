"""Whether a text says something that none of the known ones says."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from byheart.text.similarity import content_words

if TYPE_CHECKING:
    from collections.abc import Iterable


class Known:
    """The texts that are there already, by their words in whichever script."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._lengths: list[float] = []
        self._held: dict[str, list[tuple[int, int]]] = {}
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """One more."""
        counts = Counter(content_words(text))
        place = len(self._lengths)
        self._lengths.append(_length(counts))
        for word, count in counts.items():
            self._held.setdefault(word, []).append((place, count))

    def likeness(self, text: str) -> float:
        """How alike the nearest of them is, from 0 to 1: the cosine of their words."""
        counts = Counter(content_words(text))
        shared: dict[int, int] = {}
        for word, count in counts.items():
            for place, other in self._held.get(word, ()):
                shared[place] = shared.get(place, 0) + count * other
        own = _length(counts)
        return max((value / (own * self._lengths[place]) for place, value in shared.items()), default=0.0)


def _length(counts: Counter[str]) -> float:
    return math.sqrt(sum(count * count for count in counts.values())) or 1.0
