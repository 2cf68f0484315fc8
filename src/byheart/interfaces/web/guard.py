"""Who is let in: loopback names, our own origin, with the token or the session; bounded bodies, rates and waits; headers on every answer."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import re
import secrets
import sys
import time
import uuid
from collections import OrderedDict
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Application = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_BODY = 4_000_000
_BODY_SECONDS = 15.0
# Requests a second that one caller may make for long, and how many at once.
_RATE, _BURST, _CALLERS = 100.0, 400.0, 1_000
_MOST_SESSIONS = 50
_SAFE = ("GET", "HEAD", "OPTIONS")
_HOST = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})", re.IGNORECASE)
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
# What is answered without a token: that a server is there, and nothing of anybody's memory.
_OPEN = ("/health", "/login", "/static/app.css", "/static/app.js")


class Keys:
    """The tokens and sessions of one server: a login token that works once, a token for programs, one that may not change settings."""

    def __init__(self, port: int) -> None:
        # Browsers do not tell ports apart, so that two servers would log each other out.
        self.cookie = f"byheart-{port}"
        self.login = secrets.token_urlsafe(24)
        self.admin = secrets.token_urlsafe(32)
        self.local = secrets.token_urlsafe(32)
        self._sessions: OrderedDict[str, None] = OrderedDict()

    def begin(self, token: str) -> str:
        """A new session for whoever has the login token, which works no more; empty for anybody else."""
        if not self.login or not hmac.compare_digest(token.encode(), self.login.encode()):
            return ""
        self.login = ""
        name = secrets.token_urlsafe(32)
        self._sessions[name] = None
        while len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return name

    def renew(self) -> str:
        """Another login token."""
        self.login = secrets.token_urlsafe(24)
        return self.login

    def role_of(self, bearer: str, cookie: str) -> str:
        """Who this is: admin, local, or nobody."""
        known = [
            name for name in self._sessions if hmac.compare_digest(name.encode(), cookie.encode("utf-8", "replace"))
        ]
        if known:
            return "admin"
        for role, token in (("admin", self.admin), ("local", self.local)):
            if hmac.compare_digest(bearer.encode("utf-8", "replace"), token.encode()):
                return role
        return ""


class Guard:
    """Lets through what may come in, with `role` in its scope, and answers the rest."""

    def __init__(self, inner: Application, keys: Keys, port: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:  # fmt: skip
        self._inner, self._keys, self._port, self._clock = inner, keys, port, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        headers = _headers(scope)
        status, why = self._refusal(scope, headers)
        if status:
            await _answer(send, status, why, is_page=_wants_page(scope, headers), is_rpc=scope["path"] == "/rpc")
            return
        scope["role"] = self._role(headers)
        heard, has_begun = _Bounded(receive), False

        async def sent(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._inner(scope, heard, _with_headers(sent))
        except _TooSlow:
            await _answer(send, 408, "the request took too long to arrive", is_rpc=scope["path"] == "/rpc")
        except _TooLarge:
            await _answer(send, 413, f"a request has at most {LARGEST_BODY:,} bytes", is_rpc=scope["path"] == "/rpc")
        except Exception as error:
            # What went wrong may quote somebody's words.
            if os.environ.get("BYHEART_DEBUG") == "1":
                raise
            sys.stderr.write(f"byheart: internal error ({type(error).__name__})\n")
            if not has_begun:
                why = f"internal error ({type(error).__name__}); nothing was lost"
                await _answer(send, 500, why, is_page=_wants_page(scope, headers))

    def _refusal(self, scope: Scope, headers: dict[str, list[str]]) -> tuple[int, str]:
        method, path = scope["method"], scope["path"]
        hosts = headers.get("host", [])
        found = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if found is None or int(found[1]) != self._port():
            return 421, "this server answers to loopback names alone"
        origin = headers.get("origin", [])
        if origin and origin != [f"http://{hosts[0]}"]:
            return 403, "pages of other origins are not answered"
        site = headers.get("sec-fetch-site", ["none"])[0]
        # A link from elsewhere may open the login page; nothing else comes from another site.
        if site not in ("none", "same-origin") and path != "/login":
            return 403, "requests from other sites are not answered"
        if not self._has_room(self._caller(scope, headers)):
            return 429, "too many requests; wait a moment"
        length = headers.get("content-length", ["0"])[0]
        if not re.fullmatch(r"\d{1,12}", length):
            return 400, "Content-Length must be a number"
        if int(length) > LARGEST_BODY:
            return 413, f"a request has at most {LARGEST_BODY:,} bytes"
        if path in _OPEN:
            return 0, ""
        if not self._role(headers):
            return 401, "the token is missing or wrong; byheart open shows the page, byheart serve prints a token"
        is_cookie = not headers.get("authorization")
        if method not in _SAFE and is_cookie and not (origin or site == "same-origin"):
            return 403, "a write from a browser must come from this page"
        return 0, ""

    def _role(self, headers: dict[str, list[str]]) -> str:
        bearer = headers.get("authorization", [""])[0]
        cookies = "; ".join(headers.get("cookie", []))
        own = f"{self._keys.cookie}="
        cookie = next((part.strip()[len(own) :] for part in cookies.split(";") if part.strip().startswith(own)), "")
        return self._keys.role_of(bearer.removeprefix("Bearer ") if bearer.startswith("Bearer ") else "", cookie)

    def _caller(self, scope: Scope, headers: dict[str, list[str]]) -> str:
        return headers.get("authorization", headers.get("cookie", [""]))[0][-40:] or str(
            (scope.get("client") or ("",))[0]
        )

    def _has_room(self, caller: str) -> bool:
        now = self._clock()
        left, last = self._buckets.pop(caller, (_BURST, now))
        left = min(_BURST, left + (now - last) * _RATE)
        self._buckets[caller] = (max(0.0, left - 1), now)
        while len(self._buckets) > _CALLERS:
            self._buckets.popitem(last=False)
        return left >= 1


class _TooSlow(Exception):
    """A body that does not arrive."""


class _TooLarge(Exception):
    """A body without an end."""


class _Bounded:
    """What a client sends, as far as it comes in time and within bounds."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._size, self._is_done = receive, 0, False
        # For all of a body, however it drips.
        self._until = time.monotonic() + _BODY_SECONDS

    async def __call__(self) -> Message:
        if self._is_done:
            # Whoever waits now waits for the client to go away, for as long as it stays.
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, self._until - time.monotonic()))
        except TimeoutError:
            raise _TooSlow from None
        self._size += len(message.get("body", b""))
        if self._size > LARGEST_BODY:
            raise _TooLarge
        self._is_done = message["type"] != "http.request" or not message.get("more_body", False)
        return message


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def token_in(scope: Scope) -> str:
    """The login token that an address carries."""
    given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])
    return str(given[0])


