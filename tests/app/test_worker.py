"""What hooks start: one worker, that learns from sessions that ended and makes briefs ready."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from byheart.app import worker
from byheart.app.open import Surroundings
from byheart.storage import background, cards
from tests.brief.kit import hook
from tests.learning.world import World, fixed


def around(home: World) -> Surroundings:
    return Surroundings(
        folder=home.bench.project, environment=home.bench.environment, flags=home.bench.flags, clock=home.bench.clock
    )


def note(home: World, session: str, event: str = "session-end") -> None:
    cards.note(
        home.bench.home, {"event": event, "client": "claude-code", "session": session, "cwd": home.bench.project}
    )


def recent(home: World) -> str:
    """A session that was written to two minutes ago."""
    at = home.bench.clock.now - timedelta(minutes=5)
    return home.session(
        ("user", "Mend it. Always use zirconium here, never npm."), *fixed(), began=f"{at:%Y-%m-%dT%H:%M:%S}"
    )


def test_session_that_its_agent_ended_is_learnt_at_once(tmp_path: Path) -> None:
    home = World(tmp_path, "learning.enabled=true")
    session = recent(home)
    assert worker.work(around(home)).learnt == [], "it may go on: it was not quiet for long"
    note(home, session)
    done = worker.work(around(home))
    assert done.learnt == [session] and done.noted == 1
    assert "zirconium" in home.text("memory_summary.md")
    assert not cards.has_notes(home.bench.home)


def test_pause_is_no_end(tmp_path: Path) -> None:
    home = World(tmp_path, "learning.enabled=true")
    session = recent(home)
    note(home, session, "stop")
    assert worker.work(around(home)).learnt == []
    note(home, session, "pre-compact")
    assert worker.work(around(home)).learnt == [session]


def test_worker_learns_nothing_where_nobody_wants_it(tmp_path: Path) -> None:
    home = World(tmp_path)
    note(home, recent(home))
    done = worker.work(around(home))
    assert done.learnt == [] and "learning is off" in done.problems[0]


def test_one_worker_at_a_time(tmp_path: Path) -> None:
    home = World(tmp_path, "learning.enabled=true")
    note(home, recent(home))
    with background.held(f"{home.bench.home}/state/worker.lock") as ours:
        assert ours
        assert worker.work(around(home)).was_busy
    assert worker.work(around(home)).learnt


def test_what_was_briefed_counts_as_used_once(tmp_path: Path) -> None:
    home = World(tmp_path, "learning.enabled=true", "learning.min_idle_hours=0")
    session = recent(home)
    worker.work(around(home))
    line = ["What the user asked for", "use zirconium", "memory://root#7", 9, f"said by the user ({session[:8]}#1)"]
    sent = {"session": "s", "client": "codex", "at": "2026-05-25T12:00:00Z", "told": [line]}
    cards.keep_sent(home.bench.home, "codex", "s", sent)
    for _ in range(2):
        worker.work(around(home))
    uses = [kept.written.uses for kept in home.door()._queue.extracts(home.door().handbook().project)]
    assert uses == [1]


def test_end_of_a_session_starts_a_worker_that_learns(tmp_path: Path) -> None:
    home = World(tmp_path, now=datetime.now(UTC))
    Path(home.bench.home).mkdir(parents=True, exist_ok=True)
    Path(home.bench.home, "config.toml").write_text('[learning]\nenabled = true\n[recall]\nembedder = "none"\n')
    session = recent(home)
    code, out, err = hook(home.bench, "session-end", session_id=session, cwd=home.bench.project)
    assert (code, out, err) == (0, "", "")
    deadline = time.monotonic() + 60
    handbook = Path(home.bench.home).glob("projects/*/handbook/memory_summary.md")
    while not any("zirconium" in path.read_text() for path in Path(home.bench.home).glob("projects/*/handbook/memory_summary.md")):  # fmt: skip
        assert time.monotonic() < deadline, list(handbook)
        time.sleep(0.2)


def test_start_of_a_session_starts_a_worker_now_and_then(tmp_path: Path) -> None:
    home = World(tmp_path, now=datetime.now(UTC))
    Path(home.bench.home).mkdir(parents=True, exist_ok=True)
    Path(home.bench.home, "config.toml").write_text('[learning]\nenabled = true\n[recall]\nembedder = "none"\n')
    lock = Path(home.bench.home, "state", "worker.lock")
    hook(home.bench, "session-start")
    deadline = time.monotonic() + 60
    while not lock.exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    is_over = False
    while not is_over:
        assert time.monotonic() < deadline
        time.sleep(0.1)
        with background.held(str(lock)) as is_over:
            pass
    before = lock.stat().st_mtime_ns
    hook(home.bench, "session-start")
    time.sleep(1.0)
    assert lock.stat().st_mtime_ns == before, "it has only just run"


def test_workers_started_at_once_learn_once(tmp_path: Path) -> None:
    home = World(tmp_path, now=datetime.now(UTC))
    Path(home.bench.home).mkdir(parents=True, exist_ok=True)
    Path(home.bench.home, "config.toml").write_text('[learning]\nenabled = true\n[recall]\nembedder = "none"\n')
    session = recent(home)
    note(home, session)
    environment = {**os.environ, **home.bench.environment}
    running = [
        subprocess.Popen([sys.executable, "-m", "byheart", "work", "--json"], env=environment, cwd=home.bench.project, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]  # fmt: skip
    told = [json.loads(each.communicate(timeout=90)[0]) for each in running]
    assert sum(session in each["learnt"] for each in told) == 1


def summaries(home: World) -> list[str]:
    records = home.bench.memory.journal().read_all()
    return [each.text for each in records if each.origin and each.origin.category == "turn-summary"]


def test_journal_that_is_kept_gets_a_summary_of_each_session_once(tmp_path: Path) -> None:
    home = World(tmp_path, "learning.enabled=true")
    home.bench.memory.journal().append({"text": "Hello"})
    session = recent(home)
    note(home, session)
    worker.work(around(home))
    (told,) = summaries(home)
    assert told.startswith("Asked: Mend it")
    (record,) = home.bench.memory.journal().retrieve_for_session(session)
    assert record.text == told
    note(home, session)
    worker.work(around(home))
    assert summaries(home) == [told]


def test_no_journal_is_begun_by_sessions(tmp_path: Path) -> None:
    home = World(tmp_path, "learning.enabled=true")
    note(home, recent(home))
    worker.work(around(home))
    assert home.bench.memory.journal().read_all() == []


def test_session_that_is_about_to_be_compacted_gets_a_checkpoint_and_due_upkeep_is_done(tmp_path: Path) -> None:
    home = World(
        tmp_path,
        "learning.enabled=true",
        "journal.memory_compaction_enabled=true",
        "journal.memory_compaction_threshold_records=10",
        "journal.memory_compaction_min_age_days=1",
    )
    config = Path(home.bench.home, "config.toml")
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        "[journal]\nmemory_compaction_enabled = true\nmemory_compaction_threshold_records = 10\nmemory_compaction_min_age_days = 1\n"
    )
    store = home.bench.memory.journal()
    old = (home.bench.clock.now - timedelta(days=9)).isoformat()
    for number in range(30):
        store.append({"category": "turn-summary", "text": f"Turn {number} was about the oven", "provenance": {"timestamp": old}})  # fmt: skip
    session = recent(home)
    note(home, session, "pre-compact")
    assert worker.work(around(home)).problems == []
    records = home.bench.memory.journal().read_all()
    assert len(records) < 20, "the old ones are one summary now"
    assert any(each.origin and each.origin.session == session for each in records)
