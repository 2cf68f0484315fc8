"""Experiences: of all that was noted and of what sessions showed, that which says something new, kept for being asked."""

from __future__ import annotations

import json
from array import array
from typing import TYPE_CHECKING

from byheart.domain.errors import ByheartError, Conflict, Unreadable, Unwanted
from byheart.domain.experiences import CATEGORIES, LONGEST, SHORTEST, Experience, Gathered, Learnt
from byheart.domain.journal import Origin, moment
from byheart.domain.recall import Item
from byheart.domain.records import Kind, Record, Scope
from byheart.domain.values import replace
from byheart.flows import ledger
from byheart.flows.desk import JOURNAL, PROFILE, RULES, every, handle_of
from byheart.flows.journal.shelf import shelf_of
from byheart.policies import forgetting, recollecting, retention
from byheart.policies.uniqueness import Known
from byheart.text.hashing import hashed
from byheart.text.likeness import normalised
from byheart.text.questions import question
from byheart.text.timewords import hint as time_hint
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from byheart.domain.ports import RecordIndex, Snapshot
    from byheart.domain.recall import Meaning
    from byheart.domain.roots import Place, Root
    from byheart.flows.desk import Desk

TITLE = "Relevant past experiences:"
# As many of the newest records as a round looks at, and of the things that sessions showed.
RECENT = 50
_SHOWN, _LONGEST_HINT, _BLOCK = 500, 150, 8
_FIELDS = ("id", "text", "category", "sessionId", "recordId", "timestamp", "vector")
_ROUNDS = 6
_LESSONS = frozenset({Kind.LESSON, Kind.RULE, Kind.CONSTRAINT, Kind.PREFERENCE})


def gather(desk: Desk, scope: Scope, sessions: Iterable[Learnt] = ()) -> Gathered:
    """Add what is new among recent records, lessons and what sessions showed. Raises Unwanted while the store is off."""
    _wanted(desk)
    root = desk.roots[scope]
    place = shelf_of(desk, root).experiences
    learnt = [*_of_journal(desk, scope), *_of_notebooks(desk, scope), *sessions]
    with desk.files.locked(root):
        for _ in range(_ROUNDS):
            snapshot, known = _read(desk, place)
            added = _new(desk, known, learnt)
            kept = _newest([*known, *added], desk.journal.experience_max_count)
            if not added and len(kept) == len(known):
                break
            try:
                desk.files.write(place, _text(kept), snapshot.digest)
                break
            except Conflict:
                # Another program wrote to it; what it added counts.
                continue
        else:
            raise Conflict(f"{place} kept changing; try again in a moment")
    return Gathered(
        path=str(place),
        added=tuple(added),
        known=len(known),
        dropped=len(known) + len(added) - len(kept),
        count=len(kept),
    )


def _wanted(desk: Desk) -> None:
    if not desk.limits.enabled:
        raise Unwanted("memory is switched off; set memory.enabled to true")
    if not desk.journal.experience_store_enabled:
        raise Unwanted("no experiences are kept; set journal.experience_store_enabled to true")


def _of_journal(desk: Desk, scope: Scope) -> Iterator[Learnt]:
    """The newest records of the journal that may be told to anybody."""
    documents, _ = every(desk, [scope], [JOURNAL])
    for placed in [each for document in documents for each in document.document.placed][-RECENT:]:
        record, origin = placed.record, placed.record.origin
        if origin is None or record.is_secret or origin.category not in CATEGORIES or retention.is_checkpoint(record):
            continue
        yield Learnt(
            text=record.text,
            category=origin.category,
            session=origin.session,
            record=origin.id,
            timestamp=origin.timestamp or "",
        )


def _of_notebooks(desk: Desk, scope: Scope) -> Iterator[Learnt]:
    """What stands as a lesson, a rule or a preference; the newest, since a person may keep very many."""
    documents, _ = every(desk, [scope], [PROFILE, RULES])
    found = [
        (document, placed.record)
        for document in documents
        for placed in document.document.placed
        if placed.record.kind in _LESSONS and not placed.record.needs_confirmation
    ]
    for document, record in found[-RECENT:]:
        key = document.dialect.key_of(record)
        yield Learnt(
            text=record.text,
            category="learned" if record.kind is Kind.LESSON else record.kind.value,
            record=handle_of(scope, document.dialect.name, key, record.text),
            timestamp=f"{record.added.isoformat()}T00:00:00.000Z" if record.added else "",
        )


