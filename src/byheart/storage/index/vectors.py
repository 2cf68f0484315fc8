"""Vectors beside the rows, kept as int8, held as one matrix and compared with a question in one go; which turns are worth one; and
measuring rows by a question: how much of its words they hold, and where they stand by their meaning."""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
from typing import TYPE_CHECKING, Any

from byheart.domain.values import dataclass
from byheart.storage.index.writing import moment
from byheart.text.deferred import module

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from byheart.domain.recall import Question

    Floats = NDArray[np.float32]
else:
    # Words alone are searched without it.
    np = module("numpy")

_ROWS = 4_096
# From here on a first look at the signs alone picks whom to compare in full, and the matrix is kept in a file as well, which
# is mapped into memory instead of being read row by row.
_MANY = 30_000
# From here on a file that is mapped is faster to open than rows are to read.
_WORTH_A_FILE = 1_500
_PICKED = 2_000
_FEWEST_SPARE = 256
_MAGIC = b"BHVECTOR"


@dataclass(slots=True)
class Near:
    """What is near a question: rows with their cosines, the best first, and the mean over all rows."""

    rows: NDArray[np.int64]
    cosines: Floats
    mean: float


def packed(vector: bytes) -> bytes:
    """A vector of floats as one scale and a byte a number."""
    values = np.frombuffer(vector, np.float32)
    scale = max(float(np.abs(values).max(initial=0.0)), 1e-9) / 127
    small: NDArray[np.int8] = np.rint(values / scale).astype(np.int8)
    return np.float32(scale).tobytes() + small.tobytes()


