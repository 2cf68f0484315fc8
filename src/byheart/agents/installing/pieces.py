"""Putting pieces into texts and taking them out again."""

from __future__ import annotations

import json
import os
import re
import shlex
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from byheart.domain.errors import BadInput
from byheart.domain.values import dataclass, field
from byheart.text import jsonedit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class PieceKind(StrEnum):
    """How a piece stands in its file."""

    MEMBER = "member"
    ELEMENT = "element"
    BLOCK = "block"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One thing in one file of an agent's: a member or an element of JSON, a marked block of a text, or a whole file of ours.
    `path` is absolute; `at` is where in the JSON, `text` what a block or a file says, `why` what it is for."""

    kind: PieceKind
    path: str
    why: str
    at: tuple[str, ...] = ()
    value: Any = None
    text: str = ""
    # What is there already counts for more.
    keeps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """All that connects one agent."""

    agent: str
    pieces: tuple[Piece, ...]
    folders: tuple[str, ...]
    programs: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallTarget:
    """Where an agent's files lie, and how byheart is called from there."""

    home: str
    environment: dict[str, str]
    command: tuple[str, ...]
    variables: dict[str, str]
    version: str
    project: str | None = None
    # Whether sessions are told what fits a moment, and the script that looks whether a call could be one.
    moments: bool = False
    gate: str = ""
    system: str = "linux"
    # How much a session may be told.
    tokens: int = 5000


@dataclass(slots=True, kw_only=True)
class FileChange:
    """What putting pieces in does to a file: None is a file that is not there."""

    path: str
    before: str | None
    after: str | None
    whys: list[str] = field(default_factory=list)

    @property
    def is_change(self) -> bool:
        return self.before != self.after


