"""Vectors without a model, as CursorClaw makes them."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from byheart.text.sha1_vectors import WIDTH, hashed


class HashedEmbedder:
    """For vectors that another program compares with its own."""

    id = "sha1-128"
    width = WIDTH
    scale = (0.1, 0.5)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector of length one for each text, as float32; all zeros where a text has no word in it."""
        return [struct.pack(f"<{WIDTH}f", *hashed(text)) for text in texts]
