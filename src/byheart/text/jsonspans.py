"""The fields of a one-line JSON object with the span of each value, so that one value can be spliced."""

from __future__ import annotations

import json
import re

_DECODER = json.JSONDecoder()
_SPACE = " \t\r"


def fields(line: str, start: int = 0) -> dict[str, tuple[int, int]]:
    """The span of each top-level value of the object that opens at `start`; of duplicates the last.

    The line must be a valid JSON object already.
    """
    spans: dict[str, tuple[int, int]] = {}
    at = _skipped(line, line.index("{", start) + 1)
    while line[at] != "}":
        name, at = _DECODER.raw_decode(line, at)
        at = _skipped(line, _skipped(line, at) + 1)
        end = _DECODER.raw_decode(line, at)[1]
        spans[name] = (at, end)
        at = _skipped(line, end)
        if line[at] == ",":
            at = _skipped(line, at + 1)
    return spans


def _skipped(line: str, at: int) -> int:
    while line[at] in _SPACE:
        at += 1
    return at


def compact(value: object) -> str:
    """JSON on one line without spaces. U+2028 and U+2029 are escaped, since some readers break lines there."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


_ESCAPE = re.compile(r"(?:\\u[0-9a-fA-F]{4})+|\\x[0-9a-fA-F]{2}|\\[nrtbf]")


def unescaped(text: str) -> str:
    """A text with the escapes of JSON and YAML read as what they stand for; line breaks and tabs become blanks."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: _meant(found.group()), text)


def _meant(escape: str) -> str:
    if escape[1] == "u":
        units = b"".join(int(each, 16).to_bytes(2, "big") for each in escape.split("\\u")[1:])
        return units.decode("utf-16-be", "replace")
    return chr(int(escape[2:], 16)) if escape[1] == "x" else " "
