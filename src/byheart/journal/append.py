"""append and flushPreCompaction: a record into MEMORY.md and into the day's log, at the same cost whatever their size."""

from __future__ import annotations

import json
from collections.abc import Mapping

from byheart.domain.documents import Place, Root
from byheart.domain.errors import BadInput, ByheartError, Conflict, Refused, Unsafe, Unwanted
from byheart.domain.journal import (
    COMPACTION,
    HEARTBEAT,
    MAIN,
    NOTE,
    TURN_SUMMARY,
    Appended,
    Origin,
    Sensitivity,
    moment,
    stamped,
    strictest,
)
from byheart.domain.records import Kind, Record, Scope, Value, leaves
from byheart.domain.values import replace
from byheart.journal import retention
from byheart.journal.files import JournalFiles, journal_files, keep, local_day, state
from byheart.journal.format import TEMPLATE, row
from byheart.language import personal
from byheart.text.deferred import deferred
from byheart.text.slugs import content_digest, uuid_of
from byheart.workspace import ledger, tombstones
from byheart.workspace.context import JOURNAL, Context, handle_of, is_enabled

MOST_CHARACTERS, _MOST_NAME = 16_000, 120
_KNOWN = ("id", "sessionId", "category", "text", "provenance")
_INNER = ("sourceChannel", "confidence", "timestamp", "sensitivity")
# Written by programs at every turn: the log of changes would hold nothing else.
_UNLOGGED = frozenset({TURN_SUMMARY, HEARTBEAT, COMPACTION})
_ROUNDS = 12
_UUID = deferred(r"^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")


def append(
    context: Context, raw: Mapping[str, object], scope: Scope, *, asked: bool = True, redact: bool = False
) -> Appended:
    """Store one record, given in the journal's own fields. Raises BadInput, Unsafe or Unwanted, and nothing is written.

    A secret in the text is refused, or with `redact` blanked out. What was not `asked` for is not stored while memory is
    switched off, or once it was forgotten.
    """
    record, more = composed(context, raw)
    record, notes = _blanked(context, record) if redact else (record, [])
    refuse_unsafe(context, record, more, asked=asked)
    root = context.roots[scope]
    if not asked:
        _refuse_unwanted(context, root, record)
    line = row(record, more)
    own_journal = journal_files(context, root)
    with context.files.locked(root):
        _refuse_full(context, own_journal.memory, line)
        if context.files.size(own_journal.memory) is None:
            notes += _kept_out_of_git(context, own_journal)
        _put(context, own_journal.memory, line + "\n")
        daily = own_journal.daily(local_day(context, context.clock()))
        notes += _put_daily(context, daily, line + "\n")
        receipt = _logged(context, root, record, notes, asked=asked)
        trimmed = _trimmed(context, own_journal, notes)
        _register(context, root)
    origin = record.origin
    assert origin is not None
    return Appended(
        id=origin.id,
        handle=handle_of(scope, JOURNAL, origin.id, record.text),
        text="" if origin.is_secret else record.text,
        category=origin.category,
        receipt=receipt,
        path=str(own_journal.memory),
        daily=str(daily),
        trimmed=trimmed,
        notes=tuple(notes),
    )


def _kept_out_of_git(context: Context, own_journal: JournalFiles) -> list[str]:
    """Have git leave a journal alone that begins in a repository, by the file that git keeps for one machine; what to tell of it."""
    top, memory = context.project.folder.rstrip("/") + "/", str(own_journal.memory)
    if context.project.common_folder is None or not memory.startswith(top):
        return []
    folder = memory.removeprefix(top).rpartition("/")[0]
    wanted = [f"/{folder}/{name}".replace("//", "/") for name in ("MEMORY.md", "LONGMEMORY.md", "memory/")]
    place = Place(context.project.common_folder, "info/exclude")
    try:
        known = context.files.read(place)
        lines = (known.text or "").split("\n")
        if missing := [line for line in wanted if line not in lines]:
            text = (known.text or "").rstrip("\n")
            context.files.write(place, "\n".join([*([text] if text else []), *missing, ""]), known.digest)
    except ByheartError:
        return [f"git may commit {own_journal.memory}: add it to .gitignore to keep it to yourself"]
    return ["the journal is kept out of git (.git/info/exclude)"] if missing else []


