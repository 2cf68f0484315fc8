"""Every strict rule of memory_summary.md, held against a file; whoever wrote it."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from byheart.domain.handbook import MEMORY, SUMMARY
from byheart.domain.values import dataclass
from byheart.handbook.checking import SKILL_LINK, Report, check_skill_name, named_lines
from byheart.handbook.memory import Part, outlined
from byheart.handbook.phrases import BOLD, CODE, is_placeholder
from byheart.handbook.summary import DAY, INDEX, OLDER, PREFERENCES, PROFILE, PROFILE_WORDS, SECTIONS, TIPS, VERSION
from byheart.text.similarity import normalised

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RECENT_DAYS = 3
_TOPIC = re.compile(r"^- (?P<label>.+?): (?P<words>\S.*)$")
_DETAIL = re.compile(r"^\s+- (?P<name>desc|learnings): ?(?P<value>.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Topic:
    line: int
    label: str
    words: tuple[str, ...]
    details: dict[str, str]
    is_recent: bool


def check_summary(report: Report, blocks: Sequence[Part]) -> None:
    """Hold memory_summary.md to its rules; `blocks` are those of MEMORY.md."""
    text = report.files[SUMMARY]
    tree = outlined(text)
    front = [(number, line) for number, line in tree.lines if line.strip()]
    if front and not (front[0] == (1, VERSION) and len(front) == 1):
        report.add(
            "summary-start",
            f"the file must begin with ## {PROFILE} (or with {VERSION}, as newer ones do)",
            SUMMARY,
            front[0][0],
        )
    titles = [(part.level, part.title) for part in tree.parts]
    if titles != [(2, title) for title in SECTIONS]:
        report.add(
            "summary-sections",
            f"the file must have ## {', ## '.join(SECTIONS)}, in this order and nothing else",
            SUMMARY,
            tree.parts[0].line if tree.parts else 1,
        )
    by_title = {part.title: part for part in tree.parts}
    if PROFILE in by_title:
        _profile(report, by_title[PROFILE], text)
    for title in (PREFERENCES, TIPS):
        if title in by_title:
            _bullets(report, by_title[title])
    if INDEX in by_title:
        _index(report, by_title[INDEX], blocks)
    for number, line in enumerate(text.split("\n"), 1):
        if BOLD.search(CODE.sub("", line)):
            report.add("bold", "no bold text in memory", SUMMARY, number)
        for skill in SKILL_LINK.finditer(line):
            check_skill_name(report, skill["name"], SUMMARY, number)


def _profile(report: Report, part: Part, text: str) -> None:
    lines = text.split("\n")
    last = next((other.line for other in outlined(text).parts if other.line > part.line), len(lines) + 1)
    words = sum(len(line.split()) for line in lines[part.line : last - 1])
    if words > PROFILE_WORDS:
        report.add("profile-length", f"{words} words; at most {PROFILE_WORDS} are allowed", SUMMARY, part.line)
    if not words:
        report.add("empty", f"## {PROFILE} is empty", SUMMARY, part.line)


def _bullets(report: Report, part: Part) -> None:
    known: dict[str, int] = {}
    for below in part.parts:
        report.add("shape", f"### {below.title[:60]}: bullets stand here, no headings", SUMMARY, below.line)
    for number, line in named_lines(part):
        if not line.startswith(("- ", "  ", "\t")):
            report.add("bullets", "lists here are made of - bullets", SUMMARY, number)
        elif line.startswith("- "):
            core = normalised(line[2:])
            if core in known:
                report.add("twice", f"said in line {known[core]} already", SUMMARY, number)
            known.setdefault(core, number)


def _index(report: Report, part: Part, blocks: Sequence[Part]) -> None:
    topics: list[_Topic] = []
    days: set[str] = set()
    for number, line in named_lines(part):
        report.add(
            "shape",
            f"below ## {INDEX} stand ### parts by scope, and topics in them: {line.strip()[:40]}",
            SUMMARY,
            number,
        )
    is_older = False
    for scope in part.parts:
        if is_older:
            report.add("order", f"### {OLDER} must be the last part", SUMMARY, scope.line)
        if scope.title.casefold() == OLDER.casefold():
            is_older = True
            topics += _older(report, scope)
            continue
        if is_placeholder(scope.title):
            report.add("placeholder", "the scope says nothing; name a folder or a project", SUMMARY, scope.line)
        topics += _recent(report, scope, days)
    if not is_older:
        report.add("summary-sections", f"### {OLDER} is missing", SUMMARY, part.line)
    if len(days) > RECENT_DAYS:
        report.add(
            "recent-days",
            f"{len(days)} days; the recent window has the last {RECENT_DAYS} days with memory",
            SUMMARY,
            part.line,
        )
    _across(report, topics, blocks, part.line)


def _recent(report: Report, scope: Part, days: set[str]) -> Iterator[_Topic]:
    for number, _ in named_lines(scope):
        report.add("shape", "topics stand below a day, #### YYYY-MM-DD", SUMMARY, number)
    last = ""
    for part in scope.parts:
        if not DAY.match(part.title) or not _is_day(part.title):
            report.add("day", f"#### {part.title[:40]} is no day, YYYY-MM-DD", SUMMARY, part.line)
            continue
        if last and part.title >= last:
            report.add("order", "days stand newest first", SUMMARY, part.line)
        last = part.title
        days.add(part.title)
        yield from _topics(report, part, is_recent=True)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _older(report: Report, part: Part) -> Iterator[_Topic]:
    for number, line in named_lines(part):
        report.add("shape", f"older topics stand below their scope, #### …: {line.strip()[:40]}", SUMMARY, number)
    for scope in part.parts:
        yield from _topics(report, scope, is_recent=False)


def _topics(report: Report, part: Part, *, is_recent: bool) -> Iterator[_Topic]:
    opened: _Topic | None = None
    for number, line in named_lines(part):
        found, detail = _TOPIC.match(line), _DETAIL.match(line)
        if found:
            if opened:
                yield _closed(report, opened)
            words = tuple(word.strip() for word in found["words"].split(","))
            opened = _Topic(line=number, label=found["label"].strip(), words=words, details={}, is_recent=is_recent)
        elif detail and opened:
            opened.details[detail["name"]] = detail["value"].strip()
        else:
            report.add(
                "topic",
                "a topic is - topic: keyword, keyword … with - desc: and - learnings: below it",
                SUMMARY,
                number,
            )
    if opened:
        yield _closed(report, opened)


def _closed(report: Report, topic: _Topic) -> _Topic:
    if not topic.details.get("desc"):
        report.add("topic", f"{topic.label!r} has no desc:", SUMMARY, topic.line)
    if topic.is_recent and not topic.details.get("learnings"):
        report.add("topic", f"{topic.label!r} is recent and has no learnings:", SUMMARY, topic.line)
    if is_placeholder(topic.label) or any(is_placeholder(word) for word in topic.words):
        report.add("placeholder", "the topic or one of its keywords says nothing", SUMMARY, topic.line)
    return topic


def _across(report: Report, topics: Sequence[_Topic], blocks: Sequence[Part], line: int) -> None:
    """What holds between the index and MEMORY.md: no topic twice, keywords that can be found, every block covered."""
    known: dict[str, int] = {}
    handbook = report.files.get(MEMORY, "").casefold()
    for topic in topics:
        label = normalised(topic.label)
        if label in known:
            report.add("twice", f"the topic {topic.label!r} is in line {known[label]} already", SUMMARY, topic.line)
        known.setdefault(label, topic.line)
        lost = [word for word in topic.words if word.strip("`\"' ").casefold() not in handbook]
        if lost:
            report.add("keyword-search", f"not to be found in {MEMORY}: {', '.join(lost[:4])}", SUMMARY, topic.line)
    told = " ".join(" ".join((topic.label, *topic.words, topic.details.get("desc", ""))) for topic in topics)
    plain = _letters(told)
    words = {word.strip("`\"' ").casefold() for topic in topics for word in topic.words}
    texts = report.files.get(MEMORY, "").casefold().split("\n")
    for place, block in enumerate(blocks):
        name = block.title.removeprefix("Task Group:").strip()
        if _letters(name) in plain:
            continue
        end = blocks[place + 1].line - 1 if place + 1 < len(blocks) else len(texts)
        own = "\n".join(texts[block.line - 1 : end])
        if sum(word in own for word in words if len(word) > 3) < 2:
            report.add("coverage", f"no topic leads to the block {name!r} of {MEMORY}", SUMMARY, line)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()
