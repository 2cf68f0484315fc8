"""Gemini CLI: a JSON document (older), or a log of changes to one (newer): later records replace earlier ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

from byheart.agents.agent import Agent, MemoryFolder, Texts
from byheart.agents.installing.pieces import (
    COMMAND,
    HOOKS,
    SKILL,
    TOOLS,
    InstallTarget,
    Recipe,
    base,
    grouped_hooks,
    hook_line,
    json_text,
    member,
    own_file,
    server,
    wanted,
    with_command,
)
from byheart.agents.reading import lines, memory_files
from byheart.agents.reading.folders import Machine, files_in, names_in, setting_of
from byheart.agents.reading.lines import Broken, Lines
from byheart.agents.reading.turn_builder import TurnBuilder, counted
from byheart.agents.reading.values import flat, listing, mapping, named_uuid, spelled, string, when
from byheart.domain.learning import Headless
from byheart.domain.records import Scope
from byheart.domain.sessions import Caps, Event, Found, Session, Speaker, Standing, Tally

NAME = "gemini"
# The tools that a moment may be about.
_TOOLS = {"BeforeTool": "run_shell_command|replace|write_file", "AfterTool": "run_shell_command|read_file"}
_SMALL = Caps(document_bytes=4_000_000)
_ACKNOWLEDGED = "Got it. Thanks for the additional context!"
_ADDED = "<untrusted_context>"


class _History:
    """The messages as they stand, in the order they first came; what was rewritten away stays, marked."""

    def __init__(self) -> None:
        self.messages: dict[str, dict[str, Any]] = {}
        self.dropped: set[str] = set()
        self.facts: dict[str, Any] = {}
        self._texts: set[str] = set()

    def put(self, message: dict[str, Any]) -> None:
        own = string(message.get("id")) or f"#{len(self.messages)}"
        before = self.messages.get(own, {})
        if before:
            # A resumed session stamps its messages anew, and writes its calls without their results.
            message = {**message, "timestamp": before.get("timestamp") or message.get("timestamp")}
            if before.get("type") == "summary":
                message["type"] = "summary"
            if before.get("toolCalls") and not message.get("toolCalls"):
                message = {**message, "toolCalls": before["toolCalls"], "content": before.get("content")}
        self.messages[own] = message
        self._texts.add(_spoken(message))
        self.dropped.discard(own)

    def replace(self, messages: list[Any]) -> None:
        """All messages at once: the beginning, a resumed session, or a compaction, which puts a summary in the place of what
        it takes away and gives the rest new names. What was said before stays said."""
        is_start = not self.messages
        every = [each for each in messages if isinstance(each, dict)]
        for place, each in enumerate(every):
            own = string(each.get("id"))
            if own in self.messages or is_start:
                if not self.messages.get(own, {}).get("toolCalls"):
                    self.put(each)
                continue
            if own.removesuffix("_response") in self.messages or _spoken(each) in self._texts:
                continue
            follower = every[place + 1] if place + 1 < len(every) else {}
            is_summary = _spoken(follower).endswith(_ACKNOWLEDGED) or _spoken(each).endswith(_ACKNOWLEDGED)
            self.put({**each, "type": "summary"} if is_summary else each)

    def rewind(self, own: str) -> None:
        order = list(self.messages)
        start = order.index(own) if own in self.messages else 0
        self.dropped.update(order[start:])


def _spoken(message: dict[str, Any]) -> str:
    """What tells a message from others when its name does not."""
    kind = "model" if message.get("type") in ("gemini", "model") else string(message.get("type"))
    content = message.get("content", message.get("parts"))
    calls = [mapping(mapping(part).get("functionCall")) for part in listing(content)] + [
        mapping(call) for call in listing(message.get("toolCalls"))
    ]
    named = [f"{string(call.get('name'))}{spelled(call.get('args'))}" for call in calls if call]
    return f"{kind}:{flat(content) if not named else ''}{''.join(named)}"


def read(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    """A session in either form."""
    history = _History()
    if found.path.endswith(".json"):
        whole = mapping(lines.document(found.path, caps, tally))
        if "messages" not in whole:
            raise Broken("not a session")
        history.facts = whole
        history.replace(listing(whole["messages"])[: caps.rows])
        tally.lines = tally.known_lines = 1
        tally.known_bytes = tally.bytes
    else:
        _mutations(found, caps, tally, history)
    yield from _told(found, history, tally)


def _mutations(found: Found, caps: Caps, tally: Tally, history: _History) -> None:
    stream = lines.opened(found.path)
    if stream is None:
        raise Broken(lines.UNREADABLE)
    with stream:
        # The messages are held until the end, so this form is bounded like a document.
        for raw in Lines(stream, caps, tally, most=caps.document_bytes):
            try:
                value = lines.decoded(raw, tally)
            except Broken as reason:
                tally.lines += 1
                tally.skipped[str(reason)] += 1
                continue
            if not isinstance(value, dict):
                tally.lines += 1
                tally.skipped[lines.NOT_OBJECT] += 1
                continue
            counted(tally, _mutation(value, history, caps), len(raw))


def _mutation(value: dict[str, Any], history: _History, caps: Caps) -> str | None:
    if "$set" in value:
        change = mapping(value["$set"])
        if "messages" in change:
            history.replace(listing(change["messages"])[: caps.rows])
        history.facts.update({key: each for key, each in change.items() if key != "messages"})
    elif "$rewindTo" in value:
        history.rewind(string(value["$rewindTo"]))
    elif "type" in value and ("content" in value or "parts" in value or "toolCalls" in value):
        if len(history.messages) < caps.rows:
            history.put(value)
    elif "sessionId" in value:
        for key, each in value.items():
            history.facts.setdefault(key, each)
    else:
        return "?" + ",".join(sorted(value)[:4])
    return None


def _told(found: Found, history: _History, tally: Tally) -> Iterator[Event]:
    facts = history.facts
    name = os.path.basename(found.path)
    own = string(facts.get("sessionId")) or named_uuid(name) or name.rsplit(".", 1)[0]
    builder = TurnBuilder(
        Session(
            id=own,
            agent=NAME,
            path=found.path,
            cwd=_cwd(found.path),
            title=string(facts.get("summary")) or None,
            parent=os.path.basename(os.path.dirname(found.path)) if facts.get("kind") == "subagent" else None,
        )
    )
    builder.seen(when(facts.get("startTime")))
    builder.seen(when(facts.get("lastUpdated")))
    for key, message in history.messages.items():
        builder.standing = Standing.ROLLED_BACK if key in history.dropped else Standing.LIVE
        builder.at_line(string(message.get("id")) if len(string(message.get("id"))) >= 32 else "")
        unknown = _message(builder, message)
        if unknown:
            tally.unknown[f"message/{unknown}"] += 1
        yield from builder.take()
    yield from builder.end()


def _message(builder: TurnBuilder, message: dict[str, Any]) -> str | None:
    kind, at = string(message.get("type")) or message.get("role"), when(message.get("timestamp"))
    content = message.get("content", message.get("parts"))
    builder.seen(at)
    if kind == "user":
        for part in listing(content):
            if isinstance(part, dict) and "functionResponse" in part:
                response = mapping(part["functionResponse"])
                asked = string(response.get("id"))
                if builder.is_open(asked):
                    builder.answer(asked, _response(response), at)
        # What the person typed, where the client sent something else in its place: a command's text, a file's.
        typed = message.get("displayContent") or content
        text = "\n".join(
            _plain(part)
            for part in (listing(typed) or [typed])
            if not (isinstance(part, dict) and "functionResponse" in part)
        )
        builder.hear(text, at, side=builder.session.id if builder.session.parent else None)
    elif kind in ("gemini", "model", "assistant"):
        builder.know(model=string(message.get("model")))
        calls = listing(message.get("toolCalls"))
        text = "\n".join(filter(None, (_plain(part) for part in (listing(content) or [content]))))
        builder.say("gemini", Speaker.ASSISTANT, text, at)
        if not calls:
            for part in listing(content):
                if isinstance(part, dict) and "functionCall" in part:
                    call = mapping(part["functionCall"])
                    builder.call(string(call.get("id")) or None, string(call.get("name")), call.get("args"), at)
        for call in calls:
            _call(builder, mapping(call), at)
    elif kind in ("info", "error", "warning", "system", "summary"):
        builder.say(
            str(kind), Speaker.SYSTEM, flat(content), at, synthetic="summary" if kind == "summary" else "notice"
        )
    else:
        return string(kind) or "?"
    return None


def _plain(part: Any) -> str:
    if isinstance(part, dict) and ("functionCall" in part or "functionResponse" in part):
        return ""
    return flat(part)


def _call(builder: TurnBuilder, call: dict[str, Any], at: Any) -> None:
    own = string(call.get("id")) or f"call-{builder.number}"
    builder.call(own, string(call.get("name")), call.get("args"), at)
    status = string(call.get("status"))
    outputs = [
        _response(mapping(part["functionResponse"]))
        for part in listing(call.get("result"))
        if isinstance(part, dict) and "functionResponse" in part
    ]
    output = "\n".join(filter(None, outputs)) or flat(call.get("resultDisplay"))
    failed = {"success": False, "error": True, "cancelled": True}.get(status)
    if output or failed is not None:
        # Only a status other than 0 is written down.
        well = status == "success" and "Exit Code:" not in output[-400:]
        builder.answer(own, output, when(call.get("timestamp")) or at, failed=failed, well=well)


def _response(response: dict[str, Any]) -> str:
    body = mapping(response.get("response"))
    text = flat(body.get("output") or body.get("error") or body.get("content"))
    return text.removeprefix(_ADDED).removesuffix("</untrusted_context>").strip() if text.startswith(_ADDED) else text


def _cwd(path: str) -> str | None:
    """The project's folder: written beside the chats, or listed in projects.json."""
    project = os.path.dirname(os.path.dirname(path))
    if os.path.basename(os.path.dirname(path)) != "chats":
        project = os.path.dirname(project)
    try:
        root = lines.text(os.path.join(project, ".project_root"), 4096, Tally()).strip()
        if root:
            return root
    except Broken:
        pass
    try:
        known = mapping(
            mapping(lines.document(os.path.join(project, "..", "..", "projects.json"), _SMALL, Tally())).get("projects")
        )
    except Broken:
        return None
    name = os.path.basename(project)
    return next((folder for folder, slug in known.items() if slug == name), None)


