"""MEMORY.md: blocks of tasks, and what was learnt from them; written, and read back with the line that each part stands in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.domain.handbook import Group, GroupTask, Guidance, Source
from byheart.domain.values import dataclass, field
from byheart.handbook.phrases import keywords, one_line, path_line, title_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PREFERENCES, KNOWLEDGE = "User preferences", "Reusable knowledge"
FAILURES = "Failures and how to do differently"
SECTIONS = (PREFERENCES, KNOWLEDGE, FAILURES)
FILES, KEYWORDS = "rollout_summary_files", "keywords"
RELATED = "Related skill: "
_ENTRY = re.compile(r"^- <?(?P<file>[^\s<>()]+)>? \((?P<facts>.*)\)\s*$")
_KEYS = ("cwd", "rollout_path", "updated_at", "thread_id")


def rendered(groups: Sequence[Group]) -> str:
    """The file, from blocks in the order they should stand in."""
    return "\n".join("\n".join(_block(group)) for group in groups)


def _block(group: Group) -> Iterator[str]:
    yield f"# Task Group: {title_line(group.name, 'sessions without a name')}"
    yield f"scope: {title_line(group.scope, 'work of this project')}"
    yield f"applies_to: cwd={path_line(group.cwd)}; reuse_rule={one_line(group.reuse)}"
    yield ""
    for number, task in enumerate(group.tasks, 1):
        yield from _task(number, task)
    for title, lines in zip(SECTIONS, (group.preferences, group.knowledge, group.failures), strict=True):
        if lines:
            yield f"## {title}"
            yield ""
            yield from _once(guidance_line(each) for each in lines)
            yield ""


def _once(lines: Iterable[str]) -> Iterator[str]:
    """Each line once, by what it says."""
    known: set[str] = set()
    for line in lines:
        core = core_of(line).casefold()
        if core not in known:
            known.add(core)
            yield line


def _task(number: int, task: GroupTask) -> Iterator[str]:
    yield f"## Task {number}: {title_line(task.title, 'a request without words')}, {task.outcome.value}"
    yield ""
    if task.skills:
        yield from (f"- {RELATED}skills/{name}/SKILL.md" for name in task.skills)
        yield ""
    yield f"### {FILES}"
    yield ""
    yield from (source_line(source) for source in task.sources)
    yield ""
    yield f"### {KEYWORDS}"
    yield ""
    yield f"- {', '.join(keywords(task.keywords))}"
    yield ""


def source_line(source: Source) -> str:
    """A summary that a task rests on, with where and when it was."""
    facts = [
        f"cwd={path_line(source.cwd)}",
        f"rollout_path={path_line(source.path)}",
        f"updated_at={source.updated}",
        f"thread_id={source.thread}",
    ]
    if source.note:
        facts.append(one_line(source.note))
    return f"- {source.file} ({', '.join(facts)})"


def guidance_line(line: Guidance) -> str:
    """A line of the shared sections: what it says, which tasks say so, and in which turns."""
    tasks = "".join(f"[Task {number}]" for number in line.support.tasks)
    cites = f" ({', '.join(line.support.cites)})" if line.support.cites else ""
    return f"- {one_line(line.text)}{' ' + tasks if tasks else ''}{cites}"


_TAIL = re.compile(r"(?:\s*\[Task \d+\])*(?:\s*\([^()\s]+#\d+(?:, [^()\s]+#\d+)*(?:, in \d+ sessions)?\))?\s*$")


def core_of(line: str) -> str:
    """What a line says, without its mark, its tasks and its turns: those change while it stays the same line."""
    text = line.strip()
    text = text[2:] if text[:2] in ("- ", "* ", "+ ") else text
    return _TAIL.sub("", text)


@dataclass(slots=True)
class Part:
    """A heading of a file that was read, its lines up to the next heading, and what is below it. `line` is the heading's."""

    level: int
    title: str
    line: int
    lines: list[tuple[int, str]] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    def walk(self) -> Iterator[Part]:
        """This part and everything below it."""
        yield self
        for part in self.parts:
            yield from part.walk()


_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*$")


def outlined(text: str) -> Part:
    """A Markdown file as a tree of its headings. Lines in code fences are no headings."""
    top = Part(0, "", 0)
    path = [top]
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        heading = None if fenced else _HEADING.match(line)
        if heading is None:
            path[-1].lines.append((number, line))
            continue
        part = Part(len(heading[1]), heading[2], number)
        while path[-1].level >= part.level:
            path.pop()
        path[-1].parts.append(part)
        path.append(part)
    return top


def source_of(line: str) -> Source | None:
    """The summary that a line of `rollout_summary_files` names; None where it is spelled otherwise."""
    found = _ENTRY.match(line.strip())
    if found is None:
        return None
    facts, rest = {}, found["facts"]
    # Paths may hold commas: each value goes up to the next name that is due.
    for key, after in zip(_KEYS, (*_KEYS[1:], None), strict=True):
        start = re.search(rf"(?:^|, ){key}=", rest)
        if start is None:
            continue
        end = None
        for later in _KEYS[_KEYS.index(key) + 1 :]:
            end = re.search(rf", {later}=", rest[start.end() :])
            if end:
                break
        value = rest[start.end() :] if end is None else rest[start.end() : start.end() + end.start()]
        if after is None or end is None:
            value, _, note = value.partition(", ") if key in ("thread_id", "updated_at") else (value, "", "")
            if note:
                facts["note"] = note
        facts[key] = value.strip()
    return Source(
        file=found["file"],
        cwd=facts.get("cwd", ""),
        path=facts.get("rollout_path", ""),
        updated=facts.get("updated_at", ""),
        thread=facts.get("thread_id", ""),
        note=facts.get("note", ""),
    )
