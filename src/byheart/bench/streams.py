"""Streams of real sessions, read for measuring alone: what was called, how it ended, what people typed. Nothing of the product reads
or judges here, so that it cannot agree with itself."""

from __future__ import annotations

import gzip
import json
import os
import re
import tarfile
from collections.abc import Iterator, Sequence
from typing import Any

from byheart.domain.errors import BadInput
from byheart.domain.values import dataclass, field

_EXIT = re.compile(r"(?:Exit code:?|exited with code|exit status|<exit_code>)\s*(-?\d+)")
_CODE = re.compile(r"exec_command\(\{\s*\"?cmd\"?\s*:\s*(\"(?:[^\"\\]|\\.)*\")")
_STATUS = re.compile(r'"exit_code"\s*:\s*(-?\d+)')
_HEAD = re.compile(
    r"\A(?:Chunk ID:|Wall time|Exit code|Process exited|Original token|Script completed|Output:|Total output)[^\n]*\n?"
)
_EDITORS = frozenset("Edit Write MultiEdit NotebookEdit edit write patch replace write_file create".split())
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add) File: (.+)$", re.MULTILINE)
_NOT_TYPED = re.compile(
    r"\s*<|\[Request interrupted|Caveat:|This session is being continued|Implement the following plan|# Context\b|# AGENTS|Stop hook feedback|Base directory"
)


@dataclass(slots=True, kw_only=True)
class Call:
    """Something an agent had done: a command, or another tool with what it was given."""

    tool: str
    command: str = ""
    path: str = ""
    edited: tuple[str, ...] = ()
    output: str = ""
    ok: bool | None = None


@dataclass(slots=True, kw_only=True)
class Stream:
    """One session: what was typed (with how many calls had been made by then), and the calls."""

    session: str
    file: str
    agent: str
    last: str
    content: bytes
    typed: list[tuple[int, str]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)


def projects(data: str, only: Sequence[str] = ()) -> Iterator[tuple[str, list[Stream]]]:
    """Each project of a folder with its sessions in the order of time; only those whose name holds one of `only`, where some are named."""
    folder = os.path.join(data, "projects") if os.path.isdir(os.path.join(data, "projects")) else data
    listing = os.path.join(folder, "MANIFEST.jsonl.gz")
    if not os.path.exists(listing):
        raise BadInput(f"{listing} is not there; name the folder that holds the streams of projects")
    rows: dict[str, list[dict[str, Any]]] = {}
    with gzip.open(listing, "rt", encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line)
            rows.setdefault(row["repo"], []).append(row)
    for repo, every in sorted(rows.items(), key=lambda each: -len(each[1])):
        path = os.path.join(folder, f"{repo.replace('/', '__')}.tar.xz")
        if not os.path.exists(path) or (only and not any(name in repo for name in only)):
            continue
        with tarfile.open(path) as archive:
            # One pass: an archive that is packed as a whole is read from its beginning for each file.
            contents = {
                each.name.removeprefix("./"): opened.read()
                for each in archive
                if each.isfile() and (opened := archive.extractfile(each)) is not None
            }
        yield (
            repo,
            [
                _stream(contents[row["file"]], row)
                for row in sorted(every, key=lambda row: row["last"])
                if row["file"] in contents
            ],
        )


def _stream(content: bytes, row: dict[str, Any]) -> Stream:
    found = Stream(session=row["session"], file=row["file"], agent=row["client"], last=row["last"], content=content)
    reader = {"claude-code": _claude, "codex": _codex, "opencode": _opencode, "gemini-cli": _gemini}.get(row["client"])
    if reader is not None:
        reader(found, content.decode("utf-8", "replace"))
    return found


