"""Bringing the index up to date: what is new is read, what grew is read from where it ended, what is gone goes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from byheart.domain.errors import Busy
from byheart.domain.ports import IndexBatch, Scanner, SessionIndex
from byheart.domain.sessions import (
    Answered,
    Began,
    CommandFact,
    ErrorFact,
    Found,
    Refreshed,
    Remark,
    Restood,
    Said,
    Session,
    SessionSource,
    Speaker,
    Stamp,
    Standing,
    Tally,
    Touch,
    Turn,
)
from byheart.domain.values import dataclass, replace
from byheart.language import lasting
from byheart.sessions.clipping import BETWEEN, EchoScanner, cleaned
from byheart.sessions.facts import commands as lines_of
from byheart.sessions.facts import errors as troubles
from byheart.sessions.facts import fixes
from byheart.text.slugs import short_digest

# Turns wait for their results this long, so that nearly none is written twice.
_WAITING = 120
_FACTS = ("version", "cwd", "branch", "commit", "remote", "title", "model", "memory_mode")
_NAMES = ("id", "parent", "agent")
# An id as programs make them, a time, or a short word.
_USUAL = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9T:.+-]{1,40}|[a-z][a-z_.-]{0,15}|")
_FIELDS = 7
# What is kept of each kind of text: from its beginning, and from its end.
_OWN_WORDS, _SPOKEN, _ADDED = (12_000, 2_000), (4_000, 1_000), (400, 0)
_ARGUMENTS, _COMMAND, _OUTPUT, _FAILED = (1_000, 0), (2_000, 0), (500, 500), (1_000, 3_000)
_PATHS, _NAME, _FACT = (40_000, 0), (80, 0), (500, 0)
# A transcript that could not be opened is tried again next time.
_AGAIN = ("cannot be read", "store is busy")
Progress = Callable[[int, int, str], None]
# What a file or a name of an unforeseen kind can raise.
ODD = (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError, OverflowError, OSError)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTools:
    """What the stories about sessions work with."""

    sources: Sequence[SessionSource]
    index: SessionIndex
    scanner: Scanner
    project_of: Callable[[str | None, str | None], str | None]


def refresh(tools: SessionTools, progress: Progress | None = None) -> Refreshed:
    """Read what changed since the last time."""
    tools.index.renew()
    every: dict[str, tuple[SessionSource, Found]] = {}
    broken: set[str] = set()
    skipped: Counter[str] = Counter()
    for source in tools.sources:
        try:
            for found in source.found():
                every.setdefault(found.key, (source, found))
        except ODD as error:
            # One agent's folder in an unheard-of state must not cost the others theirs.
            skipped[f"{source.agent}: {type(error).__name__}"] += 1
            broken.add(source.agent)
    gone = [] if broken else [key for key in tools.index.stamps() if key not in every]
    is_busy = not _dropped(tools, gone)
    # Asked for after that: what a gone file's turns were copies of is to be read anew.
    stamps = tools.index.stamps()
    due = [(source, found) for source, found in every.values() if _is_due(stamps.get(found.key), found)]
    total, done = sum(found.size for _, found in due), 0
    sessions = turns = read_bytes = grown = replaced = 0
    # Looked through together: hardly ever is there anything in them.
    are_clean = _is_clean([found.key for _, found in due], tools.scanner)
    for source, found in due if not is_busy else ():
        if progress:
            progress(done, total, source.agent)
        if not are_clean and not _is_clean([found.key], tools.scanner):
            # Its name stands in the index and in every answer, so none of it can.
            skipped["its path holds a secret"] += 1
            continue
        try:
            taken = _read(tools, source, found)
        except ODD:
            skipped["could not be taken in"] += 1
            continue
        except Busy:
            # Another process is bringing the index up to date; what it has read so far answers too.
            is_busy = True
            break
        done += found.size
        sessions += taken.sessions
        turns += taken.turns
        grown += not taken.fresh
        read_bytes += taken.tally.bytes
        skipped += taken.tally.skipped
        replaced += taken.fresh and found.key in stamps
    if (gone or replaced) and not is_busy:
        tools.index.purge()
    if progress:
        progress(total, total, "")
    return Refreshed(
        files=len(every),
        read=len(due),
        grown=grown,
        gone=len(gone),
        sessions=sessions,
        turns=turns,
        bytes=read_bytes,
        skipped=dict(skipped),
        is_busy=is_busy,
    )


def _is_due(stamp: Stamp | None, found: Found) -> bool:
    return stamp is None or (stamp.size, stamp.modified, stamp.inode) != (found.size, found.modified, found.inode)


def _dropped(tools: SessionTools, gone: Sequence[str]) -> bool:
    """Take what is gone out; False where another process is writing."""
    try:
        tools.index.drop(gone)
    except Busy:
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Taken:
    sessions: int
    turns: int
    fresh: bool
    tally: Tally


def _read(tools: SessionTools, source: SessionSource, found: Found) -> _Taken:
    with tools.index.batch(found) as batch:
        # Asked for under the lock: another process may have read this file a moment ago.
        mark, before = tools.index.mark_of(found.key)
        reading = source.read(found, mark)
        if reading.fresh:
            batch.drop()
            before = Tally()
        recorder = _Recorder(tools, batch)
        for event in reading:
            recorder.take(event)
        recorder.end()
        again = any(reason in reading.tally.skipped for reason in _AGAIN)
        before.add(_named(reading.tally, tools.scanner))
        mark = reading.mark
        if mark is not None and not _is_clean(mark.texts, tools.scanner):
            # What a reader has to remember are ids and the like, in which anything may stand; without it the file is read
            # anew when it grows.
            mark = None
        # A time that fits no file makes the next refresh try again.
        batch.done(-1 if again else found.modified, mark, before)
    return _Taken(len(recorder.sessions), recorder.turns, reading.fresh, reading.tally)


def _is_clean(names: Iterable[str], scanner: Scanner) -> bool:
    """Whether no secret is in names or paths; such as any program makes up are not looked at."""
    parts = (part for name in names for part in name.split("/"))
    unusual = [part for part in parts if not _USUAL.fullmatch(part)]
    return not unusual or not scanner.spans(BETWEEN.join(unusual))


def _named(tally: Tally, scanner: Scanner) -> Tally:
    """A tally whose names, which come from the file, are clean."""
    names = cleaned(list(tally.unknown), [_NAME] * len(tally.unknown), scanner)
    tally.unknown = Counter(dict(zip((" ".join(name.split()) for name in names), tally.unknown.values(), strict=True)))
    return tally


class _Recorder:
    """Takes a reader's events in, clean and cut to size, with what they show."""

    def __init__(self, tools: SessionTools, batch: IndexBatch) -> None:
        self._tools, self._batch = tools, batch
        self._scanner = EchoScanner(tools.scanner)
        self._waiting: dict[int, Turn] = {}
        self._results: dict[int, Answered] = {}
        self._worked = False
        self._is_open = False
        self.sessions: set[str] = set()
        self.turns = 0

    def take(self, event: object) -> None:
        """One event, in the order it was told."""
        if isinstance(event, Said):
            self._waiting[event.turn.number] = event.turn
            self.turns += 1
            if len(self._waiting) >= 2 * _WAITING:
                self._write(_WAITING)
        elif isinstance(event, Answered):
            self._answered(event)
        elif isinstance(event, Began):
            self._began(event.session)
        elif isinstance(event, Restood):
            self._write(0)
            self._batch.restand(event.numbers, event.standing)

    def end(self) -> None:
        """The file is read."""
        self._write(0)
        self._settle()

    def _began(self, session: Session) -> None:
        self._write(0)
        if session.id not in self.sessions:
            self._settle()
            self.sessions.add(session.id)
            self._worked = False
        tools = self._tools
        facts = {name: text for name in _FACTS if (text := getattr(session, name))}
        clean = dict(zip(facts, cleaned(list(facts.values()), [_FACT] * len(facts), self._scanner), strict=True))
        names = {name: getattr(session, name) for name in _NAMES}
        clean |= {name: safe_name(text, tools.scanner) for name, text in names.items() if text}
        self._batch.session(replace(session, **clean))  # type: ignore[arg-type]
        self._batch.belongs(tools.project_of)
        if not self._is_open:
            # The first session of this pass may have been begun in an earlier one.
            self._worked = self._batch.is_at_work()
        self._is_open = True

    def _settle(self) -> None:
        if self._is_open:
            self._batch.fixes(fixes.pairs_of(self._batch.steps()))
            self._batch.counted()

    def _answered(self, event: Answered) -> None:
        if event.number in self._waiting:
            earlier = self._results.get(event.number)
            self._results[event.number] = event if earlier is None else _joined(earlier, event)
            return
        # Told after its call was written: a slow command, or one that ended after the last refresh.
        held = self._batch.turn_at(event.number)
        if held is None:
            return
        row, turn = held
        scanner = self._scanner
        size = _FAILED if lines_of.ended_well(event.exit, event.failed) is False else _OUTPUT
        if event.output is not None:
            event = replace(event, output=cleaned([event.output], [size], scanner)[0])
        paths = [each.path for each in event.touches]
        clean = cleaned(paths, [_FACT] * len(paths), scanner)
        event = replace(
            event, touches=tuple(replace(each, path=path) for path, each in zip(clean, event.touches, strict=True))
        )
        turn.output = joined_output(turn.output, event)
        turn.exit = turn.exit if event.exit is None else event.exit
        turn.failed = turn.failed if event.failed is None else event.failed
        turn.touches = _touched(turn, event)
        self._batch.amend(row, turn)
        if turn.is_evidence:
            facts = _Facts()
            facts.add(row, turn)
            self._batch.facts(facts.commands, facts.touches, facts.errors, facts.remarks)

    def _write(self, leave: int) -> None:
        """Write the turns that wait, all but the last few."""
        numbers = list(self._waiting)[: len(self._waiting) - leave]
        turns = [(self._waiting.pop(number), self._results.pop(number, None)) for number in numbers]
        facts = _Facts()
        origins = [turn.origin for turn, _ in turns if turn.origin is not None]
        copied = self._batch.copies(origins) if origins else set()
        for turn in _clean(turns, self._scanner):
            if turn.origin in copied and turn.is_evidence:
                turn.standing = Standing.COPIED
            row = self._batch.turn(turn)
            if not turn.is_evidence:
                continue
            if turn.tool:
                facts.add(row, turn)
                self._worked = True
            elif turn.is_own_words:
                kind = lasting.of_words(turn.text, follows_work=self._worked)
                if kind:
                    facts.remarks.append(Remark(row, kind, turn.text[:2000]))
                self._worked = False
            elif turn.speaker is Speaker.ASSISTANT:
                self._worked = True
        self._batch.facts(facts.commands, facts.touches, facts.errors, facts.remarks)


