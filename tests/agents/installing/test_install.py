"""Connecting agents: what they had stays, what we add can be taken out, and nothing runs that should not."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from scripts.transcripts import Story, write

from byheart.app.connecting import launcher, names
from byheart.testing import Bench
from tests.conftest import Cli

TOKEN = "ghp_" + "R7tYq2Lm9Xc4Vb8Nw1Kd5Hs3Jf6Pz0Ga1Bc2"
CLAUDE = """{
    "permissions": {"allow": ["Bash(ls)"]},
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "say done"}]}
        ],
        "SessionStart": [{"hooks": [{"type": "command", "command": "echo mine"}]}]
    },
    "model": "opus"
}"""
CODEX = '# mine\nmodel = "gpt-5.5"\n\n[mcp_servers.other]\ncommand = "x"'
COMMENTED = '// mine\n{\n\t"mcp": {}, // nothing yet\n\t"theme": "dark",\n}\n'


def world_session(bench: Bench, said: str) -> None:
    """A session of Claude Code's in which somebody said something."""
    events: list[tuple[object, ...]] = [
        ("user", f"Mend the bell. {said}"),
        ("edit", "bell.py"),
        ("run", "make test", "3 passed in 0.1s", 0),
    ]
    name = "5e550001-4b7c-4d2e-9f10-0c0ffee00001"
    write(Story("claude-code", name, bench.project, "2026-03-10T10:00:00", events, extra={}), Path(bench.folder))