def _rows(content: str) -> Iterator[dict[str, Any]]:
    for line in content.split("\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(_text(each) for each in value)
    if isinstance(value, dict):
        return _text(value.get("text") or value.get("content") or value.get("output") or "")
    return value if isinstance(value, str) else ""


def _type(found: Stream, text: str) -> None:
    plain = text.strip()
    if plain and not _NOT_TYPED.match(plain) and len(plain) < 6_000:
        found.typed.append((len(found.calls), plain))


def _claude(found: Stream, content: str) -> None:
    calls: dict[str, Call] = {}
    for row in _rows(content):
        body = (row.get("message") or {}).get("content")
        if row.get("type") == "user" and isinstance(body, str) and not row.get("isMeta"):
            _type(found, body)
        for block in body if isinstance(body, list) else ():
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use":
                given = block.get("input") or {}
                path = str(given.get("file_path") or given.get("path") or "")
                call = Call(tool=str(block.get("name")), command=str(given.get("command") or ""), path=path)
                call.edited = (path,) if call.tool in _EDITORS and path else ()
                calls[str(block.get("id"))] = call
                found.calls.append(call)
            elif block.get("type") == "tool_result" and (known := calls.get(str(block.get("tool_use_id")))):
                known.output = _text(block.get("content"))
                known.ok = not block.get("is_error")
            elif block.get("type") == "text" and row.get("type") == "user" and not row.get("isMeta"):
                _type(found, str(block.get("text")))


def _codex(found: Stream, content: str) -> None:
    calls: dict[str, Call] = {}
    for row in _rows(content):
        item = row.get("payload") or {}
        kind = item.get("type")
        if kind == "user_message":
            _type(found, _text(item.get("message")))
        elif kind in ("function_call", "custom_tool_call"):
            call = _codex_call(item)
            calls[str(item.get("call_id"))] = call
            found.calls.append(call)
        elif kind in ("function_call_output", "custom_tool_call_output") and (
            known := calls.get(str(item.get("call_id")))
        ):
            _codex_output(known, _text(item.get("output")))


def _codex_call(item: dict[str, Any]) -> Call:
    given = str(item.get("arguments") or item.get("input") or "")
    try:
        told = json.loads(given)
    except ValueError:
        told = {}
    command = told.get("cmd") or told.get("command") or "" if isinstance(told, dict) else ""
    if isinstance(command, list):
        command = command[-1] if command else ""
    if not command and (scripted := _CODE.findall(given)):
        command = json.loads(scripted[0]) if len(scripted) == 1 else ""
    return Call(
        tool=str(item.get("name")), command=str(command), edited=tuple(_PATCHED.findall(given.replace("\\n", "\n")))
    )


def _codex_output(call: Call, text: str) -> None:
    try:
        told = json.loads(text)
        if isinstance(told, dict) and "output" in told:
            text = f"Exit code: {(told.get('metadata') or {}).get('exit_code', 0)}\n{told['output']}"
    except ValueError:
        pass
    status = _EXIT.search(text[:400]) or _STATUS.search(text[-400:])
    call.ok = None if status is None else status[1] == "0"
    while head := _HEAD.match(text):
        text = text[head.end() :]
    call.output = text


def _opencode(found: Stream, content: str) -> None:
    for message in json.loads(content).get("messages", ()):
        for part in message.get("parts", ()):
            if part.get("type") == "text" and message.get("info", {}).get("role") == "user":
                _type(found, str(part.get("text")))
            elif part.get("type") == "tool":
                state = part.get("state") or {}
                given = state.get("input") or {}
                status = (state.get("metadata") or {}).get("exit")
                path = str(given.get("filePath") or "")
                tool = str(part.get("tool"))
                found.calls.append(
                    Call(
                        tool=tool,
                        command=str(given.get("command") or ""),
                        path=path,
                        edited=(path,) if tool in _EDITORS and path else (),
                        output=str(state.get("output") or state.get("error") or ""),
                        ok=state.get("status") != "error" and status in (0, None),
                    )
                )


def _gemini(found: Stream, content: str) -> None:
    for message in json.loads(content).get("messages", ()):
        if message.get("type") == "user":
            _type(found, _text(message.get("displayContent") or message.get("content")))
        for each in message.get("toolCalls") or ():
            given = each.get("args") or {}
            path = str(given.get("file_path") or "")
            output = _text(each.get("resultDisplay")) or json.dumps(each.get("result"))[:20_000]
            status = re.search(r"Exit Code: (\d+)", output)
            found.calls.append(
                Call(
                    tool=str(each.get("name")),
                    command=str(given.get("command") or ""),
                    path=path,
                    edited=(path,) if each.get("name") in _EDITORS and path else (),
                    output=output,
                    ok=each.get("status") == "success" and (status is None or status[1] == "0"),
                )
            )
