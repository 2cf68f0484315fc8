"""Experiences: of all that was noted and of what sessions showed, that which says something new, kept for being asked."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from byheart.domain.errors import ByheartError, Conflict, Unwanted
from byheart.domain.experiences import FLEETING, LONGEST, SHORTEST, Experience, Gathered, Learnt
from byheart.domain.journal import Origin, moment
from byheart.domain.recall import Item
from byheart.domain.records import Kind, Record, Scope
from byheart.domain.values import replace
from byheart.journal import experience_store, retention
from byheart.journal.files import parsed, read, shelf_of
from byheart.journal.format import conceals
from byheart.search import rank_records
from byheart.search.uniqueness import Known
from byheart.text.questions import question
from byheart.text.similarity import normalised
from byheart.text.slugs import short_digest
from byheart.text.timewords import hint as time_hint
from byheart.text.unicode import visible
from byheart.workspace import ledger, tombstones
from byheart.workspace.context import JOURNAL, PROFILE, RULES, every, handle_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from byheart.domain.ports import RecordIndex
    from byheart.domain.recall import Meaning
    from byheart.domain.roots import Root
    from byheart.journal.files import Shelf
    from byheart.workspace.context import Desk

TITLE = "Relevant past experiences:"
# As many of the newest records as a round looks at, and of the things that sessions showed.
RECENT = 50
_SHOWN, _LONGEST_HINT, _BLOCK = 500, 150, 8
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
            store = experience_store.read(desk, place)
            secret = _secrets(desk, scope)
            known = [each for each in store.entries if not secret.holds(each)]
            new = [each for each in _new(desk, known, learnt) if not secret.holds(each)]
            kept = _newest([*known, *new], desk.journal.experience_max_count)
            ids = {each.id for each in kept}
            added = [each for each in new if each.id in ids]
            if not added and len(kept) == len(store.entries):
                break
            try:
                experience_store.write(desk, place, kept, store)
                break
            except Conflict:
                # Another program wrote to it; what it added counts.
                continue
        else:
            raise Conflict(f"{place} kept changing; try again in a moment")
    return Gathered(
        path=str(place),
        added=tuple(added),
        known=len(store.entries),
        dropped=len(store.entries) + len(added) - len(kept),
        count=len(kept),
    )


class _Secrets:
    """What is labelled secret now, whatever it was when it was gathered."""

    def __init__(self, records: Iterable[Record]) -> None:
        every_one = [each for each in records if each.is_secret]
        self._texts = {normalised(each.text) for each in every_one}
        self._ids = {each.origin.id for each in every_one if each.origin and each.origin.id}

    @property
    def digest(self) -> str:
        return short_digest(*sorted(self._texts), *sorted(self._ids))

    def holds(self, each: Experience) -> bool:
        return each.record in self._ids or normalised(each.text) in self._texts


def _secrets(desk: Desk, scope: Scope) -> _Secrets:
    shelf = shelf_of(desk, desk.roots[scope])
    lines = []
    for place in (shelf.memory, shelf.archive):
        try:
            text = read(desk, place).text or ""
        except ByheartError:
            continue
        # Only lines that have such a label, or one that nobody knows.
        lines += [line for line in text.split("\n") if conceals(line)]
    return _Secrets(each.record for each in parsed(desk, "\n".join(lines)).placed)


def _wanted(desk: Desk) -> None:
    if not desk.limits.enabled:
        raise Unwanted("memory is switched off; set memory.enabled to true")
    if not desk.journal.experience_store_enabled:
        raise Unwanted("no experiences are kept; set journal.experience_store_enabled to true")


def _of_journal(desk: Desk, scope: Scope) -> Iterator[Learnt]:
    """The newest records of the journal that may be told to anybody."""
    documents, _ = every(desk, [scope], [JOURNAL])
    for placed in [each for document in documents for each in document.own][-RECENT:]:
        record, origin = placed.record, placed.record.origin
        if origin is None or record.is_secret or origin.category in FLEETING or retention.is_checkpoint(record):
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
        for placed in document.own
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
        # A character of a script without spaces says as much as a few letters.
        if len(text) + 2 * sum(char > "\u2e80" for char in text) < SHORTEST or (each.record and each.record in records):
            continue
        if desk.scanner.secrets("\n".join((each.record, each.session, each.category))):
            each = Learnt(text=each.text, category="note", timestamp=each.timestamp)  # noqa: PLW2901 - the same, less
        if desk.scanner.findings(text) or (stones and tombstones.blocks(stones, salt, None, (each.text, text))):
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


def listed(desk: Desk, scopes: Sequence[Scope], most: int) -> list[Experience]:
    """The newest experiences, the newest first."""
    _wanted(desk)
    found = []
    for scope in scopes:
        secret = _secrets(desk, scope)
        entries = experience_store.read(desk, shelf_of(desk, desk.roots[scope]).experiences).entries
        found += [each for each in entries if not secret.holds(each)]
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
    from byheart.search.models import embedded

    embedded(index, cabinet.minds)
    meaning: Meaning | None = cabinet.minds.meaning(query)
    today = desk.clock().date()
    with index.reading():
        candidates = index.recollected(terms, pages, meaning)
        verdict = rank_records.judged(
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
            clean.append(_redacted(desk, each))
    return clean


def _redacted(desk: Desk, each: Experience) -> Experience:
    clean = desk.scanner.redacted
    names = {name: clean(getattr(each, name)) for name in ("id", "text", "category", "session", "record")}
    return replace(each, **names)  # type: ignore[arg-type]


def caught_up(desk: Desk, index: RecordIndex) -> None:
    """Take what changed in the stores into the index, where they are in it."""
    known = index.page_stamps()
    for scope, root in desk.roots.items():
        if str(shelf_of(desk, root).experiences) in known:
            _synced(desk, index, scope)


def _synced(desk: Desk, index: RecordIndex, scope: Scope) -> str:
    """Bring the index up to date with a store; its name there, empty where there is none."""
    shelf = shelf_of(desk, desk.roots[scope])
    path = str(shelf.experiences)
    known = index.page_stamps().get(path)
    if known is None and not desk.files.stamp(shelf.experiences):
        return ""
    # A label in the journal may have changed, too.
    if known != _stamp(desk, shelf, _secrets(desk, scope)):
        with index.writing():
            secret = _secrets(desk, scope)
            stamp = _stamp(desk, shelf, secret)
            entries = experience_store.read(desk, shelf.experiences).entries
            items = [_item(desk, scope, each) for each in entries if not secret.holds(each)]
            gone = index.put_page(path, stamp if entries else "", items)
        if gone:
            index.purge()
    return path if desk.files.stamp(shelf.experiences) else ""


def _stamp(desk: Desk, shelf: Shelf, secret: _Secrets) -> str:
    return f"{desk.files.stamp(shelf.experiences)} {secret.digest} {desk.scanner.fingerprint}"


def _item(desk: Desk, scope: Scope, entry: Experience) -> Item:
    each = _redacted(desk, entry)
    text = each.text
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
        known = experience_store.read(desk, shelf_of(desk, root).experiences).entries
    except ByheartError:
        return None
    wanted = normalised(selector)
    for each in reversed(known):
        if selector in (each.id, each.record) or normalised(each.text) == wanted:
            return Record(text=each.text)
    return None


def forgotten(desk: Desk, texts: Sequence[str], names: set[str]) -> tuple[int, list[str]]:
    """Take what a person wants gone out of every store, by its texts or by the names of the record; how many entries went, and
    which store could not be cleared."""
    wanted = {normalised(text) for text in texts if text.strip()}
    count, failures = 0, []
    for root in desk.roots.values():
        try:
            place = shelf_of(desk, root).experiences
            store = experience_store.read(desk, place)
            kept = [each for each in store.entries if normalised(each.text) not in wanted and each.record not in names]
            if len(kept) < len(store.entries):
                experience_store.write(desk, place, kept, store)
                count += len(store.entries) - len(kept)
        except ByheartError as error:
            failures.append(f"the store of experiences could not be cleared: {error}")
    return count, failures
