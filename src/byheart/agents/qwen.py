"""Qwen Code: Claude-like lines around Gemini's parts, with the client's own word for who said what."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from byheart.agents.agent import Agent, MemoryFolder, Texts
from byheart.agents.installing.pieces import (
    COMMAND,
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
from byheart.agents.reading import memory_files
from byheart.agents.reading.folders import Machine, files_in, names_in
from byheart.agents.reading.turn_builder import TurnBuilder
from byheart.agents.reading.values import flat, listing, mapping, number, string, when
from byheart.domain.records import Scope
from byheart.domain.sessions import Found, Session, Speaker

NAME = "qwen"
# The tools that a moment may be about.
_TOOLS = {
    "PreToolUse": "run_shell_command|edit|write_file",
    "PostToolUse": "run_shell_command",
    "PostToolUseFailure": "run_shell_command|read_file",
}


class QwenReader:
    """Reads the lines of one session."""

    def __init__(self, found: Found) -> None:
        stem = os.path.basename(found.path).removesuffix(".jsonl")
        folder = os.path.dirname(found.path)
        nested = os.path.basename(os.path.dirname(folder)) == "subagents"
        parent = os.path.basename(folder) if nested else None
        self.builder = TurnBuilder(Session(id=stem, agent=NAME, path=found.path, parent=parent))
        self._side = stem if nested else None

    def line(self, value: dict[str, Any]) -> str | None:
        """Take one line in; the name of its type where that is unknown."""
        kind, at, builder = string(value.get("type")), when(value.get("timestamp")), self.builder
        builder.seen(at)
        builder.at_line(string(value.get("uuid")))
        builder.know_first(cwd=string(value.get("cwd")))
        builder.know(version=string(value.get("version")), branch=string(value.get("gitBranch")))
        parts = listing(mapping(value.get("message")).get("parts"))
        if kind == "user":
            self._user(value, parts, at)
        elif kind == "assistant":
            builder.know(model=string(value.get("model")))
            for part in parts:
                call = mapping(mapping(part).get("functionCall"))
                if call:
                    builder.call(
                        string(call.get("id")) or None, string(call.get("name")), call.get("args"), at, side=self._side
                    )
                else:
                    builder.say("assistant", Speaker.ASSISTANT, flat(part), at, side=self._side)
        elif kind == "tool_result":
            self._result(value, parts, at)
        elif kind == "system":
            if value.get("subtype") in ("chat_compression", "compression"):
                builder.say("system", Speaker.SYSTEM, "[the conversation was compacted here]", at, synthetic="summary")
        else:
            return string(kind) or "?"
        return None

    def _user(self, value: dict[str, Any], parts: list[Any], at: Any) -> None:
        text = "\n".join(filter(None, (flat(part) for part in parts))) or flat(
            mapping(value.get("message")).get("content")
        )
        if value.get("provenance") not in (None, "real_user"):
            self.builder.say(
                "user", Speaker.SYSTEM, text, at, synthetic=string(value["provenance"]) or "notice", side=self._side
            )
        else:
            self.builder.hear(text, at, side=self._side)

    def _result(self, value: dict[str, Any], parts: list[Any], at: Any) -> None:
        outcome = mapping(value.get("toolCallResult"))
        shown = mapping(outcome.get("resultDisplay"))
        for part in parts:
            response = mapping(mapping(part).get("functionResponse"))
            body = mapping(response.get("response"))
            status = string(outcome.get("status"))
            self.builder.answer(
                string(response.get("id")) or string(outcome.get("callId")) or None,
                flat(body.get("output") or body.get("error")),
                at,
                status=number(shown.get("exitCode")),
                failed={"success": False, "error": True, "cancelled": True}.get(status),
                tool=string(response.get("name")) or "tool",
            )

    def finish(self) -> None:
        """Nothing is left to say."""

    def state(self) -> dict[str, Any]:
        """What has to be remembered to go on later."""
        return {"scribe": self.builder.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self.builder.restore(state["scribe"])


def transcripts(machine: Machine) -> Iterator[Found]:
    """~/.qwen/projects/*/chats, and sub-agents beside them."""
    base = os.path.join(machine.home, ".qwen", "projects")
    for name in names_in(base):
        for folder in ("chats", "subagents"):
            yield from files_in("qwen", os.path.join(base, name, folder), ".jsonl")


def is_line(value: dict[str, Any], path: str) -> bool:
    """Whether Qwen wrote a line: as Claude Code's, with parts or with who said it."""
    del path
    if value.get("type") not in ("user", "assistant", "tool_result", "system"):
        return False
    return "parts" in mapping(value.get("message")) or "provenance" in value


def memories(machine: Machine, folder: str) -> list[MemoryFolder]:
    """A file a topic, for all projects and for this one."""
    topics = r"(?!MEMORY\.md).*\.md"
    here = f"{machine.home}/.qwen/projects/{re.sub('[^A-Za-z0-9]', '-', folder)}/memory"
    return [
        MemoryFolder(
            scope=Scope.GLOBAL, folder=f"{machine.home}/.qwen/memories", names=topics, read=memory_files.topic
        ),
        MemoryFolder(scope=Scope.LOCAL, folder=here, names=topics, read=memory_files.topic),
    ]


def recipe(target: InstallTarget, texts: Texts) -> Recipe:
    """Qwen Code: settings in the shape of Claude Code's hooks and Gemini's servers."""
    folder = os.path.join(target.home, ".qwen")
    place = f"{target.project}/.qwen" if target.project else folder
    events = wanted(target, {"session-start": "SessionStart", "prompt": "UserPromptSubmit", "pre-tool": "PreToolUse", "post-tool": "PostToolUse|PostToolUseFailure", "pre-compact": "PreCompact", "stop": "Stop", "session-end": "SessionEnd"})  # fmt: skip
    pieces = [
        *grouped_hooks(target, f"{place}/settings.json", "qwen-code", events, seconds=10_000, matchers=_TOOLS),
        member(f"{place}/settings.json", ("mcpServers", "byheart"), server(target), TOOLS),
        own_file(f"{place}/skills/byheart/SKILL.md", with_command(texts("skill.md"), target), SKILL),
        own_file(f"{place}/commands/memory.toml", with_command(texts("command.toml"), target), COMMAND),
    ]
    return Recipe(agent="qwen-code", pieces=tuple(pieces), folders=(folder,), programs=("qwen",))


AGENTS = (
    Agent(
        name=NAME,
        client="qwen-code",
        transcripts=transcripts,
        lines=QwenReader,
        is_line=is_line,
        recipe=recipe,
        memories=memories,
    ),
)