def _new(desk: Desk, known: Sequence[Experience], learnt: Sequence[Learnt]) -> list[Experience]:
    """Those that are long enough, safe, not forgotten, and unlike all others."""
    threshold = desk.journal.experience_uniqueness_threshold
    told, records = Known(each.text for each in known), {each.record for each in known if each.record}
    near = _Nearness(desk, [each.text for each in known])
    stones = ledger.tombstones(desk)
    salt = desk.salt() if stones else b""
    added: list[Experience] = []
    for each in learnt:
        text = " ".join(each.text.split())[:LONGEST]
        if len(text) < SHORTEST or (each.record and each.record in records):
            continue
        if desk.scanner.findings(text) or (stones and forgetting.blocks(stones, salt, None, (each.text, text))):
            continue
        if told.likeness(text) >= threshold or near.likeness(text) >= threshold:
            continue
        told.add(text)
        near.add(text)
        records.add(each.record)
        stamp = each.timestamp or desk.clock().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        number = int((moment(stamp) or desk.clock()).timestamp() * 1000)
        added.append(
            Experience(
                id=f"exp_{number}_{desk.token()}",
                text=text,
                category=each.category,
                session=each.session,
                record=each.record,
                timestamp=stamp,
            )
        )
    return added


class _Nearness:
    """How near texts are by their meaning, where there is a model that says so."""

    def __init__(self, desk: Desk, known: Sequence[str]) -> None:
        self._minds = desk.cabinet().minds
        self._vectors: list[array[float]] = []
        self._texts = list(known)
        self._asked: tuple[str, array[float] | None] = ("", None)

    def likeness(self, text: str) -> float:
        if self._minds.embedder is None:
            return 0.0
        self._embed()
        own = self._vector(text)
        if own is None:
            return 0.0
        return max((_dot(own, each) for each in self._vectors), default=0.0)

    def add(self, text: str) -> None:
        own = self._vector(text)
        if own is not None:
            self._vectors.append(own)

    def _embed(self) -> None:
        """The known ones, when the first question about them comes; the newest only, since each takes a moment."""
        texts, self._texts = self._texts[-4 * RECENT :], []
        for start in range(0, len(texts), 32):
            vectors = self._minds.vectors(texts[start : start + 32])
            self._vectors += [_floats(each) for each in vectors or ()]

    def _vector(self, text: str) -> array[float] | None:
        if self._asked[0] != text:
            found = self._minds.vectors([text])
            self._asked = (text, _floats(found[0]) if found else None)
        return self._asked[1]


def _floats(raw: bytes) -> array[float]:
    found = array("f")
    found.frombytes(raw)
    return found


def _dot(one: array[float], other: array[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True)) if len(one) == len(other) else 0.0


def _newest(every_one: list[Experience], most: int) -> list[Experience]:
    if len(every_one) <= most:
        return every_one
    order = sorted(range(len(every_one)), key=lambda at: (every_one[at].timestamp, at))
    gone = set(order[: len(every_one) - most])
    return [each for at, each in enumerate(every_one) if at not in gone]


def _read(desk: Desk, place: Place) -> tuple[Snapshot, list[Experience]]:
    """The store as it stands. Raises Unreadable for a file that is none, so that nothing of it is lost."""
    snapshot = desk.files.read(place)
    if not snapshot.text:
        return snapshot, []
    problem = "it is not a store of experiences"
    try:
        raw = json.loads(snapshot.text)
        entries = raw["experiences"]
        found = [_experience(each) for each in entries if isinstance(each, dict) and isinstance(each.get("text"), str)]
        if len(found) < len(entries):
            problem = "an entry in it has no text"
            raise ValueError(problem)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Unreadable(str(place), problem, "mend it or move it away; it is made anew from the notebooks") from None
    return snapshot, found


def _experience(raw: dict[str, object]) -> Experience:
    def text(name: str) -> str:
        value = raw.get(name)
        return value if isinstance(value, str) else ""

    more = {name: value for name, value in raw.items() if name not in _FIELDS}
    return Experience(
        id=text("id"),
        text=text("text"),
        category=text("category") or "note",
        session=text("sessionId"),
        record=text("recordId"),
        timestamp=text("timestamp"),
        more=more,
    )


def _text(kept: Sequence[Experience]) -> str:
    """The store as a file: an entry a line, with the vectors that other programs compare."""
    rows = []
    for each in kept:
        row: dict[str, object] = {
            "id": each.id,
            "text": each.text,
            "category": each.category,
            "sessionId": each.session,
            **({"recordId": each.record} if each.record else {}),
            "timestamp": each.timestamp,
            **each.more,
            "vector": [round(value, 6) for value in hashed(each.text)],
        }
        rows.append(json.dumps(row, ensure_ascii=False))
    return '{"version": 1, "experiences": [\n' + ",\n".join(rows) + "\n]}\n"


def listed(desk: Desk, scopes: Sequence[Scope], most: int) -> list[Experience]:
    """The newest experiences, the newest first."""
    _wanted(desk)
    found = [each for scope in scopes for each in _read(desk, shelf_of(desk, desk.roots[scope]).experiences)[1]]
    return _clean(desk, sorted(found, key=lambda each: each.timestamp, reverse=True)[:most])


