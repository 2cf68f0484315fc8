"""Replaying projects: learn from sessions 1 to n, look at n + 1, for all n. What an earlier session had found out and a later one paid
for again is looked for by code of its own; then it is asked whether memory would have known it, and when."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from byheart.agents.agent import FolderSource
from byheart.app.briefs import brief_of
from byheart.app.open import Surroundings, open_memory, recall_models
from byheart.app.sessions import open_learning
from byheart.bench.streams import Call, Stream, projects
from byheart.brief import moments as preparing
from byheart.brief import remarks
from byheart.domain.sessions import Caps, Which
from byheart.domain.values import dataclass, field
from byheart.handbook import lines as indexed
from byheart.learning.selection import Wanted
from byheart.sessions.facts.files import shown_path
from byheart.sessions.refresh import SessionTools
from byheart.sessions.sessions import Sessions
from byheart.storage.index.sqlite import SqliteIndex
from byheart.storage.scanners.scanner import RuleScanner
from byheart.text.tokens import tokens as counted

if TYPE_CHECKING:
    from byheart.learning.learning import Learning

_MASKS = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"https?://\S+"), "_"),
    (re.compile(r"[\w.@~-]*(?:/[\w.@+~-]+)+/?"), "_"),
    (re.compile(r"\b[0-9a-f]{7,64}\b|\b[0-9a-f]{8}-[0-9a-f-]{20,}\b"), "_"),
    (re.compile(r"\d+"), "_"),
)
_ERROR = re.compile(
    r"error|fatal|panic|exception|not found|no such|cannot|can't|could not|unable|failed|invalid|unknown|unexpected|unrecogni[sz]ed|denied|refused|missing|undefined|"
    r"does not|doesn't|no matches|conflict|404",
    re.IGNORECASE,
)
_USAGE = re.compile(
    r"unknown (?:option|command|flag|argument|revision)|unrecogni[sz]ed|unexpected argument|no such (?:file|option|command)|not found|does not exist|doesn't exist|"
    r"invalid (?:option|choice|flag)|404|no matches found|missing script|not a git|no library targets",
    re.IGNORECASE,
)
# What a client says about its own tools, and what failing is the very job of: none of it is a lesson about the project.
_ECHO = re.compile(
    r"Sibling tool call|has not been read yet|modified since|temporarily unavailable|user doesn't want|Request interrupted|Ref \w+ not found|aborted|exceeds maximum|String to replace|"
    r"tool_use_error|permission to use|was blocked|still in progress|Plan mode",
    re.IGNORECASE,
)
_LOOKS = re.compile(
    r"^(?:rg|grep|egrep|ls|find|fd|cat|sed|nl|head|tail|diff|cmp|test|which|gh (?:pr|run|issue|api) ?(?:checks|view|list|diff|watch)?|git (?:show|log|diff|status|blame)|cargo fmt --check|sleep|wc|awk|jq)\b"
)
_SKIPPED = re.compile(r"^(?:cd|export|set|echo|sleep|source|pushd|mkdir|true|\w+=\S*$)\b")
_WRAPS = re.compile(r"^(?:(?:sudo|time|env|timeout \S+|command)\s+|\w+=\S+\s+)+")
# How many there were, which files, and how code looks: not what went wrong.
_SUMS_UP = re.compile(
    r"Found \d+ (?:error|warning)|exited with code \d|continue-on-error|[❯⎯━│]|Some (?:errors|warnings) were emitted|\d+ (?:failed|passed)|^\s*(?:\d+\s|[$>] |use |import )"
)
_WORD = re.compile(r"[^\W_]{3,}")
_MISSING = re.compile(r"(?:File not found|No such file or directory|ENOENT[^'\"]*)[:\s'\"]+(\S+?)['\"]?$")
# A test that finds the code of the day wrong is no error that comes back.
_ASSERTS = re.compile(r"expect\(|\bassert", re.IGNORECASE)
_FLOOR, _COVERED, _FILES = 12, 0.6, 8
KINDS = {"a": "error met before and got over", "b": "command known in another spelling", "c": "path, flag or name tried in vain before", "d": "steering said before", "e": "files that the first prompt leads to"}  # fmt: skip
WHEN = ("start", "moment", "asked", "unknown")


@dataclass(slots=True, kw_only=True)
class Event:
    """Something that a session paid for and an earlier one had found out. `known` says when memory would have told it."""

    kind: str
    session: str
    text: str
    answer: str
    cost: int
    known: str = "unknown"
    floor: bool = False
    path: str = ""
    # All that the call printed: what a hook is handed.
    output: str = ""


@dataclass(slots=True, kw_only=True)
class Failure:
    """A call that failed, and the one that went through after it, if one did."""

    line: str
    signature: str
    program: str
    command: str
    cost: int
    fixed_by: str | None = None
    # The file that was looked for, and all that was printed.
    path: str = ""
    output: str = ""
    later: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class History:
    """What the sessions so far have shown."""

    # By signature: in how many sessions, the last of them, and how it was got over.
    solved: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    worked: set[str] = field(default_factory=set)
    # What runs that went well print too: no error, whatever it is called.
    harmless: set[str] = field(default_factory=set)
    typed: list[frozenset[str]] = field(default_factory=list)
    count: int = 0


@dataclass(frozen=True, slots=True)
class Remarked:
    """Remarks that sessions would have been made: how many, how many did not apply, their tokens, and how many in each session."""

    said: int
    wrong: int
    tokens: int
    sessions: tuple[int, ...]

    @property
    def median(self) -> int:
        ordered = sorted(self.sessions)
        return ordered[len(ordered) // 2] if ordered else 0


def measured(data: str, only: Sequence[str], progress: Callable[[str], None]) -> dict[str, Any]:
    """The events of each project with when they would have been known, and tables of them."""
    rows: list[dict[str, Any]] = []
    every: list[tuple[str, Event]] = []
    said: list[Remarked] = []
    for repo, streams in projects(data, only):
        progress(f"{repo}: {len(streams)} sessions")
        events, told = replayed(streams)
        said.append(told)
        rows.append(_row(repo, len(streams), events, told))
        every += [(repo, event) for event in events]
    if len(rows) > 1:
        total = Remarked(
            sum(each.said for each in said),
            sum(each.wrong for each in said),
            sum(each.tokens for each in said),
            tuple(count for each in said for count in each.sessions),
        )
        rows.append(_row("all", sum(row["sessions"] for row in rows), [event for _, event in every], total))
    return {"kinds": KINDS, "projects": rows, "events": [{"project": repo, **_told(event)} for repo, event in every]}


def _told(event: Event) -> dict[str, Any]:
    return {"kind": event.kind, "session": event.session, "text": event.text, "answer": event.answer, "known": event.known, "tokens": event.cost}  # fmt: skip


def _row(name: str, sessions: int, events: Sequence[Event], told: Remarked) -> dict[str, Any]:
    repeats = [event for event in events if event.kind in "abc"]
    row: dict[str, Any] = {"project": name, "sessions": sessions, "repeats": len(repeats)}
    for when in WHEN:
        row[when] = sum(event.known == when for event in repeats)
    row["floor"] = sum(event.floor for event in repeats if event.kind in "ac")
    row["of"] = sum(event.kind in "ac" for event in repeats)
    for kind in "abcde":
        mine = [event for event in events if event.kind == kind]
        in_time = ("start", "moment") if kind == "e" else ("start",)
        row[kind] = f"{sum(event.known in in_time for event in mine)}/{len(mine)}"
    row["tokens"] = sum(event.cost for event in repeats)
    row["remarks"] = [told.said, told.wrong]
    row["remarks_of_a_session"], row["remark_tokens"] = told.median, told.tokens
    return row


def replayed(streams: Sequence[Stream]) -> tuple[list[Event], Remarked]:
    """The events of one project, each with when memory would have known it; and the remarks that its sessions would have been made."""
    events: list[Event] = []
    history = History()
    said = wrong = tokens = 0
    each_session: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        memory = ReplayedMemory(folder)
        for stream in streams:
            failures = failures_of(stream)
            if history.count:
                fresh = list(_events(stream, failures, history))
                told = memory.brief()
                for event in fresh:
                    event.known = memory.knows(event, told)
                events += fresh
                count, not_applied, cost = memory.remarked(stream, failures)
                said, wrong, tokens = said + count, wrong + not_applied, tokens + cost
                each_session.append(count)
            _remember(history, stream, failures)
            memory.learn(stream)
    return events, Remarked(said, wrong, tokens, tuple(each_session))


def failures_of(stream: Stream) -> list[Failure]:
    """The failed calls of a session that say why, each with what went through after it."""
    found: list[Failure] = []
    for place, call in enumerate(stream.calls):
        line = _error_line(call)
        if line is None:
            continue
        program = program_of(call.command) or call.tool
        is_missing = bool(call.path) and re.search(r"(?i)does not exist|not found|no such file", line)
        signature = f"not there: {os.path.basename(call.path)}".casefold() if is_missing else signature_of(line)
        failure = Failure(
            line=line,
            signature=signature,
            program=program,
            command=core_of(call.command),
            cost=counted(call.output[:4_000]),
            path=call.path if is_missing else "",
            output=call.output,
            later=tuple(core_of(later.command) for later in stream.calls[place + 1 : place + 40] if later.command),
        )
        for later in stream.calls[place + 1 : place + 40]:
            if (
                (program_of(later.command) or later.tool) == program
                and _error_line(later) is None
                and later.ok is not False
            ):
                failure.fixed_by = core_of(later.command) or later.path
                break
        found.append(failure)
    return found


def _error_line(call: Call) -> str | None:
    if not call.output or _ECHO.search(call.output[:600]):
        return None
    core = core_of(call.command)
    is_piped = "|" in call.command or ";" in call.command
    if call.ok is not False and not (is_piped and core and not _LOOKS.match(core)):
        return None
    plain = re.sub(r"\x1b\[[0-9;]*m", "", call.output)
    lines = [
        line.strip()
        for line in plain.split("\n")
        if 8 <= len(line.strip()) <= 400 and not _SUMS_UP.search(line) and not _ASSERTS.search(line)
    ]
    if "(pass)" in plain:
        # Tests that pass log errors on purpose.
        lines = [line for line in lines if "(fail)" in line or "exited with code" in line]
    strict = call.ok is not False
    for line in lines[:200]:
        if re.match(r"(?i)(?:error|fatal|panic)\b|.{0,80}\b(?:error|fatal)(?:\[\w+\]|\s\w+)?:", line) and not re.search(
            r"(?i)\b(?:pass|ok|✔|✓)\b", line
        ):
            return line
    if strict or _LOOKS.match(core):
        return None
    return next((line for line in lines[:200] if _ERROR.search(line)), None)


def signature_of(line: str) -> str:
    """An error without paths, numbers, hashes and addresses."""
    if missing := _MISSING.search(line):
        # Another file that is not there is another mistake.
        return f"not there: {os.path.basename(missing[1])}".casefold()
    text = line.casefold()
    for pattern, stand_in in _MASKS:
        text = pattern.sub(stand_in, text)
    return " ".join(text.split())[:160]


def core_of(command: str) -> str:
    """The first thing that a command line does, without where and with what filters."""
    for part in re.split(r"&&|\|\||;|\n", command):
        plain = _WRAPS.sub("", part.strip())
        if plain and not _SKIPPED.match(plain):
            return " ".join(re.sub(r"\s*(?:\||\d?>).*$", "", plain).split())[:160]
    return ""


def program_of(command: str) -> str:
    """The program with what it is told to do."""
    words = core_of(command).split()
    if not words:
        return ""
    second = next((word for word in words[1:4] if re.fullmatch(r"[a-z][\w:-]*", word)), "")
    return f"{words[0].rsplit('/', 1)[-1]} {second}".strip()


def _events(stream: Stream, failures: Sequence[Failure], history: History) -> Iterator[Event]:
    best = sorted(history.solved.items(), key=lambda each: (-each[1][0], -each[1][1]))[:_FLOOR]
    floor = {signature for signature, _ in best}
    seen: set[str] = set()
    for failure in failures:
        known = history.solved.get(failure.signature)
        if failure.signature in history.harmless:
            continue
        if known is not None and failure.signature not in seen:
            kind = "c" if _USAGE.search(failure.line) else "a"
            yield Event(
                kind=kind,
                session=stream.session,
                text=failure.line,
                answer=known[2],
                cost=failure.cost,
                floor=failure.signature in floor,
                path=failure.path,
                output=failure.output,
            )
        elif (
            known is None
            and failure.fixed_by
            and failure.fixed_by != failure.command
            and failure.fixed_by in history.worked
            and failure.fixed_by not in seen
        ):
            seen.add(failure.fixed_by)
            yield Event(
                kind="b", session=stream.session, text=failure.command, answer=failure.fixed_by, cost=failure.cost
            )
        seen.add(failure.signature)
    said: set[frozenset[str]] = set()
    for place, text in stream.typed[1:]:
        # An address is no steering, and what is said again in the same session is no repeat of another's.
        words = frozenset(_WORD.findall(re.sub(r"https?://\S+", "", text.casefold())))
        if words in said:
            continue
        said.add(words)
        if place and 3 <= len(words) <= 30 and any(_alike(words, other) for other in history.typed):
            yield Event(kind="d", session=stream.session, text=text[:300], answer="", cost=0)
    edited = {os.path.basename(path) for call in stream.calls for path in call.edited}
    if stream.typed and edited:
        yield Event(
            kind="e", session=stream.session, text=stream.typed[0][1][:300], answer=" ".join(sorted(edited)), cost=0
        )


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= 0.7 * max(len(one), len(other))


def _remember(history: History, stream: Stream, failures: Sequence[Failure]) -> None:
    history.count += 1
    for signature in {failure.signature for failure in failures}:
        fixed = next((each.fixed_by for each in failures if each.signature == signature and each.fixed_by), None)
        times, _, old = history.solved.get(signature, (0, 0, ""))
        if fixed or times:
            history.solved[signature] = (times + 1, history.count, fixed or old)
    history.worked |= {core_of(call.command) for call in stream.calls if call.command and call.ok is not False}
    history.harmless |= {
        signature_of(line)
        for call in stream.calls
        if call.ok and not _LOOKS.match(core_of(call.command))
        for line in call.output.split("\n")[:400]
        if 8 <= len(line.strip()) <= 400 and _ERROR.search(line)
    }
    history.typed += [frozenset(_WORD.findall(text.casefold())) for _, text in stream.typed]


class ReplayedMemory:
    """A home of its own that has learnt from the sessions so far."""

    def __init__(self, folder: str, more: tuple[str, ...] = ()) -> None:
        self._sessions_folder = os.path.join(folder, "sessions")
        self._now = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
        os.makedirs(os.path.join(folder, "project"))
        os.makedirs(self._sessions_folder)
        environment = {"HOME": folder, "BYHEART_HOME": os.path.join(folder, "home"), "BYHEART_CHILD": "1"}
        flags = ("recall.embedder=none", "learning.workers=1", *more)
        self._around = Surroundings(
            folder=os.path.join(folder, "project"), environment=environment, flags=flags, clock=lambda: self._now
        )
        self._opened = open_memory(self._around)
        self._index = SqliteIndex(os.path.join(self._opened.home, "state", "index.db"))
        self._project = self._opened.project.id
        self._prepared: dict[str, dict[str, Any]] = {}

    def door(self) -> tuple[Sessions, Learning]:
        tools = SessionTools(
            sources=[FolderSource((self._sessions_folder,), Caps())],
            index=self._index,
            scanner=RuleScanner(),
            project_of=lambda *_: self._project,
        )
        every = Sessions(
            tools, lambda: self._now, recall_models(self._around, self._opened.config, self._opened.home, str)
        )
        return every, open_learning(self._opened, self._around, every)

    def learn(self, stream: Stream) -> None:
        """Learn from one more session."""
        name = stream.file.replace("/events.jsonl", "-events.jsonl").rsplit("/", 1)[-1]
        with open(os.path.join(self._sessions_folder, name), "xb") as written:
            written.write(stream.content)
        self._now = datetime.fromisoformat(stream.last.replace("Z", "+00:00"))
        every, learning = self.door()
        every.refresh()
        learning.learn(Wanted())
        self._ready(every, learning)

    def brief(self) -> list[str]:
        """The lines that a session would be told at its start."""
        self._opened = open_memory(self._around)
        _, learning = self.door()
        told = brief_of(self._opened, self._around, learning.handbook())
        return [line.text for line in told.told] if told is not None else []

    def knows(self, event: Event, told: Sequence[str]) -> str:
        """When memory would have told what an event needed."""
        every, _ = self.door()
        which = Which(project=self._project)
        if event.kind == "e":
            names = event.answer.split()
            if any(name in line for line in told for name in names):
                return "start"
            led = {os.path.basename(path) for path, _ in every.leads_to(event.text, which, _FILES)}
            return "moment" if led & set(names) else "unknown"
        wanted = _words_of(event.answer if event.kind == "b" else signature_of(event.text))
        # A line that lists several errors knows each of them by itself.
        if any(_covers(part, wanted) for line in told for part in _LISTED.split(line)):
            return "start"
        if event.kind == "d":
            return "unknown"
        if event.kind == "b":
            if any(True for _ in remarks.for_command(self._prepared.get, (), event.text)):
                return "moment"
            found = [use.form for use in every.how(event.answer, which, 3)]
            return "asked" if any(_covers(form, wanted) for form in found) else "unknown"
        if self._said(event.output, event.path) is not None:
            return "moment"
        return "asked" if any(_covers(fix.error, wanted) for fix in every.fix(event.text, which, 3)) else "unknown"

    def _said(self, output: str, path: str) -> remarks.Remark | None:
        """What would be said at a failure."""
        return (
            remarks.for_missing(self._prepared.get, path) if path else remarks.for_failure(self._prepared.get, output)
        )

    def remarked(self, stream: Stream, failures: Sequence[Failure]) -> tuple[int, int, int]:
        """How many remarks a session would have been made, how many of those after failures did not apply, and their tokens."""
        said: dict[str, str] = {}
        wrong = 0
        for failure in failures:
            found = self._said(failure.output, failure.path)
            if found is None or found.key in said:
                continue
            said[found.key] = found.text
            wrong += not failure.path and failure.fixed_by is not None and not _applied(found.text, failure)
        for call in stream.calls:
            for each in remarks.for_command(self._prepared.get, (), call.command) if call.command else ():
                said.setdefault(each.key, each.text)
        return len(said), wrong, sum(counted(text) for text in said.values())

    def _ready(self, every: Sessions, learning: Learning) -> None:
        """Prepare what may be said, as for a folder."""
        own = learning.handbook(self._project)
        extracts = preparing.extracts_of(learning.written(self._project))
        paths = (shown_path(path, cwd) for path, cwd in every.paths(self._project, 20_000))
        self._prepared = preparing.entries(extracts, indexed.learnt(own.context, own.root), paths, (), str)


_LISTED = re.compile(r"`; (?=`)")


def _applied(text: str, failure: Failure) -> bool:
    """Whether what was said is what got over it: one of its commands was run then, or what it says is to be tried again was."""
    told = [core_of(each) for each in re.findall(r"`([^`]+)`", text.partition("what helped: ")[2])]
    if "run again" in text and failure.fixed_by == failure.command:
        return True
    # Of what differs, a word or an option is told by itself.
    return any(each and any(each in later or later.startswith(each) for later in failure.later) for each in told)


def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _covers(line: str, wanted: frozenset[str]) -> bool:
    return bool(wanted) and len(wanted & _words_of(line)) >= max(min(2, len(wanted)), _COVERED * len(wanted))
