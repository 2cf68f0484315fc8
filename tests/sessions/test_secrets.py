"""No secret reaches the index or a screen, wherever in a transcript it stands."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from byheart.sessions.clipping import cleaned
from byheart.sessions.refresh import refresh
from byheart.storage.scanners.scanner import RuleScanner
from tests.agents.homes import NAMES, home
from tests.conftest import Cli
from tests.sessions.test_refresh import tools, wal

# Each in the shape of the real thing, so that it is recognised; none was ever valid.
TOKENS = (
    "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "sk-ant-api03-" + "Zq8" * 31 + "AA",
    "AKIA" + "Q7R2X9M4T6W1Z8P3",
)
# Words that people and tools say in these homes, in every kind of field.
WORDS = (
    "bread",
    "timer",
    "menu",
    "tests",
    "dough",
    "rye",
    "No ",
    "make",
    "recipes",
    "loaves",
    "muffins",
    "scales",
    " the ",
    "The ",
    "ello",
)


def every_byte(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", NAMES)
def test_no_token_reaches_the_index_from_any_field(name: str, tmp_path: Path) -> None:
    place = home(name, tmp_path)
    planted = 0

    def with_tokens(text: str) -> str:
        nonlocal planted
        for number, word in enumerate(WORDS):
            planted += text.count(word)
            text = text.replace(word, f"{word} {TOKENS[number % 3]} ")
        return text

    for path in (each for each in place.rglob("*") if each.is_file()):
        if path.read_bytes().startswith(b"SQLite"):
            cells = cells_of(path)
            with sqlite3.connect(path) as connection:
                for table, column, rowid, text in cells:
                    connection.execute(f'UPDATE {table} SET "{column}" = ? WHERE rowid = ?', (with_tokens(text), rowid))
            connection.close()
        else:
            path.write_text(with_tokens(path.read_text(encoding="utf-8")), encoding="utf-8")
    assert planted
    index = tmp_path / "state" / "index.db"
    held = tools(place, index)
    refresh(held)
    stored = every_byte(index.parent)
    assert all(token.encode() not in stored for token in TOKENS)
    # Nor the greater part of one.
    assert all(token.encode()[5:-5] not in stored for token in TOKENS)


def planted_under(value: Any, key: str, token: str) -> Any:
    """The same value with a token wherever a text stands under this key."""
    if isinstance(value, dict):
        return {
            name: token if name == key and isinstance(each, str) else planted_under(each, key, token)
            for name, each in value.items()
        }
    return [planted_under(each, key, token) for each in value] if isinstance(value, list) else value


def keys_of(value: Any) -> set[str]:
    """All keys under which a text stands."""
    if isinstance(value, dict):
        own = {name for name, each in value.items() if isinstance(each, str)}
        return own.union(*(keys_of(each) for each in value.values()))
    return set().union(*(keys_of(each) for each in value)) if isinstance(value, list) else set()


def values_in(text: str) -> list[Any] | None:
    """The JSON values of a document or of lines; None where the text is neither."""
    for pieces in ([text], [line for line in text.splitlines() if line.strip()]):
        try:
            return [json.loads(piece) for piece in pieces]
        except ValueError:
            continue
    return None


def cells_of(path: Path) -> list[tuple[str, str, int, str]]:
    """All texts of a store with where they stand."""
    with sqlite3.connect(path) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = [
            (table, column[1], rowid, text)
            for table in tables
            for column in connection.execute(f"PRAGMA table_info({table})").fetchall()
            for rowid, text in connection.execute(f'SELECT rowid, "{column[1]}" FROM {table}')
            if isinstance(text, str)
        ]
    connection.close()
    return found


def plant(path: Path, key: str, token: str) -> None:
    """A token under one key, or in one column, everywhere in a file."""
    if path.read_bytes().startswith(b"SQLite"):
        cells = cells_of(path)
        with sqlite3.connect(path) as connection:
            for table, column, rowid, text in cells:
                values = values_in(text) if text[:1] in "{[" else None
                new = token if column == key else json.dumps(planted_under(values[0], key, token)) if values else text
                with contextlib.suppress(sqlite3.IntegrityError):
                    connection.execute(f'UPDATE {table} SET "{column}" = ? WHERE rowid = ?', (new, rowid))
        connection.close()
    elif (values := values_in(path.read_text(encoding="utf-8"))) is not None:
        path.write_text("".join(json.dumps(planted_under(each, key, token)) + "\n" for each in values), "utf-8")


def all_keys(place: Path) -> list[str]:
    """Every name under which a home's files hold a text."""
    found: set[str] = set()
    for path in (each for each in place.rglob("*") if each.is_file()):
        if path.read_bytes().startswith(b"SQLite"):
            for _, column, _, text in cells_of(path):
                found |= {column} | (keys_of(values_in(text)) if text[:1] in "{[" else set())
        else:
            found |= keys_of(values_in(path.read_text(encoding="utf-8", errors="replace")))
    return sorted(found)


