"""The command line as a whole: help, JSON, exit codes, completion, start-up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from byheart import __version__
from byheart.interfaces.cli.group import COMMANDS
from byheart.testing import Bench
from tests.conftest import Cli


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(cli: Cli, command: str) -> None:
    done = cli(command, "--help")
    assert done.code == 0
    assert "Example:" in done.out
    assert f"byheart {command}" in done.out.split("Example:")[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["init"], ["remember", "never guess"], ["recall", "tabs"], ["confirm", "code.indent"], ["show"], ["show", "code.indent"],
        ["list"], ["profile"], ["rules"], ["settings"], ["settings", "enabled"], ["settings", "enabled", "off"], ["log"],
        ["undo"], ["export"], ["convert", "memories.md", "--to", "rules"], ["import", "other.ndjson"], ["check"], ["doctor"],
        ["version"], ["forget", "code.indent"], ["remember", "I prefer x", "--dry-run"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_command_prints_one_json_value(bench: Bench, cli: Cli, arguments: list[str]) -> None:
    bench.put("memories.md", "")
    bench.remember("tabs", key="code.indent")
    bench.put("other.ndjson", '{"k":"rule","t":["a","use","b"],"w":1,"n":"Use b."}\n')
    done = cli(*arguments, "--json")
    json.loads(done.out)
    assert done.code in (0, 1)


def test_unknown_command_and_option_are_usage_errors(cli: Cli) -> None:
    for arguments in (["nonsense"], ["list", "--nonsense"], ["list", "--kind", "odd"]):
        done = cli(*arguments)
        assert (done.code, done.out) == (2, "")


def test_version_is_the_packages(cli: Cli) -> None:
    assert cli("version").out == f"byheart {__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_names_the_command(cli: Cli, shell: str) -> None:
    done = cli("completion", shell)
    assert done.code == 0
    assert "_BYHEART_COMPLETE" in done.out


def test_completion_in_a_real_bash_offers_commands(bench: Bench, cli: Cli) -> None:
    script = cli("completion", "bash").out
    folder = os.path.dirname(sys.executable)
    probe = f"{script}\nCOMP_WORDS=(byheart re); COMP_CWORD=1; _byheart_completion byheart; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    environment = {**os.environ, **bench.environment, "PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", probe], capture_output=True, encoding="utf-8", env=environment, timeout=60)
    assert {"remember", "recall"} <= set(done.stdout.split())


def test_results_go_to_stdout_and_remarks_to_stderr(bench: Bench, cli: Cli) -> None:
    bench.put("docs/memory/memories.ndjson", "broken\n")
    done = cli("remember", "never guess")
    assert done.out.startswith("Saved: ")
    listed = cli("list", "--json")
    json.loads(listed.out)
    assert "broken-line" in listed.err


def test_text_can_come_from_standard_input(bench: Bench, cli: Cli) -> None:
    assert cli("remember", "-", given="never guess\n").code == 0
    assert bench.memory.rules().hits[0].record.text == "Never guess."


def test_no_colour_without_a_terminal_or_with_no_color(bench: Bench, cli: Cli) -> None:
    bench.remember("I prefer tabs")
    assert "\x1b" not in cli("show").out
    assert "\x1b" in cli("--set", "output.color=always", "settings").out
    assert "\x1b" not in cli("--set", "output.color=auto", "settings", NO_COLOR="1").out


def test_forget_asks_on_a_terminal_and_no_means_no(bench: Bench) -> None:
    import pty

    bench.remember("concise", key="writing.tone")
    before = bench.text("yaml-block")
    try:
        master, slave = pty.openpty()
    except OSError:
        pytest.skip("this machine has no terminals to give")
    process = subprocess.Popen(
        [sys.executable, "-m", "byheart", "forget", "writing.tone"],
        stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=bench.project,
        env={**os.environ, **bench.environment}, encoding="utf-8",
    )  # fmt: skip
    os.write(master, b"n\n")
    out, err = process.communicate(timeout=60)
    os.close(master)
    os.close(slave)
    assert "cannot be undone" in err
    assert "Forget 'writing.tone: concise'" in err
    assert (process.returncode, out) == (130, "")
    assert bench.text("yaml-block") == before


def test_reader_that_goes_away_is_no_error(bench: Bench) -> None:
    for number in range(50):
        bench.remember(f"never do {number}")
    command = f"{sys.executable} -m byheart list | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=bench.project,
        env={**os.environ, **bench.environment},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_runs_without_development_packages(bench: Bench) -> None:
    """As users meet it: nothing but the four run-time dependencies can be imported."""
    guard = (
        "import sys\n"
        "class Guard:\n"
        "    allowed = {'byheart', 'click', 're2', '_re2', 'yaml', '_yaml', 'markdown_it', 'mdurl'}\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        top = name.split('.')[0]\n"
        "        if top not in sys.stdlib_module_names and top not in self.allowed and not top.startswith('_'):\n"
        "            raise ModuleNotFoundError(f'not a run-time dependency: {name}')\n"
        "sys.meta_path.insert(0, Guard())\n"
        "from byheart.interfaces.cli.app import run\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )
    bench.put("memories.md", "prose\n\n```yaml\nsaved_memory: {items: []}\n```\n\n```text\nx\n```\n")
    for arguments in (["remember", "I prefer tabs"], ["profile"], ["doctor"], ["check"]):
        done = subprocess.run(
            [sys.executable, "-c", guard, *arguments],
            cwd=bench.project,
            env={**os.environ, **bench.environment},
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
        assert done.returncode == 0, done.stderr


def test_looking_imports_no_markdown_parser_for_a_file_as_byheart_writes_it(bench: Bench) -> None:
    bench.remember("I prefer tabs")
    probe = (
        "import sys; from byheart.interfaces.cli.app import run; run(['profile']); print('markdown_it' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe],
        cwd=bench.project,
        env={**os.environ, **bench.environment},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.stdout.endswith("False\n")


def test_project_flag_acts_in_another_folder(bench: Bench, cli: Cli, tmp_path: Path) -> None:
    assert cli("-C", bench.project, "remember", "never guess", folder=str(tmp_path)).code == 0
    assert bench.memory.rules().hits[0].record.text == "Never guess."
    assert cli("-C", str(tmp_path / "nowhere"), "list").code == 2
