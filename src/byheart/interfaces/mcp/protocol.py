"""JSON-RPC as MCP has it: who is asked what, in both eras of the protocol. Knows nothing of streams and sockets."""

from __future__ import annotations

from byheart import __version__
from byheart.interfaces.mcp import schemas
from byheart.text.deferred import module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    Message = dict[str, Any]

    class Doing(Protocol):
        """What is behind the tools: slow to load, so it is made when it is first needed."""

        def call(self, name: str, arguments: dict[str, Any]) -> str: ...

        def read(self, address: str) -> str: ...

        def skills(self) -> list[str]: ...

        def prompt(self, name: str, arguments: dict[str, Any]) -> str: ...

    from byheart.app import open as app_open
    from byheart.domain import errors
else:
    app_open = module("byheart.app.open")
    errors = module("byheart.domain.errors")


# Revisions that begin with a handshake, the newest last, and the one in which each request speaks for itself.
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
VERSION_KEY, SERVER_KEY = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/serverInfo"
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
NO_RESOURCE, NO_VERSION = -32002, -32022
_LONGEST_ID = 200
_SERVER = {"name": "byheart", "title": "byheart memory", "version": __version__}
_CAPABILITIES = {
    "tools": {"listChanged": False},
    "resources": {"subscribe": False, "listChanged": False},
    "prompts": {"listChanged": False},
}
_CACHED = (
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
    "resources/read",
    "server/discover",
)


class Fault(Exception):
    """A request that cannot be answered, with the protocol's own code for why."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        self.code, self.data = code, data
        super().__init__(message)


def error(id_: object, code: int, message: str, data: object = None) -> Message:
    """An answer that says what went wrong."""
    told: Message = {"code": code, "message": message}
    if data is not None:
        told["data"] = data
    return {"jsonrpc": "2.0", "id": id_, "error": told}


def is_id(value: object) -> bool:
    """Whether something can name a request."""
    return (isinstance(value, str) and len(value) <= _LONGEST_ID) or (
        isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) < 1e300
    )


def is_slow(message: Message) -> bool:
    """Whether answering needs memory itself, and so may take a moment."""
    slow = ("tools/call", "resources/read", "resources/list", "prompts/get")
    return message.get("method") in slow and is_id(message.get("id"))


def answer(message: object, doing: Doing | None) -> Message | None:
    """The answer to a message; None for one that wants none. `doing` may be missing where nothing slow is asked."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return error(None, INVALID_REQUEST, "not a JSON-RPC 2.0 message")
    method, id_ = message.get("method"), message.get("id")
    if not isinstance(method, str):
        # An answer to a question of ours is for whoever asked it.
        return None if "result" in message or "error" in message else error(id_, INVALID_REQUEST, "no method")
    if "id" not in message:
        return None
    if not is_id(id_):
        return error(None, INVALID_REQUEST, "an id is a string or a number")
    params = message.get("params") or {}
    if not isinstance(params, dict):
        return error(id_, INVALID_PARAMS, "params must be an object")
    meta = params.get("_meta")
    version = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
    try:
        if version is not None and version != MODERN:
            raise Fault(
                NO_VERSION, "unsupported protocol version", {"supported": [MODERN, *HANDSHAKE], "requested": version}
            )
        result = _result(method, params, doing)
    except Fault as fault:
        return error(id_, fault.code, str(fault), fault.data)
    if version == MODERN:
        result = _stamped(method, result)
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def _stamped(method: str, result: Message) -> Message:
    """A result as the revision without a handshake wants it."""
    found = {"resultType": "complete", **result, "_meta": {SERVER_KEY: _SERVER}}
    if method in _CACHED:
        found |= {"ttlMs": 0, "cacheScope": "private"}
    return found


def _result(method: str, params: Message, doing: Doing | None) -> Message:
    match method:
        case "initialize":
            wanted = params.get("protocolVersion")
            return {
                "protocolVersion": wanted if wanted in HANDSHAKE else HANDSHAKE[-1],
                "capabilities": _CAPABILITIES,
                "serverInfo": _SERVER,
                "instructions": schemas.INSTRUCTIONS,
            }
        case "server/discover":
            return {
                "supportedVersions": [MODERN, *HANDSHAKE],
                "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                "instructions": schemas.INSTRUCTIONS,
            }
        case "ping" | "logging/setLevel":
            return {}
        case "tools/list":
            return {"tools": schemas.TOOLS}
        case "resources/templates/list":
            return {"resourceTemplates": schemas.TEMPLATES}
        case "prompts/list":
            return {"prompts": schemas.PROMPTS}
    if doing is not None:
        match method:
            case "tools/call":
                return _called(params, doing)
            case "resources/list":
                return {"resources": [*schemas.RESOURCES, *(_skill(name) for name in doing.skills())]}
            case "resources/read":
                return _read(params, doing)
            case "prompts/get":
                return _prompt(params, doing)
    raise Fault(NO_METHOD, f"there is no method {method!r}")


