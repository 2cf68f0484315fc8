"""The queue: claims, leases, fences, pauses and dead letters, whatever the clock does."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from byheart.domain.handbook import Thread, Written
from byheart.domain.learning import EXTRACT, DueSession, Job, JobClaim, JobState, Kept
from byheart.storage.queue.sqlite import SqliteQueue
from byheart.testing import Clock

NOW = datetime(2026, 5, 1, tzinfo=UTC)


class Ticks:
    """Seconds since the machine was started, as the test says."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def thread(name: str = "t1", project: str = "bakery-1") -> Thread:
    return Thread(id=name, agent="codex", project=project, cwd="/srv", path="/x.jsonl", updated=NOW)


def kept(name: str = "t1", revision: str = "r1", project: str = "bakery-1") -> Kept:
    written = Written(thread=thread(name, project), raw_memory="raw", rollout_summary="sum", slug="s")
    return Kept(written=written, revision=revision, made=NOW, selected="")


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def queue(tmp_path: Path, ticks: Ticks) -> SqliteQueue:
    return SqliteQueue(str(tmp_path / "state" / "state.db"), Clock(), ticks)


def another(queue: SqliteQueue, ticks: Ticks) -> SqliteQueue:
    """The same queue as another process sees it."""
    return SqliteQueue(queue.path, Clock(), ticks)


def claimed(queue: SqliteQueue, name: str = "t1", retries: int = 3) -> Job:
    how, job = queue.claim(EXTRACT, name, 60, retries)
    assert how is JobClaim.CLAIMED and job is not None
    return job


def test_a_job_is_claimed_by_one(queue: SqliteQueue, ticks: Ticks) -> None:
    queue.enqueue([DueSession(thread=thread(), revision="r1")])
    with queue.working():
        claimed(queue)
        other = another(queue, ticks)
        with other.working():
            assert other.claim(EXTRACT, "t1", 60, 3) == (JobClaim.RUNNING, None)


def test_a_live_lease_is_not_taken_over_and_a_dead_workers_is(queue: SqliteQueue, ticks: Ticks) -> None:
    queue.enqueue([DueSession(thread=thread(), revision="r1")])
    other = another(queue, ticks)
    with other.working():
        with queue.working():
            claimed(queue)
            ticks.now += 59
            assert other.claim(EXTRACT, "t1", 60, 3)[0] is JobClaim.RUNNING
        # It has left without finishing.
        assert other.claim(EXTRACT, "t1", 60, 3)[0] is JobClaim.CLAIMED


def test_worker_that_hangs_loses_its_lease_and_cannot_publish(queue: SqliteQueue, ticks: Ticks) -> None:
    queue.enqueue([DueSession(thread=thread(), revision="r1")])
    other = another(queue, ticks)
    with queue.working(), other.working():
        late = claimed(queue)
        ticks.now += 61
        job = claimed(other)
        assert not queue.holds(late)
        assert not queue.beat(late, 60)
        assert not queue.learnt(late, kept())
        assert queue.extracts("bakery-1") == []
        assert other.learnt(job, kept())
        assert not queue.failed(late, "too late", 1, 3, is_transient=True)
        assert [each.written.thread.id for each in queue.extracts("bakery-1")] == ["t1"]


def test_heartbeat_keeps_a_lease(queue: SqliteQueue, ticks: Ticks) -> None:
    queue.enqueue([DueSession(thread=thread(), revision="r1")])
    other = another(queue, ticks)
    with queue.working(), other.working():
        job = claimed(queue)
        for _ in range(5):
            ticks.now += 50
            assert queue.beat(job, 60)
        assert other.claim(EXTRACT, "t1", 60, 3)[0] is JobClaim.RUNNING


def test_attempts_are_counted_at_the_claim_so_that_who_dies_uses_one_up(queue: SqliteQueue, ticks: Ticks) -> None:
    queue.enqueue([DueSession(thread=thread(), revision="r1")])
    for _ in range(3):
        with queue.working():
            claimed(queue)
    with queue.working():
        assert queue.claim(EXTRACT, "t1", 60, 3)[0] is JobClaim.DEAD
    assert queue.jobs()[0].state is JobState.DEAD
    assert queue.jobs()[0].error == "its worker died"


