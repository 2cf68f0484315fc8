"""Every strict rule of memory_summary.md, raw memories, rollout summaries, skills and notes, held against the files; whoever wrote them."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from byheart.domain.handbook import EXTENSIONS, MEMORY, RAW, ROLLOUTS, SKILLS, SUMMARY, Outcome
from byheart.domain.values import dataclass
from byheart.handbook import raw
from byheart.handbook.checking import SKILL_LINK, Report, check_memory, check_skill_name, named_lines
from byheart.handbook.memory import Part, outlined
from byheart.handbook.phrases import BOLD, CODE, STEM, is_placeholder
from byheart.handbook.summary import (
    DAY,
    INDEX,
    LINES,
    NAME,
    NAME_LENGTH,
    OLDER,
    PREFERENCES,
    PROFILE,
    PROFILE_WORDS,
    SECTIONS,
    TIPS,
    VERSION,
    front_of,
    unquoted,
)
from byheart.text.similarity import normalised

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from byheart.domain.results import Finding

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
    front = front_of(text)
    if front is None:
        report.add("skill-front", "SKILL.md must begin with front matter between --- lines", path, 1)
        return
    fields, _ = front
    name = unquoted(fields.get("name", ""))
    if not NAME.match(name) or len(name) > NAME_LENGTH:
        report.add("skill-name", f"name: lower-case letters, digits and hyphens, at most {NAME_LENGTH}", path, 2)
    elif name != folder:
        report.add("skill-name", f"name: is {name!r}, its folder is {folder!r}", path, 2)
    description = unquoted(fields.get("description", ""))
    if not description or description.count("\n") > 1:
        report.add("skill-description", "description: one or two lines are needed", path, 2)
    for field in fields:
        if field not in _SKILL_FIELDS:
            report.add("skill-field", f"{field}: is no field of a skill", path, 2)
    for field in ("disable-model-invocation", "user-invocable"):
        if field in fields and fields[field] not in ("true", "false"):
            report.add("skill-field", f"{field}: is true or false", path, 2)
    if len(text.split("\n")) > LINES:
        report.add("skill-length", f"more than {LINES} lines; put details into files beside it", path, LINES)
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
