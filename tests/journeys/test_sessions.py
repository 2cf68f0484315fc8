"""The session commands as a user types them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from byheart.testing import Bench
from tests.agents.excerpts import claude, codex
from tests.agents.homes import HOMES
from tests.conftest import Cli


@pytest.fixture
def worked(bench: Bench) -> Bench:
    """A home with sessions of two agents in the bench's project, and one elsewhere."""
    home = Path(bench.folder)
    claude(
        home,
        "aaaa1111-0000-4000-8000-000000000001",
        [
            ("user", "Make the oven beep once."),
            ("make test", "error: bell broken\n1 failed", 2),
            ("edit", f"{bench.project}/oven.py"),
            ("make test", "9 passed in 1s", 0),
            ("say", "Done."),
        ],
        cwd=bench.project,
    )
    codex(
        home,
        "aaaa2222-0000-4000-8000-000000000002",
        [("user", "Weigh the flour."), ("say", "500 g.")],
        cwd=bench.project,
        day=6,
    )
    codex(
        home,
        "aaaa3333-0000-4000-8000-000000000003",
        [("user", "Paint the door."), ("make paint", "red", 0)],
        cwd="/somewhere/else",
        day=7,
    )
    return bench


def objects(outcome: Any) -> list[Any]:
    found = outcome.json
    assert isinstance(found, list)
    return found


def test_sessions_are_listed_newest_first(cli: Cli, worked: Bench) -> None:
    done = cli("sessions")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert [line.split()[2] for line in lines] == ["codex", "codex", "claude-code"]
    assert "Make the oven beep once." in lines[2] and "1/5" in lines[2]


def test_filters(cli: Cli, worked: Bench) -> None:
    def ids(*arguments: str) -> list[str]:
        return [each["session"]["id"][:8] for each in objects(cli("sessions", "list", "--json", *arguments))]

    assert ids("--agent", "codex") == ["aaaa3333", "aaaa2222"]
    assert ids("--project", ".") == ["aaaa2222", "aaaa1111"]
    assert ids("--project", worked.project) == ["aaaa2222", "aaaa1111"]
    assert ids("--since", "2026-05-06") == ["aaaa3333", "aaaa2222"]
    assert ids("--until", "2026-05-05") == ["aaaa1111"]
    assert ids("--text", "flour weigh") == ["aaaa2222"]
    assert ids("-n", "1") == ["aaaa3333"]
    assert ids("--text", "oven 9") == ["aaaa1111"]
    none = cli("sessions", "list", "--agent", "gemini")
    assert none.code == 0 and "docs/agents.md" in none.err


def test_a_session_is_shown_with_its_turn_numbers(cli: Cli, worked: Bench) -> None:
    done = cli("sessions", "show", "aaaa1111")
    assert done.code == 0
    assert "session:  claude-code:aaaa1111-0000-4000-8000-000000000001" in done.out
    assert "state:    finished" in done.out
    assert "#2  2026-05-04 10:00:01Z  tool Bash  exit 2\n    $ make test\n" in done.out
    part = cli("sessions", "show", "claude-code:aaaa1111-0000-4000-8000-000000000001#4")
    assert "9 passed" in part.out and "bell broken" not in part.out
    assert cli("sessions", "show", "aaaa1111", "--turns", "1-2").out.count("\n#") == 2
    full = cli("sessions", "show", "aaaa1111", "--full")
    assert full.out == done.out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("show", "zzzz"), 1, "no session 'zzzz'"),
        (("show", "aaaa"), 2, "matches 3 sessions"),
        (("show", ""), 2, "name a session"),
        (("show", "aaaa1111", "--turns", "x-y"), 2, "is not a turn"),
        (("show", "aaaa1111", "--turns", "9-3"), 2, "is not a turn"),
        (("show", "aaaa1111", "--turns", "90-99"), 1, "turns 1 to 5"),
        (("list", "--agent", "nobody"), 2, "'nobody' is not an agent"),
        (("list", "--project", "nowhere"), 2, "is no project"),
        (("list", "--text", "!!"), 2, "at least one word"),
        (("search", "???"), 2, "has no words"),
        (("list", "--since", "soon"), 2, "--since: 'soon' is not a date"),
        (("list", "--until", "99d99"), 2, "is not a date"),
        (("search",), 2, "Missing argument"),
        (("search", "quantum"), 1, "No match."),
        (("stats", "--svg", "/nowhere/x.svg"), 2, "/nowhere is not a folder"),
        (("nonsense",), 2, "No such command"),
    ],
)
def test_bad_input_gets_a_clear_answer(
    cli: Cli, worked: Bench, arguments: tuple[str, ...], code: int, says: str
) -> None:
    done = cli("sessions", *arguments)
    assert (done.code, says in done.err) == (code, True), done.err


def test_search_ranks_sessions_and_their_turns(cli: Cli, worked: Bench) -> None:
    [hits] = objects(cli("sessions", "search", "flour", "--json"))
    assert hits["session"]["id"].startswith("aaaa2222")
    assert hits["turns"][0]["turn"]["number"] == 1
    text = cli("sessions", "search", 'flour OR NEAR( "').out
    assert "#1 user: Weigh the flour." in text


