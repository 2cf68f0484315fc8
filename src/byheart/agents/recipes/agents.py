"""A recipe for each agent."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any

from byheart.agents.recipes.shapes import base, block, element, grouped_hooks, hook_line, member, own, server, wanted
from byheart.domain.installing import Piece, Recipe
from byheart.domain.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from byheart.domain.installing import Around

    Texts = Callable[[str], str]

_TOOLS = "offers memory as tools"
_SKILL = "says when to use memory"
_COMMAND = "the command /memory"


def claude_code(around: Around, texts: Texts) -> Recipe:
    """Claude Code: hooks in its settings, MCP, a skill and a command."""
    folder = base(around, "CLAUDE_CONFIG_DIR", ".claude")
    events = wanted(around, {"session-start": "SessionStart", "prompt": "UserPromptSubmit", "pre-tool": "PreToolUse", "pre-compact": "PreCompact", "session-end": "SessionEnd"})  # fmt: skip
    entry = {"type": "stdio", **server(around), "alwaysLoad": True}
    if around.project:
        settings, mcp = f"{around.project}/.claude/settings.local.json", f"{around.project}/.mcp.json"
        place = f"{around.project}/.claude"
    else:
        settings = f"{folder}/settings.json"
        custom = "CLAUDE_CONFIG_DIR" in around.environment
        mcp = f"{folder}/.claude.json" if custom else os.path.join(around.home, ".claude.json")
        place = folder
    pieces = [
        *grouped_hooks(around, settings, "claude-code", events, seconds=10),
        member(mcp, ("mcpServers", "byheart"), entry, _TOOLS),
        own(f"{place}/skills/byheart/SKILL.md", _with_command(texts("skill.md"), around), _SKILL),
        own(
            f"{place}/commands/byheart/memory.md",
            _with_command(texts("command.md"), around),
            "the command /byheart:memory",
        ),
    ]
    return Recipe(agent="claude-code", pieces=tuple(pieces), folders=(folder,), programs=("claude",))


def _with_command(text: str, around: Around) -> str:
    return text.replace("{{byheart}}", shlex.join(around.command))


def codex(around: Around, texts: Texts) -> Recipe:
    """Codex: hooks.json, MCP in config.toml, a skill, a block in AGENTS.md. It runs only hooks that somebody trusts."""
    folder = base(around, "CODEX_HOME", ".codex")
    place = f"{around.project}/.codex" if around.project else folder
    events = wanted(around, {"session-start": "SessionStart", "prompt": "UserPromptSubmit", "pre-tool": "PreToolUse", "pre-compact": "PreCompact", "session-end": "SessionEnd"})  # fmt: skip
    # Told how much it may be given, Codex hands all of it on.
    extra = {"additionalContextLimit": around.tokens + 1000}
    command, *arguments = (*around.command, "mcp")
    lines = [
        "[mcp_servers.byheart]",
        f"command = {_toml(command)}",
        f"args = [{', '.join(_toml(each) for each in arguments)}]",
    ]
    if around.variables:
        lines.append(
            "env = { " + ", ".join(f"{name} = {_toml(value)}" for name, value in around.variables.items()) + " }"
        )
    guide = f"{around.project or folder}/AGENTS.md"
    pieces = [
        *grouped_hooks(around, f"{place}/hooks.json", "codex", events, seconds=10, extra=extra),
        block(f"{place}/config.toml", "\n".join(lines), _TOOLS),
        block(guide, texts("guide.md").strip(), _SKILL),
        own(
            f"{around.project or around.home}/.agents/skills/byheart/SKILL.md",
            _with_command(texts("skill.md"), around),
            _SKILL,
        ),
    ]
    return Recipe(agent="codex", pieces=tuple(pieces), folders=(folder,), programs=("codex",), after="codex-trust")


def _toml(text: str) -> str:
    # A basic string of TOML is one of JSON's, but for what JSON need not escape.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def gemini_cli(around: Around, texts: Texts) -> Recipe:
    """Gemini CLI: an extension of its own for the user; settings for a project."""
    folder = os.path.join(base(around, "GEMINI_CLI_HOME", ""), ".gemini")
    events = wanted(around, {"session-start": "SessionStart", "prompt": "BeforeAgent", "pre-tool": "BeforeTool", "session-end": "SessionEnd"})  # fmt: skip
    if around.project:
        settings = f"{around.project}/.gemini/settings.json"
        pieces = [
            *grouped_hooks(around, settings, "gemini-cli", events, seconds=10_000),
            member(settings, ("mcpServers", "byheart"), server(around), _TOOLS),
            own(f"{around.project}/.gemini/skills/byheart/SKILL.md", _with_command(texts("skill.md"), around), _SKILL),
        ]
        return Recipe(agent="gemini-cli", pieces=tuple(pieces), folders=(folder,), programs=("gemini",))
    place = f"{folder}/extensions/byheart"
    manifest = {
        "name": "byheart",
        "version": around.version,
        "description": "Memory from session to session",
        "mcpServers": {"byheart": server(around)},
    }
    handlers = {
        theirs: [{"hooks": [{"name": f"byheart {ours}", "type": "command", "command": hook_line(around, ours, "gemini-cli"), "timeout": 10_000}]}]
        for ours, theirs in events.items()
    }  # fmt: skip
    pieces = [
        own(f"{place}/gemini-extension.json", _json(manifest), _TOOLS),
        own(
            f"{place}/hooks/hooks.json",
            _json({"hooks": handlers}),
            "tells a session what memory holds, and learns when it ends",
        ),
        own(f"{place}/skills/byheart/SKILL.md", _with_command(texts("skill.md"), around), _SKILL),
        own(f"{place}/commands/memory.toml", _with_command(texts("command.toml"), around), _COMMAND),
    ]
    return Recipe(agent="gemini-cli", pieces=tuple(pieces), folders=(folder,), programs=("gemini",))


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def qwen_code(around: Around, texts: Texts) -> Recipe:
    """Qwen Code: settings in the shape of Claude Code's hooks and Gemini's servers."""
    folder = os.path.join(around.home, ".qwen")
    place = f"{around.project}/.qwen" if around.project else folder
    events = wanted(around, {"session-start": "SessionStart", "prompt": "UserPromptSubmit", "pre-tool": "PreToolUse", "pre-compact": "PreCompact", "stop": "Stop", "session-end": "SessionEnd"})  # fmt: skip
    pieces = [
        *grouped_hooks(around, f"{place}/settings.json", "qwen-code", events, seconds=10_000),
        member(f"{place}/settings.json", ("mcpServers", "byheart"), server(around), _TOOLS),
        own(f"{place}/skills/byheart/SKILL.md", _with_command(texts("skill.md"), around), _SKILL),
    ]
    return Recipe(agent="qwen-code", pieces=tuple(pieces), folders=(folder,), programs=("qwen",))


def copilot_cli(around: Around, texts: Texts) -> Recipe:
    """Copilot CLI: a hooks file of ours, MCP, a skill."""
    folder = base(around, "COPILOT_HOME", ".copilot")
    events = wanted(around, {"session-start": "sessionStart", "prompt": "userPromptSubmitted", "pre-tool": "preToolUse", "session-end": "sessionEnd"})  # fmt: skip
    handlers: dict[str, Any] = {
        theirs: [{"type": "command", "bash": hook_line(around, ours, "copilot-cli"), "timeoutSec": 10}]
        for ours, theirs in events.items()
    }
    place = f"{around.project}/.github" if around.project else folder
    pieces = [
        own(f"{place}/hooks/byheart.json", _json({"version": 1, "hooks": handlers}), "tells a session what memory holds, and learns when it ends"),
        own(f"{place}/skills/byheart/SKILL.md", _with_command(texts("skill.md"), around), _SKILL),
    ]  # fmt: skip
    notes: tuple[str, ...] = ("the tools are for all projects alone: connect them with --user",)
    if not around.project:
        entry = {"type": "local", **server(around), "tools": ["*"]}
        pieces.append(member(f"{folder}/mcp-config.json", ("mcpServers", "byheart"), entry, _TOOLS))
        notes = ()
    return Recipe(agent="copilot-cli", pieces=tuple(pieces), folders=(folder,), programs=("copilot",), notes=notes)


def opencode(around: Around, texts: Texts) -> Recipe:
    """opencode: a plugin of ours, and MCP in its config."""
    folder = os.path.join(around.environment.get("XDG_CONFIG_HOME") or os.path.join(around.home, ".config"), "opencode")
    place = f"{around.project}/.opencode" if around.project else folder
    top = around.project or folder
    config = next((path for name in ("opencode.jsonc", "opencode.json") if os.path.exists(path := f"{top}/{name}")), f"{top}/opencode.json")  # fmt: skip
    entry: dict[str, Any] = {"type": "local", "command": [*around.command, "mcp"], "enabled": True}
    if around.variables:
        entry["environment"] = dict(around.variables)
    pieces = [
        own(f"{place}/plugin/byheart.js", _script(texts("opencode.js"), around), "tells a session what memory holds, and learns when it pauses"),
        member(config, ("mcp", "byheart"), entry, _TOOLS),
        own(f"{place}/command/memory.md", _with_command(texts("command.md"), around), _COMMAND),
    ]  # fmt: skip
    return Recipe(agent="opencode", pieces=tuple(pieces), folders=(folder, os.path.join(around.home, ".local/share/opencode")), programs=("opencode",))  # fmt: skip


def _script(text: str, around: Around) -> str:
    """A script with byheart's words in it, as JSON, which is JavaScript."""
    return text.replace("{{command}}", json.dumps(list(around.command))).replace("{{variables}}", json.dumps(dict(around.variables)))  # fmt: skip


