"""The context that a main session starts with, under one cap and safe to hand out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from byheart.domain.documents import Document, Place
from byheart.domain.errors import ByheartError, Environment, Unnatural, Unreadable
from byheart.domain.journal import COMPACTION, Section, Sensitivity, SessionContext
from byheart.domain.records import Record, Scope
from byheart.domain.values import dataclass, field, replace
from byheart.journal import reading, retention
from byheart.journal.append import created
from byheart.journal.files import JournalFiles, journal_files, local_day, parsed, read
from byheart.journal.format import TEMPLATE, conceals
from byheart.journal.reading import HEADING, PROSE, Line, archived_as
from byheart.text.deferred import module
from byheart.text.similarity import normalised
from byheart.text.unicode import visible
from byheart.workspace.context import JOURNAL, Context, handle_of, is_enabled

if TYPE_CHECKING:
    from byheart.journal import experiences
else:
    experiences = module("byheart.journal.experiences")

_TITLES = {Scope.LOCAL: "", Scope.GLOBAL: ", all projects"}
_LONG_AGO = datetime(1, 1, 2, tzinfo=UTC)
_ROUNDS = 6
_NEVER = 1 << 60


@dataclass
class _Told:
    """What has been gathered for a session so far."""

    lines: list[tuple[datetime, Line]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    secrets: int = 0
    unsafe: int = 0
    cut: Counter[str] = field(default_factory=Counter)
    # Records of each category that were not even looked at.
    thinned: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    places: dict[str, tuple[str, date | None]] = field(default_factory=dict)
    handles: dict[str, str] = field(default_factory=dict)


def session_context(
    context: Context, *, main: bool = True, allow_secret: bool = False, last_message: str = ""
) -> SessionContext:
    """What a main session is told at its start, under the cap; nothing for any other session, or while it is off.

    Records come from MEMORY.md and the logs of today and yesterday, each once and as MEMORY.md has it; USER.md and
    LONGMEMORY.md go before them. Whatever is labelled secret stays out unless it is asked for, and text that holds a
    credential or gives orders always does.
    """
    settings, cap = context.journal, context.journal.session_memory_cap
    why = _silence(context, main=main)
    if why:
        return SessionContext(text="", notes=(why,), cap=cap)
    told = _Told()
    _activated(context, told)
    secret = allow_secret or settings.include_secrets_in_prompt
    if told.notes:
        return _made(context, told, last_message, secret=secret)
    search_tools = context.search_tools()
    # Everything that is told comes from these files, on this day: a change anywhere makes another key.
    key = (secret, last_message, local_day(context, context.clock()), *_stamps(context))
    found = search_tools.contexts.get(key, lambda: _made(context, told, last_message, secret=secret), _size)
    search_tools.asked()
    return found


def _size(context: SessionContext) -> int:
    # Trouble may be over without a file having changed, so what came of it is not kept.
    return 2_000 + 8 * len(context.text) if not context.notes else _NEVER


def _stamps(context: Context) -> list[str]:
    """What tells whether a file has changed that a session may be told of."""
    today = local_day(context, context.clock())
    found = []
    for root in context.roots.values():
        own_journal = journal_files(context, root)
        days = [own_journal.daily(today + timedelta(days=offset)) for offset in (-1, 0, 1)]
        places = (
            own_journal.memory,
            own_journal.user,
            own_journal.long_memory,
            own_journal.archive,
            own_journal.experiences,
            *days,
        )
        for place in (*places, *root.documents.values()):
            try:
                found.append(context.files.stamp(place))
            except ByheartError as error:
                found.append(str(error))
    return found


def _made(context: Context, told: _Told, last_message: str, *, secret: bool) -> SessionContext:
    settings = context.journal
    journals = [(journal_files(context, root), _TITLES[scope]) for scope, root in context.roots.items()]
    # USER.md before the summaries, both before the records.
    heads = [
        *_users(context, journals, told),
        *(_summaries(context, journals, told) if settings.include_long_memory_in_session else ()),
        *(_experiences(context, last_message, told) if last_message.strip() else ()),
    ]
    for own_journal, title in journals:
        _gather(context, own_journal, title, told, secret=secret)
    return _assembled(context, heads, told, settings.session_memory_cap)


def _silence(context: Context, *, main: bool) -> str:
    if not main:
        return "only the main session is told"
    if not context.journal.session_memory_enabled:
        return "session memory is off (journal.session_memory_enabled)"
    try:
        return "" if is_enabled(context, context.roots[Scope.LOCAL]) else "memory is off"
    except ByheartError:
        # A broken memories.md says nothing about the journal.
        return ""


def _activated(context: Context, told: _Told) -> None:
    """MEMORY.md is made from its template when a session first looks for it."""
    root = context.roots[Scope.LOCAL]
    own_journal = journal_files(context, root)
    if context.trust.covers(own_journal.memory):
        # Looking makes no file in somebody's repository.
        return
    try:
        if not context.files.size(own_journal.memory):
            with context.files.locked(root):
                created(context, own_journal)
    except (Environment, Unnatural) as error:
        told.notes.append(f"the journal could not be set up: {error}")


def _text(context: Context, place: Place, told: _Told) -> str:
    """A text file that may be told. It is looked through as a whole, before anything is cut off: half a credential is not
    recognised as one."""
    try:
        text = context.trust.own_text(place, (read(context, place).text or "").replace("\r\n", "\n")).strip()
    except (Environment, Unnatural) as error:
        told.notes.append(f"not read: {error}")
        return ""
    lines = text.split("\n")
    return "\n".join(line for line in _harmless(context, lines, told) if line is not None)


def _harmless(context: Context, lines: list[str], told: _Told) -> list[str | None]:
    """Lines that stand together, each as it may be told, None where it may not."""
    unsafe = context.scanner.unsafe_lines("\n".join(lines))
    if not unsafe:
        return list(lines)
    found: list[str | None] = list(lines)
    for number, curable in unsafe.items():
        clean = context.scanner.redacted(lines[number - 1]) if curable else None
        found[number - 1] = clean if clean and not context.scanner.unsafe_lines(clean) else None
        told.unsafe += found[number - 1] is None
    return found


def _users(context: Context, journals: Sequence[tuple[JournalFiles, str]], told: _Told) -> list[Section]:
    """USER.md of each root that has one, sharing their part of the room."""
    found = [
        (own_journal, title, text)
        for own_journal, title in journals
        if (text := _text(context, own_journal.user, told))
    ]
    sections = []
    for own_journal, title, text in found:
        room = int(context.journal.session_memory_cap * reading.USER_SHARE / len(found))
        lines = text.split("\n")
        while sum(len(line) + 1 for line in lines) > room and len(lines) > 1:
            lines.pop()
        told.cut["lines of USER.md"] += text.count("\n") + 1 - len(lines) + (len(lines[0]) > room)
        label = f"About the user (USER.md{title}):"
        sections.append(Section(label=label, text="\n".join(lines)[:room], path=str(own_journal.user)))
    return sections


def _summaries(context: Context, journals: Sequence[tuple[JournalFiles, str]], told: _Told) -> list[Section]:
    """LONGMEMORY.md of each root that has one, sharing their part of the room; of each the newest blocks."""
    found = [
        (own_journal, title, text)
        for own_journal, title in journals
        if (text := _text(context, own_journal.long_memory, told))
    ]
    sections = []
    for own_journal, title, text in found:
        room = int(context.journal.session_memory_cap * reading.LONG_SHARE / len(found))
        kept, missing = reading.newest_blocks(retention.dated(text), room)
        told.cut["lines of older summaries"] += missing
        # What is told here need not be told again from MEMORY.md; what is not, must.
        told.seen.update(normalised(line.strip().removeprefix("- ")) for line in kept.split("\n"))
        if kept:
            label = f"Long-term summary (LONGMEMORY{title}):"
            sections.append(Section(label=label, text=kept, path=str(own_journal.long_memory)))
    return sections


def _experiences(context: Context, last_message: str, told: _Told) -> list[Section]:
    """What was lived through and has to do with what the user said last."""
    if not context.journal.experience_store_enabled:
        told.notes.append("no experiences are told: none are kept (journal.experience_store_enabled)")
        return []
    try:
        text = experiences.block(context, last_message, list(context.roots))
    except ByheartError as error:
        told.notes.append(f"no experiences: {error}")
        return []
    room = int(context.journal.session_memory_cap * reading.USER_SHARE)
    lines = text.split("\n") if text else []
    while lines and sum(len(line) + 1 for line in lines) > room:
        lines.pop()
    # What is told here need not be told again.
    told.seen.update(normalised(line.split("] ", 1)[-1]) for line in lines)
    if not lines:
        return []
    place = journal_files(context, context.roots[Scope.LOCAL]).experiences
    return [Section(label=experiences.TITLE, text="\n".join(lines), path=str(place))]


def _gather(context: Context, own_journal: JournalFiles, title: str, told: _Told, *, secret: bool) -> None:
    """The lines of MEMORY.md and of the last two days' logs; a record in both counts for its day, as MEMORY.md has it."""
    today = local_day(context, context.clock())
    days = [today - timedelta(days=1), today]
    # A log from tomorrow was written by a program that dates its logs in UTC.
    days += [day] if (day := context.clock().astimezone(UTC).date()) > today else []
    dailies = [(day, _document(context, own_journal.daily(day), told)) for day in days]
    logged_ids = {origin.id for _, each in dailies for placed in each.placed if (origin := placed.record.origin)}
    before = len(told.notes)
    memory = _document(context, own_journal.memory, told, logged_ids)
    readable = len(told.notes) == before
    own: dict[str, list[Record]] = {}
    for each in memory.placed:
        if each.record.origin is not None and each.record.origin.id:
            own.setdefault(each.record.origin.id, []).append(each.record)
    _from_elsewhere(context, own_journal, [document for _, document in dailies], own, told, readable=readable)
    logged = [(day, document, [_as_kept(each.record, own) for each in document.placed]) for day, document in dailies]
    recent = {_identity(record) for _, _, records in logged for record in records}
    label = f"Long-term memory (MEMORY.md{title}):"
    told.places[label] = (str(own_journal.memory), None)
    scope = own_journal.root.scope
    _add(context, memory, [each.record for each in memory.placed], label, told, secret=secret, but=recent, scope=scope)
    for day, document, records in logged:
        label = f"Daily memory ({day.isoformat()}{title}):"
        told.places[label] = (str(own_journal.daily(day)), day)
        _add(context, document, records, label, told, secret=secret, but=set(), scope=scope)


