"""A root's history: one line a change, enough to undo it, scrubbed of what was forgotten."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import TypedDict

from byheart.domain.documents import Place, Root
from byheart.domain.errors import NotUndoable
from byheart.domain.journal import Origin, Sensitivity
from byheart.domain.records import Confidence, Kind, Record, Triple, Value, leaves
from byheart.domain.reports import LogEntry
from byheart.domain.values import asdict, dataclass, fields
from byheart.text.lines import unescaped
from byheart.text.similarity import normalised
from byheart.workspace.context import JOURNAL, Context
from byheart.workspace.tombstones import Tombstone

LOG, FORGOTTEN, BACKUP = "log.ndjson", "forgotten.ndjson", "backup"
# The end of the name of a second file that was backed up with the first.
ALONG = ".along"
# A text as long as this is not found inside another one by chance.
_TELLING = 24


class LoggedSplice(TypedDict):
    """One splice with both of its sides."""

    at: int
    old: str
    new: str


class RecordChange(TypedDict):
    """One record before and after a change; None where it was not there, or is no longer."""

    was: dict[str, Value] | None
    now: dict[str, Value] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChange:
    """A change as the log keeps it. `pieces` is None where the change cannot be undone."""

    id: str
    at: str
    action: str
    dialect: str
    base: str
    path: str
    handle: str | None = None
    before: str = ""
    after: str = ""
    pieces: list[LoggedSplice] | None = None
    turns: list[RecordChange] | None = None
    backup: str | None = None
    undoes: str | None = None
    scrubbed: bool = False
    setting: list[str | bool] | None = None
    note: str = ""
    # Of a compaction or an import: the characters of the file after it.
    size: int = 0
    # Of a compaction: the digest of its block in LONGMEMORY.md, that file's digest after it, and a backup from before.
    block: str = ""
    long_after: str = ""
    long_backup: str = ""

    @property
    def is_notice(self) -> bool:
        """Whether it only says what happened (a compaction that was skipped or failed): nothing to undo."""
        return bool(self.note) and self.backup is None and self.pieces is None and not self.scrubbed

    @property
    def place(self) -> Place:
        return Place(self.base, self.path)

    @property
    def undoable(self) -> bool:
        return not self.scrubbed and (self.pieces is not None or self.backup is not None or bool(self.turns))


_NAMES = {each.name for each in fields(StoredChange)}


def entry_for(context: Context, root: Root, dialect: str, action: str) -> StoredChange:
    """A new entry about one of a root's documents, dated now."""
    place = root.documents[dialect]
    at = context.clock().isoformat(timespec="microseconds")
    return StoredChange(id=context.token(), at=at, action=action, dialect=dialect, base=place.base, path=place.path)


def entries(context: Context, root: Root) -> list[StoredChange]:
    """The whole log, oldest first; a line that cannot be read is passed over."""
    return [entry for _, entry in _rows(context.files.read(root.own(LOG)).text or "") if entry is not None]


def _rows(text: str) -> Iterator[tuple[str, StoredChange | None]]:
    for row in text.split("\n"):
        if not row.strip():
            continue
        try:
            raw = json.loads(row)
            yield row, StoredChange(**{name: value for name, value in raw.items() if name in _NAMES})
        except (ValueError, TypeError, AttributeError, RecursionError):
            yield row, None


def _line(raw: Mapping[str, object]) -> str:
    # ASCII, since a path may hold bytes that are no UTF-8 and U+0085 must not look like a line's end to anybody.
    return json.dumps({name: value for name, value in raw.items() if value not in (None, "", False, 0)}) + "\n"


def record(context: Context, root: Root, entry: StoredChange) -> None:
    """Add an entry; now and then, old ones are let go when there are twice as many as the log should hold."""
    place = root.own(LOG)
    context.files.append(place, _line(asdict(entry)), None)
    # Receipts are random, so this looks at the whole log for one change in eight.
    if entry.id[-1] not in "07":
        return
    snapshot = context.files.read(place)
    most = context.limits.log_entries
    if snapshot.text is not None and snapshot.text.count("\n") > 2 * most:
        rows = snapshot.text.split("\n")[:-1]
        context.files.write(place, "".join(row + "\n" for row in rows[-most:]), snapshot.digest)


def mentions(entry: StoredChange, handle: str, texts: Iterable[str]) -> bool:
    """Whether an entry is about a record, or repeats what it said."""
    if entry.handle == handle:
        return True
    said = [
        text for turn in entry.turns or [] for side in (turn["was"], turn["now"]) for text in leaves(dict(side or {}))
    ]
    said += [text for piece in entry.pieces or [] for text in (piece["old"], piece["new"])]
    # Shorter texts are common: another record that says "concise" keeps its own history.
    telling = [text.casefold() for text in texts if len(text) >= _TELLING]
    if any(text in other.casefold() for text in telling for other in said):
        return True
    # A journal has no keys: what says the same is the same, however short it is.
    whole = {normalised(text) for text in texts}
    return entry.dialect == JOURNAL and any(normalised(other) in whole for other in said)


