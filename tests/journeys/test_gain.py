"""What memory would have spared its user, counted on their own sessions."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from scripts.transcripts import Story, write

from byheart.testing import Bench
from tests.conftest import Cli

WRONG = "error: no library targets found in package 'oven'"


def session(bench: Bench, number: int, *events: Any) -> str:
    name = f"5e55{number:04d}-4b7c-4d2e-9f10-0c0ffee0{number:04d}"
    write(Story("claude-code", name, bench.project, f"2026-05-0{number}T10:00:00", list(events)), Path(bench.folder))
    return name


@pytest.fixture
def met(bench: Bench) -> Bench:
    """Three sessions that ran into the same thing, and one that did not."""
    for number in (1, 2, 3):
        session(
            bench,
            number,
            ("user", f"Mend part {number} of the oven."),
            ("run", f"cargo test part{number} --lib", WRONG, 101),
            ("run", f"cargo test part{number}", "test result: ok. 3 passed; 0 failed", 0),
        )
    session(
        bench,
        4,
        ("user", "Mend the bell."),
        ("edit", "bell/a.py"),
        ("run", "cargo test bell", "test result: ok. 3 passed; 0 failed", 0),
    )
    return bench


def test_error_counts_from_the_second_session_on_with_what_helped(cli: Cli, met: Bench) -> None:
    assert cli("learn").code == 0
    found: Any = cli("gain", "--weeks", "520", "--json").json
    assert [(each["session"][:8], each["error"], each["is_spelling"]) for each in found["again"]] == [
        ("5e550002", WRONG, True),
        ("5e550003", WRONG, True),
    ]
    assert all("without `--lib`" in each["advice"] and each["calls"] == 1 for each in found["again"])
    assert sum(found["by_week"]) == 2 and sum(found["sessions"].values()) == 4
    assert found["minutes"] > 0 and found["briefed"] == 0
    told = cli("gain", "--weeks", "520").out
    assert "2 sessions met 2 errors that an earlier session had already solved" in told
    assert "without `--lib`" in told


def test_nothing_is_told_where_there_is_nothing(cli: Cli, bench: Bench) -> None:
    done = cli("gain")
    assert done.code == 0 and "No sessions from the last 8 weeks were learnt from yet." in done.out
    session(bench, 1, ("user", "Mend it."), ("edit", "a.py"), ("run", "make test", "3 passed", 0))
    cli("learn")
    assert "No error came back in 1 session" in cli("gain", "--weeks", "520").out


def test_session_that_was_told_and_did_so_counts_as_spared(cli: Cli, met: Bench) -> None:
    assert cli("learn").code == 0
    name = "5e550005-4b7c-4d2e-9f10-0c0ffee00005"
    said = f'{{"session_id": "{name}", "cwd": "{met.project}", "hook_event_name": "SessionStart", "source": "startup"}}'
    assert (
        "without `--lib`" in cli("hook", "session-start", "--client", "claude-code", given=said, BYHEART_CHILD="").out
    )
    session(
        met,
        5,
        ("user", "Mend part 3 again."),
        ("edit", "oven/a.py"),
        ("run", "cargo test part3", "test result: ok. 3 passed; 0 failed", 0),
    )
    assert cli("learn").code == 0
    found: Any = cli("gain", "--weeks", "520", "--json").json
    assert (found["briefed"], found["followed"], len(found["again"])) == (1, 1, 2)


def test_picture_is_written_once_and_never_over_a_file(cli: Cli, met: Bench, tmp_path: Path) -> None:
    cli("learn")
    place = tmp_path / "gain.svg"
    assert cli("gain", "--weeks", "520", "--svg", str(place)).code == 0
    bars = [each for each in ET.fromstring(place.read_text(encoding="utf-8")).iter() if each.tag.endswith("rect")]
    assert any(float(each.get("height", "0").rstrip("%")) > 0 for each in bars if each.get("fill") != "white")
    assert cli("gain", "--svg", str(place)).code == 3
