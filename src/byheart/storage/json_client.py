"""JSON over HTTP, asked of a server that the user named. No redirect is followed: the key and the texts are for that server alone."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


_PART = 65_536


class BadStatus(Exception):
    """The server answered with a status that is no answer."""

    def __init__(self, code: int, reason: str, wait: float | None = None) -> None:
        self.code = code
        # How long the server wants to be left alone, in seconds, where it says so.
        self.wait = wait
        super().__init__(f"{code} {reason}")


class TooLarge(ValueError):
    """The answer is larger than was allowed."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


class _Deadline:
    """Ends the wait for one request's answer when its time is over, however slowly the server drips."""

    def __init__(self, seconds: float) -> None:
        self._connections: list[http.client.HTTPConnection] = []
        self.is_over = False
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def openers(self) -> list[urllib.request.BaseHandler]:
        """What opens connections that this ends."""
        return [_Watched(self), _WatchedTls(self)]

    def watch(self, connection: http.client.HTTPConnection) -> http.client.HTTPConnection:
        """The connection, to be ended in time."""
        self._connections.append(connection)
        return connection

    def _end(self) -> None:
        self.is_over = True
        for each in self._connections:
            if each.sock is not None:
                try:
                    each.sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue


class _Watched(urllib.request.HTTPHandler):
    def __init__(self, deadline: _Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(lambda host, **more: self._deadline.watch(http.client.HTTPConnection(host, **more)), req)


class _WatchedTls(urllib.request.HTTPSHandler):
    def __init__(self, deadline: _Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def https_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(lambda host, **more: self._deadline.watch(http.client.HTTPSConnection(host, **more)), req)


def post(url: str, body: object, headers: Mapping[str, str], *, seconds: float, largest: int) -> Any:
    """The answer as JSON, within so many seconds from first to last. Raises BadStatus for a status of the server's, OSError where there is
    no answer, TooLarge beyond `largest` bytes, and ValueError for what is no JSON or no address of the web."""
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} must begin with http:// or https://")
    told = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(url, json.dumps(body).encode(), told)  # noqa: S310 - checked above
    with _Deadline(seconds) as deadline:
        try:
            content = _asked(request, deadline, seconds, largest)
        except (OSError, http.client.HTTPException) as error:
            if deadline.is_over:
                raise TimeoutError(f"timed out after {seconds:g} seconds") from None
            raise error if isinstance(error, OSError) else OSError(str(error)) from None
    if deadline.is_over:
        raise TimeoutError(f"timed out after {seconds:g} seconds")
    if len(content) > largest:
        raise TooLarge(f"answered with more than {largest:,} bytes")
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _asked(request: urllib.request.Request, deadline: _Deadline, seconds: float, largest: int) -> bytes:
    content = bytearray()
    try:
        with urllib.request.build_opener(_NoRedirect, *deadline.openers()).open(request, timeout=seconds) as answer:
            # The connection is out of reach once its head has been read, so the time is looked at between parts.
            while len(content) <= largest and not deadline.is_over and (part := answer.read1(_PART)):
                content += part
    except urllib.error.HTTPError as error:
        with error:
            raise BadStatus(error.code, str(error.reason), _wait_of(error.headers.get("Retry-After"))) from None
    return bytes(content)


def _wait_of(text: str | None) -> float | None:
    """Seconds that a server asks for; a date is none that is waited for."""
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None
