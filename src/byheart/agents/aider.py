"""aider: one Markdown file a repository, all chats in it one after the other."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from byheart.agents.agent import Agent
from byheart.agents.reading import lines
from byheart.agents.reading.folders import Machine, file_of
from byheart.agents.reading.turn_builder import TurnBuilder
from byheart.domain.sessions import Caps, Event, Found, How, Session, Speaker, Tally, Touch
from byheart.text.slugs import short_digest

NAME = "aider"
# What a single message may hold; more than anybody reads.
LONGEST = 1_000_000
_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
_VERSION = re.compile(r"> Aider v(\S+)")
_APPLIED = re.compile(r"> Applied edit to (.+?)\s*$")
_COMMIT = re.compile(r"> Commit ([0-9a-f]{7,40}) ")
_RAN = re.compile(r"> (?:Running|\$) (.+?)\s*$")


def read(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    """All chats of one history file; a chat's name comes from its file and when it began."""
    folder = os.path.dirname(found.path)
    builder: TurnBuilder | None = None
    gathered: list[str] = []
    mode = ""
    fenced = False
    seen: dict[str, int] = {}
    held = 0
    last = [""]
    for line in lines.rows(lines.text(found.path, caps.document_bytes, tally)):
        started = None if fenced else _START.match(line)
        tally.lines += 1
        tally.known_lines += 1
        if started:
            if builder:
                _flush(builder, mode, gathered, last)
                yield from builder.end()
            began = started.group(1)
            seen[began] = seen.get(began, 0) + 1
            own = f"aider-{began.replace(' ', 'T').replace(':', '')}-{short_digest(folder, began, str(seen[began]))}"
            builder = TurnBuilder(Session(id=own, agent=NAME, path=found.path, cwd=folder))
            # The file is written in the machine's own time.
            builder.seen(_local(began))
            mode, gathered, last = "", [], [""]
            continue
        if builder is None:
            if line.strip():
                tally.skipped["before the first chat"] += 1
            continue
        # aider ends the lines that it writes itself with two spaces; an answer's own headings and quotes have none.
        marked = not fenced and (line.endswith("  ") or line.startswith("> Commit "))
        kind = (
            "user"
            if marked and line.startswith("####")
            else "tool"
            if marked and line.startswith("> ")
            else "assistant"
        )
        if kind == "assistant" and line.startswith("```"):
            fenced = not fenced
        if kind == "assistant" and mode == "user" and not line.strip():
            continue
        if kind != mode:
            _flush(builder, mode, gathered, last)
            yield from builder.take()
            mode, gathered, fenced, held = kind, [], fenced if kind == "assistant" else False, 0
        held += len(line) + 1
        if held <= LONGEST:
            gathered.append(line)
        elif held - len(line) <= LONGEST + 1:
            tally.skipped["message too long"] += 1
    if builder:
        _flush(builder, mode, gathered, last)
        yield from builder.end()
    tally.known_bytes = tally.bytes


def _local(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        return None


def _flush(builder: TurnBuilder, mode: str, gathered: list[str], last: list[str]) -> None:
    if mode == "user":
        builder.hear("\n".join(line[4:].strip() for line in gathered), None)
    elif mode == "assistant":
        text = "\n".join(gathered).strip()
        if text and text not in last[0]:
            # A commit message of several lines repeats the answer; only its first line is marked as console output.
            builder.say("assistant", Speaker.ASSISTANT, text, None)
            last[0] = text
    elif mode == "tool":
        _console(builder, gathered)


def _console(builder: TurnBuilder, gathered: list[str]) -> None:
    for line in gathered:
        version, applied, commit, ran = (each.match(line) for each in (_VERSION, _APPLIED, _COMMIT, _RAN))
        if version:
            builder.know(version=version.group(1))
        if commit:
            builder.know(commit=commit.group(1))
        if applied:
            _did(builder, "edit", {"path": applied.group(1)}, (Touch(applied.group(1), How.EDIT),))
        elif ran:
            _did(builder, "bash", {"command": ran.group(1)}, ())
    text = "\n".join(line[2:].rstrip() for line in gathered)
    builder.say("tool", Speaker.TOOL, text, None, synthetic="console")


def _did(builder: TurnBuilder, tool: str, given: dict[str, Any], touches: tuple[Touch, ...]) -> None:
    call = f"call-{builder.number}"
    builder.call(call, tool, given, None)
    builder.answer(call, None, None, touches=touches)


def transcripts(machine: Machine) -> Iterator[Found]:
    """A history file in each repository, or where AIDER_CHAT_HISTORY_FILE says."""
    chosen = machine.environment.get("AIDER_CHAT_HISTORY_FILE", "")
    paths = [os.path.expanduser(chosen)] if os.path.isabs(chosen) else []
    paths += [os.path.join(folder, chosen or ".aider.chat.history.md") for folder in machine.projects]
    for path in dict.fromkeys(paths):
        if os.path.isfile(path) and (found := file_of("aider", path)):
            yield found


def is_prose(head: str, path: str) -> bool:
    """Whether a Markdown file is a chat history."""
    return path.endswith(".md") and "# aider chat started at " in head


AGENTS = (Agent(name=NAME, transcripts=transcripts, document=read, is_prose=is_prose),)