def _from_elsewhere(
    context: Context,
    own_journal: JournalFiles,
    dailies: list[Document],
    own: dict[str, list[Record]],
    told: _Told,
    *,
    readable: bool,
) -> None:
    """Records that have left MEMORY.md since they were logged count as they left it: with the label they had then. Where
    MEMORY.md or its archive cannot be read, nobody can say what they are labelled now, so they are held back."""
    logged = {
        each.record.origin.id: each.record
        for document in dailies
        for each in document.placed
        if each.record.origin and each.record.origin.id and each.record.origin.id not in own
    }
    if not logged:
        return
    try:
        if not readable:
            raise Unreadable(str(own_journal.memory), "it cannot be read", "fix it and try again")
        archive = archived_as(context, own_journal, set(logged))
    except ByheartError as error:
        told.notes.append(f"{len(logged)} records of the last days are held back: {error}")
        strict = Sensitivity.SECRET
        archive = {
            id_: replace(each, origin=replace(each.origin, sensitivity=strict))
            for id_, each in logged.items()
            if each.origin
        }
    own.update({id_: [record] for id_, record in archive.items()})


def _as_kept(record: Record, own: dict[str, list[Record]]) -> Record:
    """A logged record as MEMORY.md has it now: a person may have corrected it there, or labelled it secret."""
    same = own.get(record.origin.id, []) if record.origin and record.origin.id else []
    if len(same) == 1:
        return same[0]
    return next((each for each in same if each.text == record.text), record)


