"""What phase 1 hands over: raw memories and rollout summaries, and raw_memories.md, in which the former are merged."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import zip_longest
from typing import TYPE_CHECKING

from byheart.domain.handbook import ROLLOUTS, Bullet, Extract, Outcome, Task, Written
from byheart.domain.values import dataclass, replace
from byheart.handbook.phrases import bullet_line, bullet_of, keywords, one_line, path_line, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PREFERENCES, KNOWLEDGE = "Preference signals:", "Reusable knowledge:"
FAILURES, REFERENCES = "Failures and how to do differently:", "References:"
STEPS = "Key steps:"
SECTIONS = {PREFERENCES: "preferences", KNOWLEDGE: "knowledge", FAILURES: "failures", REFERENCES: "references"}
FRONT = ("description", "task", "task_group", "task_outcome", "cwd", "keywords")
NONE_YET = "# Raw Memories\n\nNo raw memories yet.\n"
_TITLE = "# Raw Memories\n\nMerged stage-1 raw memories (latest first):\n\n"
_THREAD = re.compile(
    r"^## Thread `(?P<id>[^`\n]+)`[ \t]*$|^## (?P<bare>[0-9A-Za-z][0-9A-Za-z_.:-]{7,})[ \t]*$", re.MULTILINE
)
_TASK = re.compile(r"^### Task (?P<n>\d+): *(?P<name>.*)$")
_FIELD = re.compile(r"^(?P<name>[a-z_]+): ?(?P<value>.*)$")


def raw_memory(extract: Extract) -> str:
    """A session's raw memory. A turn's number in brackets says where it was said."""
    lines = [
        "---",
        f"description: {one_line(extract.description)}",
        f"task: {one_line(extract.task)}",
        f"task_group: {one_line(extract.group)}",
        f"task_outcome: {extract.outcome.value}",
        f"cwd: {path_line(extract.cwd)}",
        f"keywords: {', '.join(keywords(extract.keywords))}",
        "---",
        "",
    ]
    for number, task in enumerate(extract.tasks, 1):
        lines += [
            f"### Task {number}: {one_line(task.name)}",
            "",
            f"task: {one_line(task.name)}",
            f"task_group: {one_line(task.group)}",
            f"task_outcome: {task.outcome.value}",
            "",
        ]
        for title, name in SECTIONS.items():
            lines += _section(title, getattr(task, name))
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(title: str, bullets: Sequence[Bullet]) -> list[str]:
    return [title, *(bullet_line(bullet) for bullet in bullets), ""] if bullets else []


def rollout_summary(extract: Extract) -> str:
    """A session told once more, task by task, with what it rests on."""
    lines = [f"# {one_line(extract.headline or extract.description)}", ""]
    if extract.context:
        lines += [f"Rollout context: {one_line(extract.context)}", ""]
    for number, task in enumerate(extract.tasks, 1):
        lines += [f"## Task {number}: {one_line(task.name)}", "", f"Outcome: {task.outcome.value}", ""]
        lines += _section(PREFERENCES, task.preferences)
        lines += _section(STEPS, task.steps)
        lines += _section(FAILURES, task.failures)
        lines += _section(KNOWLEDGE, task.knowledge)
        if task.references:
            lines += [
                REFERENCES,
                *(f"- [{n}] {bullet_line(each)[2:]}" for n, each in enumerate(task.references, 1)),
                "",
            ]
    return "\n".join(lines).rstrip("\n") + "\n"


def parsed_raw(text: str) -> Extract:
    """The extract that a raw memory spells. Whoever wrote it: what is missing is empty, what is unknown is passed over."""
    front, body = _front(text)
    tasks = list(_tasks(body, front))
    outcome = _outcome(front.get("task_outcome", ""))
    return Extract(
        description=front.get("description", ""),
        task=front.get("task", "") or (tasks[0].name if tasks else ""),
        group=front.get("task_group", ""),
        outcome=outcome,
        cwd=front.get("cwd", "unknown"),
        keywords=keywords(front.get("keywords", "").split(",")),
        tasks=tuple(tasks),
    )


def _front(text: str) -> tuple[dict[str, str], list[str]]:
    lines = text.strip().split("\n")
    if not lines or lines[0].strip() != "---":
        return {}, lines
    found: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 1):
        if line.strip() == "---":
            return found, lines[number + 1 :]
        field = _FIELD.match(line)
        if field:
            found[field["name"]] = field["value"].strip()
    return found, []


def _tasks(lines: Iterable[str], front: dict[str, str]) -> Iterator[Task]:
    open_task: Task | None = None
    section = ""
    held: dict[str, list[Bullet]] = {}
    for line in lines:
        heading = _TASK.match(line.strip())
        if heading:
            if open_task is not None:
                yield _closed(open_task, held)
            name = heading["name"].strip()
            open_task = Task(name=name, group=front.get("task_group", ""), outcome=Outcome.UNCERTAIN)
            section, held = "", {}
        elif open_task is None:
            continue
        elif line.strip() in SECTIONS:
            section = SECTIONS[line.strip()]
        elif section and line.lstrip()[:2] in ("- ", "* "):
            held.setdefault(section, []).append(bullet_of(line))
        elif field := _FIELD.match(line.strip()):
            open_task = _with_field(open_task, field["name"], field["value"].strip())
    if open_task is not None:
        yield _closed(open_task, held)


def _with_field(task: Task, name: str, value: str) -> Task:
    if name == "task_group" and value:
        return replace(task, group=value)
    if name == "task_outcome":
        return replace(task, outcome=_outcome(value))
    return task


def _closed(task: Task, held: dict[str, list[Bullet]]) -> Task:
    return replace(task, **{name: tuple(bullets) for name, bullets in held.items()})  # type: ignore[arg-type]


def _outcome(text: str) -> Outcome:
    word = text.strip().split(" ")[0].strip(".,;|").casefold()
    return Outcome(word) if word in tuple(Outcome) else Outcome.UNCERTAIN


def merged(every: Sequence[Written]) -> str:
    """raw_memories.md, the newest thread first: whoever reads it goes by that."""
    if not every:
        return NONE_YET
    parts = [_TITLE]
    for each in sorted(every, key=lambda one: (-one.thread.updated.timestamp(), one.thread.id)):
        thread = each.thread
        parts.append(
            f"## Thread `{thread.id}`\n"
            f"updated_at: {stamp(thread.updated)}\n"
            f"cwd: {path_line(thread.cwd)}\n"
            f"rollout_path: {path_line(thread.path)}\n"
            f"rollout_summary_file: {file_of(each)}\n\n"
            f"{each.raw_memory.strip()}\n\n"
        )
    return "".join(parts)


def rollout_file(each: Written) -> str:
    """A rollout summary with its head, as it lies in rollout_summaries/."""
    thread = each.thread
    head = [
        f"thread_id: {thread.id}",
        f"updated_at: {stamp(thread.updated)}",
        f"rollout_path: {path_line(thread.path)}",
        f"cwd: {path_line(thread.cwd)}",
    ]
    if thread.branch:
        head.append(f"git_branch: {one_line(thread.branch)}")
    return "\n".join(head) + f"\n\n{each.rollout_summary.strip()}\n"


def file_of(each: Written) -> str:
    """The name of a thread's summary file, without its folder."""
    return f"{stem(each.thread.id, each.thread.updated, each.slug)}.md"


