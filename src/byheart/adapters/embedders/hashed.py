"""The vectors that CursorClaw makes: words counted under a number that SHA-1 gives them. No model; Latin letters only."""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections.abc import Sequence

_BETWEEN = re.compile(r"[^a-z0-9_]+")
_WIDTH, _MOST = 128, 2_000


class HashedEmbedder:
    """For vectors that another program compares with its own."""

    id = "sha1-128"
    width = _WIDTH
    scale = (0.1, 0.5)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector of length one for each text, as float32; all zeros where a text has no word in it."""
        return [struct.pack(f"<{_WIDTH}f", *_vector(text)) for text in texts]


def _vector(text: str) -> list[float]:
    counts = [0.0] * _WIDTH
    words = [word for word in _BETWEEN.split(text.lower()) if len(word) >= 2]
    for word in words[:_MOST]:
        digest = hashlib.sha1(word.encode(), usedforsecurity=False).digest()
        counts[int.from_bytes(digest[:4], "big") % _WIDTH] += 1
    length = math.sqrt(sum(each * each for each in counts))
    return [each / length for each in counts] if length else counts