def test_stats_count_and_draw(cli: Cli, worked: Bench, tmp_path: Path) -> None:
    done = cli("sessions", "stats")
    assert done.code == 0
    assert done.out.splitlines()[0].split()[:4] == ["agent", "files", "sessions", "user"]
    [row] = [each for each in objects(cli("sessions", "stats", "--json")) if each["agent"] == "codex"]
    assert (row["sessions"], row["turns"], row["commands"]) == (2, {"assistant": 1, "tool": 1, "user": 2}, 1)
    target = tmp_path / "activity.svg"
    assert cli("sessions", "stats", "--svg", str(target)).code == 0
    picture = target.read_text()
    assert picture.startswith("<svg") and "claude-code" in picture
    again = cli("sessions", "stats", "--svg", str(target))
    assert again.code == 3 and "already exists" in again.err
    assert cli("sessions", "stats", "--svg", "-").out == picture


def test_how_fix_and_blame_answer_for_this_project(cli: Cli, worked: Bench) -> None:
    done = cli("how", "test")
    assert done.code == 0 and done.out.startswith("make test\n    1 of 2 succeeded")
    done = cli("fix", "error: bell broken")
    assert done.code == 0 and "edited  ~/project/oven.py" in done.out
    assert cli("fix", "-", given="$ make\nerror: bell broken\n").code == 0
    done = cli("blame", "oven.py")
    assert done.code == 0 and "asked: Make the oven beep once." in done.out
    elsewhere = cli("how", "paint")
    assert elsewhere.code == 1 and "--all" in elsewhere.err
    assert cli("how", "paint", "--all").code == 0
    assert cli("blame", "nothing.py").code == 1


def test_a_brief_with_a_hint_names_the_files_that_such_requests_led_to(cli: Cli, worked: Bench) -> None:
    cli("sessions")
    cli("remember", "I prefer pnpm")
    assert "Similar requests led to changes in `oven.py`" in cli("brief", "--hint", "make the oven beep").out
    assert "Similar requests" not in cli("brief").out


def test_a_second_look_reads_nothing_and_no_refresh_reads_not_even_what_is_new(cli: Cli, worked: Bench) -> None:
    cli("sessions")
    codex(Path(worked.folder), "aaaa4444-0000-4000-8000-000000000004", [("user", "New.")], day=8)
    assert "aaaa4444" not in cli("sessions", "--no-refresh").out
    assert "aaaa4444" in cli("sessions").out


def test_nothing_is_written_outside_the_home(cli: Cli, worked: Bench) -> None:
    before = {path: path.read_bytes() for path in Path(worked.folder).rglob("*") if path.is_file()}
    for arguments in (
        ("sessions",),
        ("sessions", "show", "aaaa1111", "--full"),
        ("how", "test"),
        ("fix", "bell"),
        ("blame", "oven.py"),
    ):
        cli(*arguments)
    after = {
        path: path.read_bytes()
        for path in Path(worked.folder).rglob("*")
        if path.is_file() and not path.is_relative_to(worked.home)
    }
    assert after == before


def test_memory_switched_off_reads_no_transcript(cli: Cli, worked: Bench) -> None:
    done = cli("sessions", BYHEART_MEMORY_ENABLED="false")
    assert done.code == 3 and "memory is off" in done.err
    assert not (Path(worked.home) / "state").exists()


def test_agents_can_be_chosen_and_folders_added(cli: Cli, worked: Bench, tmp_path: Path) -> None:
    shutil.copytree(HOMES / "generic", tmp_path / "more")
    found = objects(
        cli(
            "sessions",
            "list",
            "--json",
            BYHEART_SESSIONS_FOLDERS=str(tmp_path / "more"),
            BYHEART_SESSIONS_AGENTS="claude-code",
        )
    )
    assert sorted(each["session"]["agent"] for each in found) == ["claude-code", "my-agent"]


def test_a_session_in_use_is_active(cli: Cli, worked: Bench) -> None:
    import fcntl
    from datetime import UTC, datetime

    home = Path(worked.folder)
    path = codex(home, "aaaa5555-0000-4000-8000-000000000005", [("user", "Now.")])
    path.write_text(path.read_text().replace("2026-05-04T10:00", datetime.now(UTC).strftime("%Y-%m-%dT%H:%M")))
    locks = home / ".codex" / "thread-writer-locks"
    locks.mkdir()

    def state() -> bool:
        [row] = [
            each for each in objects(cli("sessions", "list", "--json")) if each["session"]["id"].startswith("aaaa5555")
        ]
        return bool(row["active"])

    assert state() is False
    with (locks / "aaaa5555-0000-4000-8000-000000000005.lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert state() is True
    assert state() is False


def test_progress_is_shown_on_a_terminal_and_only_there(cli: Cli, worked: Bench) -> None:
    assert "reading" not in cli("sessions").err


def test_json_of_every_session_command_is_valid(cli: Cli, worked: Bench) -> None:
    for arguments in (
        ("sessions", "list"),
        ("sessions", "show", "aaaa1111"),
        ("sessions", "search", "oven"),
        ("sessions", "stats"),
        ("how", "test"),
        ("fix", "bell broken"),
        ("blame", "oven.py"),
    ):
        json.loads(cli(*arguments, "--json").out)


def test_a_reader_that_goes_away_is_no_error(worked: Bench) -> None:
    import os
    import sys

    environment = {**os.environ, **worked.environment, "BYHEART_CHILD": "1"}
    done = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m byheart sessions show aaaa1111 | head -1"],
        env=environment,
        cwd=worked.project,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr
