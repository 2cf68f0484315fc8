"""Reading large and hostile files a piece at a time: bounded lines, bounded bytes, JSON that may be broken."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from typing import IO, Any

import msgspec

from byheart.domain.sessions import Caps, Tally

_CHUNK = 1 << 20
# Some editors put this in front of a file.
_MARK = b"\xef\xbb\xbf"
_DECODE = msgspec.json.Decoder().decode
HALF = re.compile("[\ud800-\udfff]")
LONG, BROKEN, DEEP, HALF_LINE, NOT_OBJECT = (
    "line too long",
    "broken JSON",
    "nested too deeply",
    "half a last line",
    "not an object",
)
_LARGE, _MOST_PARTS = 500_000, 800_000
PARTS = "too many parts"
ODD_SHAPE = "unexpected shape"
TOO_LARGE, UNREADABLE, BAD_TEXT, UNPACKED = (
    "file too large",
    "cannot be read",
    "bad UTF-8 or Unicode",
    "unpacks to too much",
)


class Broken(Exception):
    """A value that cannot be used; its text is the reason that is counted."""


def decoded(raw: bytes, tally: Tally) -> Any:
    """A JSON value. What strict JSON forbids but writers produce (NaN, half characters, bad UTF-8) is mended."""
    if len(raw) > _LARGE and raw.count(b",") + raw.count(b"{") + raw.count(b"[") > _MOST_PARTS:
        # A value takes a hundred bytes however few it is spelled in.
        raise Broken(PARTS)
    try:
        return _DECODE(raw)
    except RecursionError:
        raise Broken(DEEP) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        value = _whole(json.loads(raw.decode("utf-8", "replace")))
    except RecursionError:
        raise Broken(DEEP) from None
    except ValueError:
        raise Broken(BROKEN) from None
    tally.mended[BAD_TEXT] += 1
    return value


def _whole(value: Any) -> Any:
    """The same value without half characters, which no database takes."""
    if isinstance(value, str):
        return HALF.sub("\ufffd", value)
    if isinstance(value, list):
        return [_whole(each) for each in value]
    if isinstance(value, dict):
        return {HALF.sub("\ufffd", key): _whole(each) for key, each in value.items()}
    return value


def opened(path: str) -> IO[bytes] | None:
    """An ordinary file for reading; None for whatever else stands there."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        if stat.S_ISREG(os.fstat(number).st_mode):
            return os.fdopen(number, "rb", buffering=0)
    except OSError:
        pass
    os.close(number)
    return None


def document(path: str, caps: Caps, tally: Tally) -> Any:
    """A whole file as one JSON value. Raises Broken with the reason."""
    return decoded(content(path, caps.document_bytes, tally).removeprefix(_MARK), tally)


def content(path: str, most: int, tally: Tally) -> bytes:
    """A whole file's bytes. Raises Broken where there is none to read or it is larger than allowed."""
    stream = opened(path)
    if stream is None:
        raise Broken(UNREADABLE)
    with stream:
        try:
            raw = _all(stream, most)
        except OSError:
            raise Broken(UNREADABLE) from None
    if len(raw) > most:
        raise Broken(TOO_LARGE)
    tally.bytes += len(raw)
    return raw


def _all(stream: IO[bytes], most: int) -> bytes:
    pieces, size = [], 0
    while size <= most and (piece := stream.read(min(_CHUNK, most + 1 - size))):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def rows(whole: str) -> Iterator[str]:
    """A text's lines one by one; a list of them could be many times as large as the text."""
    start = 0
    while (end := whole.find("\n", start)) >= 0:
        yield whole[start:end]
        start = end + 1
    yield whole[start:]


def text(path: str, most: int, tally: Tally) -> str:
    """A whole file as text; bad bytes become replacement characters."""
    raw = content(path, most, tally)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        tally.mended[BAD_TEXT] += 1
        return raw.decode("utf-8", "replace")


class Lines:
    """A file's lines from a place on, each with where it starts, and the digest of all that was taken in.

    A last line without its break counts only when it is a value by itself: the writer may be in the middle of it.
    """

    def __init__(self, stream: IO[bytes], caps: Caps, tally: Tally, *, most: int | None = None) -> None:
        self._stream, self._caps, self._tally = stream, caps, tally
        self._most = caps.file_bytes if most is None else most
        # The fastest of the standard ones on machines that have instructions for it.
        self._hash = hashlib.sha256()
        self.offset = 0
        self.cut_short = False

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def skip_to(self, offset: int, digest: str) -> bool:
        """Go to where an earlier reading ended; False where the file before it is not the one that was read."""
        left = offset
        while left:
            piece = self._stream.read(min(_CHUNK, left))
            if not piece:
                return False
            self._hash.update(piece)
            left -= len(piece)
        self.offset = offset
        return self._hash.hexdigest() == digest

    def __iter__(self) -> Iterator[bytes]:
        rest, skipping, seen = b"", False, self.offset
        while True:
            try:
                piece = self._stream.read(_CHUNK)
            except OSError:
                self._tally.skipped[UNREADABLE] += 1
                self.cut_short = True
                return
            if not piece:
                break
            seen += len(piece)
            if seen > self._most:
                self._tally.skipped[TOO_LARGE] += 1
                self.cut_short = True
                return
            if skipping:
                end = piece.find(b"\n")
                if end < 0:
                    self._take(piece)
                    continue
                self._take(piece[: end + 1])
                piece, skipping = piece[end + 1 :], False
            whole = rest + piece
            parts = whole.split(b"\n")
            rest = parts.pop()
            self._take(memoryview(whole)[: len(whole) - len(rest)])
            # Empty lines are dropped at once: a file of nothing else must not take longer than one of text.
            for part in filter(None, parts):
                if len(part) > self._caps.line_bytes:
                    self._skip(LONG)
                else:
                    yield part.removeprefix(_MARK)
            if len(rest) > self._caps.line_bytes:
                self._skip(LONG)
                self._take(rest)
                rest, skipping = b"", True
        if rest.strip():
            try:
                decoded(rest.removeprefix(_MARK), Tally())
            except Broken:
                self._skip(HALF_LINE)
                return
            self._take(rest)
            yield rest.removeprefix(_MARK)

    def _take(self, piece: bytes | memoryview) -> None:
        self._hash.update(piece)
        self.offset += len(piece)
        self._tally.bytes += len(piece)

    def _skip(self, reason: str) -> None:
        self._tally.lines += 1
        self._tally.skipped[reason] += 1