def _document(context: Context, place: Place, told: _Told, ids: Set[str] = frozenset()) -> Document:
    """A file taken apart; a very long one without the older lines that could not be told, but with the records of these ids."""
    try:
        whole = context.trust.own_text(place, read(context, place).text or "")
        text, gone = reading.thinned(whole, ids, context.journal.session_memory_cap)
    except (Environment, Unnatural) as error:
        told.notes.append(f"not read: {error}")
        return parsed(context, "")
    told.thinned.update(gone)
    document = parsed(context, text)
    broken = sum(each.rule == "broken-line" for each in document.problems)
    if broken:
        # Its line may be another than in the file, of which old lines were left out; byheart check names it.
        told.notes.append(
            f"{place}: {broken} broken record{'s' if broken > 1 else ''} not read; byheart check says where"
        )
    return document


def _identity(record: Record) -> str:
    origin = record.origin
    return f"{origin.id if origin else ''} {record.text}"


def _add(
    context: Context,
    document: Document,
    records: list[Record],
    label: str,
    told: _Told,
    *,
    secret: bool,
    but: set[str],
    scope: Scope,
) -> None:
    by_line = {each.line: record for each, record in zip(document.placed, records, strict=True)}
    # Lines that look like broken records may hold what a label would have kept back.
    broken = {each.line for each in document.problems}
    template = set(TEMPLATE.split("\n"))
    now = _LONG_AGO
    every = document.text.replace("\r\n", "\n").split("\n")
    own = [number for number in range(1, len(every) + 1) if number not in by_line and number not in broken]
    prose = dict(zip(own, _harmless(context, [every[number - 1] for number in own], told), strict=True))
    for number in range(1, len(every) + 1):
        record = by_line.get(number)
        if record is None:
            line = prose.get(number)
            if line and line.strip() and line not in template and not conceals(line):
                kind = HEADING if line.lstrip().startswith("#") else PROSE
                _tell(told, label, now, kind, " ".join(line.rstrip().splitlines()))
            continue
        now = (record.origin.at if record.origin else None) or now
        identity = _identity(record)
        if identity in but or identity in told.seen:
            continue
        if record.is_secret and not secret:
            told.secrets += 1
            continue
        told.seen.add(identity)
        text = _spoken(context, record, told)
        if text:
            category = reading.shown_category(record.origin.category) if record.origin else PROSE
            told.handles[visible(text).strip()] = handle_of(
                scope, JOURNAL, record.origin.id if record.origin else None, record.text
            )
            _tell(told, label, now, category, text)


