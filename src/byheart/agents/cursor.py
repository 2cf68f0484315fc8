"""Cursor's agent transcripts: role and blocks a line, no times; plain text in the oldest."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from byheart.agents.agent import Agent, Texts
from byheart.agents.installing.pieces import (
    TOOLS,
    InstallTarget,
    Piece,
    Recipe,
    element,
    hook_line,
    member,
    server,
    wanted,
)
from byheart.agents.reading import lines
from byheart.agents.reading.folders import Machine, files_in, names_in
from byheart.agents.reading.turn_builder import TurnBuilder
from byheart.agents.reading.values import blocks_of, flat, mapping, named_uuid, string, when
from byheart.domain.sessions import Caps, Event, Found, Session, Speaker, Tally
from byheart.domain.values import replace

NAME = "cursor"
_WRAPPERS = ("user_query",)
_CALLS = frozenset({"tool_use", "tool_call", "tool-call"})
_RESULTS = frozenset({"tool_result", "tool-result"})
_WORKSPACE = re.compile(r"Workspace Path: (\S[^\n]{0,500})")
_BLOCK = re.compile(r"^(user|assistant|A):\s*$", re.MULTILINE)


def _session(found: Found) -> Session:
    stem = os.path.splitext(os.path.basename(found.path))[0]
    folder = os.path.dirname(found.path)
    parent = os.path.basename(os.path.dirname(folder)) if os.path.basename(folder) == "subagents" else None
    return Session(id=named_uuid(stem) or stem, agent=NAME, path=found.path, parent=parent, cwd=_cwd(found.path))


class CursorReader:
    """Reads the lines of one transcript."""

    def __init__(self, found: Found) -> None:
        self.builder = TurnBuilder(_session(found))
        self._side = self.builder.session.id if self.builder.session.parent else None
        self._calls = 0
        self._waiting: list[str] = []

    def line(self, value: dict[str, Any]) -> str | None:
        """Take one line in; the name of its type where that is unknown."""
        role, content = value.get("role"), mapping(value.get("message")).get("content", value.get("content"))
        if role not in ("user", "assistant", "system"):
            return (
                None
                if value.get("type") in ("turn_ended", "turn_started", "session_started")
                else string(value.get("type")) or "?"
            )
        at = when(value.get("timestamp"))
        self.builder.seen(at)
        texts = []
        for block in blocks_of(content):
            kind = string(mapping(block).get("type"))
            if kind in _CALLS:
                self._calls += 1
                own = string(block.get("id")) or string(block.get("toolCallId")) or f"call-{self._calls}"
                name = string(block.get("name")) or string(block.get("toolName"))
                self.builder.call(own, name, block.get("input", block.get("args")), at, side=self._side)
                self._waiting.append(own)
            elif kind in _RESULTS:
                self._result(block, at)
            elif role == "user":
                texts.append(flat(block))
            else:
                speaker = Speaker.SYSTEM if role == "system" else Speaker.ASSISTANT
                self.builder.say(str(role), speaker, flat(block), at, side=self._side)
        self._user("\n".join(filter(None, texts)), at)
        return None

    def _user(self, text: str, at: Any) -> None:
        if not text:
            return
        folder = _WORKSPACE.search(text)
        if folder:
            self.builder.know(cwd=folder.group(1).strip())
        self._waiting.clear()
        self.builder.hear(text, at, side=self._side, wrappers=_WRAPPERS)

    def _result(self, block: dict[str, Any], at: Any) -> None:
        own = string(block.get("tool_use_id")) or string(block.get("toolCallId"))
        if not self.builder.is_open(own) and self._waiting:
            own = self._waiting.pop(0)
        failed = block.get("is_error")
        self.builder.answer(
            own or None,
            flat(block.get("content", block.get("result"))),
            at,
            failed=failed if isinstance(failed, bool) else None,
        )

    def finish(self) -> None:
        """Nothing is left to say."""

    def state(self) -> dict[str, Any]:
        """What has to be remembered to go on later."""
        return {"scribe": self.builder.state(), "calls": self._calls, "waiting": self._waiting[-100:]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self.builder.restore(state["scribe"])
        self._calls, self._waiting = int(state["calls"]), list(state["waiting"])


def plain(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    """The oldest transcripts: blocks headed `user:` and `assistant:`."""
    text = lines.text(found.path, caps.document_bytes, tally)
    builder = TurnBuilder(_session(found))
    heads = list(_BLOCK.finditer(text))
    for head, following in zip(heads, [*heads[1:], None], strict=False):
        body = text[head.end() : following.start() if following else len(text)]
        if head.group(1) == "user":
            builder.hear(body, None, wrappers=_WRAPPERS)
        else:
            _said(builder, body)
        tally.lines += 1
        tally.known_lines += 1
        yield from builder.take()
    tally.known_bytes = tally.bytes if heads else 0
    yield from builder.end()


def _said(builder: TurnBuilder, body: str) -> None:
    spoken: list[str] = []
    for paragraph in re.split(r"^(?=\[(?:Thinking|Tool call|Tool result)\])", body, flags=re.MULTILINE):
        head, _, rest = paragraph.partition("\n")
        if head.startswith("[Tool call]"):
            pairs = (row.strip().partition(": ") for row in rest.splitlines() if ": " in row)
            given = {name: value for name, _, value in pairs}
            builder.call("last", head.removeprefix("[Tool call]").strip(), given, None)
        elif head.startswith("[Tool result]"):
            builder.answer("last", rest.strip(), None, tool=head.removeprefix("[Tool result]").strip())
        elif head.startswith("[Thinking]"):
            spoken.append(paragraph.partition("\n\n")[2])
        else:
            spoken.append(paragraph)
    builder.say("assistant", Speaker.ASSISTANT, "".join(spoken), None)


def _cwd(path: str) -> str | None:
    """The project's folder, found by walking the disk for one whose name comes to the same slug."""
    steps = path.split(os.sep)
    if "agent-transcripts" not in steps:
        return None
    slug = steps[steps.index("agent-transcripts") - 1]
    here, rest = os.sep, slug
    for _ in range(40):
        try:
            names = sorted(entry.name for entry in os.scandir(here) if entry.is_dir())
        except OSError:
            return None
        fitting = [name for name in names if rest == _slug(name) or rest.startswith(_slug(name) + "-")]
        fitting = [name for name in fitting if _slug(name)]
        if not fitting:
            return None
        best = max(fitting, key=lambda name: len(_slug(name)))
        here, rest = os.path.join(here, best), rest[len(_slug(best)) + 1 :]
        if not rest:
            return here
    return None


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")


