"""Claude Code: sessions in ~/.claude/projects, hooks and MCP in its settings, memory beside its sessions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from byheart.agents.agent import Agent, MemoryFolder, Texts
from byheart.agents.claude_code.transcripts import NAME, ClaudeReader
from byheart.agents.installing.pieces import (
    ABOUT,
    SKILL,
    TOOLS,
    InstallTarget,
    Recipe,
    base,
    grouped_hooks,
    hook_entry,
    json_text,
    member,
    own_file,
    server,
    wanted,
    with_command,
)
from byheart.agents.reading import memory_files
from byheart.agents.reading.folders import Machine, files_in, is_running, setting_of
from byheart.agents.reading.lines import Broken, document
from byheart.agents.reading.values import mapping
from byheart.domain.learning import Headless
from byheart.domain.records import Scope
from byheart.domain.sessions import Caps, Found, Session, Tally

_SMALL = Caps(document_bytes=65_536)
_TYPES = frozenset(
    "user assistant summary system attachment progress file-history-snapshot queue-operation last-prompt custom-title mode permission-mode ai-title".split()
)
_IDS = {"sessionId", "uuid", "leafUuid", "messageId", "parentUuid"}
# The tools that a moment may be about; reading and searching start nothing of ours, but for a file that is not there.
_TOOLS = {
    "PreToolUse": "Bash|Edit|Write|MultiEdit|NotebookEdit",
    "PostToolUse": "Bash",
    "PostToolUseFailure": "Bash|Read",
}
_PLUGIN_EVENTS = {"session-start": "SessionStart", "pre-compact": "PreCompact", "session-end": "SessionEnd"}


def transcripts(machine: Machine) -> Iterator[Found]:
    """~/.claude/projects, or where CLAUDE_CONFIG_DIR says; ~/.config/claude before that."""
    chosen = machine.environment.get("CLAUDE_CONFIG_DIR", "")
    folders = [os.path.expanduser(each.strip()) for each in chosen.split(",") if each.strip()]
    folders = folders or [os.path.join(machine.home, ".claude"), os.path.join(machine.home, ".config/claude")]
    for folder in folders:
        for found in files_in("claude-code", os.path.join(folder, "projects"), ".jsonl"):
            if os.path.basename(found.path) != "journal.jsonl":
                yield found


def is_line(value: dict[str, Any], path: str) -> bool:
    """Whether Claude Code wrote a line; Qwen's are alike but for parts and provenance."""
    del path
    if "parts" in mapping(value.get("message")) or "provenance" in value:
        return False
    return value.get("type") in _TYPES and bool(_IDS & set(value) or "message" in value)


def is_active(machine: Machine, session: Session) -> bool:
    """Whether a process that is running says that it has the session open."""
    folder = os.path.join(machine.variable("CLAUDE_CONFIG_DIR", ".claude"), "sessions")
    own_id = session.parent or session.id
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    for name in names[:1000]:
        try:
            told = document(os.path.join(folder, name), _SMALL, Tally())
        except Broken:
            continue
        if isinstance(told, dict) and told.get("sessionId") == own_id and is_running(told.get("pid")):
            return True
    return False


def cleared_after(machine: Machine) -> float:
    """Thirty days, or what its settings say."""
    folder = machine.environment.get("CLAUDE_CONFIG_DIR") or os.path.join(machine.home, ".claude")
    found = setting_of(os.path.join(folder, "settings.json"), "cleanupPeriodDays")
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else 30.0


def memories(machine: Machine, folder: str) -> list[MemoryFolder]:
    """A file a topic in the project's folder, and the index of them."""
    home = machine.environment.get("CLAUDE_CONFIG_DIR") or os.path.join(machine.home, ".claude")
    place = f"{home}/projects/{re.sub('[^A-Za-z0-9]', '-', folder)}/memory"
    return [
        MemoryFolder(scope=Scope.LOCAL, folder=place, names=r"(?!MEMORY\.md).*\.md", read=memory_files.topic),
        MemoryFolder(scope=Scope.LOCAL, folder=place, names=r"MEMORY\.md", read=memory_files.unlinked),
    ]


def recipe(target: InstallTarget, texts: Texts) -> Recipe:
    """Claude Code: hooks in its settings, MCP, a skill and a command."""
    folder = base(target, "CLAUDE_CONFIG_DIR", ".claude")
    events = wanted(target, {"session-start": "SessionStart", "prompt": "UserPromptSubmit", "pre-tool": "PreToolUse", "post-tool": "PostToolUse|PostToolUseFailure", "subagent-start": "SubagentStart", "pre-compact": "PreCompact", "session-end": "SessionEnd"})  # fmt: skip
    entry = {"type": "stdio", **server(target), "alwaysLoad": True}
    if target.project:
        settings, mcp = f"{target.project}/.claude/settings.local.json", f"{target.project}/.mcp.json"
        place = f"{target.project}/.claude"
    else:
        settings = f"{folder}/settings.json"
        custom = "CLAUDE_CONFIG_DIR" in target.environment
        mcp = f"{folder}/.claude.json" if custom else os.path.join(target.home, ".claude.json")
        place = folder
    pieces = [
        *grouped_hooks(target, settings, "claude-code", events, seconds=10, matchers=_TOOLS),
        member(mcp, ("mcpServers", "byheart"), entry, TOOLS),
        own_file(f"{place}/skills/byheart/SKILL.md", with_command(texts("skill.md"), target), SKILL),
        own_file(
            f"{place}/commands/byheart/memory.md",
            with_command(texts("command.md"), target),
            "the command /byheart:memory",
        ),
    ]
    return Recipe(agent="claude-code", pieces=tuple(pieces), folders=(folder,), programs=("claude",))


def plugin(target: InstallTarget, texts: Texts) -> dict[str, str]:
    """A marketplace with one plugin, as Claude Code reads it: path → text."""
    market = {
        "name": "byheart",
        "owner": {"name": "byheart"},
        "plugins": [{"name": "byheart", "source": "./byheart", "description": ABOUT}],
    }
    hooks = {theirs: [{"hooks": [hook_entry(target, ours, NAME, 10, {})]}] for ours, theirs in _PLUGIN_EVENTS.items()}
    manifest = {"name": "byheart", "version": target.version, "description": ABOUT, "license": "MIT"}
    return {
        ".claude-plugin/marketplace.json": json_text(market),
        "byheart/.claude-plugin/plugin.json": json_text(manifest),
        "byheart/hooks/hooks.json": json_text({"hooks": hooks}),
        "byheart/.mcp.json": json_text({"mcpServers": {"byheart": {**server(target), "alwaysLoad": True}}}),
        "byheart/skills/byheart/SKILL.md": with_command(texts("skill.md"), target),
        "byheart/commands/memory.md": with_command(texts("command.md"), target),
        "byheart/README.md": texts("plugin.md"),
    }


# Without tools, settings (so without hooks), MCP servers, commands and a saved session; with the user's own login.
_HEADLESS = Headless(
    command=(
        "claude", "-p", "--output-format", "json", "--tools", "", "--setting-sources", "", "--strict-mcp-config", "--no-session-persistence",
        "--disable-slash-commands",
    ),
    model=("--model", "{model}"),
    field="result",
)  # fmt: skip
AGENTS = (
    Agent(
        name=NAME,
        transcripts=transcripts,
        lines=ClaudeReader,
        is_line=is_line,
        is_active=is_active,
        cleared_after=cleared_after,
        recipe=recipe,
        plugin=plugin,
        plugin_commands=("claude plugin marketplace add {folder}", "claude plugin install byheart@byheart"),
        memories=memories,
        headless=_HEADLESS,
    ),
)