def safe_name(name: str, scanner: Scanner) -> str:
    """A session's name as it is shown and typed: no characters that steer a terminal, and no secret."""
    if _USUAL.fullmatch(name):
        return name
    plain = "".join(each if each.isprintable() and each != " " else "_" for each in name)[:200]
    return plain if scanner.redacted(plain) == plain else f"unnamed-{short_digest(name)}"


class _Facts:
    """What turns show, gathered for the tables."""

    def __init__(self) -> None:
        self.commands: list[CommandFact] = []
        self.touches: list[tuple[int, str, str]] = []
        self.errors: list[ErrorFact] = []
        self.remarks: list[Remark] = []

    def add(self, row: int, turn: Turn) -> None:
        """One call with its result."""
        ok = lines_of.ended_well(turn.exit, turn.failed)
        ran, wrong = _work(row, turn.command, ok, turn.output)
        self.commands += ran
        self.errors += wrong
        # What failed changed nothing.
        self.touches += [
            (row, each.path, each.how.value) for each in turn.touches if ok is not False or each.how == "read"
        ]
        self.remarks += _about(row, turn.output)


def _about(row: int, output: str | None) -> list[Remark]:
    found = lasting.of_result(output) if output else None
    return [Remark(row, found[0], found[1][:2000])] if found else []


