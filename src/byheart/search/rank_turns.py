"""What speaks for a turn or a session as an answer, and how much each counts.

Words and meaning are both measured so that 1 is about as good as it gets and 0 is nothing, whatever else is stored; so their sum
can say that nothing fits. The numbers were chosen on conversations, chats and coding sessions at once (docs/measurements.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.sessions import Speaker
from byheart.domain.values import dataclass
from byheart.search.blend import meaning_share, reread

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from byheart.domain.recall import Candidate, Question
    from byheart.text.timewords import TimeHint

_NAMED, _TIMED, _COMPANY, _SESSION_COMPANY, _FILED = 0.15, 0.25, 0.20, 0.25, 0.10
# What the other side said counts less where somebody asks for their own words.
_OTHER_SIDE, _ADDED = 0.6, 0.4
# A session's best turns count together as a mean that leans towards the best of them.
_BEST_TURNS, _LEANING = 3, 4
# From this share of the question's words on a turn has to do with it, whatever it means.
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


def judged(asked: Question, hint: TimeHint, candidates: Sequence[Candidate]) -> list[RankedTurn]:
    """All candidates with their scores, best first."""
    name = _meant_name(asked, candidates)
    has_meaning = any(each.meaning is not None for each in candidates)
    share = meaning_share(len(asked.terms)) if has_meaning else 0.0
    found = [_judge(each, asked, hint, share, name) for each in candidates]
    return sorted(found, key=lambda each: each.score, reverse=True)


def _judge(candidate: Candidate, asked: Question, hint: TimeHint, share: float, name: str | None) -> RankedTurn:
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
        factors["speaker"] = _NAMED
    at = turn.at or candidate.session.started
    if hint.spells and at is not None:
        factors["time"] = _TIMED * hint.closeness(at.date())
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


def reranked(found: Sequence[RankedTurn], read: Sequence[float], share: float) -> list[RankedTurn]:
    """The first few by what a model adds to them that read question and text together; sessions then follow their turns."""
    first, rest = found[: len(read)], found[len(read) :]
    added = reread([each.score for each in first], read, share)
    closely = [
        RankedTurn(each.candidate, {**each.factors, "read": more}) for each, more in zip(first, added, strict=True)
    ]
    return [*sorted(closely, key=lambda each: each.score, reverse=True), *rest]
