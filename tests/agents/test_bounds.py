"""Each bound that keeps a hostile file from costing time, memory or the other lines, met by a file made to pass it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from byheart.agents.agent import reading
from byheart.agents.reading import folders, lines, passes
from byheart.agents.reading.passes import LineReading
from byheart.agents.reading.turn_builder import TurnBuilder
from byheart.domain.sessions import Caps, Found, Mark, Reading, Session, SessionSource, Speaker, Tally
from byheart.sessions.refresh import refresh
from byheart.text.client_text import parted
from tests.agents.homes import home, taken
from tests.agents.test_hostile import GOOD, STORES, found, read, source
from tests.sessions.test_refresh import tools

ROW = json.dumps(GOOD["generic"]) + "\n"


def long_row(size: int) -> str:
    return json.dumps({"role": "user", "text": "x" * size})


def test_a_line_over_its_bound_is_skipped_wherever_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    for name, content, texts in (
        ("in one piece", ROW + long_row(5000) + "\n" + ROW, ["hello", "hello"]),
        ("over several pieces", ROW + long_row(3_000_000) + "\n" + ROW, ["hello", "hello"]),
        ("at the end, with no break", ROW + long_row(3_000_000), ["hello"]),
    ):
        path.write_text(content)
        told, tally = read("generic", path, Caps(line_bytes=1000))
        assert (told, dict(tally.skipped)) == (texts, {"line too long": 1}), name


def test_a_line_without_end_is_not_gathered(tmp_path: Path) -> None:
    """What is held while a long line goes by is no more than a piece."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"role": "user", "text": "' + b"x" * 8_000_000)
    held = []

    class Watched:
        def __init__(self) -> None:
            self._stream = lines.opened(str(path))

        def read(self, size: int = -1) -> bytes:
            assert self._stream is not None
            frame = each.gi_frame
            held.append(len(frame.f_locals.get("rest", b"")) if frame else 0)
            return self._stream.read(size)

    stream: Any = Watched()
    each: Any = iter(lines.Lines(stream, Caps(line_bytes=1000), Tally()))
    assert list(each) == [] and len(held) > 5
    assert max(held) <= 1_000


def test_a_value_of_too_many_parts_is_not_built(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"role": "user", "text": [1] * 900_000}) + "\n" + ROW)
    told, tally = read("generic", path)
    assert (told, dict(tally.skipped)) == (["hello"], {"too many parts": 1})


