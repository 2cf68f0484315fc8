"""The tables of index.db, and opening it. All of it is derived: a version that differs is thrown away and rebuilt."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import stat
import time
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from byheart.domain.errors import Busy, Discarded, Unnatural, Unreadable, Unwritable
from byheart.text.deferred import module

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from byheart.domain.recall import Meaning
    from byheart.storage.index import vectors
    from byheart.storage.index.vectors import Matrix
else:
    vectors = module("byheart.storage.index.vectors")

VERSION = 10
# An index that is gone with the process, for when none can be kept.
MEMORY = ":memory:"
# Marks belong to the letters before them.
TOKENS = "porter unicode61 remove_diacritics 2 categories 'L* N* M* Co'"
# Seconds to wait for another process that writes; it does so a file at a time.
_PATIENCE = 8
_ATTEMPTS = 5
_TABLES = """
CREATE TABLE file(
  key TEXT PRIMARY KEY, agent TEXT NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
  inode INTEGER NOT NULL, offset INTEGER, digest TEXT, state BLOB, tally TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE session(
  n INTEGER PRIMARY KEY, file TEXT NOT NULL, id TEXT NOT NULL, agent TEXT NOT NULL, path TEXT NOT NULL, version TEXT,
  cwd TEXT, project TEXT, branch TEXT, commit_id TEXT, remote TEXT, started INTEGER, ended INTEGER, parent TEXT,
  title TEXT, model TEXT, memory_mode TEXT, closed INTEGER, turns INTEGER NOT NULL DEFAULT 0,
  prompts INTEGER NOT NULL DEFAULT 0, commands INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0,
  first TEXT NOT NULL DEFAULT '', UNIQUE(file, id)
);
CREATE INDEX session_id ON session(id);
CREATE INDEX session_project ON session(project, ended);
CREATE INDEX session_ended ON session(ended);
CREATE TABLE turn(
  n INTEGER PRIMARY KEY, session INTEGER NOT NULL, number INTEGER NOT NULL, role TEXT NOT NULL, speaker TEXT NOT NULL,
  synthetic TEXT, side TEXT, standing TEXT NOT NULL, at INTEGER, tool TEXT, text TEXT NOT NULL, command TEXT,
  arguments TEXT NOT NULL, output TEXT, exit INTEGER, failed INTEGER, origin INTEGER, name TEXT, before TEXT NOT NULL
);
CREATE INDEX turn_origin ON turn(origin) WHERE origin IS NOT NULL;
CREATE UNIQUE INDEX turn_number ON turn(session, number);
CREATE VIRTUAL TABLE turn_words USING fts5(text, work, before, meta, content='', tokenize="@");
CREATE TABLE stretch(first INTEGER PRIMARY KEY, session INTEGER NOT NULL);
CREATE INDEX stretch_session ON stretch(session);
CREATE TABLE vector(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, shelf INTEGER NOT NULL, item INTEGER NOT NULL, model INTEGER NOT NULL, value BLOB NOT NULL,
  UNIQUE(shelf, item)
);
CREATE TABLE unvector(seq INTEGER PRIMARY KEY AUTOINCREMENT, shelf INTEGER NOT NULL, item INTEGER NOT NULL);
CREATE TRIGGER vector_gone AFTER DELETE ON vector BEGIN INSERT INTO unvector(shelf, item) VALUES(old.shelf, old.item); END;
CREATE TRIGGER turn_gone AFTER DELETE ON turn BEGIN DELETE FROM vector WHERE shelf = 1 AND item = old.n; END;
CREATE TABLE page(n INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL, size INTEGER, digest TEXT, lines INTEGER, hidden TEXT);
CREATE TABLE record(
  n INTEGER PRIMARY KEY, page INTEGER NOT NULL, handle TEXT NOT NULL, line INTEGER NOT NULL, text TEXT NOT NULL, before TEXT NOT NULL,
  meta TEXT NOT NULL, kind TEXT NOT NULL, key TEXT, weight INTEGER NOT NULL, confidence INTEGER, is_unsure INTEGER NOT NULL,
  is_local INTEGER NOT NULL, day INTEGER, body TEXT NOT NULL
);
CREATE INDEX record_page ON record(page, line);
CREATE INDEX record_handle ON record(handle);
CREATE INDEX record_day ON record(day);
CREATE VIRTUAL TABLE record_words USING fts5(text, before, meta, content='', tokenize="@");
CREATE TRIGGER record_gone AFTER DELETE ON record BEGIN DELETE FROM vector WHERE shelf = 2 AND item = old.n; END;
CREATE TABLE model(n INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, width INTEGER NOT NULL, upto INTEGER NOT NULL DEFAULT 0, records_upto INTEGER NOT NULL DEFAULT 0);
CREATE TABLE command(
  turn INTEGER PRIMARY KEY, session INTEGER NOT NULL, form TEXT NOT NULL, program TEXT NOT NULL, kind TEXT, ok INTEGER,
  result TEXT
);
CREATE INDEX command_session ON command(session);
CREATE INDEX command_program ON command(program);
CREATE TABLE touch(turn INTEGER NOT NULL, session INTEGER NOT NULL, path TEXT NOT NULL, name TEXT NOT NULL, how TEXT NOT NULL);
CREATE INDEX touch_name ON touch(name);
CREATE INDEX touch_session ON touch(session, turn);
CREATE TABLE error(n INTEGER PRIMARY KEY, turn INTEGER NOT NULL, session INTEGER NOT NULL, signature TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX error_session ON error(session, turn);
CREATE INDEX error_signature ON error(signature);
CREATE TABLE fix(
  n INTEGER PRIMARY KEY, session INTEGER NOT NULL, signature TEXT NOT NULL, error TEXT NOT NULL, failed_at INTEGER NOT NULL,
  failed_command TEXT NOT NULL, fixed_at INTEGER NOT NULL, proof TEXT NOT NULL, passed INTEGER NOT NULL, commands TEXT NOT NULL, edited TEXT NOT NULL
);
CREATE INDEX fix_session ON fix(session);
CREATE VIRTUAL TABLE fix_words USING fts5(error, failed_command, content='fix', content_rowid='n', tokenize='porter unicode61');
CREATE TABLE remark(turn INTEGER NOT NULL, session INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX remark_session ON remark(session, turn);
"""


WORD_TABLES = ("turn_words", "fix_words", "record_words")


def connected(path: str) -> sqlite3.Connection:
    """The index, made or rebuilt where it is missing, of another version, or broken. Files are the truth, so nothing is
    lost by that."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            connection = _opened(path)
            found = connection.execute("PRAGMA user_version").fetchone()[0]
            if found == VERSION:
                return connection
            if found == 0 and _is_empty(connection):
                with changing(connection):
                    if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
                        _make_tables(connection)
                return connection
            connection.close()
        except sqlite3.OperationalError as error:
            text = str(error)
            if "locked" in text or "busy" in text:
                if attempt < _ATTEMPTS:
                    # Going over to a write-ahead log is refused at once while another does it, however patient one is.
                    time.sleep(0.1 * attempt)
                    continue
                raise Busy(f"{path} is being written by another process; try again") from None
            if attempt < _ATTEMPTS and ("disk I/O" in text or "unable to open" in text):
                # Somebody may be deleting it at this moment, or making it anew.
                time.sleep(0.02 * attempt)
                continue
            if attempt > 1 or "disk" in text or "full" in text or "readonly" in text:
                raise Unwritable(path, text, "free space or make the folder writable, then try again") from None
        except sqlite3.DatabaseError as error:
            if attempt > 1:
                raise Unreadable(path, str(error), "delete it; it is rebuilt from the transcripts") from None
        _thrown_away(path)
    raise Unreadable(path, "it cannot be rebuilt", "delete it; it is rebuilt from the transcripts")


def _make_tables(connection: sqlite3.Connection) -> None:
    for statement in _TABLES.replace("@", TOKENS).split(";\n"):
        if statement.strip():
            connection.execute(statement)
    if sqlite3.sqlite_version_info >= (3, 42):
        for table in WORD_TABLES:
            connection.execute(f"INSERT INTO {table}({table}, rank) VALUES('secure-delete', 1)")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _opened(path: str) -> sqlite3.Connection:
    if path == MEMORY:
        return _settled(sqlite3.connect(path, isolation_level=None))
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.path.islink(folder):
            raise Unnatural(folder, "it is a symbolic link", "make it a folder, or remove it")
        links = _made(path)
        if links > 1:
            raise Unnatural(path, "it has another name elsewhere", "remove it; it is rebuilt")
    except OSError as error:
        raise Unwritable(path, os.strerror(error.errno or 0), "make the folder writable, or set BYHEART_HOME") from None
    # Not made by SQLite, which would let others read it.
    address = f"file:{_quoted(path)}?mode=rw"
    return _settled(sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None))


def _made(path: str) -> int:
    """Make the file where there is none; how many names it has.

    One that exists is not opened: closing it would give up every lock that this process has on it through a connection,
    and another process would then clear the log away under that connection's feet.
    """
    if not os.path.lexists(path):
        # One at a time: what is cleared away must not be another's new log.
        lock = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.lexists(path):
                # A log that is still there is that of a file which somebody has deleted.
                _unlinked(path + ending for ending in ("-wal", "-shm", "-journal"))
                # SQLite makes its side files with the mode of the main one.
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        finally:
            os.close(lock)
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode):
        raise Unnatural(path, "it is not an ordinary file", "remove it; it is rebuilt")
    return found.st_nlink


def _quoted(path: str) -> str:
    """A path for an address; what does this in the standard library takes longer to load than the index to open."""
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _settled(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.row_factory = sqlite3.Row
    for setting in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "secure_delete=ON",
        "temp_store=MEMORY",
        "cache_size=-32000",
        "wal_autocheckpoint=8000",
    ):
        connection.execute(f"PRAGMA {setting}")
    return connection


def _is_empty(connection: sqlite3.Connection) -> bool:
    return not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()


def beside(path: str, shelf: int) -> str:
    """Where a shelf's vectors are kept once more, for being mapped."""
    return f"{path}-vectors-{shelf}"


def _thrown_away(path: str) -> None:
    _unlinked(path + ending for ending in ("", "-wal", "-shm", "-journal"))
    _unlinked(beside(path, shelf) for shelf in (1, 2))


def _unlinked(paths: Iterable[str]) -> None:
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


@contextmanager
def answering(path: str) -> Iterator[None]:
    """What SQLite says went wrong, in our words. An index that turns out to be broken is thrown away on the spot."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            raise Busy(f"{path} is being written by another process; try again") from None
        if any(word in text for word in ("malformed", "corrupt", "no such table", "no such column", "has no column")):
            _discarded(path, text)
        raise Unwritable(path, text, "free space or make the folder writable, then try again") from None
    except (sqlite3.DataError, sqlite3.ProgrammingError, sqlite3.IntegrityError, sqlite3.NotSupportedError) as error:
        # A value that cannot be stored says nothing about the file.
        raise ValueError(str(error)) from None
    except sqlite3.DatabaseError as error:
        _discarded(path, str(error))


def _discarded(path: str, problem: str) -> NoReturn:
    _thrown_away(path)
    raise Discarded(
        path, f"it was broken ({problem}) and was deleted", "run the command again; it is rebuilt"
    ) from None


@contextmanager
def changing(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, with the write lock from the start: waiting for it later could fail a reader that became a writer. Within
    another such stretch it is a part of that one."""
    if connection.in_transaction:
        yield
        return
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


def purged(connection: sqlite3.Connection, path: str) -> None:
    """Leave no trace of dropped text: neither in the word index, which only marks what is deleted, nor in the log."""
    if sqlite3.sqlite_version_info < (3, 42):
        with changing(connection):
            for table in WORD_TABLES:
                connection.execute(f"INSERT INTO {table}({table}) VALUES('optimize')")
    _unlinked(beside(path, shelf) for shelf in (1, 2))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class IndexConnection:
    """One connection, and the vectors that were read through it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._matrices: dict[int, Matrix] = {}
        self._inode = 0

    @cached_property
    def _db(self) -> sqlite3.Connection:
        connection = connected(self.path)
        self._inode = _inode(self.path)
        return connection

    def renew(self) -> None:
        """Open the file anew where somebody has deleted it, or put another in its place."""
        if self.path == MEMORY or "_db" not in self.__dict__ or self._db.in_transaction:
            return
        if _inode(self.path) != self._inode:
            self.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A stretch in which nothing changes, whoever writes meanwhile."""
        with answering(self.path):
            if self._db.in_transaction:
                yield
                return
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                if self._db.in_transaction:
                    self._db.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A stretch in which nobody else writes; what is written in it is written as one."""
        with answering(self.path), changing(self._db):
            yield

    def _matrix(self, shelf: int, meaning: Meaning | None) -> Matrix | None:
        if meaning is None:
            return None
        known = self._db.execute("SELECT n, width FROM model WHERE name = ?", (meaning.model,)).fetchone()
        if known is None:
            return None
        self._matrices[shelf] = vectors.synced(
            self._db,
            shelf,
            known[0],
            known[1],
            self._matrices.get(shelf),
            None if self.path == MEMORY else beside(self.path, shelf),
        )
        return self._matrices[shelf]

    def purge(self) -> None:
        """Take what was dropped out of the file itself, not only out of the tables."""
        with answering(self.path):
            purged(self._db, self.path)

    def close(self) -> None:
        """Put what is in the write-ahead log into the file."""
        if "_db" in self.__dict__:
            self._db.close()
            del self.__dict__["_db"]
        self._matrices.clear()


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino if path != MEMORY else 0
    except FileNotFoundError:
        return -1
