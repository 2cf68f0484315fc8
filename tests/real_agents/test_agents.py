"""Each agent as a user has it: connected, told, asked to remember, learnt from, disconnected. Needs `make test-agents`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from scripts.transcripts import Story, write

from tests.real_agents.clients import CLIENTS, Client, environment
from tests.real_agents.model import scripted

CACHE = os.environ.get("BYHEART_AGENTS")
PROMPT = "Please mend the bell. From now on always use zirconium here, never npm."
pytestmark = pytest.mark.skipif(not CACHE, reason="make test-agents installs the agents first")


def _client(name: str) -> Client:
    """An agent that is installed; its test is skipped where it is not."""
    client = CLIENTS[name]
    assert CACHE
    if not (Path(CACHE) / "node_modules" / ".bin" / client.program).exists():
        pytest.skip(f"{client.package} could not be installed here")
    return client


class Machine:
    """A person's machine: a home, a repository, an agent, and byheart."""

    def __init__(self, folder: Path, client: Client, address: str) -> None:
        self.client, self.home, self.repo = client, folder / "home", folder / "repo"
        self.home.mkdir(parents=True)
        self.repo.mkdir()
        subprocess.run(["git", "init", "-q", str(self.repo)], check=True)
        (self.repo / "README.md").write_text("A toy shop.\n")
        assert CACHE
        self.environment = environment(client, self.home, Path(CACHE), address)
        self.address = address
        client.setup(self.home, self.repo, address)

    def byheart(self, *words: str) -> subprocess.CompletedProcess[str]:
        program = Path(sys.executable).parent / "byheart"
        return subprocess.run(
            [str(program), *words], cwd=self.repo, env=self.environment, capture_output=True, text=True, check=False
        )

    def run(self, prompt: str) -> subprocess.CompletedProcess[str]:
        words = [self.client.program, *self.client.words(prompt, self.address)]
        return subprocess.run(
            words,
            cwd=self.repo,
            env=self.environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=self.client.seconds,
            check=False,
        )

    def files(self, own: set[str] | None = None) -> dict[str, bytes]:
        """Every file of the agent's in this home, by path; with `own`, only those."""
        found = {}
        for path in self.home.rglob("*"):
            name = str(path.relative_to(self.home))
            if path.is_file() and not name.startswith(".byheart") and (own is None or name in own):
                found[name] = path.read_bytes()
        return found

    def memory(self) -> str:
        """Everything that byheart's files say."""
        return "\n".join(
            path.read_text() for path in (self.home / ".byheart").rglob("*") if path.suffix in (".md", ".ndjson")
        )


# What agents keep their settings in, and which of these they rewrite at every run.
SETTINGS = (
    ".claude/settings.json", ".codex/config.toml", ".codex/hooks.json", ".codex/AGENTS.md", ".gemini/settings.json", ".qwen/settings.json",
    ".config/opencode/opencode.json", ".omp/agent/models.yml", ".pi/agent/models.json",
)  # fmt: skip
REWRITTEN = (".claude.json", ".copilot/config.json")
# Where agents put what happened: logs and transcripts say what they saw.
LOGS = (
    ".cache/",
    "logs/",
    "sessions/",
    "session-state/",
    "projects/",
    "/tmp/",
    ".local/",
    "history",
    "sqlite",
    ".db",
    "backups/",
)


@pytest.mark.parametrize("name", CLIENTS)
def test_agent_is_briefed_remembers_is_learnt_from_and_disconnected(name: str, tmp_path: Path) -> None:
    client = _client(name)
    with scripted() as model:
        machine = Machine(tmp_path, client, model.address)
        # Agents settle in at their first run; what they write then is theirs.
        first = machine.run("Say hello.")
        assert first.returncode == 0, first.stderr[-2000:]
        model.forget()
        assert machine.byheart("remember", "always greet the zebra at dawn because it is polite").returncode == 0
        (machine.home / ".byheart" / "config.toml").write_text(
            '[learning]\nenabled = true\n[recall]\nembedder = "none"\n'
        )
        before = machine.files()
        done = machine.byheart("install", name)
        assert done.returncode == 0, done.stderr
        again = machine.byheart("install", name)
        assert again.returncode == 0 and "already" in again.stdout, "installing twice changes nothing"

        said = machine.run(PROMPT)
        assert said.returncode == 0, said.stderr[-2000:]
        assert any("greet the zebra" in body.lower() for body in model.bodies), "the brief reached the model"
        assert "remember" in model.called, f"remember_this was not offered; {model.paths}"
        assert "llama after midnight" in machine.memory().lower(), "the model's call changed a file"
        _learnt(machine, client)

        told = machine.byheart("status", name)
        assert told.returncode == 0 and "user" in told.stdout, told.stdout + told.stderr
        gone = machine.byheart("uninstall", name)
        assert gone.returncode == 0, gone.stderr
        _as_it_was(before, machine.files())


