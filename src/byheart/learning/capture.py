"""What sessions taught, written into the notebook that somebody keeps: by its capture policy, once, and taken back with its session."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from byheart.domain.documents import Drop
from byheart.domain.errors import ByheartError, Refused, Unsafe
from byheart.domain.journal import TURN_SUMMARY, stamped
from byheart.domain.records import Confidence, Kind, Record, Request, Scope, Signal, Value, spoken
from byheart.domain.values import asdict, dataclass, fields, replace
from byheart.handbook.memory import core_of
from byheart.handbook.phrases import one_line, short_id, shortened, signal_of
from byheart.handbook.raw import parsed_raw
from byheart.journal import append, reading
from byheart.language import lasting, wording
from byheart.learning.consolidate.wishes import same
from byheart.learning.earning import advice, earned
from byheart.learning.extract.signals import default_of
from byheart.notebooks import forget as notebook
from byheart.notebooks.commit import commit
from byheart.notebooks.merge import Decision
from byheart.notebooks.remember import remember
from byheart.text.similarity import normalised
from byheart.text.slugs import short_digest
from byheart.workspace import ledger
from byheart.workspace.context import JOURNAL, PROFILE, Context, is_enabled, keeps_journal, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from byheart.domain.handbook import Extract, Written
    from byheart.domain.learning import Consolidated, LearningQueue
    from byheart.domain.results import Receipt
    from byheart.learning.handbook_files import HandbookFiles

CAPTURED = "captured.ndjson"
# Between the command of a lesson and its error.
FAILS = " fails with: "
# Lessons that are kept beside preferences; more would crowd them out of a profile of fifteen lines.
_MOST_LESSONS = 5
# Sessions of one run that a journal gets a record of, and how long one is.
_MOST_SUMMARIES, _LONGEST_SUMMARY = 20, 600
# Shorter than this, a text is in a summary by chance.
_REPEATS = 12
_DECIDED = "decided by the user: "
# Worktrees come and go: so many of the newest sessions' folders are tried for the project's own.
_FOLDERS = 20
# How a wish says which one it took the place of.
_REPLACES = re.compile(r'\s*\(replaces "(?P<old>.*)" of \d{4}-\d\d-\d\d\)\s*$')
_SESSIONS = re.compile(r"\((?P<cite>[0-9A-Za-z_.-]{4,})#\d+(?:, #\d+)*(?:, in (?P<times>\d+) sessions)?\)\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """One thing that was written: what it came from, as what it stands where, when, and whether a session is told that it was."""

    name: str
    text: str
    cite: str
    sessions: int
    # Empty where the notebook's policy wants it not stored.
    handle: str = ""
    stored: str = ""
    dialect: str = ""
    scope: str = Scope.LOCAL.value
    at: str = ""
    announce: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something that sessions taught and that a notebook may hold."""

    text: str
    quote: str
    cite: str
    sessions: int
    value: Value = None
    # Of a lesson, what got over it; of a wish, the words of an earlier one that it took the place of.
    fix: str = ""
    replaces: str = ""

    @property
    def name(self) -> str:
        return short_digest(normalised(self.text))


def captured_from(
    own: HandbookFiles,
    queue: LearningQueue,
    done: Consolidated,
    context_of: Callable[[str, Sequence[str]], Context | None],
) -> None:
    """Have the notebook that is kept in the project's own folder hold what a consolidation found; none where that folder is not known.
    `context_of` opens a project by the folders that its sessions ran in."""
    every = [kept.written for kept in queue.extracts(own.project)]
    newest = sorted(every, key=lambda each: each.thread.updated, reverse=True)
    folders = dict.fromkeys(each.thread.cwd for each in newest)
    context = context_of(own.project, list(folders)[:_FOLDERS])
    unsummarised(context or own.context, frozenset(done.removed))
    if context is not None:
        summarised(context, [each for each in every if each.thread.id in done.added])
        done.saved = captured(context, own, done.preferences, [each for each in every if each.raw_memory], done.removed)


