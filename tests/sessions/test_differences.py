"""What made the difference between a call that failed and one that worked."""

from __future__ import annotations

import pytest

from byheart.sessions.facts.differences import changes, counterpart, is_elsewhere, steps_in, to_blame


@pytest.mark.parametrize(
    ("failed", "worked", "error", "found"),
    [
        ("knead dough --lib", "knead bread", "error: no lib here", [("without", "--lib", "")]),
        ("knead dough", "oven x knead -- knead dough", "sh: knead: not found", [("behind", "", "oven x knead --")]),
        ("bake2 roll", "bake3 roll", "bake2: not found", [("instead", "bake2", "bake3")]),
        ("knead run", "knead run --shop rye --shelf 2", "you must name a shop", [("with", "", "--shop rye"), ("with", "", "--shelf 2")]),
        ("sift --only=*.rye", 'sift --only="*.rye"', "no matches found: --only=*.rye", [("instead", "--only=*.rye", '--only="*.rye"')]),
        ("bake a.rye b.rye", "bake a.rye", "unexpected argument 'b.rye'", [("without", "b.rye", "")]),
        ("post 3 --to ada/oven", "post 3 --to eve/oven", "no shop is called 'ada/oven'", [("instead", "ada/oven", "eve/oven")]),
        ("knead dough", "SHOP=rye knead dough", "SHOP is not set", [("with", "", "SHOP=rye")]),
        ("knead dough", "knead dough", "try again", []),
        ("knead a/b.rye", "knead c/d.rye", "it tore", []),
    ],
)  # fmt: skip
def test_words_that_differ_and_no_target(
    failed: str, worked: str, error: str, found: list[tuple[str, str, str]]
) -> None:
    assert [(each.how, each.old, each.new) for each in changes(failed, worked, error)] == found


@pytest.mark.parametrize(
    ("line", "error", "blamed"),
    [
        ("cd shop && hook install && git add a", "sh: hook: command not found", "hook install"),
        ("git add roll.rye && git commit -m \"$(cat <<'END'", "fatal: pathspec 'roll.rye' did not match", "git add roll.rye"),
        ("git add roll.rye && git commit -m \"$(cat <<'END'", "could not write the commit object", "git commit"),
        ("git add \\\n  a.rye \\\n  b.rye && knead", "knead: too dry", "knead"),
        ("knead dough 2>&1 | tail -5", "it tore", "knead dough 2>&1"),
    ],
)  # fmt: skip
def test_single_command_that_an_error_is_about(line: str, error: str, blamed: str) -> None:
    assert to_blame(line, error) == blamed


def test_counterpart_is_the_command_most_like_the_one_that_failed() -> None:
    assert counterpart("knead dough", "wash && knead dough --slow && bake") == "knead dough --slow"


@pytest.mark.parametrize(
    ("failed", "worked", "error", "is_so"),
    [
        ("bun test shop/a.test.ts", "bun test door/b.test.ts", "no url is set", True),
        ("bun test shop/a.test.ts", "bun test shop/", "no url is set", False),
        ("bun test shop/a.test.ts", "bun test", "no url is set", False),
        ("kill 7", "npx serve dist --port 80", "no such process", True),
        ("gh pr diff 3", "gh pr edit 3 --title x", "accepts at most 1 arg", True),
        ("cargo test a --lib", "cargo test b", "no library targets found", False),
    ],
)
def test_call_that_was_only_pointed_at_something_else_gets_over_nothing(
    failed: str, worked: str, error: str, is_so: bool
) -> None:
    assert is_elsewhere(failed, worked, error) is is_so


def test_steps_leave_out_what_moves_prints_and_filters() -> None:
    line = "cd shop && set -e; knead dough | grep torn && echo done; bake 'a && b'"
    assert steps_in(line) == ["knead dough", "bake 'a && b'"]
