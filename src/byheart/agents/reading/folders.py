"""Folders of agents: where the user keeps them, and the files in them."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from byheart.agents.reading.lines import UNREADABLE, Broken
from byheart.agents.reading.values import number, when
from byheart.domain.sessions import Found
from byheart.domain.values import dataclass

_SKIPPED = frozenset({"memory", "tool-results", "node_modules", ".git"})
# How deep a folder tree is followed; agents nest a handful of levels.
_DEEPEST = 12
_LARGEST_SETTINGS = 1_048_576


@dataclass(frozen=True, slots=True)
class Machine:
    """The user's home, the environment, and the project folders that may hold transcripts of their own."""

    home: str
    environment: Mapping[str, str]
    projects: tuple[str, ...] = ()

    def variable(self, name: str, default: str) -> str:
        """A folder that a variable may move; a blank one counts as unset."""
        chosen = self.environment.get(name, "").strip()
        return os.path.expanduser(chosen) if chosen else os.path.join(self.home, default)

    @property
    def data(self) -> str:
        return self.variable("XDG_DATA_HOME", ".local/share")


def file_of(agent: str, path: str) -> Found | None:
    """A file as something to read; None where it cannot be looked at."""
    try:
        path.encode("utf-8")
        status = os.stat(path)
    except (OSError, ValueError):
        # A name that is no text cannot be kept, and is no agent's.
        return None
    return Found(agent=agent, path=path, size=status.st_size, modified=status.st_mtime_ns, inode=status.st_ino)


def walked(folder: str, depth: int = _DEEPEST) -> Iterator[str]:
    """All ordinary files below a folder. Links to folders are not followed, so no circle can hold us."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                if depth > 0 and entry.name not in _SKIPPED:
                    yield from walked(entry.path, depth - 1)
            elif entry.is_file():
                yield entry.path
        except OSError:
            continue


def files_in(agent: str, folder: str, *endings: str, depth: int = _DEEPEST) -> Iterator[Found]:
    """The files below a folder that end so, as an agent's."""
    for path in walked(folder, depth):
        if path.endswith(endings) and (found := file_of(agent, path)):
            yield found


def names_in(folder: str) -> list[str]:
    """What a folder holds, sorted; nothing where it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def setting_of(path: str, *keys: str) -> Any:
    """A setting in another program's JSON file; None where it cannot be told."""
    try:
        with open(path, encoding="utf-8") as stream:
            found: Any = json.loads(stream.read(_LARGEST_SETTINGS))
    except (OSError, ValueError):
        return None
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def is_running(pid: object) -> bool:
    """Whether a process is there."""
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


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
