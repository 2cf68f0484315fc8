"""How each agent is run headless against a model on loopback, in a home of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Client:
    """An agent: the npm package, its program, what its home needs first, and how a prompt is given to it."""

    agent: str
    package: str
    program: str
    words: Callable[[str, str], list[str]]
    setup: Callable[[Path, Path, str], None] = lambda *_: None
    variables: Callable[[str], dict[str, str]] = lambda _: {}
    # Why a session is not learnt from at once, where it is not.
    learns_later: str = ""
    seconds: int = 240
    extra: tuple[str, ...] = field(default=())


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2) + "\n")


def _claude(home: Path, repo: Path, address: str) -> None:
    _write(
        home / ".claude" / "settings.json",
        '{\n  "includeCoAuthoredBy": false,\n  "hooks": {\n    "Stop": [{"hooks": [{"type": "command", "command": "true"}]}]\n  }\n}\n',
    )
    _write(home / ".claude.json", {"hasCompletedOnboarding": True, "theme": "dark"})


def _codex(home: Path, repo: Path, address: str) -> None:
    config = f"""# my settings
model = "gpt-5.5"
model_provider = "fake"
check_for_update_on_startup = false

[model_providers.fake]
name = "fake"
base_url = "{address}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
supports_websockets = false

[projects."{repo}"]
trust_level = "trusted"

[analytics]
enabled = false
"""
    _write(home / ".codex" / "config.toml", config)
    _write(home / ".codex" / "AGENTS.md", "# My rules\n\n- Be brief.\n")


def _gemini(home: Path, repo: Path, address: str) -> None:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    }
    _write(home / ".gemini" / "settings.json", settings)


def _qwen(home: Path, repo: Path, address: str) -> None:
    _write(
        home / ".qwen" / "settings.json",
        {"security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": False}},
    )


def _opencode(home: Path, repo: Path, address: str) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "fake",
        "options": {"baseURL": f"{address}/v1", "apiKey": "x"},
        "models": {"fake-model": {"name": "fake", "tool_call": True}},
    }
    config = {
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "provider": {"fake": provider},
        "permission": "allow",
        "enabled_providers": ["fake"],
        "autoupdate": False,
        "share": "disabled",
    }
    _write(home / ".config" / "opencode" / "opencode.json", config)


def _pi(home: Path, repo: Path, address: str) -> None:
    model = {
        "id": "fake-model",
        "name": "fake",
        "reasoning": False,
        "input": ["text"],
        "contextWindow": 100000,
        "maxTokens": 4000,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    }
    _write(
        home / ".pi" / "agent" / "models.json",
        {
            "providers": {
                "fake": {"baseUrl": f"{address}/v1", "apiKey": "x", "api": "openai-completions", "models": [model]}
            }
        },
    )


def _omp(home: Path, repo: Path, address: str) -> None:
    text = f"""providers:
  fake:
    baseUrl: {address}/v1
    apiKey: x
    api: openai-completions
    models:
      - id: fake-model
        name: fake
        reasoning: false
        input: [text]
        contextWindow: 100000
        maxTokens: 4000
        cost: {{input: 0, output: 0, cacheRead: 0, cacheWrite: 0}}
"""
    _write(home / ".omp" / "agent" / "models.yml", text)


CLIENTS = {
    each.agent: each
    for each in (
        Client(
            "claude-code", "@anthropic-ai/claude-code", "claude",
            lambda prompt, address: ["-p", prompt, "--output-format", "json", "--dangerously-skip-permissions"],
            _claude,
            lambda address: {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1"},
        ),
        Client(
            "codex", "@openai/codex", "codex",
            lambda prompt, address: ["exec", "--dangerously-bypass-approvals-and-sandbox", "--json", prompt],
            _codex, lambda address: {"FAKE_KEY": "x"},
        ),
        Client(
            "gemini-cli", "@google/gemini-cli", "gemini",
            lambda prompt, address: ["-m", "gemini-2.5-pro", "--yolo", "-p", prompt],
            _gemini, lambda address: {"GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": "x", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        ),
        Client(
            "opencode", "opencode-ai", "opencode",
            lambda prompt, address: ["run", prompt],
            _opencode,
            lambda address: {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"},
        ),
        Client(
            "copilot-cli", "@github/copilot", "copilot",
            lambda prompt, address: ["--allow-all-tools", "--allow-all-paths", "-p", prompt],
            variables=lambda address: {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": f"{address}/v1", "COPILOT_PROVIDER_API_KEY": "x", "COPILOT_MODEL": "gpt-4.1", "COPILOT_AUTO_UPDATE": "false", "COPILOT_ALLOW_ALL": "true"},
        ),
        Client(
            "oh-my-pi", "@oh-my-pi/pi-coding-agent@18.2.3", "omp",
            lambda prompt, address: ["-p", "--mode", "json", "--model", "fake/fake-model", "--no-lsp", "--auto-approve", prompt],
            _omp, extra=("bun",),
        ),
        Client(
            "pi", "@mariozechner/pi-coding-agent@0.73.1", "pi",
            lambda prompt, address: ["-p", "--provider", "fake", "--model", "fake-model", prompt],
            _pi, lambda address: {"PI_OFFLINE": "1"},
        ),
        Client(
            "qwen-code", "@qwen-code/qwen-code", "qwen",
            lambda prompt, address: ["--yolo", "-p", prompt],
            _qwen, lambda address: {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{address}/v1", "OPENAI_MODEL": "fake-model"},
            learns_later="Qwen Code does not say headless that a session ends",
        ),
    )
}  # fmt: skip


def environment(client: Client, home: Path, cache: Path, address: str) -> dict[str, str]:
    """What an agent is run with: nothing of the person's who runs the tests."""
    path = f"{cache / 'node_modules' / '.bin'}:{os.environ['PATH']}"
    plain = {
        "HOME": str(home),
        "PATH": path,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "BYHEART_HOME": str(home / ".byheart"),
    }
    return {**plain, **client.variables(address)}