def _refuse_full(context: Context, place: Place, line: str) -> None:
    """Refuse a record that would make the file larger than what is read: it would be kept and never seen again."""
    size, most = context.files.size(place) or 0, context.journal.file_bytes
    if size + len(line.encode()) + 1 > most:
        raise Refused(
            f"not stored: {place} has {size:,} bytes and may have {most:,} (journal.file_bytes); byheart journal compact makes room"
        )


def _trimmed(context: Context, own_journal: JournalFiles, notes: list[str]) -> int:
    try:
        return retention.trim(context, own_journal)
    except ByheartError as error:
        # The record is stored; whoever hears of a failure would store it again.
        notes.append(f"it is stored, but the window could not be kept: {error}")
        return 0


def checkpoint(session: str = MAIN) -> dict[str, object]:
    """The record that says: from here on, what was said before may be compacted."""
    return {
        "sessionId": session,
        "category": COMPACTION,
        "text": retention.CHECKPOINT,
        "provenance": {"sourceChannel": "system", "confidence": 1, "sensitivity": Sensitivity.OPERATIONAL.value},
    }


def composed(context: Context, raw: Mapping[str, object]) -> tuple[Record, dict[str, Value]]:
    """The record that the journal's fields describe, and the fields we do not know. Raises BadInput."""
    given = raw.get("provenance") or {}
    if not isinstance(given, Mapping):
        raise BadInput("provenance is not an object")
    # Some callers put these beside the text; a label that is overlooked is a label lost.
    source = {**{name: raw[name] for name in _INNER if name in raw}, **given}
    text = raw.get("text")
    if not isinstance(text, str) or not text.strip():
        raise BadInput("there is nothing to store: the text is empty")
    if len(text) > MOST_CHARACTERS:
        raise BadInput(
            f"{len(text)} characters are too many for one record (at most {MOST_CHARACTERS}); say it shorter"
        )
    certainty = 1 if source.get("confidence") is None else source["confidence"]
    if isinstance(certainty, bool) or not isinstance(certainty, int | float) or not 0 <= certainty <= 1:
        raise BadInput(f"the confidence {certainty!r} is not a number from 0 to 1")
    labels = [label for label in (raw.get("sensitivity"), given.get("sensitivity")) if label is not None]
    for label in labels:
        if label not in tuple(Sensitivity):
            allowed = ", ".join(each.value for each in Sensitivity)
            raise BadInput(f"the sensitivity {label!r} is not known; allowed: {allowed}")
    stamp = source.get("timestamp")
    if stamp is not None and (not isinstance(stamp, str) or moment(stamp) is None):
        raise BadInput(f"the timestamp {stamp!r} is not an ISO date and time")
    origin = Origin(
        id=_name("id", raw.get("id")) or uuid_of("".join(context.token() for _ in range(4))),
        session=_name("sessionId", raw.get("sessionId")) or MAIN,
        category=_name("category", raw.get("category")) or NOTE,
        channel=_name("sourceChannel", source.get("sourceChannel")) or "operator",
        certainty=certainty,
        timestamp=stamp or stamped(context.clock()),
        sensitivity=strictest([Sensitivity(str(label)) for label in labels]),
    )
    try:
        extra = {name: value for name, value in raw.items() if name not in (*_KNOWN, *_INNER)}
        inner = {str(name): value for name, value in given.items() if name not in _INNER}
        more: dict[str, Value] = json.loads(
            json.dumps({**extra, "provenance": inner} if inner else extra, allow_nan=False)
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"a field of the record is not JSON: {error}") from None
    return Record(text=text, kind=Kind.NOTE, origin=origin, source=origin.channel), more


