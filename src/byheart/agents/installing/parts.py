"""Parts that the recipes of several agents share."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any

from byheart.domain.installing import Piece, PieceKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from byheart.domain.installing import InstallTarget

TOOLS = "offers memory as tools"
SKILL = "says when to use memory"
COMMAND = "the command /memory"
HOOKS = "tells a session what memory holds, and learns when it ends"
ABOUT = "Memory from session to session: briefs each session, remembers, recalls, and learns when it ends."


def base(target: InstallTarget, variable: str, usual: str) -> str:
    """An agent's own folder: where a variable says, else the usual one."""
    return target.environment.get(variable) or os.path.join(target.home, usual)


def hook_line(target: InstallTarget, event: str, client: str, *more: str) -> str:
    """A hook as a shell runs it, every word quoted."""
    words = [*target.command, "hook", event, "--client", client, *more]
    given = [f"{name}={value}" for name, value in target.variables.items()]
    return shlex.join(["env", *given, *words] if given else words)


def server(target: InstallTarget, **more: Any) -> dict[str, Any]:
    """An MCP server as most agents name it."""
    found: dict[str, Any] = {"command": target.command[0], "args": [*target.command[1:], "mcp"], **more}
    if target.variables:
        found["env"] = dict(target.variables)
    return found


def member(path: str, at: tuple[str, ...], value: object, why: str) -> Piece:
    """A member of a JSON file."""
    return Piece(kind=PieceKind.MEMBER, path=path, at=at, value=value, why=why)


def element(path: str, at: tuple[str, ...], value: object, why: str) -> Piece:
    """An element of a list in a JSON file."""
    return Piece(kind=PieceKind.ELEMENT, path=path, at=at, value=value, why=why)


def block(path: str, text: str, why: str) -> Piece:
    """A marked block of a text file."""
    return Piece(kind=PieceKind.BLOCK, path=path, text=text, why=why)


def own_file(path: str, text: str, why: str) -> Piece:
    """A file that is ours."""
    return Piece(kind=PieceKind.FILE, path=path, text=text, why=why)


def hook_entry(
    target: InstallTarget, event: str, client: str, seconds: int, extra: Mapping[str, Any]
) -> dict[str, Any]:
    """A hook in the shape that Claude Code began; `extra` is for the start of a session alone."""
    more = extra if event == "session-start" else {}
    return {"type": "command", "command": hook_line(target, event, client), "timeout": seconds, **more}


def grouped_hooks(
    target: InstallTarget,
    path: str,
    client: str,
    events: Mapping[str, str],
    *,
    seconds: int,
    end_seconds: int | None = None,
    extra: Mapping[str, Any] | None = None,
) -> list[Piece]:
    """Hooks as others took them over from Claude Code: a list of groups for each event. `end_seconds` is how long the end of a
    session may take where that is less."""
    found = []
    for ours, theirs in events.items():
        allowed = end_seconds if end_seconds is not None and ours == "session-end" else seconds
        handler = hook_entry(target, ours, client, allowed, extra or {})
        found.append(element(path, ("hooks", theirs), {"hooks": [handler]}, _WHYS[ours]))
    return found


_WHYS = {
    "session-start": "tells a session what memory holds",
    "prompt": "tells what fits a prompt very well",
    "pre-tool": "tells what is known of a file or a command",
    "pre-compact": "learns before a session is cut short",
    "stop": "notes that a session pauses",
    "session-end": "learns when a session ends",
}


def wanted(target: InstallTarget, events: Mapping[str, str]) -> dict[str, str]:
    """Events without those that the user has not asked for."""
    off = {"prompt": not target.on_prompt, "pre-tool": not target.on_tool}
    return {ours: theirs for ours, theirs in events.items() if not off.get(ours)}


def with_command(text: str, target: InstallTarget) -> str:
    """A text with the command that calls byheart in it."""
    return text.replace("{{byheart}}", shlex.join(target.command))


def script(text: str, target: InstallTarget) -> str:
    """A script with byheart's words in it, as JSON, which is JavaScript."""
    return text.replace("{{command}}", json.dumps(list(target.command))).replace("{{variables}}", json.dumps(dict(target.variables)))  # fmt: skip


def json_text(value: object) -> str:
    """A JSON file of ours."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
