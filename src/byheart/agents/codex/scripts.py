"""Scripts that Codex writes to call its tools: the shell commands in one, and which part of what it printed is whose."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from byheart.agents.reading import tools
from byheart.agents.reading.values import flat, listing, mapping, number

_LITERAL = r""""(?:[^"\\\n]|\\.){1,4000}"|'(?:[^'\\\n]|\\.){1,4000}'|`(?:[^`\\]|\\.){1,4000}`"""
# Commands that are kept in a list first, and handed over by name.
_LISTED = re.compile(rf"\[\s*((?:(?:{_LITERAL})\s*,\s*)*(?:{_LITERAL}))\s*,?\s*\]")
_EACH = re.compile(_LITERAL)
_RUNS = "exec_command("
_HEAD = re.compile(r"Script (?:completed|failed|running)[^\n]*\n(?:[^\n]*\n)?Output:\s*\Z")
# A line that only numbers a result, or tells its status.
_MARK = re.compile(r"\A[^\w\s]{2,12}[ \t]?(?:\w{1,20}[ \t:#=_-]{1,3}){0,3}\w{0,20}[ \t]?[^\w\s]{0,12}[ \t]*(?:\n|\Z)")
_STATUS = re.compile(r"\A[^\w\n]{0,12}(?:\w{1,20}[^\w\n]{1,4}){0,3}exit(?:[ _]?code)?\W{1,3}(-?\d{1,6})[^\w\n]{0,12}(?:\n|\Z)", re.IGNORECASE)  # fmt: skip
_MOST = 20


def commands_in(script: str) -> list[str]:
    """The shell commands that a script runs, in the order it names them."""
    found = tools.scripted_commands(script)
    if not found and _RUNS in script and (listed := _LISTED.search(script)):
        found = [tools.unquoted(each) for each in _EACH.findall(listed[1])]
    return found[:_MOST]


def results_of(raw: Any, count: int) -> list[tuple[str, int | None]]:
    """What each of a script's commands printed, with its status where that is told. Where nobody could say what is whose, the last
    one has all of it."""
    texts = [text for each in listing(raw) if not _HEAD.match(text := flat(each))]
    parts: list[tuple[str, int | None]] = []
    for text in texts:
        status = _STATUS.match(text)
        if status and not text[status.end() :].strip() and parts:
            parts[-1] = (parts[-1][0], int(status[1]))
        elif text.strip():
            parts.append(_part(text))
    if len(parts) == count:
        return parts
    if len(texts) == 1 and (told := _in_one(texts[0], count)):
        return told
    whole = "\n".join(text for text, _ in parts)
    statuses = {status for _, status in parts if status is not None}
    return [("", None)] * (count - 1) + [(whole, statuses.pop() if len(statuses) == 1 else None)]


def _part(text: str) -> tuple[str, int | None]:
    value = mapping(tools.arguments_of(text.strip()))
    if "output" in value:
        return flat(value["output"]), number(value.get("exit_code"))
    if status := _STATUS.match(text):
        return text[status.end() :], int(status[1])
    mark = _MARK.match(text)
    return (text[mark.end() :] if mark else text), None


def _in_one(text: str, count: int) -> list[tuple[str, int | None]]:
    """The results that a script printed as one JSON value; empty where they are not as many as the commands."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    every: Sequence[Any] = value if isinstance(value, list) else list(mapping(value).values())
    own = [each for each in map(mapping, every) if "output" in each]
    if len(own) == count:
        return [(flat(each["output"]), number(each.get("exit_code"))) for each in own]
    said = [each for each in every if isinstance(each, str)]
    ended = [each for each in every if isinstance(each, int) and not isinstance(each, bool)]
    if len(said) != count:
        return []
    return list(zip(said, ended if len(ended) == count else [None] * count, strict=True))
