"""The file behind the index: opened at first need, made where there is none."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from byheart.storage.index.schema import MEMORY, answering, beside, changing, connected, purged

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from byheart.domain.recall import Meaning
    from byheart.storage.index.vectors import Matrix


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
        from byheart.storage.index.vectors import synced

        self._matrices[shelf] = synced(
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
