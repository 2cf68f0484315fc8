"""Codex: rollouts in ~/.codex, hooks that it wants trusted, MCP in config.toml, memories of its own."""

from __future__ import annotations

import fcntl
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from byheart.agents.agent import Agent, MemoryFolder, OwnHandbook, Texts
from byheart.agents.codex import trust
from byheart.agents.codex.transcripts import NAME, CodexReader, document
from byheart.agents.installing.pieces import (
    ABOUT,
    COMMAND,
    SKILL,
    TOOLS,
    InstallTarget,
    Recipe,
    base,
    block,
    grouped_hooks,
    hook_entry,
    json_text,
    own_file,
    server,
    wanted,
    with_command,
)
from byheart.agents.reading import memory_files
from byheart.agents.reading.folders import Machine, files_in
from byheart.agents.reading.memory_files import Native
from byheart.agents.reading.values import mapping, string
from byheart.domain.learning import Headless
from byheart.domain.records import Scope
from byheart.domain.sessions import Found, Session

_LARGEST = 400_000
_PLAIN_KEY = re.compile(r"[\w-]+")
# Codex gives the end of a session three seconds, whatever is asked for.
_END_SECONDS = 3
_ENVELOPED = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
_BARE = frozenset({"function_call", "function_call_output", "reasoning", "message"})
_PLUGIN_EVENTS = {"session-start": "SessionStart", "pre-compact": "PreCompact", "session-end": "SessionEnd"}


def home_of(machine: Machine) -> str:
    """~/.codex, or CODEX_HOME."""
    return machine.variable("CODEX_HOME", ".codex")


def transcripts(machine: Machine) -> Iterator[Found]:
    """Live and archived rollouts; a packed one only where the plain one is gone."""
    for folder in ("sessions", "archived_sessions"):
        every = list(files_in("codex", os.path.join(home_of(machine), folder), ".jsonl", ".jsonl.zst", ".json"))
        plain = {found.path for found in every}
        for found in every:
            if not (found.path.endswith(".zst") and found.path.removesuffix(".zst") in plain):
                yield found


def is_line(value: dict[str, Any], path: str) -> bool:
    """Whether Codex wrote a line, of whichever version."""
    del path
    kind = string(value.get("type"))
    if kind in _ENVELOPED and "payload" in value:
        return True
    if "record_type" in value or (not kind and {"id", "timestamp", "instructions"} <= set(value)):
        return True
    # Others have lines of these types too, with the message in one piece or a place in a tree.
    if kind not in _BARE or "parentId" in value or "message" in value:
        return False
    return bool({"call_id", "role", "summary"} & set(value))


def is_document(value: Any, path: str) -> bool:
    """Whether a document is one of the earliest rollouts."""
    del path
    return {"session", "items"} <= set(mapping(value))


