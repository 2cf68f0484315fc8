"""Droid, Factory's agent: Claude-like blocks in ~/.factory/sessions, hooks and MCP in ~/.factory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from byheart.agents.agent import Agent, Texts
from byheart.agents.installing.pieces import (
    SKILL,
    TOOLS,
    InstallTarget,
    Recipe,
    grouped_hooks,
    member,
    own_file,
    server,
    wanted,
    with_command,
)
from byheart.agents.reading.folders import Machine, files_in
from byheart.agents.reading.turn_builder import TurnBuilder
from byheart.agents.reading.values import flat, listing, mapping, string, when
from byheart.domain.sessions import Found, Session, Speaker

NAME = "droid"
_QUIET = frozenset({"todo_state", "session_end", "compaction_state"})


class DroidReader:
    """Reads the lines of one session."""

    def __init__(self, found: Found) -> None:
        stem = os.path.basename(found.path).removesuffix(".jsonl")
        self.builder = TurnBuilder(Session(id=stem, agent=NAME, path=found.path))

    def line(self, value: dict[str, Any]) -> str | None:
        """Take one line in; the name of its type where that is unknown."""
        kind, at, builder = string(value.get("type")), when(value.get("timestamp")), self.builder
        builder.seen(at)
        builder.at_line(string(value.get("id")))
        if kind == "session_start":
            builder.know(
                cwd=string(value.get("cwd")), title=string(value.get("title")), parent=string(value.get("parent"))
            )
        elif kind == "message":
            self._message(mapping(value.get("message")), at)
        elif kind not in _QUIET:
            return kind or "?"
        return None

    def _message(self, message: dict[str, Any], at: Any) -> None:
        role, builder = string(message.get("role")), self.builder
        builder.know(model=string(message.get("model")))
        said: list[str] = []
        content = message.get("content")
        for block in map(
            mapping, [{"type": "text", "text": content}] if isinstance(content, str) else listing(content)
        ):
            kind = block.get("type")
            if kind == "tool_use":
                builder.call(string(block.get("id")) or None, string(block.get("name")), block.get("input"), at)
            elif kind == "tool_result":
                failed = True if block.get("is_error") is True else None
                builder.answer(string(block.get("tool_use_id")) or None, flat(block.get("content")), at, failed=failed)
            elif kind == "text" and role == "assistant":
                builder.say("assistant", Speaker.ASSISTANT, flat(block), at)
            elif kind == "text":
                said.append(flat(block))
        if role == "user" and said:
            # The client puts its reminders into blocks of their own, beside what was typed.
            builder.hear("\n".join(said), at)

    def finish(self) -> None:
        """Nothing is left to say."""

    def state(self) -> dict[str, Any]:
        """What has to be remembered to go on later."""
        return {"scribe": self.builder.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self.builder.restore(state["scribe"])


def transcripts(machine: Machine) -> Iterator[Found]:
    """~/.factory/sessions, a folder for each project."""
    yield from files_in(NAME, os.path.join(machine.home, ".factory", "sessions"), ".jsonl")


def is_line(value: dict[str, Any], path: str) -> bool:
    """Whether Droid wrote a line; a message alone looks like pi's, so its folder has to say it."""
    kind = value.get("type")
    return kind == "session_start" or (kind == "message" and f"{os.sep}.factory{os.sep}" in path)


def recipe(target: InstallTarget, texts: Texts) -> Recipe:
    """Droid: hooks in its settings in Claude Code's shape, MCP in a file of its own, a skill."""
    folder = os.path.join(target.home, ".factory")
    place = f"{target.project}/.factory" if target.project else folder
    events = wanted(target, {"session-start": "SessionStart", "prompt": "UserPromptSubmit", "pre-tool": "PreToolUse", "post-tool": "PostToolUse", "pre-compact": "PreCompact", "session-end": "SessionEnd"})  # fmt: skip
    pieces = [
        *grouped_hooks(target, f"{place}/settings.json", NAME, events, seconds=10),
        member(f"{place}/mcp.json", ("mcpServers", "byheart"), {"type": "stdio", **server(target)}, TOOLS),
        own_file(f"{place}/skills/byheart/SKILL.md", with_command(texts("skill.md"), target), SKILL),
    ]
    note = "Droid's files follow its documentation; they were not tried with Droid itself"
    return Recipe(agent=NAME, pieces=tuple(pieces), folders=(folder,), programs=("droid",), notes=(note,))


AGENTS = (Agent(name=NAME, transcripts=transcripts, lines=DroidReader, is_line=is_line, recipe=recipe),)
