"""Plugins: everything that connects an agent as one folder, for those who would rather add a plugin than have settings changed."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from byheart.agents.recipes.shapes import hook_line, server

if TYPE_CHECKING:
    from collections.abc import Callable

    from byheart.domain.installing import Around

_ABOUT = "Memory from session to session: briefs each session, remembers, recalls, and learns when it ends."
_EVENTS = {"session-start": "SessionStart", "pre-compact": "PreCompact", "session-end": "SessionEnd"}


def claude_code(around: Around, texts: Callable[[str], str]) -> dict[str, str]:
    """A marketplace with one plugin, as Claude Code reads it: path → text."""
    market = {
        "name": "byheart",
        "owner": {"name": "byheart"},
        "plugins": [{"name": "byheart", "source": "./byheart", "description": _ABOUT}],
    }
    manifest = {"name": "byheart", "version": around.version, "description": _ABOUT, "license": "MIT"}
    return {
        ".claude-plugin/marketplace.json": _json(market),
        "byheart/.claude-plugin/plugin.json": _json(manifest),
        "byheart/hooks/hooks.json": _json({"hooks": _hooks(around, "claude-code", {})}),
        "byheart/.mcp.json": _json({"mcpServers": {"byheart": {**server(around), "alwaysLoad": True}}}),
        "byheart/skills/byheart/SKILL.md": texts("skill.md").replace("{{byheart}}", shlex.join(around.command)),
        "byheart/commands/memory.md": texts("command.md").replace("{{byheart}}", shlex.join(around.command)),
        "byheart/README.md": texts("plugin.md"),
    }


def codex(around: Around, texts: Callable[[str], str]) -> dict[str, str]:
    """A marketplace with one plugin, as Codex reads it: path → text."""
    market = {
        "name": "byheart",
        "interface": {"displayName": "byheart"},
        "plugins": [
            {
                "name": "byheart",
                "source": {"source": "local", "path": "./plugins/byheart"},
                "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                "category": "Productivity",
            }
        ],
    }
    manifest = {
        "name": "byheart",
        "version": around.version,
        "description": _ABOUT,
        "license": "MIT",
        "skills": "./skills/",
        "mcpServers": "./.mcp.json",
        "hooks": "./hooks/hooks.json",
        "interface": {"displayName": "byheart", "shortDescription": _ABOUT},
    }
    extra = {"additionalContextLimit": around.tokens + 1000}
    place = "plugins/byheart"
    return {
        ".agents/plugins/marketplace.json": _json(market),
        f"{place}/.codex-plugin/plugin.json": _json(manifest),
        f"{place}/hooks/hooks.json": _json({"hooks": _hooks(around, "codex", extra)}),
        f"{place}/.mcp.json": _json({"mcpServers": {"byheart": server(around)}}),
        f"{place}/skills/byheart/SKILL.md": texts("skill.md").replace("{{byheart}}", shlex.join(around.command)),
        f"{place}/README.md": texts("plugin.md"),
    }


def _hooks(around: Around, client: str, extra: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for ours, theirs in _EVENTS.items():
        more = dict(extra) if ours == "session-start" else {}
        arguments = more.pop("arguments", ())
        seconds = 3 if (client, ours) == ("codex", "session-end") else 10
        handler = {
            "type": "command",
            "command": hook_line(around, ours, client, *arguments),
            "timeout": seconds,
            **more,
        }
        found[theirs] = [{"hooks": [handler]}]
    return found


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


PLUGINS = {"claude-code": claude_code, "codex": codex}
HOW = {
    "claude-code": ("claude plugin marketplace add {folder}", "claude plugin install byheart@byheart"),
    "codex": ("codex plugin marketplace add {folder}", "codex plugin add byheart@byheart"),
}
