"""Transcripts as agents write them, from a short story: who said what, which command came to what, which file was changed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path


@dataclass
class Story:
    """One session. `events` are ("user", text), ("say", text), ("run", command, output, status), ("edit", path) or
    ("read", path, text); a minute passes between them."""

    agent: str
    id: str
    cwd: str
    began: str
    events: list[tuple[object, ...]]
    branch: str = "main"
    extra: dict[str, object] = field(default_factory=dict)

    def times(self) -> list[datetime]:
        """When each event was."""
        first = datetime.fromisoformat(self.began).replace(tzinfo=UTC)
        return [first + timedelta(minutes=number) for number in range(len(self.events) + 1)]


def write(story: Story, home: Path) -> Path:
    """Put a story where its agent would have put it; the file."""
    path, text = {"claude-code": _claude, "codex": _codex, "oh-my-pi": _pi, "gemini": _gemini}[story.agent](story)
    target = home / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return target


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _claude(story: Story) -> tuple[str, str]:
    rows: list[dict[str, object]] = []
    last: str | None = None

    def add(kind: str, at: datetime, content: object) -> None:
        nonlocal last
        own = f"{story.id[:8]}-{len(rows):04x}-4000-8000-{story.id[-12:]}"
        head: dict[str, object] = {
            "parentUuid": last, "isSidechain": False, "userType": "external", "cwd": story.cwd, "sessionId": story.id,
            "version": "2.1.300", "gitBranch": story.branch, "type": kind, "uuid": own, "timestamp": _stamp(at),
        }  # fmt: skip
        rows.append({**head, "message": {"role": kind, "content": content}, **story.extra})
        last = own

    for number, (event, at) in enumerate(zip(story.events, story.times(), strict=False)):
        match event:
            case ("user", str(text)):
                add("user", at, text)
            case ("say", str(text)):
                add("assistant", at, [{"type": "text", "text": text}])
            case ("run", str(command), str(output), int(status)):
                add(
                    "assistant",
                    at,
                    [{"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": command}}],
                )
                shown = output if status == 0 else f"Exit code {status}\n{output}"
                add(
                    "user",
                    at,
                    [
                        {
                            "type": "tool_result",
                            "tool_use_id": f"toolu_{number}",
                            "content": shown,
                            "is_error": status != 0,
                        }
                    ],
                )
            case ("edit", str(path)):
                change = {"file_path": f"{story.cwd}/{path}", "old_string": "a", "new_string": "b"}
                add("assistant", at, [{"type": "tool_use", "id": f"toolu_{number}", "name": "Edit", "input": change}])
                add(
                    "user",
                    at,
                    [
                        {
                            "type": "tool_result",
                            "tool_use_id": f"toolu_{number}",
                            "content": f"The file {path} has been updated.",
                        }
                    ],
                )
            case ("read", str(path), str(text)):
                add(
                    "assistant",
                    at,
                    [
                        {
                            "type": "tool_use",
                            "id": f"toolu_{number}",
                            "name": "Read",
                            "input": {"file_path": f"{story.cwd}/{path}"},
                        }
                    ],
                )
                add("user", at, [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}])
    folder = story.cwd.replace("/", "-")
    return f".claude/projects/{folder}/{story.id}.jsonl", _lines(rows)


def _codex(story: Story) -> tuple[str, str]:
    times = story.times()
    meta = {
        "id": story.id, "timestamp": _stamp(times[0]), "cwd": story.cwd, "originator": "codex_cli_rs", "cli_version": "0.140.0",
        "source": "cli", "model_provider": "openai", "git": {"branch": story.branch}, **story.extra,
    }  # fmt: skip
    rows: list[dict[str, object]] = [{"timestamp": _stamp(times[0]), "type": "session_meta", "payload": meta}]

    def add(at: datetime, payload: dict[str, object]) -> None:
        rows.append({"timestamp": _stamp(at), "type": "response_item", "payload": payload})

    def call(at: datetime, number: int, command: str, output: str, status: int) -> None:
        arguments = json.dumps({"cmd": command})
        add(at, {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": f"call_{number}"})
        shown = (
            f"Chunk ID: {number:06x}\nWall time: 0.4000 seconds\nProcess exited with code {status}\nOutput:\n{output}"
        )
        add(at, {"type": "function_call_output", "call_id": f"call_{number}", "output": shown})

    for number, (event, at) in enumerate(zip(story.events, times, strict=False)):
        match event:
            case ("user", str(text)):
                add(at, {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
            case ("say", str(text)):
                add(at, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
            case ("run", str(command), str(output), int(status)):
                call(at, number, command, output, status)
            case ("edit", str(path)):
                patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch"
                add(
                    at, {"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": f"call_{number}"}
                )
                done = json.dumps(
                    {"output": f"Success. Updated the following files:\nM {path}\n", "metadata": {"exit_code": 0}}
                )
                add(at, {"type": "custom_tool_call_output", "call_id": f"call_{number}", "output": done})
            case ("read", str(path), str(text)):
                call(at, number, f"cat {path}", text, 0)
    day, clock = times[0].strftime("%Y/%m/%d"), times[0].strftime("%Y-%m-%dT%H-%M-%S")
    return f".codex/sessions/{day}/rollout-{clock}-{story.id}.jsonl", _lines(rows)


def _pi(story: Story) -> tuple[str, str]:
    times = story.times()
    rows: list[dict[str, object]] = [
        {
            "type": "session",
            "version": 3,
            "id": story.id,
            "timestamp": _stamp(times[0]),
            "cwd": story.cwd,
            **story.extra,
        }
    ]
    last: str | None = None

    def add(at: datetime, message: dict[str, object]) -> None:
        nonlocal last
        own = f"{len(rows):08x}"
        rows.append({"type": "message", "id": own, "parentId": last, "timestamp": _stamp(at), "message": message})
        last = own

    def call(at: datetime, number: int, name: str, arguments: dict[str, object], text: str, *, failed: bool) -> None:
        part = {"type": "toolCall", "id": f"t{number}", "name": name, "arguments": arguments}
        add(at, {"role": "assistant", "content": [part]})
        result = [{"type": "text", "text": text}]
        add(
            at,
            {"role": "toolResult", "toolCallId": f"t{number}", "toolName": name, "content": result, "isError": failed},
        )

    for number, (event, at) in enumerate(zip(story.events, times, strict=False)):
        match event:
            case ("user", str(text)):
                add(at, {"role": "user", "content": text})
            case ("say", str(text)):
                add(at, {"role": "assistant", "content": [{"type": "text", "text": text}]})
            case ("run", str(command), str(output), int(status)):
                shown = output if status == 0 else f"{output}\n\nCommand exited with code {status}"
                call(at, number, "bash", {"command": command}, shown, failed=status != 0)
            case ("edit", str(path)):
                call(
                    at,
                    number,
                    "edit",
                    {"path": f"{story.cwd}/{path}", "oldText": "a", "newText": "b"},
                    f"Edited {path}",
                    failed=False,
                )
            case ("read", str(path), str(text)):
                call(at, number, "read", {"path": f"{story.cwd}/{path}"}, text, failed=False)
    clock = times[0].strftime("%Y-%m-%dT%H-%M-%S-000Z")
    return f".omp/agent/sessions/--{story.cwd.strip('/').replace('/', '-')}--/{clock}_{story.id}.jsonl", _lines(rows)


def _gemini(story: Story) -> tuple[str, str]:
    times = story.times()
    messages: list[dict[str, object]] = []

    def call(at: datetime, number: int, name: str, arguments: dict[str, object], output: str, *, failed: bool) -> None:
        answer = {"functionResponse": {"id": f"c{number}", "name": name, "response": {"output": output}}}
        made = {
            "id": f"c{number}", "name": name, "args": arguments, "status": "error" if failed else "success",
            "timestamp": _stamp(at), "result": [answer],
        }  # fmt: skip
        messages.append(
            {"id": f"m{number}", "timestamp": _stamp(at), "type": "gemini", "content": "", "toolCalls": [made]}
        )

    for number, (event, at) in enumerate(zip(story.events, times, strict=False)):
        match event:
            case ("user", str(text)):
                messages.append({"id": f"m{number}", "timestamp": _stamp(at), "type": "user", "content": text})
            case ("say", str(text)):
                messages.append(
                    {
                        "id": f"m{number}",
                        "timestamp": _stamp(at),
                        "type": "gemini",
                        "content": text,
                        "model": "gemini-3-flash",
                    }
                )
            case ("run", str(command), str(output), int(status)):
                shown = f"Command: {command}\nOutput: {output}\nExit Code: {status}"
                call(at, number, "run_shell_command", {"command": command}, shown, failed=status != 0)
            case ("edit", str(path)):
                arguments: dict[str, object] = {
                    "file_path": f"{story.cwd}/{path}",
                    "old_string": "a",
                    "new_string": "b",
                }
                call(at, number, "replace", arguments, f"Successfully modified file: {story.cwd}/{path}", failed=False)
            case ("read", str(path), str(text)):
                call(at, number, "read_file", {"file_path": f"{story.cwd}/{path}"}, text, failed=False)
    whole: dict[str, object] = {
        "sessionId": story.id, "projectHash": story.cwd.strip("/").replace("/", "-"), "startTime": _stamp(times[0]),
        "lastUpdated": _stamp(times[-1]), "messages": messages, "directories": [story.cwd], **story.extra,
    }  # fmt: skip
    folder = story.cwd.strip("/").replace("/", "-")
    name = f"session-{times[0].strftime('%Y-%m-%dT%H-%M')}-{story.id[:8]}.json"
    return f".gemini/tmp/{folder}/chats/{name}", json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def root_of_gemini(home: Path, cwd: str) -> None:
    """Gemini CLI notes beside its chats which folder they were about."""
    folder = home / ".gemini/tmp" / cwd.strip("/").replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".project_root").write_text(cwd + "\n", encoding="utf-8")
