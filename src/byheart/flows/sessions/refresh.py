"""Bringing the index up to date: what is new is read, what grew is read from where it ended, what is gone goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from byheart.domain.errors import Busy
from byheart.domain.ports import IndexBatch, Scanner, SessionIndex
from byheart.domain.sessions import (
    Answered,
    Began,
    Found,
    Refreshed,
    Restood,
    Said,
    Session,
    SessionSource,
    Speaker,
    Standing,
    Tally,
    Touch,
    Turn,
)
from byheart.domain.work import CommandFact, ErrorFact, Remark
from byheart.policies import evidence, remarks
from byheart.policies.clipping import trimmed, windowed

# Turns wait for their results this long, so that nearly none is written twice.
_WAITING = 120
_FACTS = ("version", "cwd", "branch", "commit", "remote", "title", "model", "memory_mode")
_FIELD, _TURN = "\n\x1e\n", "\n\x1f\n"
_SCANNED = 60_000
_SHORT = 400
# What is kept of each kind of text: from its beginning, and from its end.
_OWN_WORDS, _SPOKEN, _ADDED = (12_000, 2_000), (4_000, 1_000), (400, 0)
_ARGUMENTS, _COMMAND, _OUTPUT, _FAILED = (1_000, 0), (2_000, 0), (500, 500), (1_000, 3_000)
_PATHS = (40_000, 0)
# A transcript that could not be opened is tried again next time.
_AGAIN = ("cannot be read", "store is busy")
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """What the stories about sessions work with."""

    sources: Sequence[SessionSource]
    index: SessionIndex
    scanner: Scanner
    project_of: Callable[[str | None, str | None], str | None]


def refresh(shelf: Shelf, progress: Progress | None = None, *, agents: Sequence[str] = ()) -> Refreshed:
    """Read what changed since the last time."""
    stamps = shelf.index.stamps()
    due: list[tuple[SessionSource, Found]] = []
    seen: set[str] = set()
    for source in shelf.sources:
        if agents and source.agent not in agents:
            continue
        for found in source.found():
            if found.key in seen:
                continue
            seen.add(found.key)
            old = stamps.get(found.key)
            if old is None or (old.size, old.modified, old.inode) != (found.size, found.modified, found.inode):
                due.append((source, found))
    gone = [] if agents else [key for key in stamps if key not in seen]
    total, done = sum(found.size for _, found in due), 0
    sessions = turns = read_bytes = grown = replaced = 0
    skipped: Counter[str] = Counter()
    is_busy = not _dropped(shelf, gone)
    for source, found in due if not is_busy else ():
        if progress:
            progress(done, total, source.agent)
        try:
            taken = _read(shelf, source, found)
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
        shelf.index.purge()
    if progress:
        progress(total, total, "")
    return Refreshed(
        files=len(seen),
        read=len(due),
        grown=grown,
        gone=len(gone),
        sessions=sessions,
        turns=turns,
        bytes=read_bytes,
        skipped=dict(skipped),
        is_busy=is_busy,
    )


def _dropped(shelf: Shelf, gone: Sequence[str]) -> bool:
    """Take what is gone out; False where another process is writing."""
    try:
        shelf.index.drop(gone)
    except Busy:
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Taken:
    sessions: int
    turns: int
    fresh: bool
    tally: Tally


def _read(shelf: Shelf, source: SessionSource, found: Found) -> _Taken:
    with shelf.index.batch(found) as batch:
        # Asked for under the lock: another process may have read this file a moment ago.
        mark, before = shelf.index.mark_of(found.key)
        reading = source.read(found, mark)
        if reading.fresh:
            batch.drop()
            before = Tally()
        recorder = _Recorder(shelf, batch)
        for event in reading:
            recorder.take(event)
        recorder.end()
        again = any(reason in reading.tally.skipped for reason in _AGAIN)
        before.add(_named(reading.tally, shelf.scanner))
        # A time that fits no file makes the next refresh try again.
        batch.done(-1 if again else found.modified, reading.mark, before)
    return _Taken(len(recorder.sessions), recorder.turns, reading.fresh, reading.tally)


def _named(tally: Tally, scanner: Scanner) -> Tally:
    """A tally whose names, which come from the file, are clean."""
    tally.unknown = Counter({scanner.redacted(name): number for name, number in tally.unknown.items()})
    return tally


class _Recorder:
    """Takes a reader's events in, clean and cut to size, with what they show."""

    def __init__(self, shelf: Shelf, batch: IndexBatch) -> None:
        self._shelf, self._batch = shelf, batch
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
        shelf = self._shelf
        facts = {name: text for name in _FACTS if (text := getattr(session, name))}
        clean = dict(zip(facts, _scanned(list(facts.values()), shelf.scanner), strict=True))
        self._batch.session(replace(session, **clean))  # type: ignore[arg-type]
        self._batch.belongs(shelf.project_of)
        if not self._is_open:
            # The first session of this pass may have been begun in an earlier one.
            self._worked = self._batch.is_at_work()
        self._is_open = True

    def _settle(self) -> None:
        if self._is_open:
            self._batch.fixes(evidence.pairs_of(self._batch.steps()))
            self._batch.counted()

    def _answered(self, event: Answered) -> None:
        if event.number in self._waiting:
            earlier = self._results.get(event.number)
            self._results[event.number] = event if earlier is None else _joined(earlier, event)
            return
        # Told after its call was written: a slow command, or one that ended after the last refresh.
        ok = evidence.ended_well(event.exit, event.failed)
        size = _FAILED if ok is False else _OUTPUT
        output = event.output
        if output is not None:
            output = trimmed(self._shelf.scanner.redacted(windowed(output, *size)), *size)
        command = self._batch.command_at(event.number)
        row = self._batch.answer(event.number, output, event.exit, event.failed)
        if row is not None:
            clean = _scanned([each.path for each in event.touches], self._shelf.scanner)
            touches = [(row, path, each.how.value) for path, each in zip(clean, event.touches, strict=True)]
            commands, errors = _work(row, command, ok, output)
            self._batch.facts(commands, touches, errors, _about(row, output))

    def _write(self, leave: int) -> None:
        """Write the turns that wait, all but the last few."""
        numbers = list(self._waiting)[: len(self._waiting) - leave]
        turns = [(self._waiting.pop(number), self._results.pop(number, None)) for number in numbers]
        commands: list[CommandFact] = []
        touches: list[tuple[int, str, str]] = []
        errors: list[ErrorFact] = []
        said: list[Remark] = []
        origins = [turn.origin for turn, _ in turns if turn.origin is not None]
        copied = self._batch.copies(origins) if origins else set()
        for turn in _clean(turns, self._shelf.scanner):
            if turn.origin in copied and turn.is_evidence:
                turn.standing = Standing.COPIED
            row = self._batch.turn(turn)
            if not turn.is_evidence:
                continue
            if turn.tool:
                ok = evidence.ended_well(turn.exit, turn.failed)
                ran, wrong = _work(row, turn.command, ok, turn.output)
                commands += ran
                errors += wrong
                touches += [
                    (row, each.path, each.how.value) for each in turn.touches if ok is not False or each.how == "read"
                ]
                said += _about(row, turn.output)
                self._worked = True
            elif turn.is_own_words:
                kind = remarks.of_words(turn.text, follows_work=self._worked)
                if kind:
                    said.append(Remark(row, kind, turn.text[:2000]))
                self._worked = False
            elif turn.synthetic == "notice" and turn.text.startswith("[Request interrupted"):
                said.append(Remark(row, remarks.REFUSAL, ""))
            elif turn.speaker is Speaker.ASSISTANT:
                self._worked = True
        self._batch.facts(commands, touches, errors, said)


