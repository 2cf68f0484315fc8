"""What speaks for a record as an answer: that it fits comes first; of those that fit, the surer, weightier, nearer ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from byheart.domain.records import Kind
from byheart.domain.values import dataclass
from byheart.policies.fusing import meaning_share, reread
from byheart.text.likeness import normalised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from byheart.domain.recall import Question, Remembered
    from byheart.text.timewords import TimeHint

_KIND: dict[str, float] = {
    Kind.CONSTRAINT: 0.05,
    Kind.RULE: 0.04,
    Kind.LESSON: 0.03,
    Kind.PREFERENCE: 0.03,
    Kind.NOTE: 0.0,
}
_WEIGHT, _SURE, _UNSURE, _HERE, _NEW, _TIMED, _NAMED = 0.01, 0.02, -0.05, 0.02, 0.03, 0.2, 1.0
_USED = 0.005
_FRESH_DAYS = 90
_NONE: Mapping[str, int] = {}
# From here on words and nearness together say that a record has to do with a question, and that it surely does. Words count in
# full only where the meaning is not that of a stranger.
_FITS, _SURELY = 1.0, 1.6
_BY_WORDS, _WORDS_ALONE = 1.25, 3.3
# Beside an answer that fits, others may fit less, but not much.
_LEAST_SHARE, _FARTHER = 0.30, 0.10
_SAME = 0.9


@dataclass(frozen=True, slots=True)
class Judged:
    """A record, and what each thing adds to it."""

    candidate: Remembered
    factors: Mapping[str, float]

    @property
    def score(self) -> float:
        return sum(self.factors.values())


@dataclass(frozen=True, slots=True)
class Verdict:
    """The records that fit, best first, and whether any surely does."""

    found: tuple[Judged, ...]
    is_sure: bool


def judged(
    asked: Question,
    hint: TimeHint,
    candidates: Sequence[Remembered],
    today: date,
    scale: tuple[float, float] | None,
    uses: Mapping[str, int] = _NONE,
) -> Verdict:
    """What fits; nothing where nothing has to do with the question. `scale` is the model's, None where words were all; `uses`
    says how often records were answers before."""
    share = meaning_share(len(asked.terms)) if any(each.meaning is not None for each in candidates) else 0.0
    named = normalised(asked.text)
    every = [_judge(each, hint, share, named, today, uses.get(each.handle, 0)) for each in candidates]
    best = max((_relevance(each, scale) for each in every), default=0.0)
    if best < _FITS:
        return Verdict((), True)
    most = max(each.candidate.words for each in every)
    nearest = max((each.candidate.cosine or 0.0 for each in every), default=0.0)
    is_sure = best >= _SURELY
    # Beside a sure answer nothing is worth showing that is none itself.
    fitting = [
        each
        for each in every
        if _is_worth_it(each, most, nearest) and not (is_sure and _relevance(each, scale) < _FITS)
    ]
    found = _once(sorted(fitting, key=lambda each: (-each.score, each.candidate.path, each.candidate.line)))
    return Verdict(tuple(found), is_sure)


def _judge(each: Remembered, hint: TimeHint, share: float, named: str, today: date, used: int) -> Judged:
    factors = {
        "words": (1 - share) * each.words,
        "meaning": share * (each.meaning or 0.0),
        "kind": _KIND.get(each.kind, 0.0),
        "weight": _WEIGHT * min(5, each.weight - 1),
        "confidence": _SURE * (each.confidence or 0),
        "unconfirmed": _UNSURE if each.is_unsure else 0.0,
        "use": _USED * min(3.0, math.log2(1 + used)),
        "project": _HERE if each.is_local else 0.0,
        "recency": _NEW * math.exp(-max(0, (today - each.day).days) / _FRESH_DAYS) if each.day else 0.0,
    }
    if each.key and named == each.key.casefold():
        factors["named"] = _NAMED
    if hint.spells and each.day is not None:
        factors["time"] = _TIMED * hint.closeness(each.day)
    return Judged(each, factors)


def _relevance(each: Judged, scale: tuple[float, float] | None) -> float:
    """How much a record has to do with the question, on a scale that does not depend on what else is stored."""
    candidate = each.candidate
    if "named" in each.factors:
        return _SURELY
    if scale is None or candidate.cosine is None:
        return _WORDS_ALONE * candidate.words
    strange, kin = scale
    return _BY_WORDS * candidate.words + (candidate.cosine - strange) / (kin - strange)


def _is_worth_it(each: Judged, most: float, nearest: float) -> bool:
    candidate = each.candidate
    if "named" in each.factors or (candidate.words and candidate.words >= _LEAST_SHARE * most):
        return True
    return candidate.cosine is not None and candidate.cosine >= nearest - _FARTHER


def _once(found: Sequence[Judged]) -> list[Judged]:
    """Each thing once: of records that say nearly the same, the best."""
    kept: list[Judged] = []
    bags: list[set[str]] = []
    for each in found:
        bag = set(normalised(each.candidate.text).split())
        least, most = _SAME * len(bag), len(bag) / _SAME
        near = (other for other in bags if least <= len(other) <= most)
        if not any(len(bag & other) / max(1, len(bag | other)) >= _SAME for other in near):
            kept.append(each)
            bags.append(bag)
    return kept


def reranked(found: Sequence[Judged], read: Sequence[float], share: float) -> tuple[Judged, ...]:
    """The first few by what a model adds to them that read question and text together."""
    first, rest = found[: len(read)], found[len(read) :]
    added = reread([each.score for each in first], read, share)
    closely = [Judged(each.candidate, {**each.factors, "read": more}) for each, more in zip(first, added, strict=True)]
    return (*sorted(closely, key=lambda each: each.score, reverse=True), *rest)