def _tell(told: _Told, label: str, at: datetime, category: str, text: str) -> None:
    line = Line(section=label, order=len(told.lines), rank=0, category=category, text=visible(text))
    told.lines.append((at, line))


def _spoken(context: Context, record: Record, told: _Told) -> str:
    origin = record.origin
    category = origin.category if origin else "note"
    lines = [" ".join(line.split()) for line in record.text.splitlines() if line.strip()]
    if category == COMPACTION:
        # What LONGMEMORY.md has said already is not said again.
        lines = [line for line in lines if normalised(line.removeprefix("- ")) not in told.seen]
        if not [line for line in lines if line.startswith("- ")] and len(lines) < 2:
            return ""
    day = f" {local_day(context, at).isoformat()}" if origin and (at := origin.at) else ""
    return f"- [{reading.shown_category(category)}{day}] " + " ".join(lines)


def _assembled(context: Context, heads: Sequence[Section], told: _Told, cap: int) -> SessionContext:
    """The sections as one text of at most `cap` characters, its note about what is missing among them."""
    ranked = sorted(range(len(told.lines)), key=lambda at: (told.lines[at][0], at))
    ranks = {at: rank for rank, at in enumerate(ranked)}
    lines = [replace(line, rank=ranks[at]) for at, (_, line) in enumerate(told.lines)]
    labels = list(dict.fromkeys(line.section for line in lines))
    frame = sum(len(head.label) + len(head.text) + 1 + len(reading.JOINT) for head in heads)
    frame += sum(len(label) + 1 + len(reading.JOINT) for label in labels)
    room = cap - frame - len(reading.JOINT)
    # The note has to fit as well; this is the longest it can become.
    everything = Counter(line.category for line in lines) + told.thinned
    room -= len(
        reading.note([*_counted(everything), *_counted(told.cut), ("labelled secret", 10**6), ("unsafe", 10**6)])
    )
    newest = max(lines, key=lambda each: each.rank, default=None)
    if newest is not None and len(newest.text) > room:
        # It will be cut, so it is looked through first.
        whole = _harmless(context, [newest.text], told)[0] or "(withheld)"
        lines = [replace(each, text=whole) if each is newest else each for each in lines]
    fitted = reading.fitted(lines, max(0, room))
    sections = [*heads, *(_section(told, label, fitted.lines[label]) for label in labels if label in fitted.lines)]
    sections = _defused(context, sections, told)
    left_out = [*_counted(fitted.left_out + told.thinned), *_counted(told.cut)]
    left_out += [(name, count) for name, count in (("labelled secret", told.secrets), ("unsafe", told.unsafe)) if count]
    note = reading.note(left_out)
    parts = [f"{each.label}\n{each.text}" for each in sections]
    text = reading.JOINT.join([*parts, note] if note and parts else parts)
    if len(text) > cap:
        text = text[: max(0, cap - 2)].rsplit("\n", 1)[0] + "\n…"
    return SessionContext(
        text=text,
        sections=tuple(sections),
        left_out=tuple(left_out),
        notes=tuple(told.notes),
        cap=cap,
        handles=dict(told.handles),
    )