def _about(row: int, output: str | None) -> list[Remark]:
    found = remarks.of_result(output) if output else None
    return [Remark(row, found[0], found[1][:2000])] if found else []


def _work(
    row: int, command: str | None, ok: bool | None, output: str | None
) -> tuple[list[CommandFact], list[ErrorFact]]:
    """What a call shows: the command it was, and the errors it met."""
    output = output or ""
    form = evidence.form_of(command) if command is not None else ""
    if command is not None:
        ok = evidence.judged(form, command, ok, output)
    wrong = _errors(row, form, output) if ok is False else []
    if command is None:
        return [], wrong
    kind = evidence.kind_of(form)
    result = evidence.result_of(output) if kind == "test" and output else None
    return [CommandFact(row, form, evidence.program_of(form), kind, ok, result)], wrong


def _errors(row: int, form: str, output: str) -> list[ErrorFact]:
    """The lines that say what went wrong; the last word of a command that says it in no known way."""
    if remarks.of_result(output):
        # Somebody said no: that is no error.
        return []
    found = evidence.errors_in(output)
    if not found and form and not evidence.only_looks(form) and (last := evidence.last_line(output)):
        found = [last]
    return [ErrorFact(row, evidence.signature_of(each), each) for each in found]


def _joined(earlier: Answered, later: Answered) -> Answered:
    """Two results of one call: the later word counts, where it says something."""
    return replace(
        later,
        output=earlier.output if later.output is None else later.output,
        exit=earlier.exit if later.exit is None else later.exit,
        failed=earlier.failed if later.failed is None else later.failed,
        touches=(*earlier.touches, *later.touches),
    )


