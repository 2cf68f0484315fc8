"""A bar on the terminal while something takes long; nothing elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from byheart.sessions.refresh import Progress

_WIDTH = 30
# What is over sooner than this needs no bar, and more often than this nobody sees it.
_PATIENCE, _EVERY = 0.3, 0.1


def bar(title: str, unit: float = 1, suffix: str = "") -> Progress | None:
    """Shows how much is done of how much, counted in units; None where nobody would see it."""
    if not sys.stderr.isatty():
        return None
    began, shown = time.monotonic(), [0.0]

    def progress(done: int, total: int, about: str) -> None:
        now = time.monotonic()
        if done >= total:
            if shown[0]:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
            return
        if now - began < _PATIENCE or now - shown[0] < _EVERY:
            return
        shown[0] = now
        filled = round(_WIDTH * done / total) if total else 0
        drawn = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {done / unit:,.0f} of {total / unit:,.0f}{suffix}"
        sys.stderr.write(f"\r\x1b[K{title} {drawn}  {about}".rstrip())
        sys.stderr.flush()

    return progress