@dataclass(slots=True, kw_only=True)
class Installed:
    """What came of connecting or disconnecting one agent."""

    agent: str
    scope: str
    changes: list[FileChange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStatus:
    """How an agent stands: whether it is here, what of ours is in place, and whether that works."""

    agent: str
    is_here: bool
    version: str
    scopes: tuple[str, ...]
    works: tuple[tuple[str, str], ...] = ()
    problems: tuple[str, ...] = ()


_SAYS = "(byheart install wrote this; byheart uninstall takes it out)"
# A hook of ours, wherever byheart lay when it was written, and whatever somebody has put around it since.
_HOOK = re.compile(
    r"""byheart\S*(?:\s+-\S+(?:\s+[^-\s]\S*)?)*?\s+hook\s+(session-start|prompt|pre-tool|post-tool|subagent-start|pre-compact|stop|session-end)\b"""
)


def put_in(text: str | None, pieces: Sequence[Piece]) -> str | None:
    """A file's text with these pieces in it; the same text where they are in it already."""
    for piece in pieces:
        text = _with(text, piece)
    _check_toml(text, pieces)
    return text


def _check_toml(text: str | None, pieces: Sequence[Piece]) -> None:
    """A TOML file that could not be read after this is not written: the same table may stand there already, or it was broken before."""
    path = pieces[0].path if pieces else ""
    if not path.endswith(".toml") or text is None:
        return
    import tomllib

    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(
            f"{path} cannot be changed: with byheart's part it would not be valid TOML ({error}); remove byheart's part or fix the file, then try again"
        ) from None


def take_out(text: str | None, pieces: Sequence[Piece], *, was_there: bool) -> str | None:
    """A file's text without these pieces; None where nothing of it is left that somebody else wrote."""
    for piece in reversed(pieces):
        text = _without(text, piece)
    if text is None or was_there:
        return text
    try:
        left = (
            jsonedit.parsed(text)
            if pieces and pieces[0].kind in (PieceKind.MEMBER, PieceKind.ELEMENT)
            else text.strip()
        )
    except jsonedit.NotJson:
        return text
    return text if left not in ({}, "") else None


def _with(text: str | None, piece: Piece) -> str | None:
    if piece.kind is PieceKind.FILE:
        return piece.text
    if piece.kind is PieceKind.BLOCK:
        return text if text and _block(piece) in text else _with_block(_without(text, piece), piece)
    try:
        if piece.kind is PieceKind.MEMBER:
            known = _at(jsonedit.parsed(text or ""), piece.at)
            if piece.keeps and known is not None:
                return text
            return text if known == piece.value else jsonedit.with_member(text or "", piece.at, piece.value)
        known = _at(jsonedit.parsed(text or ""), piece.at)
        if isinstance(known, list) and piece.value in known:
            return text
        return jsonedit.with_element(_without(text, piece) or "", piece.at, piece.value)
    except jsonedit.NotJson as error:
        raise BadInput(f"{piece.path} cannot be changed: {error}; fix it or move it away, then try again") from None


def _without(text: str | None, piece: Piece) -> str | None:
    if text is None:
        return None
    if piece.kind is PieceKind.FILE:
        return None if text == piece.text else text
    if piece.kind is PieceKind.BLOCK:
        return _without_block(text, piece)
    try:
        if piece.keeps and set(jsonedit.parsed(text)) != {piece.at[0]}:
            # It was there, or others have come to rely on it.
            return text
        if piece.kind is PieceKind.MEMBER:
            return _less(text, piece.at) if _at(jsonedit.parsed(text), piece.at) is not None else text
        return _less_element(text, piece)
    except jsonedit.NotJson:
        # Somebody broke it meanwhile; it is theirs to mend.
        return text


def _less(text: str, at: tuple[str, ...]) -> str:
    """A text without a member, and without objects and lists on the way that hold nothing else."""
    text = jsonedit.without_member(text, at)
    above = at[:-1]
    if above and _at(jsonedit.parsed(text), above) in ({}, []):
        return _less(text, above)
    return text


def _less_element(text: str, piece: Piece) -> str:
    """A text without a hook of ours: the whole group where it holds nothing else, else our handler alone."""
    event = _event(piece.value)
    held = _at(jsonedit.parsed(text), piece.at)
    found: list[object] = held if isinstance(held, list) else []
    for index in reversed(range(len(found))):
        each = found[index]
        handlers = each.get("hooks") if isinstance(each, dict) else None
        if each == piece.value or (event and not isinstance(handlers, list) and _event(each) == event):
            text = jsonedit.without_element(text, piece.at, index)
        elif event and isinstance(handlers, list):
            ours = [place for place, handler in enumerate(handlers) if _event(handler) == event]
            if ours and len(ours) == len(handlers):
                text = jsonedit.without_element(text, piece.at, index)
            else:
                for place in reversed(ours):
                    text = jsonedit.without_element(text, (*piece.at, str(index), "hooks"), place)
    if found and _at(jsonedit.parsed(text), piece.at) == []:
        return _less(text, piece.at)
    return text


def _event(value: object) -> str:
    """Which hook of ours something is; empty where it is somebody else's."""
    found = _HOOK.search(_words(value))
    return found[1] if found else ""


def _words(value: object) -> str:
    """The command of a handler, or of the only handler of a group."""
    if isinstance(value, dict):
        handlers = value.get("hooks")
        if isinstance(handlers, list):
            return _words(handlers[0]) if len(handlers) == 1 else ""
        return str(value.get("command") or value.get("bash") or "")
    return ""


def _at(value: object, path: tuple[str, ...]) -> object:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return value


def _marks(piece: Piece) -> tuple[str, str]:
    """The lines around a block, as comments of its file."""
    name = " ".join(("byheart", *piece.at))
    begin, end = f"{name}: begin {_SAYS}", f"{name}: end"
    if piece.path.endswith(".md"):
        return f"<!-- {begin} -->", f"<!-- {end} -->"
    return f"# {begin}", f"# {end}"


def _block(piece: Piece) -> str:
    begin, end = _marks(piece)
    return f"{begin}\n{piece.text}\n{end}\n"


def _with_block(text: str | None, piece: Piece) -> str:
    body = _block(piece)
    if not text:
        return body
    return f"{text}{'' if text.endswith(chr(10)) else chr(10)}\n{body}"


def _without_block(text: str, piece: Piece) -> str:
    """A text without our block, and without the empty line before it."""
    begin, end = _marks(piece)
    start = text.find(begin)
    stop = text.find(end, start)
    if start < 0 or stop < 0:
        return text
    before, behind = text[:start], text[stop + len(end) :].removeprefix("\n")
    return before.removesuffix("\n") + behind if before.endswith("\n\n") else before + behind


TOOLS = "offers memory as tools"
SKILL = "says when to use memory"
COMMAND = "the command /memory"
HOOKS = "tells a session what memory holds, and learns when it ends"
ABOUT = "Memory from session to session: briefs each session, remembers, recalls, and learns when it ends."


def base(target: InstallTarget, variable: str, usual: str) -> str:
    """An agent's own folder: where a variable says, else the usual one."""
    return target.environment.get(variable) or os.path.join(target.home, usual)


def hook_line(target: InstallTarget, event: str, client: str, *more: str) -> str:
    """A hook as a shell runs it, every word quoted. It goes through the script in memory's folder, which knows where memory is and
    copes with a byheart that is gone. Where the folder itself is gone the hook does nothing: a shell that cannot open a script ends
    with 2, which agents take for a no to the tool call."""
    words = ["hook", event, "--client", client, *more]
    if target.gate:
        return f"[ ! -r {shlex.quote(target.gate)} ] || {shlex.join(['/bin/sh', target.gate, *words])}"
    given = [f"{name}={value}" for name, value in target.variables.items()]
    return shlex.join([*(("env", *given) if given else ()), *target.command, *words])


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
    matchers: Mapping[str, str] | None = None,
) -> list[Piece]:
    """Hooks as others took them over from Claude Code: a list of groups for each event. `end_seconds` is how long the end of a
    session may take where that is less; `matchers` are the tools that an event of theirs is about, so that others start nothing of ours. One
    event of ours may be several of theirs, separated by a bar."""
    found = []
    for ours, names in events.items():
        allowed = end_seconds if end_seconds is not None and ours == "session-end" else seconds
        handler = hook_entry(target, ours, client, allowed, extra or {})
        for theirs in names.split("|"):
            matcher = {"matcher": matchers[theirs]} if matchers and theirs in matchers else {}
            found.append(element(path, ("hooks", theirs), {**matcher, "hooks": [handler]}, _WHYS[ours]))
    return found


