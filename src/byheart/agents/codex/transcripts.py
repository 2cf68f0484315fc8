"""Codex rollouts: bare JSON (2025-04), bare lines (2025-05), enveloped lines (2025-09), numbered lines (2026-06)."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from byheart.agents.codex.scripts import commands_in, results_of
from byheart.agents.reading import lines, tools
from byheart.agents.reading.turn_builder import TurnBuilder, counted
from byheart.agents.reading.values import flat, listing, mapping, named_uuid, number, string, when
from byheart.domain.sessions import Caps, Event, Found, How, Session, Speaker, Standing, Tally, Touch
from byheart.text.slugs import short_digest

NAME = "codex"
_EVENTS = frozenset(
    """token_count task_started turn_started task_complete turn_complete turn_aborted thread_settings_applied
    thread_goal_updated agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break web_search_begin
    web_search_end context_compacted entered_review_mode exited_review_mode mcp_tool_call_begin exec_command_begin
    exec_command_output_delta exec_approval_request apply_patch_approval_request patch_apply_begin turn_diff
    background_event stream_error error warning shutdown_complete plan_update list_skills_response skills_update_available
    sub_agent_activity guardian_assessment image_generation_end image_generation_begin view_image_tool_call undo_started
    undo_completed deprecation_notice thread_name_updated dynamic_tool_call_request dynamic_tool_call_response
    session_configured raw_response_item item_started agent_message_delta agent_message_content_delta model_reroute
    hook_started hook_completed terminal_interaction elicitation_request request_user_input request_permissions
    realtime_conversation_started realtime_conversation_closed get_history_entry_response mcp_startup_update
    mcp_startup_complete remote_skill_downloaded thread_memory_mode_updated""".split()
)
_EVENT_PREFIXES = (
    "collab_",
    "codex/event",
    "turn.",
    "item.",
    "thread.",
    "account/",
    "realtime_",
    "hook_",
    "guardian_",
    "thread_",
)
_ITEMS = frozenset(
    "reasoning ghost_snapshot compaction compaction_summary context_compaction additional_tools token_count other compaction_trigger".split()
)
_QUIET = frozenset("world_state security_risk_score inter_agent_communication_metadata token_usage_record".split())
_CALLS = frozenset(
    "function_call custom_tool_call local_shell_call tool_search_call web_search_call image_generation_call mcp_call tool_call".split()
)
_OUTPUTS = frozenset(
    "function_call_output custom_tool_call_output local_shell_call_output tool_search_output mcp_call_output tool_result".split()
)
_PATCH_HOW = {"add": How.CREATE, "create": How.CREATE, "delete": How.DELETE, "update": How.EDIT}
_HEADER = re.compile(
    r"^Exit code: (-?\d{1,6})\b|^Process exited with code (-?\d{1,6})\b|^Process running with session ID (\d{1,9})\b",
    re.MULTILINE,
)
_FRAMES = (
    "Command: ",
    "Chunk ID:",
    "Exit code:",
    "Wall time",
    "Script ",
    "Process ",
    "Output:\n",
    "Total output lines:",
)
_OUTPUT, _FRAME = "Output:\n", 600
_FOLDER = re.compile(r"<cwd>([^<\n]{1,500})</cwd>|^Current working directory: ([^\n]{1,500})$", re.MULTILINE)
# Copies of a parent's history are written in one go; a pause this long ends them.
_PAUSE = timedelta(seconds=1)
_RECENT = 64


class CodexReader:
    """Reads the lines of one rollout, whatever its generation."""

    def __init__(self, found: Found) -> None:
        name = os.path.basename(found.path)
        self.builder = TurnBuilder(Session(id=named_uuid(name) or name.split(".")[0], agent=NAME, path=found.path))
        self._is_first = True
        self._lines = 0
        self._copying: datetime | None = None
        self._own_from: int | None = None
        self._side: str | None = None
        self._prompts: list[int] = []
        self._recent: deque[str] = deque(maxlen=_RECENT)
        self._ends: dict[str, dict[str, Any]] = {}
        self._running: dict[str, int] = {}
        self._stdin: dict[str, str] = {}
        self._scripts: list[str] = []
        # Scripts of several commands: how many.
        self._split: dict[str, int] = {}
        self._call_turns: dict[str, int] = {}

    def line(self, value: dict[str, Any]) -> str | None:
        """Take one line in; the name of its type where that is unknown."""
        kind, payload, at = string(value.get("type")), value.get("payload"), when(value.get("timestamp"))
        if "record_type" in value:
            return None
        if not kind and "id" in value:
            # The first line of a bare rollout.
            self._meta(value, at)
            return None
        if not isinstance(payload, dict):
            return self._item(value, at) if kind else "?" + ",".join(sorted(value)[:4])
        if self._own_from is not None or self._copying is not None:
            self._place(value, at)
        self.builder.seen(at)
        # The same line in a copy of the file is the same turn.
        self.builder.at_line(self.builder.session.id, value.get("timestamp"), self._lines)
        self._lines += 1
        if kind == "session_meta":
            self._meta(payload, at)
        elif kind == "response_item":
            at = at or when(payload.get("timestamp"))
            return self._item(payload, at)
        elif kind == "event_msg":
            return self._event(payload, at)
        elif kind == "turn_context":
            inner = mapping(payload.get("turn_context")) or payload
            self.builder.know_first(cwd=string(inner.get("cwd")))
            self.builder.know(model=string(inner.get("model")))
        elif kind == "compacted":
            self.builder.say(
                "system",
                Speaker.SYSTEM,
                "[the conversation was compacted here]\n" + string(payload.get("message")),
                at,
                synthetic="summary",
            )
        elif kind == "inter_agent_communication":
            self.builder.say(
                "user", Speaker.SYSTEM, flat(payload.get("content") or payload.get("message")), at, synthetic="notice"
            )
        elif kind not in _QUIET:
            return string(kind)
        return None

    def _place(self, value: dict[str, Any], at: datetime | None) -> None:
        """Where a parent's copied history ends and the session's own begins."""
        builder = self.builder
        if self._own_from is not None:
            ordinal = number(value.get("ordinal"))
            if ordinal is not None:
                builder.standing = Standing.COPIED if ordinal < self._own_from else Standing.LIVE
        elif self._copying is not None and at is not None:
            if at - self._copying > _PAUSE:
                self._copying, builder.standing = None, Standing.LIVE
            else:
                self._copying = max(at, self._copying)

    def _meta(self, meta: dict[str, Any], at: datetime | None) -> None:
        builder, own = self.builder, string(meta.get("id"))
        if not self._is_first:
            if own == builder.session.id:
                self._git(meta)
                builder.know(memory_mode=string(meta.get("memory_mode")))
            elif builder.session.parent and self._own_from is None:
                # Another session's line: what follows came along with a fork.
                builder.standing, self._copying = Standing.COPIED, at or builder.started
            return
        self._is_first = False
        builder.seen(when(meta.get("timestamp")))
        told = mapping(meta.get("source")).get("subagent")
        source = mapping(told) if not isinstance(told, str) else {told: {}}
        spawned = mapping(source.get("thread_spawn"))
        builder.know(
            id=own,
            cwd=string(meta.get("cwd")),
            version=string(meta.get("cli_version")),
            model=string(meta.get("model")),
            memory_mode=string(meta.get("memory_mode")),
            parent=string(meta.get("parent_thread_id"))
            or string(spawned.get("parent_thread_id"))
            or string(meta.get("forked_from_id")),
            title=string(meta.get("thread_name")),
        )
        self._own_from = number(meta.get("subagent_history_start_ordinal"))
        # What a sub-agent hears under the user's role is its parent speaking.
        self._side = own if source or meta.get("thread_source") == "subagent" else None
        self._git(meta)

    def _git(self, meta: dict[str, Any]) -> None:
        git = mapping(meta.get("git"))
        self.builder.know(
            branch=string(git.get("branch")),
            commit=string(git.get("commit_hash")),
            remote=string(git.get("repository_url")),
        )

    def _item(self, item: dict[str, Any], at: datetime | None) -> str | None:
        kind = string(item.get("type"))
        if kind == "message":
            self._message(item, at)
        elif kind == "agent_message":
            self.builder.say(
                "assistant", Speaker.ASSISTANT, flat(item.get("content")), at, synthetic="message between agents"
            )
        elif kind in _CALLS:
            self._call(str(kind), item, at)
        elif kind in _OUTPUTS:
            self._output(item, at)
        elif kind not in _ITEMS:
            return f"response_item/{kind}"
        return None

    def _message(self, item: dict[str, Any], at: datetime | None) -> None:
        role = string(item.get("role"))
        if role == "assistant":
            text = flat(item.get("content"))
            if self._is_new("assistant", text):
                self.builder.say(role, Speaker.ASSISTANT, text, at)
        elif role == "user":
            self._user(item, at)
        else:
            kinds = listing(mapping(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds"))
            reason = string(kinds[0]).split(".")[0] if kinds else ""
            reason = "hook" if reason == "hooks" else "memory" if reason == "memories" else "instructions"
            self.builder.say(role or "system", Speaker.SYSTEM, flat(item.get("content")), at, synthetic=reason)

    def _user(self, item: dict[str, Any], at: datetime | None) -> None:
        kinds = listing(mapping(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds"))
        own: list[str] = []
        for index, part in enumerate(listing(item.get("content")) or [item.get("content")]):
            kind = string(kinds[index]) if index < len(kinds) else ""
            text = flat(part)
            if kind and not kind.startswith(("user.", "unknown")):
                self.builder.say("user", Speaker.SYSTEM, text, at, synthetic=kind.split(".")[0])
            else:
                own.append(text)
        text = "\n".join(part for part in own if part)
        if self.builder.session.cwd is None and (place := _FOLDER.search(text)):
            self.builder.know(cwd=(place.group(1) or place.group(2)).strip())
        if self._is_new("user", text):
            self._prompt(self.builder.hear(text, at, side=self._side))

    def _prompt(self, number: int | None) -> None:
        if number is not None and self.builder.standing is Standing.LIVE:
            self._prompts.append(number)

    def _is_new(self, role: str, text: str, *, event: bool = False) -> bool:
        """Events repeat what items say, before or after; the second of such a pair is dropped."""
        # A digest, since this is kept between two readings and the text may hold anything.
        mark = f":{role}:{len(text)}:{short_digest(text.strip())}"
        other = ("item" if event else "event") + mark
        if other in self._recent:
            self._recent.remove(other)
            return False
        self._recent.append(("event" if event else "item") + mark)
        return True

    def _call(self, kind: str, item: dict[str, Any], at: datetime | None) -> None:
        name = (
            string(item.get("name")) or string(mapping(item.get("function")).get("name")) or kind.removesuffix("_call")
        )
        space = string(item.get("namespace"))
        given = tools.arguments_of(item.get("arguments"))
        if given is None:
            given = item.get("input") if "input" in item else item.get("action") or item.get("query")
        call = string(item.get("call_id")) or string(item.get("id")) or None
        self.builder.know_first(cwd=string(mapping(given).get("workdir")))
        called = f"{space}.{name}" if space else name
        script = commands_in(given) if kind == "custom_tool_call" and isinstance(given, str) and name == "exec" else []
        if call is not None and len(script) > 1:
            # A script that runs several commands is as many calls, so that each has its own result.
            for place, command in enumerate(script):
                self.builder.call(f"{call}:{place}", called, None, at, command=command)
            self._split[call] = len(script)
            if len(self._split) > 500:
                self._split.pop(next(iter(self._split)))
            return
        turn = self.builder.call(call, called, given, at, command=script[0] if script else None)
        if call is None:
            return
        if name == "write_stdin":
            self._stdin[call] = str(mapping(given).get("session_id"))
        if script:
            self._scripts.append(call)
        self._call_turns[call] = turn
        if len(self._call_turns) > 500:
            self._call_turns.pop(next(iter(self._call_turns)))
        if kind in ("web_search_call", "image_generation_call"):
            self.builder.answer(call, None, at, failed=item.get("status") == "failed")

    def _output(self, item: dict[str, Any], at: datetime | None) -> None:
        call = string(item.get("call_id")) or string(item.get("id")) or None
        raw = item.get("output", item.get("result", item.get("tools")))
        if call in self._split:
            for place, (part, ended_with) in enumerate(results_of(raw, self._split.pop(call))):
                self.builder.answer(f"{call}:{place}", part, at, status=ended_with)
            return
        text, status, session = plain_output(raw)
        if call in self._scripts and status is None and isinstance(raw, list):
            [(text, status)] = results_of(raw, 1)
        ended = self._ends.pop(call or "", {})
        if status is None:
            status = ended.get("status")
        if call in self._scripts:
            self._scripts.remove(call)
        turn = self._call_turns.pop(call or "", None)
        waited = self._stdin.pop(call or "", None)
        if session and turn and waited is None:
            self._running[session] = turn
            if len(self._running) > 200:
                self._running.pop(next(iter(self._running)))
        if waited in self._running and status is not None:
            # The end of a command that was left running: its status belongs to the call that started it.
            self.builder.amend(self._running.pop(waited), text, status, at)
        self.builder.answer(
            call,
            text,
            at,
            status=status,
            failed=ended.get("failed"),
            touches=ended.get("touches", ()),
            tool=string(item.get("name")) or "tool",
        )

    def _event(self, event: dict[str, Any], at: datetime | None) -> str | None:
        kind = string(event.get("type"))
        if kind == "user_message":
            text = string(event.get("message"))
            if self._is_new("user", text, event=True):
                self._prompt(self.builder.hear(text, at, side=self._side))
        elif kind == "agent_message":
            text = string(event.get("message"))
            if self._is_new("assistant", text, event=True):
                self.builder.say("assistant", Speaker.ASSISTANT, text, at)
        elif kind == "item_completed":
            self._completed(mapping(event.get("item")), at)
        elif kind == "exec_command_end":
            self._ended(string(event.get("call_id")), event, at)
        elif kind == "patch_apply_end":
            call = string(event.get("call_id"))
            changed = _changed(event.get("changes"))
            self._end(call, touches=changed, failed=event.get("success") is False)
        elif kind == "mcp_tool_call_end":
            self._end(string(event.get("call_id")), failed=_mcp_failed(mapping(event.get("result"))))
        elif kind == "thread_rolled_back":
            self._roll_back(number(event.get("num_turns")) or 0)
        elif kind == "thread_name_updated":
            self.builder.know(title=string(event.get("thread_name")))
        elif kind not in _EVENTS and not (isinstance(kind, str) and kind.startswith(_EVENT_PREFIXES)):
            return f"event_msg/{kind}"
        return None

    def _completed(self, item: dict[str, Any], at: datetime | None) -> None:
        """A numbered rollout tells finished items beside the model's own; what is not among those is taken from here."""
        kind, own = item.get("type"), string(item.get("id"))
        if kind == "UserMessage":
            text = flat(item.get("content"))
            if self._is_new("user", text, event=True):
                self._prompt(self.builder.hear(text, at, side=self._side))
        elif kind == "AgentMessage":
            text = flat(item.get("content"))
            if self._is_new("assistant", text, event=True):
                self.builder.say("assistant", Speaker.ASSISTANT, text, at)
        elif kind == "CommandExecution":
            self._ended(own, item, at)
        elif kind == "FileChange":
            changed = _changed(item.get("changes"))
            if self.builder.is_open(own):
                self._end(own, touches=changed, failed=item.get("status") == "failed")
            elif changed:
                self.builder.call(own, "apply_patch", None, at)
                self.builder.answer(
                    own, string(item.get("stdout")) or None, at, touches=changed, failed=item.get("status") == "failed"
                )

    def _ended(self, call: str, event: dict[str, Any], at: datetime | None) -> None:
        status = number(event.get("exit_code"))
        if self.builder.is_open(call):
            self._end(call, status=status)
        elif self._scripts and self.builder.is_open(self._scripts[-1]):
            # A command inside a script: the script's own call stands for it.
            if status is not None and self._ends.get(self._scripts[-1], {}).get("status") in (None, 0):
                self._end(self._scripts[-1], status=status)
        elif self._call_turns.get(call) is None and event.get("type") == "CommandExecution":
            given = {"command": event.get("command")}
            self.builder.call(call, "exec_command", given, at)
            self.builder.answer(call, string(event.get("aggregated_output")), at, status=status)

    def _end(self, call: str, **known: Any) -> None:
        if len(self._ends) > 500:
            self._ends.pop(next(iter(self._ends)))
        self._ends.setdefault(call, {}).update({key: value for key, value in known.items() if value is not None})

    def _roll_back(self, turns: int) -> None:
        if turns <= 0 or not self._prompts:
            return
        first = self._prompts[-turns] if turns <= len(self._prompts) else self._prompts[0]
        self.builder.stand(range(first, self.builder.number + 1), Standing.ROLLED_BACK)
        self._prompts = [prompt for prompt in self._prompts if prompt < first]

    def finish(self) -> None:
        """Nothing is left to say."""

    def state(self) -> dict[str, Any]:
        """What has to be remembered to go on later."""
        return {
            "scribe": self.builder.state(),
            "first": self._is_first,
            "lines": self._lines,
            "copying": self._copying.isoformat() if self._copying else None,
            "own_from": self._own_from,
            "side": self._side,
            "prompts": self._prompts[-1000:],
            "recent": list(self._recent),
            "ends": [
                [call, {**end, "touches": [[each.path, each.how.value] for each in end.get("touches", ())]}]
                for call, end in self._ends.items()
            ],
            "running": list(self._running.items()),
            "stdin": list(self._stdin.items()),
            "scripts": self._scripts,
            "split": list(self._split.items()),
            "turns": list(self._call_turns.items()),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self.builder.restore(state["scribe"])
        self._is_first = state["first"]
        self._lines = int(state["lines"])
        self._copying = datetime.fromisoformat(state["copying"]) if state["copying"] else None
        self._own_from = state["own_from"]
        self._side = state["side"]
        self._prompts = list(state["prompts"])
        self._recent = deque(state["recent"], maxlen=_RECENT)
        self._ends = {
            call: {**end, "touches": tuple(Touch(path, How(how)) for path, how in end["touches"])}
            for call, end in state["ends"]
        }
        self._running = dict(state["running"])
        self._stdin = dict(state["stdin"])
        self._scripts = list(state["scripts"])
        self._split = dict(state["split"])
        self._call_turns = dict(state["turns"])


def _mcp_failed(result: dict[str, Any]) -> bool:
    return "Err" in result or mapping(result.get("Ok")).get("isError") is True


def _changed(changes: Any) -> tuple[Touch, ...]:
    found = []
    for path, change in list(mapping(changes).items())[:40]:
        body = mapping(change)
        kind = string(body.get("type")) or next(iter(body), "")
        found.append(Touch(path, _PATCH_HOW.get(kind, How.EDIT)))
    return tuple(found)


def plain_output(raw: Any) -> tuple[str, int | None, str | None]:
    """A tool's output without the frame around it, its exit status, and the shell session that is still running."""
    if isinstance(raw, dict):
        status = number(mapping(raw.get("metadata")).get("exit_code"))
        return flat(raw), number(raw.get("exitCode")) if status is None else status, None
    text = flat(raw)
    if text.startswith('{"') and '"output"' in text:
        value = mapping(tools.arguments_of(text))
        if "output" in value:
            status = number(mapping(value.get("metadata")).get("exit_code"))
            return flat(value["output"]), number(value.get("exit_code")) if status is None else status, None
    status, session = None, None
    if text.startswith(_FRAMES):
        # The frame is short, and the output behind it may be long: it is cut off once.
        at = text.find(_OUTPUT, 0, _FRAME)
        head = text[: at + 1] if at >= 0 else text[:_FRAME]
        for found in _HEADER.finditer(head):
            status = number(found.group(1) or found.group(2)) if found.group(1) or found.group(2) else status
            session = found.group(3) or session
        text = text[at + len(_OUTPUT) :] if at >= 0 else text
    inner = mapping(tools.arguments_of(text)) if text.startswith('{"exit_code"') else {}
    if "exit_code" in inner:
        return flat(inner.get("output")), number(inner["exit_code"]), session
    return text, status, session


def document(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    """A whole rollout in one JSON object, as the first client wrote it."""
    whole = mapping(lines.document(found.path, caps, tally))
    if "items" not in whole:
        raise lines.Broken("not a rollout")
    reader = CodexReader(found)
    reader.line({**mapping(whole.get("session")), "type": None})
    began = when(mapping(whole.get("session")).get("timestamp"))
    for item in listing(whole["items"])[: caps.rows]:
        if isinstance(item, dict):
            counted(tally, reader._item(item, began), 0)
        else:
            tally.skipped[lines.NOT_OBJECT] += 1
        yield from reader.builder.take()
    tally.known_bytes = tally.bytes
    yield from reader.builder.end()
