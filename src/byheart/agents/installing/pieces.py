"""Putting pieces into texts and taking them out again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.domain.errors import BadInput
from byheart.domain.installing import Piece, PieceKind
from byheart.text import jsonedit

if TYPE_CHECKING:
    from collections.abc import Sequence

_SAYS = "(byheart install wrote this; byheart uninstall takes it out)"
# A hook of ours, wherever byheart lay when it was written, and whatever somebody has put around it since.
_HOOK = re.compile(
    r"""byheart\S*(?:\s+-\S+(?:\s+[^-\s]\S*)?)*?\s+hook\s+(session-start|prompt|pre-tool|pre-compact|stop|session-end)\b"""
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
            f"{path} cannot be changed: with byheart's part it would not be valid TOML ({error}); take out what is there of byheart's, or mend it, and try again"
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
        raise BadInput(f"{piece.path} cannot be changed: {error}; mend it, or move it away, and try again") from None


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
