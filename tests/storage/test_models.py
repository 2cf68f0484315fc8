"""Models behind a server in its three ways of speaking, and behind the user's own agent: what is asked, what counts, what goes wrong."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from byheart.agents.agent import headless
from byheart.domain.learning import Headless, NoAnswer
from byheart.storage.models import AgentModel, EndpointModel

SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
SAID = '{"ok": true}'
# Each way of speaking: its path, and an answer as such a server gives it.
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", {"choices": [{"message": {"content": SAID}}], "usage": {"prompt_tokens": 70, "completion_tokens": 5}}),
    "responses": ("/v1/responses", {"output": [{"type": "reasoning", "summary": []}, {"type": "message", "content": [{"type": "output_text", "text": SAID}]}], "usage": {"input_tokens": 70, "output_tokens": 5}}),
    "anthropic": ("/v1/messages", {"content": [{"type": "tool_use", "name": "answer", "input": {"ok": True}}], "usage": {"input_tokens": 70, "output_tokens": 5}}),
}  # fmt: skip
Reply = tuple[int, dict[str, str], bytes]


class Server:
    """A server on loopback that gives its replies one after the other, the last one for ever."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.asked: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.address = ""

    def says(self, *replies: Reply) -> None:
        self.replies = list(replies)


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.asked.append((self.path, body, {name.lower(): value for name, value in self.headers.items()}))
            status, headers, content = found.replies.pop(0) if len(found.replies) > 1 else found.replies[0]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.address = f"http://127.0.0.1:{served.server_port}/v1"
    Thread(target=served.serve_forever, daemon=True).start()
    yield found
    served.shutdown()
    served.server_close()


def ok(api: str) -> Reply:
    return 200, {}, json.dumps(WAYS[api][1]).encode()


def model_at(server: Server, api: str = "chat", **more: Any) -> tuple[EndpointModel, list[float]]:
    waits: list[float] = []
    return EndpointModel(server.address, "m", "k-123", 5, api=api, sleep=waits.append, **more), waits


@pytest.mark.parametrize("api", WAYS)
def test_each_way_of_speaking_is_asked_and_understood(server: Server, api: str) -> None:
    server.says(ok(api))
    model, _ = model_at(server, api)
    assert json.loads(model.answer("be brief", "what?", SCHEMA)) == {"ok": True}
    path, body, headers = server.asked[0]
    assert path == WAYS[api][0] and body["model"] == "m"
    told = json.dumps(body)
    assert "be brief" in told and "what?" in told and '"required": ["ok"]' in told
    assert headers.get("x-api-key" if api == "anthropic" else "authorization", "").endswith("k-123")
    assert (model.spent.requests, model.spent.input_tokens, model.spent.output_tokens) == (1, 70, 5)


@pytest.mark.parametrize("api", WAYS)
@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_a_busy_server_is_asked_again_after_it_says_or_a_growing_while(server: Server, api: str, status: int) -> None:
    server.says((status, {"Retry-After": "7"}, b"{}"), (status, {}, b"{}"), ok(api))
    model, waits = model_at(server, api)
    assert json.loads(model.answer("", "what?")) == {"ok": True}
    assert waits[0] == 7 and 1 <= waits[1] <= 3


@pytest.mark.parametrize("status", [429, 500])
def test_a_server_that_stays_busy_is_given_up_on(server: Server, status: int) -> None:
    server.says((status, {}, b"{}"))
    model, waits = model_at(server, retries=2)
    with pytest.raises(NoAnswer, match=str(status)) as found:
        model.answer("", "what?")
    assert len(server.asked) == 3 and len(waits) == 2 and not found.value.for_this_alone


def test_a_server_that_wants_an_hour_is_not_waited_for(server: Server) -> None:
    server.says((429, {"Retry-After": "3600"}, b"{}"))
    model, waits = model_at(server)
    with pytest.raises(NoAnswer):
        model.answer("", "what?")
    assert waits == [] and len(server.asked) == 1


def test_a_server_that_knows_no_schema_is_asked_without_from_then_on(server: Server) -> None:
    server.says((400, {}, b"{}"), ok("chat"))
    model, _ = model_at(server)
    model.answer("", "what?", SCHEMA)
    model.answer("", "what else?", SCHEMA)
    assert ["response_format" in body for _, body, _ in server.asked] == [True, False, False]


@pytest.mark.parametrize("api", WAYS)
@pytest.mark.parametrize(
    "reply",
    [
        (200, {}, b"this is no JSON"),
        (200, {}, b"[]"),
        (200, {}, b'{"choices": [], "output": 5, "content": "x"}'),
        (200, {"Content-Length": "500"}, b'{"choices": ['),
        (200, {}, b"x" * 10_000_000),
        (401, {}, b"{}"),
        (404, {}, b"<html>"),
        (302, {"Location": "http://127.0.0.1:1/elsewhere"}, b""),
    ],
    ids=["no-json", "a-list", "other-shape", "cut", "ten-megabytes", "no-key", "not-there", "redirect"],
)
def test_what_is_no_answer_is_said_so(server: Server, api: str, reply: Reply) -> None:
    server.says(reply)
    model, _ = model_at(server, api, retries=0)
    with pytest.raises(NoAnswer) as found:
        model.answer("", "what?")
    assert server.address in str(found.value) and "k-123" not in str(found.value)
    assert len(server.asked) == 1


