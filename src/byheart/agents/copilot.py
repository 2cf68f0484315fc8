"""Copilot CLI: events in `session-state/<id>/events.jsonl`, sub-agents among them; an OpenAI-like document before that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from byheart.agents.agent import Agent, Texts
from byheart.agents.installing.pieces import (
    HOOKS,
    SKILL,
    TOOLS,
    InstallTarget,
    Recipe,
    base,
    hook_line,
    json_text,
    member,
    own_file,
    server,
    wanted,
    with_command,
)
from byheart.agents.reading import lines
from byheart.agents.reading.folders import Machine, files_in, is_running
from byheart.agents.reading.turn_builder import TurnBuilder, chat_message
from byheart.agents.reading.values import flat, listing, mapping, named_uuid, number, string, when
from byheart.domain.sessions import Caps, Event, Found, How, Session, Speaker, Standing, Tally, Touch
from byheart.text.deferred import module

if TYPE_CHECKING:
    from byheart.domain import values
else:
    values = module("byheart.domain.values")

NAME = "copilot"
_FAMILIES = frozenset(
    """session assistant tool subagent hook system pending_messages abort command elicitation exit_plan_mode external_tool
    permission user_input skill mcp sampling model tool_search auto_mode_switch managed_settings commands capabilities
    factory session_limits_exhausted fusion user""".split()
)


class CopilotReader:
    """Reads the events of one session."""

    def __init__(self, found: Found) -> None:
        name = os.path.basename(found.path)
        own = (
            os.path.basename(os.path.dirname(found.path))
            if name == "events.jsonl"
            else named_uuid(name) or name.removesuffix(".jsonl")
        )
        self.builder = TurnBuilder(Session(id=own, agent=NAME, path=found.path))
        self._starts: dict[str, int] = {}

    def line(self, value: dict[str, Any]) -> str | None:
        """Take one event in; the name of its type where that is unknown."""
        kind, data, at = string(value.get("type")), mapping(value.get("data")), when(value.get("timestamp"))
        builder = self.builder
        builder.seen(at)
        side = string(value.get("agentId")) or string(data.get("parentToolCallId")) or None
        own = string(value.get("id"))
        builder.at_line(own)
        if own:
            self._starts[own] = builder.number + 1
            if len(self._starts) > 20_000:
                self._starts.pop(next(iter(self._starts)))
        if kind in ("session.start", "session.resume", "session.context_changed"):
            self._context(data)
        elif kind == "user.message":
            self._user(data, at, side)
        elif kind == "assistant.message":
            self._assistant(data, at, side)
        elif kind == "tool.execution_start":
            call = string(data.get("toolCallId"))
            if not builder.is_open(call):
                builder.call(call or None, string(data.get("toolName")), data.get("arguments"), at, side=side)
        elif kind == "tool.execution_complete":
            self._result(data, at)
        else:
            return self._other(value, kind, data, at, side)
        return None

    def _other(self, value: dict[str, Any], kind: str, data: dict[str, Any], at: Any, side: str | None) -> str | None:
        builder = self.builder
        if kind == "session.compaction_complete":
            if data.get("success"):
                builder.say(
                    "system", Speaker.SYSTEM, string(data.get("summaryContent")), at, synthetic="summary", side=side
                )
        elif kind in ("session.title_changed", "session.renamed"):
            builder.know(title=string(data.get("title")) or string(data.get("name")))
        elif kind == "session.shutdown":
            builder.know(closed=True)
        elif kind == "session.snapshot_rewind":
            first = self._starts.get(string(data.get("upToEventId")))
            if first:
                builder.stand(range(first, builder.number + 1), Standing.ROLLED_BACK)
        elif kind in ("hook.end", "system.notification"):
            text = flat(mapping(data.get("output")).get("additionalContext")) or string(data.get("content"))
            builder.say("system", Speaker.SYSTEM, text, at, synthetic="hook", side=side)
        elif kind.split(".")[0] not in _FAMILIES:
            return kind or "?" + ",".join(sorted(value)[:4])
        return None

    def _context(self, data: dict[str, Any]) -> None:
        context = mapping(data.get("context")) or data
        builder = self.builder
        if builder.session.closed:
            builder.session = values.replace(builder.session, closed=None)
        builder.know(id=string(data.get("sessionId")))
        builder.know_first(cwd=string(context.get("cwd")), commit=string(context.get("headCommit")))
        builder.know(
            version=string(data.get("copilotVersion")),
            branch=string(context.get("branch")),
            model=string(data.get("selectedModel")),
            remote=string(context.get("repository")),
        )
        builder.seen(when(data.get("startTime")))

    def _user(self, data: dict[str, Any], at: Any, side: str | None) -> None:
        text, source = string(data.get("content")), string(data.get("source"))
        if side is None and source not in ("", "user"):
            self.builder.say("user", Speaker.SYSTEM, text, at, synthetic=source.split("-")[0])
        else:
            self.builder.hear(text, at, side=side)

    def _assistant(self, data: dict[str, Any], at: Any, side: str | None) -> None:
        self.builder.say("assistant", Speaker.ASSISTANT, flat(data.get("content")), at, side=side)
        for request in listing(data.get("toolRequests")):
            call = mapping(request)
            self.builder.call(
                string(call.get("toolCallId")) or None, string(call.get("name")), call.get("arguments"), at, side=side
            )

    def _result(self, data: dict[str, Any], at: Any) -> None:
        result, error = mapping(data.get("result")), mapping(data.get("error"))
        metrics = mapping(mapping(data.get("toolTelemetry")).get("metrics"))
        status = number(mapping(data.get("shellExecution")).get("exitCode"))
        if status is None:
            status = number(metrics.get("exit_code"))
        edits = [
            Touch(string(each.get("path")), How.CREATE if each.get("kind") == "create" else How.EDIT)
            for each in map(mapping, listing(data.get("fileEdits")))
            if string(each.get("path"))
        ]
        self.builder.answer(
            string(data.get("toolCallId")) or None,
            flat(result.get("content")) or string(error.get("message")),
            at,
            status=status,
            failed=not data["success"] if isinstance(data.get("success"), bool) else None,
            touches=edits,
        )

    def finish(self) -> None:
        """Nothing is left to say."""

    def state(self) -> dict[str, Any]:
        """What has to be remembered to go on later."""
        return {"scribe": self.builder.state(), "starts": list(self._starts.items())}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self.builder.restore(state["scribe"])
        self._starts = dict(state["starts"])


def document(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    """A session as the first versions saved it."""
    whole = mapping(lines.document(found.path, caps, tally))
    if "chatMessages" not in whole:
        raise lines.Broken("not a session")
    own = string(whole.get("sessionId")) or named_uuid(found.path) or os.path.basename(found.path)
    builder = TurnBuilder(Session(id=own, agent=NAME, path=found.path))
    at = when(whole.get("startTime"))
    builder.seen(at)
    for message in map(mapping, listing(whole["chatMessages"])[: caps.rows]):
        chat_message(builder, message, at)
        yield from builder.take()
    tally.lines = tally.known_lines = 1
    tally.known_bytes = tally.bytes
    yield from builder.end()


def transcripts(machine: Machine) -> Iterator[Found]:
    """~/.copilot, or COPILOT_HOME; XDG_STATE_HOME/.copilot in early versions."""
    folders = [machine.variable("COPILOT_HOME", ".copilot")]
    if state := machine.environment.get("XDG_STATE_HOME", ""):
        folders.append(os.path.join(state, ".copilot"))
    for folder in folders:
        yield from files_in("copilot", os.path.join(folder, "session-state"), ".jsonl", depth=1)
        yield from files_in("copilot", os.path.join(folder, "history-session-state"), ".json", depth=0)


def is_line(value: dict[str, Any], path: str) -> bool:
    """Whether a line is one of its events."""
    del path
    return "." in string(value.get("type")) and "data" in value


def is_document(value: Any, path: str) -> bool:
    """Whether a document is one of its older sessions."""
    del path
    return "chatMessages" in mapping(value)


def is_active(machine: Machine, session: Session) -> bool:
    """Whether a process that is running left its lock beside the session."""
    del machine
    try:
        names = os.listdir(os.path.dirname(session.path))
    except OSError:
        return False
    pids = [name.split(".")[1] for name in names if name.startswith("inuse.") and name.endswith(".lock")]
    return any(is_running(int(pid)) for pid in pids if pid.isdigit() and len(pid) < 10)


def recipe(target: InstallTarget, texts: Texts) -> Recipe:
    """Copilot CLI: a hooks file of ours, MCP, a skill."""
    folder = base(target, "COPILOT_HOME", ".copilot")
    events = wanted(target, {"session-start": "sessionStart", "prompt": "userPromptSubmitted", "pre-tool": "preToolUse", "post-tool": "postToolUse", "session-end": "sessionEnd"})  # fmt: skip
    handlers: dict[str, Any] = {
        theirs: [{"type": "command", "bash": hook_line(target, ours, "copilot-cli"), "timeoutSec": 10}]
        for ours, theirs in events.items()
    }
    place = f"{target.project}/.github" if target.project else folder
    pieces = [
        own_file(f"{place}/hooks/byheart.json", json_text({"version": 1, "hooks": handlers}), HOOKS),
        own_file(f"{place}/skills/byheart/SKILL.md", with_command(texts("skill.md"), target), SKILL),
    ]  # fmt: skip
    notes: tuple[str, ...] = ("the tools are for all projects alone: connect them with --user",)
    if not target.project:
        entry = {"type": "local", **server(target), "tools": ["*"]}
        pieces.append(member(f"{folder}/mcp-config.json", ("mcpServers", "byheart"), entry, TOOLS))
        notes = ()
    return Recipe(agent="copilot-cli", pieces=tuple(pieces), folders=(folder,), programs=("copilot",), notes=notes)


AGENTS = (
    Agent(
        name=NAME,
        client="copilot-cli",
        transcripts=transcripts,
        lines=CopilotReader,
        document=document,
        is_line=is_line,
        is_document=is_document,
        is_active=is_active,
        recipe=recipe,
    ),
)
