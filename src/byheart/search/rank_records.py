"""What speaks for a record as an answer: that it fits comes first; of those that fit, the surer, weightier, nearer ones."""

from __future__ import annotations

import math
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING

from byheart.domain.records import Kind
from byheart.domain.values import dataclass
from byheart.search.blend import meaning_share, reread
from byheart.text.similarity import normalised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from byheart.domain.recall import Question, Remembered
    from byheart.text.timewords import TimeHint

_KIND: dict[str, float] = {
    Kind.CONSTRAINT: 0.05,
    Kind.RULE: 0.04,
    Kind.LESSON: 0.03,
    Kind.PREFERENCE: 0.03,
    Kind.NOTE: 0.0,
}
_WEIGHT, _SURE, _UNSURE, _HERE, _NEW, _TIMED, _NAMED, _PHRASED = 0.01, 0.02, -0.05, 0.02, 0.03, 0.2, 1.0, 0.5
_USED = 0.005
_FRESH_DAYS = 90
# As many as are read closely, where somebody wants that.
_READ_CLOSELY = 20
_NONE: Mapping[str, int] = {}
# From here on words and nearness together say that a record has to do with a question, and that it surely does. Words count in
# full only where the meaning is not that of a stranger.
_FITS, _SURELY = 1.0, 1.6
_BY_WORDS, _WORDS_ALONE = 1.25, 3.3
# Beside an answer that fits, others may fit less, but not much.
_LEAST_SHARE, _FARTHER = 0.30, 0.10
_SAME, _IN_ORDER = 0.9, 0.8
_TURNING = frozenset("not no never nor without don't doesn't isn't aren't can't cannot won't shouldn't mustn't".split())


@dataclass(frozen=True, slots=True)
class RankedRecord:
    """A record, and what each thing adds to it."""

    candidate: Remembered
    factors: Mapping[str, float]

    @property
    def score(self) -> float:
        return sum(self.factors.values())


@dataclass(frozen=True, slots=True)
class RankedRecords:
    """The records that fit, best first, and whether any surely does."""

    found: tuple[RankedRecord, ...]
    is_sure: bool


def judged(
    asked: Question,
    hint: TimeHint,
    candidates: Sequence[Remembered],
    today: date,
    scale: tuple[float, float] | None,
    uses: Mapping[str, int] = _NONE,
    most: int = 100,
) -> RankedRecords:
    """What fits; nothing where nothing has to do with the question. `scale` is the model's, None where words were all; `uses`
    says how often records were answers before; no more than `most` are wanted, or a few more for reading closely."""
    share = meaning_share(len(asked.terms)) if any(each.meaning is not None for each in candidates) else 0.0
    named = normalised(asked.text)
    if asked.quoted and any(each.has_phrase for each in candidates):
        # What stands in quotes is looked for as it stands.
        candidates = [each for each in candidates if each.has_phrase]
    every = [_judge(each, hint, share, named, today, uses.get(each.handle, 0)) for each in candidates]
    if not asked.terms:
        # Nothing but a time was asked for.
        then = [each for each in every if hint.holds(each.candidate.day)]
        then.sort(key=lambda each: (each.candidate.day or today, each.score), reverse=True)
        return RankedRecords(tuple(_once(then, most)), True)
    best = max((_relevance(each, scale) for each in every), default=0.0)
    if best < _FITS:
        return RankedRecords((), True)
    held = max(each.candidate.words for each in every)
    nearest = max((each.candidate.cosine or 0.0 for each in every), default=0.0)
    is_phrased = any(each.candidate.has_phrase for each in every)
    is_sure = best >= _SURELY and not asked.is_vague and (is_phrased or not asked.quoted)
    # Beside a sure answer nothing is worth showing that is none itself.
    fitting = [
        each
        for each in every
        if _is_worth_it(each, held, nearest) and not (is_sure and _relevance(each, scale) < _FITS)
    ]
    found = _once(sorted(fitting, key=lambda each: (-each.score, each.candidate.path, each.candidate.line)), most)
    return RankedRecords(tuple(found), is_sure)


def _judge(each: Remembered, hint: TimeHint, share: float, named: str, today: date, used: int) -> RankedRecord:
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
    if named in (each.handle, each.key.casefold() if each.key else None):
        factors["named"] = _NAMED
    if each.has_phrase:
        factors["phrase"] = _PHRASED
    if hint.spells and each.day is not None:
        # A note is from the day it was made, so the time that is asked for has an end.
        factors["time"] = _TIMED if hint.holds(each.day) else _TIMED * hint.closeness(each.day) / 3
    return RankedRecord(each, factors)


def _relevance(each: RankedRecord, scale: tuple[float, float] | None) -> float:
    """How much a record has to do with the question, on a scale that does not depend on what else is stored."""
    candidate = each.candidate
    if "named" in each.factors or candidate.has_phrase:
        return _SURELY
    if scale is None or candidate.cosine is None:
        return _WORDS_ALONE * candidate.words
    strange, kin = scale
    return _BY_WORDS * candidate.words + (candidate.cosine - strange) / (kin - strange)


def _is_worth_it(each: RankedRecord, most: float, nearest: float) -> bool:
    candidate = each.candidate
    if "named" in each.factors or candidate.has_phrase or (candidate.words and candidate.words >= _LEAST_SHARE * most):
        return True
    return candidate.cosine is not None and candidate.cosine >= nearest - _FARTHER


def _once(found: Sequence[RankedRecord], most: int) -> list[RankedRecord]:
    """Each thing once: of records that say the same in nearly the same words, in the same order, the last."""
    kept: list[RankedRecord] = []
    told: list[tuple[set[str], set[tuple[str, str]]]] = []
    for each in found:
        words = normalised(each.candidate.text).split()
        bag, pairs = set(words), set(pairwise(words))
        same = [place for place, other in enumerate(told) if _is_same(bag, pairs, *other)]
        if not same:
            if len(kept) >= max(most, _READ_CLOSELY):
                break
            kept.append(each)
            told.append((bag, pairs))
        elif (each.candidate.day or date.min) > (kept[same[0]].candidate.day or date.min):
            kept[same[0]] = each
    return kept


def _is_same(bag: set[str], pairs: set[tuple[str, str]], other: set[str], other_pairs: set[tuple[str, str]]) -> bool:
    """Whether two texts differ by hardly a word, and not by one that turns a sentence round."""
    if not _SAME * len(bag) <= len(other) <= len(bag) / _SAME or not _TURNING.isdisjoint(bag ^ other):
        return False
    alike = len(bag & other) / max(1, len(bag | other))
    return alike >= _SAME and len(pairs & other_pairs) >= _IN_ORDER * len(pairs | other_pairs)


def reranked(found: Sequence[RankedRecord], read: Sequence[float], share: float) -> tuple[RankedRecord, ...]:
    """The first few by what a model adds to them that read question and text together."""
    first, rest = found[: len(read)], found[len(read) :]
    added = reread([each.score for each in first], read, share)
    closely = [
        RankedRecord(each.candidate, {**each.factors, "read": more}) for each, more in zip(first, added, strict=True)
    ]
    return (*sorted(closely, key=lambda each: each.score, reverse=True), *rest)
