"""Files that mean harm, or met some: nothing raises, memory stays bounded, and everything skipped is counted."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from byheart.agents.agent import AgentSource, FolderSource, every, reading
from byheart.agents.reading.folders import Machine
from byheart.domain.sessions import Caps, Found, Tally
from tests.agents.homes import NAMES, every_transcript, file_tally, home, taken

LINES = [
    "claude-code",
    "codex",
    "pi",
    "oh-my-pi",
    "openclaw",
    "qwen",
    "copilot",
    "cursor",
    "goose",
    "generic",
    "gemini",
]
DOCUMENTS = ["codex", "gemini", "cline", "opencode", "openhands", "continue", "copilot", "swe-agent"]
GOOD: dict[str, dict[str, Any]] = {
    "claude-code": {"type": "user", "uuid": "1", "sessionId": "s", "message": {"role": "user", "content": "hello"}},
    "codex": {
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
    },
    "pi": {"type": "message", "id": "1", "parentId": None, "message": {"role": "user", "content": "hello"}},
    "qwen": {"type": "user", "uuid": "1", "message": {"parts": [{"text": "hello"}]}},
    "copilot": {"type": "user.message", "id": "1", "data": {"content": "hello"}},
    "cursor": {"role": "user", "message": {"content": [{"type": "text", "text": "hello"}]}},
    "goose": {"role": "user", "created": 1, "content": [{"type": "text", "text": "hello"}]},
    "generic": {"role": "user", "text": "hello"},
    "gemini": {"id": "1", "type": "user", "content": "hello"},
}
GOOD["oh-my-pi"] = GOOD["openclaw"] = GOOD["pi"]


def found(agent: str, path: Path) -> Found:
    status = path.stat()
    return Found(agent=agent, path=str(path), size=status.st_size, modified=status.st_mtime_ns)


def read(agent: str, path: Path, caps: Caps | None = None) -> tuple[list[str], Tally]:
    """The texts of a file, and what reading it came to."""
    passed = reading(found(agent, path), None, caps or Caps())
    sessions = taken(passed)
    # The last net: that it is needed anywhere is a fault of ours.
    assert "unexpected shape" not in passed.tally.skipped
    return [turn.text for each in sessions.values() for turn in each.turns.values()], passed.tally


@pytest.mark.parametrize("agent", LINES)
def test_bad_lines_are_counted_and_the_good_ones_read(agent: str, tmp_path: Path) -> None:
    good = json.dumps(GOOD[agent]).encode()
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    bad = [
        b"{broken",
        b"[1, 2]",
        b'"text"',
        b"null",
        b"17",
        b"\xff\xfe\x00",
        deep,
        b"9" * 5000,
        b'{"type": "\xc3("',
        b"",
    ]
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        b"\n".join([*bad, good, good.replace(b'"1"', b'"2"').replace(b"hello", b"again")]) + b"\n" + good[:20]
    )
    texts, tally = read(agent, path)
    assert texts == ["hello", "again"]
    assert tally.lines == len(bad) - 1 + 3
    assert sum(tally.skipped.values()) == len(bad)
    assert tally.skipped["nested too deeply"] == 1
    assert tally.skipped["half a last line"] == 1


@pytest.mark.parametrize("agent", LINES)
def test_half_characters_nan_and_bad_bytes_are_mended(agent: str, tmp_path: Path) -> None:
    good = json.dumps(GOOD[agent])
    path = tmp_path / "x.jsonl"
    odd = good.replace("hello", "half \\ud83d here")[:-1] + ', "odd": NaN, "more": -Infinity}'
    path.write_bytes(
        b"\xef\xbb\xbf"
        + odd.encode()
        + b"\r\n"
        + good.replace("hello", "caf\xe9").replace('"1"', '"2"').encode("latin-1")
        + b"\n"
    )
    texts, tally = read(agent, path)
    assert texts == ["half \ufffd here", "caf\ufffd"]
    assert tally.mended["bad UTF-8 or Unicode"] == 2
    "".join(texts).encode("utf-8")


@pytest.mark.parametrize("agent", LINES)
@pytest.mark.parametrize("value", [None, 17, True, "text", [], {}, [[]], {"x": {}}, [None, 1, "a", {"type": 5}]])
def test_fields_of_any_kind_raise_nothing(agent: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    rows = []
    good = GOOD[agent]
    for key in good:
        rows.append({**good, key: value})
        if isinstance(good[key], dict):
            rows += [{**good, key: {**good[key], inner: value}} for inner in good[key]]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, good]))
    texts, tally = read(agent, path)
    assert "hello" in texts
    assert tally.lines == len(rows) + 1


@pytest.mark.parametrize("agent", DOCUMENTS)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"null",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"\xff\xff",
        b'[{"role": 5, "content": 7}]',
        b'{"messages": 5}',
        b'{"items": [1, null, {"type": []}], "session": 9}',
    ],
)
def test_bad_documents_are_counted(agent: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    texts, _ = read(agent, path)
    assert texts == []


def measured(script: str, *arguments: str) -> tuple[dict[str, int], float]:
    """Run a script in a process of its own; what it printed, and its largest memory in MB."""
    body = f"import json, sys\n{script}\nprint(json.dumps(out))\nprint(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    done = subprocess.run(
        [sys.executable, "-c", body, *arguments], capture_output=True, text=True, timeout=120, check=True
    )
    printed, peak = done.stdout.splitlines()
    return json.loads(printed), float(peak) / 1024


READ = """
from byheart.agents.agent import reading
from byheart.domain.sessions import Caps, Found
passed = reading(Found(agent=sys.argv[1], path=sys.argv[2], size=1, modified=1), None, Caps())
turns = sum(1 for event in passed)
out = {**passed.tally.skipped, "events": turns}
"""


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini"])
def test_a_line_of_20_mb_is_skipped_in_bounded_memory(agent: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    good = json.dumps(GOOD[agent]).encode()
    path.write_bytes(
        good + b'\n{"type":"user","x":"' + b"a" * 20_000_000 + b'"}\n' + good.replace(b'"1"', b'"2"') + b"\n"
    )
    out, peak = measured(READ, agent, str(path))
    assert out["line too long"] == 1
    assert out["events"] >= 3
    assert peak < 250


@pytest.mark.parametrize("filling", [b"\0", b"\n", b'{"type":"x"}\n'])
def test_a_zst_bomb_of_1_gib_stops_in_bounded_memory(filling: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl.zst"
    block = filling * (1 << 20)
    with zstd.open(path, "wb") as stream:
        for _ in range((1 << 30) // len(block)):
            stream.write(block)
    assert path.stat().st_size < 1_000_000
    script = READ.replace("Caps()", "Caps(unpacked_bytes=100_000_000)")
    out, peak = measured(script, "codex", str(path))
    assert out["unpacks to too much"] == 1
    assert peak < 250


def test_a_large_file_is_read_in_the_memory_of_a_small_one(tmp_path: Path) -> None:
    line = json.dumps({**GOOD["claude-code"], "uuid": "%", "message": {"role": "user", "content": "x" * 3000}})
    peaks = []
    for number in (300, 30_000):
        path = tmp_path / f"{number}.jsonl"
        path.write_text("".join(line.replace("%", f"{each:08x}-0") + "\n" for each in range(number)))
        peaks.append(measured(READ, "claude-code", str(path))[1])
    assert peaks[1] < peaks[0] + 60


def test_a_broken_or_cut_off_zst_is_counted(tmp_path: Path) -> None:
    good = json.dumps(GOOD["codex"]).encode() + b"\n"
    whole = zstd.compress(good * 1000)
    for name, content in {"cut": whole[:-9], "garbage": b"not zstd at all", "empty": b""}.items():
        path = tmp_path / f"{name}.jsonl.zst"
        path.write_bytes(content)
        _, tally = read("codex", path)
        assert tally.skipped["broken compression"] == (name != "empty") or name == "empty"


def test_a_document_or_file_over_its_cap_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"role": "user", "content": "x" * 5000}]))
    assert read("cline", path, Caps(document_bytes=1000))[1].skipped == {"file too large": 1}
    path = tmp_path / "x.jsonl"
    path.write_text((json.dumps(GOOD["generic"]) + "\n") * 100_000)
    texts, tally = read("generic", path, Caps(file_bytes=2_000_000))
    assert tally.skipped["file too large"] == 1
    assert 0 < len(texts) < 100_000


STORES = {
    "opencode": "opencode-store/.local/share/opencode/opencode.db",
    "goose": "goose/.local/share/goose/sessions/sessions.db",
    "openclaw": "openclaw/.openclaw/agents/main/agent/openclaw-agent.sqlite",
}


def source(agent: str, place: Path) -> AgentSource:
    return AgentSource(every()[agent], Machine(home=str(place), environment={}), Caps())


@pytest.mark.parametrize("agent", STORES)
def test_a_busy_store_is_told_and_left_for_the_next_time(agent: str, tmp_path: Path) -> None:
    name = STORES[agent]
    place = home(name.split("/")[0], tmp_path)
    path = tmp_path / name
    # A rollback journal's lock keeps readers out altogether.
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA journal_mode = DELETE")
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    holder.execute("CREATE TABLE held(x)")
    told = [each for each in source(agent, place).found() if each.path == str(path)]
    tallies = [file_tally(source(agent, place).read(each, None)) for each in told]
    holder.execute("ROLLBACK")
    holder.close()
    assert [dict(tally.skipped) for tally in tallies] == [{"store is busy": 1}]
    assert all(each.part for each in source(agent, place).found() if each.path == str(path))


@pytest.mark.parametrize("agent", STORES)
@pytest.mark.parametrize("harm", ["garbage", "cut", "zeros", "empty"])
def test_a_corrupt_store_is_counted(agent: str, harm: str, tmp_path: Path) -> None:
    name = STORES[agent]
    place = home(name.split("/")[0], tmp_path)
    path = tmp_path / name
    content = path.read_bytes()
    damaged = {
        "garbage": os.urandom(8192),
        "cut": content[: len(content) // 3],
        "zeros": content[:4096] + bytes(len(content) - 4096),
        "empty": b"",
    }
    path.write_bytes(damaged[harm])
    told = [each for each in source(agent, place).found() if each.path == str(path)]
    for each in told:
        tally = file_tally(source(agent, place).read(each, None))
        assert harm == "empty" or sum(tally.skipped.values()) + sum(tally.mended.values()) >= 1
    assert harm == "empty" or told


def test_reading_a_store_leaves_no_file_beside_it_and_changes_nothing(tmp_path: Path) -> None:
    place = home("opencode-store", tmp_path)
    path = tmp_path / STORES["opencode"]
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    before = {each: each.read_bytes() for each in path.parent.iterdir()}
    for each in source("opencode", place).found():
        taken(source("opencode", place).read(each, None))
    assert {each: each.read_bytes() for each in path.parent.iterdir()} == before


def test_what_a_writer_has_not_checkpointed_is_read(tmp_path: Path) -> None:
    place = home("opencode-store", tmp_path)
    path = tmp_path / STORES["opencode"]
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("UPDATE part SET data = json_set(data, '$.text', 'Fresh from the log.') WHERE id = 'prt_101'")
    texts = [
        turn.text
        for each in source("opencode", place).found()
        for got in taken(source("opencode", place).read(each, None)).values()
        for turn in got.turns.values()
    ]
    writer.close()
    assert "Fresh from the log." in texts


def test_a_view_in_a_tables_place_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """CREATE TABLE message(id, session_id, time_created, time_updated, data); CREATE TABLE part(id, message_id, data);
            CREATE VIEW session AS WITH RECURSIVE forever(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM forever) SELECT n AS id, 1 AS time_updated FROM forever;"""
        )
    connection.close()
    assert list(FolderSource((str(tmp_path),), Caps()).found()) == []


def test_odd_things_in_the_place_of_files_are_passed_by(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()
    (folder / "loop").symlink_to(folder)
    (folder / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    (folder / "good.jsonl").write_text(json.dumps(GOOD["claude-code"]) + "\n")
    told = list(source("claude-code", tmp_path).found())
    assert [os.path.basename(each.path) for each in told] == ["good.jsonl"]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_vanishes_before_it_is_read_is_counted(name: str, tmp_path: Path) -> None:
    place = home(name, tmp_path)
    for each, told in list(every_transcript(place)):
        os.unlink(told.path) if os.path.exists(told.path) else None
        tally = file_tally(each.read(told, None))
        assert sum(tally.skipped.values()) >= 1


def test_a_name_without_end_is_cut_and_steering_characters_are_not_shown(tmp_path: Path) -> None:
    from byheart.interfaces.transcripts import turn_lines

    path = tmp_path / "x.jsonl"
    path.write_text(
        json.dumps({"session": {"id": "s" * 1_000_000, "title": "t" * 1_000_000}})
        + "\n"
        + json.dumps({"role": "user", "text": "\x1b[2Jwipe\u202e\u0007"})
        + "\n"
    )
    [got] = taken(reading(found("generic", path), None, Caps())).values()
    assert len(got.session.id) == len(got.session.title or "") == 20_000
    shown = "\n".join(turn_lines(got.turns[1]))
    assert "\x1b" not in shown and "\u202e" not in shown and "\x07" not in shown


@pytest.mark.parametrize("kind", ["user", "system", "attachment"])
def test_lines_that_hang_on_each_other_end(kind: str, tmp_path: Path) -> None:
    def row(own: str, parent: str, kind: str, text: str) -> dict[str, object]:
        return {
            "type": kind,
            "uuid": f"{own * 8}-0",
            "parentUuid": f"{parent * 8}-0",
            "sessionId": "s",
            "message": {"content": text},
        }

    rows = [row("1", "2", kind, "a"), row("2", "1", kind, "b"), row("3", "3", kind, "c")]
    rows += [row("4", "1", "user", "hello"), row("5", "3", "user", "again"), row("6", "9", "user", "and again")]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    texts, _ = read("claude-code", path)
    assert texts[-3:] == ["hello", "again", "and again"]
