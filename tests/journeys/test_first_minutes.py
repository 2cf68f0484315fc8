"""byheart init: from nothing to a first brief, asking once."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

from scripts.sample import make

from byheart.testing import Bench
from tests.conftest import Cli
from tests.learning.world import World, fixed


def worked(bench: Bench) -> None:
    """A home with sessions of this project, and an agent."""
    home = World(Path(bench.folder))
    for number in range(3):
        home.session(
            ("user", "Mend the bell. From now on always use zirconium here, never npm."),
            *fixed(),
            began=f"2026-05-0{number + 4}T10:00:00",
        )


def test_init_yes_connects_learns_and_shows_the_brief(bench: Bench, cli: Cli) -> None:
    worked(bench)
    memory = Path(bench.folder, ".hermes/memories/MEMORY.md")
    memory.parent.mkdir(parents=True)
    memory.write_text("likes wallabies\n")
    done = cli("init", "--yes")
    assert done.code == 0, done.err
    out = done.out
    assert "Will read 3 sessions" in out and "claude-code 3" in out
    assert "~/.claude/settings.json" in out
    assert re.search(r"^Connected: .*claude-code", out, re.MULTILINE)
    assert "Imported 1 memory of hermes's own" in out
    assert "Learnt from 3 of 3 sessions" in out
    assert "zirconium" in out.split("Highlights:")[1].split("The next session in")[0]
    brief = out.split("The next session in project starts with:")[1]
    assert "zirconium" in brief and "make test" in brief
    for word in ("byheart open", "byheart brief --explain", "byheart uninstall --all"):
        assert word in out
    assert tomllib.loads(Path(bench.home, "config.toml").read_text())["learning"]["enabled"] is True
    assert "hook session-start" in Path(bench.folder, ".claude/settings.json").read_text()
    again = cli("init", "--yes")
    assert again.code == 0 and "already connected" in again.out


def test_init_without_yes_in_a_script_changes_no_agent(bench: Bench, cli: Cli) -> None:
    worked(bench)
    done = cli("init")
    assert done.code == 0
    assert "Will read 3 sessions" in done.out and "byheart init --yes" in done.err
    assert not Path(bench.folder, ".claude/settings.json").exists()
    assert not list(Path(bench.home).glob("projects/*/handbook"))
    assert not Path(bench.home, "config.toml").exists()


def test_init_leaves_out_what_is_not_wanted(bench: Bench, cli: Cli) -> None:
    worked(bench)
    cli("init", "--yes", "--no-install")
    assert not Path(bench.folder, ".claude/settings.json").exists() and not Path(bench.home, "config.toml").exists()
    assert list(Path(bench.home).glob("projects/*/handbook"))
    cli("memory", "clear", "--yes")
    cli("init", "--yes", "--no-learn")
    assert Path(bench.folder, ".claude/settings.json").exists()
    assert not list(Path(bench.home).glob("projects/*/handbook/MEMORY.md"))


def test_settings_that_are_there_stay(bench: Bench, cli: Cli) -> None:
    worked(bench)
    config = Path(bench.home, "config.toml")
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("# mine\n[learning] # bounds\nworkers = 1\n\n[recall]\nresults = 3\n")
    assert cli("init", "--yes").code == 0
    text = config.read_text()
    assert text == "# mine\n[learning] # bounds\nenabled = true\nworkers = 1\n\n[recall]\nresults = 3\n"


def test_learning_that_somebody_switched_off_stays_off(bench: Bench, cli: Cli) -> None:
    worked(bench)
    config = Path(bench.home, "config.toml")
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[learning]\nenabled = false\n")
    done = cli("init", "--yes")
    assert done.code == 4 and "sets learning.enabled to false" in done.err
    assert config.read_text() == "[learning]\nenabled = false\n"


def test_init_where_nothing_is(bench: Bench, cli: Cli) -> None:
    done = cli("init", PATH="/nonexistent")
    assert done.code == 0
    assert "No coding agents found" in done.out and "byheart init --yes" in done.err
    assert not os.path.exists(bench.home), "nothing is made unasked"
    told: Any = json.loads(cli("init", "--json", PATH="/nonexistent").out)
    assert told["survey"]["transcripts"] == {}


def test_brief_of_another_project_where_this_one_is_new(bench: Bench, cli: Cli, tmp_path: Path) -> None:
    worked(bench)
    fresh = tmp_path / "fresh"
    (fresh / ".git").mkdir(parents=True)
    done = cli("init", "--yes", folder=str(fresh))
    assert done.code == 0
    assert "The next session in project starts with:" in done.out and "zirconium" in done.out


def test_init_on_a_terminal_asks_once(bench: Bench) -> None:
    worked(bench)
    for answer, connected in (("n\n", False), ("\n", True)):
        out = _on_terminal(bench, answer)
        assert out.count("Continue?") == 1
        assert Path(bench.folder, ".claude/settings.json").exists() is connected


def _on_terminal(bench: Bench, answer: str) -> str:
    """What init shows on a terminal where somebody types this."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, **bench.environment, "BYHEART_CHILD": "1", "TERM": "dumb"}
    child = subprocess.Popen([sys.executable, "-m", "byheart", "init"], cwd=bench.project, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)  # fmt: skip
    os.close(theirs)
    shown, typed, deadline = "", False, time.monotonic() + 90
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                part = os.read(ours, 65_536)
            except OSError:
                break
            if not part:
                break
            shown += part.decode("utf-8", "replace")
        elif child.poll() is not None:
            break
        if not typed and "Continue?" in shown:
            os.write(ours, answer.encode())
            typed = True
    child.wait(timeout=30)
    os.close(ours)
    return shown


def test_sample_gives_a_useful_first_brief(bench: Bench, cli: Cli) -> None:
    sample = Path(bench.folder, "sample")
    make(sample)
    done = cli("init", "--yes", "--no-install", HOME=str(sample))
    assert done.code == 0, done.err
    assert "Highlights:" in done.out and "## How things are done here" in done.out