def seeded(bench: Bench) -> dict[str, bytes]:
    """Files of agents' as people have them: odd indents, comments, no newline at the end."""
    files = {
        ".claude/settings.json": CLAUDE,
        ".claude.json": json.dumps({"mcpServers": {"other": {"command": "y"}}, "oauth": TOKEN}),
        ".codex/config.toml": CODEX,
        ".codex/AGENTS.md": "# Mine\n\n- Be brief.",
        ".config/opencode/opencode.jsonc": COMMENTED,
        ".qwen/settings.json": "{}",
        ".factory/settings.json": '{\n  // mine\n  "model": "opus"\n}\n',
        ".cursor/mcp.json": '{"mcpServers": {}}\n',
        ".cursor/hooks.json": '{"version": 1, "hooks": {"stop": [{"command": "x"}]}}\n',
        ".openclaw/openclaw.json": '{\n  "agents": {},\n}\n',
        ".copilot/mcp-config.json": "",
        ".gemini/settings.json": '{"theme": "x"}',
        ".pi/agent/settings.json": "{}",
    }
    for name, text in files.items():
        path = Path(bench.folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return snapshot(bench)


def snapshot(bench: Bench) -> dict[str, bytes]:
    """Every file in the person's home that is not byheart's, and every folder."""
    found: dict[str, bytes] = {}
    for path in Path(bench.folder).rglob("*"):
        name = str(path.relative_to(bench.folder))
        if name.split("/")[0] != "home":
            found[name] = path.read_bytes() if path.is_file() else b"(folder)"
    return found


@pytest.mark.parametrize("where", ["--user", "--project"])
def test_everything_that_is_put_in_comes_out_byte_for_byte(bench: Bench, cli: Cli, where: str) -> None:
    before = seeded(bench)
    done = cli("install", *names(), where, "--no-trust")
    assert done.code == 0, done.err
    middle = snapshot(bench)
    assert middle != before
    again = cli("install", *names(), where, "--no-trust")
    # OpenClaw and Cline have no files of a project's own, so there they are not connected, and say so.
    missing = 2 if where == "--project" else 0
    assert again.code == 0 and again.out.count("already") == len(names()) - missing
    assert ("openclaw: not connected" in again.out) == bool(missing)
    assert snapshot(bench) == middle, "twice is once"
    gone = cli("uninstall", "--all")
    assert gone.code == 0, gone.err
    assert snapshot(bench) == before
    assert not Path(bench.home, "state", "installed.json").exists()


@pytest.mark.parametrize("name", names())
def test_agent_that_was_never_started_is_connected_and_disconnected(bench: Bench, cli: Cli, name: str) -> None:
    before = snapshot(bench)
    assert cli("install", name, "--no-trust").code == 0
    assert cli("uninstall", name).code == 0
    assert snapshot(bench) == before


def test_what_was_there_is_still_there(bench: Bench, cli: Cli) -> None:
    seeded(bench)
    cli("install", *names(), "--no-trust")
    home = Path(bench.folder)
    claude = json.loads((home / ".claude/settings.json").read_text())
    assert claude["permissions"] == {"allow": ["Bash(ls)"]} and claude["model"] == "opus"
    assert claude["hooks"]["Stop"][0]["hooks"][0]["command"] == "say done"
    starts = [hook["command"] for group in claude["hooks"]["SessionStart"] for hook in group["hooks"]]
    assert starts[0] == "echo mine" and starts[1].endswith("hook session-start --client claude-code")
    servers = json.loads((home / ".claude.json").read_text())["mcpServers"]
    assert servers["other"] == {"command": "y"} and servers["byheart"]["args"][-1] == "mcp"
    assert servers["byheart"]["alwaysLoad"] is True
    codex = tomllib.loads((home / ".codex/config.toml").read_text())
    assert codex["model"] == "gpt-5.5" and codex["mcp_servers"]["other"]["command"] == "x"
    assert codex["mcp_servers"]["byheart"]["env"] == {"BYHEART_HOME": bench.home}
    assert (home / ".codex/AGENTS.md").read_text().startswith("# Mine\n\n- Be brief.\n")
    text = (home / ".config/opencode/opencode.jsonc").read_text()
    assert "// mine" in text and "// nothing yet" in text and '"theme": "dark",' in text


def test_agents_words_are_absolute_and_quoted(bench: Bench, cli: Cli) -> None:
    cli("install", "claude-code", "codex", "--no-trust")
    claude = json.loads(Path(bench.folder, ".claude/settings.json").read_text())
    for groups in claude["hooks"].values():
        for group in groups:
            for hook in group["hooks"]:
                words = shlex.split(hook["command"])
                # The script in memory's folder, which names the program itself.
                assert words[:3] == ["[", "!", "-r"] and words[4:7] == ["]", "||", "/bin/sh"]
                assert words[3] == words[7] and words[3].startswith(bench.home)
                assert os.access(words[3], os.R_OK)


def test_hook_of_an_environment_that_is_gone_says_so_in_one_line(bench: Bench, cli: Cli) -> None:
    cli("install", "claude-code")
    hooks = json.loads(Path(bench.folder, ".claude/settings.json").read_text())["hooks"]
    gate = Path(bench.home, "bin", "byheart")
    text = gate.read_text()
    gate.write_text(text.replace(launcher()[0], "/nowhere/bin/byheart"))

    def ran(event: str) -> subprocess.CompletedProcess[str]:
        line = hooks[event][-1]["hooks"][-1]["command"]
        return subprocess.run(["sh", "-c", line], input="{}", capture_output=True, text=True, check=False, timeout=30)

    told = ran("SessionStart")
    assert (told.returncode, told.stderr) == (0, "")
    said = json.loads(told.stdout)["systemMessage"]
    assert "/nowhere/bin/byheart" in said and "byheart install --all" in said
    for event in ("PreToolUse", "SessionEnd"):
        assert (ran(event).returncode, ran(event).stdout) == (0, "")
    # dash ends with 2 where it cannot open a script, and an agent takes that for a no to its tool call.
    gate.unlink()
    for event in hooks:
        done = ran(event)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), event


