"""Other programs' SQLite stores, opened so that nothing of theirs can change."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from byheart.agents.reading.lines import UNREADABLE, Broken
from byheart.agents.reading.values import number, when

BUSY, CORRUPT = "store is busy", "store is corrupt"
# Steps of SQLite's own machine; a store that needs more is not one that an agent wrote.
_STEPS = 200_000_000
_LONGEST = 32_000_000


@contextmanager
def opened(path: str) -> Iterator[sqlite3.Connection]:
    """A connection for reading. Raises Broken where the store cannot be read now.

    Without a write-ahead log the file is opened as one that nobody changes, so that SQLite makes no files beside it.
    """
    if not os.path.isfile(path):
        raise Broken(UNREADABLE)
    live = os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal") > 0 and os.path.exists(f"{path}-shm")
    # A reader of a live log keeps its place in a shared file; ours is kept in memory.
    mode = (
        "mode=ro&readonly_shm=1" if live else "mode=ro" if os.path.exists(f"{path}-journal") else "mode=ro&immutable=1"
    )
    connection = None
    try:
        connection = sqlite3.connect(f"file:{quote(path)}?{mode}", uri=True, timeout=0.2, isolation_level=None)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.row_factory = sqlite3.Row
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        budget = [_STEPS // 100_000]

        def spent() -> int:
            budget[0] -= 1
            return int(budget[0] < 0)

        connection.set_progress_handler(spent, 100_000)
        yield connection
    except sqlite3.OperationalError as error:
        text = str(error)
        raise Broken(
            BUSY if "locked" in text or "busy" in text else UNREADABLE if "unable" in text else CORRUPT
        ) from None
    except (sqlite3.Error, UnicodeDecodeError, OverflowError, MemoryError):
        raise Broken(CORRUPT) from None
    finally:
        if connection is not None:
            connection.close()


def whole(value: Any) -> int:
    """A number for comparing, whatever a column holds."""
    found = number(value)
    if found is not None:
        return found
    at = when(value)
    return int(at.timestamp() * 1000) if at else 0


def tables(connection: sqlite3.Connection) -> set[str]:
    """The names of the real tables; a view could run anything."""
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """A table's columns, which differ from version to version."""
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}


def named(row: sqlite3.Row) -> dict[str, Any]:
    """A row by the names of its columns, of which a damaged or later store may lack any."""
    return dict(zip(row.keys(), row, strict=True))


def rows(connection: sqlite3.Connection, query: str, *given: Any, most: int) -> Iterator[sqlite3.Row]:
    """A query's rows, at most so many."""
    cursor = connection.execute(f"{query} LIMIT {int(most)}", given)
    yield from cursor
