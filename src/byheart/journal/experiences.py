"""Experiences: of all that was noted and of what sessions showed, that which says something new, kept for being asked in one file of
CursorClaw's format, with whatever else another program keeps in it."""

from __future__ import annotations

import json
from array import array
from typing import TYPE_CHECKING

from byheart.domain.errors import ByheartError, Conflict, Unreadable, Unwanted
from byheart.domain.journal import Origin, moment
from byheart.domain.recall import FLEETING, LONGEST, SHORTEST, Experience, Gathered, Item, PossibleExperience
from byheart.domain.records import Kind, Record, Scope
from byheart.domain.values import dataclass, replace
from byheart.journal import retention
from byheart.journal.files import journal_files, parsed, read
from byheart.journal.format import conceals
from byheart.search.order import Known, judged_records
from byheart.text.deferred import module
from byheart.text.questions import question
from byheart.text.similarity import hashed, normalised
from byheart.text.slugs import short_digest
from byheart.text.timewords import hint as time_hint
from byheart.text.unicode import visible
from byheart.workspace import ledger, tombstones
from byheart.workspace.context import JOURNAL, PROFILE, RULES, every, handle_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from byheart.domain.documents import Place, Root
    from byheart.domain.ports import RecordIndex
    from byheart.domain.recall import Meaning
    from byheart.journal.files import JournalFiles
    from byheart.search import models
    from byheart.workspace.context import Context
else:
    models = module("byheart.search.models")

TITLE = "Relevant past experiences:"
# As many of the newest records as a round looks at, and of the things that sessions showed.
RECENT = 50
_SHOWN, _LONGEST_HINT, _BLOCK = 500, 150, 8
_ROUNDS = 6
_LESSONS = frozenset({Kind.LESSON, Kind.RULE, Kind.CONSTRAINT, Kind.PREFERENCE})


def gather(context: Context, scope: Scope, sessions: Iterable[PossibleExperience] = ()) -> Gathered:
    """Add what is new among recent records, lessons and what sessions showed. Raises Unwanted while the store is off."""
    _wanted(context)
    root = context.roots[scope]
    place = journal_files(context, root).experiences
    learnt = [*_of_journal(context, scope), *_of_notebooks(context, scope), *sessions]
    with context.files.locked(root):
        for _ in range(_ROUNDS):
            store = read_store(context, place)
            secret = _secrets(context, scope)
            known = [each for each in store.entries if not secret.holds(each)]
            new = [each for each in _new(context, known, learnt) if not secret.holds(each)]
            kept = _newest([*known, *new], context.journal.experience_max_count)
            ids = {each.id for each in kept}
            added = [each for each in new if each.id in ids]
            if not added and len(kept) == len(store.entries):
                break
            try:
                write(context, place, kept, store)
                break
            except Conflict:
                # Another program wrote to it; what it added counts.
                continue
        else:
            raise Conflict(f"{place} keeps changing; try again in a moment")
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


def _secrets(context: Context, scope: Scope) -> _Secrets:
    own_journal = journal_files(context, context.roots[scope])
    lines = []
    for place in (own_journal.memory, own_journal.archive):
        try:
            text = read(context, place).text or ""
        except ByheartError:
            continue
        # Only lines that have such a label, or one that nobody knows.
        lines += [line for line in text.split("\n") if conceals(line)]
    return _Secrets(each.record for each in parsed(context, "\n".join(lines)).placed)


def _wanted(context: Context) -> None:
    if not context.limits.enabled:
        raise Unwanted("memory is off; set memory.enabled to true")
    if not context.journal.experience_store_enabled:
        raise Unwanted("no experiences are kept; set journal.experience_store_enabled to true")


def _of_journal(context: Context, scope: Scope) -> Iterator[PossibleExperience]:
    """The newest records of the journal that may be told to anybody."""
    documents, _ = every(context, [scope], [JOURNAL])
    for placed in [each for document in documents for each in document.own][-RECENT:]:
        record, origin = placed.record, placed.record.origin
        if origin is None or record.is_secret or origin.category in FLEETING or retention.is_checkpoint(record):
            continue
        yield PossibleExperience(
            text=record.text,
            category=origin.category,
            session=origin.session,
            record=origin.id,
            timestamp=origin.timestamp or "",
        )


def _of_notebooks(context: Context, scope: Scope) -> Iterator[PossibleExperience]:
    """What stands as a lesson, a rule or a preference; the newest, since a person may keep very many."""
    documents, _ = every(context, [scope], [PROFILE, RULES])
    found = [
        (document, placed.record)
        for document in documents
        for placed in document.own
        if placed.record.kind in _LESSONS and not placed.record.needs_confirmation
    ]
    for document, record in found[-RECENT:]:
        key = document.dialect.key_of(record)
        yield PossibleExperience(
            text=record.text,
            category="learned" if record.kind is Kind.LESSON else record.kind.value,
            record=handle_of(scope, document.dialect.name, key, record.text),
            timestamp=f"{record.added.isoformat()}T00:00:00.000Z" if record.added else "",
        )


