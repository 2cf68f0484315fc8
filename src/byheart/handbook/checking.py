"""Every strict rule of MEMORY.md, held against a file; whoever wrote it."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from byheart.domain.handbook import MEMORY, ROLLOUTS
from byheart.domain.results import Finding
from byheart.domain.values import dataclass, field
from byheart.handbook.memory import FILES, KEYWORDS, RELATED, SECTIONS, Part, core_of, outlined, source_of
from byheart.handbook.phrases import BOLD, CODE, is_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TASK = re.compile(r"Task (?P<n>\d+):?\s*(?P<title>.*)\Z")
_REF = re.compile(r"\[Task (\d+)\]")
# How a skill of the handbook is pointed to; other paths may be files of the project.
SKILL_LINK = re.compile(r"(?:Related skill: |memory://root/)skills/(?P<name>[^/\s`)]+)/SKILL\.md")


@dataclass(slots=True)
class Report:
    """Findings about the files of one handbook. `files` maps their paths in it to their texts."""

    files: Mapping[str, str]
    found: list[Finding] = field(default_factory=list)

    def add(self, rule: str, message: str, path: str, line: int | None = None, severity: str = "error") -> None:
        """One more thing that is wrong."""
        self.found.append(Finding(rule=rule, message=message, place=path, line=line, severity=severity))


def check_memory(report: Report) -> list[Part]:
    """Hold MEMORY.md to its rules; its blocks."""
    text = report.files[MEMORY]
    tree = outlined(text)
    for number, line in tree.lines:
        if line.strip():
            report.add(
                "block-start",
                "the file must begin with a block, # Task Group: …; this stands before it",
                MEMORY,
                number,
            )
            break
    blocks = []
    names: dict[str, int] = {}
    for part in tree.parts:
        if part.level != 1 or not part.title.startswith("Task Group:"):
            report.add(
                "block-start",
                f"{'#' * part.level} {part.title[:60]}: only # Task Group: … may stand here",
                MEMORY,
                part.line,
            )
            continue
        blocks.append(part)
        name = part.title.removeprefix("Task Group:").strip()
        if is_placeholder(name):
            report.add(
                "placeholder", "the block's name says nothing; name the folder, project or workflow", MEMORY, part.line
            )
        if name.casefold() in names:
            report.add(
                "twice", f"the block {name!r} is there twice, first in line {names[name.casefold()]}", MEMORY, part.line
            )
        names.setdefault(name.casefold(), part.line)
        _block(report, part)
    _style(report, MEMORY, text)
    return blocks


def _block(report: Report, block: Part) -> None:
    _header(report, block)
    tasks: dict[int, Part] = {}
    seen_section = ""
    order = [title.casefold() for title in SECTIONS]
    last = -1
    for part in block.parts:
        task = _TASK.match(part.title)
        if part.level == 2 and task:
            if seen_section:
                report.add("order", f"tasks stand before ## {seen_section}, not behind it", MEMORY, part.line)
            number = int(task["n"])
            if number != len(tasks) + 1:
                report.add("numbering", f"this is the block's task {len(tasks) + 1}, not {number}", MEMORY, part.line)
            tasks[number] = part
            if is_placeholder(task["title"]) or is_placeholder(task["title"].rpartition(",")[0] or task["title"]):
                report.add("placeholder", "the task's description says nothing", MEMORY, part.line)
            _task(report, part)
        elif part.level == 2 and part.title.casefold() in order:
            place = order.index(part.title.casefold())
            if place == last:
                report.add("twice", f"## {part.title} is there twice in this block", MEMORY, part.line)
            elif place < last:
                report.add("order", f"## {part.title} must stand before ## {seen_section}", MEMORY, part.line)
            last, seen_section = max(last, place), part.title
        else:
            report.add(
                "shape",
                f"{'#' * part.level} {part.title[:60]}: a block has tasks, {', '.join(SECTIONS)}, and nothing else",
                MEMORY,
                part.line,
            )
    if not tasks:
        report.add("no-task", "a block needs at least one ## Task 1: …", MEMORY, block.line)
    for part in block.parts:
        if part.level == 2 and part.title.casefold() in order:
            _guidance(report, part, set(tasks))


def _header(report: Report, block: Part) -> None:
    lines = [(number, line.strip()) for number, line in block.lines if line.strip()]
    scope = lines[0] if lines else None
    if scope is None or not scope[1].startswith("scope:"):
        report.add("scope", "scope: must stand right below the block's name", MEMORY, scope[0] if scope else block.line)
    elif is_placeholder(scope[1].removeprefix("scope:")):
        report.add("placeholder", "scope: says nothing; say what the block covers and when to use it", MEMORY, scope[0])
    applies = next(((number, line) for number, line in lines if line.startswith("applies_to:")), None)
    if applies is None:
        report.add("applies-to", "applies_to: cwd=…; reuse_rule=… is missing", MEMORY, block.line)
    else:
        for name in ("cwd=", "reuse_rule="):
            if name not in applies[1]:
                report.add("applies-to", f"applies_to: has no {name}", MEMORY, applies[0])
            elif not applies[1].partition(name)[2].partition("; reuse_rule=")[0].strip():
                report.add("placeholder", f"{name} of applies_to: is empty", MEMORY, applies[0])
    for number, line in lines:
        if not line.startswith(("scope:", "applies_to:")):
            report.add(
                "shape", "only scope: and applies_to: stand between a block's name and its first task", MEMORY, number
            )


def _task(report: Report, task: Part) -> None:
    for number, line in task.lines:
        if line.strip() and not line.strip().startswith(f"- {RELATED}"):
            report.add(
                "shape", "below a task's name stand its ### parts, and bullets that point to a skill", MEMORY, number
            )
    names = [part.title for part in task.parts]
    for wanted in (FILES, KEYWORDS):
        if names.count(wanted) != 1:
            report.add("task-parts", f"a task needs ### {wanted}, once", MEMORY, task.line)
    if FILES in names and KEYWORDS in names and names.index(FILES) > names.index(KEYWORDS):
        report.add("order", f"### {FILES} stands before ### {KEYWORDS}", MEMORY, task.line)
    for part in task.parts:
        if part.title == FILES:
            _sources(report, part)
        elif part.title == KEYWORDS:
            _keywords(report, part)
        else:
            report.add("shape", f"### {part.title[:60]}: a task has {FILES} and {KEYWORDS} only", MEMORY, part.line)


def _sources(report: Report, part: Part) -> None:
    known: dict[str, int] = {}
    any_line = False
    for number, line in part.lines:
        if not line.strip():
            continue
        any_line = True
        source = source_of(line)
        if source is None:
            report.add(
                "source",
                f"not spelled as - {ROLLOUTS}/….md (cwd=…, rollout_path=…, updated_at=…, thread_id=…)",
                MEMORY,
                number,
            )
            continue
        for name, value in (("cwd", source.cwd), ("rollout_path", source.path), ("updated_at", source.updated)):
            if not value:
                report.add("source", f"{name}= is missing", MEMORY, number)
        if source.updated and not _is_moment(source.updated):
            report.add("source", "updated_at= is no time", MEMORY, number)
        if not source.file.startswith(f"{ROLLOUTS}/") or ".." in source.file.split("/"):
            report.add("source", f"a task rests on files in {ROLLOUTS}/ only", MEMORY, number)
        elif source.file not in report.files:
            report.add("dangling", f"{source.file} does not exist", MEMORY, number)
        if source.file in known:
            report.add("twice", f"named in line {known[source.file]} of this task already", MEMORY, number)
        known.setdefault(source.file, number)
    if not any_line:
        report.add("source", "a task must name at least one rollout summary", MEMORY, part.line)


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        return text.strip().isdigit()
    return True


def _keywords(report: Report, part: Part) -> None:
    lines = [(number, line) for number, line in part.lines if line.strip()]
    if len(lines) != 1 or not lines[0][1].startswith("- "):
        report.add("keywords", "keywords are one bullet with commas", MEMORY, lines[0][0] if lines else part.line)
        return
    words = [word.strip() for word in lines[0][1][2:].split(",")]
    if any(is_placeholder(word) for word in words):
        report.add("placeholder", "a keyword is empty or says nothing", MEMORY, lines[0][0])


def _guidance(report: Report, part: Part, tasks: set[int]) -> None:
    known: dict[str, int] = {}
    any_line = False
    for below in part.parts:
        report.add(
            "shape", f"{'#' * below.level} {below.title[:60]}: bullets stand here, no headings", MEMORY, below.line
        )
    for number, line in part.lines:
        if not line.strip():
            continue
        if not line.startswith(("- ", "  ", "\t")):
            report.add("bullets", "lists here are made of - bullets", MEMORY, number)
            continue
        any_line = True
        for ref in _REF.findall(line):
            if int(ref) not in tasks:
                report.add("task-ref", f"[Task {ref}] is no task of this block", MEMORY, number)
        core = core_of(line).casefold()
        if line.startswith("- ") and core in known:
            report.add("twice", f"said in line {known[core]} already", MEMORY, number)
        known.setdefault(core, number)
    if not any_line and not part.parts:
        report.add("empty", f"## {part.title} is empty; leave it out instead", MEMORY, part.line)


def _style(report: Report, path: str, text: str) -> None:
    """What holds for every line: - for bullets, no bold; skills that are named exist."""
    for number, line in enumerate(text.split("\n"), 1):
        plain = CODE.sub("", line)
        if re.match(r"\s*[*+] \S", line):
            report.add("bullets", "bullets begin with -, not with * or +", path, number)
        # Folders may be called anything.
        if BOLD.search(plain) and not line.startswith(("applies_to:", f"- {ROLLOUTS}/", f"- <{ROLLOUTS}/")):
            report.add("bold", "no bold text in memory", path, number)
        for skill in SKILL_LINK.finditer(line):
            check_skill_name(report, skill["name"], path, number)


def check_skill_name(report: Report, name: str, path: str, line: int) -> None:
    """A skill that is pointed to: it exists, under a name that skills may have."""
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name):
        report.add("skill-name", f"{name!r}: skills have lower-case names with hyphens", path, line)
    elif f"skills/{name}/SKILL.md" not in report.files:
        report.add("dangling", f"skills/{name}/SKILL.md does not exist", path, line)


def named_lines(part: Part) -> Iterator[tuple[int, str]]:
    """The lines of a part that hold something."""
    return ((number, line) for number, line in part.lines if line.strip())