def pi(around: Around, texts: Texts) -> Recipe:
    """pi: an extension, which also brings the tools that others get by MCP."""
    folder = base(around, "PI_CODING_AGENT_DIR", ".pi/agent")
    place = f"{around.project}/.pi" if around.project else folder
    text = _script(texts("pi.ts"), around).replace("{{client}}", "pi")
    pieces = (own(f"{place}/extensions/byheart.ts", text, "tells a session what memory holds, offers memory as tools, and learns when it ends"),)  # fmt: skip
    return Recipe(agent="pi", pieces=pieces, folders=(folder,), programs=("pi",))


def oh_my_pi(around: Around, texts: Texts) -> Recipe:
    """oh-my-pi: an extension, and MCP in a file of its own."""
    folder = base(around, "PI_CODING_AGENT_DIR", ".omp/agent")
    place = f"{around.project}/.omp" if around.project else folder
    text = _script(texts("pi.ts"), around).replace("{{client}}", "oh-my-pi")
    pieces = [
        own(f"{place}/extensions/byheart.ts", text, "tells a session what memory holds, and learns when it ends"),
        member(f"{place}/mcp.json", ("mcpServers", "byheart"), {"type": "stdio", **server(around)}, _TOOLS),
        own(f"{place}/skills/byheart/SKILL.md", _with_command(texts("skill.md"), around), _SKILL),
    ]
    return Recipe(agent="oh-my-pi", pieces=tuple(pieces), folders=(folder,), programs=("omp",))


