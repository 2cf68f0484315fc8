"""Scripts that Codex runs its commands with: each command has its own result."""

from __future__ import annotations

import json

import pytest

from byheart.agents.codex.scripts import commands_in, results_of

HEAD = {"type": "input_text", "text": "Script completed\nWall time 0.1 seconds\nOutput:\n"}


def printed(*texts: str) -> list[dict[str, str]]:
    return [HEAD, *({"type": "input_text", "text": text} for text in texts)]


@pytest.mark.parametrize(
    ("script", "commands"),
    [
        ('const a = await tools.exec_command({cmd: "make test"}); text(a.output)', ["make test"]),
        (
            'const all = await Promise.all([tools.exec_command({cmd: "make a"}), tools.exec_command({"cmd": "make b"})])',
            ["make a", "make b"],
        ),
        ("const cmds = ['make a', `make b`];\nfor (const cmd of cmds) await tools.exec_command({cmd})", ["make a", "make b"]),
        ('await tools.apply_patch("*** Begin Patch")', []),
    ],
)  # fmt: skip
def test_commands_of_a_script_in_its_order(script: str, commands: list[str]) -> None:
    assert commands_in(script) == commands


@pytest.mark.parametrize(
    "texts",
    [
        ('{"exit_code": 0, "output": "fine"}', '{"exit_code": 2, "output": "wrong"}'),
        ('[{"exit_code": 0, "output": "fine"}, {"exit_code": 2, "output": "wrong"}]',),
        ("fine", "exit=0", "wrong", "exit=2"),
    ],
)
def test_each_command_has_its_own_result_and_status(texts: tuple[str, ...]) -> None:
    assert results_of(printed(*texts), 2) == [("fine", 0), ("wrong", 2)]


def test_where_nobody_could_say_whose_it_is_the_last_command_has_everything() -> None:
    assert results_of(printed("one", "two", "three"), 2) == [("", None), ("one\ntwo\nthree", None)]


def test_text_that_is_no_json_is_taken_as_it_stands() -> None:
    raw = printed(json.dumps({"other": 1}))
    assert results_of(raw, 1) == [('{"other": 1}', None)]