def cite_of(each: Written) -> str:
    """A thread's summary file as MEMORY.md names it."""
    return f"{ROLLOUTS}/{file_of(each)}"


def stamp(at: datetime) -> str:
    """A moment as these files spell it: in UTC, to the second."""
    return at.astimezone(UTC).replace(microsecond=0).isoformat()


@dataclass(frozen=True, slots=True, kw_only=True)
class RawThread:
    """A thread's part of raw_memories.md: its line there, its head, and its raw memory."""

    id: str
    line: int
    head: dict[str, str]
    raw_memory: str


def parsed_merge(text: str) -> list[RawThread]:
    """The threads of a raw_memories.md, of Codex's making or of oh-my-pi's."""
    found = []
    places = list(_THREAD.finditer(text))
    for place, after in zip_longest(places, places[1:]):
        body = text[place.end() : after.start() if after else len(text)].lstrip("\n")
        head: dict[str, str] = {}
        lines = body.split("\n")
        taken = 0
        for line in lines:
            field = _FIELD.match(line)
            if field is None:
                break
            head[field["name"]] = field["value"].strip()
            taken += 1
        line_number = text.count("\n", 0, place.start()) + 1
        raw = "\n".join(lines[taken:]).strip()
        found.append(RawThread(id=place["id"] or place["bare"], line=line_number, head=head, raw_memory=raw))
    return found


def parsed_rollout(text: str) -> tuple[dict[str, str], str]:
    """The head of a rollout summary file, and the summary."""
    head: dict[str, str] = {}
    lines = text.split("\n")
    for number, line in enumerate(lines):
        field = _FIELD.match(line)
        if field is None:
            return head, "\n".join(lines[number:]).strip("\n")
        head[field["name"]] = field["value"].strip()
    return head, ""
