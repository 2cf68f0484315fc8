"""SKILL.md: a procedure that repeats, as agents take it in."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from byheart.handbook.phrases import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from byheart.domain.handbook import Skill

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
NAME_LENGTH, DESCRIPTION_LENGTH, LINES = 64, 400, 500
SECTIONS = (
    "When to use",
    "Inputs and context to gather",
    "Procedure",
    "Efficiency plan",
    "Pitfalls and fixes",
    "Verification checklist",
)


def rendered(skill: Skill) -> str:
    """The entry file of a skill."""
    return "\n".join(_lines(skill)).rstrip("\n") + "\n"


def _lines(skill: Skill) -> Iterator[str]:
    yield "---"
    yield f"name: {skill.name}"
    # JSON's spelling of a text is one of YAML's, and needs no thought about colons and quotes.
    yield f"description: {json.dumps(one_line(skill.description, DESCRIPTION_LENGTH), ensure_ascii=False)}"
    if skill.has_side_effects:
        yield "disable-model-invocation: true"
    if skill.tools:
        yield f"allowed-tools: {', '.join(skill.tools)}"
    yield "---"
    yield ""
    yield f"# {skill.name}"
    yield ""
    yield from _list(SECTIONS[0], [*skill.triggers, *(f"Not for: {each}" for each in skill.non_goals)])
    yield from _list(SECTIONS[1], skill.inputs)
    yield f"## {SECTIONS[2]}"
    yield ""
    yield from (f"{number}. {one_line(step)}" for number, step in enumerate(skill.steps, 1))
    yield ""
    yield from _list(SECTIONS[3], skill.efficiency)
    yield from _list(SECTIONS[4], [f"{each.symptom} -> {each.cause} -> {each.fix}" for each in skill.pitfalls])
    yield from _list(SECTIONS[5], [f"[ ] {check}" for check in skill.checks])


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield from (f"- {one_line(line)}" for line in lines)
    yield ""


def front_of(text: str) -> tuple[dict[str, str], int] | None:
    """The fields of the front matter as they are spelled, and the number of the line that ends it; None without one."""
    lines = text.split("\n")
    if not lines or lines[0].strip() != "---":
        return None
    found: dict[str, str] = {}
    last = ""
    for number, line in enumerate(lines[1:], 2):
        if line.strip() == "---":
            return found, number
        if line[:1].isspace() and last:
            found[last] += "\n" + line.strip()
            continue
        name, colon, value = line.partition(":")
        if colon:
            last = name.strip()
            found[last] = value.strip()
    return None


def unquoted(value: str) -> str:
    """A field's text, also where it is quoted."""
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return str(json.loads(value))
        except ValueError:
            return value[1:-1]
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == "'" else value
