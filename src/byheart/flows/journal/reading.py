"""readAll, retrieveForSession and the context that a main session starts with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from byheart.dialects.journal import TEMPLATE
from byheart.domain.documents import Document
from byheart.domain.errors import ByheartError, Environment, Unnatural
from byheart.domain.journal import COMPACTION, Section, SessionContext
from byheart.domain.records import Record, Scope
from byheart.domain.results import Hit
from byheart.domain.roots import Place
from byheart.flows.desk import JOURNAL, Desk, cleaned, hits, is_enabled, opened, without_secrets
from byheart.flows.journal.append import created
from byheart.flows.journal.shelf import Shelf, local_day, parsed, read, shelf_of
from byheart.policies import context as fitting
from byheart.policies.context import PROSE, Fitted, Line
from byheart.text.likeness import normalised
from byheart.text.unicode import visible

_TITLES = {Scope.LOCAL: "", Scope.GLOBAL: ", all projects"}


def read_all(desk: Desk, scope: Scope) -> list[Record]:
    """Every record of MEMORY.md in file order, secret ones among them: for programs that keep the journal."""
    return [each.record for each in opened(desk, desk.roots[scope], JOURNAL).document.placed]


def retrieve(desk: Desk, scope: Scope, session: str, *, allow_secret: bool) -> list[Record]:
    """The records of one session, oldest first; those labelled secret only where that is asked for."""
    found = [each for each in read_all(desk, scope) if each.origin is not None and each.origin.session == session]
    return [cleaned(desk, each) for each in found if allow_secret or not each.is_secret]


def listing(
    desk: Desk, scope: Scope, *, session: str | None, category: str | None, allow_secret: bool, most: int | None
) -> list[Hit]:
    """The newest records that fit the filters, in file order."""
    found = [
        hit
        for hit in hits(opened(desk, desk.roots[scope], JOURNAL))
        if (origin := hit.record.origin) is not None
        and (allow_secret or not origin.is_secret)
        and (session is None or origin.session == session)
        and (category is None or origin.category == category)
    ]
    return without_secrets(desk, found[-most:] if most else found)


@dataclass
class _Told:
    """What has been gathered for a session so far."""

    lines: list[Line] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    secrets: int = 0
    unfit: int = 0
    notes: list[str] = field(default_factory=list)
    places: dict[str, tuple[str, date | None]] = field(default_factory=dict)


def session_context(desk: Desk, *, main: bool = True, allow_secret: bool = False) -> SessionContext:
    """What a main session is told at its start, under the cap; nothing for any other session, or while it is off.

    Records come from MEMORY.md and the logs of today and yesterday, each once; LONGMEMORY.md and USER.md go before them.
    Whatever is labelled secret stays out unless it is asked for, and text that gives orders always does.
    """
    settings, cap = desk.journal, desk.journal.session_memory_cap
    why = _silence(desk, main=main)
    if why:
        return SessionContext(text="", notes=(why,), cap=cap)
    told = _Told()
    _activated(desk, told)
    secret = allow_secret or settings.include_secrets_in_prompt
    heads = []
    for scope, root in desk.roots.items():
        shelf, title = shelf_of(desk, root), _TITLES[scope]
        heads += _heads(desk, shelf, title, told)
        _gather(desk, shelf, title, told, secret=secret)
    # USER.md before the summaries, both before the records.
    heads.sort(key=lambda each: each.label.startswith("Long-term"))
    return _assembled(desk, heads, told, cap)


def _silence(desk: Desk, *, main: bool) -> str:
    if not main:
        return "only the main session is told"
    if not desk.journal.session_memory_enabled:
        return "session memory is switched off (journal.session_memory_enabled)"
    try:
        return "" if is_enabled(desk, desk.roots[Scope.LOCAL]) else "memory is switched off"
    except ByheartError:
        # A broken memories.md says nothing about the journal.
        return ""


def _activated(desk: Desk, told: _Told) -> None:
    """MEMORY.md is made from its template when a session first looks for it."""
    root = desk.roots[Scope.LOCAL]
    shelf = shelf_of(desk, root)
    try:
        if not desk.files.size(shelf.memory):
            with desk.files.locked(root):
                created(desk, shelf)
    except (Environment, Unnatural) as error:
        told.notes.append(f"the journal could not be set up: {error}")


def _heads(desk: Desk, shelf: Shelf, title: str, told: _Told) -> list[Section]:
    """USER.md and LONGMEMORY.md of one root, each within its share; of the latter the newest part."""
    cap = desk.journal.session_memory_cap
    found = []
    user = _text(desk, shelf.user, told).strip()
    if user:
        kept, cut = user[: int(cap * fitting.USER_SHARE)], len(user) > int(cap * fitting.USER_SHARE)
        whole = kept.rsplit("\n", 1)[0] + "\n…" if cut else kept
        found.append(Section(label=f"About the user (USER.md{title}):", text=whole, path=str(shelf.user)))
    if desk.journal.include_long_memory_in_session:
        text = _text(desk, shelf.long_memory, told).strip()
        told.seen.update(normalised(line.removeprefix("- ")) for line in text.split("\n"))
        kept, cut = fitting.newest_part(text, int(cap * fitting.LONG_SHARE))
        if cut:
            told.notes.append(f"only the newest part of {shelf.long_memory} fits")
        if kept:
            label = f"Long-term summary (LONGMEMORY{title}):"
            found.append(Section(label=label, text=kept, path=str(shelf.long_memory)))
    return found


def _text(desk: Desk, place: Place, told: _Told) -> str:
    """A text file's lines that may be told: without secrets, without orders to the reader, visible."""
    try:
        text = read(desk, place).text or ""
    except (Environment, Unnatural) as error:
        told.notes.append(f"not read: {error}")
        return ""
    return "\n".join(_fit(desk, text.replace("\r\n", "\n").split("\n"), told))


