"""The queue as flows see it: claims, leases, fences, dead letters; and the extracts."""

from __future__ import annotations

import os
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from byheart.domain.handbook import Thread, Written
from byheart.domain.learning import CONSOLIDATE, DIED, EXTRACT, DueSession, Job, JobClaim, JobState, JobView, Kept
from byheart.storage.queue.schema import Workers, changing, connected, era, explained, ticks

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

# A lease or a pause that seems to last longer than anybody would ask for comes from another count of time.
_LONGEST = 7 * 86_400.0


class SqliteQueue:
    """state.db and the workers beside it."""

    def __init__(self, path: str, clock: Callable[[], datetime], ticker: Callable[[], float] = ticks) -> None:
        self.path, self._clock, self._ticks = path, clock, ticker
        self._workers = Workers(os.path.join(os.path.dirname(path), "workers"))
        self._worker = ""

    @cached_property
    def _db(self) -> sqlite3.Connection:
        return connected(self.path)

    @contextmanager
    def working(self) -> Iterator[None]:
        """A stretch in which this process counts as a worker that is alive."""
        self._workers.sweep()
        self._worker = self._workers.enlist()
        try:
            yield
        finally:
            self._workers.leave(self._worker)
            self._worker = ""

    def enqueue(self, due: Iterable[DueSession]) -> int:
        """Note what should be learnt from. What changed since it failed gets all of its attempts back; how many are new."""
        fresh = 0
        with explained(self.path), changing(self._db):
            for each in due:
                fresh += self._put(EXTRACT, each.thread.id, each.thread.project, each.revision)
        return fresh

    def touch(self, project: str, revision: str) -> None:
        """Note that a project's handbook is behind."""
        with explained(self.path), changing(self._db):
            self._put(CONSOLIDATE, project, project, revision)

    def _put(self, kind: str, key: str, project: str, revision: str) -> int:
        known = self._db.execute(
            "SELECT revision, state, done_revision FROM job WHERE kind = ? AND key = ?", (kind, key)
        ).fetchone()
        if known is None:
            self._db.execute(
                "INSERT INTO job(kind, key, project, state, revision) VALUES(?, ?, ?, 'pending', ?)",
                (kind, key, project, revision),
            )
            return 1
        if known["revision"] == revision:
            if known["state"] == JobState.DONE and known["done_revision"] != revision:
                self._db.execute("UPDATE job SET state = 'pending' WHERE kind = ? AND key = ?", (kind, key))
            return 0
        # Whoever is at it goes on with what they claimed; when they are done, there is more to do.
        self._db.execute(
            "UPDATE job SET revision = ?, project = ?, attempts = 0, retry_at = 0, error = '',"
            " state = CASE state WHEN 'running' THEN 'running' ELSE 'pending' END WHERE kind = ? AND key = ?",
            (revision, project, kind, key),
        )
        return 1

    def claim(self, kind: str, key: str, lease_seconds: float, retries: int) -> tuple[JobClaim, Job | None]:
        """Take a job, if nobody alive has it, it has attempts left, and its pause is over. The attempt counts from here."""
        token = os.urandom(16).hex()
        with explained(self.path), changing(self._db):
            row = self._db.execute("SELECT * FROM job WHERE kind = ? AND key = ?", (kind, key)).fetchone()
            refusal = self._refusal(row, retries)
            if refusal is not None or row is None:
                return refusal or JobClaim.GONE, None
            self._db.execute(
                "UPDATE job SET state = 'running', worker = ?, token = ?, attempts = attempts + 1, era = ?, lease_until = ?,"
                " started = ?, finished = NULL WHERE kind = ? AND key = ?",
                (self._worker, token, era(), self._ticks() + lease_seconds, self._now(), kind, key),
            )
        job = Job(
            kind=kind,
            key=key,
            project=row["project"],
            token=token,
            attempt=row["attempts"] + 1,
            revision=row["revision"],
        )
        return JobClaim.CLAIMED, job

    def _refusal(self, row: sqlite3.Row | None, retries: int) -> JobClaim | None:
        if row is None:
            return JobClaim.GONE
        if row["state"] == JobState.DONE and row["done_revision"] == row["revision"]:
            return JobClaim.UP_TO_DATE
        if row["state"] == JobState.RUNNING and self._is_held(row):
            return JobClaim.RUNNING
        if row["state"] == JobState.DEAD:
            return JobClaim.DEAD
        if row["attempts"] >= retries:
            # Somebody died with its last attempt, or used it up.
            self._db.execute(
                "UPDATE job SET state = 'dead', token = '', error = CASE error WHEN '' THEN ? ELSE error END"
                " WHERE kind = ? AND key = ?",
                (DIED, row["kind"], row["key"]),
            )
            return JobClaim.DEAD
        return JobClaim.WAITING if self._waits(row) > 0 else None

    def _is_held(self, row: sqlite3.Row) -> bool:
        """Whether somebody alive holds a job: their lease is running, and so are they."""
        if row["era"] != era() or not self._workers.is_alive(row["worker"]):
            return False
        left = row["lease_until"] - self._ticks()
        return bool(0 < left <= _LONGEST)

    def _waits(self, row: sqlite3.Row) -> float:
        if not row["retry_at"] or row["era"] != era():
            return 0.0
        left = row["retry_at"] - self._ticks()
        return left if 0 < left <= _LONGEST else 0.0

    def beat(self, job: Job, lease_seconds: float) -> bool:
        """Say that the work goes on; False where it is no longer ours."""
        with explained(self.path), changing(self._db):
            done = self._db.execute(
                "UPDATE job SET lease_until = ?, era = ? WHERE kind = ? AND key = ? AND token = ? AND state = 'running'",
                (self._ticks() + lease_seconds, era(), job.kind, job.key, job.token),
            )
            return done.rowcount == 1

    def holds(self, job: Job) -> bool:
        """Whether the job is still ours."""
        with explained(self.path):
            found = self._db.execute(
                "SELECT 1 FROM job WHERE kind = ? AND key = ? AND token = ? AND state = 'running'",
                (job.kind, job.key, job.token),
            )
            return found.fetchone() is not None

    def learnt(self, job: Job, kept: Kept | None) -> bool:
        """An extract is finished; None where nothing was learnt from the session. False, and nothing is kept, where it is not ours."""
        with explained(self.path), changing(self._db):
            if not self._finish(job):
                return False
            if kept is None:
                self._db.execute("DELETE FROM extract WHERE thread = ?", (job.key,))
            else:
                self._keep(kept)
        return True

    def _finish(self, job: Job) -> bool:
        done = self._db.execute(
            "UPDATE job SET state = CASE WHEN revision = ? THEN 'done' ELSE 'pending' END, done_revision = ?, token = '', worker = '',"
            " attempts = 0, retry_at = 0, error = '', finished = ? WHERE kind = ? AND key = ? AND token = ? AND state = 'running'",
            (job.revision, job.revision, self._now(), job.kind, job.key, job.token),
        )
        return done.rowcount == 1

    def _keep(self, kept: Kept) -> None:
        written, thread = kept.written, kept.written.thread
        self._db.execute(
            "INSERT INTO extract(thread, agent, project, cwd, path, branch, updated, revision, raw_memory, rollout_summary, slug,"
            " made, uses, last_use, selected, archived, candidates) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT(thread) DO UPDATE SET agent = excluded.agent, project = excluded.project, cwd = excluded.cwd,"
            " path = excluded.path, branch = excluded.branch, updated = excluded.updated, revision = excluded.revision,"
            " raw_memory = excluded.raw_memory, rollout_summary = excluded.rollout_summary, slug = excluded.slug,"
            " made = excluded.made, archived = 0, candidates = excluded.candidates",
            (
                thread.id, thread.agent, thread.project, thread.cwd, thread.path, thread.branch, _stamp(thread.updated),
                kept.revision, written.raw_memory, written.rollout_summary, written.slug, _stamp(kept.made), written.uses,
                _stamp(written.last_use) if written.last_use else None, kept.selected, int(kept.archived), kept.candidates,
            ),
        )  # fmt: skip

    def done(self, job: Job, selected: Mapping[str, str], archived: Sequence[str]) -> bool:
        """A handbook is published with these extracts, each in this revision; those in `archived` are out of it for now."""
        with explained(self.path), changing(self._db):
            if not self._finish(job):
                return False
            self._db.execute("UPDATE extract SET selected = '' WHERE project = ?", (job.project,))
            self._db.executemany(
                "UPDATE extract SET selected = ?, archived = 0 WHERE thread = ?",
                [(revision, thread) for thread, revision in selected.items()],
            )
            self._db.executemany("UPDATE extract SET archived = 1 WHERE thread = ?", [(thread,) for thread in archived])
        return True

    def failed(self, job: Job, error: str, wait_seconds: float, retries: int, *, is_transient: bool) -> bool:
        """It went wrong: another try after a pause, or none where that would not help."""
        dead = job.attempt >= retries or not is_transient
        with explained(self.path), changing(self._db):
            done = self._db.execute(
                "UPDATE job SET state = CASE WHEN revision <> ? THEN 'pending' ELSE ? END, token = '', worker = '', error = ?,"
                " is_transient = ?, era = ?, retry_at = ?, finished = ? WHERE kind = ? AND key = ? AND token = ? AND state = 'running'",
                (
                    job.revision, "dead" if dead else "pending", error[:500], int(is_transient), era(),
                    self._ticks() + wait_seconds, self._now(), job.kind, job.key, job.token,
                ),
            )  # fmt: skip
            return done.rowcount == 1

    def release(self, job: Job) -> None:
        """Give a job back untouched, as when somebody interrupts: the attempt does not count."""
        with explained(self.path), changing(self._db):
            self._db.execute(
                "UPDATE job SET state = 'pending', token = '', worker = '', attempts = max(0, attempts - 1), retry_at = 0"
                " WHERE kind = ? AND key = ? AND token = ? AND state = 'running'",
                (job.kind, job.key, job.token),
            )

    def jobs(self, project: str | None = None) -> list[JobView]:
        """Every job, those that need somebody first."""
        with explained(self.path):
            rows = self._db.execute(
                "SELECT * FROM job WHERE ? IS NULL OR project = ? ORDER BY CASE state WHEN 'dead' THEN 0 WHEN 'running' THEN 1"
                " WHEN 'pending' THEN 2 ELSE 3 END, kind, finished DESC, key",
                (project, project),
            ).fetchall()
        return [self._view(row) for row in rows]

    def _view(self, row: sqlite3.Row) -> JobView:
        held = row["state"] == JobState.RUNNING and self._is_held(row)
        return JobView(
            kind=row["kind"],
            key=row["key"],
            project=row["project"],
            state=JobState(row["state"]),
            attempts=row["attempts"],
            revision=row["revision"],
            done_revision=row["done_revision"],
            worker=row["worker"],
            error=row["error"],
            is_transient=bool(row["is_transient"]),
            started=_shown(row["started"]),
            finished=_shown(row["finished"]),
            waits_seconds=round(self._waits(row), 1),
            lease_seconds=round(max(0.0, row["lease_until"] - self._ticks()), 1) if held else 0.0,
        )

    def retry(self, kind: str, key: str) -> bool:
        """Give a job all of its attempts back; False where there is none, or somebody is at it."""
        with explained(self.path), changing(self._db):
            row = self._db.execute("SELECT * FROM job WHERE kind = ? AND key = ?", (kind, key)).fetchone()
            if row is None or (row["state"] == JobState.RUNNING and self._is_held(row)):
                return False
            self._db.execute(
                "UPDATE job SET state = 'pending', attempts = 0, retry_at = 0, error = '', done_revision = '', token = '' WHERE kind = ? AND key = ?",
                (kind, key),
            )
        return True

    def drop(self, kind: str, key: str) -> bool:
        """Let go of a job: it counts as done until its session changes."""
        with explained(self.path), changing(self._db):
            row = self._db.execute("SELECT * FROM job WHERE kind = ? AND key = ?", (kind, key)).fetchone()
            if row is None or (row["state"] == JobState.RUNNING and self._is_held(row)):
                return False
            self._db.execute(
                "UPDATE job SET state = 'done', done_revision = revision, error = '', token = '', attempts = 0 WHERE kind = ? AND key = ?",
                (kind, key),
            )
        return True

    def extracts(self, project: str) -> list[Kept]:
        """A project's extracts, in the order of their threads."""
        with explained(self.path):
            rows = self._db.execute("SELECT * FROM extract WHERE project = ? ORDER BY thread", (project,)).fetchall()
        return [_kept(row) for row in rows]

    def fingerprints(self, project: str) -> list[str]:
        """What tells whether a project's extracts are others than before, without reading them."""
        with explained(self.path):
            rows = self._db.execute(
                "SELECT thread, revision, uses FROM extract WHERE project = ? ORDER BY thread", (project,)
            ).fetchall()
            named = (
                self._db.execute("SELECT name, sum(times) FROM citation GROUP BY name ORDER BY name").fetchall()
                if rows
                else []
            )
        # How often something is used counts by its order of size, so that not every use makes a new handbook.
        return [
            *(f"{row[0]}={row[1]}:{row[2].bit_length()}" for row in rows),
            *(f"{row[0]}:{row[1].bit_length()}" for row in named),
        ]

    def threads(self, project: str) -> list[str]:
        """The threads that a project has extracts of."""
        with explained(self.path):
            return [row[0] for row in self._db.execute("SELECT thread FROM extract WHERE project = ?", (project,))]

    def revisions(self) -> dict[str, str]:
        """What was last learnt from each thread, also where that was nothing."""
        with explained(self.path):
            rows = self._db.execute(
                "SELECT key, done_revision FROM job WHERE kind = ? AND done_revision <> ''", (EXTRACT,)
            ).fetchall()
        return {row["key"]: row["done_revision"] for row in rows}

    def restore(self, project: str, kept: Iterable[Kept]) -> None:
        """Take extracts in that were found in files, where the queue does not know them."""
        with explained(self.path), changing(self._db):
            known = {row[0] for row in self._db.execute("SELECT thread FROM extract WHERE project = ?", (project,))}
            for each in kept:
                if each.written.thread.id not in known:
                    self._keep(each)

    def rewrite(self, thread: str, raw_memory: str, rollout_summary: str, candidates: str, slug: str | None) -> None:
        """Put other texts in the place of an extract's, as when a line of it was forgotten. Nothing of the old ones stays."""
        with explained(self.path):
            with changing(self._db):
                self._db.execute(
                    "UPDATE extract SET raw_memory = ?, rollout_summary = ?, candidates = ?, slug = ?, revision = revision || '.' WHERE thread = ?",
                    (raw_memory, rollout_summary, candidates, slug, thread),
                )
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def remove(self, threads: Sequence[str]) -> list[str]:
        """Let go of these threads; the projects that had one of them. Nothing of them stays in the file."""
        with explained(self.path):
            with changing(self._db):
                touched = []
                for thread in threads:
                    row = self._db.execute("SELECT project FROM extract WHERE thread = ?", (thread,)).fetchone()
                    if row is not None:
                        touched.append(row["project"])
                    self._db.execute("DELETE FROM extract WHERE thread = ?", (thread,))
                    self._db.execute("DELETE FROM job WHERE kind = ? AND key = ?", (EXTRACT, thread))
                    self._db.execute("DELETE FROM citation WHERE source = ? OR name = ?", (thread, thread))
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return sorted(set(touched))

    def used(self, counts: Mapping[str, int], at: datetime) -> None:
        """Count uses of extracts."""
        with explained(self.path), changing(self._db):
            self._db.executemany(
                "UPDATE extract SET uses = uses + ?, last_use = max(coalesce(last_use, 0), ?) WHERE thread = ?",
                [(times, _stamp(at), thread) for thread, times in counts.items()],
            )

    def cited(self, source: str, names: Mapping[str, int], at: datetime) -> None:
        """Note what a session named of memory. A session that is read again says so once."""
        with explained(self.path), changing(self._db):
            self._db.execute("DELETE FROM citation WHERE source = ?", (source,))
            self._db.executemany(
                "INSERT INTO citation(source, name, times, at) VALUES(?, ?, ?, ?)",
                [(source, name, times, _stamp(at)) for name, times in names.items()],
            )

    def citations(self) -> dict[str, tuple[int, datetime]]:
        """How often each thread or summary file was named, and when last."""
        with explained(self.path):
            rows = self._db.execute("SELECT name, sum(times), max(at) FROM citation GROUP BY name").fetchall()
        return {row[0]: (row[1], _moment(row[2])) for row in rows}

    def projects(self) -> list[str]:
        """Projects that have jobs or extracts."""
        with explained(self.path):
            rows = self._db.execute("SELECT project FROM extract UNION SELECT project FROM job ORDER BY 1").fetchall()
        return [row[0] for row in rows]

    def clear(self, project: str) -> int:
        """Let go of everything about one project; how many extracts it had. No other project is touched."""
        with explained(self.path):
            with changing(self._db):
                gone = self._db.execute("DELETE FROM extract WHERE project = ?", (project,)).rowcount
                self._db.execute("DELETE FROM job WHERE project = ?", (project,))
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return gone

    def close(self) -> None:
        """Close the file."""
        if "_db" in self.__dict__:
            self._db.close()
            del self.__dict__["_db"]

    def _now(self) -> int:
        return _stamp(self._clock())


def _stamp(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _moment(stamp: int) -> datetime:
    return datetime.fromtimestamp(stamp / 1000, UTC)


def _shown(stamp: int | None) -> str:
    return _moment(stamp).isoformat(timespec="seconds") if stamp else ""


def _kept(row: sqlite3.Row) -> Kept:
    thread = Thread(
        id=row["thread"],
        agent=row["agent"],
        project=row["project"],
        cwd=row["cwd"],
        path=row["path"],
        updated=_moment(row["updated"]),
        branch=row["branch"],
    )
    written = Written(
        thread=thread,
        raw_memory=row["raw_memory"],
        rollout_summary=row["rollout_summary"],
        slug=row["slug"],
        uses=row["uses"],
        last_use=_moment(row["last_use"]) if row["last_use"] else None,
    )
    return Kept(
        written=written,
        revision=row["revision"],
        made=_moment(row["made"]),
        selected=row["selected"],
        archived=bool(row["archived"]),
        candidates=row["candidates"],
    )
