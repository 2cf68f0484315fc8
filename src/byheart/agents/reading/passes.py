"""Passes over transcripts: line by line, going on where the last one ended, or as a whole document."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

import msgspec

from byheart.agents.reading import lines
from byheart.agents.reading.lines import Broken, Lines
from byheart.agents.reading.turn_builder import TurnBuilder, counted
from byheart.domain.sessions import Caps, Event, Found, Mark, Tally

# A reader's memory larger than this is not kept; the file is then read anew when it grows.
_STATE = 4_000_000
# What a value of an unforeseen kind can raise.
ODD = (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError, OverflowError)
_PACK, _UNPACK = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder().decode


class Reader(Protocol):
    """Understands one agent's lines. `line` gives back the type's name where it knows nothing about it."""

    builder: TurnBuilder

    def line(self, value: dict[str, Any]) -> str | None: ...

    def finish(self) -> None: ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any]) -> None: ...


class LineReading:
    """A transcript of JSON lines that only grows."""

    def __init__(self, found: Found, mark: Mark | None, caps: Caps, make: Callable[[Found], Reader]) -> None:
        self.fresh, self.tally = True, Tally()
        self.mark: Mark | None = None
        self._found, self._caps = found, caps
        self._packed = found.path.endswith(".zst")
        self._reader = make(found)
        self._lines: Lines | None = None
        self._raw: IO[bytes] | None = None
        self._open()
        if mark is not None and self._lines is not None and not self._packed:
            try:
                self._reader.restore(_UNPACK(mark.state))
                self.fresh = not self._lines.skip_to(mark.offset, mark.digest)
            except (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError, OSError):
                self.fresh = True
            if self.fresh:
                self._reader = make(found)
                self._close()
                self._open()

    def _open(self) -> None:
        stream = lines.opened(self._found.path)
        if stream is None:
            self.tally.skipped[lines.UNREADABLE] += 1
        elif self._packed:
            self._lines = Lines(unpacked(stream, self._caps, self.tally), self._caps, self.tally)
            self._raw = stream
            return
        else:
            self._lines = Lines(stream, self._caps, self.tally)
        self._raw = stream

    def _close(self) -> None:
        if self._raw is not None:
            self._raw.close()

    def __iter__(self) -> Iterator[Event]:
        if self._lines is None:
            return
        reader, tally = self._reader, self.tally
        builder = reader.builder
        try:
            for raw in self._lines:
                try:
                    value = lines.decoded(raw, tally)
                except Broken as reason:
                    tally.lines += 1
                    tally.skipped[str(reason)] += 1
                    continue
                if not isinstance(value, dict):
                    tally.lines += 1
                    tally.skipped[lines.NOT_OBJECT] += 1
                    continue
                try:
                    counted(tally, reader.line(value), len(raw))
                except ODD:
                    # Another program's format may hold anything anywhere; one odd line must not cost the others.
                    tally.lines += 1
                    tally.skipped[lines.ODD_SHAPE] += 1
                if events := builder.take():
                    yield from events
            reader.finish()
            yield from reader.builder.end()
            if not self._packed and not self._lines.cut_short:
                state = reader.state()
                packed = _PACK(state)
                if len(packed) <= _STATE:
                    self.mark = Mark(self._lines.offset, self._lines.digest, packed, tuple(_texts(state)))
        finally:
            self._close()


class WholeReading:
    """A transcript that is read as a whole, and anew whenever it changed."""

    def __init__(self, found: Found, caps: Caps, events: Callable[[Found, Caps, Tally], Iterator[Event]]) -> None:
        self.fresh, self.tally = True, Tally()
        self.mark: Mark | None = None
        self._found, self._caps, self._events = found, caps, events

    def __iter__(self) -> Iterator[Event]:
        try:
            yield from self._events(self._found, self._caps, self.tally)
        except Broken as reason:
            self.tally.lines += 1
            self.tally.skipped[str(reason)] += 1
        except ODD:
            self.tally.lines += 1
            self.tally.skipped[lines.ODD_SHAPE] += 1


def _texts(value: Any) -> Iterator[str]:
    """All texts in a reader's memory."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts(list(value))
        yield from _texts(list(value.values()))
    elif isinstance(value, list | tuple):
        # Most of it are numbers.
        for each in value:
            if not isinstance(each, int):
                yield from _texts(each)


if sys.version_info >= (3, 14) and not TYPE_CHECKING:
    from compression import zstd
else:
    from backports import zstd

# What the decompressor may hold at once; files that ask for more are not what agents write.
_WINDOW = 27


class _Bounded:
    """A stream that ends, and says so, where it has given as much as is allowed."""

    def __init__(self, stream: Any, most: int, tally: Tally) -> None:
        self._stream, self._left, self._tally = stream, most, tally

    def read(self, size: int = -1) -> bytes:
        if self._left <= 0:
            return b""
        try:
            piece: bytes = self._stream.read(size)
        except (zstd.ZstdError, EOFError, OSError, ValueError):
            self._tally.skipped["broken compression"] += 1
            self._left = 0
            return b""
        self._left -= len(piece)
        if self._left <= 0:
            self._tally.skipped[lines.UNPACKED] += 1
        return piece


def unpacked(stream: IO[bytes], caps: Caps, tally: Tally) -> Any:
    """A zstd file's content as a stream, at most as many bytes as the caps allow."""
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _WINDOW}
    return _Bounded(zstd.ZstdFile(cast(Any, stream), "rb", options=options), caps.unpacked_bytes, tally)


def inflated(blob: bytes, most: int) -> bytes | None:
    """A small compressed value; None where it is broken or too large."""
    try:
        unpacker = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW})
        content = unpacker.decompress(blob, max_length=most + 1)
    except (zstd.ZstdError, EOFError, ValueError):
        return None
    return content if len(content) <= most and unpacker.eof else None