def _fit(desk: Desk, lines: list[str], told: _Told) -> list[str]:
    """The lines that may be handed to an agent, as far as a scan can tell; one look at all of them is nearly always enough."""
    found = _checked(desk, lines)
    fit = [found[line] for line in lines if found[line] or not line]
    told.unfit += len(lines) - len(fit)
    # Halves of something unsafe may stand on two lines: then nothing of this file is told.
    if _unsafe(desk, "\n".join(fit)):
        told.unfit += len(fit)
        return []
    return fit


def _unsafe(desk: Desk, text: str) -> bool:
    return any(each.severity not in ("command", "weak") for each in desk.scanner.findings(text))


def _gather(desk: Desk, shelf: Shelf, title: str, told: _Told, *, secret: bool) -> None:
    """The lines of MEMORY.md and of the last two days' logs, oldest first; a record in both counts for its day."""
    today = local_day(desk, desk.clock())
    dailies = [(day, _document(desk, shelf.daily(day), told)) for day in (today - timedelta(days=1), today)]
    recent = {_identity(each.record) for _, document in dailies for each in document.placed}
    memory = _document(desk, shelf.memory, told)
    label = f"Long-term memory (MEMORY.md{title}):"
    told.places[label] = (str(shelf.memory), None)
    _add(memory, label, told, secret=secret, but=recent)
    for day, document in dailies:
        label = f"Daily memory ({day.isoformat()}{title}):"
        told.places[label] = (str(shelf.daily(day)), day)
        _add(document, label, told, secret=secret, but=set())


def _document(desk: Desk, place: Place, told: _Told) -> Document:
    try:
        return parsed(desk, read(desk, place).text or "")
    except (Environment, Unnatural) as error:
        told.notes.append(f"not read: {error}")
        return parsed(desk, "")


def _identity(record: Record) -> str:
    origin = record.origin
    return origin.id if origin and origin.id else normalised(record.text)