def asked(desk: Desk, query: str, scopes: Sequence[Scope], most: int) -> list[Experience]:
    """The experiences that fit a question, best first; none where nothing does. Raises Unwanted while the store is off."""
    _wanted(desk)
    terms = question(query)
    if not terms.terms:
        return []
    cabinet = desk.cabinet()
    index = cabinet.index()
    index.renew()
    pages = [path for scope in scopes if (path := _synced(desk, index, scope))]
    if not pages:
        return []
    from byheart.flows.indexing import embedded

    embedded(index, cabinet.minds)
    meaning: Meaning | None = cabinet.minds.meaning(query)
    today = desk.clock().date()
    with index.reading():
        candidates = index.recollected(terms, pages, meaning)
        verdict = recollecting.judged(
            terms, time_hint(query, today), candidates, today, meaning.scale if meaning else None
        )
        best = verdict.found[:most]
        items = index.items([each.candidate.row for each in best])
    found = []
    for each in best:
        item = items.get(each.candidate.row)
        if item is None or item.record.origin is None:
            continue
        origin = item.record.origin
        found.append(
            Experience(
                id=origin.id,
                text=item.record.text,
                category=origin.category,
                session=origin.session,
                record=item.record.source or "",
                timestamp=origin.timestamp or "",
                score=round(each.score, 4),
            )
        )
    return _clean(desk, found)


def _clean(desk: Desk, found: Sequence[Experience]) -> list[Experience]:
    """Without what a person or another program may have put there and nobody should be told."""
    clean = []
    for each in found:
        text = desk.scanner.redacted(each.text)
        if not [finding for finding in desk.scanner.findings(text) if finding.severity not in ("command", "weak")]:
            clean.append(replace(each, text=text))
    return clean


def _synced(desk: Desk, index: RecordIndex, scope: Scope) -> str:
    """Bring the index up to date with a store; its name there, empty where there is none."""
    place = shelf_of(desk, desk.roots[scope]).experiences
    path = str(place)
    stamp = desk.files.stamp(place)
    known = index.page_stamps().get(path)
    if not stamp and known is None:
        return ""
    if known != stamp:
        gone = 0
        with index.writing():
            stamp = desk.files.stamp(place)
            gone = index.put_page(path, stamp, [_item(desk, scope, each) for each in _read(desk, place)[1]])
        if gone:
            index.purge()
    return path if stamp else ""


def _item(desk: Desk, scope: Scope, each: Experience) -> Item:
    text = desk.scanner.redacted(each.text)
    at = moment(each.timestamp)
    origin = Origin(id=each.id, session=each.session, category=each.category, timestamp=each.timestamp or None)
    record = Record(text=text, kind=Kind.LESSON, origin=origin, source=each.record or None)
    return Item(
        handle=each.id,
        line=0,
        record=record,
        scope=scope.value,
        dialect="experiences",
        at=at.date() if at else None,
        text=text,
        meta=f"{each.category} {at:%-d %B %Y}" if at else each.category,
    )


def block(desk: Desk, last_message: str, scopes: Sequence[Scope], most: int = _BLOCK) -> str:
    """The lines that a session is told, by what its user said last; empty where nothing fits or the store is off."""
    settings = desk.journal
    if not settings.experience_store_enabled or not settings.inject_experience_context or not desk.limits.enabled:
        return ""
    lines = [
        f"- [{visible(each.category)}] {visible(' '.join(each.text.split()))[:_SHOWN]}"
        for each in asked(desk, last_message[:_LONGEST_HINT], scopes, most)
    ]
    return "\n".join(lines)


def named(desk: Desk, root: Root, selector: str) -> Record | None:
    """The experience that a selector names: by its id, by where it came from, or by its whole text."""
    try:
        known = _read(desk, shelf_of(desk, root).experiences)[1]
    except ByheartError:
        return None
    wanted = normalised(selector)
    for each in reversed(known):
        if selector in (each.id, each.record) or normalised(each.text) == wanted:
            return Record(text=each.text)
    return None


def forgotten(desk: Desk, record: Record, texts: Sequence[str]) -> tuple[int, list[str]]:
    """Take what a person wants gone out of every store; how many entries went, and which store could not be cleared."""
    wanted = {normalised(text) for text in texts if text.strip()}
    id_ = record.origin.id if record.origin else ""
    count, failures = 0, []
    for root in desk.roots.values():
        try:
            place = shelf_of(desk, root).experiences
            snapshot, known = _read(desk, place)
            kept = [each for each in known if normalised(each.text) not in wanted and not (id_ and each.record == id_)]
            if len(kept) < len(known):
                desk.files.write(place, _text(kept), snapshot.digest)
                count += len(known) - len(kept)
        except ByheartError as error:
            failures.append(f"the store of experiences could not be cleared: {error}")
    return count, failures