def summarised(context: Context, learnt: Sequence[Written]) -> None:
    """Have the journal that somebody keeps say what each of these sessions was asked, decided and met, a record each."""
    root = context.roots[Scope.LOCAL]
    if not is_enabled(context, root) or not keeps_journal(context, root):
        return
    known = {
        (each.origin.session, normalised(each.text))
        for each in reading.read_all(context, Scope.LOCAL)
        if each.origin and each.origin.category == TURN_SUMMARY
    }
    for each in sorted(learnt, key=lambda each: each.thread.updated)[-_MOST_SUMMARIES:]:
        text = summary_of(parsed_raw(each.raw_memory)) if each.raw_memory else ""
        if not text or (each.thread.id, normalised(text)) in known:
            continue
        raw = {
            "sessionId": each.thread.id,
            "category": TURN_SUMMARY,
            "text": text,
            "provenance": {"sourceChannel": "system", "confidence": 0.8, "timestamp": stamped(each.thread.updated)},
        }
        try:
            append.append(context, raw, Scope.LOCAL, asked=False, redact=True)
        except ByheartError:
            # A session that may not be told of leaves none.
            continue


def unsummarised(context: Context, threads: Collection[str], told: Sequence[str] = ()) -> None:
    """Take out of the journal what it says of these sessions, and each summary of a session that repeats one of these texts."""
    repeats = [plain for text in told if len(plain := normalised(default_of(text))) >= _REPEATS]
    try:
        every = reading.read_all(context, Scope.LOCAL)
    except ByheartError:
        # A journal that cannot be read is told of where it is shown.
        return
    for each in every:
        origin = each.origin
        if origin is None or origin.category != TURN_SUMMARY:
            continue
        if origin.session in threads or any(text in normalised(each.text) for text in repeats):
            try:
                notebook.forget(context, origin.id, Scope.LOCAL, "what it sums up is forgotten")
            except ByheartError:
                continue


def summary_of(extract: Extract) -> str:
    """What a session was asked, how that ended, what was decided and what went wrong, in a few lines' room; empty for one that taught
    nothing."""
    asked = "; ".join(f"{one_line(task.name, 120)} ({task.outcome.value})" for task in extract.tasks[:3])
    lines = [core_of(line.text) for task in extract.tasks for line in task.knowledge]
    decided = [line.removeprefix(_DECIDED) for line in lines if line.startswith(_DECIDED)]
    failed = [core_of(line.text) for task in extract.tasks for line in task.failures]
    parts = [f"Asked: {asked}"] if asked else []
    parts += [f"Decided: {'; '.join(decided[:2])}"] if decided else []
    parts += [f"Met: {'; '.join(failed[:2])}"] if failed else []
    return shortened(one_line(". ".join(parts)), _LONGEST_SUMMARY)


def captured(context: Context, own: HandbookFiles, preferences: Sequence[str], every: Sequence[Written], removed: Sequence[str]) -> list[Receipt]:  # fmt: skip
    """Write what is new into the notebook in use, and take out what only sessions taught that are gone. `context` is that of the
    project's own folder. Where no notebook is in use it goes to the profile."""
    if not is_enabled(context, context.roots[Scope.LOCAL]):
        return []
    rows = {row.name: row for row in written(own)}
    gone = {short_id(thread) for thread in removed}
    candidates = [*_wishes(preferences), *_lessons(every)]
    receipts = []
    for row in [row for row in rows.values() if any(_is_replaced(row, each) for each in candidates)]:
        if row.handle:
            _taken_back(context, row)
        del rows[row.name]
    for each in candidates:
        old = next((row for row in rows.values() if row.name == each.name or same(row.text, each.text)), None)
        if old is not None and old.sessions >= each.sessions:
            # A session that goes on cites another turn, and one that is gone may have a second to stand for it.
            rows[old.name] = replace(old, cite=each.cite if old.cite in gone else old.cite)
            continue
        row, receipt = _stored(context, each, old)
        if old is not None:
            del rows[old.name]
        rows[row.name] = row
        receipts += [receipt] if receipt is not None and receipt.action != "unchanged" else []
    for row in [row for row in rows.values() if row.cite in gone]:
        if row.handle:
            _taken_back(context, row)
        del rows[row.name]
    _keep(own, rows.values())
    return receipts


