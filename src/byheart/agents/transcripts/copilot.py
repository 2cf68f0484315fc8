"""Copilot CLI: events in `session-state/<id>/events.jsonl`, sub-agents among them; an OpenAI-like document before that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from byheart.agents.reading import lines
from byheart.agents.reading.turn_builder import Scribe
from byheart.agents.reading.values import flat, listing, mapping, named_uuid, number, string, when
from byheart.domain.sessions import Caps, Event, Found, How, Session, Speaker, Standing, Tally, Touch

AGENT = "copilot"
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
        self.scribe = Scribe(Session(id=own, agent=AGENT, path=found.path))
        self._starts: dict[str, int] = {}

    def line(self, value: dict[str, Any]) -> str | None:
        """Take one event in; the name of its type where that is unknown."""
        kind, data, at = string(value.get("type")), mapping(value.get("data")), when(value.get("timestamp"))
        scribe = self.scribe
        scribe.seen(at)
        side = string(value.get("agentId")) or string(data.get("parentToolCallId")) or None
        own = string(value.get("id"))
        scribe.at_line(own)
        if own:
            self._starts[own] = scribe.number + 1
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
            if not scribe.is_open(call):
                scribe.call(call or None, string(data.get("toolName")), data.get("arguments"), at, side=side)
        elif kind == "tool.execution_complete":
            self._result(data, at)
        else:
            return self._other(value, kind, data, at, side)
        return None

    def _other(self, value: dict[str, Any], kind: str, data: dict[str, Any], at: Any, side: str | None) -> str | None:
        scribe = self.scribe
        if kind == "session.compaction_complete":
            if data.get("success"):
                scribe.say(
                    "system", Speaker.SYSTEM, string(data.get("summaryContent")), at, synthetic="summary", side=side
                )
        elif kind in ("session.title_changed", "session.renamed"):
            scribe.know(title=string(data.get("title")) or string(data.get("name")))
        elif kind == "session.shutdown":
            scribe.know(closed=True)
        elif kind == "session.snapshot_rewind":
            first = self._starts.get(string(data.get("upToEventId")))
            if first:
                scribe.stand(range(first, scribe.number + 1), Standing.ROLLED_BACK)
        elif kind in ("hook.end", "system.notification"):
            text = flat(mapping(data.get("output")).get("additionalContext")) or string(data.get("content"))
            scribe.say("system", Speaker.SYSTEM, text, at, synthetic="hook", side=side)
        elif kind.split(".")[0] not in _FAMILIES:
            return kind or "?" + ",".join(sorted(value)[:4])
        return None

    def _context(self, data: dict[str, Any]) -> None:
        context = mapping(data.get("context")) or data
        scribe = self.scribe
        if scribe.session.closed:
            from byheart.domain.values import replace

            scribe.session = replace(scribe.session, closed=None)
        scribe.know(id=string(data.get("sessionId")))
        scribe.know_first(cwd=string(context.get("cwd")), commit=string(context.get("headCommit")))
        scribe.know(
            version=string(data.get("copilotVersion")),
            branch=string(context.get("branch")),
            model=string(data.get("selectedModel")),
            remote=string(context.get("repository")),
        )
        scribe.seen(when(data.get("startTime")))

    def _user(self, data: dict[str, Any], at: Any, side: str | None) -> None:
        text, source = string(data.get("content")), string(data.get("source"))
        if side is None and source not in ("", "user"):
            self.scribe.say("user", Speaker.SYSTEM, text, at, synthetic=source.split("-")[0])
        else:
            self.scribe.hear(text, at, side=side)

    def _assistant(self, data: dict[str, Any], at: Any, side: str | None) -> None:
        self.scribe.say("assistant", Speaker.ASSISTANT, flat(data.get("content")), at, side=side)
        for request in listing(data.get("toolRequests")):
            call = mapping(request)
            self.scribe.call(
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
        self.scribe.answer(
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
        return {"scribe": self.scribe.state(), "starts": list(self._starts.items())}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self.scribe.restore(state["scribe"])
        self._starts = dict(state["starts"])


def document(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    """A session as the first versions saved it."""
    whole = mapping(lines.document(found.path, caps, tally))
    if "chatMessages" not in whole:
        raise lines.Broken("not a session")
    own = string(whole.get("sessionId")) or named_uuid(found.path) or os.path.basename(found.path)
    scribe = Scribe(Session(id=own, agent=AGENT, path=found.path))
    at = when(whole.get("startTime"))
    scribe.seen(at)
    for message in map(mapping, listing(whole["chatMessages"])[: caps.rows]):
        chat_message(scribe, message, at)
        yield from scribe.take()
    tally.lines = tally.known_lines = 1
    tally.known_bytes = tally.bytes
    yield from scribe.end()


def chat_message(scribe: Scribe, message: dict[str, Any], at: Any) -> str | None:
    """A message in the shape of OpenAI's chat API."""
    role, content = message.get("role"), message.get("content")
    if role == "user":
        scribe.hear(flat(content), at)
    elif role == "assistant":
        scribe.say("assistant", Speaker.ASSISTANT, flat(content), at)
        for each in map(mapping, listing(message.get("tool_calls"))):
            function = mapping(each.get("function"))
            from byheart.agents.reading.tools import arguments_of

            scribe.call(
                string(each.get("id")) or None,
                string(function.get("name")),
                arguments_of(function.get("arguments")),
                at,
            )
    elif role == "tool":
        scribe.answer(
            string(message.get("tool_call_id")) or None, flat(content), at, tool=string(message.get("name")) or "tool"
        )
    elif role in ("system", "developer"):
        scribe.say(str(role), Speaker.SYSTEM, flat(content), at, synthetic="instructions")
    else:
        return f"message/{role}"
    return None
