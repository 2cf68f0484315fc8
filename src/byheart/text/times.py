"""Points in time as people type them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_AGO = re.compile(r"(\d{1,5})\s*(h|d|w|y|hours?|days?|weeks?|months?|years?)(?:\s+ago)?", re.IGNORECASE)
_HOURS = {"h": 1, "d": 24, "w": 168, "m": 730, "y": 8766}


def moment(text: str, now: datetime) -> datetime | None:
    """A date, a date with a time, `today`, `yesterday`, or how long ago (`36h`, `7d`, `2 weeks`); None for anything else.
    What has no zone is meant in the machine's own."""
    typed = text.strip().casefold()
    local = now.astimezone()
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    if typed in ("today", "yesterday"):
        return midnight if typed == "today" else midnight - timedelta(days=1)
    ago = _AGO.fullmatch(typed)
    try:
        if ago:
            return now - timedelta(hours=int(ago.group(1)) * _HOURS[ago.group(2)[0]])
        found = datetime.fromisoformat(text.strip())
        return found if found.tzinfo else found.astimezone()
    except (ValueError, OverflowError, OSError):
        return None