def transcripts(machine: Machine) -> Iterator[Found]:
    """~/.gemini/tmp/*/chats, below GEMINI_CLI_HOME where that is set."""
    base = os.path.join(machine.variable("GEMINI_CLI_HOME", ""), ".gemini", "tmp")
    for name in names_in(base):
        every = list(files_in("gemini", os.path.join(base, name, "chats"), ".json", ".jsonl"))
        newer = {found.path for found in every}
        for found in every:
            if not (found.path.endswith(".json") and f"{found.path}l" in newer):
                yield found


def is_line(value: dict[str, Any], path: str) -> bool:
    """Whether a line is a record of its log."""
    del path
    return "projectHash" in value or "$set" in value


def is_document(value: Any, path: str) -> bool:
    """Whether a document is one of its older sessions."""
    del path
    keys = set(mapping(value))
    return "messages" in keys and bool({"projectHash", "startTime"} & keys)


def cleared_after(machine: Machine) -> float:
    """Thirty days, or what its settings say."""
    kept = setting_of(os.path.join(machine.home, ".gemini/settings.json"), "general", "sessionRetention", "maxAge")
    days = str(kept).removesuffix("d") if kept else "30"
    return float(days) if days.isdigit() else 30.0


def memories(machine: Machine, folder: str) -> list[MemoryFolder]:
    """The points that it added to GEMINI.md."""
    del folder
    read = partial(memory_files.bullets, heading="## Gemini Added Memories")
    return [MemoryFolder(scope=Scope.GLOBAL, folder=f"{machine.home}/.gemini", names=r"GEMINI\.md", read=read)]