@pytest.mark.parametrize("name", NAMES)
def test_no_token_reaches_the_index_from_a_name_or_an_id(name: str, tmp_path: Path) -> None:
    """Under each key in turn, in place of what stands there: ids, kinds, roles, parents, versions."""
    original = home(name, tmp_path / "original")
    for number, key in enumerate(all_keys(original)):
        place = tmp_path / str(number) / name
        shutil.copytree(original, place)
        for path in (each for each in place.rglob("*") if each.is_file()):
            plant(path, key, TOKENS[number % 3])
        index = tmp_path / str(number) / "state" / "index.db"
        held = tools(place, index)
        refresh(held)
        stored = every_byte(index.parent)
        assert TOKENS[number % 3].encode() not in stored, f"under {key}"


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_at_a_cut_is_not_cut_in_two(token: str, tmp_path: Path) -> None:
    """Moved over every place where a long output is cut, in steps that no cut can fall between."""
    folder = tmp_path / ".codex" / "sessions"
    folder.mkdir(parents=True)
    rows = [{"type": "session_meta", "payload": {"id": "s", "cwd": "/x"}}]
    for number, at in enumerate(range(0, 4000, 7)):
        filler = "word " * 800
        output = filler[:at] + " " + token + " " + filler[at:]
        rows.append(
            {
                "type": "response_item",
                "payload": {
                    "type": "function_call",
                    "name": "exec_command",
                    "arguments": json.dumps({"cmd": "ls"}),
                    "call_id": f"c{number}",
                },
            }
        )
        rows.append(
            {
                "type": "response_item",
                "payload": {"type": "function_call_output", "call_id": f"c{number}", "output": output},
            }
        )
    (folder / "rollout-x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    index = tmp_path / "state" / "index.db"
    refresh(tools(tmp_path, index))
    stored = index.read_bytes() + wal(index)
    # Twelve characters of it in a row would be a part worth having.
    assert all(token[start : start + 12].encode() not in stored for start in range(4, len(token) - 12))


def test_a_key_block_that_is_cut_leaves_nothing_of_itself() -> None:
    body = "\n".join("MIIEpAIBAAKCAQEA" + f"{line:048x}" for line in range(60))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
    scanner = RuleScanner()
    for before in range(0, 6000, 150):
        text = "x " * (before // 2) + "\n" + key + "\n" + "y " * 1500
        kept = cleaned([text], [(500, 500)], scanner)[0]
        inside = [line for line in body.splitlines() if line in kept]
        assert not inside or ("-----BEGIN" in kept and "-----END" in kept)


def test_a_text_that_is_cut_says_so_and_keeps_both_ends() -> None:
    text = "\n".join(f"line {number}" for number in range(2000))
    [kept] = cleaned([text], [(300, 300)], RuleScanner())
    assert kept.startswith("line 0\n") and kept.endswith("line 1999") and "[…]" in kept
    assert len(kept) < 700


def test_nothing_shown_holds_a_token(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    rows = [
        {"type": "custom-title", "customTitle": f"About {TOKENS[0]}", "sessionId": "s"},
        {
            "type": "user",
            "uuid": "1",
            "sessionId": "s",
            "cwd": "/x",
            "timestamp": "2026-05-04T10:00:00Z",
            "message": {"content": f"use {TOKENS[0]} to bake"},
        },
        {
            "type": "assistant",
            "uuid": "2",
            "message": {
                "content": [
                    {
                        "type": "tool_use",
                        "id": "t",
                        "name": "Bash",
                        "input": {"command": f"curl -H 'Authorization: Bearer {TOKENS[1]}' x"},
                    }
                ]
            },
        },
        {
            "type": "user",
            "uuid": "3",
            "message": {
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t",
                        "is_error": True,
                        "content": f"error: {TOKENS[2]} refused",
                    }
                ]
            },
        },
    ]
    (folder / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    calls = (["list"], ["show", "s"], ["show", "s", "--full"], ["search", "bake"], ["stats"])
    shown = "".join(cli("sessions", *each, *extra).out for each in calls for extra in ((), ("--json",)))
    for more in (
        ("how", "curl", "--all"),
        ("fix", "refused", "--all"),
        ("fix", f"error: {TOKENS[2]} refused", "--all"),
    ):
        done = cli(*more)
        shown += done.out + done.err
    assert "bake" in shown and "curl" in shown
    assert all(token not in shown for token in TOKENS)


def test_an_answer_that_comes_after_its_call_was_written_is_looked_through_too(tmp_path: Path) -> None:
    def item(**payload: object) -> str:
        return json.dumps({"type": "response_item", "payload": payload}) + "\n"

    def call(number: int) -> str:
        return item(type="function_call", name="exec_command", arguments='{"cmd": "make"}', call_id=f"c{number}")

    def output(number: int, text: str) -> str:
        return item(type="function_call_output", call_id=f"c{number}", output=text)

    folder = tmp_path / ".codex" / "sessions"
    folder.mkdir(parents=True)
    path = folder / "rollout-x.jsonl"
    path.write_text(call(0) + "".join(call(number) + output(number, "fine") for number in range(1, 400)))
    index = tmp_path / "state" / "index.db"
    refresh(tools(tmp_path, index))
    with path.open("a") as stream:
        stream.write(output(0, f"late: {TOKENS[0]}"))
    assert refresh(tools(tmp_path, index)).grown == 1
    stored = every_byte(index.parent)
    assert b"late: " in stored and TOKENS[0].encode() not in stored


def test_a_transcript_whose_path_holds_a_token_is_left_out_and_said(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects" / f"-work-{TOKENS[0]}"
    folder.mkdir(parents=True)
    (folder / "s.jsonl").write_text(json.dumps({"type": "user", "uuid": "1", "message": {"content": "hello"}}) + "\n")
    index = tmp_path / "state" / "index.db"
    done = refresh(tools(tmp_path, index))
    assert done.skipped == {"its path holds a secret": 1}
    assert TOKENS[0].encode() not in every_byte(index.parent)