def _wishes(preferences: Iterable[str]) -> Iterator[Candidate]:
    """What a person said, in their words: the lines of the summary that are no habits and nobody inferred."""
    for line in preferences:
        cite, parts = _SESSIONS.search(line), signal_of(_SESSIONS.sub("", core_of(line)))
        if cite and parts and "(inferred)" not in line:
            times = int(cite["times"] or 1)
            told, replaced = _REPLACES.sub("", parts["default"]), _REPLACES.search(parts["default"])
            old = replaced["old"] if replaced else ""
            yield Candidate(text=told, quote=parts["quote"], cite=cite["cite"], sessions=times, replaces=old)


def _is_replaced(row: Captured, by: Candidate) -> bool:
    """Whether something that was written is what a later wish took the place of."""
    old, new = default_of(by.replaces), by.text
    return bool(by.replaces) and same(row.text, old) and not same(row.text, new)


def _lessons(every: Sequence[Written]) -> Iterator[Candidate]:
    """What failed and was got over, as the brief would tell it."""
    for each in earned((one, parsed_raw(one.raw_memory)) for one in every).help[:_MOST_LESSONS]:
        place, lesson = each.trouble.met[-1], each.lesson
        thread = sorted(every, key=lambda one: (one.thread.updated, one.thread.id))[place].thread.id
        issue = f"{lesson.command}{FAILS}{lesson.error}"
        outcome = "met in several sessions" if each.trouble.sessions > 1 else "stopped the work until it was found out"
        value: Value = {"issue": issue, "outcome": outcome, "fix": advice(each)}
        yield Candidate(
            text=issue, quote="", cite=short_id(thread), sessions=each.trouble.sessions, value=value, fix=advice(each)
        )


def _stored(context: Context, each: Candidate, old: Captured | None) -> tuple[Captured, Receipt | None]:
    """Have a notebook hold it, by the policy for what nobody asked for. What the policy refuses is noted, and not tried again until more
    sessions say it."""
    row = Captured(name=each.name, text=each.text, cite=each.cite, sessions=each.sessions)
    is_stated = lasting.judged(each.quote).is_sure or lasting.judged(each.text).is_sure
    if each.value is None and not is_stated and each.sessions < 2:
        return row, None
    chosen = context.roots[Scope.LOCAL].chosen
    to_profile = not context.limits.notebook and (len(chosen) != 1 or PROFILE in chosen)
    request = Request(
        # Only the profile has room for the parts of a lesson; elsewhere it is one sentence, with what helps.
        text=(old.stored if old else "") or (each.text if to_profile or not each.fix else f"{each.text}; {each.fix}"),
        kind=Kind.LESSON if each.value is not None else None,
        value=each.value,
        # Of several notebooks the profile is the one that is told as what the user wants.
        to=PROFILE if to_profile else None,
        scope=wording.scoped(each.quote)[0] if each.quote else None,
        signal=Signal.EXPLICIT if is_stated and not (old and old.handle) else Signal.REPEATED,
        asked=False,
        evidence=each.quote if is_stated else "",
        source=f"session {each.cite}",
        # What the user had remembered themselves is not said twice by what was learnt of it.
        copied=not (old and old.handle),
        confidence=None if is_stated else Confidence.MEDIUM,
    )
    try:
        try:
            receipt = remember(context, request)
        except Refused:
            # Without its "from now on" an order looks like a command to run.
            if not is_stated or each.value is not None or normalised(each.quote) == normalised(request.text):
                raise
            receipt = remember(context, replace(request, text=each.quote))
    except (Refused, Unsafe):
        return row, None
    except ByheartError:
        # It could not be written now; the next time it is tried again.
        return replace(row, sessions=0), None
    record = receipt.record
    told = replace(
        row,
        handle=receipt.handle or "",
        stored=record.text if record else each.text,
        dialect=receipt.dialect,
        scope=receipt.scope.value,
        at=context.clock().isoformat(timespec="seconds"),
        # Only what is new is announced, and only where the notebook wants it.
        announce=receipt.announce and receipt.action in ("added", "replaced"),
    )
    return told, receipt


