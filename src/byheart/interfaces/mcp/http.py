"""MCP over HTTP, on loopback: each message is a POST, each answer JSON. A page in a browser, another host name and whoever has
not got the token are turned away."""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from byheart.interfaces.faults import guarded
from byheart.interfaces.mcp import protocol
from byheart.interfaces.mcp.tools import MemoryTools

if TYPE_CHECKING:
    from byheart.interfaces.mcp.protocol import Message

PATH = "/mcp"
_LARGEST, _MOST_SESSIONS, _SECONDS = 8_000_000, 200, 30
_ORIGIN = re.compile(r"https?://(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?")
_HOST = re.compile(
    r"(?:127\.0\.0\.1|localhost|\[::1\]|::1)(?::(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?",
    re.IGNORECASE,
)


class Server(ThreadingHTTPServer):
    """A server for one folder. What needs memory is done by one thread, which keeps it open: databases belong to a thread."""

    daemon_threads = True
    # As many may knock at once without being turned away.
    request_queue_size = 128

    def __init__(self, host: str, port: int, folder: str, token: str) -> None:
        self.folder, self.token = folder, token
        self.sessions: OrderedDict[str, None] = OrderedDict()
        self.lock = threading.Lock()
        self._tools: MemoryTools | None = None
        self._worker = ThreadPoolExecutor(max_workers=1)
        super().__init__((host, port), Exchange)

    def answer(self, message: Message) -> Message | None:
        """What a message is answered with."""
        return self._worker.submit(lambda: protocol.answer(message, self._opened())).result()

    def _opened(self) -> MemoryTools:
        if self._tools is None:
            self._tools = MemoryTools(self.folder, dict(os.environ))
        return self._tools

    def server_close(self) -> None:
        """Stop listening, and let go of memory."""
        super().server_close()
        self._worker.shutdown(wait=False, cancel_futures=True)

    def begin(self) -> str:
        """A new session's id; the oldest goes where there are too many."""
        name = secrets.token_hex(16)
        with self.lock:
            self.sessions[name] = None
            while len(self.sessions) > _MOST_SESSIONS:
                self.sessions.popitem(last=False)
        return name

    def end(self, name: str) -> bool:
        """Forget a session; whether there was one."""
        with self.lock:
            return name in self.sessions and self.sessions.pop(name) is None

    def knows(self, name: str) -> bool:
        """Whether there is such a session."""
        with self.lock:
            return name in self.sessions


class Exchange(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    timeout = _SECONDS
    server_version, sys_version = "byheart", ""

    def do_POST(self) -> None:
        """A message."""
        if not self._is_welcome():
            return
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > _LARGEST:
            self._refuse(413, f"a message has a length, of at most {_LARGEST:,} bytes")
            return
        body = self.rfile.read(int(length))
        if "application/json" not in self.headers.get("Content-Type", ""):
            self._refuse(415, "a message is application/json")
            return
        try:
            message: Any = json.loads(body)
        except (ValueError, RecursionError):
            self._answer(400, protocol.error(None, protocol.PARSE_ERROR, "not valid JSON"))
            return
        if not isinstance(message, dict):
            self._answer(400, protocol.error(None, protocol.INVALID_REQUEST, "one message at a time"))
            return
        self._heard(message)

    def _heard(self, message: Message) -> None:
        session = self.headers.get("Mcp-Session-Id")
        if session is not None and not self.server.knows(session):
            self._refuse(404, "there is no such session; begin a new one")
            return
        found = guarded(
            lambda: self.server.answer(message),
            lambda text: protocol.error(message.get("id"), protocol.INTERNAL, text),
        )
        if found is None:
            self._end(202)
            return
        begun = self.server.begin() if message.get("method") == "initialize" and "result" in found else None
        missing = "error" in found and found["error"]["code"] == protocol.NO_METHOD
        self._answer(404 if missing and session is None else 200, found, begun)

    def do_GET(self) -> None:
        """There is nothing to listen for: no message comes unasked."""
        if self._is_welcome():
            self._refuse(405, "messages are sent with POST")

    def do_DELETE(self) -> None:
        """A session ends."""
        if self._is_welcome():
            self._end(200 if self.server.end(self.headers.get("Mcp-Session-Id", "")) else 404)

    def _is_welcome(self) -> bool:
        """Whether this comes from this machine, from no page of a browser, to us, with the token."""
        origin = self.headers.get("Origin")
        if self.path.partition("?")[0] != PATH:
            self._refuse(404, f"{PATH} is the only address here")
        elif [bool(_HOST.fullmatch(each)) for each in self.headers.get_all("Host", [])] != [True]:
            self._refuse(421, "this server answers to loopback names alone")
        elif origin and not _ORIGIN.fullmatch(origin):
            self._refuse(403, "pages of other origins are not answered")
        elif self.server.token and not hmac.compare_digest(
            self.headers.get("Authorization", "").encode("utf-8", "replace"), f"Bearer {self.server.token}".encode()
        ):
            self._refuse(401, "the token is missing or wrong")
        else:
            return True
        return False

    def _refuse(self, status: int, reason: str) -> None:
        self.close_connection = True
        self._answer(status, {"error": reason})

    def _answer(self, status: int, body: object, session: str | None = None) -> None:
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.end_headers()
        self.wfile.write(content)

    def _end(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Nothing is logged: what is asked may be private."""
