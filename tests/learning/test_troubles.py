"""Errors that sessions met and got over, as the summary tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from byheart.sessions.facts.commands import judged
from byheart.sessions.facts.differences import deed_of
from byheart.sessions.facts.errors import errors_in, errors_of, signature_of
from tests.learning.world import Event, World


def tried(command: str, output: str, works: str) -> list[Event]:
    """A call that failed, and another one that went through."""
    return [("run", command, output, 1), ("run", works, "3 passed in 0.2s", 0)]


def tips(world: World) -> list[str]:
    return [line for line in world.text("memory_summary.md").split("\n") if line.startswith("- Met ")]


def test_error_that_several_sessions_met_is_told_once_with_its_count_whatever_it_names(tmp_path: Path) -> None:
    world = World(tmp_path)
    for name in ("walrus", "quagga", "zebra"):
        wrong = f"error: unexpected argument '{name}::tests' found"
        world.session(("user", f"Mend the {name}."), *tried(f"cargo test oven {name}::tests", wrong, "cargo test oven"))
    world.learn()
    [line] = [each for each in tips(world) if "unexpected argument" in each]
    assert line.startswith("- Met in 3 sessions: `cargo test oven ") and line.endswith(
        "; works without `zebra::tests`: `cargo test oven`"
    )


def test_mistake_about_the_machine_is_told_after_one_session_and_a_broken_test_is_not(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(
        ("user", "Mend the oven."),
        *tried("cargo test oven --lib", "error: no library targets found in package `oven`", "cargo test oven"),
    )
    world.session(
        ("user", "Mend the bell."),
        *tried(
            "pytest tests/test_bell.py",
            "FAILED tests/test_bell.py::test_rings - assert 1 == 2",
            "pytest tests/test_bell.py -x",
        ),
    )
    world.learn()
    told = "\n".join(tips(world))
    assert "no library targets" in told and "test_rings" not in told


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("error: unexpected argument 'a' found", "error: unexpected argument 'b' found"),
        ("@shop/core:test: error: Missing SHOP_URL or SHOP_HOST", "error: Missing SHOP_URL or SHOP_HOST"),
        (
            "src/a.ts(5,3): error TS2307: Cannot find module './x'",
            "lib/b.ts(9,1): error TS2307: Cannot find module './y'",
        ),
        (
            "fatal: Unable to create '/home/a/.git/index.lock': File exists.",
            "fatal: Unable to create '/srv/b/.git/index.lock': File exists.",
        ),
    ],
)
def test_signature_leaves_out_where_and_what(one: str, other: str) -> None:
    assert signature_of(one) == signature_of(other)


def test_signature_that_would_say_nothing_keeps_its_names() -> None:
    assert signature_of("Error: 'walrus'") != signature_of("Error: 'zebra'")


def test_few_words_of_a_failed_call_say_why_and_a_long_listing_does_not() -> None:
    wrong = 'Unknown JSON field: "reviewThreads"\nAvailable fields:\n  additions'
    assert errors_of(wrong, "gh pr view 3 --json reviewThreads") == ['Unknown JSON field: "reviewThreads"']
    listing = "\n".join(f"row {number} of a table" for number in range(40))
    assert errors_of(listing, "gh pr view 3") == []


def test_last_of_several_commands_does_not_prove_that_the_first_went_through(tmp_path: Path) -> None:
    world = World(tmp_path)
    for number in (1, 2):
        world.session(
            ("user", f"Mend part {number}."),
            (
                "run",
                "git pull --rebase && git push && git status --short",
                "fatal: Could not read from remote repository.",
                128,
            ),
            ("run", "git status --short", "", 0),
        )
    world.learn()
    assert not [line for line in tips(world) if "`git status --short` passed" in line]


def test_request_that_returns_in_other_words_is_told_with_its_count_and_a_button_is_not(tmp_path: Path) -> None:
    world = World(tmp_path)
    asked = (
        "reply to the discussion thread",
        "ok reply to the discussion thread",
        "reply to the discussion thread now",
    )
    button = "Please look at the failing jobs of this branch and tell what broke in each of them"
    for number, request in enumerate(asked):
        world.session(
            ("user", f"Mend part {number} of the oven."),
            ("run", "make test", "1 failed\nError: bell", 2),
            ("edit", "bake/oven.py"),
            ("run", "make test", "48 passed in 2.10s", 0),
            ("user", request),
            ("run", "gh pr comment 3 --body done", "https://example.com/3", 0),
            ("user", button),
            ("run", "gh run list", "none", 0),
        )
    world.learn()
    told = world.text("memory_summary.md")
    assert 'the user asked in 3 sessions: "' in told and "reply to the discussion thread" in told
    assert button not in told.partition("## User preferences")[2].partition("## ")[0]


@pytest.mark.parametrize(
    "error",
    ["error: expect(received).toBe(expected)", 'error: script "test" exited with code 1', "AssertionError: 3 != 4"],
)
def test_what_a_test_found_wrong_and_what_only_wraps_it_are_not_told_however_often_they_return(
    tmp_path: Path, error: str
) -> None:
    world = World(tmp_path)
    for number in range(4):
        world.session(
            ("user", f"Mend part {number} of the oven."),
            ("run", "make test", error, 2),
            ("run", "make build", "built", 0),
            ("run", "make test", "48 passed in 2.10s", 0),
        )
    world.learn()
    assert not [line for line in tips(world) if error in line]


def test_of_several_ways_the_one_that_did_something_is_told_and_trying_again_is_not(tmp_path: Path) -> None:
    world = World(tmp_path)
    failed = ("run", "make check", "oven.py would be formatted another way: cannot go on", 1)
    world.session(("user", "Mend the oven."), failed, ("run", "make check", "ok", 0))
    world.session(("user", "Mend the bell."), failed, ("run", "make format", "ok", 0), ("run", "make check", "ok", 0))
    world.learn()
    [told] = [line for line in tips(world) if "formatted another way" in line]
    assert "`make format`" in told and "run again" not in told


@pytest.mark.parametrize(
    ("between", "is_told"), [(("make fix", "make fix"), True), (("rm notes.txt", "make docs"), False)]
)
def test_what_was_run_before_code_was_right_again_is_told_where_it_was_run_more_than_once(
    tmp_path: Path, between: tuple[str, str], is_told: bool
) -> None:
    world = World(tmp_path)
    for name, ran in zip(("oven", "bell"), between, strict=True):
        world.session(
            ("user", f"Mend the {name}."),
            ("run", "make check", "× This import is unused.", 1),
            ("run", ran, "ok", 0),
            ("run", "make check", "ok", 0),
        )
    world.learn()
    assert bool([line for line in tips(world) if "import is unused" in line]) is is_told


def test_running_tests_gets_over_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    for name in ("oven", "bell", "door"):
        world.session(
            ("user", f"Mend the {name}."),
            ("run", "npm run check", "× These classes should be sorted.", 1),
            ("run", "npm test", "3 passed in 0.2s", 0),
            ("run", "npm run check", "ok", 0),
        )
    world.learn()
    assert not [line for line in tips(world) if "npm test" in line]


def test_slip_of_a_look_around_is_no_lesson_of_a_single_session(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(
        ("user", "Mend the oven."),
        ("run", "rg oven tests", "rg: tests: No such file or directory", 2),
        ("run", "rg oven src", "src/oven.py", 0),
    )
    world.session(
        ("user", "Mend it."), ("run", "knead --form", "error: no such shape here", 2), ("run", "knead --shape", "ok", 0)
    )
    world.learn()
    told = "\n".join(tips(world))
    assert "no such shape" in told and "rg oven" not in told


def test_call_that_is_too_long_to_be_told_whole_is_no_lesson_of_a_single_session(tmp_path: Path) -> None:
    world = World(tmp_path)
    long = "bake --shape " + " ".join(f"--part{number}=x" for number in range(40))
    world.session(
        ("user", "Mend the oven."),
        ("run", long, "error: unknown option '--part3'", 2),
        ("run", "bake --shape", "ok", 0),
    )
    world.session(
        ("user", "Mend it."), ("run", "knead --form", "error: no such shape here", 2), ("run", "knead --shape", "ok", 0)
    )
    world.learn()
    told = "\n".join(tips(world))
    assert "no such shape" in told and "unknown option" not in told


def test_two_errors_of_one_failure_are_told_once(tmp_path: Path) -> None:
    world = World(tmp_path)
    rejected = "! [rejected] main -> main (fetch first)\nerror: failed to push some refs to 'origin'"
    for number in range(2):
        world.session(
            ("user", f"Push part {number}."),
            ("run", "git push", rejected, 1),
            ("run", "git pull --rebase", "ok", 0),
            ("run", "git push", "ok", 0),
        )
    world.learn()
    assert len([line for line in tips(world) if "`git push` failed" in line]) == 1


def test_title_that_many_tasks_share_to_the_letter_names_none_of_them(tmp_path: Path) -> None:
    world = World(tmp_path)
    for number in range(4):
        world.session(
            ("user", "Answer every request of this work in the strict table format"),
            ("edit", f"bake/part{number}.py"),
            ("run", "make test", "48 passed in 2.10s", 0),
        )
    world.learn()
    descriptions = [line for line in world.text("memory_summary.md").split("\n") if "desc:" in line]
    assert descriptions and not [line for line in descriptions if "strict table format" in line]


def test_request_that_says_more_than_a_known_habit_is_told_beside_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    for number in range(6):
        world.session(
            ("user", f"Mend part {number} of the oven."),
            ("run", "make test", "1 failed\nError: bell", 2),
            ("edit", "bake/oven.py"),
            ("run", "make test", "48 passed in 2.10s", 0),
            ("user", "commit it" if number < 3 else "commit and reply to the discussion thread"),
            ("run", "git commit -m done", "1 file changed", 0),
        )
    world.learn()
    wishes = world.text("memory_summary.md").partition("## User preferences")[2].partition("## ")[0]
    assert '"commit it"' in wishes or "offer to commit" in wishes
    assert wishes.count("reply to the discussion thread") == 1


@pytest.mark.parametrize(
    ("forms", "told"),
    [
        (["cargo test wildcard", "cargo test http::tests", "cargo test cli"], "`cargo test` with a file or a name"),
        (["pnpm test", "pnpm test", "pnpm test src/a.ts"], "`pnpm test`"),
        (["npm test -- tests/a.spec.ts", "npm test -- tests/b.spec.ts"], "`npm test` with a file or a name"),
        (["pytest tests/a.py", "pytest tests/b.py", "pytest tests/b.py"], "`pytest tests/b.py`"),
    ],
)
def test_test_command_is_the_one_that_sessions_use_not_what_one_was_pointed_at(
    tmp_path: Path, forms: list[str], told: str
) -> None:
    world = World(tmp_path)
    for number, form in enumerate(forms):
        world.session(
            ("user", f"Mend part {number}."), ("edit", f"src/part{number}.py"), ("run", form, "3 passed in 0.2s", 0)
        )
    world.learn()
    assert f"- Tests: {told}\n" in world.text("memory_summary.md")


def test_line_of_code_that_a_linter_shows_is_no_error() -> None:
    shown = "263 261 │ // Column already exists, ignore\n17 │ throw new Error(missing)"
    assert errors_in(shown) == []


def test_spelling_that_was_not_understood_is_what_was_wrong_whatever_was_changed_meanwhile(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(
        ("user", "Mend the oven."),
        ("run", "cargo test --lib oven::heats", "error: no library targets found in package `bakery`", 101),
        ("edit", "src/oven.rs"),
        ("run", "cargo test --bin bakery oven::heats", "test result: ok. 3 passed; 0 failed", 0),
    )
    world.learn()
    [line] = [each for each in tips(world) if "no library targets" in each]
    assert line.endswith("works without `--lib` and with `--bin bakery`: `cargo test --bin bakery oven::heats`")


def wishes(world: World) -> list[str]:
    text = world.text("memory_summary.md").partition("## User preferences")[2].partition("\n## ")[0]
    return [line for line in text.split("\n") if line.startswith("- ")]


def test_request_that_returns_is_told_with_what_sessions_ran_for_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    for number in range(4):
        world.session(
            ("user", f"Paint part {number} of the barn."),
            ("edit", f"barn/{number}.py"),
            ("run", "pytest barn", "3 passed in 0.2s", 0),
            ("user", "address the review remarks"),
            ("run", "gh api repos/o/r/pulls/7/comments", "[]", 0),
            ("run", f"./scripts/fetch_remarks.sh {number}", "one", 0),
            ("run", "git push", "done", 0),
            began=f"2026-05-{number + 4:02d}T10:00:00",
        )
    world.learn()
    [line] = [each for each in wishes(world) if "review remarks" in each]
    assert "in 4 sessions" in line and "sessions then ran `gh api repos/o/r/pulls/N/comments`" in line
    assert "`git push`" in line and "pytest" not in line


@pytest.mark.parametrize(
    ("step", "deed"),
    [
        ("git -C /x push --force origin main", "git push"),
        ("gh pr checks 12 --watch", "gh pr checks"),
        (
            "gh api graphql -f query='mutation($b: String!) { addDiscussionComment(input: {}) { id } }'",
            "gh api addDiscussionComment",
        ),
        ("gh api 'repos/o/r/issues/31/comments?page=2'", "gh api repos/o/r/issues/N/comments"),
        ("python3 tools/fetch_comments.py --all", "python3 fetch_comments.py"),
        ("bun run verify --silent", "bun run verify"),
        ("ls", ""),
    ],
)
def test_what_a_call_does_is_told_without_what_it_is_done_to(step: str, deed: str) -> None:
    assert deed_of(step) == deed


def test_command_that_fails_more_often_than_not_is_not_the_way_to_do_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    for number in range(3):
        world.session(
            ("user", f"Paint part {number} of the barn."),
            ("edit", f"barn/{number}.py"),
            ("run", "npm run format", "npm error nothing to format", 1),
            ("run", "npm run format", "npm error nothing to format", 1),
            ("run", "npm run format", "formatted", 0),
            ("run", "npm run lint", "1 problem", 1),
            ("run", "npm run lint", "1 problem", 1),
            ("run", "npm run lint", "fine", 0),
        )
    world.learn()
    summary = world.text("memory_summary.md")
    assert "Checks: `npm run lint`" in summary and "Format: " not in summary


def test_of_two_remarks_about_one_machine_the_one_that_says_more_is_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    for number, said in enumerate(("the queue runs on the docker host 10.1.2.3", "check again on 10.1.2.3"), 4):
        world.session(
            ("user", f"Mend the bell; {said}."),
            ("run", "curl http://10.1.2.3:80/", "ok", 0),
            ("edit", "bell.py"),
            ("run", "pytest bell", "3 passed in 0.2s", 0),
            began=f"2026-05-{number:02d}T10:00:00",
        )
    world.learn()
    told = [line for line in world.text("memory_summary.md").split("\n") if line.startswith("- The user said:")]
    assert len(told) == 1 and "docker host" in told[0]


def test_another_script_of_the_project_is_no_other_spelling(tmp_path: Path) -> None:
    world = World(tmp_path)
    for name in ("walrus", "quagga"):
        world.session(
            ("user", f"Mend the {name}."), *tried("npm run check", 'npm error Missing script: "check"', "npm run build")
        )
    world.learn()
    assert not any("`build` instead of `check`" in each for each in tips(world))


def test_filter_that_finds_no_errors_says_that_a_build_went_well() -> None:
    assert judged('dotnet build Shop.csproj 2>&1 | grep -iE "error|warn"', False, "") is True
    assert (
        judged('dotnet build Shop.csproj 2>&1 | grep -iE "error"', True, "x.cs(3,1): error CS1002: ; expected") is False
    )
    assert judged("cat build.log | grep error", False, "") is not True


def test_value_that_later_sessions_use_no_longer_is_not_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    for number in range(2):
        world.session(
            ("user", f"Deploy part {number}."),
            ("run", "doppler run -- make deploy", "Doppler Error: You must specify a project", 1),
            ("run", "doppler setup --project chx", "done", 0),
            ("run", "doppler run -- make deploy", "deployed", 0),
            ("edit", f"part{number}.py"),
            began=f"2026-05-{4 + number:02d}T10:00:00",
        )
    world.learn()
    assert any("--project chx" in each for each in tips(world))
    for number in range(2):
        world.session(
            ("user", f"Deploy piece {number}."),
            ("edit", f"piece{number}.py"),
            ("run", "make build", "built in 2 s", 0),
            ("run", "doppler setup --project chkit", "done", 0),
            ("run", "make deploy", "deployed", 0),
            began=f"2026-05-{10 + number:02d}T10:00:00",
        )
    world.learn()
    assert not any("--project chx" in each for each in tips(world))


def test_calls_that_only_show_what_there_is_are_not_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    for number in range(5):
        world.session(
            ("user", f"Mend part {number} of the oven."),
            ("edit", f"oven/part{number}.rs"),
            ("run", "oven version", "1.2", 0),
            ("run", "oven shapes", "written", 0),
            ("run", "make test", "3 passed in 0.2s", 0),
        )
    world.learn()
    [line] = [each for each in world.text("memory_summary.md").split("\n") if each.startswith("- Also run here")]
    assert "oven shapes" in line and "oven version" not in line
