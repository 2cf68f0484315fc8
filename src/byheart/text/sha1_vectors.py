"""Words counted under numbers that SHA-1 gives them: the vectors that CursorClaw keeps. No model; Latin letters only."""

from __future__ import annotations

import hashlib
import math

from byheart.text.patterns import deferred

WIDTH = 128
_BETWEEN = deferred(r"[^a-z0-9_]+")
_MOST = 2_000


def hashed(text: str) -> list[float]:
    """A vector of length one; all zeros where a text has no word in it."""
    counts = [0.0] * WIDTH
    words = [word for word in _BETWEEN.split(text.lower()) if len(word) >= 2]
    for word in words[:_MOST]:
        digest = hashlib.sha1(word.encode(), usedforsecurity=False).digest()
        counts[int.from_bytes(digest[:4], "big") % WIDTH] += 1
    length = math.sqrt(sum(each * each for each in counts))
    return [each / length for each in counts] if length else counts
