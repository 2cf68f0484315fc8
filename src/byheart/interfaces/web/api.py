"""The REST API: every route in one table, from which the description in OpenAPI is made."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from byheart import __version__
from byheart.domain.values import dataclass, field
from byheart.interfaces.web.doors import Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from byheart.app.gateway import Gateway
    from byheart.interfaces.web.doors import Doors

ROOT = "/api/v1"
_TEXT, _FLAG = {"type": "string", "pattern": "^[^\\u0000]*$", "maxLength": 2_000}, {"type": "boolean"}
# What is remembered says something; a document may be empty.
_SAID = {"type": "string", "pattern": "\\S", "minLength": 1}
_CONTENT = {"type": "string"}
_NUMBER = {"type": "integer", "minimum": 0, "maximum": 100_000}
_BELOW = re.compile(r"/(?:confirm|forget)$")
# How often it is looked whether memory changed, and how often a silent line is sent so that the client knows that it is there.
_LOOK, _BEAT = 1.0, 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that can be asked: how it is addressed, what it takes, and what it gives."""

    method: str
    path: str
    summary: str
    do: Callable[[Gateway, dict[str, Any]], Any]
    query: dict[str, dict[str, Any]] = field(default_factory=dict)
    body: dict[str, dict[str, Any]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    is_admin: bool = False


_PROJECT = {"project": {**_TEXT, "maxLength": 200, "description": "Another project, by its id."}}
OPERATIONS = (
    Operation(method="GET", path="/projects", summary="The projects that can be looked at.", do=lambda g, _: g.projects()),
    Operation(method="GET", path="/today", summary="What was learnt lately, what waits, what memory spared.", do=lambda g, _: g.today()),
    Operation(method="GET", path="/brief", summary="What the next session is told, or what an earlier one was told.", query={"session": _TEXT}, do=lambda g, a: g.brief(a.get("session") or None)),
    Operation(method="GET", path="/briefs", summary="The sessions that were told a brief.", do=lambda g, _: g.briefed()),
    Operation(method="GET", path="/records", summary="Records: all of them, or those that fit a query.", query={"query": _TEXT, "book": {**_TEXT, "enum": ["", "profile", "rules", "journal", "root"]}, "start": _NUMBER, "most": {**_NUMBER, "maximum": 500}}, do=lambda g, a: g.records(a.get("query", ""), a.get("book", ""), a.get("start", 0), a.get("most", 50))),
    Operation(method="POST", path="/records", summary="Remember something.", body={"text": _SAID, "everywhere": _FLAG}, required=("text",), do=lambda g, a: g.remember(a["text"], a.get("everywhere", False))),
    Operation(method="GET", path="/records/{id:path}/forget", summary="What would be forgotten.", do=lambda g, a: g.would_forget(a["id"])),
    Operation(method="POST", path="/records/{id:path}/confirm", summary="Say that a record is right.", do=lambda g, a: g.confirm(a["id"])),
    Operation(method="PATCH", path="/records/{id:path}", summary="Put a record into other words.", body={"text": _SAID, "was": {**_CONTENT, "description": "What it said when it was read; another line by now is a conflict."}}, required=("text",), do=lambda g, a: g.reword(a["id"], a["text"], a.get("was"))),
    Operation(method="DELETE", path="/records/{id:path}", summary="Forget a record for good: by its id, its address or its words.", do=lambda g, a: g.forget(a["id"])),
    Operation(method="GET", path="/experiences", summary="Experiences that fit a situation.", query={"query": _TEXT}, do=lambda g, a: g.experiences(a.get("query", ""))),
    Operation(method="GET", path="/documents", summary="The files of memory.", do=lambda g, _: g.documents()),
    Operation(method="GET", path="/documents/{name:path}", summary="One file, with its ETag.", do=lambda g, a: g.document(a["name"])),
    Operation(method="PUT", path="/documents/{name:path}", summary="Write a file that still is the one with this ETag.", body={"text": _CONTENT}, required=("text",), headers=("If-Match",), do=lambda g, a: g.write_document(a["name"], a["text"], a["If-Match"])),
    Operation(method="GET", path="/sessions", summary="Sessions, the newest first, or those that fit a query.", query={"query": _TEXT, "agent": _TEXT, "start": _NUMBER, "everywhere": _FLAG}, do=lambda g, a: g.sessions(a.get("query", ""), a.get("agent", ""), a.get("start", 0), a.get("everywhere", False))),
    Operation(method="GET", path="/sessions/{id}", summary="One session to read.", do=lambda g, a: g.session(a["id"])),
    Operation(method="GET", path="/skills", summary="This project's skills.", do=lambda g, _: g.skills()),
    Operation(method="GET", path="/inbox", summary="What waits for a yes.", do=lambda g, _: g.inbox()),
    Operation(method="POST", path="/inbox/{id}", summary="Accept an item, in other words where some are given, or reject it.", body={"how": {**_TEXT, "enum": ["accept", "reject"]}, "text": _TEXT}, required=("how",), do=lambda g, a: g.decide(a["id"], a["how"], a.get("text") or None)),
    Operation(method="GET", path="/log", summary="What changed, the newest first.", do=lambda g, _: g.log()),
    Operation(method="POST", path="/undo", summary="Undo the last change, or the one that is named.", body={"id": _TEXT}, do=lambda g, a: g.undo(a.get("id") or None)),
    Operation(method="GET", path="/findings", summary="What is wrong with memory.", do=lambda g, _: g.findings()),
    Operation(method="GET", path="/gain", summary="What memory would have spared, and did.", do=lambda g, _: g.gained()),
    Operation(method="GET", path="/jobs", summary="The work of learning.", do=lambda g, _: g.jobs()),
    Operation(method="GET", path="/health", summary="How installation, agents and files stand.", do=lambda g, _: g.health()),
    Operation(method="GET", path="/settings", summary="Every setting.", do=lambda g, _: g.settings()),
    Operation(method="PUT", path="/settings/{key}", summary="Set a setting; null takes it out of the user's file.", body={"value": {**_TEXT, "type": ["string", "null"]}}, required=("value",), is_admin=True, do=lambda g, a: g.set(a["key"], a["value"])),
    Operation(method="POST", path="/memory", summary="Turn this project's memory on or off.", body={"on": _FLAG}, required=("on",), is_admin=True, do=lambda g, a: g.switch(a["on"])),
)  # fmt: skip


def routes() -> list[Route]:
    """Every route of the API."""
    found: dict[str, dict[str, Operation]] = {}
    for each in OPERATIONS:
        found.setdefault(each.path, {})[each.method] = each
    made = [Route(f"{ROOT}{path}", _endpoint(by_method), methods=list(by_method)) for path, by_method in found.items()]
    return [Route(f"{ROOT}/openapi.json", _described), Route(f"{ROOT}/events", events), *made]


def _endpoint(by_method: dict[str, Operation]) -> Callable[[Request], Awaitable[Response]]:
    async def answered(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        operation = by_method[method]
        try:
            if _BELOW.search(str(request.path_params.get("id", ""))) and operation.path == "/records/{id:path}":
                # What stands behind an id is another address, with methods of its own.
                refusal = failed(Problem(405, "MethodNotAllowed", f"{request.method} is not for this address"))
                refusal.headers["Allow"] = "POST" if request.url.path.endswith("/confirm") else "GET"
                return refusal
            if operation.is_admin and request.scope["role"] != "admin":
                raise Problem(403, "Forbidden", "this token may not change settings")
            given = await _given(operation, request)
            doors: Doors = request.app.state.doors
            told = await doors.ask(lambda gateway: operation.do(gateway, given), given.pop("project", None))
        except Problem as problem:
            return failed(problem)
        headers = {"ETag": f'"{told["etag"]}"'} if isinstance(told, dict) and told.get("etag") else {}
        return JSONResponse(told, headers=headers)

    return answered


def failed(problem: Problem) -> Response:
    """A problem as it is answered."""
    return JSONResponse({"error": problem.name, "message": problem.message}, status_code=problem.status)


async def _given(operation: Operation, request: Request) -> dict[str, Any]:
    """What was given, checked against what the operation takes. Raises Problem."""
    given: dict[str, Any] = dict(request.path_params)
    for name, value in request.query_params.items():
        kind = {**operation.query, **_PROJECT}.get(name)
        if kind is None:
            raise Problem(400, "BadInput", f"{name!r} is not a parameter here; there are: {', '.join((*operation.query, 'project'))}")  # fmt: skip
        given[name] = _typed(name, value, kind)
    if operation.body:
        given |= await _body(operation, request)
    for name in operation.headers:
        value = request.headers.get(name, "")
        if not re.fullmatch(r'"[0-9a-f]{0,64}"', value):
            raise Problem(400, "BadInput", f"{name} must be the ETag that was given with the file")
        given[name] = value.strip('"')
    if any("\x00" in value for value in given.values() if isinstance(value, str)):
        raise Problem(403, "Unsafe", "a NUL character is in it")
    return given


async def _body(operation: Operation, request: Request) -> dict[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Problem(415, "BadInput", "the body must be application/json")
    try:
        told = json.loads(await request.body() or b"{}")
    except (ValueError, RecursionError):
        raise Problem(400, "BadInput", "the body is not JSON") from None
    if not isinstance(told, dict):
        raise Problem(400, "BadInput", "the body must be an object")
    for name in operation.required:
        if name not in told:
            raise Problem(400, "BadInput", f"{name} is missing")
    for name, value in told.items():
        kind = operation.body.get(name)
        if kind is None:
            raise Problem(400, "BadInput", f"{name[:80]!r} is unknown; there are: {', '.join(operation.body)}")
        _check(name, value, kind)
    return told


def _typed(name: str, value: str, kind: dict[str, Any]) -> Any:
    if kind["type"] == "boolean":
        if value not in ("true", "false"):
            raise Problem(400, "BadInput", f"{name} must be true or false")
        return value == "true"
    if kind["type"] == "integer":
        if not re.fullmatch(r"[0-9]{1,6}", value) or not kind["minimum"] <= int(value) <= kind["maximum"]:
            raise Problem(400, "BadInput", f"{name} must be a number from {kind['minimum']} to {kind['maximum']}")
        return int(value)
    _check(name, value, kind)
    return value


def _check(name: str, value: Any, kind: dict[str, Any]) -> None:
    kinds = kind["type"] if isinstance(kind["type"], list) else [kind["type"]]
    is_fine = any({"string": isinstance(value, str), "boolean": isinstance(value, bool), "null": value is None}.get(each, False) for each in kinds)  # fmt: skip
    if not is_fine:
        raise Problem(400, "BadInput", f"{name} must be a {' or '.join(kinds)}")
    if isinstance(value, str) and len(value) > kind.get("maxLength", len(value)):
        raise Problem(400, "BadInput", f"{name} is too long")
    if isinstance(value, str) and len(value) < kind.get("minLength", 0):
        raise Problem(400, "BadInput", f"{name} is empty")
    if "enum" in kind and value not in kind["enum"]:
        raise Problem(400, "BadInput", f"{name} must be one of: {', '.join(kind['enum'])}")
    if isinstance(value, str) and any(0xD800 <= ord(each) <= 0xDFFF for each in value):
        raise Problem(400, "BadInput", f"{name} holds half a character")


async def events(request: Request) -> Response:
    """Tells, for as long as somebody listens, that memory changed."""
    doors: Doors = request.app.state.doors
    project = request.query_params.get("project")

    async def told() -> AsyncIterator[str]:
        try:
            last = await doors.ask(lambda gateway: gateway.stamps(), project)
        except Problem:
            return
        yield "retry: 2000\n\n"
        silent = 0
        while not await request.is_disconnected() and not request.app.state.is_closing:
            await asyncio.sleep(_LOOK)
            try:
                now = await doors.ask(lambda gateway: gateway.stamps(), project)
            except Problem:
                continue
            silent += 1
            if now != last:
                last, silent = now, 0
                yield "event: changed\ndata: {}\n\n"
            elif silent >= _BEAT:
                silent = 0
                yield ": still here\n\n"

    return StreamingResponse(told(), media_type="text/event-stream")


async def _described(_: Request) -> Response:
    return JSONResponse(description())


_PROBLEM = {
    "type": "object",
    "properties": {"error": {"type": "string"}, "message": {"type": "string"}},
    "required": ["error", "message"],
}
_FAILURES = {"400": "The request is wrong.", "401": "The token is missing or wrong.", "403": "Refused, and why.", "404": "There is no such thing.", "405": "Not with this method.", "409": "It was changed in the meantime.", "413": "Too large.", "415": "The body must be JSON.", "429": "Too many requests.", "503": "Busy, or the machine is in the way."}  # fmt: skip


def description() -> dict[str, Any]:
    """The API in OpenAPI."""
    paths: dict[str, dict[str, Any]] = {}
    for each in OPERATIONS:
        names = re.findall(r"\{(\w+)(?::path)?\}", each.path)
        parameters: list[dict[str, Any]] = [{"name": name, "in": "path", "required": True, "schema": {**_SAID, "maxLength": 2_000}} for name in names]  # fmt: skip
        parameters += [
            {"name": name, "in": "query", "schema": kind} for name, kind in {**each.query, **_PROJECT}.items()
        ]
        parameters += [{"name": name, "in": "header", "required": True, "schema": {**_TEXT, "pattern": '^"[0-9a-f]{0,64}"$'}} for name in each.headers]  # fmt: skip
        failures = {status: {"description": why, "content": {"application/json": {"schema": _PROBLEM}}} for status, why in _FAILURES.items()}  # fmt: skip
        operation: dict[str, Any] = {
            "summary": each.summary,
            "parameters": parameters,
            "responses": {"200": {"description": "Done.", "content": {"application/json": {"schema": {}}}}, **failures},
        }
        if each.body:
            schema = {"type": "object", "properties": each.body, "required": list(each.required), "additionalProperties": False}  # fmt: skip
            operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
        paths.setdefault(ROOT + re.sub(r"\{(\w+):path\}", r"{\1}", each.path), {})[each.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "byheart", "version": __version__, "description": "Memory of coding agents, on loopback."},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
        "paths": paths,
    }
