"""How a session's summary file is called: when it was, four characters that tell it from others, and what it was about."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\Z", re.IGNORECASE)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HASHES = len(_DIGITS) ** 4
_TIME = "%Y-%m-%dT%H-%M-%S"
SLUG = 60
STEM = re.compile(r"(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-(?P<hash>[0-9a-zA-Z]{4})(?:-(?P<slug>[a-z0-9_]{1,60}))?\Z")


def stem(thread: str, updated: datetime, slug: str | None) -> str:
    """The name without its ending."""
    name = f"{_moment(thread, updated):{_TIME}}-{_hash(thread)}"
    tail = file_slug(slug or "")
    return f"{name}-{tail}" if tail else name


def file_slug(slug: str) -> str:
    """A slug as a file name has it."""
    plain = "".join(each.lower() if each.isascii() and each.isalnum() else "_" for each in slug)
    return plain[:SLUG].rstrip("_")


def short_id(thread: str) -> str:
    """Enough of a session's id to find it again: time-ordered ones begin alike, so they need more."""
    if _UUID.match(thread):
        return thread[:13] if _version(thread) == 7 else thread[:8]
    return thread[:16]


def _version(thread: str) -> int:
    return int(thread.replace("-", "")[12], 16)


def _moment(thread: str, updated: datetime) -> datetime:
    """When a session began, where its id says so; else when it was last written to."""
    if _UUID.match(thread) and _version(thread) == 7:
        milliseconds = int(thread.replace("-", "")[:12], 16)
        try:
            return datetime.fromtimestamp(milliseconds // 1000, UTC)
        except (OverflowError, OSError, ValueError):
            pass
    return updated.astimezone(UTC)


def _hash(thread: str) -> str:
    if _UUID.match(thread):
        number = int(thread.replace("-", ""), 16) & 0xFFFFFFFF
    else:
        number = 0
        for byte in thread.encode("utf-8", "surrogatepass"):
            number = (number * 31 + byte) & 0xFFFFFFFF
    number %= _HASHES
    found = ""
    for _ in range(4):
        number, digit = divmod(number, len(_DIGITS))
        found = _DIGITS[digit] + found
    return found
