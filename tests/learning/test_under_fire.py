"""Learning by several at once, and by one that is killed: every session once, and always a sound handbook."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from byheart.learning.learning import Wanted
from tests.learning.world import World, fixed

ROOT = Path(__file__).resolve().parents[2]


def peopled(folder: Path, sessions: int) -> World:
    world = World(folder)
    for number in range(1, sessions + 1):
        world.session(
            ("user", f"Mend part {number} of the oven. Always use tool{number} for part {number}, never npm."),
            *fixed(
                f"Error: part{'abcdefghijklmnopqrstuvwxyz'[number % 26]} broken",
                f"src/{'abc'[number % 3]}/part{number}.py",
            ),
            began=f"2026-05-{number % 27 + 1:02}T10:00:00",
        )
    return world


def started(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.learning.learner", str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
    )


def whole(world: World, sessions: int) -> None:
    """Everything is there, once, and sound."""
    assert world.findings() == []
    text = world.text("MEMORY.md")
    for number in range(1, sessions + 1):
        assert f"Always use tool{number} for part {number}, never npm" in text
    assert len(list((world.folder / "rollout_summaries").iterdir())) == sessions


def test_learners_started_at_once_do_the_work_once(tmp_path: Path) -> None:
    sessions = 24
    world = peopled(tmp_path, sessions)
    world.door()
    crowd = [started(tmp_path) for _ in range(3)]
    told = [(child.communicate(timeout=120), child.returncode) for child in crowd]
    for (out, err), code in told:
        assert code == 0, err
        assert out
    learnt = sum(int(out.split()[0]) for (out, _), _ in told)
    assert learnt == sessions
    world.learn()
    whole(world, sessions)
    with sqlite3.connect(Path(world.bench.home) / "state" / "state.db") as db:
        states = db.execute("SELECT DISTINCT state FROM job").fetchall()
    assert states == [("done",)], (
        sqlite3.connect(Path(world.bench.home) / "state" / "state.db")
        .execute("SELECT * FROM job WHERE state != 'done'")
        .fetchall()
    )


@pytest.mark.timeout(280)
def test_killed_at_any_moment_it_ends_in_a_sound_handbook_and_no_session_is_lost(tmp_path: Path) -> None:
    """Fails where a half-written handbook counts, a dead worker's lease holds, or an attempt is lost to a kill."""
    dice = random.Random(7)
    sessions = 12
    world = peopled(tmp_path, sessions)
    alone = started(tmp_path / "none")
    alone.communicate()
    began = time.monotonic()
    first = started(tmp_path)
    first.communicate(timeout=60)
    usual = time.monotonic() - began
    for turn in range(50):
        number = turn % sessions + 1
        # Each round one session goes on, so that there is work to do.
        world.session(
            ("user", f"Mend part {number} of the oven. Always use tool{number} for part {number}, never npm."),
            *fixed(
                f"Error: part{'abcdefghijklmnopqrstuvwxyz'[number % 26]} broken",
                f"src/{'abc'[number % 3]}/part{number}.py",
            ),
            ("say", f"This is round {turn}, because `oven.py` was touched {turn} times."),
            began=f"2026-05-{number % 27 + 1:02}T10:00:00",
            number=number,
        )
        child = started(tmp_path)
        time.sleep(dice.uniform(0.2, 1.0) * usual)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        if turn % 10 == 9:
            assert world.findings() == []
    report = world.door().learn(Wanted())
    assert report.failed == []
    assert [each.refused for each in report.projects if each.refused] == []
    whole(world, sessions)
    dead = [job for job in world.door().jobs() if job.state != "done"]
    assert dead == []
    left = [path for path in Path(world.bench.home).rglob("*") if path.name.endswith(".tmp")]
    assert left == []


def test_several_processes_learn_together_and_everything_is_counted_once(tmp_path: Path) -> None:
    sessions = 70
    world = peopled(tmp_path, sessions)
    environment = {**os.environ, **world.bench.environment, "PYTHONPATH": str(ROOT / "src"), "BYHEART_CHILD": "1"}
    command = [sys.executable, "-m", "byheart", "--set", "learning.workers=3", "learn", "--json"]
    done = subprocess.run(
        command, cwd=world.bench.project, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert len(set(report["learnt"])) == len(report["learnt"]) == sessions
    assert report["skipped"] == {}
    whole(world, sessions)