def test_transient_failures_wait_longer_each_time_and_then_are_dead(queue: SqliteQueue, ticks: Ticks) -> None:
    queue.enqueue([DueSession(thread=thread(), revision="r1")])
    with queue.working():
        for pause in (10, 20):
            queue.failed(claimed(queue), "no network", pause, 3, is_transient=True)
            assert queue.claim(EXTRACT, "t1", 60, 3)[0] is JobClaim.WAITING
            assert queue.jobs()[0].waits_seconds == pause
            ticks.now += pause + 1
        queue.failed(claimed(queue), "no network", 40, 3, is_transient=True)
        assert queue.claim(EXTRACT, "t1", 60, 3)[0] is JobClaim.DEAD


def test_permanent_failure_is_dead_at_once_and_can_be_retried_or_dropped(queue: SqliteQueue, ticks: Ticks) -> None:
    queue.enqueue([DueSession(thread=thread(), revision="r1"), DueSession(thread=thread("t2"), revision="r1")])
    with queue.working():
        for name in ("t1", "t2"):
            queue.failed(claimed(queue, name), "cannot be read", 10, 3, is_transient=False)
        assert {job.state for job in queue.jobs()} == {JobState.DEAD}
        assert queue.retry(EXTRACT, "t1")
        assert queue.claim(EXTRACT, "t1", 60, 3)[0] is JobClaim.CLAIMED
        assert queue.drop(EXTRACT, "t2")
        assert queue.claim(EXTRACT, "t2", 60, 3)[0] is JobClaim.UP_TO_DATE
        assert not queue.retry(EXTRACT, "nobody")


def test_what_is_being_worked_on_is_neither_retried_nor_dropped(queue: SqliteQueue, ticks: Ticks) -> None:
    queue.enqueue([DueSession(thread=thread(), revision="r1")])
    with queue.working():
        claimed(queue)
        assert not queue.retry(EXTRACT, "t1")
        assert not queue.drop(EXTRACT, "t1")


def test_new_revision_gives_attempts_back(queue: SqliteQueue, ticks: Ticks) -> None:
    queue.enqueue([DueSession(thread=thread(), revision="r1")])
    with queue.working():
        queue.failed(claimed(queue), "cannot be read", 10, 3, is_transient=False)
        queue.enqueue([DueSession(thread=thread(), revision="r1")])
        assert queue.claim(EXTRACT, "t1", 60, 3)[0] is JobClaim.DEAD
        queue.enqueue([DueSession(thread=thread(), revision="r2")])
        assert claimed(queue).attempt == 1


def test_what_changed_while_it_was_worked_on_is_done_again(queue: SqliteQueue, ticks: Ticks) -> None:
    queue.enqueue([DueSession(thread=thread(), revision="r1")])
    with queue.working():
        job = claimed(queue)
        queue.enqueue([DueSession(thread=thread(), revision="r2")])
        assert queue.learnt(job, kept())
        assert queue.jobs()[0].state is JobState.PENDING
        assert claimed(queue).revision == "r2"


def test_finished_work_is_not_claimed_again(queue: SqliteQueue, ticks: Ticks) -> None:
    queue.enqueue([DueSession(thread=thread(), revision="r1")])
    with queue.working():
        assert queue.learnt(claimed(queue), None)
        assert queue.claim(EXTRACT, "t1", 60, 3)[0] is JobClaim.UP_TO_DATE
    assert queue.revisions() == {"t1": "r1"}


def test_empty_result_takes_the_old_extract_away(queue: SqliteQueue, ticks: Ticks) -> None:
    queue.enqueue([DueSession(thread=thread(), revision="r1")])
    with queue.working():
        queue.learnt(claimed(queue), kept())
        queue.enqueue([DueSession(thread=thread(), revision="r2")])
        queue.learnt(claimed(queue), None)
    assert queue.extracts("bakery-1") == []


