"""Bringing the index up to date: only what changed is read, what is gone goes, and growing comes to the same as reading
whole."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from byheart.agents.agent import reading
from byheart.domain.errors import Unreadable, Unwritable
from byheart.domain.sessions import Caps, Event, Found, SessionSource, Which
from byheart.sessions.refresh import SessionTools, refresh
from byheart.storage.index.schema import VERSION
from byheart.storage.index.sqlite import SqliteIndex
from byheart.storage.scanners.scanner import RuleScanner
from byheart.text.questions import question
from tests.agents.excerpts import claude, codex
from tests.agents.homes import NAMES, all_sources, every_transcript, home, taken

TABLES = ("session", "turn", "command", "touch", "error", "fix", "remark")


def tools(place: Path, index: Path, sources: list[SessionSource] | None = None) -> SessionTools:
    return SessionTools(
        sources=all_sources(place) if sources is None else sources,
        index=SqliteIndex(str(index)),
        scanner=RuleScanner(),
        project_of=lambda cwd, remote: cwd or remote,
    )


def dump(index: Path) -> dict[str, list[str]]:
    """All that the index says, without the numbers that depend on the order in which it was told."""
    with sqlite3.connect(index) as connection:
        connection.row_factory = sqlite3.Row
        names = dict(connection.execute("SELECT n, agent || ':' || id FROM session").fetchall())
        numbers = {row[0]: row[1] for row in connection.execute("SELECT n, number FROM turn")}
        found: dict[str, list[str]] = {}
        for table in TABLES:
            rows = []
            for row in connection.execute(f"SELECT * FROM {table}"):
                values = {key: row[key] for key in row.keys() if key != "n"}  # noqa: SIM118 - a row is no mapping
                if "session" in values:
                    values["session"] = names[values["session"]]
                if table != "turn" and "turn" in values:
                    values["turn"] = numbers[values["turn"]]
                rows.append(json.dumps(values, sort_keys=True))
            found[table] = sorted(rows)
        hits = connection.execute("SELECT rowid FROM turn_words WHERE turn_words MATCH 'the OR a OR bread'").fetchall()
        found["words"] = [f"{len(hits)} hits"]
        connection.execute("INSERT INTO turn_words(turn_words) VALUES('integrity-check')")
        connection.execute("INSERT INTO fix_words(fix_words) VALUES('integrity-check')")
    connection.close()
    return found


@pytest.mark.parametrize("name", NAMES)
def test_going_on_comes_to_the_same_as_reading_whole(name: str, tmp_path: Path) -> None:
    for source, found in every_transcript(home(name, tmp_path)):
        if not found.path.endswith(".jsonl") or found.part:
            continue
        content = Path(found.path).read_bytes()
        whole = taken(source.read(found, None))
        cuts = [at + 1 for at, byte in enumerate(content) if byte == 10]
        for cut in sorted({*cuts, *(max(1, each - 30) for each in cuts)}):
            Path(found.path).write_bytes(content[:cut])
            first = source.read(found, None)
            sessions = taken(first)
            Path(found.path).write_bytes(content)
            second = source.read(found, first.mark)
            assert second.fresh == (first.mark is None)
            assert taken(second, {} if second.fresh else sessions) == whole, f"cut at {cut}"
            lines = (
                second.tally.lines
                if second.fresh
                else first.tally.lines + second.tally.lines - first.tally.skipped["half a last line"]
            )
            assert lines == source_lines(source, found)


def source_lines(source: SessionSource, found: Found) -> int:
    passed = source.read(found, None)
    taken(passed)
    return passed.tally.lines


@pytest.mark.parametrize("name", NAMES)
def test_an_index_that_grew_says_the_same_as_one_built_at_once(name: str, tmp_path: Path) -> None:
    place = home(name, tmp_path)
    refresh(tools(place, tmp_path / "whole.db"))
    transcripts = [found for _, found in every_transcript(place) if found.path.endswith(".jsonl")]
    full = {found.path: Path(found.path).read_bytes() for found in transcripts}
    for part in (0.3, 0.6, 1.0):
        for path, content in full.items():
            Path(path).write_bytes(content[: int(len(content) * part)])
        refresh(tools(place, tmp_path / "grown.db"))
    assert dump(tmp_path / "grown.db") == dump(tmp_path / "whole.db")


def test_what_did_not_change_is_not_read_and_what_grew_is_read_from_there(tmp_path: Path) -> None:
    path = codex(tmp_path, "aaaa2222-0000-4000-8000-000000000001", [("user", "Hello."), ("ls", "a", 0)])
    index = tmp_path / "index.db"
    first = refresh(tools(tmp_path, index))
    assert (first.read, first.grown, first.sessions) == (1, 0, 1)
    assert refresh(tools(tmp_path, index)).read == 0
    before = path.stat().st_size
    with path.open("a") as stream:
        stream.write(path.read_text().splitlines()[1].replace("Hello.", "More.") + "\n")
    grown = refresh(tools(tmp_path, index))
    assert (grown.read, grown.grown, grown.turns) == (1, 1, 1)
    assert grown.bytes == path.stat().st_size - before


@pytest.mark.parametrize("how", ["same size", "shorter", "longer"])
def test_a_rewritten_file_is_noticed(how: str, tmp_path: Path) -> None:
    path = claude(
        tmp_path, "aaaa1111-0000-4000-8000-000000000001", [("user", "The password is on the door."), ("say", "Seen.")]
    )
    index = tmp_path / "index.db"
    refresh(tools(tmp_path, index))
    old = path.read_text()
    new = old.replace(
        "The password is on the door.",
        {"same size": "The doorbell is on the pass.", "shorter": "No.", "longer": "Nobody knows. " * 6}[how],
    )
    if how == "longer":
        new += old.splitlines()[-1].replace("Seen.", "And more.") + "\n"
    path.write_text(new)
    os.utime(path, ns=(1, 1))
    done = refresh(tools(tmp_path, index))
    assert (done.read, done.grown) == (1, 0)
    assert b"password is on" not in index.read_bytes() + wal(index)


def wal(index: Path) -> bytes:
    side = index.with_name(index.name + "-wal")
    return side.read_bytes() if side.exists() else b""


def test_what_is_gone_goes(tmp_path: Path) -> None:
    claude(tmp_path, "aaaa1111-0000-4000-8000-000000000001", [("user", "Stay."), ("make", "ok", 0)])
    gone = claude(
        tmp_path,
        "aaaa1111-0000-4000-8000-000000000002",
        [("user", "Leave."), ("make", "error: no", 1), ("edit", "a.py"), ("make", "ok", 0)],
    )
    index = tmp_path / "index.db"
    refresh(tools(tmp_path, index))
    gone.unlink()
    assert refresh(tools(tmp_path, index)).gone == 1
    expected = tmp_path / "expected.db"
    refresh(tools(tmp_path, expected))
    assert dump(index) == dump(expected)


def test_a_line_that_is_being_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path = codex(tmp_path, "aaaa2222-0000-4000-8000-000000000001", [("user", "First."), ("user", "Second.")])
    content = path.read_bytes()
    index = tmp_path / "index.db"
    path.write_bytes(content[:-15])
    done = refresh(tools(tmp_path, index))
    assert done.skipped == {"half a last line": 1}
    path.write_bytes(content)
    assert refresh(tools(tmp_path, index)).turns == 1


def test_a_result_that_comes_after_the_refresh_joins_its_call(tmp_path: Path) -> None:
    path = codex(
        tmp_path,
        "aaaa2222-0000-4000-8000-000000000001",
        [("make build", "error: no rule for flour", 2), ("edit", "Makefile"), ("make build", "done", 0)],
    )
    lines = path.read_bytes().splitlines(keepends=True)
    index, whole = tmp_path / "index.db", tmp_path / "whole.db"
    for number in range(1, len(lines) + 1):
        path.write_bytes(b"".join(lines[:number]))
        refresh(tools(tmp_path, index))
    refresh(tools(tmp_path, whole))
    assert dump(index) == dump(whole)
    assert len(dump(index)["fix"]) == 1


def test_copies_of_a_turn_count_once_and_take_over_when_the_first_goes(tmp_path: Path) -> None:
    first = claude(tmp_path, "aaaa1111-0000-4000-8000-000000000001", [("user", "Bake."), ("make bread", "ok", 0)])
    again = first.with_name("aaaa1111-0000-4000-8000-000000000002.jsonl")
    again.write_text(first.read_text())
    index = tmp_path / "index.db"
    refresh(tools(tmp_path, index))
    assert len(dump(index)["command"]) == 1
    assert sum('"standing": "copied"' in row for row in dump(index)["turn"]) == 2
    first.unlink()
    refresh(tools(tmp_path, index))
    refresh(tools(tmp_path, index))
    assert len(dump(index)["command"]) == 1
    assert sum('"standing": "copied"' in row for row in dump(index)["turn"]) == 0


def test_a_store_that_was_busy_is_read_the_next_time(tmp_path: Path) -> None:
    place = home("opencode-store", tmp_path)
    path = place / ".local/share/opencode/opencode.db"
    index = tmp_path / "index.db"
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    holder.execute("CREATE TABLE held(x)")
    assert refresh(tools(place, index)).skipped == {"store is busy": 1}
    holder.execute("ROLLBACK")
    holder.close()
    assert refresh(tools(place, index)).sessions == 2


REFRESH = """
import sys
from pathlib import Path
from tests.sessions.test_refresh import tools
from byheart.sessions.refresh import refresh
for _ in range(3):
    refresh(tools(Path(sys.argv[1]), Path(sys.argv[2])))