@pytest.mark.parametrize("depth", [300, 900, 1500, 5000, 100_000])
def test_what_only_the_lenient_way_reads_may_nest_no_deeper(depth: int, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(f'{{"role": "user", "text": "deep", "odd": NaN, "more": {"[" * depth}{"]" * depth}}}\n{ROW}')
    told, tally = read("generic", path)
    assert told == (["deep", "hello"] if not tally.skipped else ["hello"])
    assert set(tally.skipped) <= {"nested too deeply"}
    assert depth < 5000 or tally.skipped["nested too deeply"] == 1


def test_a_device_is_not_read() -> None:
    passed = reading(Found(agent="generic", path="/dev/zero", size=1, modified=1), None, Caps(file_bytes=10_000_000))
    assert list(passed) == []
    assert dict(passed.tally.skipped) == {"cannot be read": 1}
    with pytest.raises(lines.Broken, match="cannot be read"):
        lines.content("/dev/zero", 1_000_000, Tally())


def frame(window: int, content: bytes) -> bytes:
    """A zstd frame by hand: its magic, a window of 2^window bytes, and one block as it is."""
    return (
        b"\x28\xb5\x2f\xfd\x00" + bytes([(window - 10) << 3]) + (len(content) << 3 | 1).to_bytes(3, "little") + content
    )


def test_a_packed_file_that_asks_for_a_gigabyte_gets_none(tmp_path: Path) -> None:
    good = json.dumps(GOOD["codex"]).encode() + b"\n"
    path = tmp_path / "rollout-x.jsonl.zst"
    for window, texts in ((20, ["hello"]), (30, [])):
        path.write_bytes(frame(window, good))
        told, tally = read("codex", path)
        assert (told, tally.skipped["broken compression"]) == (texts, int(not texts))
        assert (passes.inflated(frame(window, good), 10_000) is not None) == bool(texts)
    assert passes.inflated(frame(20, b"x" * 500), 100) is None


def test_a_store_that_takes_too_many_steps_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = home("opencode-store", tmp_path)
    with sqlite3.connect(tmp_path / STORES["opencode"]) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        for row in (0, 1):
            # Every session asks for its messages, and no index helps.
            connection.executemany(
                "INSERT INTO message(id, session_id, time_created, time_updated, data) VALUES(?, ?, 1, 1, '{}')",
                [(f"m{row}-{number}", f"none-{number}") for number in range(20_000)],
            )
    connection.close()
    whole = sum(1 for _ in source("opencode", place).found())
    monkeypatch.setattr(folders, "_STEPS", 100_000)
    told = list(source("opencode", place).found())
    assert whole >= 1 and [each.part for each in told] == [""]
    assert dict(read("opencode", Path(told[0].path))[1].skipped) == {"store is corrupt": 1}


def test_a_line_that_no_reader_foresaw_costs_no_other(tmp_path: Path) -> None:
    class Fragile:
        def __init__(self, found: Found) -> None:
            self.builder = TurnBuilder(Session(id="s", agent="generic", path=found.path))

        def line(self, value: dict[str, Any]) -> str | None:
            self.builder.say("user", Speaker.USER, value["text"] * value["times"], None)
            return None

        def finish(self) -> None: ...

        def state(self) -> dict[str, Any]:
            return {}

        def restore(self, state: dict[str, Any]) -> None: ...

    path = tmp_path / "x.jsonl"
    rows = [{"text": "a", "times": 2}, {"text": "b"}, {"text": "c", "times": "d"}, {"text": "e", "times": 1}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    passed = LineReading(found("generic", path), None, Caps(), Fragile)
    assert [turn.text for turn in taken(passed)["s"].turns.values()] == ["aa", "e"]
    assert (passed.tally.lines, dict(passed.tally.skipped)) == (4, {"unexpected shape": 2})


def test_calls_that_are_never_answered_are_let_go(tmp_path: Path) -> None:
    def item(**payload: object) -> str:
        return json.dumps({"type": "response_item", "payload": payload}) + "\n"

    path = tmp_path / "rollout-x.jsonl"
    many = 5_000
    calls = [item(type="function_call", name="ls", arguments="{}", call_id=f"c{number}") for number in range(many)]
    path.write_text("".join(calls))
    passed = reading(found("codex", path), None, Caps())
    taken(passed)
    assert passed.mark is not None and len(passed.mark.state) < 50_000
    with path.open("a") as stream:
        stream.write(item(type="function_call_output", call_id="c0", output="of the first"))
        stream.write(item(type="function_call_output", call_id=f"c{many - 1}", output="of the last"))
    [got] = taken(reading(found("codex", path), None, Caps())).values()
    assert got.turns[many].output == "of the last"
    # The first call was let go; its result is kept all the same.
    assert got.turns[1].output is None and got.turns[many + 1].output == "of the first"


def test_an_everyday_tag_inside_a_message_is_the_persons_own() -> None:
    text = "Please follow these:\n<rules>\nno tabs\n</rules>\nand thanks"
    assert parted(text).own == text
    assert parted("<rules>\nno tabs\n</rules>\nand thanks").own == "and thanks"


class Known:
    """A source that found its transcripts a moment ago."""

    agent = "goose"

    def __init__(self, of: SessionSource) -> None:
        self._of, self._told = of, list(of.found())

    def found(self) -> Iterator[Found]:
        yield from self._told

    def read(self, found: Found, mark: Mark | None) -> Reading:
        return self._of.read(found, mark)

    def is_active(self, session: Session) -> bool | None:
        return self._of.is_active(session)


def test_a_store_that_was_locked_while_it_was_read_is_read_the_next_time(tmp_path: Path) -> None:
    place = home("goose", tmp_path)
    known = Known(source("goose", place))
    holder = sqlite3.connect(tmp_path / STORES["goose"], isolation_level=None)
    holder.execute("PRAGMA journal_mode = DELETE")
    holder.execute("BEGIN EXCLUSIVE")
    holder.execute("CREATE TABLE held(x)")
    held = tools(place, tmp_path / "index.db", [known])
    first = refresh(held)
    holder.execute("ROLLBACK")
    holder.close()
    # The lines beside the store were read.
    assert (first.skipped, first.sessions) == ({"store is busy": 1}, 1)
    second = refresh(held)
    assert (second.skipped, second.read, second.sessions) == ({}, 1, 1)
    assert refresh(held).read == 0