def _work(
    row: int, command: str | None, ok: bool | None, output: str | None
) -> tuple[list[CommandFact], list[ErrorFact]]:
    """What a call shows: the command it was, and the errors it met."""
    output = output or ""
    if command is None:
        return [], _errors(row, "", output) if ok is False else []
    form = lines_of.form_of(command)
    ok = lines_of.judged(command, ok, output)
    kind = lines_of.kind_of(command)
    result = lines_of.result_of(output) if kind == "test" and output else None
    ran = CommandFact(row, form, lines_of.program_of(command), kind, ok, result)
    return [ran], _errors(row, form, output) if ok is False else []


def _errors(row: int, form: str, output: str) -> list[ErrorFact]:
    """The lines that say what went wrong; the last word of a command that says it in no known way."""
    if lasting.of_result(output):
        # Somebody said no: that is no error.
        return []
    return [ErrorFact(row, troubles.signature_of(each), each) for each in troubles.errors_of(output, form)]


def joined_output(known: str | None, later: Answered) -> str | None:
    """What a call has put out, with what came later."""
    if later.output is None:
        return known
    return f"{known.rstrip()}\n{later.output}" if later.more and known else later.output


def _joined(earlier: Answered, later: Answered) -> Answered:
    """Two results of one call: the later word counts, where it says something."""
    return replace(
        later,
        output=joined_output(earlier.output, later),
        exit=earlier.exit if later.exit is None else later.exit,
        failed=earlier.failed if later.failed is None else later.failed,
        touches=(*earlier.touches, *later.touches),
    )