def let_go(own: HandbookFiles, texts: Sequence[str]) -> list[Captured]:
    """What was written into a notebook of something that is forgotten, by its words there or in the handbook; nothing of it is kept."""
    wanted = {normalised(default_of(text)) for text in texts if text.strip()}
    every = written(own)
    found = [row for row in every if wanted & {normalised(default_of(row.stored)), normalised(default_of(row.text))}]
    if found:
        _keep(own, [row for row in every if row not in found])
    return [row for row in found if row.handle]


def cleared(context: Context, own: HandbookFiles) -> None:
    """Take out everything that only sessions taught, also what a later word had taken the place of: only the log still has that."""
    every = [row for row in written(own) if row.handle]
    for row in every:
        _taken_back(context, row)
    kept = {row.name for row in standing(context, own)}
    for row in every:
        root = context.roots[Scope(row.scope)]
        if row.name not in kept:
            with context.files.locked(root):
                ledger.scrub(context, root, row.handle, [row.stored, row.text])
    _keep(own, [])


def _taken_back(context: Context, row: Captured) -> None:
    """Take out what only a session taught that is gone, unless somebody changed or confirmed it since. A journal keeps what was
    appended."""
    if row.dialect == JOURNAL or not row.dialect:
        return
    root = context.roots[Scope(row.scope)]

    def decide(document: object) -> Decision:
        placed = getattr(document, "placed", ())
        mine = [
            each
            for each in placed
            if normalised(each.record.text) == normalised(row.stored)
            and each.record.source in (None, f"session {row.cite}")
        ]
        changes = tuple(Drop(old=each, reason=None) for each in mine[-1:] if each.record.weight <= max(1, row.sessions))
        return Decision(changes=changes, action="forgotten" if changes else "unchanged", record=Record(text=""))

    def scrub() -> None:
        ledger.scrub(context, root, row.handle, [row.stored, row.text])

    try:
        # What a session alone had said goes with it from the log and the backups, too.
        commit(context, root, row.dialect, decide, private=True, before=scrub)
    except ByheartError:
        # Whoever keeps the file sees it there and can take it out.
        return


def written(own: HandbookFiles) -> list[Captured]:
    """What was written so far, the oldest first."""
    names = {each.name for each in fields(Captured)}
    found = []
    for line in (own.context.files.read(own.root.own(CAPTURED)).text or "").split("\n"):
        try:
            raw = json.loads(line)
            found.append(Captured(**{name: value for name, value in raw.items() if name in names}))
        except (ValueError, TypeError, AttributeError):
            continue
    return found


def standing(context: Context, own: HandbookFiles) -> list[Captured]:
    """What was written and still stands in a notebook."""
    rows = [row for row in written(own) if row.handle and row.dialect != JOURNAL]
    texts: set[tuple[str, str, str]] = set()
    for dialect, scope in {(row.dialect, row.scope) for row in rows}:
        try:
            document = opened(context, context.roots[Scope(scope)], dialect).document
        except ByheartError:
            continue
        for each in document.placed:
            texts |= {(dialect, scope, normalised(text)) for text in (each.record.text, spoken(each.record.value))}
    return [row for row in rows if (row.dialect, row.scope, normalised(row.stored)) in texts]


def _keep(own: HandbookFiles, rows: Iterable[Captured]) -> None:
    place = own.root.own(CAPTURED)
    text = "".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)
    with own.context.files.locked(own.root):
        old = own.context.files.read(place)
        if text != (old.text or ""):
            own.context.files.write(place, text, old.digest)