def test_home_with_a_hostile_name_runs_nothing(bench: Bench, cli: Cli, tmp_path: Path) -> None:
    hostile = tmp_path / 'it\'s $(touch x); `touch y` "q"'
    hostile.mkdir()
    done = cli(
        "install",
        "claude-code",
        "codex",
        "opencode",
        "pi",
        "--no-trust",
        HOME=str(hostile),
        BYHEART_HOME=str(hostile / "b h"),
    )
    assert done.code == 0, done.err
    claude = json.loads((hostile / ".claude/settings.json").read_text())
    command = claude["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    given = json.dumps({"cwd": bench.project, "session_id": "s"})
    cli("remember", "I prefer pnpm", BYHEART_HOME=str(hostile / "b h"))
    ran = subprocess.run(
        command,
        shell=True,
        input=given,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(hostile)},
        check=True,
    )
    assert "pnpm" in ran.stdout
    assert not (tmp_path / "x").exists() and not (tmp_path / "y").exists()
    assert tomllib.loads((hostile / ".codex/config.toml").read_text())["mcp_servers"]["byheart"]["env"][
        "BYHEART_HOME"
    ] == str(hostile / "b h")
    script = (hostile / ".config/opencode/plugin/byheart.js").read_text()
    assert json.dumps(str(hostile / "b h"))[1:-1] in script


def test_settings_that_are_broken_are_left_alone_and_told(bench: Bench, cli: Cli) -> None:
    before = seeded(bench)
    Path(bench.folder, ".claude/settings.json").write_text('{"hooks": ')
    before[".claude/settings.json"] = b'{"hooks": '
    done = cli("install", "claude-code")
    assert done.code == 4 and "settings.json cannot be changed" in done.err
    assert snapshot(bench) == before, "nothing was half-written"


def test_settings_that_say_something_else_where_ours_belongs(bench: Bench, cli: Cli) -> None:
    path = Path(bench.folder, ".claude/settings.json")
    path.parent.mkdir()
    path.write_text('{"hooks": "off"}')
    done = cli("install", "claude-code")
    assert done.code == 4 and path.read_text() == '{"hooks": "off"}'
    assert not Path(bench.folder, ".claude.json").exists()


def test_file_that_was_changed_since_loses_only_what_is_ours(bench: Bench, cli: Cli) -> None:
    seeded(bench)
    cli("install", "claude-code", "codex", "--no-trust")
    settings = Path(bench.folder, ".claude/settings.json")
    told = json.loads(settings.read_text())
    told["hooks"]["SessionStart"].append({"hooks": [{"type": "command", "command": "echo later"}]})
    told["theme"] = "dark"
    settings.write_text(json.dumps(told, indent=8))
    guide = Path(bench.folder, ".codex/AGENTS.md")
    guide.write_text(guide.read_text() + "\n- And polite.\n")
    done = cli("uninstall", "claude-code", "codex")
    assert done.code == 0
    left = json.loads(settings.read_text())
    assert left["theme"] == "dark" and "byheart" not in settings.read_text()
    assert [group["hooks"][0]["command"] for group in left["hooks"]["SessionStart"]] == ["echo mine", "echo later"]
    assert "SessionEnd" not in left["hooks"]
    assert guide.read_text() == "# Mine\n\n- Be brief.\n\n- And polite.\n"
    assert not list(Path(bench.folder).rglob("*.byheart-backup"))


def test_own_file_that_somebody_changed_stays(bench: Bench, cli: Cli) -> None:
    cli("install", "claude-code")
    skill = Path(bench.folder, ".claude/skills/byheart/SKILL.md")
    skill.write_text(skill.read_text() + "\nMy own words.\n")
    done = cli("uninstall", "claude-code")
    assert done.code == 0 and "so it stays" in done.err
    assert "My own words." in skill.read_text()


