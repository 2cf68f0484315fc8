"""Finding turns: by their words, by what they mean, and by the company they keep in their session."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from byheart.domain.recall import Candidate, Meaning, Question
from byheart.domain.sessions import Session, Which
from byheart.storage.index.queries import session_of, where_of
from byheart.storage.index.vectors import Term, Words, standing, worth
from byheart.storage.index.writing import turn_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from byheart.storage.index.vectors import Matrix

# What a word is worth in a turn's own text, in what it ran and met, in what was said before it, in name and date.
_COLUMNS = ("text", "work", "before", "meta")
_WEIGHTS = (1.0, 0.6, 0.5, 1.0)
_BY_WORDS, _BY_MEANING, _NARROW = 400, 200, 2_000
_BY_FILE, _TOUCHING = 60, 2_000
_CHUNK, _LOOKED_AT, _TOUCHED = 500, 20_000, 15_000
_MOST_ROWS = 40_000
_COVERED = 1.5


def turns(
    db: sqlite3.Connection, asked: Question, which: Which, meaning: Meaning | None, matrix: Matrix | None
) -> list[Candidate]:
    """Turns that may answer, each with how much of the question it holds. In no order."""
    total = int(db.execute("SELECT coalesce(max(n), 0) FROM turn").fetchone()[0])
    words = Words(db, "turn_words", _COLUMNS, _WEIGHTS, _TOUCHED)
    held, terms = words.held(asked, total)
    near = matrix.near(meaning.vector, _BY_MEANING if which == Which() else _NARROW) if matrix and meaning else None
    rows = _rows(db, which, sorted(held, key=held.__getitem__, reverse=True), _BY_WORDS)
    if near is not None:
        known = {row["n"] for row in rows}
        fresh = [row for row in near.rows.tolist() if row not in known]
        rows += _rows(db, which, fresh, _BY_MEANING)
    filed = _filed(db, asked.files)
    if filed:
        known = {row["n"] for row in rows}
        rows += _rows(db, which, [row for row in filed if row not in known], _BY_FILE)
    cosines = matrix.cosines(meaning.vector, [row["n"] for row in rows]) if matrix and meaning else {}
    best = float(near.cosines[0]) if near is not None else 0.0
    mean = near.mean if near is not None else 0.0
    company = _company(db, terms, asked)
    sessions: dict[int, Session] = {}
    found = []
    for row in rows:
        own = row["session"]
        if own not in sessions:
            sessions[own] = session_of(db.execute("SELECT * FROM session WHERE n = ?", (own,)).fetchone())
        cosine = cosines.get(row["n"])
        found.append(
            Candidate(
                session=sessions[own],
                turn=turn_of(row),
                words=held.get(row["n"], 0.0),
                cosine=cosine,
                meaning=standing(cosine, best, mean),
                company=company.get(own, 0.0),
                has_file=row["n"] in filed,
            )
        )
    return found


def _filed(db: sqlite3.Connection, names: Sequence[str]) -> dict[int, None]:
    """Turns that read or changed a file of one of these names, the last first. They stand in a table of their own: among the
    words of a turn, paths would count for more than what was said."""
    if not names:
        return {}
    query = f"SELECT DISTINCT turn FROM touch WHERE name IN ({', '.join('?' * len(names))}) ORDER BY turn DESC LIMIT {_TOUCHING}"
    return dict.fromkeys(row[0] for row in db.execute(query, tuple(names)))


def _rows(db: sqlite3.Connection, which: Which, wanted: Sequence[int], most: int) -> list[sqlite3.Row]:
    """The rows among these that a person may be shown, in their order, at most so many."""
    where, given = where_of(which)
    found: list[sqlite3.Row] = []
    for start in range(0, min(len(wanted), _LOOKED_AT), _CHUNK):
        some = wanted[start : start + _CHUNK]
        query = (
            f"SELECT t.* FROM turn t JOIN session s ON s.n = t.session WHERE t.n IN ({','.join(map(str, some))}) "
            f"AND t.standing = 'live' AND {where}"
        )
        by_row = {row["n"]: row for row in db.execute(query, given)}
        found += [by_row[row] for row in some if row in by_row]
        if len(found) >= most:
            return found[:most]
    return found


def _company(db: sqlite3.Connection, terms: Sequence[Term], asked: Question) -> dict[int, float]:
    """How much of the question each session holds as a whole: a turn means more where the others speak of the same."""
    if not terms:
        return {}
    sizes = dict(db.execute("SELECT n, turns FROM session").fetchall())
    stretches = db.execute("SELECT first, session FROM stretch ORDER BY first").fetchall()
    if len(sizes) < 2 or not stretches:
        return {}
    starts = [row[0] for row in stretches]
    average = sum(sizes.values()) / len(sizes) or 1.0
    found: dict[int, float] = {}
    whole = 0.0
    by_term = {term.asked: term for term in terms}
    for name in asked.terms:
        term = by_term.get(name)
        counts = _by_session(db, term, starts, stretches) if term and term.rows <= _MOST_ROWS else {}
        value = worth(len(counts), len(sizes))
        whole += value
        for session, count in counts.items():
            room = 1.2 * (0.25 + 0.75 * sizes.get(session, 0) / average)
            found[session] = found.get(session, 0.0) + value * count * 2.2 / (count + room)
    return {session: min(_COVERED, score / whole) for session, score in found.items()} if whole > 0 else {}


def _by_session(
    db: sqlite3.Connection, term: Term, starts: Sequence[int], stretches: Sequence[sqlite3.Row]
) -> dict[int, int]:
    """In how many turns of each session a term stands."""
    query = "SELECT rowid FROM turn_words WHERE turn_words MATCH ?"
    rows = [row[0] for row in db.execute(query, (f"{{text}} : {term.asked}",))]
    counts: dict[int, int] = {}
    at = 0
    while at < len(rows):
        # Rows come in order, and a session's stand together: from the end of one stretch to the next that holds any.
        place = bisect_left(starts, rows[at] + 1) - 1
        after = bisect_left(rows, starts[place + 1], at) if place + 1 < len(starts) else len(rows)
        session = stretches[max(0, place)][1]
        counts[session] = counts.get(session, 0) + after - at
        at = max(after, at + 1)
    return counts
