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


def reread(scores: Sequence[float], read: Sequence[float], share: float) -> list[float]:
    """What each score gains or loses where a close reading has this share in it. Both are compared by how far each is from the
    mean, and the scores stay on their own scale."""
    own, mean, spread = _standard(scores)
    closely, _, _ = _standard(read)
    return [
        mean + spread * ((1 - share) * one + share * other) - score
        for score, one, other in zip(scores, own, closely, strict=True)
    ]


def _standard(values: Sequence[float]) -> tuple[list[float], float, float]:
    """How far each value is from the mean, in units of how far they usually are; the mean, and that unit."""
    if not values:
        return [], 0.0, 1.0
    mean = sum(values) / len(values)
    spread = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5 or 1.0
    return [(value - mean) / spread for value in values], mean, spread