def test_new_version_replaces_what_an_older_one_put_in(bench: Bench, cli: Cli) -> None:
    before = seeded(bench)
    cli("install", "claude-code")
    record = Path(bench.home, "state/installed.json")
    settings = Path(bench.folder, ".claude/settings.json")
    for path in (record, settings):
        path.write_text(
            path.read_text().replace(
                "hook session-start --client claude-code", "hook session-start --client claude-code --old"
            )
        )
    told: Any = json.loads(record.read_text())
    for name, known in told["claude-code user"]["files"].items():
        if name.endswith("settings.json"):
            from byheart.text.slugs import content_digest

            known["after"] = content_digest(settings.read_text())
    record.write_text(json.dumps(told))
    assert cli("install", "claude-code").code == 0
    assert "--old" not in settings.read_text() and settings.read_text().count("hook session-start") == 1
    cli("uninstall", "claude-code")
    assert snapshot(bench) == before


def test_link_from_elsewhere_is_written_through(bench: Bench, cli: Cli, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "claude.json").write_text('{"model": "opus"}\n')
    (tmp_path / ".claude").mkdir()
    os.symlink(dotfiles / "claude.json", tmp_path / ".claude" / "settings.json")
    assert cli("install", "claude-code").code == 0
    assert (tmp_path / ".claude" / "settings.json").is_symlink()
    assert "SessionStart" in (dotfiles / "claude.json").read_text()
    cli("uninstall", "claude-code")
    assert (dotfiles / "claude.json").read_text() == '{"model": "opus"}\n'
    assert (tmp_path / ".claude" / "settings.json").is_symlink()


def test_secrets_of_other_peoples_files_are_not_shown_or_kept(bench: Bench, cli: Cli) -> None:
    seeded(bench)
    for words in (["--dry-run"], ["--dry-run", "--json"], [], ["--json"]):
        done = cli("install", "claude-code", *words)
        assert done.code == 0 and TOKEN not in done.out + done.err
    assert not [path for path in Path(bench.home).rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]


def test_dry_run_shows_and_changes_nothing(bench: Bench, cli: Cli) -> None:
    before = seeded(bench)
    done = cli("install", *names(), "--dry-run")
    assert done.code == 0 and "would be connected" in done.out
    assert "+" in done.out and "hook session-start" in done.out
    assert snapshot(bench) == before
    cli("install", "pi")
    middle = snapshot(bench)
    assert "would be disconnected" in cli("uninstall", "pi", "--dry-run").out
    assert snapshot(bench) == middle


def test_hooks_of_moments_only_where_they_are_wanted(bench: Bench, cli: Cli) -> None:
    settings = Path(bench.folder, ".claude/settings.json")
    moments = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "SubagentStart")
    cli("--set", "moments.enabled=false", "install", "claude-code")
    assert not any(f'"{each}"' in settings.read_text() for each in moments)
    cli("install", "claude-code")
    hooks = json.loads(settings.read_text())["hooks"]
    assert set(moments) <= set(hooks)
    # Reading and searching start nothing of ours.
    assert hooks["PreToolUse"][0]["matcher"] == "Bash|Edit|Write|MultiEdit|NotebookEdit"
    assert hooks["PostToolUse"][0]["matcher"] == "Bash"
    gate = Path(hooks["PreToolUse"][0]["hooks"][0]["command"].split()[3])
    assert gate.is_file() and gate.is_relative_to(bench.home)
    cli("--set", "moments.enabled=false", "install", "claude-code")
    assert not any(f'"{each}"' in settings.read_text() for each in moments)


def test_status_says_what_is_here_and_what_works(bench: Bench, cli: Cli) -> None:
    cli("remember", "I prefer pnpm")
    found: Any = json.loads(cli("status", "--json", "--no-check").out)
    assert {each["agent"] for each in found} == set(names()) and not any(each["scopes"] for each in found)
    cli("install", "claude-code", "codex", "--no-trust")
    done = cli("status", "claude-code")
    assert done.code == 0
    assert "server answers" in done.out and "hook OK" in done.out
    settings = Path(bench.folder, ".claude/settings.json")
    settings.write_text("{}")
    done = cli("status", "claude-code")
    assert done.code == 4 and "not as byheart install would write it" in done.err


