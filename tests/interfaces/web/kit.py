"""A gateway on loopback, and how tests speak to it."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import Any

from byheart.interfaces.web.server import Listening
from byheart.testing import Bench


@dataclass
class Answer:
    """A status, headers and a body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Caller:
    """A program that has the token."""

    def __init__(self, listening: Listening) -> None:
        self.listening = listening
        self.token = listening.keys.admin

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """One request; `headers` with _ for -; an empty value leaves a header out."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        told = {"Authorization": f"Bearer {self.token}", "Host": f"127.0.0.1:{self.listening.port}"}
        if content is not None:
            told["Content-Type"] = "application/json"
        told |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.listening.port, timeout=30)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in told.items():
            if value:
                connection.putheader(name, value)
        if content is not None and "Content-Length" not in told:
            connection.putheader("Content-Length", str(len(content)))
        connection.endheaders(content)
        found = connection.getresponse()
        answer = Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read())
        connection.close()
        return answer

    def api(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        """What the API answers where all is well."""
        answer = self.ask(method, f"/api/v1{path}", body, **headers)
        assert answer.status == 200, answer.body
        return answer.json

    def raw(self, content: bytes, seconds: float = 10) -> bytes:
        """What comes back for these bytes."""
        with socket.create_connection(("127.0.0.1", self.listening.port), timeout=seconds) as stream:
            stream.sendall(content)
            found = b""
            while part := stream.recv(65_536):
                found += part
            return found


@contextmanager
def gateway(bench: Bench) -> Iterator[Caller]:
    """A server of this bench's memory, for as long as it is needed."""
    listening = Listening(bench.project, environment=dict(bench.environment))
    thread = Thread(target=listening.run, daemon=True)
    thread.start()
    try:
        yield Caller(listening)
    finally:
        listening.server.should_exit = True
        thread.join(20)
        listening.socket.close()
