"""Which turns are worth a vector, with what text, and keeping it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.storage.index.vector_rows import TURNS
from byheart.storage.index.writing import moment

if TYPE_CHECKING:
    import sqlite3

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