"""


def test_several_processes_at_once_come_to_one_index(tmp_path: Path) -> None:
    for number in range(12):
        claude(
            tmp_path,
            f"aaaa1111-0000-4000-8000-{number:012}",
            [("user", f"Loaf {number}."), ("make", "error: burnt", 1), ("edit", "oven.py"), ("make", "ok", 0)],
        )
    index, alone = tmp_path / "index.db", tmp_path / "alone.db"
    running = [
        subprocess.Popen([sys.executable, "-c", REFRESH, str(tmp_path), str(index)], cwd=Path(__file__).parents[2])
        for _ in range(4)
    ]
    assert [each.wait(timeout=120) for each in running] == [0, 0, 0, 0]
    refresh(tools(tmp_path, alone))
    assert dump(index) == dump(alone)


@pytest.mark.parametrize("harm", ["older version", "newer version", "garbage", "cut", "empty"])
def test_an_index_that_cannot_be_used_is_rebuilt(harm: str, tmp_path: Path) -> None:
    claude(tmp_path, "aaaa1111-0000-4000-8000-000000000001", [("user", "Bake."), ("make bread", "ok", 0)])
    index, fresh = tmp_path / "index.db", tmp_path / "fresh.db"
    refresh(tools(tmp_path, fresh))
    first = tools(tmp_path, index)
    refresh(first)
    first.index.close()  # type: ignore[attr-defined]
    if harm.endswith("version"):
        with sqlite3.connect(index) as connection:
            connection.execute(f"PRAGMA user_version = {VERSION + (1 if harm.startswith('newer') else -1) or 99}")
            connection.execute("DELETE FROM session")
        connection.close()
    else:
        content = index.read_bytes()
        index.write_bytes({"garbage": b"\x07" * 9000, "cut": content[:100], "empty": b""}[harm])
    refresh(tools(tmp_path, index))
    assert dump(index) == dump(fresh)


def test_the_index_is_for_its_owner_alone(tmp_path: Path) -> None:
    claude(tmp_path, "aaaa1111-0000-4000-8000-000000000001", [("user", "Bake.")])
    index = tmp_path / "state" / "index.db"
    held = tools(tmp_path, index)
    refresh(held)
    assert all(path.stat().st_mode & 0o077 == 0 for path in index.parent.iterdir())


def test_a_file_that_grows_while_it_is_read_loses_nothing(tmp_path: Path) -> None:
    path = codex(
        tmp_path, "aaaa2222-0000-4000-8000-000000000001", [("user", f"Line {number}.") for number in range(200)]
    )
    found = Found(agent="codex", path=str(path), size=1, modified=1)
    more = path.read_text().splitlines()[-1].replace("Line 199.", "Late.") + "\n"
    passed = reading(found, None, Caps())

    class Growing:
        """The same pass, with a writer at work in the middle of it."""

        fresh, tally, mark = passed.fresh, passed.tally, passed.mark

        def __iter__(self) -> Iterator[Event]:
            for number, event in enumerate(passed):
                if number == 50:
                    with path.open("a") as stream:
                        stream.write(more)
                yield event

    sessions = taken(Growing())
    sessions = taken(reading(found, passed.mark, Caps()), sessions)
    [read] = sessions.values()
    assert [turn.text for turn in read.turns.values()] == [*(f"Line {number}." for number in range(200)), "Late."]


def test_while_another_process_writes_the_index_answers_from_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude(tmp_path, "aaaa1111-0000-4000-8000-000000000001", [("user", "Bake.")])
    index = tmp_path / "index.db"
    refresh(tools(tmp_path, index))
    claude(tmp_path, "aaaa1111-0000-4000-8000-000000000002", [("user", "Bake more.")])
    monkeypatch.setattr("byheart.storage.index.schema._PATIENCE", 0.1)
    holder = sqlite3.connect(index, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    held = tools(tmp_path, index)
    done = refresh(held)
    assert done.is_busy and done.sessions == 0
    assert len(held.index.sessions(Which(), 10)) == 1
    holder.execute("ROLLBACK")
    holder.close()
    assert refresh(held).sessions == 1


def test_an_index_that_breaks_while_it_is_used_is_thrown_away_and_said(tmp_path: Path) -> None:
    claude(tmp_path, "aaaa1111-0000-4000-8000-000000000001", [("user", f"Loaf {number}.") for number in range(300)])
    index = tmp_path / "index.db"
    held = tools(tmp_path, index)
    refresh(held)
    held.index.close()  # type: ignore[attr-defined]
    content = bytearray(index.read_bytes())
    # Behind the pages that say what tables there are, so that opening it goes well.
    content[28_672:57_344] = b"\xff" * 28_672
    index.write_bytes(bytes(content))
    broken = tools(tmp_path, index)

    def everything() -> None:
        broken.index.candidates(question("loaf"), Which(), None)
        for each in broken.index.sessions(Which(), 1):
            broken.index.turns(each.session)
        broken.index.counts(Which())

    with pytest.raises(Unreadable, match="was deleted"):
        everything()
    assert refresh(tools(tmp_path, index)).sessions == 1


def test_a_full_disk_is_said_and_the_index_stays_as_it_was(tmp_path: Path) -> None:
    claude(tmp_path, "aaaa1111-0000-4000-8000-000000000001", [("user", "Bake.")])
    index = tmp_path / "index.db"
    held = tools(tmp_path, index)
    refresh(held)
    before = dump(index)
    claude(tmp_path, "aaaa1111-0000-4000-8000-000000000002", [("user", "x" * 9000) for _ in range(400)])
    pages = held.index._db.execute("PRAGMA page_count").fetchone()[0]  # type: ignore[attr-defined]
    held.index._db.execute(f"PRAGMA max_page_count = {pages + 2}")  # type: ignore[attr-defined]
    with pytest.raises(Unwritable, match="full"):
        refresh(held)
    assert dump(index) == before
