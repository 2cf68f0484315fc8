"""Measuring rows by a question: how much of its words they hold, and where they stand by their meaning."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from byheart.domain.recall import Question

_COVERED = 1.5
_FEW = 0.1
_SMALL, _PHRASE = 200, 0.3


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a question: as it is asked for, in how many rows it is, and what it is worth."""

    asked: str
    rows: int
    worth: float


class Words:
    """One word index."""

    def __init__(
        self, db: sqlite3.Connection, table: str, columns: Sequence[str], weights: Sequence[float], budget: int
    ) -> None:
        # Rows that a question may touch, each at a microsecond or two. What is in more rows than that tells little about any.
        self._db, self._table, self._budget = db, table, budget
        self._weights = ", ".join(map(str, weights))
        self._before = weights[columns.index("before")]
        self._own = " ".join(name for name in columns if name != "before")

    def held(self, asked: Question, total: int) -> tuple[dict[int, float], list[Term]]:
        """How much of the question each row holds (0 nothing, 1 about all of it), and its terms, the rarest first."""
        terms = self._terms(asked, total)
        if total <= _SMALL:
            return self._covered(asked, terms), terms
        return self._scores(terms, asked, _whole_of(asked, terms, total)), terms

    def _terms(self, asked: Question, total: int) -> list[Term]:
        found = []
        for term in asked.terms:
            rows = self._rows(term, total)
            if rows:
                found.append(Term(term, rows, worth(rows, total)))
        found.sort(key=lambda term: term.rows)
        return found

    def _covered(self, asked: Question, terms: Iterable[Term]) -> dict[int, float]:
        """Where there are few rows, how rare a word is among them says little; as if there were more of them, then."""
        found: dict[int, float] = {}
        known = {term.asked: term.rows for term in terms}
        whole = sum(_rarity(known.get(term, 0)) for term in asked.terms)
        query = f"SELECT rowid FROM {self._table} WHERE {self._table} MATCH ?"
        for term, rows in known.items():
            share = _rarity(rows) / whole
            own = {row for (row,) in self._db.execute(query, (f"{{{self._own}}} : {term}",))}
            for (row,) in self._db.execute(query, (term,)):
                # What was only said before it is another's.
                found[row] = found.get(row, 0.0) + (share if row in own else share * self._before)
        for phrase in asked.exact:
            for (row,) in self._db.execute(query, (phrase,)):
                found[row] = found.get(row, 0.0) + _PHRASE
        return found

    def having(self, phrases: Sequence[str]) -> set[int]:
        """The rows that hold all of these wordings themselves, as they stand."""
        if not phrases:
            return set()
        query = f"SELECT rowid FROM {self._table} WHERE {self._table} MATCH ? LIMIT {self._budget}"
        asked = " AND ".join(phrases)
        return {row for (row,) in self._db.execute(query, (f"{{{self._own}}} : ({asked})",))}

    def _rows(self, term: str, total: int) -> int:
        # Rows come in order, so where the first few thousand end tells how many there are.
        query = f"SELECT count(*), max(rowid) FROM (SELECT rowid FROM {self._table} WHERE {self._table} MATCH ? LIMIT {self._budget})"
        count, last = self._db.execute(query, (term,)).fetchone()
        return int(count) if count < self._budget else max(self._budget, int(self._budget * total / max(1, last)))

    def _scores(self, terms: Sequence[Term], asked: Question, whole: float) -> dict[int, float]:
        kept: list[str] = []
        touched = 0
        for term in terms:
            if kept and touched + term.rows > self._budget:
                break
            kept.append(term.asked)
            touched += term.rows
        if not kept or whole <= 0:
            return {}
        query = f"SELECT rowid, -bm25({self._table}, {self._weights}) FROM {self._table} WHERE {self._table} MATCH ?"
        rows = self._db.execute(query, (" OR ".join((*kept, *asked.exact)),))
        return {row: min(_COVERED, score / whole) for row, score in rows}


def worth(rows: int, total: int) -> float:
    """As FTS5 weighs it."""
    return max(1e-6, math.log((total - rows + 0.5) / (rows + 0.5)))


def _rarity(rows: int) -> float:
    return math.log(1 + (_SMALL - min(rows, _SMALL) + 0.5) / (rows + 0.5))


def _whole_of(asked: Question, terms: Iterable[Term], total: int) -> float:
    """What a row that holds all of the question would come to. A term that is nowhere counts as the rarest."""
    known = {term.asked: term.worth for term in terms}
    return sum(known.get(term, worth(0, total)) for term in asked.terms)


def standing(cosine: float | None, best: float, mean: float) -> float | None:
    """Where a row stands between the mean of all and the nearest; None where it has no vector. A few rows make no mean."""
    if cosine is None:
        return None
    low = min(mean, best - _FEW)
    return min(1.0, max(0.0, (cosine - low) / (best - low)))
