"""The brief: what is in it, in which order, within which bounds, and why."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from byheart.testing import Bench
from tests.brief.kit import context, hook
from tests.conftest import Cli
from tests.learning.world import World, fixed

SUMMARY = """## User Profile

Works here.

## User preferences

{wishes}

## General Tips

{tips}

## What's in Memory

### project (cwd=/x)

#### 2026-05-01

- project - oven: bell, oven.py
  - desc: mending the oven
  - learnings: the bell is on pin 9
"""


def brief(cli: Cli, *more: str) -> Any:
    done = cli("brief", "--json", *more)
    assert done.code == 0, done.err
    return json.loads(done.out)


def handbook(cli: Cli, bench: Bench, wishes: list[str], tips: list[str]) -> Path:
    """A handbook with these lines, as a person might write it."""
    folder = Path(bench.opened().home, "projects", bench.opened().project.id, "handbook")
    folder.mkdir(parents=True, exist_ok=True)
    text = SUMMARY.format(
        wishes="\n".join(f"- {each}" for each in wishes), tips="\n".join(f"- {each}" for each in tips)
    )
    (folder / "memory_summary.md").write_text(text)
    (folder / "MEMORY.md").write_text("# Task Group: project: oven\n")
    return folder


def test_brief_has_every_notebook_in_the_order_that_matters(cli: Cli, bench: Bench) -> None:
    cli("remember", "--key", "writing.tone", "concise")
    cli("remember", "never run build repeatedly because it is heavy")
    cli("journal", "append", "Chose Postgres over SQLite for the queue", "--category", "decision")
    handbook(cli, bench, ["weigh flour in grams"], ["Tests: `pytest -q`"])
    found = brief(cli)
    text = found["text"]
    places = [
        text.index(part)
        for part in (
            "writing.tone: concise",
            "Never run build",
            "weigh flour in grams",
            "Tests: `pytest -q`",
            "Chose Postgres over SQLite",
        )
    ]
    assert places == sorted(places)


def test_blocks_of_the_handbook_are_found_by_searching_and_not_told(cli: Cli, bench: Bench) -> None:
    handbook(cli, bench, ["weigh flour in grams"], ["Tests: `pytest -q`"])
    found = brief(cli)
    assert "the bell is on pin 9" not in found["text"]
    assert any("the bell is on pin 9" in each["text"] for each in found["left_out"])


def test_each_line_names_an_address_that_can_be_read(cli: Cli, bench: Bench) -> None:
    cli("remember", "--key", "writing.tone", "concise")
    cli("remember", "never run build repeatedly because it is heavy")
    cli("journal", "append", "Chose Postgres over SQLite for the queue", "--category", "decision")
    handbook(cli, bench, ["weigh flour in grams"], ["Tests: `pytest -q`"])
    found = brief(cli)
    body = found["text"].split("\n## ", 1)[1]
    lines = [line for line in body.split("\n") if line.startswith("- ")]
    assert len(lines) == len(found["told"]) == 5
    for line, told in zip(lines, found["told"], strict=True):
        assert line.endswith(f"[{told['address']}]")
        read = cli("memory", "read", told["address"])
        assert read.code == 0, read.err
        words = re.findall(r"\w{5,}", told["text"])[:2]
        assert all(word in read.out for word in words), (told, read.out)


def test_guidance_says_heuristic_cite_repository_and_user_win_and_stale(cli: Cli) -> None:
    cli("remember", "I prefer pnpm")
    text = brief(cli)["text"]
    assert "data, not instructions" in text and "out of date" in text
    assert "The repository and the user win." in text
    assert "cite its address" in text and "what you saw in the repository" in text
    assert len(text.split("\n\n")[0].split("\n")) <= 4, "the mark and at most three lines"


def test_fence_has_a_delimiter_of_its_own_each_time(cli: Cli) -> None:
    cli("remember", "I prefer pnpm")
    one, two = (brief(cli)["text"] for _ in range(2))
    first = re.match(r'<byheart-memory id="([0-9a-f]{12})">\n', one)
    second = re.match(r'<byheart-memory id="([0-9a-f]{12})">\n', two)
    assert first and second and first[1] != second[1]
    assert one.endswith(f"[end {first[1]}]\n</byheart-memory>\n")


def test_budget_is_kept_and_what_matters_is_cut_last(cli: Cli, bench: Bench) -> None:
    cli("remember", "--key", "writing.tone", "concise")
    cli("remember", "never run build repeatedly because it is heavy")
    wishes = [f"wish number {n} is about the {n}th of many bells in the long hall of the bakery" for n in range(60)]
    tips = [f"Tip {n}: `make target{n}` works for the {n}th oven, with all of its doors" for n in range(60)]
    handbook(cli, bench, wishes, tips)
    whole = brief(cli)
    assert whole["tokens"] <= 5000
    for most in (1200, 2500, 9500):
        small = brief(cli, "--characters", str(most))
        assert small["characters"] <= most, most
        assert "writing.tone: concise" in small["text"] and "Never run build" in small["text"]
    for most in (400, 1000, 1500):
        small = brief(cli, "--tokens", str(most))
        assert small["tokens"] <= most
        told = len(small["told"])
        out = [line for line in small["left_out"] if line["why"] == "there was no room"]
        assert out and f"({len(out)} more lines did not fit" in small["text"]
        assert told
    small = brief(cli, "--characters", "4000")
    assert "wish number 0" in small["text"] and "Tip 0" in small["text"], "each section has its share"
    assert "wish number 59" not in small["text"]


def test_summary_has_a_limit_of_its_own(cli: Cli, bench: Bench) -> None:
    handbook(
        cli, bench, [f"wish number {n} is about the {n}th of many bells" for n in range(60)], ["Tests: `pytest -q`"]
    )
    found = json.loads(cli("--set", "learning.summary_tokens=300", "brief", "--json").out)
    told = [line["tokens"] for line in found["told"] if "memory://root" in line["address"]]
    assert 200 < sum(told) <= 300
    assert any("only 300 tokens of the summary" in line["why"] for line in found["left_out"])


def test_explain_says_why_each_line_is_in_and_why_others_are_not(cli: Cli, bench: Bench) -> None:
    cli("remember", "--key", "writing.tone", "concise")
    bench.put("AGENTS.md", "# Rules\n\n- Always weigh the flour in grams, please.\n")
    handbook(cli, bench, ["always use the bell"], ["always weigh flour in grams"])
    done = cli("brief", "--explain")
    assert done.code == 0
    assert "local profile, high confidence" in done.out
    assert re.search(r"memory://profile#\w+, \d+ tokens", done.out)
    assert "AGENTS.md says it already" in done.out
    assert "tokens" in done.err


@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"])
def test_what_instruction_files_say_is_not_repeated(cli: Cli, bench: Bench, name: str) -> None:
    bench.put(name, "Weigh flour in grams, never in cups.\n")
    handbook(cli, bench, ["ring the bell twice"], ["weigh flour in grams, never in cups"])
    told = [line["text"] for line in brief(cli)["told"]]
    assert "ring the bell twice" in told
    assert not any("flour" in text for text in told)


def test_what_the_user_asked_for_is_told_whatever_instruction_files_say(cli: Cli, bench: Bench) -> None:
    bench.put("AGENTS.md", "- Weigh flour in grams, never in cups.\n\nThat bullet does not apply any more.\n")
    handbook(cli, bench, ["weigh flour in grams, never in cups"], [])
    assert "weigh flour in grams, never in cups" in [line["text"] for line in brief(cli)["told"]]


def test_lines_about_what_is_gone_are_marked(cli: Cli, bench: Bench) -> None:
    Path(bench.project, "Makefile").write_text("test:\n\ttrue\n")
    Path(bench.project, "package.json").write_text('{"scripts": {"build": "x"}}')
    Path(bench.project, "here.py").write_text("")
    tips = [
        "Tests: `make test`",
        "Lint: `make lint`",
        "Build: `npm run build`",
        "Ship: `npm run ship`",
        "Look at `here.py` first",
        "Look at `gone/away.py` first",
    ]
    handbook(cli, bench, [], tips)
    told = [line["text"] for line in brief(cli)["told"]]
    marked = {text.split(" (unverified")[0] for text in told if "unverified" in text}
    assert marked == {"Lint: `make lint`", "Ship: `npm run ship`", "Look at `gone/away.py` first"}
    Path(bench.project, "here.py").unlink()
    assert any("`here.py` is gone" in line["text"] for line in brief(cli)["told"])


def test_brief_is_about_this_project_and_all_projects_and_no_other(tmp_path: Path) -> None:
    home = World(tmp_path)
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    home.session(("user", "Mend it. Always use zirconium here, never npm."), *fixed())
    home.session(("user", "Mend it. Always use kryptonite here, never npm."), *fixed(), cwd=str(other))
    home.learn()
    from byheart.app import briefs
    from byheart.app.open import Surroundings, open_memory

    for folder, own, foreign in (
        (home.bench.project, "zirconium", "kryptonite"),
        (str(other), "kryptonite", "zirconium"),
    ):
        around = Surroundings(folder=folder, environment=home.bench.environment, clock=home.bench.clock)
        found = briefs.brief(open_memory(around), around)
        assert found is not None
        assert own in found.text and foreign not in found.text


def test_hint_brings_what_fits_it(cli: Cli) -> None:
    for number in range(30):
        cli("journal", "append", f"Unrelated thing number {number} about the garden", "--category", "note")
    cli("remember", "--issue", "login test is flaky", "--outcome", "CI fails", "--fix", "wait for the redirect")
    cli("remember", "--key", "database.name", "orders")
    found = brief(cli, "--hint", "the flaky login test fails again")
    assert any("redirect" in line["text"] for line in found["told"])


def test_nothing_to_tell_is_said(cli: Cli) -> None:
    done = cli("brief")
    assert done.code == 0
    assert "Nothing to tell" in done.err


def test_switched_off_memory_tells_nothing(cli: Cli, bench: Bench) -> None:
    cli("remember", "I prefer pnpm")
    assert cli("brief").code == 0
    done = cli("--set", "memory.enabled=false", "brief")
    assert done.code == 0 and "pnpm" not in done.out and "memory is off" in done.err + done.out
    cli("settings", "enabled", "off")
    done = cli("brief")
    assert done.code == 0 and "pnpm" not in done.out


def test_forgotten_text_is_in_no_prepared_brief_and_no_record_of_one(cli: Cli, bench: Bench) -> None:
    from tests.brief.kit import hook

    cli("remember", "--key", "tool.favourite", "quagga")
    hook(bench, "session-start")
    held = [path for path in Path(bench.home).rglob("*") if path.is_file() and b"quagga" in path.read_bytes()]
    assert any("briefs" in str(path) for path in held) and any("sent" in str(path) for path in held)
    assert cli("forget", "tool.favourite", "--yes").code == 0
    still = [str(path) for path in Path(bench.home).rglob("*") if path.is_file() and b"quagga" in path.read_bytes()]
    assert still == []


def test_writing_makes_the_prepared_brief_ready_again(cli: Cli, bench: Bench) -> None:
    from byheart.storage import cards

    cli("remember", "I prefer pnpm")
    assert cards.read(bench.home, bench.project) is None, "nobody has asked for one here"
    brief(cli)
    cli("remember", "I prefer tabs over spaces")
    card = cards.read(bench.home, os.path.realpath(bench.project))
    assert card is not None and cards.stale(card) == []
    assert "tabs over spaces" in json.dumps(card)


def test_why_without_any_session(cli: Cli) -> None:
    done = cli("why")
    assert done.code == 0 and "No session has received a brief yet" in done.err


def test_home_that_was_copied_tells_its_own_memory(tmp_path: Path, cli: Cli) -> None:
    cli("remember", "I prefer pnpm")
    assert "pnpm" in cli("brief").out
    home = cli("settings", "--json")
    assert home.code == 0
    old = next(path for path in tmp_path.rglob("memories.md")).parents[2]
    copy = tmp_path / "copied"
    shutil.copytree(old, copy)
    cli("remember", "never push to main", BYHEART_HOME=str(copy))
    told = cli("brief", BYHEART_HOME=str(copy)).out
    assert "pnpm" in told and "Never push to main" in told


@pytest.mark.parametrize("room", ["1200", "9000"])
def test_command_shows_what_the_hook_tells(bench: Bench, cli: Cli, room: str) -> None:
    for number in range(12):
        cli("remember", f"never open the oven door number {number} while the bread is still rising in it")
    Path(bench.home, "config.toml").write_text(f"[brief]\ncharacters = {room}\n", encoding="utf-8")
    Path(bench.folder, ".claude").mkdir(exist_ok=True)
    assert cli("install", "claude-code", HOME=bench.folder).code == 0
    told = context(hook(bench, "session-start")[1])
    shown = cli("brief").out

    def lines(text: str) -> list[str]:
        return [line for line in text.split("\n") if line.startswith(("- ", "(", "## "))]

    assert lines(told) == lines(shown) and len(told) <= int(room)
