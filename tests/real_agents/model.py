"""A model that is a script: it speaks four wire protocols, remembers what it was sent, calls one tool if it is offered, and says goodbye."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Lock, Thread
from typing import Any

SENTENCE = "never feed the llama after midnight because it spits"
GOODBYE = "All done, goodbye."


class Script:
    """What the model was sent, and what it says next."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.paths: list[str] = []
        self.called: list[str] = []
        # Command lines that it runs, one after the other, before anything else.
        self.lines: list[str] = []
        self.address = ""
        self._lock = Lock()

    def forget(self) -> None:
        """Begin anew."""
        self.bodies, self.paths, self.called = [], [], []

    def next(self, path: str, body: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """The tool to call and with what; None for a word of goodbye."""
        with self._lock:
            self.paths.append(path)
            self.bodies.append(json.dumps(body, ensure_ascii=False))
            tools = list(_tools(body))
            shell = next((name for name in tools if name.rpartition("::")[2].casefold() in _SHELLS), None)
            if shell and self.lines:
                return shell, _typed(shell.rpartition("::")[2], self.lines.pop(0))
            direct = next((name for name in tools if name.endswith("remember_this")), None)
            if direct and "remember" not in self.called:
                self.called.append("remember")
                return direct, {"text": SENTENCE, "user_asked": True}
            given = {"text": SENTENCE, "user_asked": True}
            if (
                "remember" not in self.called
                and "xd://mcp__byheart_remember_this" in self.bodies[-1]
                and "write" in tools
            ):
                # oh-my-pi has tools as files that arguments are written to.
                self.called.append("remember")
                return "write", {"path": "xd://mcp__byheart_remember_this", "content": json.dumps(given)}
            if "search" in self.called and "remember" not in self.called and "tool_call" in tools:
                # Qwen Code calls what it found by its name.
                self.called.append("remember")
                return "tool_call", {"name": "mcp__byheart__remember_this", "arguments": given}
            search = next((name for name in tools if name.casefold() in ("tool_search", "toolsearch")), None)
            if search and not direct and "search" not in self.called:
                self.called.append("search")
                return search, {"query": "remember_this"}
            return None


_SHELLS = ("bash", "shell", "shell_command", "exec_command", "run_shell_command", "local_shell")


def _typed(tool: str, line: str) -> dict[str, Any]:
    """What a shell tool is called with to run a line."""
    if tool == "exec_command":
        return {"cmd": line}
    if tool == "shell":
        return {"command": ["bash", "-lc", line]}
    return {"command": line, "description": "Run it"}


_NUMBERS = count(1)


def _tools(body: dict[str, Any]) -> Iterator[str]:
    """The names of the tools that a request offers, whichever way it spells them."""
    spaces = [body.get("tools") or []]
    for item in body.get("input") or []:
        if isinstance(item, dict) and item.get("type") in ("additional_tools", "tool_search_output"):
            spaces.append(item.get("tools") or [])
    for tools in spaces:
        for tool in tools:
            if not isinstance(tool, dict):
                continue
            for each in tool.get("functionDeclarations") or []:
                yield str(each.get("name"))
            if tool.get("type") == "namespace":
                yield from (f"{tool.get('name')}::{each.get('name')}" for each in tool.get("tools") or [])
            name = tool.get("name") or (tool.get("function") or {}).get("name")
            if name:
                yield str(name)
            elif tool.get("type") == "tool_search":
                yield "tool_search"


def _events(*events: tuple[str | None, object]) -> bytes:
    parts = []
    for name, data in events:
        text = data if isinstance(data, str) else json.dumps(data)
        parts.append((f"event: {name}\n" if name else "") + f"data: {text}\n\n")
    return "".join(parts).encode()


def _anthropic(call: tuple[str, dict[str, Any]] | None) -> bytes:
    usage = {"input_tokens": 5, "output_tokens": 5}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    if call:
        block: dict[str, Any] = {
            "type": "tool_use",
            "id": f"toolu_{next(_NUMBERS):08}",
            "name": call[0],
            "input": {},
        }
        delta: dict[str, Any] = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": GOODBYE}
    return _events(
        ("message_start", {"type": "message_start", "message": message}),
        ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}),
        ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}),
        ("content_block_stop", {"type": "content_block_stop", "index": 0}),
        ("message_delta", {"type": "message_delta", "delta": {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 5}}),
        ("message_stop", {"type": "message_stop"}),
    )  # fmt: skip


