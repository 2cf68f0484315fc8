"""Values out of other programs' JSON, whatever kind they turn out to be."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import msgspec

_ENCODE = msgspec.json.Encoder().encode
_DEEPEST = 6
_MOST_LISTED = 50_000
_IMAGES = frozenset({"image", "input_image", "image_url", "local_image", "localImage"})
_SILENT = frozenset(
    {"thinking", "redacted_thinking", "redactedThinking", "reasoning", "encrypted_content", "signature"}
)
# 1 January 2000 and 2100, in seconds: outside is another unit.
_EARLIEST, _LATEST = 946_684_800, 4_102_444_800


def string(value: Any) -> str:
    """A string, or nothing."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> dict[str, Any]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    """A list, or an empty one; of a list beyond all measure its beginning."""
    if not isinstance(value, list):
        return []
    return value if len(value) <= _MOST_LISTED else value[:_MOST_LISTED]


def blocks_of(content: Any) -> list[Any]:
    """A message's blocks; a plain text is one."""
    return [content] if isinstance(content, str) else listing(content)


def number(value: Any) -> int | None:
    """A whole number, also where it is spelled as 1.0 or "1"."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if -(2**31) <= value < 2**31 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**31 else None
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,9}", value):
        return int(value)
    return None


_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


def named_uuid(name: str) -> str | None:
    """The last UUID in a file's name."""
    found = _UUID.findall(name)
    return found[-1] if found else None


def when(value: Any) -> datetime | None:
    """A point in time from ISO text, seconds, milliseconds or microseconds; a text without a zone counts as UTC."""
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            if not value.isdigit() or len(value) > 17:
                return None
            return when(int(value))
        if not 2000 <= found.year < 2100:
            return None
        if found.tzinfo is UTC:
            return found
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        try:
            return found.astimezone(UTC)
        except OverflowError:
            return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        for unit in (1, 1_000, 1_000_000):
            if _EARLIEST <= value / unit <= _LATEST:
                return datetime.fromtimestamp(value / unit, UTC)
    return None


def flat(content: Any, depth: int = 0) -> str:
    """The readable text of a message's content: blocks joined, pictures and blobs named, thinking left out."""
    if isinstance(content, str):
        return content
    if depth > _DEEPEST or content is None or isinstance(content, bool):
        return ""
    if isinstance(content, list):
        return "\n".join(part for part in (flat(each, depth + 1) for each in content) if part)
    if not isinstance(content, dict):
        return str(content)
    kind = string(content.get("type"))
    if kind in _IMAGES or "inlineData" in content:
        return "[image]"
    if kind in _SILENT or content.get("thought") is True:
        return ""
    if kind in ("document", "file", "audio", "input_audio"):
        return f"[{kind}: {string(content.get('filename') or content.get('title') or content.get('mime'))}]".replace(
            ": ]", "]"
        )
    if kind == "tool_reference":
        return string(content.get("tool_name"))
    for key in ("text", "content", "output", "result", "message", "output_text", "error"):
        if key in content and isinstance(content[key], str | list | dict):
            return flat(content[key], depth + 1)
    return spelled(content)


def spelled(value: Any) -> str:
    """A value as short JSON; nothing where it cannot be spelled."""
    try:
        return _ENCODE(value).decode()
    except (ValueError, TypeError, RecursionError, msgspec.MsgspecError):
        return ""


def listed(arguments: Any, most: int = 4_000) -> str:
    """A call's arguments as `name: value` lines, with real line breaks, so that rules for secrets see plain text."""
    if isinstance(arguments, str):
        return arguments[:most]
    if not isinstance(arguments, dict):
        return spelled(arguments)[:most] if arguments is not None else ""
    rows, left = [], most
    for key, value in arguments.items():
        shown = value if isinstance(value, str) else spelled(value)
        row = f"{key}: {shown[:left]}"
        rows.append(row)
        left -= len(row)
        if left <= 0:
            break
    return "\n".join(rows)