def is_active(machine: Machine, session: Session) -> bool:
    """Whether another process holds the session's lock."""
    lock = os.path.join(home_of(machine), "thread-writer-locks", f"{os.path.basename(session.id)}.lock")
    try:
        opened = os.open(lock, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(opened)
    return False


def handbook(machine: Machine, folder: str) -> OwnHandbook:
    """~/.codex/memories, for all projects."""
    del folder
    return OwnHandbook(folder=os.path.join(home_of(machine), "memories"), is_shared=True)


def memories(machine: Machine, folder: str) -> list[MemoryFolder]:
    """Its handbook: what it says of this project, and of all."""
    own_home = machine.environment.get("CODEX_HOME") or os.path.join(machine.home, ".codex")

    def about_here(text: str, name: str) -> Iterator[Native]:
        return memory_files.blocks(text, name, lambda cwd: os.path.realpath(cwd) == folder)

    def of_all(place: str) -> MemoryFolder:
        def read(text: str, name: str) -> Iterator[Native]:
            return memory_files.general(text, name, _beside(f"{place}/MEMORY.md"))

        return MemoryFolder(scope=Scope.GLOBAL, folder=place, names=r"memory_summary\.md", read=read)

    here = MemoryFolder(scope=Scope.LOCAL, folder=f"{own_home}/memories", names=r"MEMORY\.md", read=about_here)
    return [of_all(f"{own_home}/memories"), of_all(f"{own_home}/memories_v2"), here]


def _beside(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read(_LARGEST)
    except OSError:
        return ""


def recipe(target: InstallTarget, texts: Texts) -> Recipe:
    """Codex: hooks.json, MCP in config.toml, a skill, a block in AGENTS.md. It runs only hooks that somebody trusts."""
    folder = base(target, "CODEX_HOME", ".codex")
    place = f"{target.project}/.codex" if target.project else folder
    events = wanted(target, {"session-start": "SessionStart", "prompt": "UserPromptSubmit", "pre-tool": "PreToolUse", "post-tool": "PostToolUse", "pre-compact": "PreCompact", "session-end": "SessionEnd"})  # fmt: skip
    # Told how much it may be given, Codex hands all of it on.
    extra = {"additionalContextLimit": target.tokens + 1000}
    command, *arguments = (*target.command, "mcp")
    lines = [
        "[mcp_servers.byheart]",
        f"command = {_toml(command)}",
        f"args = [{', '.join(_toml(each) for each in arguments)}]",
    ]
    if target.variables:
        lines.append(
            "env = { " + ", ".join(f"{name} = {_toml(value)}" for name, value in target.variables.items()) + " }"
        )
    guide = f"{target.project or folder}/AGENTS.md"
    pieces = [
        *grouped_hooks(
            target, f"{place}/hooks.json", "codex", events, seconds=10, end_seconds=_END_SECONDS, extra=extra
        ),
        block(f"{place}/config.toml", "\n".join(lines), TOOLS),
        block(guide, texts("guide.md").strip(), SKILL),
        own_file(
            f"{target.project or target.home}/.agents/skills/byheart/SKILL.md",
            with_command(texts("skill.md"), target),
            SKILL,
        ),
    ]
    if not target.project:
        # Codex reads prompts of the user alone; typed as /prompts:memory.
        pieces.append(own_file(f"{folder}/prompts/memory.md", with_command(texts("command.md"), target), COMMAND))
    return Recipe(agent="codex", pieces=tuple(pieces), folders=(folder,), programs=("codex",))


def _toml(text: str) -> str:
    # A basic string of TOML is one of JSON's, but for what JSON need not escape.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def plugin(target: InstallTarget, texts: Texts) -> dict[str, str]:
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
        "version": target.version,
        "description": ABOUT,
        "license": "MIT",
        "skills": "./skills/",
        "mcpServers": "./.mcp.json",
        "hooks": "./hooks/hooks.json",
        "interface": {"displayName": "byheart", "shortDescription": ABOUT},
    }
    extra = {"additionalContextLimit": target.tokens + 1000}
    seconds = {"session-end": _END_SECONDS}
    hooks = {
        theirs: [{"hooks": [hook_entry(target, ours, NAME, seconds.get(ours, 10), extra)]}]
        for ours, theirs in _PLUGIN_EVENTS.items()
    }
    place = "plugins/byheart"
    return {
        ".agents/plugins/marketplace.json": json_text(market),
        f"{place}/.codex-plugin/plugin.json": json_text(manifest),
        f"{place}/hooks/hooks.json": json_text({"hooks": hooks}),
        f"{place}/.mcp.json": json_text({"mcpServers": {"byheart": server(target)}}),
        f"{place}/skills/byheart/SKILL.md": with_command(texts("skill.md"), target),
        f"{place}/README.md": texts("plugin.md"),
    }


def _without_servers(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The words that keep Codex from starting the MCP servers of its settings: each has to be named."""
    folder = environment.get("CODEX_HOME") or os.path.join(environment.get("HOME") or os.path.expanduser("~"), ".codex")
    try:
        with open(os.path.join(folder, "config.toml"), "rb") as stream:
            servers = tomllib.load(stream).get("mcp_servers")
    except (OSError, ValueError):
        return ()
    names = servers if isinstance(servers, dict) else {}
    return tuple(word for name in names if _PLAIN_KEY.fullmatch(name) for word in ("-c", f"mcp_servers.{name}.enabled=false"))  # fmt: skip


_HEADLESS = Headless(
    # Without a session file, in a sandbox that only reads. The login and the provider are those of its settings; hooks, servers, tools and
    # instructions in them are left out.
    command=(
        "codex",
        "exec",
        "--ephemeral",
        "--skip-git-repo-check",
        "--sandbox",
        "read-only",
        "--disable",
        "hooks",
        "--disable",
        "shell_tool",
        "-c",
        'web_search="disabled"',
        "-c",
        "project_doc_max_bytes=0",
        "-c",
        "include_apply_patch_tool=false",
        "-o",
        "{out}",
    ),
    model=("-m", "{model}"),
    last=("-",),
    writes=True,
    more=_without_servers,
)
AGENTS = (
    Agent(
        name=NAME,
        transcripts=transcripts,
        lines=CodexReader,
        document=document,
        endings=(".zst",),
        is_line=is_line,
        is_document=is_document,
        is_active=is_active,
        recipe=recipe,
        plugin=plugin,
        plugin_commands=("codex plugin marketplace add {folder}", "codex plugin add byheart@byheart"),
        trust=trust.with_trust,
        trust_by_hand=trust.BY_HAND,
        memories=memories,
        handbook=handbook,
        headless=_HEADLESS,
    ),
)