@pytest.mark.parametrize("script", ["exec 0<&-\nexit 2\n", "exit 0\n", "head -c 1 >/dev/null\nexit 1\n"])
def test_codex_that_ends_early_is_connected_all_the_same_with_a_word(
    bench: Bench, cli: Cli, tmp_path: Path, script: str
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "codex").write_text(f"#!/bin/sh\n{script}")
    (programs / "codex").chmod(0o755)
    bench.variables["PATH"] = f"{programs}:{os.environ['PATH']}"
    for _ in range(5):
        done = cli("install", "codex")
        assert done.code == 0 and "/hooks" in done.out + done.err, "it is connected, and says how the hooks are trusted"
        assert "codex" in cli("uninstall", "codex").out


def test_pipe_that_breaks_elsewhere_is_no_reader_that_went_away(bench: Bench) -> None:
    told = "import os, sys; from byheart.interfaces.cli import app; app.command_in = lambda _: (lambda: (_ for _ in ()).throw(BrokenPipeError())); sys.exit(app.run(['x']))"
    done = subprocess.run(
        [sys.executable, "-c", told],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **bench.environment},
    )
    assert done.returncode == 5 and "BrokenPipeError" in done.stderr


@pytest.mark.parametrize(
    ("path", "old", "new", "said"),
    [
        (".codex/hooks.json", "hook session-start", "hook sesion-start", "no hook for a session's start"),
        (".qwen/settings.json", "hook session-start", "hook elsewhere", "no hook for a session's start"),
        (".claude/settings.json", "{", '{"disableAllHooks": true,', "switched off"),
        (".config/opencode/opencode.json", "{{server}}", "/bin/true", "does not answer"),
    ],
)
def test_status_tries_what_stands_in_the_settings(
    bench: Bench, cli: Cli, path: str, old: str, new: str, said: str
) -> None:
    agent = {"opencode": "opencode", ".codex": "codex", ".qwen": "qwen-code", ".claude": "claude-code"}[
        path.split("/")[-2]
    ]
    cli("install", agent, "--no-trust")
    assert cli("status", agent).code == 0
    settings = Path(bench.folder, path)
    text = settings.read_text()
    old = json.loads(text)["mcp"]["byheart"]["command"][0] if "server" in old else old
    assert old in text
    settings.write_text(text.replace(old, new, 1))
    done = cli("status", agent)
    assert done.code == 4 and said in done.out + done.err


def test_status_uses_up_nothing_that_a_session_is_told_once(bench: Bench, cli: Cli) -> None:
    world_session(bench, "From now on always use zirconium here.")
    cli("learn")
    cli("install", "claude-code")
    sizes = [re.search(r"brief: ([\d,]+)", cli("status", "claude-code").out) for _ in range(2)]
    assert sizes[0] and sizes[1] and sizes[0][1] == sizes[1][1]
    assert "Saved from earlier sessions" in cli("brief").out


def test_unknown_agent_and_nothing_named(bench: Bench, cli: Cli) -> None:
    assert cli("install", "nobody").code == 2
    done = cli("install")
    assert done.code == 2 and "Name an agent or use --all" in done.err
    assert cli("uninstall", "pi").code == 1
    assert cli("install", "pi", "--user", "--project").code == 2
    assert cli("status", "nobody").code == 2