def scrub(context: Context, root: Root, handle: str, texts: list[str]) -> int:
    """Take a forgotten record out of the log, and backups that hold it away; how many places held it."""
    touched = 0
    place = root.own(LOG)
    snapshot = context.files.read(place)
    gone = _without_backups(context, root, texts)
    rows = []
    for row, entry in _rows(snapshot.text or ""):
        if entry is None:
            unclear = any(json.dumps(text)[1:-1] in row or text in row for text in texts)
            touched += unclear
            rows += [] if unclear else [row + "\n"]
        elif not entry.scrubbed and (mentions(entry, handle, texts) or {entry.backup, entry.long_backup} & gone):
            touched += 1
            bare = StoredChange(
                id=entry.id, at=entry.at, action=entry.action, dialect=entry.dialect, base=entry.base,
                path=entry.path, handle=entry.handle, undoes=entry.undoes, scrubbed=True,
            )  # fmt: skip
            rows.append(_line(asdict(bare)))
        else:
            rows.append(row + "\n")
    if touched:
        context.files.write(place, "".join(rows), snapshot.digest)
    return touched + len(gone)


def _without_backups(context: Context, root: Root, texts: list[str]) -> set[str]:
    """Remove the backups that hold one of these texts, however it is spelled there. They are never edited: a backup is
    the bytes of a person's file, or it is nothing."""
    folder, gone = root.own(BACKUP), set()
    wanted = [_folded(text) for text in texts if len(text.strip()) > 2]
    for name in context.files.names(folder):
        copy = Place(folder.base, f"{folder.path}/{name}")
        held = context.files.read(copy)
        content = _folded(held.text or "")
        if any(each in content for each in wanted):
            context.files.remove(copy, held.digest)
            gone.add(name)
    return gone


def _folded(text: str) -> str:
    """A text without what YAML may put between its words: line breaks, quotes, escapes, list marks."""
    return re.sub(r"[\s\\\"'>|-]+", " ", unescaped(text)).casefold().strip()


def tombstones(context: Context) -> list[Tombstone]:
    """Everything that was forgotten, in whichever scope: what a person wants gone is wanted nowhere."""
    texts = (context.files.read(root.own(FORGOTTEN)).text or "" for root in context.roots.values())
    return [stone for text in texts for stone in stones_in(text)]