def openclaw(around: Around, texts: Texts) -> Recipe:
    """OpenClaw: MCP in its config, a skill, and a block in its workspace that has it look at memory first."""
    folder = base(around, "OPENCLAW_STATE_DIR", ".openclaw")
    # It reads the same folder whichever project it works in.
    if around.project:
        note = "it is connected for all projects alone: byheart install openclaw"
        return Recipe(agent="openclaw", pieces=(), folders=(folder,), programs=("openclaw",), notes=(note,))
    pieces = [
        member(f"{folder}/openclaw.json", ("mcp", "servers", "byheart"), server(around), _TOOLS),
        own(f"{folder}/skills/byheart/SKILL.md", _with_command(texts("skill.md"), around), _SKILL),
        block(f"{folder}/workspace/AGENTS.md", texts("guide.md").strip(), _SKILL),
    ]
    return Recipe(agent="openclaw", pieces=tuple(pieces), folders=(folder,), programs=("openclaw",))


def cursor(around: Around, texts: Texts) -> Recipe:
    """Cursor: hooks.json and mcp.json."""
    del texts
    folder = os.path.join(around.home, ".cursor")
    place = f"{around.project}/.cursor" if around.project else folder
    events = wanted(around, {"session-start": "sessionStart", "pre-compact": "preCompact", "session-end": "sessionEnd"})
    version = replace(member(f"{place}/hooks.json", ("version",), 1, "the version of the file"), keeps=True)
    hooks: list[Piece] = [version]
    hooks += [
        element(f"{place}/hooks.json", ("hooks", theirs), {"command": hook_line(around, ours, "cursor")}, "tells a session what memory holds, or learns from it")
        for ours, theirs in events.items()
    ]  # fmt: skip
    pieces = [*hooks, member(f"{place}/mcp.json", ("mcpServers", "byheart"), server(around), _TOOLS)]
    note = "Cursor's hooks follow its documentation; they were not tried with Cursor itself"
    return Recipe(agent="cursor", pieces=tuple(pieces), folders=(folder,), programs=("cursor", "cursor-agent"), notes=(note,))  # fmt: skip


def vscode(around: Around, texts: Texts) -> Recipe:
    """VS Code: MCP alone."""
    del texts
    user = "Library/Application Support/Code/User" if around.system == "darwin" else ".config/Code/User"
    folder = os.path.join(around.home, user)
    path = f"{around.project}/.vscode/mcp.json" if around.project else f"{folder}/mcp.json"
    pieces = (member(path, ("servers", "byheart"), {"type": "stdio", **server(around)}, _TOOLS),)
    return Recipe(agent="vscode", pieces=pieces, folders=(folder,), programs=("code",))


RECIPES: dict[str, Callable[[Around, Texts], Recipe]] = {
    "claude-code": claude_code,
    "codex": codex,
    "oh-my-pi": oh_my_pi,
    "pi": pi,
    "openclaw": openclaw,
    "gemini-cli": gemini_cli,
    "opencode": opencode,
    "copilot-cli": copilot_cli,
    "qwen-code": qwen_code,
    "cursor": cursor,
    "vscode": vscode,
}
