"""How words and meaning are put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Long questions are found by their words; short ones need their meaning.
_MOST_MEANING, _LEAST_MEANING, _MEANING_LOST = 0.40, 0.12, 0.025


def meaning_share(terms: int) -> float:
    """How much meaning counts beside words, by how many words a question has."""
    return min(_MOST_MEANING, max(_LEAST_MEANING, 0.48 - _MEANING_LOST * terms))


def standard(values: Sequence[float]) -> list[float]:
    """Values as how far each is from their mean, in units of how far they usually are."""
    if not values:
        return []
    mean = sum(values) / len(values)
    spread = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5 or 1.0
    return [(value - mean) / spread for value in values]
