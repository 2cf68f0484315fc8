"""What speaks for a record, a turn or a session as an answer, and how much each counts: that it fits comes first; of those that fit,
the surer, weightier, nearer ones."""

from __future__ import annotations

import math
from collections import Counter
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING

from byheart.domain.records import Kind
from byheart.domain.sessions import Speaker
from byheart.domain.values import dataclass
from byheart.text.similarity import content_words, normalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from byheart.domain.recall import Candidate, Question, Remembered
    from byheart.text.timewords import TimeHint

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


_TURN_NAMED, _TURN_TIMED, _COMPANY, _SESSION_COMPANY, _FILED = 0.15, 0.25, 0.20, 0.25, 0.10
# What the other side said counts less where somebody asks for their own words.
_OTHER_SIDE, _ADDED = 0.6, 0.4
# A session's best turns count together as a mean that leans towards the best of them.
_BEST_TURNS, _LEANING = 3, 4
# From this share of the question's words on a turn is about it, whatever its meaning scores.
_HELD = 0.3


@dataclass(frozen=True, slots=True)
class RankedTurn:
    """A candidate, what each thing adds to it, and the sum. `alone` is the sum without its session's company."""

    candidate: Candidate
    factors: Mapping[str, float]

    @property
    def score(self) -> float:
        return sum(self.factors.values())

    @property
    def alone(self) -> float:
        return self.score - self.factors.get("company", 0.0)


def judged_turns(asked: Question, hint: TimeHint, candidates: Sequence[Candidate]) -> list[RankedTurn]:
    """All candidates with their scores, best first."""
    name = _meant_name(asked, candidates)
    has_meaning = any(each.meaning is not None for each in candidates)
    share = meaning_share(len(asked.terms)) if has_meaning else 0.0
    found = [_judge_turn(each, asked, hint, share, name) for each in candidates]
    return sorted(found, key=lambda each: each.score, reverse=True)


def _judge_turn(candidate: Candidate, asked: Question, hint: TimeHint, share: float, name: str | None) -> RankedTurn:
    turn = candidate.turn
    weight = _ADDED if turn.synthetic else 1.0
    if asked.of_me and not asked.of_you and turn.speaker is not Speaker.USER:
        weight *= _OTHER_SIDE
    factors = {
        "words": (1 - share) * candidate.words * weight,
        "meaning": share * (candidate.meaning or 0.0) * weight,
        "company": _COMPANY * candidate.company,
    }
    if candidate.has_file:
        factors["file"] = _FILED
    if name is not None and turn.name is not None and turn.name.casefold() == name:
        factors["speaker"] = _TURN_NAMED
    at = turn.at or candidate.session.started
    if hint.spells and at is not None:
        factors["time"] = _TURN_TIMED * hint.closeness(at.date())
    return RankedTurn(candidate, factors)


def fits(each: RankedTurn, scale: tuple[float, float] | None) -> bool:
    """Whether a turn has to do with the question at all, on a scale that does not depend on what else is stored; `scale` is
    the model's."""
    candidate = each.candidate
    if candidate.has_file or candidate.words >= _HELD:
        return True
    if scale is None or candidate.cosine is None:
        return False
    strange, kin = scale
    return candidate.words + (candidate.cosine - strange) / (kin - strange) >= 1


def _meant_name(asked: Question, candidates: Iterable[Candidate]) -> str | None:
    """The one speaker that a question names."""
    names = {each.turn.name.casefold() for each in candidates if each.turn.name}
    words = asked.text.casefold()
    meant = [name for name in names if name and name in words]
    return meant[0] if len(meant) == 1 else None


@dataclass(frozen=True, slots=True)
class RankedSession:
    """A session with its turns that fit, best first."""

    turns: tuple[RankedTurn, ...]
    score: float


