"""The journal's RPC, as CursorClaw's gateway speaks it: POST /rpc with {id?, version, method, params}."""

from __future__ import annotations

import json
import re
import uuid
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse

from byheart.app.gateway_rows import allowed
from byheart.domain.errors import BadInput
from byheart.interfaces.web.doors import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from byheart.app.gateway import Gateway
    from byheart.interfaces.web.doors import Doors

VERSION = "2.0"
# Files beside MEMORY.md that an agent is made of.
_SUBSTRATE = (
    "AGENTS.md",
    "IDENTITY.md",
    "SOUL.md",
    "BIRTH.md",
    "USER.md",
    "TOOLS.md",
    "HEARTBEAT.md",
    "ROADMAP.md",
    "LONGMEMORY.md",
)
Call = "Callable[[Gateway, dict[str, Any]], Any]"


async def rpc(request: Request) -> Response:
    """One call: its answer names the audit id it is known by."""
    audit = str(uuid.uuid4())
    doors: Doors = request.app.state.doors
    told: Any = None
    try:
        told = json.loads(await request.body())
    except (ValueError, RecursionError):
        return _failed(None, audit, 400, "BAD_REQUEST", "the body must be a JSON object")
    name = told.get("id") if isinstance(told, dict) else None
    if not isinstance(told, dict) or told.get("version") != VERSION or not isinstance(told.get("method"), str):
        return _failed(
            name, audit, 400, "BAD_REQUEST", 'the body must be {"version": "2.0", "method": "…", "params": {…}}'
        )
    params = told.get("params", {})
    if not isinstance(params, dict):
        return _failed(name, audit, 400, "BAD_REQUEST", "params must be an object")
    known = METHODS.get(told["method"])
    if known is None:
        return _failed(name, audit, 400, "BAD_REQUEST", f"unknown method: {told['method'][:80]}")
    roles, call = known
    if request.scope["role"] not in roles:
        return _failed(
            name, audit, 403, "FORBIDDEN", f"{told['method']} is not allowed for role {request.scope['role']}"
        )
    try:
        result = await doors.ask(lambda gateway: call(gateway, params))
    except Problem as problem:
        status = (
            400
            if problem.status in (400, 404) or (problem.name != "Forbidden" and problem.status == 403)
            else problem.status
        )
        code = "BAD_REQUEST" if status == 400 else re.sub(r"(?<=[a-z])(?=[A-Z])", "_", problem.name).upper()
        return _failed(name, audit, status, code, problem.message)
    return JSONResponse({**({"id": name} if name is not None else {}), "auditId": audit, "ok": True, "result": result})


def _failed(name: object, audit: str, status: int, code: str, message: str) -> Response:
    body = {**({"id": name} if name is not None else {}), "auditId": audit, "ok": False, "error": {"code": code, "message": message}}  # fmt: skip
    return JSONResponse(body, status_code=status)


def _text(params: dict[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise BadInput(f"{name} must be a string")
    return value


def _path(params: dict[str, Any]) -> str:
    return allowed(params["path"] if isinstance(params.get("path"), str) else "")


def _substrate(params: dict[str, Any]) -> str:
    key = _text(params, "key")
    name = key if key.endswith(".md") else f"{re.sub(r'[^A-Za-z]', '', key).upper()}.md"
    if name not in _SUBSTRATE:
        raise BadInput(f"key must be one of {', '.join(each.removesuffix('.md').lower() for each in _SUBSTRATE)}")
    return name


def _wrote(gateway: Gateway, path: str, content: str) -> dict[str, bool]:
    gateway.write_journal_file(path, content)
    return {"ok": True}


def _patched(gateway: Gateway, params: dict[str, Any]) -> dict[str, Any]:
    patch = params.get("patch", params)
    if not isinstance(patch, dict) or not patch:
        raise BadInput("patch must be an object of settings")
    flat = dict(_flat(patch))
    return {key: gateway.set(key, value)["value"] for key, value in flat.items()}


def _flat(patch: dict[str, Any], head: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in patch.items():
        if name == "profileId":
            continue
        key = f"{head}.{name}" if head else str(name)
        if isinstance(value, dict):
            found += _flat(value, key)
        else:
            found.append((key, str(value).lower() if isinstance(value, bool) else str(value)))
    return found


_BOTH, _ADMIN = ("admin", "local"), ("admin",)
METHODS: dict[str, tuple[tuple[str, ...], Callable[[Gateway, dict[str, Any]], Any]]] = {
    "memory.listLogs": (_BOTH, lambda gateway, _: {"files": gateway.logs()}),
    "memory.getFile": (_BOTH, lambda gateway, params: {"path": _path(params), "content": gateway.journal_file(_path(params))}),
    "memory.writeFile": (_BOTH, lambda gateway, params: _wrote(gateway, _path(params), _text(params, "content"))),
    "substrate.list": (_BOTH, lambda gateway, _: {"files": [{"key": name.removesuffix(".md").lower(), "path": name, "present": bool(gateway.journal_file(name))} for name in _SUBSTRATE]}),
    "substrate.get": (_BOTH, lambda gateway, params: {"key": params.get("key"), "path": _substrate(params), "content": gateway.journal_file(_substrate(params))}),
    "substrate.update": (_ADMIN, lambda gateway, params: _wrote(gateway, _substrate(params), _text(params, "content"))),
    "substrate.reload": (_BOTH, lambda *_: {"ok": True}),
    "config.get": (_BOTH, lambda gateway, _: {"config": {row["key"]: row["value"] for row in gateway.settings()}}),
    "config.patch": (_ADMIN, _patched),
    "config.reload": (_ADMIN, lambda *_: {"ok": True}),
}  # fmt: skip