def _responses(call: tuple[str, dict[str, Any]] | None) -> bytes:
    if call and call[0] == "tool_search":
        item: dict[str, Any] = {
            "type": "tool_search_call",
            "id": "ts_1",
            "call_id": "call_s",
            "status": "completed",
            "execution": "client",
            "arguments": call[1],
        }
    elif call:
        space, _, name = call[0].rpartition("::")
        item = {
            "type": "function_call",
            "id": f"fc_{(number := next(_NUMBERS))}",
            "call_id": f"call_{number}",
            "name": name or call[0],
            "arguments": json.dumps(call[1]),
            "status": "completed",
        }
        if space:
            item["namespace"] = space
    else:
        item = {
            "type": "message",
            "id": "m_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": GOODBYE, "annotations": []}],
        }
    usage = {
        "input_tokens": 5,
        "output_tokens": 5,
        "total_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return _events(
        ("response.created", {"type": "response.created", "response": {"id": "r_1", "status": "in_progress"}}),
        ("response.output_item.added", {"type": "response.output_item.added", "output_index": 0, "item": item}),
        ("response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": item}),
        ("response.completed", {"type": "response.completed", "response": {"id": "r_1", "status": "completed", "output": [item], "usage": usage}}),
    )  # fmt: skip


def _chat(call: tuple[str, dict[str, Any]] | None, *, stream: bool) -> bytes:
    delta: dict[str, Any] = {"role": "assistant"}
    if call:
        delta["tool_calls"] = [
            {
                "index": 0,
                "id": f"call_{next(_NUMBERS)}",
                "type": "function",
                "function": {"name": call[0], "arguments": json.dumps(call[1])},
            }
        ]
    else:
        delta["content"] = GOODBYE
    reason = "tool_calls" if call else "stop"
    usage = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake-model"}
    if not stream:
        message = {**delta, "content": delta.get("content")}
        return json.dumps(
            {
                **head,
                "object": "chat.completion",
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": usage,
            }
        ).encode()
    return _events(
        (None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
        (None, {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}),
        (None, "[DONE]"),
    )  # fmt: skip


def _gemini(call: tuple[str, dict[str, Any]] | None, *, stream: bool) -> bytes:
    part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": GOODBYE}
    body = {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 5, "totalTokenCount": 10},
        "modelVersion": "gemini-2.5-pro",
    }
    return _events((None, body)) if stream else json.dumps(body).encode()


@contextmanager
def scripted() -> Iterator[Script]:
    """A model on loopback."""
    script = Script()

    class Exchange(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length) if length else self._chunked()
            try:
                body = json.loads(raw or b"{}")
            except ValueError:
                body = {}
            path = self.path.partition("?")[0]
            stream = bool(body.get("stream")) or "stream" in path or "alt=sse" in self.path
            if path.endswith(("/count_tokens", ":countTokens")):
                self._send(json.dumps({"input_tokens": 5, "totalTokens": 5}).encode(), stream=False)
            elif path.endswith("/messages"):
                self._send(_anthropic(script.next(path, body)), stream=True)
            elif path.endswith("/responses"):
                self._send(_responses(script.next(path, body)), stream=True)
            elif path.endswith("/chat/completions"):
                self._send(_chat(script.next(path, body), stream=stream), stream=stream)
            elif "generateContent" in path.replace("streamG", "g"):
                self._send(_gemini(script.next(path, body), stream=stream), stream=stream)
            else:
                self._send(b"{}", stream=False)

        def _chunked(self) -> bytes:
            found = b""
            while "chunked" in self.headers.get("Transfer-Encoding", ""):
                size = int(self.rfile.readline().strip() or b"0", 16)
                found += self.rfile.read(size)
                self.rfile.readline()
                if not size:
                    break
            return found

        def do_GET(self) -> None:
            models = {"data": [{"id": "fake-model", "object": "model"}], "object": "list", "models": []}
            self._send(json.dumps(models).encode(), stream=False)

        def _send(self, content: bytes, *, stream: bool) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream" if stream else "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Exchange)
    server.daemon_threads = True
    script.address = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
