"""opencode and Kilo: a SQLite store (newer), a tree of JSON files (older), or one exported document."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from byheart.agents.agent import Agent, Texts
from byheart.agents.installing.pieces import (
    COMMAND,
    TOOLS,
    InstallTarget,
    Recipe,
    member,
    own_file,
    script,
    with_command,
)
from byheart.agents.reading import folders, lines
from byheart.agents.reading.folders import Machine, names_in
from byheart.agents.reading.lines import Broken
from byheart.agents.reading.turn_builder import TurnBuilder, counted
from byheart.agents.reading.values import flat, listing, mapping, number, string, when
from byheart.domain.learning import Headless
from byheart.domain.sessions import Caps, Event, Found, How, Session, Speaker, Standing, Tally, Touch

NAME = "opencode"
_QUIET = frozenset("step-start step-finish snapshot patch agent retry reasoning file subtask".split())
_NEEDED = {"session", "message", "part"}
Message = tuple[dict[str, Any], list[dict[str, Any]]]


def in_store(path: str, agent: str) -> Iterator[Found]:
    """The sessions of a store. One that cannot be read is told as a whole, so that reading it says why."""
    try:
        with folders.opened(path) as store:
            if not folders.tables(store) >= _NEEDED:
                return
            query = (
                "SELECT s.id, s.time_updated, (SELECT count(*) FROM message m WHERE m.session_id = s.id) FROM session s"
            )
            for own, updated, messages in store.execute(query):
                yield Found(
                    agent=agent, path=path, part=str(own), size=folders.whole(messages), modified=folders.whole(updated)
                )
    except Broken:
        with contextlib.suppress(OSError):
            status = os.stat(path)
            yield Found(agent=agent, path=path, size=status.st_size, modified=status.st_mtime_ns, inode=status.st_ino)


def from_store(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    """One session of a store."""
    with folders.opened(found.path) as store:
        if not folders.tables(store) >= _NEEDED or not found.part:
            raise Broken(folders.CORRUPT)
        row = store.execute("SELECT * FROM session WHERE id = ?", (found.part,)).fetchone()
        if row is None:
            raise Broken("session is gone")
        info = folders.named(row)
        info["revert"] = _json(info.get("revert"), tally)
        yield from _told(found, _renamed(info), _rows(store, found.part, caps, tally), tally)


def _rows(store: Any, session: str, caps: Caps, tally: Tally) -> Iterator[Message]:
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    for own, data in list(folders.rows(store, query, session, most=caps.rows)):
        tally.bytes += len(str(data))
        info = mapping(_json(data, tally))
        parts = []
        for part_id, part in folders.rows(
            store, "SELECT id, data FROM part WHERE message_id = ? ORDER BY id", own, most=10_000
        ):
            text = str(part)
            tally.bytes += len(text)
            if len(text) > caps.line_bytes:
                tally.skipped[lines.LONG] += 1
                continue
            parts.append({"id": part_id, **mapping(_json(text, tally))})
        yield {"id": own, **info}, parts


def _json(text: Any, tally: Tally) -> Any:
    if not isinstance(text, str) or not text:
        return None
    try:
        return lines.decoded(text.encode("utf-8", "replace"), tally)
    except Broken as reason:
        tally.skipped[str(reason)] += 1
        return None


def _renamed(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "parentID": row.get("parent_id"),
        "time": {"created": row.get("time_created"), "updated": row.get("time_updated")},
    }


def in_folder(storage: str, agent: str) -> Iterator[Found]:
    """The sessions of a JSON tree, in its middle and its earliest layout."""
    for folder in (os.path.join(storage, "session"), os.path.join(storage, "session", "info")):
        for place in [folder] if folder.endswith("info") else _folders(folder):
            for name in _names(place):
                path = os.path.join(place, name)
                try:
                    status = os.stat(path)
                except OSError:
                    continue
                messages = _messages_folder(path, name.removesuffix(".json"))
                newest = max(
                    [status.st_mtime_ns, *(os.stat(each).st_mtime_ns for each in [messages] if os.path.isdir(each))]
                )
                yield Found(agent=agent, path=path, size=len(_names(messages)), modified=newest, inode=status.st_ino)


def _folders(folder: str) -> list[str]:
    try:
        return [
            entry.path
            for entry in os.scandir(folder)
            if entry.is_dir() and entry.name not in ("info", "message", "part")
        ]
    except OSError:
        return []


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return []


def _messages_folder(path: str, session: str) -> str:
    above = os.path.dirname(os.path.dirname(path))
    if os.path.basename(os.path.dirname(path)) == "info":
        return os.path.join(above, "message", session)
    return os.path.join(os.path.dirname(above), "message", session)


def from_folder(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    """One session of a JSON tree, or a document that `opencode export` wrote."""
    info = mapping(lines.document(found.path, caps, tally))
    if "messages" in info and "info" in info:
        told = (
            (mapping(each.get("info")), [mapping(part) for part in listing(each.get("parts"))])
            for each in map(mapping, listing(info["messages"]))
        )
        yield from _told(found, mapping(info["info"]), told, tally)
        return
    counted(tally, None, 0)
    yield from _told(found, info, _files(found, caps, tally), tally)


def _files(found: Found, caps: Caps, tally: Tally) -> Iterator[Message]:
    session = os.path.basename(found.path).removesuffix(".json")
    folder = _messages_folder(found.path, session)
    for name in _names(folder)[: caps.rows]:
        message = _document(os.path.join(folder, name), caps, tally)
        if message is None:
            continue
        own = name.removesuffix(".json")
        above = os.path.dirname(os.path.dirname(folder))
        places = (os.path.join(above, "part", own), os.path.join(above, "part", session, own))
        parts = [_document(os.path.join(place, each), caps, tally) for place in places for each in _names(place)]
        embedded = [mapping(part) for part in listing(message.get("parts"))]
        yield message, embedded + [part for part in parts if part is not None]


def _document(path: str, caps: Caps, tally: Tally) -> dict[str, Any] | None:
    try:
        return mapping(lines.document(path, caps, tally))
    except Broken as reason:
        tally.lines += 1
        tally.skipped[str(reason)] += 1
        return None


def _told(found: Found, info: dict[str, Any], messages: Iterable[Message], tally: Tally) -> Iterator[Event]:
    own = string(info.get("id")) or found.part or os.path.basename(found.path).removesuffix(".json")
    title = string(info.get("title"))
    builder = TurnBuilder(
        Session(
            id=own,
            agent=found.agent,
            path=found.path,
            cwd=string(info.get("directory")) or None,
            version=string(info.get("version")) or None,
            parent=string(info.get("parentID")) or None,
            title=None if title.startswith(("New session -", "Child session -")) else title or None,
        )
    )
    times, revert = mapping(info.get("time")), mapping(info.get("revert"))
    builder.seen(when(times.get("created")))
    builder.seen(when(times.get("updated")))
    cut = string(revert.get("messageID"))
    for message, parts in messages:
        name = string(message.get("id"))
        builder.standing = Standing.ROLLED_BACK if cut and name >= cut else Standing.LIVE
        counted(tally, None, 0)
        for part in parts:
            counted(tally, _part(builder, message, part), 0)
        error = mapping(message.get("error"))
        if error:
            builder.say(
                "assistant",
                Speaker.SYSTEM,
                flat(mapping(error.get("data")).get("message")) or string(error.get("name")),
                when(mapping(message.get("time")).get("created")),
                synthetic="notice",
            )
        yield from builder.take()
    tally.known_bytes = tally.bytes
    yield from builder.end()


def _part(builder: TurnBuilder, message: dict[str, Any], part: dict[str, Any]) -> str | None:
    kind, role = string(part.get("type")), message.get("role")
    at = when(mapping(part.get("time")).get("start")) or when(mapping(message.get("time")).get("created"))
    builder.seen(at)
    # A child session's prompts come from the agent that started it.
    side = builder.session.id if builder.session.parent else None
    if role == "assistant":
        builder.know(model=string(message.get("modelID")))
        builder.know_first(cwd=string(mapping(message.get("path")).get("cwd")))
    if kind == "text":
        text = string(part.get("text"))
        if role == "assistant":
            is_summary = message.get("summary") is True or message.get("mode") == "compaction"
            speaker = Speaker.SYSTEM if is_summary else Speaker.ASSISTANT
            builder.say("assistant", speaker, text, at, synthetic="summary" if is_summary else None, side=side)
        elif part.get("synthetic") or part.get("ignored") or role != "user":
            builder.say("user", Speaker.SYSTEM, text, at, synthetic="added by the client")
        else:
            quoted = len(text) > 2 and text[0] == text[-1] == '"' and '"' not in text[1:-1]
            builder.hear(text[1:-1] if quoted else text, at, side=side)
    elif kind in ("tool", "tool-invocation"):
        _tool(builder, part, at)
    elif kind == "compaction":
        builder.say("system", Speaker.SYSTEM, "[the conversation was compacted here]", at, synthetic="summary")
    elif kind not in _QUIET:
        return f"part/{kind}"
    return None


def _tool(builder: TurnBuilder, part: dict[str, Any], at: Any) -> None:
    old = mapping(part.get("toolInvocation"))
    state = mapping(part.get("state")) or {"status": "completed", "input": old.get("args"), "output": old.get("result")}
    own = string(part.get("callID")) or string(old.get("toolCallId")) or string(part.get("id")) or None
    builder.call(
        own,
        string(part.get("tool")) or string(old.get("toolName")),
        state.get("input"),
        when(mapping(state.get("time")).get("start")) or at,
    )
    status, more = state.get("status"), mapping(state.get("metadata"))
    if status not in ("completed", "error"):
        return
    edited = string(mapping(more.get("filediff")).get("file"))
    builder.answer(
        own,
        flat(state.get("output")) or flat(state.get("error")),
        when(mapping(state.get("time")).get("end")) or at,
        status=number(more.get("exit")),
        failed=status == "error",
        touches=(Touch(edited, How.EDIT),) if edited else (),
    )


def transcripts(machine: Machine, name: str = NAME) -> Iterator[Found]:
    """The store in the data folder, and the JSON trees of earlier versions where there is no store."""
    base = os.path.join(machine.data, name)
    there = [each for each in names_in(base) if each.endswith(".db") and each.startswith(name)]
    for each in there:
        yield from in_store(os.path.join(base, each), name)
    if not there:
        yield from in_folder(os.path.join(base, "storage"), name)
        for project in names_in(os.path.join(base, "project")):
            yield from in_folder(os.path.join(base, "project", project, "storage"), name)


def is_document(value: Any, path: str) -> bool:
    """Whether a document is an exported session, or one of a JSON tree."""
    keys, name = set(mapping(value)), os.path.basename(path)
    in_tree = "session" in path.split(os.sep) and name.startswith("ses_")
    return {"info", "messages"} <= keys or (in_tree and bool({"projectID", "directory"} & keys))


def stored(path: str) -> Iterator[Found]:
    """The sessions of a store of either."""
    return in_store(path, "kilo" if "kilo" in os.path.basename(path) else NAME)


def recipe(target: InstallTarget, texts: Texts) -> Recipe:
    """opencode: a plugin of ours, and MCP in its config."""
    folder = os.path.join(target.environment.get("XDG_CONFIG_HOME") or os.path.join(target.home, ".config"), "opencode")
    place = f"{target.project}/.opencode" if target.project else folder
    top = target.project or folder
    config = next((path for name in ("opencode.jsonc", "opencode.json") if os.path.exists(path := f"{top}/{name}")), f"{top}/opencode.json")  # fmt: skip
    entry: dict[str, Any] = {"type": "local", "command": [*target.command, "mcp"], "enabled": True}
    if target.variables:
        entry["environment"] = dict(target.variables)
    pieces = [
        own_file(f"{place}/plugin/byheart.js", script(texts("opencode.js"), target), "tells a session what memory holds, and learns when it pauses"),
        member(config, ("mcp", "byheart"), entry, TOOLS),
        own_file(f"{place}/command/memory.md", with_command(texts("command.md"), target), COMMAND),
    ]  # fmt: skip
    return Recipe(agent="opencode", pieces=tuple(pieces), folders=(folder, os.path.join(target.home, ".local/share/opencode")), programs=("opencode",))  # fmt: skip


_HEADLESS = Headless(
    command=("opencode", "run"),
    model=("--model", "{model}"),
    last=("Answer what stands on the standard input.",),
    leaves="a session in its own store, which byheart does not learn from",
)
AGENTS = (
    Agent(
        name=NAME,
        transcripts=transcripts,
        document=from_folder,
        store=from_store,
        stored=stored,
        is_document=is_document,
        recipe=recipe,
        headless=_HEADLESS,
    ),
    # The same layout under another name.
    Agent(name="kilo", transcripts=partial(transcripts, name="kilo"), document=from_folder, store=from_store),
)