@pytest.mark.parametrize("jump", [timedelta(days=400), timedelta(days=-400)])
def test_wall_clock_that_jumps_harms_nothing(tmp_path: Path, jump: timedelta) -> None:
    clock = Clock()
    queue = SqliteQueue(str(tmp_path / "state.db"), clock)
    other = SqliteQueue(queue.path, clock)
    queue.enqueue([DueSession(thread=thread(), revision="r1"), DueSession(thread=thread("t2"), revision="r1")])
    with queue.working(), other.working():
        job = claimed(queue)
        queue.failed(claimed(queue, "t2"), "no network", 0.0, 3, is_transient=True)
        clock.now += jump
        assert other.claim(EXTRACT, "t1", 60, 3)[0] is JobClaim.RUNNING
        assert other.claim(EXTRACT, "t2", 60, 3)[0] is JobClaim.CLAIMED
        assert queue.holds(job)
        assert queue.learnt(job, kept())


def test_lease_of_before_a_restart_is_none(queue: SqliteQueue, ticks: Ticks) -> None:
    queue.enqueue([DueSession(thread=thread(), revision="r1")])
    with queue.working():
        claimed(queue)
        with sqlite3.connect(queue.path) as db:
            db.execute("UPDATE job SET era = 'another start'")
        assert queue.claim(EXTRACT, "t1", 60, 3)[0] is JobClaim.CLAIMED
        # Where the start cannot be told: time began anew, so this seems to last for ages.
        with sqlite3.connect(queue.path) as db:
            db.execute("UPDATE job SET lease_until = 1e12")
        assert queue.claim(EXTRACT, "t1", 60, 3)[0] is JobClaim.CLAIMED


def test_worker_in_another_process_counts_as_alive_until_it_is_killed(queue: SqliteQueue, ticks: Ticks) -> None:
    script = (
        "import sys,time\n"
        "from datetime import UTC,datetime\n"
        "from byheart.storage.queue.sqlite import SqliteQueue\n"
        "q=SqliteQueue(sys.argv[1], lambda: datetime.now(UTC), lambda: 1000.0)\n"
        "with q.working():\n"
        "    print(q.claim('extract','t1',600,3)[0].value, flush=True)\n"
        "    time.sleep(60)\n"
    )
    queue.enqueue([DueSession(thread=thread(), revision="r1")])
    child = subprocess.Popen([sys.executable, "-c", script, queue.path], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "claimed"
    with queue.working():
        assert queue.claim(EXTRACT, "t1", 60, 3)[0] is JobClaim.RUNNING
        child.kill()
        child.wait()
        child.stdout.close()
        assert queue.claim(EXTRACT, "t1", 60, 3)[0] is JobClaim.CLAIMED


def test_interrupted_work_is_given_back_without_counting(queue: SqliteQueue, ticks: Ticks) -> None:
    queue.enqueue([DueSession(thread=thread(), revision="r1")])
    with queue.working():
        for _ in range(10):
            queue.release(claimed(queue))
        assert claimed(queue).attempt == 1


def test_clear_touches_one_project_only(queue: SqliteQueue, ticks: Ticks) -> None:
    queue.enqueue(
        [DueSession(thread=thread(), revision="r1"), DueSession(thread=thread("t2", "garage-2"), revision="r1")]
    )
    with queue.working():
        queue.learnt(claimed(queue), kept())
        queue.learnt(claimed(queue, "t2"), kept("t2", project="garage-2"))
    assert queue.clear("bakery-1") == 1
    assert queue.extracts("bakery-1") == []
    assert [job.key for job in queue.jobs()] == ["t2"]
    assert len(queue.extracts("garage-2")) == 1


def test_files_are_the_owners_alone(queue: SqliteQueue, ticks: Ticks) -> None:
    queue.enqueue([DueSession(thread=thread(), revision="r1")])
    with queue.working():
        claimed(queue)
        for path in Path(queue.path).parent.rglob("*"):
            if path.is_file():
                assert path.stat().st_mode & 0o077 == 0, path
    assert os.listdir(Path(queue.path).parent / "workers") == []
