"""The server: put together, started on loopback, and told of."""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from byheart import __version__
from byheart.interfaces.mcp import protocol
from byheart.interfaces.web import api, pages, rpc
from byheart.interfaces.web.doors import Doors, Problem
from byheart.interfaces.web.guard import Guard, Keys, token_in
from byheart.storage.cards import put_bytes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request

_HERE = os.path.dirname(__file__)
_KINDS = {"app.css": "text/css", "app.js": "text/javascript"}
_AT_ONCE = 512


def application(doors: Doors, keys: Keys, port: Callable[[], int]) -> Guard:
    """Everything that is served, behind the guard."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        app.state.is_closing = True
        doors.close()

    routes = [
        Route("/health", _health),
        Route("/status", _status),
        Route("/login", _login),
        Route("/rpc", rpc.rpc, methods=["POST"]),
        Route("/mcp", _mcp, methods=["POST"]),
        Route("/static/{name}", _static),
        *api.routes(),
        *pages.routes(),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={404: _missing, 405: _missing, Problem: _problem},  # type: ignore[dict-item]
    )
    app.state.doors, app.state.keys, app.state.is_closing = doors, keys, False
    return Guard(app, keys, port)


async def _health(_: Request) -> Response:
    return JSONResponse({"ok": True, "name": "byheart", "version": __version__})


async def _status(request: Request) -> Response:
    doors: Doors = request.app.state.doors
    told = await doors.ask(lambda gateway: gateway.projects())
    return JSONResponse({"ok": True, "name": "byheart", "version": __version__, "pid": os.getpid(), "projects": told})


async def _login(request: Request) -> Response:
    keys: Keys = request.app.state.keys
    name = keys.begin(token_in(request.scope))
    if not name:
        return PlainTextResponse("This link was used already or is wrong. Run `byheart open` for a new one.", 401)
    # A redirect would still count as coming from wherever the link was clicked, and be refused; a page of our own goes on as ours.
    done = HTMLResponse(
        '<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv="refresh" content="0;url=/"><title>byheart</title><p><a href="/">Go on</a></p></html>'
    )
    done.set_cookie(keys.cookie, name, httponly=True, samesite="strict", path="/")
    return done


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _KINDS:
        return JSONResponse({"error": "NotFound", "message": "there is no such file"}, 404)
    with open(os.path.join(_HERE, "static", name), encoding="utf-8") as stream:
        return Response(stream.read(), media_type=_KINDS[name], headers={"cache-control": "private, max-age=300"})


async def _mcp(request: Request) -> Response:
    doors: Doors = request.app.state.doors
    try:
        message: Any = json.loads(await request.body())
    except (ValueError, RecursionError):
        return JSONResponse(protocol.error(None, protocol.PARSE_ERROR, "not valid JSON"), 400)
    if not isinstance(message, dict):
        return JSONResponse(protocol.error(None, protocol.INVALID_REQUEST, "one message at a time"), 400)
    found = await doors.mcp(message)
    return Response(status_code=202) if found is None else JSONResponse(found)


async def _missing(request: Request, error: Any) -> Response:
    status = int(error.status_code)
    if status == 404 and "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/"):
        return pages.missing(request)
    told = {404: "there is no such address", 405: "not with this method"}[status]
    headers = getattr(error, "headers", None) or {}
    return JSONResponse({"error": "NotFound" if status == 404 else "NotAllowed", "message": told}, status, headers=headers)  # fmt: skip


async def _problem(_: Request, error: Problem) -> Response:
    return api.failed(error)


class Listening:
    """A server that listens: its address, the link that opens the page, and its keys."""

    def __init__(self, folder: str, host: str = "127.0.0.1", port: int = 0, environment: dict[str, str] | None = None) -> None:  # fmt: skip
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((host, port))
        self.socket.listen(_AT_ONCE)
        self.port: int = self.socket.getsockname()[1]
        self.keys = Keys(self.port)
        self.doors = Doors(folder, environment)
        self.address = f"http://127.0.0.1:{self.port}"
        config = uvicorn.Config(
            application(self.doors, self.keys, lambda: self.port),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=2,
            limit_concurrency=_AT_ONCE,
            h11_max_incomplete_event_size=65_536,
        )
        self.server = uvicorn.Server(config)

    @property
    def link(self) -> str:
        """The link that opens the page, once."""
        return f"{self.address}/login?token={self.keys.login}"

    def note(self, home: str) -> str:
        """Write where the server is, and the tokens that programs need, for the user alone; the file's path."""
        path = os.path.join(home, "state", "gateway.json")
        told = {"address": self.address, "pid": os.getpid(), "token": self.keys.admin, "local_token": self.keys.local}
        put_bytes(path, json.dumps(told).encode())
        return path

    def run(self) -> None:
        """Serve until somebody ends it."""
        with suppress(KeyboardInterrupt):
            self.server.run(sockets=[self.socket])
        sys.stderr.flush()
