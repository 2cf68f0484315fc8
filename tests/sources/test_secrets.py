"""No secret reaches the index or a screen, wherever in a transcript it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byheart.adapters.scanners.scanner import RuleScanner
from byheart.flows.sessions.refresh import cleaned, refresh
from tests.conftest import Cli
from tests.sources.homes import NAMES, home
from tests.sources.test_refresh import shelf, wal

# Each in the shape of the real thing, so that it is recognised; none was ever valid.
TOKENS = (
    "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "sk-ant-api03-" + "Zq8" * 31 + "AA",
    "AKIA" + "Q7R2X9M4T6W1Z8P3",
)


def every_byte(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", NAMES)
def test_no_token_reaches_the_index_from_any_field(name: str, tmp_path: Path) -> None:
    place = home(name, tmp_path)
    planted = 0
    for path in [
        each
        for each in place.rglob("*")
        if each.is_file() and each.suffix in (".jsonl", ".json", ".md", ".txt", ".traj")
    ]:
        text = path.read_text(encoding="utf-8")
        # Words that people and tools say in these homes, in every kind of field.
        for word in (
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
        ):
            text = text.replace(word, f"{word} {TOKENS[planted % 3]} ")
            planted += 1
        path.write_text(text, encoding="utf-8")
    index = tmp_path / "state" / "index.db"
    held = shelf(place, index)
    refresh(held)
    stored = every_byte(index.parent)
    assert all(token.encode() not in stored for token in TOKENS)
    # Nor the greater part of one.
    assert all(token.encode()[5:-5] not in stored for token in TOKENS)


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
    refresh(shelf(tmp_path, index))
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