@pytest.mark.parametrize("name", CLIENTS)
def test_agent_is_told_at_the_moment_of_a_failure_and_of_a_rule(name: str, tmp_path: Path) -> None:
    client = _client(name)
    with scripted() as model:
        machine = Machine(tmp_path, client, model.address)
        assert machine.run("Say hello.").returncode == 0
        (machine.repo / "check.sh").write_text("echo \"ModuleNotFoundError: No module named 'oven'\" >&2\nexit 1\n")
        for number, day in enumerate(("04", "05"), 1):
            events: list[tuple[object, ...]] = [
                ("user", "Run the check."),
                ("run", "sh check.sh", "ModuleNotFoundError: No module named 'oven'", 1),
                ("run", "PYTHONPATH=src sh check.sh", "3 passed", 0),
            ]
            name_of = f"5e55{number:04d}-4b7c-4d2e-9f10-0c0ffee0{number:04d}"
            write(
                Story("claude-code", name_of, str(machine.repo), f"2026-11-{day}T10:00:00", events, extra={}),
                machine.home,
            )
        (machine.home / ".byheart").mkdir(exist_ok=True)
        (machine.home / ".byheart" / "config.toml").write_text('[recall]\nembedder = "none"\n')
        assert machine.byheart("remember", "never push to main without asking").returncode == 0
        assert machine.byheart("learn").returncode == 0
        assert machine.byheart("brief", "--prepare").returncode == 0
        assert machine.byheart("learn").returncode == 0
        assert machine.byheart("install", name).returncode == 0
        model.forget()
        model.lines = ["ls", "sh check.sh", "git push origin main", "sh check.sh", "git push origin main"]
        said = machine.run("Please look at the bell and the check.")
        assert said.returncode == 0, said.stderr[-2000:]
        assert not model.lines, "the agent ran all of it"
        told = "\n".join(model.bodies)
        assert "came up in 2 sessions here" in told, "what helped reached the model"
        assert "PYTHONPATH=src" in told
        assert "the user said" in told, "the rule reached the model"
        # The last request holds all that was said: each of them once.
        last = max(model.bodies, key=len)
        assert last.count("came up in 2 sessions here") == 1
        assert last.count("the user said: ") + last.count("the user said: \\\\") <= 2


def _learnt(machine: Machine, client: Client) -> None:
    """The finished session is learnt from, by whoever the hook started."""
    if client.learns_later:
        noted = (machine.home / ".byheart/state/ended.ndjson").read_text()
        assert '"event": "stop"' in noted, client.learns_later
        return
    deadline = time.monotonic() + 60
    while "zirconium" not in machine.memory():
        assert time.monotonic() < deadline, "the finished session was not learnt from"
        time.sleep(0.5)


def _as_it_was(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Nothing of ours is left, and settings have every byte that they had."""
    assert not [
        path for path in after if "byheart" in path and path not in before and not any(log in path for log in LOGS)
    ]
    for path in SETTINGS:
        assert after.get(path) == before.get(path), f"{path} is not as it was"
    for path in REWRITTEN:
        assert b'"byheart"' not in after.get(path, b""), path


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini-cli", "copilot-cli", "opencode"])
def test_agent_that_is_connected_for_one_project_is_briefed(name: str, tmp_path: Path) -> None:
    client = _client(name)
    with scripted() as model:
        machine = Machine(tmp_path, client, model.address)
        assert machine.byheart("remember", "always greet the zebra at dawn because it is polite").returncode == 0
        done = machine.byheart("install", name, "--project")
        assert done.returncode == 0, done.stderr
        said = machine.run(PROMPT)
        assert said.returncode == 0, said.stderr[-2000:]
        assert any("greet the zebra" in body.lower() for body in model.bodies), "the brief reached the model"
        assert machine.byheart("uninstall", name).returncode == 0


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_plugin_does_the_same(name: str, tmp_path: Path) -> None:
    client = _client(name)
    with scripted() as model:
        machine = Machine(tmp_path, client, model.address)
        assert machine.byheart("remember", "always greet the zebra at dawn because it is polite").returncode == 0
        folder = tmp_path / "plugin"
        assert machine.byheart("plugin", name, str(folder)).returncode == 0
        add = "install" if name == "claude-code" else "add"
        for words in (["plugin", "marketplace", "add", str(folder)], ["plugin", add, "byheart@byheart"]):
            done = subprocess.run(
                [client.program, *words],
                cwd=machine.repo,
                env=machine.environment,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                check=False,
                timeout=120,
            )
            assert done.returncode == 0, done.stdout + done.stderr
        said = machine.run(PROMPT)
        assert said.returncode == 0, said.stderr[-2000:]
        assert "remember" in model.called and "llama after midnight" in machine.memory().lower()
        if name == "claude-code":
            # Codex asks a person to trust a plugin's hooks; its tools work at once.
            assert any("greet the zebra" in body.lower() for body in model.bodies)


def test_inspector_sees_the_tools(tmp_path: Path) -> None:
    assert CACHE
    inspector = Path(CACHE) / "node_modules" / ".bin" / "mcp-inspector"
    if not inspector.exists():
        pytest.skip("the inspector could not be installed here")
    program = Path(sys.executable).parent / "byheart"
    environment = {"HOME": str(tmp_path), "PATH": f"{inspector.parent}:{os.environ['PATH']}"}
    for method, expected in (
        ("tools/list", "remember_this"),
        ("resources/list", "memory://root"),
        ("prompts/list", "remember"),
    ):
        words = [str(inspector), "--cli", str(program), "mcp", "--method", method]
        done = subprocess.run(
            words,
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0 and expected in done.stdout, done.stdout + done.stderr


def test_agents_that_are_known_are_all_tried_or_named() -> None:
    from byheart.app.connecting import names

    untried = set(names()) - set(CLIENTS)
    assert untried == {"openclaw", "cursor", "vscode", "droid", "cline", "amp", "kiro", "crush"}, (
        "docs/agents.md names those that were not tried, with the reason"
    )
    assert shutil.which("git")
