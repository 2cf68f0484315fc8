"""OpenClaw: pi's entries in a SQLite store, the large ones compressed; JSON lines in versions before that."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import partial
from typing import Any

from byheart.agents.agent import Agent, MemoryFolder, Texts
from byheart.agents.installing.pieces import (
    SKILL,
    TOOLS,
    InstallTarget,
    Recipe,
    base,
    block,
    member,
    own_file,
    server,
    with_command,
)
from byheart.agents.reading import folders, lines, memory_files
from byheart.agents.reading.entry_tree import PiReader, is_entry_of
from byheart.agents.reading.folders import Machine, files_in, names_in
from byheart.agents.reading.lines import Broken
from byheart.agents.reading.passes import inflated
from byheart.agents.reading.turn_builder import counted
from byheart.agents.reading.values import string, when
from byheart.domain.records import Scope
from byheart.domain.sessions import Caps, Event, Found, Tally

NAME = "openclaw"


def in_store(path: str) -> Iterator[Found]:
    """The sessions of a store; one that cannot be read is told as a whole."""
    try:
        with folders.opened(path) as store:
            if "transcript_events" not in folders.tables(store):
                return
            query = "SELECT session_id, count(*), max(created_at) FROM transcript_events GROUP BY session_id"
            for own, events, newest in store.execute(query):
                yield Found(
                    agent=NAME, path=path, part=str(own), size=folders.whole(events), modified=folders.whole(newest)
                )
    except Broken:
        with contextlib.suppress(OSError):
            status = os.stat(path)
            yield Found(agent=NAME, path=path, size=status.st_size, modified=status.st_mtime_ns, inode=status.st_ino)


def from_store(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    """One session of a store."""
    with folders.opened(found.path) as store:
        if "transcript_events" not in folders.tables(store) or not found.part:
            raise Broken(folders.CORRUPT)
        reader = PiReader(found, NAME)
        packed = ", event_zstd" if "event_zstd" in folders.columns(store, "transcript_events") else ", NULL"
        query = f"SELECT event_json{packed} FROM transcript_events WHERE session_id = ? ORDER BY seq"
        for plain, blob in folders.rows(store, query, found.part, most=caps.rows):
            raw = (
                plain.encode("utf-8", "replace")
                if isinstance(plain, str)
                else inflated(bytes(blob or b""), caps.line_bytes)
            )
            if raw is None or len(raw) > caps.line_bytes:
                tally.lines += 1
                tally.skipped[lines.UNPACKED if raw is None else lines.LONG] += 1
                continue
            tally.bytes += len(raw)
            _take(reader, raw, tally)
            yield from reader.builder.take()
        _window(store, reader, found.part)
    reader.finish()
    yield from reader.builder.end()


def _take(reader: PiReader, raw: bytes, tally: Tally) -> None:
    try:
        value = lines.decoded(raw, tally)
    except Broken as reason:
        tally.lines += 1
        tally.skipped[str(reason)] += 1
        return
    if isinstance(value, dict):
        counted(tally, reader.line(value), len(raw))
    else:
        tally.lines += 1
        tally.skipped[lines.NOT_OBJECT] += 1


def _window(store: Any, reader: PiReader, session: str) -> None:
    """What the store says about the session besides its entries."""
    if "session_windows" not in folders.tables(store):
        return
    row = store.execute("SELECT * FROM session_windows WHERE session_id = ?", (session,)).fetchone()
    if row is None:
        return
    known = folders.named(row)
    reader.builder.know(
        parent=string(known.get("spawned_by")) or string(known.get("parent_session_key")),
        title=string(known.get("display_name")),
        closed=True if known.get("status") in ("done", "failed", "killed", "timeout") else None,
    )
    reader.builder.seen(when(known.get("started_at")))


def transcripts(machine: Machine) -> Iterator[Found]:
    """~/.openclaw/agents/*: a store, or JSON lines in versions before it."""
    agents = os.path.join(machine.variable("OPENCLAW_STATE_DIR", ".openclaw"), "agents")
    for name in names_in(agents):
        store = os.path.join(agents, name, "agent", "openclaw-agent.sqlite")
        if os.path.isfile(store):
            yield from in_store(store)
        yield from files_in("openclaw", os.path.join(agents, name, "sessions"), ".jsonl")


def memories(machine: Machine, folder: str) -> list[MemoryFolder]:
    """MEMORY.md and USER.md of its workspace."""
    del folder
    home = machine.environment.get("OPENCLAW_STATE_DIR") or os.path.join(machine.home, ".openclaw")
    names = r"(?:MEMORY|USER)\.md"
    return [MemoryFolder(scope=Scope.GLOBAL, folder=f"{home}/workspace", names=names, read=memory_files.prose)]


def recipe(target: InstallTarget, texts: Texts) -> Recipe:
    """OpenClaw: MCP in its config, a skill, and a block in its workspace that has it look at memory first."""
    folder = base(target, "OPENCLAW_STATE_DIR", ".openclaw")
    # It reads the same folder whichever project it works in.
    if target.project:
        note = "it is connected for all projects alone: byheart install openclaw"
        return Recipe(agent="openclaw", pieces=(), folders=(folder,), programs=("openclaw",), notes=(note,))
    pieces = [
        member(f"{folder}/openclaw.json", ("mcp", "servers", "byheart"), server(target), TOOLS),
        own_file(f"{folder}/skills/byheart/SKILL.md", with_command(texts("skill.md"), target), SKILL),
        block(f"{folder}/workspace/AGENTS.md", texts("guide.md").strip(), SKILL),
    ]
    return Recipe(agent="openclaw", pieces=tuple(pieces), folders=(folder,), programs=("openclaw",))


AGENTS = (
    Agent(
        name=NAME,
        transcripts=transcripts,
        lines=partial(PiReader, agent=NAME),
        store=from_store,
        stored=in_store,
        is_line=partial(is_entry_of, NAME),
        recipe=recipe,
        memories=memories,
    ),
)
