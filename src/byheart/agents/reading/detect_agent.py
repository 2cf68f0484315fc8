"""Telling by its beginning which agent wrote a file."""

from __future__ import annotations

import os
from typing import Any

from byheart.agents.reading import lines
from byheart.agents.reading.lines import Broken
from byheart.agents.reading.values import mapping, string
from byheart.domain.sessions import Caps, Tally

# Nearly always the first part tells; a first line with a long prompt in it takes the whole.
_FIRST, _HEAD = 32_768, 262_144
_CODEX = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
_CLAUDE = frozenset(
    "user assistant summary system attachment progress file-history-snapshot queue-operation last-prompt custom-title mode permission-mode ai-title".split()
)


def agent_of(path: str, caps: Caps) -> str | None:
    """The agent's name; None where nothing fits."""
    name = os.path.basename(path)
    if name.endswith(".traj"):
        return "swe-agent"
    if name.endswith(".zst"):
        return "codex"
    if name.endswith(".md"):
        return _prose(path)
    if name.endswith(".txt"):
        return "cursor" if "agent-transcripts" in path else None
    if name.endswith(".json"):
        return _document(path, caps)
    return _lines(path)


def _head(path: str, most: int = _HEAD) -> bytes:
    stream = lines.opened(path)
    if stream is None:
        return b""
    with stream:
        try:
            return stream.read(most) or b""
        except OSError:
            return b""


def _prose(path: str) -> str | None:
    head = _head(path).decode("utf-8", "replace")
    if "# aider chat started at " in head:
        return "aider"
    return "specstory" if "SpecStory" in head[:2000] or "\n_**User" in head else None


def _lines(path: str) -> str | None:
    agent = _voted(path, _head(path, _FIRST))
    return agent if agent not in (None, "generic") else _voted(path, _head(path))


def _voted(path: str, head: bytes) -> str | None:
    votes: dict[str, int] = {}
    for raw in head.split(b"\n", 40)[:40]:
        try:
            value = lines.decoded(raw, Tally()) if raw.strip() else None
        except Broken:
            continue
        if isinstance(value, dict) and (agent := _line(value, path)):
            votes[agent] = votes.get(agent, 0) + 1
    # A plain line looks like anybody's, so it decides only where nothing else does.
    best = sorted(votes, key=lambda agent: (agent != "generic", votes[agent]), reverse=True)
    return best[0] if best else None


def _line(value: dict[str, Any], path: str) -> str | None:
    kind = string(value.get("type"))
    if (
        (kind in _CODEX and "payload" in value)
        or "record_type" in value
        or (not kind and {"id", "timestamp", "instructions"} <= set(value))
    ):
        return "codex"
    if kind == "title" and "v" in value:
        return "oh-my-pi"
    if (kind == "session" and "cwd" in value) or (
        "parentId" in value and kind in ("message", "model_change", "custom")
    ):
        return "openclaw" if "openclaw" in path.lower() else "oh-my-pi" if f"{os.sep}.omp{os.sep}" in path else "pi"
    if "projectHash" in value or "$set" in value:
        return "gemini"
    if isinstance(kind, str) and "." in kind and "data" in value:
        return "copilot"
    return _message_line(value, kind)


def _message_line(value: dict[str, Any], kind: Any) -> str | None:
    message = mapping(value.get("message"))
    if kind in ("user", "assistant", "tool_result", "system") and ("parts" in message or "provenance" in value):
        return "qwen"
    if kind in _CLAUDE and (
        {"sessionId", "uuid", "leafUuid", "messageId", "parentUuid"} & set(value) or "message" in value
    ):
        return "claude-code"
    if "role" in value and "content" in message:
        return "cursor"
    if "role" in value and "created" in value and isinstance(value.get("content"), list):
        return "goose"
    if {"working_dir", "message_count"} <= set(value):
        return "goose"
    if kind in ("function_call", "function_call_output", "reasoning", "message") and (
        "call_id" in value or "role" in value or "summary" in value
    ):
        return "codex"
    return "generic" if "role" in value or isinstance(value.get("session"), dict) else None


def _document(path: str, caps: Caps) -> str | None:
    try:
        value = lines.document(path, caps, Tally())
    except Broken:
        return None
    name, folder = os.path.basename(path), path.split(os.sep)
    if isinstance(value, list):
        first = mapping(value[0]) if value else {}
        if "source" in first and ("action" in first or "observation" in first):
            return "openhands"
        return "cline" if "role" in first and name != "ui_messages.json" else None
    keys = set(mapping(value))
    if {"session", "items"} <= keys:
        return "codex"
    if {"info", "messages"} <= keys:
        return "opencode"
    if "chatMessages" in keys:
        return "copilot"
    if "messages" in keys and {"projectHash", "startTime"} & keys:
        return "gemini"
    if "messages" in keys and name.endswith(".messages.json"):
        return "cline"
    if {"history", "sessionId"} <= keys:
        return "continue"
    if name == "base_state.json" and "agent" in keys:
        return "openhands"
    if name == "meta.json" and "origin_directory" in keys:
        return "vibe"
    if "session" in folder and {"projectID", "directory"} & keys and name.startswith("ses_"):
        return "opencode"
    return "swe-agent" if "trajectory" in keys else None