def _wants_page(scope: Scope, headers: dict[str, list[str]]) -> bool:
    return (
        scope["method"] == "GET"
        and "text/html" in headers.get("accept", [""])[0]
        and not scope["path"].startswith("/api/")
    )


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            known = {name.lower() for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in known]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sent


_ERRORS = {400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 408: "Timeout", 413: "TooLarge", 421: "Misdirected", 429: "TooManyRequests", 500: "Internal"}  # fmt: skip


async def _answer(send: Send, status: int, why: str, *, is_page: bool = False, is_rpc: bool = False) -> None:
    """An answer without the application, in the form of the journal's protocol where that was spoken."""
    name = _ERRORS.get(status, "Error")
    if is_rpc:
        code = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
        body = json.dumps({"auditId": str(uuid.uuid4()), "ok": False, "error": {"code": code, "message": why}}).encode()
    elif is_page:
        body = f"<!doctype html><html lang=en><meta charset=utf-8><title>byheart</title><link rel=stylesheet href=/static/app.css><main class=alone><h1>{status}</h1><p>{why}.</p></main></html>".encode()
    else:
        body = json.dumps({"error": name, "message": why}).encode()
    headers = [(b"content-type", b"text/html; charset=utf-8" if is_page else b"application/json"), (b"content-length", str(len(body)).encode())]  # fmt: skip
    headers += [(b"connection", b"close")] if status in (408, 413) else []
    headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
    sent = _with_headers(send)
    await sent({"type": "http.response.start", "status": status, "headers": headers})
    await sent({"type": "http.response.body", "body": body})
