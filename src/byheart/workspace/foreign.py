"""Reading memories that other generations and tools wrote."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import TYPE_CHECKING

from byheart.domain.documents import Deletion, Problem, Settings
from byheart.domain.journal import DECISION, LEARNED, NOTE, USER_PREFERENCE, Origin
from byheart.domain.records import Confidence, Kind, Record, Triple, Value, spoken
from byheart.domain.values import dataclass, field, replace
from byheart.language import wording
from byheart.text.deferred import deferred
from byheart.text.slugs import content_digest, slug, uuid_of

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMATS = ("yaml-block", "triples", "journal", "triples-verbose", "sentences", "json")
_LONGEST = 4000
_CATEGORIES = {
    Kind.LESSON: LEARNED,
    Kind.PREFERENCE: USER_PREFERENCE,
    Kind.RULE: DECISION,
    Kind.CONSTRAINT: DECISION,
    Kind.NOTE: NOTE,
}
_CERTAINTY = {Confidence.HIGH: 1.0, Confidence.MEDIUM: 0.8, Confidence.LOW: 0.4}
_JOURNAL = deferred(r"^[ \t]*- \{.*\"(?:sessionId|provenance)\"", re.MULTILINE)
_BULLET = deferred(r"^\s*(?:[-*+]|\d+[.)])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """What a file of another kind holds: records with their lines, and lines that hold none."""

    format: str
    records: tuple[tuple[int, Record], ...]
    problems: tuple[Problem, ...]
    deletions: tuple[Deletion, ...] = ()
    settings: Settings = field(default_factory=Settings)


def detect(name: str, text: str) -> str:
    """Which format a file has, by what is in it and then by its name."""
    head = text.lstrip("\ufeff \t\r\n")
    if head.startswith("{"):
        try:
            whole = json.loads(text)
            if isinstance(whole, dict) and "records" in whole:
                return "json"
        except (ValueError, RecursionError):
            pass
        first = head.splitlines()[0]
        return (
            "triples-verbose" if '"triple"' in first or '"canonical"' in first or '"dedupe_key"' in first else "triples"
        )
    if _JOURNAL.search(text):
        return "journal"
    if "saved_memory" in text:
        return "yaml-block"
    return "triples" if name.endswith((".ndjson", ".jsonl")) else "yaml-block" if not head else "sentences"


def verbose(text: str) -> Foreign:
    """The first generation of memories.ndjson: named fields, a triple as an object, a strength."""
    records: list[tuple[int, Record]] = []
    problems: list[Problem] = []
    for number, row in enumerate(text.split("\n"), start=1):
        if not row.strip():
            continue
        try:
            records.append((number, _verbose_record(json.loads(row.lstrip("\ufeff")))))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            problems.append(Problem(line=number, rule="broken-line", message="not an entry of the verbose format"))
    return Foreign(format="triples-verbose", records=tuple(records), problems=tuple(problems))


def _verbose_record(raw: dict[str, Value]) -> Record:
    parts = raw["triple"]
    if isinstance(parts, dict):
        triple: Triple = (str(parts["subject"]), str(parts["predicate"]), str(parts["object"]))
    elif isinstance(parts, list) and len(parts) == 3:
        triple = (str(parts[0]), str(parts[1]), str(parts[2]))
    else:
        raise ValueError("no triple")
    strength = raw.get("strength", 1)
    weight = max(1, int(strength)) if isinstance(strength, int | float) and not isinstance(strength, bool) else 1
    text = raw.get("canonical") or raw.get("text") or " ".join(triple)
    tags, stamp = raw.get("tags"), raw.get("ts")
    return Record(
        text=str(text),
        kind=Kind(str(raw.get("kind", "rule"))),
        triple=triple,
        weight=weight,
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
        source=str(raw["source"]) if raw.get("source") else None,
        added=_day(stamp),
    )


def _day(stamp: Value) -> date | None:
    try:
        return date.fromisoformat(str(stamp)[:10]) if stamp else None
    except ValueError:
        return None


def sentences(text: str) -> Foreign:
    """The third generation: one plain sentence a line; headings and blank lines are passed over."""
    records, problems = [], []
    for number, row in enumerate(text.lstrip("\ufeff").split("\n"), start=1):
        line = _BULLET.sub("", row[: _LONGEST + 1]).strip()
        if len(row) > _LONGEST:
            problems.append(Problem(line=number, rule="too-long", message=f"longer than {_LONGEST} characters"))
            continue
        if not line or line.startswith(("#", "<!--", "---", "```")):
            continue
        said = wording.parse(line)
        records.append(
            (number, Record(text=said.sentence, kind=said.kind, key=said.key, value=said.value, triple=said.triple))
        )
    return Foreign(format="sentences", records=tuple(records), problems=tuple(problems))


def fitted(record: Record, dialect: str, taken: Sequence[str] = ()) -> Record:
    """The record with what the target format needs and it may lack: a triple, an origin, or a key and a value."""
    if dialect == "journal":
        text = record.text if record.triple or not record.key else _sentence(record)
        return record if record.origin else replace(record, text=text, origin=_origin(record, text))
    if dialect == "triples":
        kind = record.kind if record.kind in (Kind.RULE, Kind.CONSTRAINT) else Kind.PREFERENCE
        text = record.text if record.triple or not record.key else _sentence(record)
        triple = record.triple or _triple(record)
        return Record(text=text, kind=kind, key=record.key, triple=triple, weight=record.weight, tags=record.tags,
                      confidence=record.confidence, source=record.source, added=record.added)  # fmt: skip
    key = record.key if record.key and "|" not in record.key else None
    if key is None and record.triple is not None:
        stem = f"{record.kind.value}s.{slug(record.triple[0], most=24)}.{slug(record.triple[1], most=24)}"
        key, count = stem, 2
        while key in taken:
            key, count = f"{stem}-{count}", count + 1
    value = record.value if record.value is not None else record.text
    return Record(text=record.text, kind=record.kind, key=key or wording.parse(record.text).key, value=value,
                  triple=record.triple, weight=record.weight, tags=record.tags,
                  confidence=record.confidence or Confidence.MEDIUM, source=record.source or "imported",
                  added=record.added)  # fmt: skip


def _origin(record: Record, text: str) -> Origin:
    """Where a record came from, as far as it says; its id is made from its text, so that it stays the same."""
    return Origin(
        id=uuid_of(content_digest(f"{record.key}\x1f{text}")),
        category=_CATEGORIES[record.kind],
        channel=(record.source or "imported")[:80],
        certainty=_CERTAINTY.get(record.confidence) if record.confidence else None,
        timestamp=f"{record.added.isoformat()}T00:00:00.000Z" if record.added else None,
    )


def _sentence(record: Record) -> str:
    if isinstance(record.value, str) and len(record.value.split()) >= 3:
        return record.value
    return f"{record.key}: {spoken(record.value) or record.text}"


def _triple(record: Record) -> Triple:
    if record.key and "." in record.key:
        space, rest = record.key.split(".", 1)
        return (space, slug(rest, joint="_"), slug(spoken(record.value) or record.text, joint="_"))
    return wording.parse(record.text).triple
