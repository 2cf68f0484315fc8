"""The tables of state.db, and the clock that its leases are told by. Unlike the index it is not thrown away when its version
differs: each version has its step."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
import time
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING

from byheart.domain.errors import Busy, Unnatural, Unreadable, Unwritable

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE = 30
_STEPS = (
    """
CREATE TABLE extract(
  thread TEXT PRIMARY KEY, agent TEXT NOT NULL, project TEXT NOT NULL, cwd TEXT NOT NULL, path TEXT NOT NULL,
  branch TEXT, updated INTEGER NOT NULL, revision TEXT NOT NULL, raw_memory TEXT NOT NULL, rollout_summary TEXT NOT NULL,
  slug TEXT, made INTEGER NOT NULL, uses INTEGER NOT NULL DEFAULT 0, last_use INTEGER, selected TEXT NOT NULL DEFAULT '',
  archived INTEGER NOT NULL DEFAULT 0, candidates TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX extract_project ON extract(project, updated);
CREATE TABLE job(
  kind TEXT NOT NULL, key TEXT NOT NULL, project TEXT NOT NULL, state TEXT NOT NULL, worker TEXT NOT NULL DEFAULT '',
  token TEXT NOT NULL DEFAULT '', attempts INTEGER NOT NULL DEFAULT 0, revision TEXT NOT NULL, done_revision TEXT NOT NULL DEFAULT '',
  era TEXT NOT NULL DEFAULT '', lease_until REAL NOT NULL DEFAULT 0, retry_at REAL NOT NULL DEFAULT 0,
  error TEXT NOT NULL DEFAULT '', is_transient INTEGER NOT NULL DEFAULT 0, started INTEGER, finished INTEGER,
  PRIMARY KEY(kind, key)
);
CREATE TABLE citation(
  source TEXT NOT NULL, name TEXT NOT NULL, times INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(source, name)
) WITHOUT ROWID;
CREATE INDEX citation_name ON citation(name);
CREATE INDEX job_state ON job(kind, state, project)
""",
)


def connected(path: str) -> sqlite3.Connection:
    """The queue, made where there is none and brought up to this version where it is older."""
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.path.islink(folder):
            raise Unnatural(folder, "it is a symbolic link", "make it a folder, or remove it")
        with suppress(FileExistsError):
            # Not made by SQLite, which would let others read it.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise Unnatural(path, "it is not an ordinary file", "move it away")
    except OSError as error:
        raise Unwritable(path, os.strerror(error.errno or 0), "make the folder writable, or set BYHEART_HOME") from None
    with explained(path):
        connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
        connection.row_factory = sqlite3.Row
        # The first thing of all: switching the log on has to wait for others, too.
        connection.execute(f"PRAGMA busy_timeout = {_PATIENCE * 1000}")
        for setting in ("journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON"):
            connection.execute(f"PRAGMA {setting}")
        _brought_up(connection, path)
    return connection


def _brought_up(connection: sqlite3.Connection, path: str) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == len(_STEPS):
        return
    if version > len(_STEPS):
        raise Unreadable(
            path,
            "it was written by a newer byheart",
            "upgrade byheart, or delete the file: only counts of uses are lost",
        )
    with changing(connection):
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        for step in _STEPS[version:]:
            for statement in step.split(";\n"):
                if statement.strip():
                    connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(_STEPS)}")


@contextmanager
def changing(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, with the write lock from the start."""
    connection.execute("BEGIN IMMEDIATE")
    done = False
    try:
        yield
        done = True
    finally:
        if done:
            connection.execute("COMMIT")
        elif connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def explained(path: str) -> Iterator[None]:
    """What SQLite says went wrong, in our words."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            raise Busy(f"{path} is being written by another process; try again") from None
        raise Unwritable(path, text, "free space or make the folder writable, then try again") from None
    except sqlite3.DatabaseError as error:
        raise Unreadable(
            path, str(error), "delete it: extracts are read from the handbooks again, only counts of uses are lost"
        ) from None


_ALIVE = ".worker"


@cache
def era() -> str:
    """Which start of the machine this is; empty where it cannot be told."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            return stream.read(64).strip()
    except OSError:
        return ""


def ticks() -> float:
    """Seconds since the machine was started."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(clock) if clock is not None else time.monotonic()


class Workers:
    """Which workers are alive: each holds a lock on a file of its own, which the kernel lets go of when it dies."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._mine: dict[str, int] = {}

    def enlist(self) -> str:
        """A new worker's name; it is alive until `leave`, or until this process ends."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        name = f"{os.getpid()}-{os.urandom(6).hex()}"
        opened = os.open(self._path(name), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(opened, fcntl.LOCK_EX)
        self._mine[name] = opened
        return name

    def leave(self, name: str) -> None:
        """The worker is done."""
        opened = self._mine.pop(name, None)
        if opened is not None:
            with suppress(FileNotFoundError):
                os.unlink(self._path(name))
            os.close(opened)

    def is_alive(self, name: str) -> bool:
        """Whether a worker still holds its lock."""
        if name in self._mine:
            return True
        if not name or "/" in name:
            return False
        try:
            opened = os.open(self._path(name), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(opened)
        return False

    def sweep(self) -> None:
        """Take the files of workers away that have died."""
        with suppress(FileNotFoundError):
            for entry in os.listdir(self._folder):
                name = entry.removesuffix(_ALIVE)
                if entry.endswith(_ALIVE) and not self.is_alive(name):
                    with suppress(FileNotFoundError):
                        os.unlink(self._path(name))

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name + _ALIVE)