def _skill(name: str) -> Message:
    return {
        "uri": f"memory://root/skills/{name}/SKILL.md",
        "name": f"skill {name}",
        "description": "A procedure that repeats here.",
        "mimeType": "text/markdown",
    }


def _called(params: Message, doing: Doing) -> Message:
    name, given = params.get("name"), params.get("arguments") or {}
    tool = next((each for each in schemas.TOOLS if each["name"] == name), None)
    if tool is None:
        known = ", ".join(each["name"] for each in schemas.TOOLS)
        raise Fault(INVALID_PARAMS, f"there is no tool {name!r}; there are {known}")
    problem = _unfit(tool["inputSchema"], given)
    if problem:
        return {"content": [{"type": "text", "text": problem}], "isError": True}
    try:
        text, failed = doing.call(tool["name"], given), False
    except errors.NothingFound as fault:
        # Not to find what was to be changed is a failure; not to find what was looked for is an answer.
        text, failed = _spoken(fault), not tool["annotations"].get("readOnlyHint")
    except errors.ByheartError as fault:
        text, failed = _spoken(fault), True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def _spoken(fault: Exception) -> str:
    """What went wrong, without the secret that may have been the reason."""
    return app_open.redacted(str(fault))


_TYPES: dict[str, type | tuple[type, ...]] = {"string": str, "integer": int, "boolean": bool, "array": list}


def _unfit(schema: Message, given: object) -> str:
    """What is wrong with a tool's arguments, in words that a model can act on; empty where nothing is."""
    if not isinstance(given, dict):
        return "the arguments must be an object"
    properties = schema["properties"]
    for name in schema["required"]:
        if name not in given:
            return f"{name!r} is missing: {properties[name].get('description', '')}"
    for name, value in given.items():
        rule = properties.get(name)
        if rule is None:
            return f"there is no argument {name!r}; there are {', '.join(properties)}"
        if value is None and name not in schema["required"]:
            continue
        if not isinstance(value, _TYPES[rule["type"]]) or (rule["type"] == "integer" and isinstance(value, bool)):
            return f"{name!r} must be of type {rule['type']}"
        if rule.get("minLength") and isinstance(value, str) and not value.strip():
            return f"{name!r} is empty: {rule.get('description', '')}"
        if "enum" in rule and value not in rule["enum"]:
            return f"{name!r} must be one of {', '.join(rule['enum'])}"
        if "minimum" in rule and not rule["minimum"] <= value <= rule["maximum"]:
            return f"{name!r} must be from {rule['minimum']} to {rule['maximum']}"
    return ""


def _read(params: Message, doing: Doing) -> Message:
    address = params.get("uri")
    if not isinstance(address, str):
        raise Fault(INVALID_PARAMS, "uri is missing")
    try:
        text = doing.read(address)
    except errors.ByheartError as fault:
        raise Fault(NO_RESOURCE, _spoken(fault), {"uri": address}) from None
    return {"contents": [{"uri": address, "mimeType": "text/markdown", "text": text}]}


def _prompt(params: Message, doing: Doing) -> Message:
    name, given = params.get("name"), params.get("arguments") or {}
    known = next((each for each in schemas.PROMPTS if each["name"] == name), None)
    if known is None or not isinstance(given, dict):
        raise Fault(INVALID_PARAMS, f"there is no prompt {name!r}; there are {', '.join(each['name'] for each in schemas.PROMPTS)}")  # fmt: skip
    for argument in known["arguments"]:
        if argument["required"] and not str(given.get(argument["name"], "")).strip():
            raise Fault(INVALID_PARAMS, f"the argument {argument['name']!r} is missing")
    try:
        text = doing.prompt(known["name"], given)
    except errors.ByheartError as fault:
        text = _spoken(fault)
    return {
        "description": known["description"],
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }
