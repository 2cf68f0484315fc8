"""Goose: JSON lines (older) or a SQLite store (newer), messages of the same shape in both."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from byheart.agents.agent import Agent, MemoryFolder
from byheart.agents.reading import folders, lines, memory_files
from byheart.agents.reading.folders import Machine, files_in
from byheart.agents.reading.lines import Broken
from byheart.agents.reading.turn_builder import TurnBuilder, counted
from byheart.agents.reading.values import flat, listing, mapping, string, when
from byheart.domain.records import Scope
from byheart.domain.sessions import Caps, Event, Found, Session, Speaker, Tally

NAME = "goose"
_QUIET = frozenset(
    "thinking redactedThinking image toolConfirmationRequest actionRequired systemNotification conversationCompacted contextLengthExceeded summarizationRequested reasoning".split()
)


class GooseReader:
    """Reads the lines of one session."""

    def __init__(self, found: Found) -> None:
        stem = os.path.basename(found.path).removesuffix(".jsonl")
        self.builder = TurnBuilder(Session(id=stem, agent=NAME, path=found.path))

    def line(self, value: dict[str, Any]) -> str | None:
        """Take one line in; the name of its type where that is unknown."""
        if "role" not in value:
            if not {"working_dir", "description", "message_count", "total_tokens"} & set(value):
                return "?" + ",".join(sorted(value)[:4])
            self.builder.know(cwd=string(value.get("working_dir")), title=string(value.get("description")))
            return None
        return message(self.builder, value, mapping(value.get("metadata")))

    def finish(self) -> None:
        """Nothing is left to say."""

    def state(self) -> dict[str, Any]:
        """What has to be remembered to go on later."""
        return {"scribe": self.builder.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self.builder.restore(state["scribe"])


def message(
    builder: TurnBuilder, value: dict[str, Any], metadata: dict[str, Any], side: str | None = None
) -> str | None:
    """One message; the name of a block nobody knows."""
    role, at, unknown = value.get("role"), when(value.get("created")), None
    builder.seen(at)
    hidden = metadata.get("userVisible") is False
    texts = []
    for item in map(mapping, listing(value.get("content"))):
        kind = string(item.get("type"))
        if kind == "text" and role == "assistant" and not hidden:
            builder.say("assistant", Speaker.ASSISTANT, string(item.get("text")), at, side=side)
        elif kind == "text":
            texts.append(string(item.get("text")))
        elif kind in ("toolRequest", "frontendToolRequest"):
            call = mapping(item.get("toolCall"))
            asked = mapping(call.get("value")) or call
            builder.call(
                string(item.get("id")) or None, string(asked.get("name")), asked.get("arguments"), at, side=side
            )
        elif kind == "toolResponse":
            _result(builder, item, at)
        elif kind not in _QUIET:
            unknown = f"content/{kind}"
    text = "\n".join(filter(None, texts))
    if hidden or role not in ("user", "assistant"):
        builder.say(string(role) or "system", Speaker.SYSTEM, text, at, synthetic="summary" if hidden else "notice")
    else:
        builder.hear(text, at, side=side)
    return unknown


def _result(builder: TurnBuilder, item: dict[str, Any], at: Any) -> None:
    result = mapping(item.get("toolResult"))
    value = result.get("value")
    blocks = listing(mapping(value).get("content")) or listing(value)
    # The same output is often there twice, once for each audience.
    texts = list(dict.fromkeys(flat(block) for block in blocks))
    failed = result.get("status") == "error" or mapping(value).get("isError") is True
    builder.answer(
        string(item.get("id")) or None, "\n".join(filter(None, texts)) or flat(result.get("error")), at, failed=failed
    )


def in_store(path: str) -> Iterator[Found]:
    """The sessions of a store; one that cannot be read is told as a whole."""
    try:
        with folders.opened(path) as store:
            if not {"sessions", "messages"} <= folders.tables(store):
                return
            query = (
                "SELECT s.id, s.updated_at, (SELECT count(*) FROM messages m WHERE m.session_id = s.id) FROM sessions s"
            )
            for own, updated, messages in store.execute(query):
                at = when(updated)
                yield Found(
                    agent=NAME,
                    path=path,
                    part=str(own),
                    size=folders.whole(messages),
                    modified=int(at.timestamp()) if at else 0,
                )
    except Broken:
        with contextlib.suppress(OSError):
            status = os.stat(path)
            yield Found(agent=NAME, path=path, size=status.st_size, modified=status.st_mtime_ns, inode=status.st_ino)


def from_store(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    """One session of a store."""
    with folders.opened(found.path) as store:
        if not {"sessions", "messages"} <= folders.tables(store) or not found.part:
            raise Broken(folders.CORRUPT)
        row = store.execute("SELECT * FROM sessions WHERE id = ?", (found.part,)).fetchone()
        if row is None:
            raise Broken("session is gone")
        info = folders.named(row)
        builder = TurnBuilder(
            Session(
                id=found.part,
                agent=NAME,
                path=found.path,
                cwd=string(info.get("working_dir")) or None,
                title=string(info.get("name")) or string(info.get("description")) or None,
                parent=string(info.get("parent_session_id")) or None,
            )
        )
        builder.seen(when(info.get("created_at")))
        query = "SELECT * FROM messages WHERE session_id = ? ORDER BY created_timestamp, id"
        for each in folders.rows(store, query, found.part, most=caps.rows):
            yield from _stored(
                builder, each, caps, tally, found.part if info.get("session_type") == "sub_agent" else None
            )
    tally.known_bytes = tally.bytes
    yield from builder.end()


def _stored(builder: TurnBuilder, row: Any, caps: Caps, tally: Tally, side: str | None) -> Sequence[Event]:
    known = folders.named(row)
    content, metadata = string(known.get("content_json")), string(known.get("metadata_json"))
    tally.bytes += len(content)
    if len(content) > caps.line_bytes:
        tally.lines += 1
        tally.skipped[lines.LONG] += 1
        return []
    try:
        blocks = lines.decoded(content.encode("utf-8", "replace"), tally)
        more = mapping(lines.decoded(metadata.encode("utf-8", "replace"), tally)) if metadata else {}
    except Broken as reason:
        tally.lines += 1
        tally.skipped[str(reason)] += 1
        return []
    value = {"role": known.get("role"), "created": known.get("created_timestamp"), "content": blocks}
    counted(tally, message(builder, value, more, side), 0)
    return builder.take()


def transcripts(machine: Machine) -> Iterator[Found]:
    """The data folder's sessions: a store, and the lines that were not taken over into it."""
    folders = [os.path.join(machine.data, "goose", "sessions")]
    if root := machine.environment.get("GOOSE_PATH_ROOT", ""):
        folders = [os.path.join(root, "data", "sessions")]
    elif sys.platform == "darwin":
        folders.append(os.path.join(machine.home, "Library/Application Support/Block/goose/sessions"))
    for folder in folders:
        store = os.path.join(folder, "sessions.db")
        stored = list(in_store(store)) if os.path.isfile(store) else []
        yield from stored
        names = {found.part for found in stored}
        for found in files_in("goose", folder, ".jsonl", depth=0):
            if os.path.basename(found.path).removesuffix(".jsonl") not in names:
                yield found


def is_line(value: dict[str, Any], path: str) -> bool:
    """Whether a line is a message of a session, or its head."""
    del path
    if "role" in value and "created" in value and isinstance(value.get("content"), list):
        return True
    return {"working_dir", "message_count"} <= set(value)


def memories(machine: Machine, folder: str) -> list[MemoryFolder]:
    """Tagged notes, for all projects and in this one."""
    everywhere, read = f"{machine.home}/.config/goose/memory", memory_files.tagged
    return [
        MemoryFolder(scope=Scope.GLOBAL, folder=everywhere, names=r".*\.txt", read=read),
        MemoryFolder(scope=Scope.LOCAL, folder=f"{folder}/.goose/memory", names=r".*\.txt", read=read),
    ]


AGENTS = (
    Agent(
        name=NAME,
        transcripts=transcripts,
        lines=GooseReader,
        store=from_store,
        stored=in_store,
        is_line=is_line,
        memories=memories,
    ),
)