class Matrix:
    """All vectors of one shelf and one model. Rows that went away are blank until the matrix is made anew."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.size = self.count = 0
        self.added = self.removed = 0
        # How many rows a file holds already.
        self.saved = 0
        self._items = np.zeros(0, np.int64)
        self._scales = np.zeros(0, np.float32)
        self._values = np.zeros((0, width), np.int8)
        self._total = np.zeros(width, np.float32)
        self._signs: NDArray[np.uint64] | None = None
        self._order: NDArray[np.intp] | None = None

    def take(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Add rows, or put them in the place of older ones."""
        wanted = self.width + 4
        fitting = [(item, raw) for item, raw in rows if len(raw) == wanted]
        if not fitting:
            return
        items = [item for item, _ in fitting]
        self.drop(items)
        self.make_room(len(fitting))
        block = np.frombuffer(b"".join(raw for _, raw in fitting), np.uint8).reshape(len(fitting), wanted)
        scales = np.ascontiguousarray(block[:, :4]).view(np.float32)[:, 0]
        start, end = self.size, self.size + len(fitting)
        self._items[start:end], self._scales[start:end] = items, scales
        self._values[start:end] = block[:, 4:].view(np.int8)
        self._total += scales @ self._values[start:end].astype(np.float32)
        self.size, self.count = end, self.count + len(fitting)
        self._signs = self._order = None

    def drop(self, items: Sequence[int]) -> None:
        """Blank rows."""
        for at in self._places(items)[1]:
            self._total -= self._scales[at] * self._values[at].astype(np.float32)
            self._items[at], self._scales[at], self._values[at] = 0, 0, 0
            self.count -= 1
            self._order = None

    def _places(self, items: Sequence[int]) -> tuple[list[int], NDArray[np.intp]]:
        """Those of the items that have a vector, and where it is."""
        if not self.size or not len(items):
            return [], np.zeros(0, np.intp)
        if self._order is None:
            self._order = np.argsort(self._items[: self.size], kind="stable")
        asked = np.asarray(items, np.int64)
        at = np.searchsorted(self._items[: self.size], asked, sorter=self._order)
        places = self._order[np.minimum(at, self.size - 1)]
        known = (self._items[places] == asked) & (asked != 0)
        return asked[known].tolist(), places[known]

    def make_room(self, more: int) -> None:
        """Have room for so many more rows."""
        room = len(self._items)
        if self.size + more <= room:
            return
        new = self.size + more if not room else max(self.size + more, room + max(_FEWEST_SPARE, room // 8))
        self._items = np.concatenate([self._items, np.zeros(new - room, np.int64)])
        self._scales = np.concatenate([self._scales, np.zeros(new - room, np.float32)])
        grown = np.zeros((new, self.width), np.int8)
        grown[:room] = self._values
        self._values = grown

    def near(self, question: bytes, most: int) -> Near | None:
        """The rows nearest to a question; None where there are none."""
        if not self.count:
            return None
        asked = np.frombuffer(question, np.float32)
        mean = float(asked @ self._total) / self.count
        if self.size > _MANY:
            places = self._picked(asked)
            cosines = self._cosines(asked, places)
        else:
            places, cosines = np.arange(self.size), self._all(asked)
        cosines[self._items[places] == 0] = -1
        top = np.argpartition(-cosines, min(most, len(cosines) - 1))[:most]
        top = top[np.argsort(-cosines[top], kind="stable")]
        top = top[cosines[top] > -1]
        return Near(self._items[places[top]], cosines[top], mean)

    def cosines(self, question: bytes, items: Sequence[int]) -> dict[int, float]:
        """How near certain rows are, as far as they have a vector."""
        known, places = self._places(items)
        found = self._cosines(np.frombuffer(question, np.float32), places)
        return dict(zip(known, found.tolist(), strict=True))

    def _all(self, asked: Floats) -> Floats:
        out = np.empty(self.size, np.float32)
        wide = np.empty((min(_ROWS, self.size), self.width), np.float32)
        for start in range(0, self.size, _ROWS):
            end = min(start + _ROWS, self.size)
            part = wide[: end - start]
            np.copyto(part, self._values[start:end])
            np.dot(part, asked, out=out[start:end])
        out *= self._scales[: self.size]
        return out

    def _cosines(self, asked: Floats, places: NDArray[Any]) -> Floats:
        found: Floats = self._values[places].astype(np.float32) @ asked
        found *= self._scales[places]
        return found

    def _picked(self, asked: Floats) -> NDArray[Any]:
        """The rows whose signs agree best with the question's, each taken against the mean of all."""
        centre = self._total / max(1, self.count)
        if self._signs is None:
            # A word of 64 signs at a time for all rows, since that is how they are gone through.
            self._signs = np.empty((self.width // 64, self.size), np.uint64)
            for start in range(0, self.size, _ROWS):
                end = min(start + _ROWS, self.size)
                wide = self._values[start:end] * self._scales[start:end, None]
                self._signs[:, start:end] = np.packbits(wide > centre, axis=1).view(np.uint64).T
        along = float(asked @ centre) / max(1e-9, float(centre @ centre))
        own = np.packbits(asked > along * centre).view(np.uint64)
        apart = np.zeros(self.size, np.uint16)
        for word, signs in zip(own, self._signs, strict=True):
            apart += np.bitwise_count(signs ^ word)
        picked: NDArray[Any] = np.argpartition(apart, min(_PICKED, self.size - 1))[:_PICKED]
        return picked

    def save(self, path: str, model: int) -> None:
        """Keep a copy in a file. It is derived twice over: one that cannot be written is done without."""
        head = json.dumps([model, self.width, self.size, self.count, self.added, self.removed]).encode()
        parts = [_MAGIC, len(head).to_bytes(8, "little"), head, bytes(-(16 + len(head)) % 64)]
        parts += [self._items[: self.size].tobytes(), self._total.tobytes(), self._scales[: self.size].tobytes()]
        try:
            number, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".vectors-")
        except OSError:
            return
        try:
            with os.fdopen(number, "wb") as stream:
                stream.writelines(parts)
                for start in range(0, self.size, _ROWS):
                    stream.write(self._values[start : min(start + _ROWS, self.size)].tobytes())
            os.replace(temporary, path)
            self.saved = self.size
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)

    @classmethod
    def load(cls, path: str, model: int, width: int) -> Matrix | None:
        """The copy from a file, mapped; None where there is none that fits."""
        try:
            with open(path, "rb") as stream:
                if stream.read(8) != _MAGIC:
                    return None
                length = int.from_bytes(stream.read(8), "little")
                known, wide, size, count, added, removed = json.loads(stream.read(min(length, 1_000)))
            start = 16 + length + (-(16 + length) % 64)
            if (known, wide) != (model, width) or os.path.getsize(path) != start + size * (12 + width) + 4 * width:
                return None
            block = np.memmap(path, np.uint8, "c")
        except (OSError, ValueError, TypeError):
            return None
        found = cls(width)
        found.size = found.saved = size
        found.count, found.added, found.removed = count, added, removed
        found._items = np.array(block[start : start + 8 * size].view(np.int64))
        start += 8 * size
        found._total = np.array(block[start : start + 4 * width].view(np.float32))
        start += 4 * width
        found._scales = np.array(block[start : start + 4 * size].view(np.float32))
        found._values = block[start + 4 * size :].view(np.int8).reshape(size, width)
        return found


def synced(
    db: sqlite3.Connection, shelf: int, model: int, width: int, known: Matrix | None, path: str | None
) -> Matrix:
    """The matrix as the tables have it now; only what changed since the last time is read. `path` is where a large one is kept
    as well."""
    matrix = known or (Matrix.load(path, model, width) if path else None)
    gone = db.execute("SELECT min(seq) FROM unvector").fetchone()[0]
    counters = dict(db.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
    removed, added = counters.get("unvector", 0), counters.get("vector", 0)
    if matrix is not None and (
        matrix.added > added or matrix.removed > removed or (gone is not None and gone > matrix.removed + 1)
    ):
        # Of another index, or from before what is remembered of removals.
        matrix = None
    if matrix is None:
        matrix = Matrix(width)
        # All of its room at once: growing would hold it twice.
        matrix.make_room(
            db.execute("SELECT count(*) FROM vector WHERE shelf = ? AND model = ?", (shelf, model)).fetchone()[0]
        )
    elif removed > matrix.removed:
        query = "SELECT item FROM unvector WHERE seq > ? AND shelf = ?"
        matrix.drop([row[0] for row in db.execute(query, (matrix.removed, shelf))])
    matrix.removed = removed
    if added > matrix.added:
        # The plus keeps SQLite from going through the whole shelf instead of the few rows that are new.
        query = "SELECT seq, item, value FROM vector WHERE seq > ? AND +shelf = ? AND +model = ? ORDER BY seq"
        rows = db.execute(query, (matrix.added, shelf, model))
        while some := rows.fetchmany(_ROWS):
            matrix.take([(item, value) for _, item, value in some])
        matrix.added = added
    if path and matrix.size > _WORTH_A_FILE and matrix.size - matrix.saved > matrix.size // 8:
        matrix.save(path, model)
    return matrix


TURNS, RECORDS = 1, 2


def keep(db: sqlite3.Connection, shelf: int, model: str, width: int, vectors: Sequence[tuple[int, bytes]]) -> None:
    """Put vectors beside their rows, as far as these are still there."""

    db.execute("INSERT OR IGNORE INTO model(name, width) VALUES(?, ?)", (model, width))
    own = db.execute("SELECT n FROM model WHERE name = ?", (model,)).fetchone()[0]
    # A row has one vector, so what another model had done is done no longer.
    db.execute("UPDATE model SET upto = 0, records_upto = 0 WHERE n <> ? AND (upto > 0 OR records_upto > 0)", (own,))
    table = "turn" if shelf == TURNS else "record"
    for item, vector in vectors:
        db.execute("DELETE FROM vector WHERE shelf = ? AND item = ?", (shelf, item))
        db.execute(
            f"INSERT INTO vector(shelf, item, model, value) SELECT ?, n, ?, ? FROM {table} WHERE n = ?",
            (shelf, own, packed(vector), item),
        )


_LONGEST, _CONTEXT = 800, 200


def due(db: sqlite3.Connection, model: str, most: int) -> list[tuple[int, str]]:
    """What people and agents said that has no vector of this model yet, the newest first."""
    rows = db.execute(
        """SELECT t.n, t.at, t.speaker, t.name, t.before, t.text, s.title, s.started FROM turn t JOIN session s ON s.n = t.session
           WHERE t.standing = 'live' AND t.synthetic IS NULL AND t.tool IS NULL AND length(t.text) > 12
             AND t.speaker IN ('user', 'assistant') AND NOT EXISTS (
               SELECT 1 FROM vector v JOIN model m ON m.n = v.model WHERE v.shelf = ? AND v.item = t.n AND m.name = ?)
           ORDER BY t.n DESC LIMIT ?""",
        (TURNS, model, most),
    )
    return [(row["n"], _identified(row)) for row in rows]


def _identified(row: sqlite3.Row) -> str:
    """A text with who said it, when, and what it answers: alone it would mean less."""
    at = moment(row["at"] if row["at"] is not None else row["started"])
    when = f"[{at:%-d %B %Y}] " if at else ""
    before = f"{row['before'][-_CONTEXT:].strip()}\n" if row["before"] else ""
    return f"{before}{when}{row['name'] or row['speaker']}: {row['text'][:_LONGEST]}"


def is_due(db: sqlite3.Connection, model: str) -> bool:
    """Whether turns may be without a vector of this model; told by how far it had come, at no cost."""
    known = db.execute("SELECT upto FROM model WHERE name = ?", (model,)).fetchone()
    newest = db.execute("SELECT coalesce(max(n), 0) FROM turn").fetchone()[0]
    return bool(newest > (known[0] if known else 0))


def settled(db: sqlite3.Connection, model: str, newest: int) -> None:
    """Note that all turns up to one have what they need."""
    db.execute("UPDATE model SET upto = max(upto, ?) WHERE name = ?", (newest, model))


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
