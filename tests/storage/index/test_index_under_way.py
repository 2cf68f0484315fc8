"""The index while it is written: by many at once, by one that is killed, a line at a time. It is what a new one would be."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from byheart.app.open import Surroundings
from byheart.app.sessions import open_sessions
from byheart.domain.records import Request, Scope
from byheart.domain.sessions import Which
from byheart.testing import Bench
from tests.storage.index.index_crowd import word

CROWD = Path(__file__).with_name("index_crowd.py")


def database(bench: Bench) -> Path:
    return Path(bench.home) / "state" / "index.db"


def contents(bench: Bench) -> list[tuple[object, ...]]:
    """All records of the index, whatever rows they have."""
    with sqlite3.connect(database(bench)) as db:
        rows = db.execute(
            "SELECT p.path, r.handle, r.line, r.text, r.before, r.meta, r.body FROM record r JOIN page p ON p.n = r.page"
        ).fetchall()
        for table in ("record_words", "turn_words", "fix_words"):
            db.execute(f"INSERT INTO {table}({table}) VALUES('integrity-check')")
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        words = db.execute("SELECT count(*) FROM record_words").fetchone()[0]
        assert words == len(rows)
    return sorted(rows)


def anew(bench: Bench) -> list[tuple[object, ...]]:
    """What an index holds that is made from the files as they are."""
    for path in database(bench).parent.glob("index.db*"):
        path.unlink()
    bench.memory.recall("anything")
    return contents(bench)


@pytest.mark.parametrize("seed", range(6))
def test_an_index_that_grew_is_what_a_new_one_would_be(tmp_path: Path, seed: int) -> None:
    """Fails where the part that is known is taken for unchanged without a look, or lines are counted from the wrong place."""
    bench = Bench(str(tmp_path), flags=("recall.embedder=none", "journal.memory_max_records=40"))
    memory, dice = bench.memory, random.Random(seed)
    memory.journal().append({"text": "the first of all"})
    path = Path(bench.path("journal"))
    memory.recall("anything")
    for turn in range(60):
        match dice.randrange(13):
            case 12:
                # A word in the middle for one as long, and a line more: the part that is known has its old length.
                text = path.read_text(encoding="utf-8").replace("we saw", "we met", 1)
                path.write_text(
                    f'{text}- {{"id": "more{turn}", "text": "one more of turn {turn}"}}\n', encoding="utf-8"
                )
            case 0:
                # An editor that changes a line in the middle, and adds one.
                lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
                lines[dice.randrange(len(lines))] = f'- {{"id": "edit{turn}", "text": "edited in turn {turn}"}}\n'
                path.write_text("".join([*lines, "a person's own note\n"]), encoding="utf-8")
            case 1:
                with path.open("a", encoding="utf-8") as stream:
                    stream.write('- {"id": "half", "text": "a line without')
            case 2:
                with path.open("a", encoding="utf-8") as stream:
                    stream.write(
                        f'- {{"text": "twice the same"}}\n- {{"id": "x{turn}", "text": "über\u00fc \\u00e9"}}\n'
                    )
            case 3:
                lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
                path.write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
            case 4:
                memory.journal().append({"text": f"not to be told {turn}", "provenance": {"sensitivity": "secret"}})
            case _:
                memory.journal().append({"text": f"we saw number {turn}", "sessionId": f"s{dice.randrange(3)}"})
        if dice.random() < 0.6:
            memory.recall(f"number {turn}")
    memory.recall("anything")
    grown = contents(bench)
    assert grown == anew(bench)
    assert not any("not to be told" in str(row) for row in grown)


def test_a_label_that_comes_later_takes_the_archived_copy_out(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=("recall.embedder=none", "journal.memory_max_records=2"))
    memory = bench.memory
    for number in range(5):
        memory.journal().append({"id": f"r{number}", "text": f"the lamp number {number} is green"})
    assert memory.recall("lamp number 0").hits
    memory.journal().append({"id": "r0", "text": "the lamp number 0 is green", "provenance": {"sensitivity": "secret"}})
    memory.recall("lamp")
    grown = contents(bench)
    assert grown == anew(bench)


@pytest.mark.parametrize("deleted", [False, True])
def test_many_processes_write_and_search_at_once(tmp_path: Path, deleted: bool) -> None:
    """Fails where a notebook is read before the lock on the index is had, and where a file that is locked through SQLite is
    opened and closed beside it. With `deleted` somebody keeps deleting index.db meanwhile."""
    bench = Bench(str(tmp_path), flags=("recall.embedder=sha1",))
    turns = 12
    crowd = [
        subprocess.Popen(
            [sys.executable, str(CROWD), str(tmp_path), str(number), str(turns)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(1, 9)
    ]
    while deleted and any(process.poll() is None for process in crowd):
        database(bench).unlink(missing_ok=True)
        time.sleep(0.1)
    for number, process in enumerate(crowd, 1):
        out, _ = process.communicate(timeout=250)
        assert process.returncode == 0, out
        assert out.splitlines() == [f"wrote {word(number, turn)}" for turn in range(turns)], out
    memory = bench.memory
    for number in range(1, 9):
        for turn in (0, 4, turns - 1):
            own = word(number, turn)
            assert any(own in hit.record.text for hit in memory.recall(own).hits)
    assert contents(bench) == anew(bench)


def test_killed_at_any_moment_it_is_whole(tmp_path: Path) -> None:
    """Fifty rounds: a process writes, searches, and is killed; the index is sound, and everything that was said is found."""
    bench = Bench(str(tmp_path), flags=("recall.embedder=sha1",))
    around = Surroundings(folder=bench.project, environment=bench.environment, flags=bench.flags)
    dice = random.Random(5)
    told = 0
    for turn in range(50):
        with (tmp_path / "out").open("w", encoding="utf-8") as stream:
            process = subprocess.Popen(
                [sys.executable, str(CROWD), str(tmp_path), str(100 + turn), "1000"],
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        # From the first word on, so that it is killed at work and not while it starts.
        while not (tmp_path / "out").stat().st_size and process.poll() is None:
            time.sleep(0.005)
        time.sleep(dice.random() * 0.06)
        process.send_signal(signal.SIGKILL)
        process.wait()
        out = (tmp_path / "out").read_text(encoding="utf-8").splitlines()
        # The last line may be cut.
        wrote = [line.split()[1] for line in out[:-1] if line.startswith("wrote ")]
        assert not [line for line in out if not line.startswith("wrote ")], out
        told += len(out)
        if turn % 10 == 9:
            opened = bench.opened()
            every = open_sessions(opened, around)
            every.refresh()
            for own in wrote[-3:]:
                assert any(own in hit.record.text for hit in opened.memory.recall(own).hits)
                assert every.search(own, Which(), 3)
            contents(bench)
    bench.memory.recall("anything")
    assert told >= 50
    assert contents(bench) == anew(bench)


def test_deleting_the_index_loses_nothing(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=("recall.embedder=sha1",))
    memory = bench.memory
    memory.journal().append({"text": "the harbour master is called Ines"})
    memory.remember(Request(text="never deploy on fridays because nobody is there", scope=Scope.GLOBAL))
    assert memory.recall("harbour master").hits
    for endings in (("",), ("", "-wal", "-shm"), ("",), ("-shm", "-wal", "")):
        for ending in endings:
            Path(f"{database(bench)}{ending}").unlink(missing_ok=True)
        # A process that had it open, and a new one, in either order.
        for each in (memory, bench.memory, memory):
            assert [hit.record.text for hit in each.recall("harbour master").hits]
            assert [hit.record.text for hit in each.recall("deploy fridays").hits]
        assert contents(bench) == anew(bench)
    assert os.stat(database(bench)).st_mode & 0o77 == 0
