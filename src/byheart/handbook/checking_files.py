"""The rules of what stands around a handbook's two main files: raw memories, rollout summaries, skills, notes; and all of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.domain.handbook import EXTENSIONS, MEMORY, RAW, ROLLOUTS, SKILLS, SUMMARY, Outcome
from byheart.handbook import raw, skills
from byheart.handbook.checking import Report, check_memory
from byheart.handbook.checking_summary import check_summary
from byheart.handbook.memory import outlined
from byheart.handbook.stems import STEM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from byheart.domain.results import Finding

_ROLLOUT = ("thread_id", "updated_at", "rollout_path", "cwd")
_THREAD = ("updated_at", "cwd", "rollout_path", "rollout_summary_file")
_SKILL_FIELDS = frozenset(
    "name description argument-hint disable-model-invocation user-invocable allowed-tools context agent model license metadata version".split()
)
_NOTE = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:-[A-Za-z0-9-]{1,80})?\.md\Z")
_FOLDERS = ("scripts", "templates", "examples")
# What a skill is asked to have; headings may be worded a little differently.
_ASKED = (
    ("when to use", r"when to use|triggers?"),
    ("inputs", r"inputs?|context"),
    ("procedure", r"procedure|steps"),
    ("efficiency plan", r"efficien"),
    ("pitfalls and fixes", r"pitfall|failure"),
    ("verification", r"verif|checklist"),
)


def check(files: Mapping[str, str]) -> list[Finding]:
    """Everything that is wrong with the files of a handbook, by their paths in it."""
    report = Report(files)
    blocks = []
    if MEMORY in files:
        blocks = check_memory(report)
    else:
        report.add("missing", f"{MEMORY} is missing", MEMORY)
    if SUMMARY in files:
        check_summary(report, blocks)
    else:
        report.add("missing", f"{SUMMARY} is missing", SUMMARY)
    if RAW in files:
        _raw(report)
    for path in files:
        folder, _, rest = path.partition("/")
        if folder == ROLLOUTS:
            _rollout(report, path, rest)
        elif folder == SKILLS and rest.endswith("/SKILL.md") and rest.count("/") == 1:
            _skill(report, path, rest.split("/")[0])
        elif folder == SKILLS:
            _supporting(report, path, rest)
        elif folder == EXTENSIONS:
            _extension(report, path, rest)
    return report.found


def _raw(report: Report) -> None:
    text = report.files[RAW]
    if text == raw.NONE_YET:
        return
    if not text.startswith("# Raw Memories\n"):
        report.add("raw-start", "the file must begin with # Raw Memories", RAW, 1)
    threads = raw.parsed_merge(text)
    if len({thread.id for thread in threads}) != len(threads):
        report.add("twice", "a thread is there twice", RAW)
    ids = [thread.id for thread in threads]
    times = [thread.head.get("updated_at", "") for thread in threads]
    # Newest first as the older format has it, or by their ids as the newer one has.
    if ids != sorted(ids) and times != sorted(times, reverse=True):
        report.add("raw-order", "threads stand newest first", RAW, threads[0].line)
    for thread in threads:
        for name in _THREAD:
            if not thread.head.get(name):
                report.add("raw-head", f"thread {thread.id}: {name}: is missing", RAW, thread.line)
        file = thread.head.get("rollout_summary_file", "")
        if file and f"{ROLLOUTS}/{file}" not in report.files:
            report.add("dangling", f"thread {thread.id}: {ROLLOUTS}/{file} does not exist", RAW, thread.line)
        _raw_memory(report, thread)


def _raw_memory(report: Report, thread: raw.RawThread) -> None:
    lines = thread.raw_memory.split("\n")
    names = []
    if lines[0].strip() == "---":
        for line in lines[1:]:
            if line.strip() == "---":
                break
            names.append(line.partition(":")[0].strip())
    missing = [name for name in raw.FRONT if name not in names]
    if missing:
        report.add("raw-front", f"thread {thread.id}: its front matter lacks {', '.join(missing)}", RAW, thread.line)
    outcome = re.search(r"^task_outcome: *(\S*)", thread.raw_memory, re.MULTILINE)
    if outcome and outcome[1] not in tuple(Outcome):
        report.add(
            "raw-outcome", f"thread {thread.id}: {outcome[1]!r} is none of {', '.join(Outcome)}", RAW, thread.line
        )
    if not re.search(r"^### Task 1: ", thread.raw_memory, re.MULTILINE):
        report.add("raw-task", f"thread {thread.id}: it has no ### Task 1: …", RAW, thread.line)
    if re.search(r"^## User preferences", thread.raw_memory, re.MULTILINE):
        report.add("raw-preferences", f"thread {thread.id}: preferences belong to its tasks", RAW, thread.line)


def _rollout(report: Report, path: str, name: str) -> None:
    if not name.endswith(".md") or not STEM.match(name.removesuffix(".md")):
        report.add("rollout-name", "not called as summaries are: time, four characters, and what it was about", path)
    head, summary = raw.parsed_rollout(report.files[path])
    for field in _ROLLOUT[:2]:
        if not head.get(field):
            report.add("rollout-head", f"{field}: is missing at its head", path, 1)
    if not summary.strip():
        report.add("empty", "it holds no summary", path, 1)


def _skill(report: Report, path: str, folder: str) -> None:
    text = report.files[path]
    front = skills.front_of(text)
    if front is None:
        report.add("skill-front", "SKILL.md must begin with front matter between --- lines", path, 1)
        return
    fields, _ = front
    name = skills.unquoted(fields.get("name", ""))
    if not skills.NAME.match(name) or len(name) > skills.NAME_LENGTH:
        report.add("skill-name", f"name: lower-case letters, digits and hyphens, at most {skills.NAME_LENGTH}", path, 2)
    elif name != folder:
        report.add("skill-name", f"name: is {name!r}, its folder is {folder!r}", path, 2)
    description = skills.unquoted(fields.get("description", ""))
    if not description or description.count("\n") > 1:
        report.add("skill-description", "description: one or two lines are needed", path, 2)
    for field in fields:
        if field not in _SKILL_FIELDS:
            report.add("skill-field", f"{field}: is no field of a skill", path, 2)
    for field in ("disable-model-invocation", "user-invocable"):
        if field in fields and fields[field] not in ("true", "false"):
            report.add("skill-field", f"{field}: is true or false", path, 2)
    if len(text.split("\n")) > skills.LINES:
        report.add(
            "skill-length", f"more than {skills.LINES} lines; put details into files beside it", path, skills.LINES
        )
    _skill_body(report, path, folder)


def _skill_body(report: Report, path: str, folder: str) -> None:
    text = report.files[path]
    titles = [(part.title.casefold(), part) for top in outlined(text).walk() for part in top.parts]
    for name, pattern in _ASKED:
        if not any(re.search(pattern, title) for title, _ in titles):
            report.add("skill-section", f"a section for {name} is missing", path)
    procedure = next((part for title, part in titles if re.search(r"procedure|steps", title)), None)
    if procedure and not any(re.match(r"\s*\d+[.)] ", line) for part in procedure.walk() for _, line in part.lines):
        report.add("skill-section", "the procedure has no numbered steps", path, procedure.line)
    for number, line in enumerate(text.split("\n"), 1):
        for file in re.findall(r"\b(?:scripts|templates|examples)/[\w.-]+", line):
            if f"{SKILLS}/{folder}/{file}" not in report.files:
                report.add("dangling", f"{file} does not exist in this skill", path, number)


def _supporting(report: Report, path: str, rest: str) -> None:
    parts = rest.split("/")
    if len(parts) < 2:
        report.add("skill-shape", "a skill is a folder with SKILL.md in it", path)
    elif f"{SKILLS}/{parts[0]}/SKILL.md" not in report.files:
        report.add("skill-shape", f"{SKILLS}/{parts[0]} has no SKILL.md", path)
    elif len(parts) < 3 or parts[1] not in _FOLDERS:
        report.add("skill-shape", f"files of a skill lie in {', '.join(_FOLDERS)}", path)


def _extension(report: Report, path: str, rest: str) -> None:
    parts = rest.split("/")
    if parts[:2] == ["ad_hoc", "notes"] and len(parts) == 3 and not _NOTE.match(parts[2]):
        report.add("note-name", "notes are called YYYY-MM-DDTHH-MM-SS-<what>.md", path)
