"""Putting pieces into texts and taking them out again."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from byheart.domain.errors import BadInput
from byheart.domain.installing import Kind, Piece
from byheart.text import jsonedit

if TYPE_CHECKING:
    from collections.abc import Sequence

_SAYS = "(byheart install wrote this; byheart uninstall takes it out)"
_HOOK = re.compile(r"\bhook (?:session-start|prompt|pre-tool|pre-compact|stop|session-end) --client ")


def put_in(text: str | None, pieces: Sequence[Piece]) -> str | None:
    """A file's text with these pieces in it; the same text where they are in it already."""
    for piece in pieces:
        text = _with(text, piece)
    return text


def take_out(text: str | None, pieces: Sequence[Piece], *, was_there: bool) -> str | None:
    """A file's text without these pieces; None where nothing of it is left that somebody else wrote."""
    for piece in reversed(pieces):
        text = _without(text, piece)
    if text is None or was_there:
        return text
    try:
        left = jsonedit.parsed(text) if pieces and pieces[0].kind in (Kind.MEMBER, Kind.ELEMENT) else text.strip()
    except jsonedit.NotJson:
        return text
    return text if left not in ({}, "") else None


def _with(text: str | None, piece: Piece) -> str | None:
    if piece.kind is Kind.FILE:
        return piece.text
    if piece.kind is Kind.BLOCK:
        return text if text and _block(piece) in text else _with_block(_without(text, piece), piece)
    try:
        if piece.kind is Kind.MEMBER:
            known = _at(jsonedit.parsed(text or ""), piece.at)
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
    if piece.kind is Kind.FILE:
        return None if text == piece.text else text
    if piece.kind is Kind.BLOCK:
        return _without_block(text, piece)
    try:
        if piece.kind is Kind.MEMBER:
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
    found = _at(jsonedit.parsed(text), piece.at)
    if not isinstance(found, list):
        return text
    event = _event(piece.value)
    ours = [n for n, each in enumerate(found) if each == piece.value or (event and _event(each) == event)]
    for index in reversed(ours):
        text = jsonedit.without_element(text, piece.at, index)
    if ours and _at(jsonedit.parsed(text), piece.at) == []:
        return _less(text, piece.at)
    return text


def _event(value: object) -> str:
    """Which hook of ours an element is; empty where it is somebody else's."""
    found = _HOOK.search(json.dumps(value))
    return found.group() if found else ""


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
