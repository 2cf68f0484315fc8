"""Parts that several recipes share."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

from byheart.domain.installing import Kind, Piece

if TYPE_CHECKING:
    from collections.abc import Mapping

    from byheart.domain.installing import Around


def base(around: Around, variable: str, usual: str) -> str:
    """An agent's own folder: where a variable says, else the usual one."""
    return around.environment.get(variable) or os.path.join(around.home, usual)


def hook_line(around: Around, event: str, client: str, *more: str) -> str:
    """A hook as a shell runs it, every word quoted."""
    words = [*around.command, "hook", event, "--client", client, *more]
    given = [f"{name}={value}" for name, value in around.variables.items()]
    return shlex.join(["env", *given, *words] if given else words)


def server(around: Around, **more: Any) -> dict[str, Any]:
    """An MCP server as most agents name it."""
    found: dict[str, Any] = {"command": around.command[0], "args": [*around.command[1:], "mcp"], **more}
    if around.variables:
        found["env"] = dict(around.variables)
    return found


def member(path: str, at: tuple[str, ...], value: object, why: str) -> Piece:
    """A member of a JSON file."""
    return Piece(kind=Kind.MEMBER, path=path, at=at, value=value, why=why)


def element(path: str, at: tuple[str, ...], value: object, why: str) -> Piece:
    """An element of a list in a JSON file."""
    return Piece(kind=Kind.ELEMENT, path=path, at=at, value=value, why=why)


def block(path: str, text: str, why: str) -> Piece:
    """A marked block of a text file."""
    return Piece(kind=Kind.BLOCK, path=path, text=text, why=why)


def own(path: str, text: str, why: str) -> Piece:
    """A file that is ours."""
    return Piece(kind=Kind.FILE, path=path, text=text, why=why)


def grouped_hooks(
    around: Around,
    path: str,
    client: str,
    events: Mapping[str, str],
    *,
    seconds: int,
    extra: Mapping[str, Any] | None = None,
) -> list[Piece]:
    """Hooks in the shape that Claude Code began and others took over: a list of groups for each event."""
    found = []
    for ours, theirs in events.items():
        more: dict[str, Any] = dict(extra or {}) if ours == "session-start" else {}
        arguments = more.pop("arguments", ())
        handler = {
            "type": "command",
            "command": hook_line(around, ours, client, *arguments),
            # Codex gives the end of a session three seconds, whatever is asked for.
            "timeout": min(seconds, 3) if (client, ours) == ("codex", "session-end") else seconds,
            **more,
        }
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


def wanted(around: Around, events: Mapping[str, str]) -> dict[str, str]:
    """Events without those that the user has not asked for."""
    off = {"prompt": not around.on_prompt, "pre-tool": not around.on_tool}
    return {ours: theirs for ours, theirs in events.items() if not off.get(ours)}
