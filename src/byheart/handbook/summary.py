"""memory_summary.md: what every session is told, and where the rest can be found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.handbook.phrases import keywords, one_line, title_line
from byheart.text.similarity import normalised

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from byheart.domain.handbook import Overview, Topic

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