def test_nobody_there_and_silence_are_said_so() -> None:
    with socket.socket() as quiet:
        quiet.bind(("127.0.0.1", 0))
        quiet.listen()
        address = f"http://127.0.0.1:{quiet.getsockname()[1]}"
        with pytest.raises(NoAnswer, match="did not answer"):
            EndpointModel(address, "m", None, 0.2).answer("", "what?")
    with pytest.raises(NoAnswer, match="did not answer"):
        EndpointModel(address, "m", None, 0.2).answer("", "what?")


# The user's own agent


def program(folder: Path, name: str, body: str) -> dict[str, str]:
    """A program on the path that notes how it was called, and answers."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{folder}/argv"\ncat > "{folder}/stdin"\necho "$BYHEART_CHILD" > "{folder}/marker"\npwd > "{folder}/cwd"\n{body}\n')  # fmt: skip
    path.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder)}


def agent(tmp_path: Path, name: str, body: str, answers: Callable[[Headless], Headless] = lambda each: each) -> str:
    known = answers(headless()[name])
    environment = program(tmp_path / "bin", known.command[0], body)
    model = AgentModel(known, "small", str(tmp_path / "asked"), environment, 20)
    told = model.answer("be brief", "what?")
    assert model.spent.requests == 1 and model.spent.input_tokens > 0
    return told


def test_claude_code_is_asked_without_tools_settings_or_a_session(tmp_path: Path) -> None:
    reply = json.dumps({"result": SAID, "is_error": False, "usage": {"input_tokens": 9, "output_tokens": 2}, "total_cost_usd": 0.01})  # fmt: skip
    assert agent(tmp_path, "claude-code", f"echo '{reply}'") == SAID
    words = (tmp_path / "bin" / "argv").read_text().split("\n")
    assert words[0] == "-p" and "--no-session-persistence" in words and "--strict-mcp-config" in words
    assert words[words.index("--tools") + 1] == "" and words[words.index("--setting-sources") + 1] == ""
    assert words[words.index("--model") + 1] == "small"
    assert (tmp_path / "bin" / "stdin").read_text() == "be brief\n\nwhat?"
    assert (tmp_path / "bin" / "marker").read_text() == "1\n", "its hooks know by this who asks"
    assert (tmp_path / "bin" / "cwd").read_text().startswith(str(tmp_path / "asked"))
    assert list((tmp_path / "asked").iterdir()) == [], "nothing is left behind"


def test_codex_is_asked_without_a_session_file_in_a_sandbox_that_only_reads(tmp_path: Path) -> None:
    body = f"while [ $# -gt 1 ]; do [ \"$1\" = -o ] && out=$2; shift; done\nprintf '%s' '{SAID}' > \"$out\"\necho noise"
    assert agent(tmp_path, "codex", body) == SAID
    words = (tmp_path / "bin" / "argv").read_text().split("\n")
    assert words[:2] == ["exec", "--ephemeral"] and words[words.index("--sandbox") + 1] == "read-only"
    assert [word for word in words if word][-1] == "-"


def test_gemini_and_opencode_are_asked(tmp_path: Path) -> None:
    assert agent(tmp_path, "gemini-cli", f"echo '{json.dumps({'response': SAID})}'") == SAID
    assert agent(tmp_path, "opencode", f"echo '{SAID}'").strip() == SAID


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("exit 3", "ended with 3"),
        ("echo no json", "did not answer as it was asked"),
        ('echo \'{"is_error": true, "result": "no login"}\'', "no login"),
    ],
)
def test_an_agent_that_fails_is_said_so(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(NoAnswer, match=said):
        agent(tmp_path, "claude-code", body)


def test_an_agent_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    environment = program(tmp_path / "bin", "claude", "sleep 600")
    model = AgentModel(headless()["claude-code"], "", str(tmp_path / "asked"), environment, 0.3)
    with pytest.raises(NoAnswer, match=r"within 0\.3 seconds"):
        model.answer("", "what?")


def test_server_that_drips_is_waited_for_no_longer_than_was_set() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    is_over = Event()

    def drip() -> None:
        connection, _ = server.accept()
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        try:
            while not is_over.wait(0.05):
                connection.sendall(b"x")
        except OSError:
            is_over.set()
        connection.close()

    thread = Thread(target=drip, daemon=True)
    thread.start()
    model = EndpointModel(f"http://127.0.0.1:{server.getsockname()[1]}", "m", None, 0.5, retries=0)
    with pytest.raises(NoAnswer, match=r"timed out after 0\.5 seconds"):
        model.answer("", "Are you there?")
    # The server notices that nobody listens any more.
    assert is_over.wait(20)
    server.close()


def test_codex_is_asked_without_the_servers_and_hooks_of_its_settings(tmp_path: Path) -> None:
    folder = tmp_path / ".codex"
    folder.mkdir()
    codex = headless()["codex"]
    assert codex.more({"HOME": str(tmp_path)}) == ()
    (folder / "config.toml").write_text('[mcp_servers.mine]\ncommand = "x"\n\n[mcp_servers."a b"]\ncommand = "y"\n')
    assert codex.more({"HOME": str(tmp_path)}) == ("-c", "mcp_servers.mine.enabled=false")
    (folder / "config.toml").write_text("broken [")
    assert codex.more({"CODEX_HOME": str(folder)}) == ()
    assert ("--disable", "hooks") in tuple(pairwise(codex.command))