_Pending = tuple[Turn, Answered | None]


def _clean(turns: Sequence[_Pending], scanner: EchoScanner) -> list[Turn]:
    """The turns without secrets and cut to size. Many are looked through in one pass; what is found is found as a place, so
    that no text can pass itself off as another's."""
    texts = [text for pending in turns for text in _fields(*pending)]
    sizes = [size for pending in turns for size in _sizes(*pending)]
    clean = iter(cleaned(texts, sizes, scanner))
    return [_cut(pending, [next(clean) for _ in range(_FIELDS)]) for pending in turns]


def _fields(turn: Turn, result: Answered | None) -> tuple[str, ...]:
    output = (result.output if result else turn.output) or ""
    paths = "\n".join(each.path for each in _touched(turn, result))
    return turn.text, turn.command or "", turn.arguments, output, paths, turn.tool or "", turn.side or ""


def _touched(turn: Turn, result: Answered | None) -> tuple[Touch, ...]:
    if result is None or not result.touches:
        return turn.touches
    # A result knows the whole path and what became of the file; the call's own word for it goes.
    told = [each.path for each in result.touches]
    kept = [
        each for each in turn.touches if not any(path == each.path or path.endswith(f"/{each.path}") for path in told)
    ]
    return tuple(dict.fromkeys((*kept, *result.touches)))


def _sizes(turn: Turn, result: Answered | None) -> tuple[tuple[int, int], ...]:
    spoken = (
        _ADDED
        if turn.synthetic and turn.synthetic != "summary"
        else _OWN_WORDS
        if turn.speaker is Speaker.USER
        else _SPOKEN
    )
    failed = result is not None and lines_of.ended_well(result.exit, result.failed) is False
    return spoken, _COMMAND, _ARGUMENTS, _FAILED if failed else _OUTPUT, _PATHS, _NAME, _NAME


def _cut(pending: _Pending, parts: Sequence[str]) -> Turn:
    """A turn with its cleaned texts. It came from the reader for us alone, so it is changed in place."""
    turn, result = pending
    said, command, arguments, output, paths, tool, side = parts
    turn.text = said
    turn.side = side or None
    if turn.tool is None:
        return turn
    turn.tool = tool
    turn.touches = _renamed(_touched(turn, result), paths)
    turn.command = command if turn.command is not None else None
    turn.arguments = arguments
    if result is not None:
        turn.output = output if result.output is not None else None
        turn.exit, turn.failed = result.exit, result.failed
    return turn


def _renamed(touches: tuple[Touch, ...], paths: str) -> tuple[Touch, ...]:
    """The files under their cleaned names; a name that swallowed another's line is left away."""
    names = paths.split("\n") if paths else []
    return tuple(replace(touch, path=name) for touch, name in zip(touches, names, strict=False) if name)