def grouped(found: Sequence[RankedTurn]) -> list[RankedSession]:
    """Sessions by their best turns: several good ones say a little more than one."""
    groups: dict[tuple[str, str, str], list[RankedTurn]] = {}
    for each in found:
        session = each.candidate.session
        groups.setdefault((session.agent, session.id, session.path), []).append(each)
    every = []
    for turns in groups.values():
        turns.sort(key=lambda each: each.alone, reverse=True)
        best = sum(max(0.0, each.alone) ** _LEANING for each in turns[:_BEST_TURNS]) ** (1 / _LEANING)
        every.append(RankedSession(tuple(turns), best + _SESSION_COMPANY * turns[0].candidate.company))
    return sorted(every, key=lambda group: group.score, reverse=True)


def reranked_turns(found: Sequence[RankedTurn], read: Sequence[float], share: float) -> list[RankedTurn]:
    """The first few by what a model adds to them that read question and text together; sessions then follow their turns."""
    first, rest = found[: len(read)], found[len(read) :]
    added = reread([each.score for each in first], read, share)
    closely = [
        RankedTurn(each.candidate, {**each.factors, "read": more}) for each, more in zip(first, added, strict=True)
    ]
    return [*sorted(closely, key=lambda each: each.score, reverse=True), *rest]


_KIND: dict[str, float] = {
    Kind.CONSTRAINT: 0.05,
    Kind.RULE: 0.04,
    Kind.LESSON: 0.03,
    Kind.PREFERENCE: 0.03,
    Kind.NOTE: 0.0,
}
_WEIGHT, _SURE, _UNSURE, _HERE, _NEW, _RECORD_TIMED, _RECORD_NAMED, _PHRASED = (
    0.01,
    0.02,
    -0.05,
    0.02,
    0.03,
    0.2,
    1.0,
    0.5,
)
_USED = 0.005
# What a person wrote down themselves, before what was learnt of their sessions; of that, their words before what was only seen.
_OWN, _OWN_WORDS, _LEARNT_IN = 0.12, 0.06, "/handbook/"
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


def judged_records(
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
    every = [_judge_record(each, hint, share, named, today, uses.get(each.handle, 0)) for each in candidates]
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


def _judge_record(each: Remembered, hint: TimeHint, share: float, named: str, today: date, used: int) -> RankedRecord:
    factors = {
        "words": (1 - share) * each.words,
        "meaning": share * (each.meaning or 0.0),
        "kind": _KIND.get(each.kind, 0.0),
        "own": _OWN if _LEARNT_IN not in each.path else _OWN_WORDS if each.kind == Kind.PREFERENCE else 0.0,
        "weight": _WEIGHT * min(5, each.weight - 1),
        "confidence": _SURE * (each.confidence or 0),
        "unconfirmed": _UNSURE if each.is_unsure else 0.0,
        "use": _USED * min(3.0, math.log2(1 + used)),
        "project": _HERE if each.is_local else 0.0,
        "recency": _NEW * math.exp(-max(0, (today - each.day).days) / _FRESH_DAYS) if each.day else 0.0,
    }
    if named in (each.handle, each.key.casefold() if each.key else None):
        factors["named"] = _RECORD_NAMED
    if each.has_phrase:
        factors["phrase"] = _PHRASED
    if hint.spells and each.day is not None:
        # A note is from the day it was made, so the time that is asked for has an end.
        factors["time"] = _RECORD_TIMED if hint.holds(each.day) else _RECORD_TIMED * hint.closeness(each.day) / 3
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


def reranked_records(found: Sequence[RankedRecord], read: Sequence[float], share: float) -> tuple[RankedRecord, ...]:
    """The first few by what a model adds to them that read question and text together."""
    first, rest = found[: len(read)], found[len(read) :]
    added = reread([each.score for each in first], read, share)
    closely = [
        RankedRecord(each.candidate, {**each.factors, "read": more}) for each, more in zip(first, added, strict=True)
    ]
    return (*sorted(closely, key=lambda each: each.score, reverse=True), *rest)


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