def recipe(target: InstallTarget, texts: Texts) -> Recipe:
    """Gemini CLI: an extension of its own for the user; settings for a project."""
    folder = os.path.join(base(target, "GEMINI_CLI_HOME", ""), ".gemini")
    events = wanted(target, {"session-start": "SessionStart", "prompt": "BeforeAgent", "pre-tool": "BeforeTool", "post-tool": "AfterTool", "session-end": "SessionEnd"})  # fmt: skip
    if target.project:
        settings = f"{target.project}/.gemini/settings.json"
        pieces = [
            *grouped_hooks(target, settings, "gemini-cli", events, seconds=10_000, matchers=_TOOLS),
            member(settings, ("mcpServers", "byheart"), server(target), TOOLS),
            own_file(
                f"{target.project}/.gemini/skills/byheart/SKILL.md", with_command(texts("skill.md"), target), SKILL
            ),
        ]
        return Recipe(agent="gemini-cli", pieces=tuple(pieces), folders=(folder,), programs=("gemini",))
    place = f"{folder}/extensions/byheart"
    manifest = {
        "name": "byheart",
        "version": target.version,
        "description": "Memory from session to session",
        "mcpServers": {"byheart": server(target)},
    }
    handlers = {
        theirs: [{**({"matcher": _TOOLS[theirs]} if theirs in _TOOLS else {}), "hooks": [{"name": f"byheart {ours}", "type": "command", "command": hook_line(target, ours, "gemini-cli"), "timeout": 10_000}]}]
        for ours, theirs in events.items()
    }  # fmt: skip
    pieces = [
        own_file(f"{place}/gemini-extension.json", json_text(manifest), TOOLS),
        own_file(
            f"{place}/hooks/hooks.json",
            json_text({"hooks": handlers}),
            HOOKS,
        ),
        own_file(f"{place}/skills/byheart/SKILL.md", with_command(texts("skill.md"), target), SKILL),
        own_file(f"{place}/commands/memory.toml", with_command(texts("command.toml"), target), COMMAND),
    ]
    return Recipe(agent="gemini-cli", pieces=tuple(pieces), folders=(folder,), programs=("gemini",))


_HEADLESS = Headless(
    command=("gemini", "-o", "json"),
    model=("-m", "{model}"),
    last=("-p", "Answer what stands on the standard input."),
    field="response",
    leaves="a session in its own folder, which byheart does not learn from",
)
AGENTS = (
    Agent(
        name=NAME,
        client="gemini-cli",
        transcripts=transcripts,
        document=read,
        is_line=is_line,
        is_document=is_document,
        cleared_after=cleared_after,
        recipe=recipe,
        memories=memories,
        headless=_HEADLESS,
    ),
)