_MOMENTS = ("prompt", "pre-tool", "post-tool", "subagent-start")
_WHYS = {
    "session-start": "tells a session what memory holds",
    "prompt": "tells of an earlier session that was asked the same",
    "pre-tool": "tells what is known of a file or a command before it is touched or run",
    "post-tool": "tells what helped before when a call fails",
    "subagent-start": "tells a sub-agent what you want",
    "pre-compact": "learns before a session is cut short",
    "stop": "notes that a session pauses",
    "session-end": "learns when a session ends",
}


def wanted(target: InstallTarget, events: Mapping[str, str]) -> dict[str, str]:
    """Events without those that the user has not asked for."""
    return {ours: theirs for ours, theirs in events.items() if target.moments or ours not in _MOMENTS}


def with_command(text: str, target: InstallTarget) -> str:
    """A text with the command that calls byheart in it."""
    return text.replace("{{byheart}}", shlex.join(target.command))


def script(text: str, target: InstallTarget) -> str:
    """A script with byheart's words in it, as JSON, which is JavaScript."""
    gate = json.dumps(["/bin/sh", target.gate] if target.moments and target.gate else [])
    return text.replace("{{command}}", json.dumps(list(target.command))).replace("{{variables}}", json.dumps(dict(target.variables))).replace("{{gate}}", gate)  # fmt: skip


def json_text(value: object) -> str:
    """A JSON file of ours."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
