"""Sessions in the shape that agents write, from a few steps: for tests that ask what the work shows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

# (command, output, exit status), ("edit", path), ("say", text), ("user", text)
Step = tuple[str, str, int] | tuple[str, str]


def claude(folder: Path, name: str, steps: Iterable[Step], *, cwd: str = "/home/ana/bakery", day: int = 4) -> Path:
    """A Claude Code transcript."""
    path = folder / ".claude" / "projects" / "-home-ana-bakery" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, object]] = []
    for number, step in enumerate(steps):
        base = {"sessionId": name, "cwd": cwd, "version": "2.1.300", "gitBranch": "main", "isSidechain": False}
        at = f"2026-05-{day:02}T10:{number // 60:02}:{number % 60:02}.000Z"
        call = f"toolu_{number}"

        def line(
            kind: str, content: object, part: int, at: str = at, base: dict[str, object] = base
        ) -> dict[str, object]:
            number_ = len(rows) + part
            own = {"uuid": f"{name[:8]}-{number_:04x}-4000-8000-000000000000", "parentUuid": None}
            return {**base, **own, "timestamp": at, "type": kind, "message": {"role": kind, "content": content}}

        if len(step) == 3:
            command, output, status = step
            text = output if status <= 0 else f"Exit code {status}\n{output}"
            rows.append(
                line("assistant", [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}], 0)
            )
            rows.append(
                line(
                    "user", [{"type": "tool_result", "tool_use_id": call, "content": text, "is_error": status != 0}], 1
                )
            )
        elif step[0] == "edit":
            given = {"file_path": step[1], "old_string": "a", "new_string": "b"}
            rows.append(line("assistant", [{"type": "tool_use", "id": call, "name": "Edit", "input": given}], 0))
            rows.append(
                line("user", [{"type": "tool_result", "tool_use_id": call, "content": "The file has been updated."}], 1)
            )
        elif step[0] == "user":
            rows.append(line("user", step[1], 0))
        else:
            rows.append(line("assistant", [{"type": "text", "text": step[1]}], 0))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def codex(folder: Path, name: str, steps: Iterable[Step], *, cwd: str = "/home/ana/bakery", day: int = 4) -> Path:
    """A Codex rollout."""
    path = (
        folder / ".codex" / "sessions" / "2026" / "05" / f"{day:02}" / f"rollout-2026-05-{day:02}T12-00-00-{name}.jsonl"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    rows: list[tuple[str, dict[str, object]]] = [
        ("session_meta", {"id": name, "cwd": cwd, "cli_version": "0.140.0", "source": "cli"})
    ]
    for number, step in enumerate(steps):
        call = f"call_{number}"
        if len(step) == 3:
            command, output, status = step
            framed = (
                f"Chunk ID: {number:x}\nWall time: 0.1 seconds\nProcess exited with code {status}\nOutput:\n{output}"
            )
            rows.append(
                (
                    "response_item",
                    {
                        "type": "function_call",
                        "name": "exec_command",
                        "arguments": json.dumps({"cmd": command}),
                        "call_id": call,
                    },
                )
            )
            rows.append(("response_item", {"type": "function_call_output", "call_id": call, "output": framed}))
        elif step[0] == "edit":
            patch = f"*** Begin Patch\n*** Update File: {step[1]}\n@@\n-a\n+b\n*** End Patch"
            rows.append(
                ("response_item", {"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": call})
            )
            rows.append(
                (
                    "response_item",
                    {"type": "custom_tool_call_output", "call_id": call, "output": "Exit code: 0\nOutput:\nDone"},
                )
            )
        else:
            role, kind = ("user", "input_text") if step[0] == "user" else ("assistant", "output_text")
            rows.append(
                ("response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": step[1]}]})
            )
    lines = [
        json.dumps(
            {
                "timestamp": f"2026-05-{day:02}T10:{number // 60:02}:{number % 60:02}.000Z",
                "type": kind,
                "payload": payload,
            }
        )
        for number, (kind, payload) in enumerate(rows)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