def _add(document: Document, label: str, told: _Told, *, secret: bool, but: set[str]) -> None:
    by_line = {each.line: each.record for each in document.placed}
    # Lines that look like broken records may hold what a label would have kept back.
    broken = {each.line for each in document.problems}
    template = set(TEMPLATE.split("\n"))
    candidates: list[tuple[str, str]] = []
    for number, line in enumerate(document.text.replace("\r\n", "\n").split("\n"), start=1):
        record = by_line.get(number)
        if record is None:
            if line.strip() and number not in broken and line not in template:
                candidates.append((PROSE, line.rstrip()))
        elif record.is_secret and not secret:
            told.secrets += _identity(record) not in but
        elif _identity(record) not in but and _identity(record) not in told.seen:
            told.seen.add(_identity(record))
            text = _spoken(record, told)
            if text:
                candidates.append((record.origin.category if record.origin else PROSE, text))
    start = len(told.lines)
    told.lines += [
        Line(section=label, order=start + place, category=category, text=text)
        for place, (category, text) in enumerate(candidates)
    ]


def _spoken(record: Record, told: _Told) -> str:
    origin = record.origin
    category = origin.category if origin else "note"
    lines = [line for line in record.text.split("\n") if line.strip()]
    if category == COMPACTION:
        # What LONGMEMORY.md has said already is not said again.
        lines = [line for line in lines if normalised(line.strip().removeprefix("- ")) not in told.seen]
        if not [line for line in lines if line.lstrip().startswith("- ")] and len(lines) < 2:
            return ""
    day = f" {origin.timestamp[:10]}" if origin and origin.timestamp else ""
    return f"- [{category}{day}] " + " ".join(" ".join(line.split()) for line in lines)


def _assembled(desk: Desk, heads: Sequence[Section], told: _Told, cap: int) -> SessionContext:
    """The sections as one text of at most `cap` characters, its note about what is missing among them."""
    labels = list(dict.fromkeys(line.section for line in told.lines))
    frame = sum(len(head.label) + len(head.text) + 1 + len(fitting.JOINT) for head in heads)
    frame += sum(len(label) + 1 + len(fitting.JOINT) for label in labels)
    room = cap - frame - len(fitting.JOINT)
    total = sum(len(line.text) + 1 for line in told.lines)
    if total > room or told.secrets or told.unfit:
        # The note has to fit as well; this is the longest it can become.
        room -= len(fitting.note([*_counted(Counter(line.category for line in told.lines)), *_withheld(told), ("", 0)]))
    fitted = _safely_fitted(desk, told, max(0, room))
    left_out = [*_counted(fitted.left_out), *_withheld(told)]
    sections = list(heads)
    for label in labels:
        if fitted.lines.get(label):
            path, day = told.places[label]
            sections.append(Section(label=label, text="\n".join(fitted.lines[label]), path=path, day=day))
    parts = [f"{each.label}\n{each.text}" for each in sections]
    note = fitting.note(left_out)
    text = fitting.JOINT.join([*parts, note] if note and parts else parts)
    if len(text) > cap:
        text = text[: max(0, cap - 2)].rsplit("\n", 1)[0] + "\n…"
    return SessionContext(
        text=text, sections=tuple(sections), left_out=tuple(left_out), notes=tuple(told.notes), cap=cap
    )


def _safely_fitted(desk: Desk, told: _Told, room: int) -> Fitted:
    """The lines that fit and may be told. Only what fits is scanned: a journal can be a thousand times as long."""
    checked: dict[str, str] = {}
    while True:
        fitted = fitting.fitted(told.lines, room)
        fresh = [text for texts in fitted.lines.values() for text in texts if text not in checked]
        if not fresh:
            return fitted
        checked.update(_checked(desk, fresh))
        told.unfit += sum(checked[text] == "" for text in fresh)
        told.lines = [
            replace(line, text=checked.get(line.text, line.text)) for line in told.lines if checked.get(line.text) != ""
        ]
        # What was cleaned is clean: it need not be looked at again.
        checked.update({text: text for text in checked.values() if text})


def _checked(desk: Desk, lines: list[str]) -> dict[str, str]:
    """Each line as it may be told, "" where it may not."""
    if not _unsafe(desk, "\n".join(lines)):
        return {line: visible(line) for line in lines}
    found = {}
    for line in lines:
        clean = desk.scanner.redacted(line)
        found[line] = "" if _unsafe(desk, clean) else visible(clean)
    return found


def _withheld(told: _Told) -> list[tuple[str, int]]:
    found = (("withheld as secret", told.secrets), ("withheld as unsafe", told.unfit))
    return [(name, count) for name, count in found if count]


def _counted(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))
