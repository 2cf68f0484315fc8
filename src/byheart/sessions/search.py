"""Searching sessions: by words and by meaning."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import datetime

from byheart.domain.sessions import FoundTurn, Session, Turn, Which
from byheart.domain.values import dataclass
from byheart.search import rank_turns
from byheart.search.models import RecallModels
from byheart.search.rank_turns import RankedTurn
from byheart.sessions.refresh import Progress, SessionTools
from byheart.text.questions import question
from byheart.text.timewords import hint

# Vectors are made a few at a time: what is done stays done.
_AT_ONCE = 32
_READ_CLOSELY = 20
_DEEP_SHARE = 0.6
_SNIPPET = 200
_READ = 500


@dataclass(frozen=True, slots=True)
class SessionHits:
    """A session with the turns in it that fit, best first. `fits` is False where it is only the nearest of what there is."""

    session: Session
    score: float
    turns: tuple[FoundTurn, ...]
    fits: bool = True


def ranked(
    tools: SessionTools, recall_models: RecallModels, words: str, which: Which, now: datetime, *, deep: bool = False
) -> list[RankedTurn]:
    """Turns that fit, best first, each with what speaks for it."""
    asked = question(words)
    if not asked.terms:
        return []
    meaning = recall_models.meaning(words)
    with tools.index.reading():
        candidates = tools.index.candidates(asked, which, meaning)
    found = rank_turns.judged(asked, hint(words, now.date()), candidates)
    if deep and recall_models.reranker is not None:
        first = found[:_READ_CLOSELY]
        texts = [_read_as(each.candidate.turn) for each in first]
        found = rank_turns.reranked(found, recall_models.reranker.scores(words, texts), _DEEP_SHARE)
    return found


def _read_as(turn: Turn) -> str:
    text = turn.text or f"{turn.command or ''} {turn.output or ''}"
    return f"{turn.name or turn.speaker.value}: {text[:_READ]}"


def search(
    tools: SessionTools,
    recall_models: RecallModels,
    words: str,
    which: Which,
    most: int,
    now: datetime,
    *,
    deep: bool = False,
) -> Sequence[SessionHits]:
    """Sessions that fit, each with its best turns."""
    terms = [term.strip('" *') for term in question(words).terms]
    found = []
    for group in rank_turns.grouped(ranked(tools, recall_models, words, which, now, deep=deep))[:most]:
        turns = tuple(
            FoundTurn(
                session=each.candidate.session,
                turn=each.candidate.turn,
                score=round(each.score, 4),
                snippet=snippet(each.candidate.turn, terms),
                factors={name: round(value, 4) for name, value in each.factors.items()},
            )
            for each in group.turns[:3]
        )
        scale = recall_models.embedder.scale if recall_models.embedder is not None else None
        fits = any(rank_turns.fits(each, scale) for each in group.turns[:3])
        found.append(SessionHits(turns[0].session, round(group.score, 4), turns, fits))
    return found


def snippet(turn: Turn, terms: Sequence[str]) -> str:
    """The part of a turn that has most of the words."""
    whole = " ".join(" ".join(part for part in (turn.text, turn.command, turn.arguments, turn.output) if part).split())
    if len(whole) <= _SNIPPET:
        return whole
    stems = [re.escape(term[: max(3, len(term) - 2)]) for term in terms if term]
    places = [match.start() for match in re.finditer("|".join(stems), whole, re.IGNORECASE)] if stems else []
    if not places:
        return f"{whole[:_SNIPPET].rstrip()} …"
    start = max(places, key=lambda at: (sum(at <= each < at + _SNIPPET for each in places), -at))
    start = max(0, min(start - 20, len(whole) - _SNIPPET))
    if start:
        start = whole.find(" ", start) + 1 or start
    end = start + _SNIPPET
    return f"{'… ' if start else ''}{whole[start:end].strip()}{' …' if end < len(whole) else ''}"


def embed(tools: SessionTools, recall_models: RecallModels, seconds: float, progress: Progress | None = None) -> int:
    """Give turns their vectors, the newest first, for so long; how many are known to be left."""
    embedder = recall_models.embedder
    if embedder is None:
        return 0
    until, done = time.monotonic() + seconds, 0
    while some := tools.index.unembedded(embedder.id, 20_000):
        for start in range(0, len(some), _AT_ONCE):
            if progress:
                progress(done, done + len(some) - start, embedder.id)
            part = some[start : start + _AT_ONCE]
            vectors = recall_models.vectors([text for _, text in part])
            if vectors is None:
                return len(some) - start
            tools.index.embedded(
                embedder.id, embedder.width, [(row, vector) for (row, _), vector in zip(part, vectors, strict=True)]
            )
            done += len(part)
            if time.monotonic() > until:
                return len(some) - start - len(part)
    tools.index.all_embedded(embedder.id)
    return 0
