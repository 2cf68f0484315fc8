"""memory_summary.md, which every session is told, and SKILL.md, a procedure that repeats, as agents take it in."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from byheart.handbook.phrases import keywords, one_line, title_line
from byheart.text.similarity import normalised

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from byheart.domain.handbook import Overview, Skill, Topic

RELATED = "Related skill: "
PROFILE, PREFERENCES, TIPS, INDEX = "User Profile", "User preferences", "General Tips", "What's in Memory"
SECTIONS = (PROFILE, PREFERENCES, TIPS, INDEX)
OLDER = "Older Memory Topics"
PROFILE_WORDS = 500
# What Codex has put in front of its summaries since mid 2026.
VERSION = "v1"
DAY = re.compile(r"\d{4}-\d\d-\d\d\Z")


def rendered(overview: Overview) -> str:
    """The file."""
    return "\n".join(_lines(overview)).rstrip("\n") + "\n"


def _lines(overview: Overview) -> Iterator[str]:
    yield f"## {PROFILE}"
    yield ""
    yield from _within([one_line(line) for line in overview.profile], PROFILE_WORDS)
    yield ""
    for title, lines in ((PREFERENCES, overview.preferences), (TIPS, overview.tips)):
        yield f"## {title}"
        yield ""
        if lines:
            yield from (f"- {line}" for line in _once(lines))
            yield ""
    yield f"## {INDEX}"
    yield ""
    for scope, days in overview.recent:
        yield f"### {title_line(scope, 'this project')}"
        yield ""
        for day, topics in days:
            yield f"#### {day}"
            yield ""
            for topic in topics:
                yield from _topic(topic)
            yield ""
    yield f"### {OLDER}"
    yield ""
    for scope, topics in overview.older:
        yield f"#### {one_line(scope)}"
        yield ""
        for topic in topics:
            yield from _topic(topic)
        yield ""


def _once(lines: Sequence[str]) -> list[str]:
    """Each line once; what differs in case and spaces alone is the same."""
    known: dict[str, str] = {}
    for line in lines:
        plain = f"{RELATED}{one_line(line[len(RELATED) :])}" if line.startswith(RELATED) else one_line(line)
        known.setdefault(normalised(plain), plain)
    return list(known.values())


def _within(lines: Sequence[str], words: int) -> Iterator[str]:
    """As many whole lines as have no more words than this."""
    left = words
    for line in lines:
        left -= len(line.split())
        if left < 0:
            return
        yield line


def _topic(topic: Topic) -> Iterator[str]:
    yield f"- {title_line(topic.label, 'sessions without a name')}: {', '.join(keywords(topic.keywords))}"
    yield f"  - desc: {one_line(topic.description)}"
    if topic.learnings:
        yield f"  - learnings: {one_line(topic.learnings)}"


def without_version(text: str) -> str:
    """The text without the line that tells which era it is of."""
    first, _, rest = text.partition("\n")
    return rest.lstrip("\n") if first.strip() == VERSION else text


NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
NAME_LENGTH, DESCRIPTION_LENGTH, LINES = 64, 400, 500
SKILL_SECTIONS = (
    "When to use",
    "Inputs and context to gather",
    "Procedure",
    "Efficiency plan",
    "Pitfalls and fixes",
    "Verification checklist",
)


def rendered_skill(skill: Skill) -> str:
    """The entry file of a skill."""
    return "\n".join(_skill_lines(skill)).rstrip("\n") + "\n"


def _skill_lines(skill: Skill) -> Iterator[str]:
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
    yield from _list(SKILL_SECTIONS[0], [*skill.triggers, *(f"Not for: {each}" for each in skill.non_goals)])
    yield from _list(SKILL_SECTIONS[1], skill.inputs)
    yield f"## {SKILL_SECTIONS[2]}"
    yield ""
    yield from (f"{number}. {one_line(step)}" for number, step in enumerate(skill.steps, 1))
    yield ""
    yield from _list(SKILL_SECTIONS[3], skill.efficiency)
    yield from _list(SKILL_SECTIONS[4], [f"{each.symptom} -> {each.cause} -> {each.fix}" for each in skill.pitfalls])
    yield from _list(SKILL_SECTIONS[5], [f"[ ] {check}" for check in skill.checks])


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
