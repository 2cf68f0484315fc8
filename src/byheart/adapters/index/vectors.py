"""Vectors beside the rows: kept as int8, held as one matrix, compared with a question in one go."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
_ROWS = 4_096
# From here on a first look at the signs alone picks whom to compare in full.
_MANY = 30_000
_PICKED = 3_000
_FEWEST_SPARE = 256


@dataclass(slots=True)
class Near:
    """What is near a question: rows with their cosines, the best first, and the mean over all rows."""

    rows: NDArray[np.int64]
    cosines: Floats
    mean: float

    @classmethod
    def nothing(cls) -> Near:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.float32), 0.0)


def packed(vector: bytes) -> bytes:
    """A vector of floats as one scale and a byte a number."""
    values = np.frombuffer(vector, np.float32)
    scale = max(float(np.abs(values).max(initial=0.0)), 1e-9) / 127
    small: NDArray[np.int8] = np.rint(values / scale).astype(np.int8)
    return np.float32(scale).tobytes() + small.tobytes()


@dataclass(slots=True)
class Matrix:
    """All vectors of one shelf and one model. Rows that went away are blank until the matrix is made anew."""

    width: int
    size: int = 0
    items: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    scales: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    values: NDArray[np.int8] = field(default_factory=lambda: np.zeros((0, 0), np.int8))
    signs: NDArray[np.uint64] | None = None
    total: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    added: int = 0
    removed: int = 0
    places: dict[int, int] = field(default_factory=dict)

    def take(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Add rows, or put them in the place of older ones."""
        wanted = self.width + 4
        fitting = [(item, raw) for item, raw in rows if len(raw) == wanted]
        self._grow(len(fitting))
        if not fitting:
            return
        block = np.frombuffer(b"".join(raw for _, raw in fitting), np.uint8).reshape(len(fitting), wanted)
        scales = np.ascontiguousarray(block[:, :4]).view(np.float32)[:, 0]
        for item, _ in fitting:
            self.drop(item)
        start, end = self.size, self.size + len(fitting)
        self.items[start:end] = [item for item, _ in fitting]
        self.scales[start:end] = scales
        self.values[start:end] = block[:, 4:].view(np.int8)
        self.places.update(zip((item for item, _ in fitting), range(start, end), strict=True))
        self.total += scales @ self.values[start:end].astype(np.float32)
        self.size, self.signs = end, None

    def drop(self, item: int) -> None:
        """Blank a row."""
        at = self.places.pop(item, None)
        if at is not None:
            self.total -= self.scales[at] * self.values[at].astype(np.float32)
            self.items[at], self.scales[at], self.values[at] = 0, 0, 0

    def _grow(self, more: int) -> None:
        if not self.total.size:
            self.total = np.zeros(self.width, np.float32)
        room = len(self.items)
        if self.size + more <= room:
            return
        new = max(self.size + more, room + max(_FEWEST_SPARE, room // 4))
        self.items = np.concatenate([self.items, np.zeros(new - room, np.int64)])
        self.scales = np.concatenate([self.scales, np.zeros(new - room, np.float32)])
        grown = np.zeros((new, self.width), np.int8)
        grown[:room] = self.values.reshape(room, self.width)
        self.values = grown

    @property
    def count(self) -> int:
        return len(self.places)

    def near(self, question: bytes, most: int) -> Near:
        """The rows nearest to a question."""
        if not self.count:
            return Near.nothing()
        asked = np.frombuffer(question, np.float32)
        mean = float(asked @ self.total) / self.count
        places = self._picked(asked) if self.size > _MANY else np.arange(self.size)
        cosines = self._cosines(asked, places) if self.size > _MANY else self._all(asked)
        cosines[self.items[places] == 0] = -1
        top = np.argpartition(-cosines, min(most, len(cosines) - 1))[:most]
        top = top[np.argsort(-cosines[top], kind="stable")]
        top = top[cosines[top] > -1]
        return Near(self.items[places[top]], cosines[top], mean)

    def cosines(self, question: bytes, items: Sequence[int]) -> dict[int, float]:
        """How near certain rows are, as far as they have a vector."""
        known = [(item, place) for item in items if (place := self.places.get(item)) is not None]
        if not known:
            return {}
        found = self._cosines(np.frombuffer(question, np.float32), np.array([place for _, place in known]))
        return {item: float(cosine) for (item, _), cosine in zip(known, found, strict=True)}

    def _all(self, asked: Floats) -> Floats:
        out = np.empty(self.size, np.float32)
        wide = np.empty((min(_ROWS, self.size), self.width), np.float32)
        for start in range(0, self.size, _ROWS):
            end = min(start + _ROWS, self.size)
            part = wide[: end - start]
            np.copyto(part, self.values[start:end])
            np.dot(part, asked, out=out[start:end])
        out *= self.scales[: self.size]
        return out

    def _cosines(self, asked: Floats, places: NDArray[Any]) -> Floats:
        found: Floats = self.values[places].astype(np.float32) @ asked
        found *= self.scales[places]
        return found

    def _picked(self, asked: Floats) -> NDArray[Any]:
        """The rows whose signs agree best with the question's, each taken against the mean of all."""
        centre = self.total / max(1, self.count)
        if self.signs is None:
            self.signs = np.empty((self.size, self.width // 64), np.uint64)
            for start in range(0, self.size, _ROWS):
                end = min(start + _ROWS, self.size)
                wide = self.values[start:end] * self.scales[start:end, None]
                self.signs[start:end] = np.packbits(wide > centre, axis=1).view(np.uint64)
        own = np.packbits((asked - centre * (asked @ centre) / max(1e-9, float(centre @ centre))) > 0).view(np.uint64)
        apart = np.bitwise_count(self.signs ^ own).sum(axis=1, dtype=np.uint16)
        picked: NDArray[Any] = np.argpartition(apart, min(_PICKED, self.size - 1))[:_PICKED]
        return picked


def synced(db: sqlite3.Connection, shelf: int, model: int, width: int, matrix: Matrix | None) -> Matrix:
    """The matrix as the tables have it now; only what changed since the last time is read."""
    floor = db.execute("SELECT min(seq) FROM unvector").fetchone()[0]
    removed = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'unvector'").fetchone()
    if matrix is None or (floor is not None and floor > matrix.removed + 1):
        matrix = Matrix(width)
        matrix.removed = removed[0] if removed else 0
    else:
        query = "SELECT seq, item FROM unvector WHERE seq > ? AND shelf = ?"
        for _, item in db.execute(query, (matrix.removed, shelf)):
            matrix.drop(item)
        matrix.removed = removed[0] if removed else matrix.removed
    query = "SELECT seq, item, value FROM vector WHERE seq > ? AND shelf = ? AND model = ? ORDER BY seq"
    rows = db.execute(query, (matrix.added, shelf, model))
    while some := rows.fetchmany(_ROWS):
        matrix.take([(item, value) for _, item, value in some])
        matrix.added = some[-1][0]
    return matrix
