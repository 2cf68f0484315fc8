"""Agents that leave one document or a folder of events: SWE-agent, OpenHands, Continue, Vibe."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from byheart.agents.agent import Agent
from byheart.agents.reading import lines, tools
from byheart.agents.reading.folders import Machine, file_of, files_in, names_in
from byheart.agents.reading.lines import Broken
from byheart.agents.reading.turn_builder import TurnBuilder, chat_message, counted
from byheart.agents.reading.values import flat, listing, mapping, number, string, when
from byheart.domain.sessions import Caps, Event, Found, Session, Speaker, Tally

# SWE-agent's own commands for files.
_SWE_FILE = re.compile(r"\s*(create|open)\s+\"?([^\s\"]{1,300})\"?")
_OPENHANDS_QUIET = frozenset(
    """null change_agent_state agent_state_changed recall recall_action noop system pause resume delegate_observation
    condensation condensation_request task_tracking loop_detection""".split()
)
_OPENHANDS_KINDS = frozenset(
    "SystemPromptEvent ConversationStateUpdateEvent PauseEvent Condensation CondensationRequest CondensationSummaryEvent TokenEvent LLMCompletionLogEvent HookExecutionEvent".split()
)


def sweagent(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    """A SWE-agent trajectory: the history of messages, or the steps where there is none."""
    whole = mapping(lines.document(found.path, caps, tally))
    history, steps = listing(whole.get("history")), listing(whole.get("trajectory"))
    if not history and not steps:
        raise Broken("not a trajectory")
    name = os.path.basename(found.path).rsplit(".", 1)[0]
    # Trajectories lie in the project they are about.
    above = found.path.rpartition(f"{os.sep}trajectories{os.sep}")[0]
    builder = TurnBuilder(Session(id=name, agent="swe-agent", path=found.path, cwd=above or None))
    builder.know(version=string(whole.get("swe_agent_version")))
    waiting: str | None = None
    for index, message in enumerate(map(mapping, history[: caps.rows])):
        waiting = _swe_message(builder, message, waiting, index)
        counted(tally, None, 0)
        yield from builder.take()
    for index, step in enumerate(map(mapping, steps[: caps.rows] if not history else [])):
        builder.say("assistant", Speaker.ASSISTANT, string(step.get("thought")), None)
        call = f"step-{index}"
        builder.call(call, "bash", {"command": string(step.get("action"))}, None)
        builder.answer(call, flat(step.get("observation")), None)
        counted(tally, None, 0)
        yield from builder.take()
    tally.known_bytes = tally.bytes
    yield from builder.end()


def _swe_message(builder: TurnBuilder, message: dict[str, Any], waiting: str | None, index: int) -> str | None:
    """One message; the call that waits for its result, if there is one now."""
    role, text = message.get("role"), flat(message.get("content"))
    if role == "system" or message.get("is_demo"):
        builder.say(
            str(role), Speaker.SYSTEM, text, None, synthetic="instructions" if role == "system" else "demonstration"
        )
        return waiting
    if role == "assistant":
        action = string(message.get("action"))
        builder.say("assistant", Speaker.ASSISTANT, string(message.get("thought")) or text, None)
        calls = listing(message.get("tool_calls"))
        if not action.strip() and not calls:
            return None
        call = string(mapping(calls[0]).get("id")) if calls else ""
        call = call or f"step-{index}"
        own = _SWE_FILE.match(action)
        if own:
            tool = "create" if own.group(1) == "create" else "read"
            builder.call(call, tool, {"path": own.group(2)}, None)
            return call
        builder.call(
            call,
            "bash",
            {"command": action.strip()}
            if action.strip()
            else tools.arguments_of(mapping(mapping(calls[0]).get("function")).get("arguments")),
            None,
        )
        return call
    if waiting:
        builder.answer(waiting, text, None)
        return None
    builder.hear(text, None)
    return None


def openhands(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    """An OpenHands trajectory: a list of events, or a folder with a file for each."""
    folder = os.path.join(os.path.dirname(found.path), "events")
    builder = TurnBuilder(
        Session(id=os.path.basename(found.path).rsplit(".", 1)[0], agent="openhands", path=found.path)
    )
    if os.path.basename(found.path) == "base_state.json":
        state = mapping(lines.document(found.path, caps, tally))
        workspace = mapping(state.get("workspace"))
        builder.know(
            id=string(state.get("id")) or os.path.basename(os.path.dirname(found.path)),
            cwd=string(workspace.get("working_dir")),
        )
        builder.know(closed=True if string(state.get("execution_status")) in ("finished", "error", "stuck") else None)
        events = _event_files(folder, caps, tally)
    else:
        events = iter(listing(lines.document(found.path, caps, tally))[: caps.rows])
    any_event = False
    for event in events:
        any_event = True
        if isinstance(event, dict):
            counted(tally, _openhands_event(builder, event), 0)
        else:
            tally.skipped[lines.NOT_OBJECT] += 1
        yield from builder.take()
    if not any_event:
        raise Broken("not a trajectory")
    tally.known_bytes = tally.bytes
    yield from builder.end()


def _event_files(folder: str, caps: Caps, tally: Tally) -> Iterator[Any]:
    try:
        names = sorted((name for name in os.listdir(folder) if name.endswith(".json")), key=_order)
    except OSError:
        raise Broken(lines.UNREADABLE) from None
    for name in names[: caps.rows]:
        try:
            yield lines.document(os.path.join(folder, name), caps, tally)
        except Broken as reason:
            tally.lines += 1
            tally.skipped[str(reason)] += 1


def _order(name: str) -> tuple[int, str]:
    digits = "".join(each for each in name.split(".")[0].removeprefix("event-").split("-")[0] if each.isdigit())
    return (int(digits[:12]) if digits else 0, name)


def _openhands_event(builder: TurnBuilder, event: dict[str, Any]) -> str | None:
    at, kind = when(event.get("timestamp")), event.get("kind")
    builder.seen(at)
    if kind is not None:
        return _openhands_kind(builder, event, string(kind), at)
    source, args = event.get("source"), mapping(event.get("args"))
    action, observation = (event[key] if isinstance(event.get(key), str) else None for key in ("action", "observation"))
    if action == "message":
        text = flat(args.get("content")) or string(event.get("message"))
        if source == "user":
            builder.hear(text, at)
        else:
            builder.say("assistant", Speaker.ASSISTANT, text, at)
    elif action == "finish":
        builder.say("assistant", Speaker.ASSISTANT, flat(args.get("final_thought")) or string(event.get("message")), at)
    elif observation is not None and observation not in _OPENHANDS_QUIET:
        extras = mapping(event.get("extras"))
        status = number(mapping(extras.get("metadata")).get("exit_code"))
        status = number(extras.get("exit_code")) if status is None else status
        status = None if status == -1 else status
        builder.answer(
            str(event.get("cause")),
            flat(event.get("content")) or string(event.get("message")),
            at,
            status=status,
            failed=True if observation == "error" else None,
            tool=str(observation),
        )
    elif action is not None and action not in _OPENHANDS_QUIET:
        builder.say("assistant", Speaker.ASSISTANT, string(args.get("thought")), at)
        given = {
            key: value
            for key, value in args.items()
            if key
            in (
                "command",
                "code",
                "path",
                "content",
                "url",
                "file_text",
                "old_str",
                "new_str",
                "query",
                "inputs",
                "agent",
            )
        }
        if action in ("read", "write"):
            given.pop("command", None)
        builder.call(str(event.get("id")), str(action), given, at)
    elif action is None and observation is None:
        return "?" + ",".join(sorted(event)[:4])
    return None


def _openhands_kind(builder: TurnBuilder, event: dict[str, Any], kind: str, at: Any) -> str | None:
    if kind == "MessageEvent":
        text = flat(mapping(event.get("llm_message")).get("content"))
        if event.get("source") == "user":
            builder.hear(text, at)
        else:
            builder.say("assistant", Speaker.ASSISTANT, text, at)
    elif kind == "ActionEvent":
        builder.say("assistant", Speaker.ASSISTANT, flat(event.get("thought")), at)
        action = mapping(event.get("action"))
        given = {key: value for key, value in action.items() if key != "kind"} or tools.arguments_of(
            mapping(event.get("tool_call")).get("arguments")
        )
        builder.call(string(event.get("tool_call_id")) or None, string(event.get("tool_name")), given, at)
    elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
        seen = mapping(event.get("observation"))
        status = number(seen.get("exit_code"))
        status = None if status == -1 else status
        folder = string(mapping(seen.get("metadata")).get("working_dir"))
        builder.know_first(cwd=folder)
        failed = True if kind != "ObservationEvent" else seen.get("is_error")
        text = flat(seen.get("content")) or flat(event.get("error")) or string(event.get("rejection_reason"))
        builder.answer(
            string(event.get("tool_call_id")) or None,
            text,
            at,
            status=status,
            failed=failed if isinstance(failed, bool) else None,
            tool=string(event.get("tool_name")) or "tool",
        )
    elif kind not in _OPENHANDS_KINDS:
        return kind
    return None


def continue_session(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    """A session of Continue: one document, results beside the calls."""
    whole = mapping(lines.document(found.path, caps, tally))
    if "history" not in whole:
        raise Broken("not a session")
    own = string(whole.get("sessionId")) or os.path.basename(found.path).removesuffix(".json")
    title, folder = string(whole.get("title")), string(whole.get("workspaceDirectory")).removeprefix("file://")
    builder = TurnBuilder(
        Session(
            id=own,
            agent="continue",
            path=found.path,
            cwd=folder or None,
            title=None if title == "Untitled Session" else title or None,
        )
    )
    for beside in _beside(found.path, caps):
        if beside.get("sessionId") == own:
            builder.seen(when(beside.get("dateCreated")))
    for entry in map(mapping, listing(whole["history"])[: caps.rows]):
        at = when(entry.get("timestamp"))
        counted(tally, chat_message(builder, _camel(mapping(entry.get("message"))), at), 0)
        for state in map(mapping, listing(entry.get("toolCallStates"))):
            output = "\n".join(
                filter(None, (flat(mapping(each).get("content")) for each in listing(state.get("output"))))
            )
            status = string(state.get("status"))
            if status in ("done", "errored", "canceled"):
                builder.answer(
                    string(state.get("toolCallId")) or None, output, at, failed=True if status != "done" else None
                )
        yield from builder.take()
    tally.known_bytes = tally.bytes
    yield from builder.end()


def _beside(path: str, caps: Caps) -> list[dict[str, Any]]:
    """The list of sessions next to a session: the only place that says when it was."""
    try:
        return [
            mapping(each)
            for each in listing(lines.document(os.path.join(os.path.dirname(path), "sessions.json"), caps, Tally()))
        ]
    except Broken:
        return []


def _camel(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "tool_calls": message.get("toolCalls"), "tool_call_id": message.get("toolCallId")}


def vibe(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    """A Mistral Vibe session: the entries that its newest generation points to."""
    folder = os.path.dirname(found.path)
    meta = mapping(lines.document(found.path, caps, tally))
    current = mapping(lines.document(os.path.join(folder, "CURRENT"), caps, tally))
    generation = os.path.basename(string(current.get("generation")))
    manifest = mapping(lines.document(os.path.join(folder, "generations", generation, "manifest.json"), caps, tally))
    builder = TurnBuilder(
        Session(
            id=string(meta.get("session_id")) or os.path.basename(folder),
            agent="vibe",
            path=found.path,
            cwd=string(meta.get("origin_directory")) or None,
            branch=string(meta.get("git_branch")) or None,
            commit=string(meta.get("git_commit")) or None,
            parent=string(meta.get("parent_session_id")) or None,
            title=string(meta.get("title")) or None,
            closed=True if meta.get("end_time") else None,
        )
    )
    builder.seen(when(meta.get("start_time")))
    builder.seen(when(meta.get("end_time")))
    for chunk in listing(mapping(manifest.get("projection_state")).get("chunks"))[:1000]:
        path = os.path.join(folder, "chunks", f"{os.path.basename(string(chunk))}.json")
        for entry in map(mapping, listing(lines.document(path, caps, tally))[: caps.rows]):
            counted(tally, _vibe_entry(builder, entry), 0)
            yield from builder.take()
    tally.known_bytes = tally.bytes
    yield from builder.end()


def _vibe_entry(builder: TurnBuilder, entry: dict[str, Any]) -> str | None:
    at, kind = when(entry.get("createdAt")), string(entry.get("type"))
    builder.seen(at)
    if kind == "message":
        if entry.get("role") == "user":
            builder.hear(flat(entry.get("content")), at)
        else:
            builder.say(string(entry.get("role")), Speaker.ASSISTANT, flat(entry.get("content")), at)
    elif kind == "effect":
        detail, state = mapping(entry.get("detail")), mapping(entry.get("state"))
        call = string(entry.get("id")) or None
        builder.call(call, string(detail.get("toolName")) or string(detail.get("kind")), detail.get("input"), at)
        output = mapping(state.get("output"))
        body = mapping(output.get("structured_content"))
        streams = flat(body.get("stdout")) + flat(body.get("stderr"))
        text = streams or flat(output.get("content")) or flat(body.get("content")) or flat(state.get("error"))
        shown = mapping(state.get("display")).get("success")
        failed = not shown if isinstance(shown, bool) else True if state.get("error") else None
        builder.answer(call, text, at, status=number(body.get("returncode")), failed=failed)
    elif kind not in ("reasoning", "notice", "callback", "compaction", "usage"):
        return string(kind) or "?"
    return None


def openhands_transcripts(machine: Machine) -> Iterator[Found]:
    """~/.openhands/conversations, a file for each event."""
    base = os.path.join(machine.variable("OPENHANDS_PERSISTENCE_DIR", ".openhands"), "conversations")
    for name in names_in(base):
        state, events = os.path.join(base, name, "base_state.json"), os.path.join(base, name, "events")
        found = file_of("openhands", state) if os.path.isfile(state) else None
        folder = file_of("openhands", events)
        if found and folder:
            yield Found(
                agent="openhands",
                path=state,
                size=len(names_in(events)),
                modified=max(found.modified, folder.modified),
                inode=found.inode,
            )


def continue_transcripts(machine: Machine) -> Iterator[Found]:
    """~/.continue/sessions, or CONTINUE_GLOBAL_DIR/sessions."""
    folder = os.path.join(machine.variable("CONTINUE_GLOBAL_DIR", ".continue"), "sessions")
    for found in files_in("continue", folder, ".json", depth=0):
        if os.path.basename(found.path) != "sessions.json":
            yield found


def vibe_transcripts(machine: Machine) -> Iterator[Found]:
    """~/.vibe/logs/session/unified, or below VIBE_HOME; a new generation makes a new CURRENT."""
    base = os.path.join(machine.variable("VIBE_HOME", ".vibe"), "logs/session/unified")
    for name in names_in(base):
        meta, current = (file_of("vibe", os.path.join(base, name, each)) for each in ("meta.json", "CURRENT"))
        if meta and current:
            yield Found(
                agent="vibe",
                path=meta.path,
                size=meta.size + current.size,
                modified=max(meta.modified, current.modified),
                inode=meta.inode,
            )


def swe_agent_transcripts(machine: Machine) -> Iterator[Found]:
    """trajectories/ in each project."""
    for folder in machine.projects:
        yield from files_in("swe-agent", os.path.join(folder, "trajectories"), ".traj", depth=4)


def _is_openhands(value: Any, path: str) -> bool:
    if isinstance(value, list):
        first = mapping(value[0]) if value else {}
        return "source" in first and ("action" in first or "observation" in first)
    return os.path.basename(path) == "base_state.json" and "agent" in mapping(value)


def _is_continue(value: Any, path: str) -> bool:
    del path
    return {"history", "sessionId"} <= set(mapping(value))


def _is_vibe(value: Any, path: str) -> bool:
    return os.path.basename(path) == "meta.json" and "origin_directory" in mapping(value)


def _is_trajectory(value: Any, path: str) -> bool:
    del path
    return "trajectory" in mapping(value)


AGENTS = (
    Agent(name="openhands", transcripts=openhands_transcripts, document=openhands, is_document=_is_openhands),
    Agent(name="continue", transcripts=continue_transcripts, document=continue_session, is_document=_is_continue),
    Agent(name="vibe", transcripts=vibe_transcripts, document=vibe, is_document=_is_vibe),
    Agent(name="swe-agent", transcripts=swe_agent_transcripts, document=sweagent, endings=(".traj",), is_document=_is_trajectory),
)  # fmt: skip