def _section(told: _Told, label: str, lines: list[str]) -> Section:
    path, day = told.places[label]
    return Section(label=label, text="\n".join(lines), path=path, day=day)


def _defused(context: Context, sections: list[Section], told: _Told) -> list[Section]:
    """The sections without lines that hold a credential, or order the reader about, alone or together with their
    neighbours: the whole is judged as the session will read it."""
    texts = [visible(each.text).split("\n") for each in sections]
    for _ in range(_ROUNDS):
        flat: list[str] = []
        owners: list[tuple[int, int] | None] = []
        for place, (section, lines) in enumerate(zip(sections, texts, strict=True)):
            flat += [section.label, *lines, "", "---", ""]
            owners += [None, *((place, at) for at in range(len(lines))), None, None, None]
        unsafe = context.scanner.unsafe_lines("\n".join(flat))
        if not unsafe:
            break
        for number, curable in sorted(unsafe.items(), reverse=True):
            owner = owners[number - 1]
            if owner is None:
                continue
            place, at = owner
            clean = context.scanner.redacted(texts[place][at]) if curable else ""
            if clean and clean != texts[place][at]:
                texts[place][at] = clean
            else:
                told.unsafe += 1
                del texts[place][at]
    else:
        told.unsafe += sum(len(lines) for lines in texts)
        return []
    return [
        replace(section, text="\n".join(lines))
        for section, lines in zip(sections, texts, strict=True)
        if any(line.strip() for line in lines)
    ]


def _counted(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(((name, count) for name, count in counts.items() if count), key=lambda each: (-each[1], each[0]))
