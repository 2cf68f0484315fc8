"""Putting sessions into the index: a file at a time, all of it or nothing."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from byheart.domain.sessions import (
    CommandFact,
    ErrorFact,
    FixFact,
    Found,
    How,
    Mark,
    Remark,
    Session,
    Speaker,
    Stamp,
    Standing,
    Step,
    Tally,
    Touch,
    Turn,
)
from byheart.storage.index.schema import changing
from byheart.text.questions import humps, spelled

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence

_SESSION = "id, agent, path, version, cwd, project, branch, commit_id, remote, started, ended, parent, title, model, memory_mode, closed"
# A later reading may know less than an earlier one, so what it does not say stays. The folder and the commit are those of
# the beginning.
_FIRST, _NOW = ("cwd", "commit_id"), ("closed",)
_KEPT = [
    f"{name} = coalesce(session.{name}, excluded.{name})"
    if name in _FIRST
    else f"{name} = excluded.{name}"
    if name in _NOW
    else f"{name} = coalesce(excluded.{name}, session.{name})"
    for name in (each.strip() for each in _SESSION.split(","))
    if name != "id"
]
_DERIVED = ("command", "touch", "error", "fix", "remark")
_BATCH = 400
_BEFORE = 300
_WORDS = "turn_words(rowid, text, work, before, meta) VALUES(?, ?, ?, ?, ?)"
_NO_WORDS = "turn_words(turn_words, rowid, text, work, before, meta) VALUES('delete', ?, ?, ?, ?, ?)"
_TOLD = "n, name, at, text, command, arguments, output, before"


def milliseconds(at: datetime | None) -> int | None:
    """A time as the tables keep it."""
    return int(at.timestamp() * 1000) if at else None


def moment(value: int | None) -> datetime | None:
    """A time as the tables keep it, back."""
    return datetime.fromtimestamp(value / 1000, UTC) if value is not None else None


def turn_of(row: sqlite3.Row, touches: tuple[Touch, ...] = ()) -> Turn:
    """A turn's row as a value."""
    return Turn(
        number=row["number"],
        role=row["role"],
        speaker=Speaker(row["speaker"]),
        origin=row["origin"],
        text=row["text"],
        at=moment(row["at"]),
        synthetic=row["synthetic"],
        side=row["side"],
        standing=Standing(row["standing"]),
        tool=row["tool"],
        arguments=row["arguments"],
        command=row["command"],
        touches=touches,
        output=row["output"],
        exit=row["exit"],
        failed=None if row["failed"] is None else bool(row["failed"]),
        name=row["name"],
    )


