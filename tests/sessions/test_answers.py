"""What the work shows: ten cases as they happened, and the rules behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from byheart.domain.sessions import Which
from byheart.language import lasting
from byheart.sessions.facts import commands, errors
from byheart.sessions.refresh import refresh
from byheart.sessions.sessions import Sessions
from tests.agents.excerpts import Step, claude, codex
from tests.sessions.test_refresh import tools

NOW = datetime(2026, 5, 10, tzinfo=UTC)
EVERYWHERE = Which()


def learnt(folder: Path, *sessions: Iterable[Step], write: Callable[..., Path] = claude) -> Sessions:
    """The sessions that these steps make, read into an index."""
    for number, steps in enumerate(sessions):
        write(folder, f"aaaa{number:04}-0000-4000-8000-00000000000{number}", steps, day=number + 1)
    held = tools(folder, folder / "index.db")
    refresh(held)
    return Sessions(held, lambda: NOW)


# Ten cases seen in real sessions, told again with the same commands and outputs in few lines.


@pytest.mark.parametrize("write", [claude, codex])
def test_a_wrapper_that_does_not_know_the_program_is_left_out(tmp_path: Path, write: Callable[..., Path]) -> None:
    sessions = learnt(
        tmp_path,
        [
            ("user", "run the tests"),
            (
                "rtk bun run test 2>&1 | tail -20",
                "error: unrecognized subcommand 'bun'\n\nUsage: rtk [OPTIONS] <COMMAND>",
                2,
            ),
            ("bun run test 2>&1 | tail -20", " 1346 pass\n 0 fail\nRan 1346 tests across 83 files.", 0),
        ],
        write=write,
    )
    [fix] = sessions.fix("error: unrecognized subcommand 'bun'", EVERYWHERE, 5)
    assert fix.commands == ("bun run test 2>&1 | tail -20",)
    assert fix.passed and fix.edited == ()


def test_going_to_the_right_folder_is_a_fix(tmp_path: Path) -> None:
    sessions = learnt(
        tmp_path,
        [
            (
                "cd src && go build -o ./bin/app.exe . && ls bin/",
                "go: cannot find main module, but found .git/config in D:\\app\n\tto create a module there, run:\n\tcd .. && go mod init",
                1,
            ),
            ("cd /d/app/src && go build -o ./bin/app.exe . && ls bin/", "app.exe", 0),
        ],
    )
    [fix] = sessions.fix("go: cannot find main module, but found .git/config in /elsewhere", EVERYWHERE, 5)
    assert fix.commands == ("cd /d/app/src && go build -o ./bin/app.exe . && ls bin/",)


def test_left_over_clones_that_break_the_tests_are_removed(tmp_path: Path) -> None:
    sessions = learnt(
        tmp_path,
        [
            (
                "git commit -m 'Add badge'",
                "error: Cannot find module '@octokit/rest' from '/x/tmp/clones/agents-eval-q6b9z3/src/github/timeline.test.ts'",
                1,
            ),
            ("ls tmp/clones", "agents-eval-q6b9z3", 0),
            ("rm -rf tmp/clones/agents-eval-q6b9z3", "", 0),
            ("git commit -m 'Add badge'", "[main 1a2b3c4] Add badge", 0),
        ],
    )
    [fix] = sessions.fix("Cannot find module '@octokit/rest'", EVERYWHERE, 5)
    assert fix.commands == ("rm -rf tmp/clones/agents-eval-q6b9z3",)
    assert fix.proof == "git commit -m 'Add badge'"


def test_a_missing_program_is_installed(tmp_path: Path) -> None:
    sessions = learnt(
        tmp_path,
        [
            (
                "bun run lint",
                '$ biome check .\n/usr/bin/bash: line 1: biome: command not found\nerror: script "lint" exited with code 127',
                127,
            ),
            ("bun install", "4 packages installed", 0),
            ("bun run lint", "$ biome check .\nChecked 120 files in 40ms. No fixes applied.", 0),
        ],
        write=codex,
    )
    [fix] = sessions.fix("biome: command not found", EVERYWHERE, 5)
    assert fix.commands == ("bun install",)


def test_a_failing_test_is_fixed_by_an_edit(tmp_path: Path) -> None:
    sessions = learnt(
        tmp_path,
        [
            (
                "go test ./svg/ 2>&1 | tail -40",
                "--- FAIL: TestFillBoxTracksInk (0.00s)\n    svg_test.go:41: got 3, want 4\nFAIL\nFAIL\tapp/svg\t0.012s",
                0,
            ),
            ("sed -n 1,80p svg/svg.go", "package svg", 0),
            ("edit", "/app/svg/svg.go"),
            ("go test ./svg/ 2>&1 | tail -40", "ok  \tapp/svg\t0.011s", 0),
        ],
    )
    [fix] = sessions.fix("--- FAIL: TestFillBoxTracksInk (0.01s)", EVERYWHERE, 5)
    assert fix.edited == ("/app/svg/svg.go",)
    assert fix.commands == ()


def test_another_path_is_a_fix(tmp_path: Path) -> None:
    sessions = learnt(
        tmp_path,
        [
            (
                "mkdir -p ~/.pi/themes && cp $(npm root -g)/pi/dist/theme/dark.json ~/.pi/themes/custom.json",
                "cp: /opt/homebrew/lib/node_modules/pi/dist/theme/dark.json: No such file or directory",
                1,
            ),
            ("mkdir -p ~/.pi/themes && cp packages/pi/src/theme/dark.json ~/.pi/themes/custom.json", "", 0),
        ],
    )
    [fix] = sessions.fix("cp: dark.json: No such file or directory", EVERYWHERE, 5)
    assert fix.commands == ("mkdir -p ~/.pi/themes && cp packages/pi/src/theme/dark.json ~/.pi/themes/custom.json",)


def test_a_subcommand_that_is_called_otherwise(tmp_path: Path) -> None:
    sessions = learnt(
        tmp_path,
        [
            ("bd unlink av-1 av-2", 'Error: unknown command "unlink" for "bd"', 1),
            ("bd dep --help", "Usage: bd dep <add|remove>", 0),
            ("bd dep remove av-1 av-2", "removed", 0),
            ("bd unlink --help", 'Error: unknown command "unlink" for "bd"', 1),
        ],
        write=codex,
    )
    # It came up again at the end, so nothing had made it go away.
    assert sessions.fix('unknown command "unlink" for "bd"', EVERYWHERE, 5) == []


def test_how_tests_are_run_comes_from_runs_that_worked(tmp_path: Path) -> None:
    good = ("bun run test 2>&1 | tail -20", " 1226 pass\n 0 fail", 0)
    sessions = learnt(
        tmp_path,
        [good, good, ("bun run test 2>&1 | tail -5", " 1225 pass\n 1 fail", 0)],
        [
            good,
            ("npm test", 'npm error Missing script: "test"', 1),
            ("rtk bun run test", "error: unrecognized subcommand 'bun'", 2),
        ],
    )
    uses = sessions.how("how do we run the tests?", EVERYWHERE, 5)
    assert uses[0].form == "bun run test"
    # The run behind a pipe that said "1 fail" is no success, whatever the pipe's own status.
    assert (uses[0].runs, uses[0].succeeded, uses[0].failed) == (4, 3, 1)
    assert [use.form for use in uses if use.succeeded] == ["bun run test"]


def test_how_a_program_is_called_shows_its_flags(tmp_path: Path) -> None:
    sessions = learnt(
        tmp_path,
        [
            ("pytest", "ERROR: file or directory not found: tests", 4),
            (
                "cd /home/ana/bakery && PYTHONPATH=src .venv/bin/python -m pytest -q -n 2 tests/test_oven.py 2>&1 | tail -3",
                "9 passed in 1.2s",
                0,
            ),
        ],
        [("PYTHONPATH=src .venv/bin/python -m pytest -q -n 2 tests/test_timer.py", "3 passed in 0.2s", 0)],
        write=codex,
    )
    [use, *_] = sessions.how("pytest", EVERYWHERE, 5)
    assert use.form == "PYTHONPATH=src .venv/bin/python -m pytest -q -n 2 FILE"
    assert (use.runs, use.succeeded, use.kind) == (2, 2, "test")


def test_how_to_lint_is_told_apart_from_talk_about_it(tmp_path: Path) -> None:
    sessions = learnt(
        tmp_path,
        [
            ("ps -ef | rg 'eslint'", "1 eslint", 0),
            ("echo eslint .", "eslint .", 0),
            ("npx eslint . --fix", "", 0),
            ("git commit -m 'run eslint'", "ok", 0),
        ],
    )
    assert [use.form for use in sessions.how("lint", EVERYWHERE, 5)] == ["npx eslint . --fix"]


def test_blame_says_who_changed_a_file_and_why(tmp_path: Path) -> None:
    sessions = learnt(
        tmp_path,
        [
            ("user", "Make the oven beep once."),
            ("say", "The bell is rung twice."),
            ("edit", "/home/ana/bakery/oven/timer.py"),
            ("edit", "/home/ana/bakery/oven/timer.py"),
        ],
        [("user", "Just look."), ("cat oven/timer.py", "x", 0), ("edit", "/home/ana/bakery/other/timer.py")],
    )
    [visit] = sessions.blame("oven/timer.py", EVERYWHERE, 5)
    assert (visit.times, visit.asked, visit.said) == (2, "Make the oven beep once.", "The bell is rung twice.")
    assert visit.cite == "claude-code:aaaa0000-0000-4000-8000-000000000000#3"
    assert len(sessions.blame("oven/timer.py", EVERYWHERE, 5, reads=True)) == 2
    assert len(sessions.blame("timer.py", EVERYWHERE, 5)) == 2
    assert sessions.blame("imer.py", EVERYWHERE, 5) == []


def test_a_request_leads_to_the_files_that_sessions_like_it_changed(tmp_path: Path) -> None:
    sessions = learnt(
        tmp_path,
        [
            ("user", "Make the oven timer beep once when the bread is done."),
            ("edit", "/home/ana/bakery/oven/timer.py"),
            ("edit", "/home/ana/bakery/oven/timer.py"),
            ("edit", "/home/ana/bakery/oven/bell.py"),
            ("cat oven/unrelated.py", "x", 0),
        ],
        [("user", "Paint the shop window green."), ("edit", "/home/ana/bakery/shop/paint.py")],
    )
    found = sessions.leads_to("the oven timer beeps twice", EVERYWHERE, 2)
    assert found == [
        ("oven/timer.py", "aaaa0000-0000-4000-8000-000000000000"),
        ("oven/bell.py", "aaaa0000-0000-4000-8000-000000000000"),
    ]
    assert sessions.leads_to("", EVERYWHERE, 2) == []


def test_a_line_that_only_says_that_something_failed_is_no_error() -> None:
    output = "Error:\nError Message:\n  FAILED (3)\nerror: dough too wet\n"
    assert errors.errors_in(output) == ["error: dough too wet"]


def test_an_error_that_comes_back_was_not_fixed(tmp_path: Path) -> None:
    fail = ("make", "error: dough too wet", 2)
    sessions = learnt(tmp_path, [fail, ("edit", "a.py"), fail, ("edit", "b.py"), ("make", "ok", 0)])
    [fix] = sessions.fix("error: dough too wet", EVERYWHERE, 5)
    assert fix.edited == ("b.py",)


def test_an_unlike_error_gets_no_answer(tmp_path: Path) -> None:
    sessions = learnt(tmp_path, [("make", "error: dough too wet", 2), ("edit", "a.py"), ("make", "ok", 0)])
    assert sessions.fix("TypeError: cannot unpack non-iterable NoneType object", EVERYWHERE, 5) == []
    assert sessions.fix("", EVERYWHERE, 5) == []


def test_what_the_user_refused_is_no_error(tmp_path: Path) -> None:
    said = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nUse make."
    sessions = learnt(tmp_path, [("pytest", said, -1), ("make test", "9 passed", 0)])
    assert sessions.fix("The user doesn't want to proceed", EVERYWHERE, 5) == []


@pytest.mark.parametrize(
    ("command", "form", "kind", "program"),
    [
        ("cd /x/y && npm test 2>&1 | tail -20", "npm test", "test", "npm"),
        ('cd "/x y" && npm run lint', "npm run lint", "lint", "npm"),
        ("CI=1 npx vitest run --reporter=dot", "CI=1 npx vitest run --reporter=dot", "test", "vitest"),
        ("uv run pytest -q | grep -E 'passed|failed'", "uv run pytest -q", "test", "pytest"),
        ("go build ./... && go test ./...", "go build ./... && go test ./...", "test", "go"),
        ("cat > x.py <<'EOF'\npytest\nEOF", "cat > x.py <<'EOF' pytest EOF", None, "cat"),
        ("make", "make", "build", "make"),
        ("git commit -m 'npm test passes'", "git commit -m 'npm test passes'", "commit", "git"),
        ("rg pytest src", "rg pytest src", None, "rg"),
        ("", "", None, ""),
        ("; ; |", "; ; |", None, "|"),
    ],
)
def test_a_command_in_its_core(command: str, form: str, kind: str | None, program: str) -> None:
    assert commands.form_of(command) == form
    assert commands.kind_of(command) == kind
    assert commands.program_of(command) in (program, "")


@pytest.mark.parametrize(
    ("output", "result"),
    [
        ("===== 3 failed, 12 passed in 4.56s =====", "3 failed, 12 passed in 4.56s"),
        ("Tests:       1 failed, 5 passed, 6 total", "Tests: 1 failed, 5 passed, 6 total"),
        ("test result: ok. 12 passed; 0 failed; 0 ignored", "test result: ok. 12 passed; 0 failed; 0 ignored"),
        ("ℹ pass 3\nℹ fail 0", "ℹ pass 3 ℹ fail 0"),
        ("12 examples, 0 failures", "12 examples, 0 failures"),
        ("nothing of the kind", None),
    ],
)
def test_how_a_test_run_went(output: str, result: str | None) -> None:
    assert commands.result_of(output) == result


@pytest.mark.parametrize(
    "text",
    [
        "No, use pnpm instead",
        "don't do that",
        "I said never push to main",
        "that's wrong",
        "Actually, keep the old name",
        "Why did you delete the file?",
    ],
)
def test_corrections_are_told(text: str) -> None:
    assert lasting.of_words(text, follows_work=True) == lasting.CORRECTION
    assert lasting.of_words(text, follows_work=False) is None


@pytest.mark.parametrize("text", ["yes", "LGTM", "perfect, thanks", "go ahead", "ok"])
def test_approvals_are_told(text: str) -> None:
    assert lasting.of_words(text, follows_work=True) == lasting.APPROVAL


@pytest.mark.parametrize(
    "text",
    ["Add a rye recipe", "What does this function do?", "Now the footer please", "notice the colour of the crust"],
)
def test_most_messages_are_neither(text: str) -> None:
    assert lasting.of_words(text, follows_work=True) is None


def test_signatures_do_not_depend_on_the_run() -> None:
    one = errors.signature_of("/home/ana/app/src/x.py:12:4: Error: took 3.2s at 0xdeadbeef in /tmp/abc123/y")
    two = errors.signature_of("/srv/ci/build/src/x.py:99:1: Error: took 14s at 0x1 in /tmp/zzz/q")
    assert one == two