def test_hook_scripts_are_valid_javascript(bench: Bench, cli: Cli, tmp_path: Path) -> None:
    import shutil

    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node here to read them with")
    cli("install", "opencode")
    script = Path(bench.folder, ".config/opencode/plugin/byheart.js")
    module = tmp_path / "plugin.mjs"
    module.write_text(
        script.read_text()
        + "\nconst made = await Byheart({directory: '.'});\nconsole.log(Object.keys(made).join());\nprocess.removeAllListeners('exit');\n"
    )
    done = subprocess.run([node, str(module)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "event" in done.stdout


def test_hook_of_somebodys_own_in_our_group_stays(bench: Bench, cli: Cli) -> None:
    cli("install", "claude-code")
    settings = Path(bench.folder, ".claude/settings.json")
    told = json.loads(settings.read_text())
    told["hooks"]["SessionStart"][0]["hooks"].append(
        {"type": "command", "command": "my-own-hook session-start --client x"}
    )
    settings.write_text(json.dumps(told))
    cli("install", "claude-code")
    assert "my-own-hook" in settings.read_text() and settings.read_text().count("byheart hook session-start") == 1
    cli("uninstall", "claude-code")
    left = json.loads(settings.read_text())
    assert [hook["command"] for group in left["hooks"]["SessionStart"] for hook in group["hooks"]] == [
        "my-own-hook session-start --client x"
    ]


@pytest.mark.parametrize(
    "text", ['[mcp_servers.byheart]\ncommand = "mine"\n', 'mcp_servers = { foo = { command = "mine" } }\n', 'x = """\n']
)
def test_toml_that_would_become_invalid_is_left_alone(bench: Bench, cli: Cli, text: str) -> None:
    config = Path(bench.folder, ".codex/config.toml")
    config.parent.mkdir()
    config.write_text(text)
    done = cli("install", "codex", "--no-trust")
    assert done.code == 4 and "config.toml cannot be changed" in done.err
    assert config.read_text() == text and sorted(os.listdir(config.parent)) == ["config.toml"]


def test_installs_at_once_are_all_recorded(bench: Bench, cli: Cli) -> None:
    import sys

    before = seeded(bench)
    environment = {**os.environ, **bench.environment, "BYHEART_CHILD": "1"}
    agents = ("claude-code", "codex", "gemini-cli", "cursor", "opencode", "claude-code")
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "byheart", "install", name, "--no-trust"],
            env=environment,
            cwd=bench.project,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name in agents
    ]
    assert [each.wait(timeout=120) for each in running] == [0] * len(agents)
    assert cli("uninstall", "--all").code == 0
    assert snapshot(bench) == before


def test_record_that_was_lost_does_not_keep_us_in(bench: Bench, cli: Cli) -> None:
    seeded(bench)
    cli("install", "claude-code")
    Path(bench.home, "state/installed.json").unlink()
    cli("install", "claude-code")
    cli("uninstall", "claude-code")
    home = Path(bench.folder)
    assert json.loads((home / ".claude/settings.json").read_text()) == json.loads(CLAUDE)
    assert not list(home.rglob("SKILL.md")) and "byheart" not in (home / ".claude.json").read_text()


def test_file_of_somebodys_own_where_ours_would_go_is_left_alone(bench: Bench, cli: Cli) -> None:
    own = Path(bench.folder, ".config/opencode/command/memory.md")
    own.parent.mkdir(parents=True)
    own.write_text("my own command\n")
    done = cli("install", "opencode")
    assert done.code == 0 and "is left alone" in done.err
    assert own.read_text() == "my own command\n"
    cli("uninstall", "opencode")
    assert own.read_text() == "my own command\n"


def test_what_could_not_be_written_leaves_no_copies(bench: Bench, cli: Cli) -> None:
    before = seeded(bench)
    blocked = Path(bench.folder, ".claude.json")
    blocked.unlink()
    blocked.mkdir()
    before[".claude.json"] = b"(folder)"
    assert cli("install", "claude-code").code in (3, 4, 5)
    assert snapshot(bench) == before


def test_version_of_cursors_file_is_its_own(bench: Bench, cli: Cli) -> None:
    path = Path(bench.folder, ".cursor/hooks.json")
    path.parent.mkdir()
    path.write_text('{"version": 2, "hooks": {}}')
    cli("install", "cursor")
    assert json.loads(path.read_text())["version"] == 2
    path.write_text(path.read_text().replace('"version": 2', '"version": 2, "mine": true'))
    cli("uninstall", "cursor")
    assert json.loads(path.read_text()).items() >= {"version": 2, "mine": True}.items()
