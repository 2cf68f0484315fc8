"""The first things that people type: the bare command, help, a version, typos, names by halves, settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.transcripts import Story, write

from byheart.interfaces import render
from byheart.interfaces.cli import group
from byheart.testing import Bench
from tests.conftest import Cli


def test_bare_command_says_where_memory_stands_and_what_to_do_next(bench: Bench, cli: Cli) -> None:
    fresh = cli()
    assert fresh.code == 0 and "byheart init" in fresh.out
    cli("remember", "I prefer pnpm")
    cli("brief", "--prepare")
    told = cli()
    assert told.code == 0 and "1 line for the next session" in told.out and "byheart brief" in told.out


@pytest.mark.parametrize("words", [["--version"], ["version"]])
def test_version(cli: Cli, words: list[str]) -> None:
    assert cli(*words).out.startswith("byheart 0.")


@pytest.mark.parametrize("words", [["help"], ["--help"], ["-h"]])
def test_help_is_grouped_and_no_line_of_it_is_cut_at_80_columns(cli: Cli, words: list[str]) -> None:
    done = cli(*words, COLUMNS="80")
    assert done.code == 0
    assert all(f"{title}:" in done.out for title in group.SECTIONS)
    assert "..." not in done.out.partition("Start here")[2]
    assert max(map(len, done.out.splitlines())) <= 80
    shown = {line.split()[0] for line in done.out.splitlines() if line.startswith("  ") and line.strip()}
    assert set(group.COMMANDS) - {"work"} <= shown


def test_every_command_has_its_line() -> None:
    assert set(group.COMMANDS) - {"work"} == set(group.LINES)
    assert all(len(line) <= 60 and line[0].isupper() and not line.endswith(".") for line in group.LINES.values())


def test_help_of_one_command(cli: Cli) -> None:
    assert "remember" in cli("help", "remember").out.partition("\n")[0]
    assert "accept" in cli("help", "inbox", "accept").out
    assert cli("help", "nonsense").code == 2


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("recal", "recall"),
        ("rember", "remember"),
        ("search", "recall"),
        ("setup", "init"),
        ("ui", "open"),
        ("delete", "forget"),
    ],
)
def test_mistyped_command_is_answered_with_the_nearest(cli: Cli, typed: str, meant: str) -> None:
    done = cli(typed, "x")
    assert done.code == 2 and f"Did you mean {meant}?" in done.err


def test_agent_is_known_by_the_beginning_of_its_name_and_a_typo_by_the_nearest(bench: Bench, cli: Cli) -> None:
    done = cli("install", "claude", "--dry-run")
    assert done.code == 0 and "claude-code" in done.out
    wrong = cli("install", "cladue-code")
    assert wrong.code == 2 and "Did you mean claude-code" in wrong.err
    assert cli("status", "nobody-at-all").code == 2


def test_a_setting_is_shown_changed_checked_and_put_back(bench: Bench, cli: Cli) -> None:
    shown = cli("settings", "brief.tokens")
    assert "brief.tokens = 5000" in shown.out and "Allowed:" in shown.out and "default" in shown.out
    assert cli("settings", "brief.tokens", "3000").code == 0
    place = Path(bench.home, "config.toml")
    assert "tokens = 3000" in place.read_text()
    place.write_text(place.read_text() + "# a remark of mine\n")
    assert cli("settings", "moments.rules", "ask").code == 0
    assert "# a remark of mine" in place.read_text() and 'rules = "ask"' in place.read_text()
    assert cli("settings", "brief.tokens", "--unset").code == 0
    assert "3000" not in place.read_text() and "# a remark of mine" in place.read_text()
    assert cli("settings", "brief.tokens", "many").code == 2
    wrong = cli("settings", "brief.token", "5")
    assert wrong.code == 2 and "Did you mean brief.tokens" in wrong.err
    assert cli("settings", "enabled", "perhaps").code == 2


@pytest.mark.parametrize(
    "words",
    [
        ["inbox"],
        ["jobs"],
        ["log"],
        ["profile"],
        ["rules"],
        ["list"],
        ["journal", "list"],
        ["sessions"],
        ["sessions", "stats"],
        ["show"],
        ["review"],
        ["schedule", "show"],
    ],
)
def test_an_empty_listing_is_no_failure(cli: Cli, words: list[str]) -> None:
    done = cli(*words)
    assert done.code == 0, done.err
    assert done.err or done.out, "it says that there is nothing"


def test_a_search_that_finds_nothing_says_so_by_its_exit_code(cli: Cli) -> None:
    assert cli("recall", "zirconium").code == 1
    assert cli("sessions", "search", "zirconium").code == 1


@pytest.mark.parametrize(
    ("line", "columns", "wanted"),
    [
        ("one two three", 40, "one two three"),
        ("Saved: I prefer pnpm over everything else", 24, "Saved: I prefer pnpm\n  over everything else"),
        ("  byheart brief   what the next session is told", 33, "  byheart brief   what the next\n" + " " * 18 + "session is told"),
        ("~/a/very/long/path/that/is/one/word/and/stays", 24, "~/a/very/long/path/that/is/one/word/and/stays"),
        ("\x1b[1mbold words\x1b[0m stay whole here", 22, "\x1b[1mbold words\x1b[0m stay whole\n  here"),
        ("日本語の文 日本語の文 日本語の文", 24, "日本語の文 日本語の文\n  日本語の文"),
    ],
)  # fmt: skip
def test_lines_are_broken_between_words(line: str, columns: int, wanted: str) -> None:
    assert render.wrapped(line, columns) == wanted


def test_changed_setting_counts_for_the_next_brief(bench: Bench, cli: Cli) -> None:
    for number in range(7):
        cli("remember", f"never touch the oven door number {number} while it is hot, ever")
    cli("brief", "--prepare")
    assert cli("brief").out.count("oven door") > 2
    cli("settings", "brief.tokens", "200")
    assert cli("brief").out.count("oven door") <= 2
    cli("settings", "--unset", "brief.tokens")
    assert cli("brief").out.count("oven door") > 2


def test_line_of_a_list_is_forgotten_by_what_it_says(bench: Bench, cli: Cli) -> None:
    cli("remember", "I prefer pnpm")
    line = next(each for each in cli("brief").out.split("\n") if each.startswith("- ") and "pnpm" in each)
    done = cli("forget", line, "--yes")
    assert done.code == 0 and "pnpm" not in cli("list").out, done.err


def test_closed_standard_input_is_nobodys_answer(bench: Bench, cli: Cli) -> None:
    cli("remember", "I prefer pnpm")
    program = [sys.executable, "-m", "byheart"]
    for words in (["forget", "pnpm"], ["init"], ["remember", "-"], ["memory", "clear"], ["trust"]):
        done = subprocess.run(
            ["sh", "-c", 'exec "$@" <&-', "sh", *program, *words],
            capture_output=True, text=True, check=False, cwd=bench.project, env={**os.environ, **bench.environment},
        )  # fmt: skip
        assert "internal error" not in done.stderr and done.returncode in (0, 1, 2, 3), (words, done.stderr)
    assert "pnpm" in cli("list").out


def test_what_is_said_besides_the_lines_is_counted_too(bench: Bench, cli: Cli) -> None:
    cli("remember", "I prefer pnpm")
    before = json.loads(cli("brief", "--json").out)["tokens"]
    Path(bench.project, ".byheart.toml").write_text("nonsense = [")
    after = json.loads(cli("brief", "--json").out)
    assert "cannot be used" in after["text"] and after["tokens"] > before


def test_nothing_to_trust_asks_nothing(bench: Bench, cli: Cli) -> None:
    done = cli("trust")
    assert done.code == 0 and "nothing to trust" in done.out


def test_fix_names_a_session_by_as_much_as_finds_it(bench: Bench, cli: Cli) -> None:
    events: list[tuple[object, ...]] = [
        ("user", "Mend the bell."),
        ("run", "make bell", "Error: bell broken", 2),
        ("edit", "bell.py"),
        ("run", "make bell", "rings", 0),
    ]
    name = "5e550001-4b7c-4d2e-9f10-0c0ffee00001"
    write(Story("claude-code", name, bench.project, "2026-03-10T10:00:00", events, extra={}), Path(bench.folder))
    out = cli("fix", "bell broken").out
    assert "claude-code:5e550001#" in out and name not in out
    assert cli("sessions", "show", "claude-code:5e550001#2").code == 0


def test_own_words_come_before_what_was_learnt(bench: Bench, cli: Cli) -> None:
    for number in range(3):
        events: list[tuple[object, ...]] = [("user", f"Mend bell {number}."), ("edit", "bell.py"), ("run", "pnpm dev --port 5180", "ready in 300 ms", 0), ("run", "pnpm build", "built in 2 s", 0)]  # fmt: skip
        name = f"5e55000{number}-4b7c-4d2e-9f10-0c0ffee00001"
        write(Story("claude-code", name, bench.project, f"2026-03-1{number}T10:00:00", events, extra={}), Path(bench.folder))  # fmt: skip
    cli("learn")
    cli("remember", "we use pnpm in this project, never npm")
    first = cli("recall", "which package manager").out.split("\n")[0]
    assert "never npm" in first


@pytest.mark.parametrize("text", ["ok", "Thanks!", "...", "yes"])
def test_word_that_says_nothing_is_not_remembered(cli: Cli, text: str) -> None:
    done = cli("remember", text)
    assert done.code == 2 and "nothing to remember" in done.err
    assert text not in cli("list").out


def test_key_that_was_made_of_what_it_says_is_not_told(cli: Cli) -> None:
    cli("remember", "--key", "tooling.make-draft-prs", "--value", "Never make draft prs.")
    cli("remember", "--key", "ui.theme", "--value", "dark")
    told = cli("brief").out
    assert "make-draft-prs" not in told and "Never make draft prs" in told and "ui.theme: dark" in told