def _new(context: Context, known: Sequence[Experience], learnt: Sequence[PossibleExperience]) -> list[Experience]:
    """Those that are long enough, safe, not forgotten, and unlike all others."""
    threshold = context.journal.experience_uniqueness_threshold
    told, records = Known(each.text for each in known), {each.record for each in known if each.record}
    near = _Nearness(context, [each.text for each in known])
    stones = ledger.tombstones(context)
    salt = context.salt() if stones else b""
    added: list[Experience] = []
    for each in learnt:
        text = " ".join(each.text.split())[:LONGEST]
        # A character of a script without spaces says as much as a few letters.
        if len(text) + 2 * sum(char > "\u2e80" for char in text) < SHORTEST or (each.record and each.record in records):
            continue
        if context.scanner.secrets("\n".join((each.record, each.session, each.category))):
            each = PossibleExperience(text=each.text, category="note", timestamp=each.timestamp)  # noqa: PLW2901 - the same, less
        if context.scanner.findings(text) or (stones and tombstones.blocks(stones, salt, None, (each.text, text))):
            continue
        if told.likeness(text) >= threshold or near.likeness(text) >= threshold:
            continue
        told.add(text)
        near.add(text)
        records.add(each.record)
        stamp = each.timestamp or context.clock().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        number = int((moment(stamp) or context.clock()).timestamp() * 1000)
        added.append(
            Experience(
                id=f"exp_{number}_{context.token()}",
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

    def __init__(self, context: Context, known: Sequence[str]) -> None:
        self._recall_models = context.search_tools().recall_models
        self._vectors: list[array[float]] = []
        self._texts = list(known)
        self._asked: tuple[str, array[float] | None] = ("", None)

    def likeness(self, text: str) -> float:
        if self._recall_models.embedder is None:
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
            vectors = self._recall_models.vectors(texts[start : start + 32])
            self._vectors += [_floats(each) for each in vectors or ()]

    def _vector(self, text: str) -> array[float] | None:
        if self._asked[0] != text:
            found = self._recall_models.vectors([text])
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


def listed(context: Context, scopes: Sequence[Scope], most: int) -> list[Experience]:
    """The newest experiences, the newest first."""
    _wanted(context)
    found = []
    for scope in scopes:
        secret = _secrets(context, scope)
        entries = read_store(context, journal_files(context, context.roots[scope]).experiences).entries
        found += [each for each in entries if not secret.holds(each)]
    return _clean(context, sorted(found, key=lambda each: each.timestamp, reverse=True)[:most])


def asked(context: Context, query: str, scopes: Sequence[Scope], most: int) -> list[Experience]:
    """The experiences that fit a question, best first; none where nothing does. Raises Unwanted while the store is off."""
    _wanted(context)
    terms = question(query)
    if not terms.terms:
        return []
    search_tools = context.search_tools()
    index = search_tools.index()
    index.renew()
    pages = [path for scope in scopes if (path := _synced(context, index, scope))]
    if not pages:
        return []
    models.embedded(index, search_tools.recall_models)
    meaning: Meaning | None = search_tools.recall_models.meaning(query)
    today = context.clock().date()
    with index.reading():
        candidates = index.recollected(terms, pages, meaning)
        verdict = judged_records(terms, time_hint(query, today), candidates, today, meaning.scale if meaning else None)
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
    return _clean(context, found)


def _clean(context: Context, found: Sequence[Experience]) -> list[Experience]:
    """Without what a person or another program may have put there and nobody should be told."""
    clean = []
    for each in found:
        text = context.scanner.redacted(each.text)
        if not [finding for finding in context.scanner.findings(text) if finding.severity not in ("command", "weak")]:
            clean.append(_redacted(context, each))
    return clean


def _redacted(context: Context, each: Experience) -> Experience:
    clean = context.scanner.redacted
    names = {name: clean(getattr(each, name)) for name in ("id", "text", "category", "session", "record")}
    return replace(each, **names)  # type: ignore[arg-type]


def caught_up(context: Context, index: RecordIndex) -> None:
    """Take what changed in the stores into the index, where they are in it."""
    known = index.page_stamps()
    for scope, root in context.roots.items():
        if str(journal_files(context, root).experiences) in known:
            _synced(context, index, scope)


def _synced(context: Context, index: RecordIndex, scope: Scope) -> str:
    """Bring the index up to date with a store; its name there, empty where there is none."""
    own_journal = journal_files(context, context.roots[scope])
    path = str(own_journal.experiences)
    known = index.page_stamps().get(path)
    if known is None and not context.files.stamp(own_journal.experiences):
        return ""
    # A label in the journal may have changed, too.
    if known != _stamp(context, own_journal, _secrets(context, scope)):
        with index.writing():
            secret = _secrets(context, scope)
            stamp = _stamp(context, own_journal, secret)
            entries = read_store(context, own_journal.experiences).entries
            items = [_item(context, scope, each) for each in entries if not secret.holds(each)]
            gone = index.put_page(path, stamp if entries else "", items)
        if gone:
            index.purge()
    return path if context.files.stamp(own_journal.experiences) else ""


def _stamp(context: Context, own_journal: JournalFiles, secret: _Secrets) -> str:
    return f"{context.files.stamp(own_journal.experiences)} {secret.digest} {context.scanner.fingerprint}"


def _item(context: Context, scope: Scope, entry: Experience) -> Item:
    each = _redacted(context, entry)
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


def block(context: Context, last_message: str, scopes: Sequence[Scope], most: int = _BLOCK) -> str:
    """The lines that a session is told, by what its user said last; empty where nothing fits or the store is off."""
    settings = context.journal
    if not settings.experience_store_enabled or not settings.inject_experience_context or not context.limits.enabled:
        return ""
    lines = [
        f"- [{visible(each.category)}] {visible(' '.join(each.text.split()))[:_SHOWN]}"
        for each in asked(context, last_message[:_LONGEST_HINT], scopes, most)
    ]
    return "\n".join(lines)


def named(context: Context, root: Root, selector: str) -> Record | None:
    """The experience that a selector names: by its id, by where it came from, or by its whole text."""
    try:
        known = read_store(context, journal_files(context, root).experiences).entries
    except ByheartError:
        return None
    wanted = normalised(selector)
    for each in reversed(known):
        if selector in (each.id, each.record) or normalised(each.text) == wanted:
            return Record(text=each.text)
    return None


def forgotten(context: Context, texts: Sequence[str], names: set[str]) -> tuple[int, list[str]]:
    """Take what a person wants gone out of every store, by its texts or by the names of the record; how many entries went, and
    which store could not be cleared."""
    wanted = {normalised(text) for text in texts if text.strip()}
    count, failures = 0, []
    for root in context.roots.values():
        try:
            place = journal_files(context, root).experiences
            store = read_store(context, place)
            kept = [each for each in store.entries if normalised(each.text) not in wanted and each.record not in names]
            if len(kept) < len(store.entries):
                write(context, place, kept, store)
                count += len(store.entries) - len(kept)
        except ByheartError as error:
            failures.append(f"the store of experiences could not be cleared: {error}")
    return count, failures


_FIELDS = ("id", "text", "category", "sessionId", "recordId", "timestamp", "vector")


@dataclass(frozen=True, slots=True)
class Store:
    """The file as it was read: its entries, its digest, and what else stands beside them."""

    entries: tuple[Experience, ...]
    digest: str
    more: Mapping[str, object]


def read_store(context: Context, place: Place) -> Store:
    """The store as it stands. Raises Unreadable for a file that is none, so that nothing of it is lost."""
    snapshot = context.files.read(place)
    if not snapshot.text:
        return Store((), snapshot.digest, {"version": 1})
    problem = "it is not a store of experiences"
    try:
        raw = json.loads(snapshot.text)
        entries = raw["experiences"]
        if not isinstance(entries, list):
            raise TypeError(problem)
        found = [_experience(each) for each in entries if isinstance(each, dict) and isinstance(each.get("text"), str)]
        if len(found) < len(entries):
            problem = "an entry in it has no text"
            raise ValueError(problem)
        more = {name: value for name, value in raw.items() if name != "experiences"}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Unreadable(str(place), problem, "fix it or move it away; it is rebuilt from memory") from None
    return Store(tuple(found), snapshot.digest, {"version": 1, **more})


def write(context: Context, place: Place, kept: Sequence[Experience], store: Store) -> None:
    """Put other entries into a store. Raises Conflict where it has changed since it was read."""
    context.files.write(place, _text(kept, store.more), store.digest)


def _experience(raw: dict[str, object]) -> Experience:
    def text(name: str) -> str:
        value = raw.get(name)
        # Half a character, which JSON can spell, is none that a file can hold.
        return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""

    return Experience(
        id=text("id"),
        text=text("text"),
        category=text("category") or "note",
        session=text("sessionId"),
        record=text("recordId"),
        timestamp=text("timestamp"),
        more={name: value for name, value in raw.items() if name not in _FIELDS},
    )


def _text(kept: Sequence[Experience], more: Mapping[str, object]) -> str:
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
        rows.append(_json(row))
    head = "".join(f"{_json(name)}: {_json(value)}, " for name, value in more.items())
    return "{" + head + '"experiences": [\n' + ",\n".join(rows) + "\n]}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