def transcripts(machine: Machine) -> Iterator[Found]:
    """~/.cursor/projects/*/agent-transcripts."""
    base = os.path.join(machine.home, ".cursor", "projects")
    for name in names_in(base):
        yield from files_in("cursor", os.path.join(base, name, "agent-transcripts"), ".jsonl", ".txt")


def is_line(value: dict[str, Any], path: str) -> bool:
    """Whether a line has a role beside its message."""
    del path
    return "role" in value and "content" in mapping(value.get("message"))


def is_prose(head: str, path: str) -> bool:
    """Whether a plain text lies where the oldest transcripts do."""
    del head
    return path.endswith(".txt") and "agent-transcripts" in path


def recipe(target: InstallTarget, texts: Texts) -> Recipe:
    """Cursor: hooks.json and mcp.json."""
    del texts
    folder = os.path.join(target.home, ".cursor")
    place = f"{target.project}/.cursor" if target.project else folder
    events = wanted(target, {"session-start": "sessionStart", "pre-compact": "preCompact", "session-end": "sessionEnd"})
    version = replace(member(f"{place}/hooks.json", ("version",), 1, "the version of the file"), keeps=True)
    hooks: list[Piece] = [version]
    hooks += [
        element(f"{place}/hooks.json", ("hooks", theirs), {"command": hook_line(target, ours, "cursor")}, "tells a session what memory holds, or learns from it")
        for ours, theirs in events.items()
    ]  # fmt: skip
    pieces = [*hooks, member(f"{place}/mcp.json", ("mcpServers", "byheart"), server(target), TOOLS)]
    note = "Cursor's hooks follow its documentation; they were not tried with Cursor itself"
    return Recipe(agent="cursor", pieces=tuple(pieces), folders=(folder,), programs=("cursor", "cursor-agent"), notes=(note,))  # fmt: skip


AGENTS = (
    Agent(
        name=NAME,
        transcripts=transcripts,
        lines=CursorReader,
        document=plain,
        is_line=is_line,
        is_prose=is_prose,
        recipe=recipe,
    ),
)