def _name(field: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > _MOST_NAME or not value.isprintable():
        # Not quoted: it may be half a credential, which nobody would recognise.
        raise BadInput(f"{field} is not a short name on one line (at most {_MOST_NAME} characters)")
    return value.strip()


def _blanked(context: Context, record: Record) -> tuple[Record, list[str]]:
    """The record without secrets, and a note where it had one."""
    clean = context.scanner.redacted(record.text)
    if clean == record.text:
        return record, []
    return replace(record, text=clean), ["a secret in the text was blanked out"]


def refuse_unsafe(context: Context, record: Record, more: dict[str, Value], *, asked: bool) -> None:
    """Raise Unsafe for a record with a secret, hidden characters or orders to its reader, in whichever field."""
    origin = record.origin
    assert origin is not None
    # A random number can look like anything, and a UUID says nothing.
    names = [name for name in (origin.id, origin.session) if not _UUID.match(name)]
    parts = [record.text, *names, origin.category, origin.channel, *leaves(more, names=True)]
    findings = [
        found
        for part in dict.fromkeys(parts)
        for found in context.scanner.findings(part)
        if not (asked and found.severity in ("command", "weak"))
    ]
    if findings:
        raise Unsafe(findings)


def _refuse_unwanted(context: Context, root: Root, record: Record) -> None:
    if not is_enabled(context, root):
        raise Unwanted("not stored: memory is off here; turn it on with: byheart settings enabled on")
    if private := personal.kind_of(record.text):
        raise Unwanted(f"not stored: it tells of a person's private life ({private}); only the user may ask for that")
    stone = tombstones.blocks(ledger.tombstones(context), context.salt(), None, (record.text,))
    if stone is not None:
        raise Unwanted(f"not stored: this was forgotten on {stone.removed}; only the user may bring it back")


def created(context: Context, own_journal: JournalFiles) -> bool:
    """Make MEMORY.md from its template where it is missing or empty; whether that was done. The root is locked."""
    if context.files.size(own_journal.memory):
        return False
    _put(context, own_journal.memory, "")
    return True


def _put(context: Context, place: Place, text: str) -> None:
    """Add to MEMORY.md, which starts from its template. A person who saves at the same moment wins; then again."""
    for _ in range(_ROUNDS):
        try:
            size = context.files.size(place)
            if size:
                context.files.append(place, text, None)
            else:
                context.files.write(place, TEMPLATE + text, "" if size is None else content_digest(""))
            return
        except Conflict as conflict:
            last = conflict
    raise Conflict(f"{last}; it keeps changing; try again in a moment")


def _put_daily(context: Context, place: Place, text: str) -> list[str]:
    try:
        context.files.append(place, text, None)
    except ByheartError as error:
        # MEMORY.md has the record; a log that cannot be written must not make it look lost.
        return [f"it is stored, but the day's log could not be written: {error}"]
    return []


def _logged(context: Context, root: Root, record: Record, notes: list[str], *, asked: bool) -> str:
    origin = record.origin
    if origin is None or retention.is_checkpoint(record) or (not asked and origin.category in _UNLOGGED):
        return ""
    entry = replace(
        ledger.entry_for(context, root, JOURNAL, "added"),
        handle=handle_of(root.scope, JOURNAL, origin.id, record.text),
        turns=[{"was": None, "now": ledger.as_fields(record)}],
    )
    try:
        ledger.record(context, root, entry)
    except ByheartError as error:
        notes.append(f"it is stored, but the log could not be written: {error}")
    return entry.id


def _register(context: Context, root: Root) -> None:
    """Note which folder this journal serves, so that scheduled upkeep finds it."""
    known = state(context, root)
    if known.folder != context.project.folder:
        try:
            keep(context, root, replace(known, folder=context.project.folder))
        except ByheartError:
            return
