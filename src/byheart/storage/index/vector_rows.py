"""Keeping vectors beside the rows they are of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

TURNS, RECORDS = 1, 2


def keep(db: sqlite3.Connection, shelf: int, model: str, width: int, vectors: Sequence[tuple[int, bytes]]) -> None:
    """Put vectors beside their rows, as far as these are still there."""
    from byheart.storage.index.vectors import packed

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