def stones_in(text: str) -> list[Tombstone]:
    """The tombstones of a file; a line that cannot be read is passed over."""
    found = []
    for row in text.split("\n"):
        try:
            raw = json.loads(row)
            found.append(
                Tombstone(
                    key=raw.get("key"),
                    key_digest=raw.get("key_digest"),
                    digest=raw["digest"],
                    removed=raw["removed"],
                    reason=raw["reason"],
                    length=int(raw.get("length") or 0),
                )
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
    return found


def bury(context: Context, root: Root, tombstone: Tombstone) -> None:
    """Add a tombstone; on disk before the record goes, so that no crash lets it be learnt again."""
    context.files.append(root.own(FORGOTTEN), _line(asdict(tombstone)), None)
    # What was prepared for sessions may hold it.
    context.drop_briefs()


def backup_name(context: Context, place: Place) -> str:
    """A name for a new backup of a file."""
    stamp = context.clock().strftime("%Y%m%dT%H%M%SZ")
    return f"{stamp}-{context.token()}-{place.path.rsplit('/', 1)[-1]}"


def back_up(context: Context, root: Root, place: Place, text: str, name: str | None = None) -> str:
    """Keep a copy of a file's whole text; the name to find it by."""
    name = name or backup_name(context, place)
    folder = root.own(BACKUP)
    context.files.write(Place(folder.base, f"{folder.path}/{name}"), text, "")
    return name


def drop_backup(context: Context, root: Root, name: str) -> None:
    """Remove one backup, and what was backed up along with it, if they are there."""
    folder = root.own(BACKUP)
    for each in (name, name + ALONG):
        place = Place(folder.base, f"{folder.path}/{each}")
        held = context.files.read(place)
        if held.text is not None:
            context.files.remove(place, held.digest)


def drop_backups(context: Context, root: Root, action: str, but: str | None) -> None:
    """Remove the backups that changes of one sort made, all but one: each is as large as the file itself."""
    for entry in entries(context, root):
        if entry.action == action and entry.backup and entry.backup != but:
            drop_backup(context, root, entry.backup)


def restored(context: Context, root: Root, name: str) -> str:
    """A backup's text."""
    folder = root.own(BACKUP)
    text = context.files.read(Place(folder.base, f"{folder.path}/{name}")).text
    if text is None:
        raise NotUndoable(f"the backup {name} is gone, so this cannot be undone")
    return text


def as_fields(each: Record | None) -> dict[str, Value] | None:
    """A record as JSON fields; what is absent is left out."""
    if each is None:
        return None
    raw: dict[str, Value] = {
        "text": each.text, "kind": each.kind.value, "key": each.key, "value": each.value,
        "triple": list(each.triple) if each.triple else None, "weight": each.weight,
        "confidence": each.confidence.value if each.confidence else None, "tags": list(each.tags),
        "source": each.source, "added": each.added.isoformat() if each.added else None,
        "origin": _origin_fields(each.origin) if each.origin else None,
    }  # fmt: skip
    return {name: value for name, value in raw.items() if value is not None and value != []}


def _origin_fields(origin: Origin) -> dict[str, Value]:
    return {
        "id": origin.id, "session": origin.session, "category": origin.category, "channel": origin.channel,
        "certainty": origin.certainty, "timestamp": origin.timestamp, "sensitivity": origin.sensitivity.value,
    }  # fmt: skip


def _origin(raw: object) -> Origin | None:
    if not isinstance(raw, dict):
        return None
    names = ("id", "session", "category", "channel", "sensitivity")
    if not all(isinstance(raw.get(name), str) for name in names) or raw["sensitivity"] not in tuple(Sensitivity):
        raise ValueError("an origin lacks a field, or has one that is not known")
    stamp, certainty = raw.get("timestamp"), raw.get("certainty")
    return Origin(
        id=raw["id"],
        session=raw["session"],
        category=raw["category"],
        channel=raw["channel"],
        certainty=certainty if isinstance(certainty, int | float) else None,
        timestamp=stamp if isinstance(stamp, str) else None,
        sensitivity=Sensitivity(raw["sensitivity"]),
    )


def from_fields(raw: object) -> Record:
    """The record that JSON fields describe. Raises ValueError where they do not."""
    if not isinstance(raw, dict):
        raise ValueError("a record is not a JSON object")
    texts = {name: raw.get(name) for name in ("text", "key", "source", "added", "confidence")}
    if not all(value is None or isinstance(value, str) for value in texts.values()) or not isinstance(
        raw.get("text"), str
    ):
        raise ValueError("a field that should be a text is not one")
    triple, tags, weight = raw.get("triple"), raw.get("tags") or [], raw.get("weight", 1)
    whole: Triple | None = None
    if triple is not None:
        if not (isinstance(triple, list) and len(triple) == 3 and all(isinstance(part, str) for part in triple)):
            raise ValueError("a triple is not a list of three texts")
        whole = (triple[0], triple[1], triple[2])
    if not isinstance(tags, list) or isinstance(weight, bool) or not isinstance(weight, int) or weight < 1:
        raise ValueError("tags are not a list, or the weight is not a whole number from 1")
    try:
        kind = Kind(raw.get("kind", "preference"))
        confidence = Confidence(raw["confidence"]) if raw.get("confidence") else None
    except ValueError:
        raise ValueError("the kind or the confidence is none of the known ones") from None
    return Record(
        text=raw["text"],
        kind=kind,
        key=raw.get("key"),
        value=raw.get("value"),
        triple=whole,
        weight=weight,
        confidence=confidence,
        tags=tuple(str(tag) for tag in tags),
        source=raw.get("source"),
        added=date.fromisoformat(raw["added"][:10]) if raw.get("added") else None,
        origin=_origin(raw.get("origin")),
    )


def shown(found: list[StoredChange], backups: set[str]) -> list[LogEntry]:
    """The log for people: newest first, with what has been undone, and what can be, given the backups that are there."""
    undone = {entry.undoes for entry in found if entry.undoes}
    return [
        LogEntry(
            id=entry.id,
            at=entry.at,
            action=entry.action,
            dialect=entry.dialect,
            path=str(entry.place),
            handle=entry.handle,
            undoable=entry.undoable
            and entry.undoes is None
            and entry.id not in undone
            and (entry.backup is None or entry.backup in backups),
            undone=entry.id in undone,
            summary=_summary(entry),
            was=_was(entry),
        )
        for entry in reversed(found)
    ]


def _was(entry: StoredChange) -> str:
    """What a changed record said before; empty where nothing was replaced, or where that is nobody's to read."""
    if entry.scrubbed or entry.undoes:
        return ""
    for turn in reversed(entry.turns or []):
        before, after = turn["was"], turn["now"]
        if before is None or after is None:
            continue
        origin = before.get("origin")
        if isinstance(origin, dict) and origin.get("sensitivity") == Sensitivity.SECRET:
            return ""
        if before.get("text") != after.get("text"):
            return str(before.get("text", ""))
    return ""


def _summary(entry: StoredChange) -> str:
    if entry.scrubbed:
        return "(forgotten)"
    if entry.undoes:
        return f"undid {entry.undoes}"
    if entry.setting:
        return f"{entry.setting[0]} {'on' if entry.setting[1] else 'off'}"
    if entry.note:
        return entry.note
    if entry.backup:
        return f"recovered; backup {entry.backup}"
    last: dict[str, Value] = {}
    for turn in entry.turns or []:
        last = turn["now"] or turn["was"] or last
    origin = last.get("origin")
    if isinstance(origin, dict) and origin.get("sensitivity") == Sensitivity.SECRET:
        return "(labelled secret)"
    text, key = str(last.get("text", "")), str(last.get("key") or "")
    return f"{key}: {text}" if key and "|" not in key else text
