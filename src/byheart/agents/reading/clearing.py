"""What agents do with their own transcripts in time: which are gone, and after how long they clear them away."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGEST = 1_048_576


def is_gone(path: str) -> bool | None:
    """Whether a transcript was taken away; None where its folder is not there either, as on a disk that is not mounted."""
    plain = path.partition("#")[0]
    if not plain or os.path.lexists(plain):
        return False
    above = os.path.dirname(plain)
    return True if os.path.isdir(above) or os.path.isdir(os.path.dirname(above)) else None


def cleared_after(agent: str, environment: Mapping[str, str], home: str) -> float | None:
    """After how many days an agent clears its transcripts away by itself; None where it does not."""
    if agent == "claude-code":
        folder = environment.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
        found = _setting(os.path.join(folder, "settings.json"), "cleanupPeriodDays")
        return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else 30.0
    if agent == "gemini":
        kept = _setting(os.path.join(home, ".gemini/settings.json"), "general", "sessionRetention", "maxAge")
        days = str(kept).removesuffix("d") if kept else "30"
        return float(days) if days.isdigit() else 30.0
    return None


def _setting(path: str, *keys: str) -> Any:
    """A setting in another program's JSON file; None where it cannot be told."""
    try:
        with open(path, encoding="utf-8") as stream:
            found: Any = json.loads(stream.read(_LARGEST))
    except (OSError, ValueError):
        return None
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found
