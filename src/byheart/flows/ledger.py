"""A root's history: one line a change, enough to undo it, scrubbed of what was forgotten."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from datetime import date
from typing import TypedDict, cast

from byheart.domain.errors import Conflict
from byheart.domain.records import Confidence, Kind, Record, Triple, Value
from byheart.domain.results import LogEntry
from byheart.domain.roots import Place, Root
from byheart.flows.desk import Desk
from byheart.policies.forgetting import Tombstone
from byheart.text.jsonspans import compact

LOG, FORGOTTEN, BACKUP = "log.ndjson", "forgotten.ndjson", "backup"


class Piece(TypedDict):
    """One splice with both of its sides."""

    at: int
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
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
    pieces: list[Piece] | None = None
    was: dict[str, Value] | None = None
    now: dict[str, Value] | None = None
    backup: str | None = None
    undoes: str | None = None
    scrubbed: bool = False
    setting: list[str | bool] | None = field(default=None)

    @property
    def place(self) -> Place:
        return Place(self.base, self.path)

    @property
    def undoable(self) -> bool:
        return not self.scrubbed and (self.pieces is not None or self.backup is not None)


_NAMES = {each.name for each in fields(Entry)}


def entries(desk: Desk, root: Root) -> list[Entry]:
    """The whole log, oldest first; a line that cannot be read is passed over."""
    return [entry for _, entry in _rows(desk.files.read(root.own(LOG)).text or "") if entry is not None]


def _rows(text: str) -> Iterator[tuple[str, Entry | None]]:
    for row in text.splitlines(keepends=True):
        try:
            raw = json.loads(row)
            yield row, Entry(**{name: value for name, value in raw.items() if name in _NAMES})
        except (ValueError, TypeError, AttributeError):
            yield row, None


def record(desk: Desk, root: Root, entry: Entry) -> None:
    """Add an entry; old ones are let go when there are twice as many as the log should hold."""
    place = root.own(LOG)
    kept = {name: value for name, value in asdict(entry).items() if value not in (None, "", False)}
    desk.files.append(place, compact(kept) + "\n", None)
    snapshot = desk.files.read(place) if entry.id[-1] in "07" else None
    most = desk.limits.log_entries
    if snapshot is not None and snapshot.text is not None and snapshot.text.count("\n") > 2 * most:
        rows = snapshot.text.splitlines(keepends=True)
        desk.files.write(place, "".join(rows[-most:]), snapshot.digest)


def scrub(desk: Desk, root: Root, handle: str, texts: Iterable[str]) -> int:
    """Take a forgotten record out of the log and the backups; how many places held it."""
    needles = [each for text in texts for each in _spellings(text)]
    touched = 0
    place = root.own(LOG)
    snapshot = desk.files.read(place)
    if snapshot.text:
        rows = []
        for row, entry in _rows(snapshot.text):
            if entry is not None and (entry.handle == handle or any(needle in row for needle in needles)):
                touched += 1
                bare = Entry(
                    id=entry.id, at=entry.at, action=entry.action, dialect=entry.dialect, base=entry.base,
                    path=entry.path, handle=entry.handle, undoes=entry.undoes, scrubbed=True,
                )  # fmt: skip
                rows.append(compact({n: v for n, v in asdict(bare).items() if v not in (None, "", False)}) + "\n")
            else:
                rows.append(row)
        if touched:
            desk.files.write(place, "".join(rows), snapshot.digest)
    folder = root.own(BACKUP)
    for name in desk.files.names(folder):
        copy = Place(folder.base, f"{folder.path}/{name}")
        held = desk.files.read(copy)
        cleaned = held.text or ""
        for needle in needles:
            cleaned = cleaned.replace(needle, "[forgotten]")
        if held.text is not None and cleaned != held.text:
            touched += 1
            desk.files.write(copy, cleaned, held.digest)
    return touched


def _spellings(text: str) -> list[str]:
    """A text as it may stand in a file: plain, JSON-escaped, and escaped once more inside a JSON string."""
    if len(text.strip()) < 3:
        return []
    once = compact(text)[1:-1]
    return list(dict.fromkeys((text, once, compact(once)[1:-1], text.replace("'", "''"))))


def tombstones(desk: Desk, root: Root) -> list[Tombstone]:
    """Everything that was forgotten here."""
    found = []
    for row in (desk.files.read(root.own(FORGOTTEN)).text or "").splitlines():
        try:
            raw = json.loads(row)
            found.append(
                Tombstone(key=raw.get("key"), digest=raw["digest"], removed=raw["removed"], reason=raw["reason"])
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return found


def bury(desk: Desk, root: Root, tombstone: Tombstone) -> None:
    """Add a tombstone; on disk before the record goes, so that no crash lets it be learnt again."""
    desk.files.append(root.own(FORGOTTEN), compact(asdict(tombstone)) + "\n", None)


def back_up(desk: Desk, root: Root, place: Place, text: str) -> str:
    """Keep a copy of a file's whole text; the name to find it by."""
    stamp = desk.clock().strftime("%Y%m%dT%H%M%SZ")
    name = f"{stamp}-{desk.token()}-{place.path.rsplit('/', 1)[-1]}"
    folder = root.own(BACKUP)
    desk.files.write(Place(folder.base, f"{folder.path}/{name}"), text, "")
    return name


