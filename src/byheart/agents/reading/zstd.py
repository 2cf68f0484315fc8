"""Compressed transcripts, unpacked as far as is allowed."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, Any, cast

from byheart.agents.reading import lines
from byheart.domain.sessions import Caps, Tally

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