_Pending = tuple[Turn, Answered | None]


def _clean(turns: Sequence[_Pending], scanner: Scanner) -> list[Turn]:
    """The turns without secrets and cut to size. Many are looked through at once; where something is found, each by
    itself."""
    sizes = [_sizes(*pending) for pending in turns]
    texts = [
        # Short texts need no window; most are.
        _FIELD.join(
            [
                text if len(text) < _SHORT else windowed(text, *size)
                for text, size in zip(_fields(*pending), each, strict=True)
            ]
        )
        for pending, each in zip(turns, sizes, strict=True)
    ]
    clean: list[str] = []
    group: list[str] = []
    length = 0
    for text in texts:
        group.append(text)
        length += len(text)
        if length >= _SCANNED:
            clean += _scanned(group, scanner)
            group, length = [], 0
    clean += _scanned(group, scanner)
    return [_cut(pending, text, each, scanner) for pending, text, each in zip(turns, clean, sizes, strict=True)]


def _scanned(texts: list[str], scanner: Scanner) -> list[str]:
    if not texts:
        return []
    parts = scanner.redacted(_TURN.join(texts)).split(_TURN)
    return parts if len(parts) == len(texts) else [scanner.redacted(text) for text in texts]


def _fields(turn: Turn, result: Answered | None) -> tuple[str, ...]:
    output = (result.output if result else turn.output) or ""
    return (
        turn.text,
        turn.command or "",
        turn.arguments,
        output,
        "\n".join(each.path for each in _touched(turn, result)),
    )


def _touched(turn: Turn, result: Answered | None) -> tuple[Touch, ...]:
    if result is None or not result.touches:
        return turn.touches
    return tuple(dict.fromkeys((*turn.touches, *result.touches)))


def _sizes(turn: Turn, result: Answered | None) -> tuple[tuple[int, int], ...]:
    spoken = (
        _ADDED
        if turn.synthetic and turn.synthetic != "summary"
        else _OWN_WORDS
        if turn.speaker is Speaker.USER
        else _SPOKEN
    )
    failed = result is not None and evidence.ended_well(result.exit, result.failed) is False
    return spoken, _COMMAND, _ARGUMENTS, _FAILED if failed else _OUTPUT, _PATHS


def _cut(pending: _Pending, text: str, sizes: tuple[tuple[int, int], ...], scanner: Scanner) -> Turn:
    turn, result = pending
    parts = text.split(_FIELD)
    if len(parts) != len(sizes):
        parts = [scanner.redacted(windowed(field, *size)) for field, size in zip(_fields(*pending), sizes, strict=True)]
    # The turn came from the reader for us alone, so it is cut in place.
    turn.text = trimmed(parts[0], *sizes[0])
    if turn.tool is None:
        return turn
    _, command, arguments, output, paths = (trimmed(part, *size) for part, size in zip(parts, sizes, strict=True))
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