def restored(desk: Desk, root: Root, name: str) -> str:
    """A backup's text."""
    folder = root.own(BACKUP)
    text = desk.files.read(Place(folder.base, f"{folder.path}/{name}")).text
    if text is None:
        raise Conflict(f"the backup {name} is gone, so this cannot be undone")
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
    }  # fmt: skip
    return {name: value for name, value in raw.items() if value not in (None, [])}


def from_fields(raw: dict[str, Value]) -> Record:
    """The record that JSON fields describe. Raises ValueError, KeyError or TypeError where they do not."""
    triple = raw.get("triple")
    whole: Triple | None = None
    if triple is not None:
        if not (isinstance(triple, list) and len(triple) == 3):
            raise ValueError("triple is not a list of three")
        whole = (str(triple[0]), str(triple[1]), str(triple[2]))
    confidence, added, tags, weight = (
        raw.get("confidence"),
        raw.get("added"),
        raw.get("tags") or [],
        raw.get("weight", 1),
    )
    if not isinstance(tags, list) or not isinstance(weight, int) or not isinstance(raw["text"], str):
        raise ValueError("a field has the wrong type")
    return Record(
        text=raw["text"],
        kind=Kind(str(raw.get("kind", "preference"))),
        key=cast("str | None", raw.get("key")),
        value=raw.get("value"),
        triple=whole,
        weight=weight,
        confidence=Confidence(str(confidence)) if confidence else None,
        tags=tuple(str(tag) for tag in tags),
        source=cast("str | None", raw.get("source")),
        added=date.fromisoformat(str(added)[:10]) if added else None,
    )


def shown(found: list[Entry]) -> list[LogEntry]:
    """The log for people: newest first, with what has been undone."""
    undone = {entry.undoes for entry in found if entry.undoes}
    return [
        LogEntry(
            id=entry.id,
            at=entry.at,
            action=entry.action,
            dialect=entry.dialect,
            path=str(entry.place),
            handle=entry.handle,
            undoable=entry.undoable and entry.undoes is None and entry.id not in undone,
            undone=entry.id in undone,
            summary=_summary(entry),
        )
        for entry in reversed(found)
    ]


def _summary(entry: Entry) -> str:
    if entry.scrubbed:
        return "(forgotten)"
    if entry.undoes:
        return f"undid {entry.undoes}"
    if entry.setting:
        return f"{entry.setting[0]} {'on' if entry.setting[1] else 'off'}"
    if entry.backup:
        return f"recovered; backup {entry.backup}"
    fields_ = entry.now or entry.was or {}
    text = str(fields_.get("text", ""))
    key = str(fields_.get("key") or "")
    return f"{key}: {text}" if key and "|" not in key else text
