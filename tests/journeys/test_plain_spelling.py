"""Commands that are read without the group of all commands say and do what they do with it."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from byheart.interfaces.cli import app, group
from byheart.testing import Bench
from tests.conftest import Cli


@pytest.mark.parametrize("name", app.FORMS)
def test_every_option_is_known_to_both_readings(name: str) -> None:
    form = app.FORMS[name]
    command = group.byheart.get_command(click.Context(group.byheart), name)
    assert command is not None
    spelled = {
        each
        for option in command.params
        if isinstance(option, click.Option)
        for each in (*option.opts, *option.secondary_opts)
    }
    assert spelled == {*form.switches, *form.numbers}
    named = {option.name for option in command.params if isinstance(option, click.Option)}
    assert named == set(form.defaults)


@pytest.mark.parametrize(
    "arguments",
    [
        ["recall", "pnpm"],
        ["recall", "-n", "1", "how do we install"],
        ["recall", "--limit", "2", "--json", "pnpm"],
        ["recall", "--global", "pnpm"],
        ["recall", "--local", "--explain", "pnpm"],
        ["recall", "nothing", "of", "the", "sort", "zzzqqq"],
        ["--set", "recall.embedder=none", "recall", "pnpm"],
        ["--set", "recall.results=nonsense", "recall", "pnpm"],
        ["-C", "/nowhere/at/all", "recall", "pnpm"],
    ],
)
def test_both_readings_end_alike(cli: Cli, bench: Bench, arguments: list[str]) -> None:
    cli("remember", "I prefer pnpm over npm.")
    cli("recall", "something else that is not there")
    assert app.command_in(arguments) is not None
    short = cli(*arguments)
    # How often a record was an answer is told among what speaks for it.
    for noted in Path(bench.home).rglob("uses.txt"):
        noted.unlink()
    # Two dashes are no word of a question, and nothing that a plain reading knows.
    at = arguments.index("recall")
    long_way = [*arguments[: at + 1], *(each for each in arguments[at + 1 :] if each.startswith("-") or each.isdigit())]
    words = [each for each in arguments[at + 1 :] if each not in long_way[at + 1 :]]
    spelled = [*long_way, "--", *words]
    assert app.command_in(spelled) is None
    whole = cli(*spelled)
    assert (short.code, short.out, short.err) == (whole.code, whole.out, whole.err)


@pytest.mark.parametrize(
    "arguments",
    [
        ["recall"],
        ["recall", "--help"],
        ["recall", "--limit=3", "x"],
        ["recall", "-n", "0", "x"],
        ["recall", "-n", "101", "x"],
        ["recall", "-n", "three", "x"],
        ["recall", "-n", "²", "x"],
        ["recall", "x", "-n"],
        ["recall", "--unknown", "x"],
        ["remember", "x"],
        ["--set"],
        ["--help"],
        [],
    ],
)
def test_what_is_not_plain_goes_the_long_way(arguments: list[str]) -> None:
    assert app.command_in(arguments) is None