def _words(told: Sequence[Any]) -> tuple[object, ...]:
    """A turn as the word index takes it in, from its row, a name, a time and its texts."""
    row, name, at, text, command, arguments, output, before = told
    work = "\n".join(part for part in (command, arguments, output) if part)
    if not text:
        # Most turns are work: what was run and what came of it. That has no name, and its day is that of what was said.
        return row, "", spelled(work), "", ""
    meta = " ".join(part for part in (name, _day(at // 86_400_000) if at is not None else "", humps(text)) if part)
    return row, spelled(text), spelled(work), spelled(before), spelled(meta)


@lru_cache(maxsize=64)
def _day(number: int) -> str:
    """A day in the words that people ask for it with."""
    try:
        return f"{date.fromordinal(number + 719_163):%A %-d %B %Y}"
    except (ValueError, OverflowError):
        return ""


class Batch:
    """What one file came to, on its way into the tables."""

    def __init__(self, connection: sqlite3.Connection, found: Found) -> None:
        self._db, self._found = connection, found
        self._turns: list[tuple[object, ...]] = []
        self._rows: dict[int, int] = {}
        self._session = 0
        self._before = ""
        self._stretch = 0
        self._next = int(connection.execute("SELECT coalesce(max(n), 0) FROM turn").fetchone()[0]) + 1

    def drop(self) -> None:
        """Forget what the file held before."""
        drop(self._db, self._found.key)

    def session(self, session: Session) -> int:
        """Go to a session, new or known; its row."""
        self.flush()
        values = (
            session.id, session.agent, session.path, session.version, session.cwd, session.project, session.branch,
            session.commit, session.remote, milliseconds(session.started), milliseconds(session.ended), session.parent,
            session.title, session.model, session.memory_mode, session.closed,
        )  # fmt: skip
        places = ", ".join("?" * (len(values) + 1))
        kept = ", ".join(_KEPT)
        row = self._db.execute(
            f"INSERT INTO session(file, {_SESSION}) VALUES({places}) ON CONFLICT(file, id) DO UPDATE SET {kept} RETURNING n",
            (self._found.key, *values),
        ).fetchone()
        if row[0] != self._session:
            self._rows = {}
        own = int(row[0])
        if own != self._session:
            self._before, self._stretch = self._last_words(own), 0
        self._session = own
        return own

    def _last_words(self, session: int) -> str:
        row = self._db.execute(
            "SELECT text FROM turn WHERE session = ? AND speaker IN ('user', 'assistant') AND synthetic IS NULL AND text <> '' "
            "ORDER BY number DESC LIMIT 1",
            (session,),
        ).fetchone()
        return row[0][-_BEFORE:] if row else ""

    def belongs(self, project_of: Callable[[str | None, str | None], str | None]) -> None:
        """Settle which project the session belongs to, by all that is known of it by now."""
        cwd, remote = self._db.execute("SELECT cwd, remote FROM session WHERE n = ?", (self._session,)).fetchone()
        self._db.execute("UPDATE session SET project = ? WHERE n = ?", (project_of(cwd, remote), self._session))

    def turn(self, turn: Turn) -> int:
        """A new turn; its row."""
        row: int = self._next
        self._next += 1
        self._rows[turn.number] = row
        if len(self._rows) > 5_000:
            self._rows.pop(next(iter(self._rows)))
        if not self._stretch:
            # Turns of a session get rows one after the other, so which session a row is of need not be looked up row by row.
            self._stretch = row
            self._db.execute("INSERT OR REPLACE INTO stretch VALUES(?, ?)", (row, self._session))
        spoken = turn.speaker in (Speaker.USER, Speaker.ASSISTANT) and not turn.synthetic and turn.text
        before = self._before if spoken else ""
        if spoken:
            self._before = turn.text[-_BEFORE:]
        self._turns.append(
            (
                row, self._session, turn.number, turn.role, turn.speaker.value, turn.synthetic, turn.side, turn.standing.value,
                milliseconds(turn.at), turn.tool, turn.text, turn.command, turn.arguments, turn.output, turn.exit, turn.failed,
                turn.origin, turn.name, before,
            )
        )  # fmt: skip
        if len(self._turns) >= _BATCH:
            self.flush()
        return row

    def copies(self, origins: Sequence[int]) -> set[int]:
        """Which of these turns stand in another transcript already."""
        found: set[int] = set()
        for start in range(0, len(origins), 500):
            some = origins[start : start + 500]
            query = f"SELECT origin FROM turn WHERE origin IN ({', '.join('?' * len(some))}) AND session <> ? AND standing = 'live'"
            found.update(row[0] for row in self._db.execute(query, (*some, self._session)))
        return found

    def flush(self) -> None:
        """Write the turns that wait."""
        if not self._turns:
            return
        self._db.executemany(f"INSERT OR REPLACE INTO turn VALUES({', '.join('?' * 19)})", self._turns)
        told = [(each[0], each[17], each[8], *each[10:14], each[18]) for each in self._turns]
        self._db.executemany(f"INSERT INTO {_WORDS}", map(_words, told))
        self._turns = []

    def turn_at(self, number: int) -> tuple[int, Turn] | None:
        """A turn that is in the tables already, with its row."""
        self.flush()
        row = self._db.execute(
            "SELECT * FROM turn WHERE session = ? AND number = ?", (self._session, number)
        ).fetchone()
        if row is None:
            return None
        touches = self._db.execute(
            "SELECT path, how FROM touch WHERE session = ? AND turn = ?", (self._session, row["n"])
        )
        return int(row["n"]), turn_of(row, tuple(Touch(path, How(how)) for path, how in touches))

    def amend(self, row: int, turn: Turn) -> None:
        """A turn in the tables whose result is known now; what it shows is to be told anew."""
        told = self._db.execute(f"SELECT {_TOLD} FROM turn WHERE n = ?", (row,)).fetchone()
        self._db.execute(f"INSERT INTO {_NO_WORDS}", _words(told))
        self._db.execute(
            "UPDATE turn SET output = ?, exit = ?, failed = ? WHERE n = ?", (turn.output, turn.exit, turn.failed, row)
        )
        self._db.execute(f"INSERT INTO {_WORDS}", _words((*told[:6], turn.output, told[7])))
        for table in ("command", "error", "touch", "remark"):
            self._db.execute(f"DELETE FROM {table} WHERE session = ? AND turn = ?", (self._session, row))

    def is_at_work(self) -> bool:
        """Whether the last to speak or act was the agent."""
        self.flush()
        row = self._db.execute(
            "SELECT speaker FROM turn WHERE session = ? AND standing = 'live' AND (speaker = 'assistant' OR tool IS NOT NULL "
            "OR (speaker = 'user' AND synthetic IS NULL)) ORDER BY number DESC LIMIT 1",
            (self._session,),
        ).fetchone()
        return row is not None and row[0] != "user"

    def restand(self, numbers: Sequence[int], standing: Standing) -> None:
        """Turns that count no longer, or again."""
        self.flush()
        self._db.executemany(
            "UPDATE turn SET standing = ? WHERE session = ? AND number = ?",
            [(standing.value, self._session, number) for number in numbers],
        )

    def facts(
        self,
        commands: Iterable[CommandFact],
        touches: Iterable[tuple[int, str, str]],
        errors: Iterable[ErrorFact],
        remarks: Iterable[Remark],
    ) -> None:
        """What the turns show, each under its turn's row."""
        own = self._session
        for query, rows in (
            (
                "INSERT OR REPLACE INTO command VALUES(?, ?, ?, ?, ?, ?, ?)",
                [(each.turn, own, each.form, each.program, each.kind, each.ok, each.result) for each in commands],
            ),
            (
                "INSERT INTO touch VALUES(?, ?, ?, ?, ?)",
                [(turn, own, path, path.replace("\\", "/").rsplit("/", 1)[-1], how) for turn, path, how in touches],
            ),
            (
                "INSERT INTO error(turn, session, signature, text) VALUES(?, ?, ?, ?)",
                [(each.turn, own, each.signature, each.text) for each in errors],
            ),
            ("INSERT INTO remark VALUES(?, ?, ?, ?)", [(each.turn, own, each.kind, each.text) for each in remarks]),
        ):
            if rows:
                self._db.executemany(query, rows)

    def steps(self) -> list[Step]:
        """What the session did, in order, for finding what fixed what."""
        self.flush()
        own = (self._session,)
        errors: dict[int, list[tuple[str, str]]] = {}
        for turn, signature, text in self._db.execute(
            "SELECT turn, signature, text FROM error WHERE session = ? ORDER BY n", own
        ):
            errors.setdefault(turn, []).append((signature, text))
        edited: dict[int, list[str]] = {}
        for turn, path in self._db.execute("SELECT turn, path FROM touch WHERE session = ? AND how <> 'read'", own):
            edited.setdefault(turn, []).append(path)
        rows = self._db.execute(
            "SELECT t.n, t.number, t.command, c.form, c.ok FROM turn t LEFT JOIN command c ON c.turn = t.n "
            "WHERE t.session = ? AND t.standing = 'live' AND t.tool IS NOT NULL ORDER BY t.number",
            own,
        )
        return [
            Step(
                number=number,
                form=form or "",
                command=command or "",
                ok=None if ok is None else bool(ok),
                edited=tuple(edited.get(row, ())),
                errors=tuple(errors.get(row, ())),
            )
            for row, number, command, form, ok in rows
        ]

    def fixes(self, fixes: Iterable[FixFact]) -> None:
        """Put the session's fixes in the place of the earlier ones."""
        _unword_fixes(self._db, self._session)
        self._db.execute("DELETE FROM fix WHERE session = ?", (self._session,))
        for each in fixes:
            row = self._db.execute(
                "INSERT INTO fix(session, signature, error, failed_at, failed_command, fixed_at, proof, passed, commands, edited) "
                "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING n",
                (
                    self._session, each.signature, each.error, each.failed_at, each.failed_command, each.fixed_at, each.proof,
                    each.passed,
                    json.dumps(each.commands), json.dumps(each.edited),
                ),
            ).fetchone()  # fmt: skip
            self._db.execute(
                "INSERT INTO fix_words(rowid, error, failed_command) VALUES(?, ?, ?)",
                (row[0], each.error, each.failed_command),
            )

    def counted(self) -> None:
        """Bring the session's own numbers up to date."""
        self.flush()
        self._db.execute(
            """UPDATE session SET
                 turns = (SELECT count(*) FROM turn WHERE session = ?1),
                 prompts = (SELECT count(*) FROM turn WHERE session = ?1 AND speaker = 'user' AND synthetic IS NULL AND standing = 'live'),
                 commands = (SELECT count(*) FROM command c JOIN turn t ON t.n = c.turn WHERE c.session = ?1 AND t.standing = 'live'),
                 failures = (SELECT count(*) FROM command c JOIN turn t ON t.n = c.turn WHERE c.session = ?1 AND c.ok = 0
                             AND t.standing = 'live'),
                 first = coalesce((SELECT substr(text, 1, 300) FROM turn WHERE session = ?1 AND speaker = 'user' AND synthetic IS NULL
                                   AND standing = 'live' ORDER BY number LIMIT 1), '')
               WHERE n = ?1""",
            (self._session,),
        )

    def done(self, modified: int, mark: Mark | None, tally: Tally) -> None:
        """Note how far the file was read, and what reading it came to."""
        self.flush()
        found = self._found
        # A folder's file turns out to be some agent's when it is read.
        written = self._db.execute("SELECT agent FROM session WHERE file = ? LIMIT 1", (found.key,)).fetchone()
        agent = written[0] if written else found.agent
        self._db.execute(
            "INSERT OR REPLACE INTO file VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                found.key, agent, found.path, found.size, modified, found.inode, mark.offset if mark else None,
                mark.digest if mark else None, mark.state if mark else None, _tally_text(tally),
            ),
        )  # fmt: skip


def drop(connection: sqlite3.Connection, key: str) -> None:
    """Take a file's sessions out, with all that hangs on them."""
    for (session,) in connection.execute("SELECT n FROM session WHERE file = ?", (key,)).fetchall():
        # Copies of its turns count from now on, so the files that hold them are read anew.
        connection.execute(
            "UPDATE file SET modified = -1, offset = NULL, state = NULL WHERE key <> ?1 AND key IN (SELECT s.file FROM turn c "
            "JOIN session s ON s.n = c.session WHERE c.standing = 'copied' AND c.origin IN "
            "(SELECT origin FROM turn WHERE session = ?2 AND standing = 'live' AND origin IS NOT NULL))",
            (key, session),
        )
        told = connection.execute(f"SELECT {_TOLD} FROM turn WHERE session = ?", (session,))
        connection.executemany(f"INSERT INTO {_NO_WORDS}", map(_words, told.fetchall()))
        _unword_fixes(connection, session)
        for table in (*_DERIVED, "stretch", "turn"):
            connection.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
    connection.execute("DELETE FROM session WHERE file = ?", (key,))
    connection.execute("DELETE FROM file WHERE key = ?", (key,))


def _unword_fixes(connection: sqlite3.Connection, session: int) -> None:
    connection.execute(
        "INSERT INTO fix_words(fix_words, rowid, error, failed_command) SELECT 'delete', n, error, failed_command FROM fix WHERE session = ?",
        (session,),
    )


def stamps(connection: sqlite3.Connection) -> dict[str, Stamp]:
    """What every file looked like when it was read."""
    rows = connection.execute("SELECT key, size, modified, inode FROM file")
    return {row[0]: Stamp(size=row[1], modified=row[2], inode=row[3]) for row in rows}


def mark_of(connection: sqlite3.Connection, key: str) -> tuple[Mark | None, Tally]:
    """Where reading a file ended, and its tally so far."""
    row = connection.execute("SELECT offset, digest, state, tally FROM file WHERE key = ?", (key,)).fetchone()
    if row is None:
        return None, Tally()
    mark = Mark(row[0], row[1], row[2]) if row[0] is not None and row[2] is not None else None
    return mark, tally_of(row[3])


def _tally_text(tally: Tally) -> str:
    return json.dumps({name: getattr(tally, name) for name in Tally.__slots__})


def tally_of(text: str) -> Tally:
    """A tally as it was stored."""
    raw = json.loads(text)
    for name in ("skipped", "unknown", "mended"):
        raw[name] = Counter(raw[name])
    return Tally(**raw)


@contextmanager
def batch(connection: sqlite3.Connection, found: Found) -> Iterator[Batch]:
    """A file's own transaction."""
    with changing(connection):
        writer = Batch(connection, found)
        yield writer
        writer.flush()
