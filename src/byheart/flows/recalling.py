"""Recall: what of all notebooks fits a question. The index is brought up to date first, so it never answers with the past."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.errors import Busy, Environment, Unnatural, Unreadable
from byheart.domain.journal import COMPACTION
from byheart.domain.recall import Item
from byheart.domain.records import Record, Scope, leaves
from byheart.domain.results import Finding, Hit, Listing
from byheart.domain.values import replace
from byheart.flows.desk import JOURNAL, NOTEBOOKS, Desk, every, without_secrets
from byheart.policies import recollecting
from byheart.text.questions import humps, question
from byheart.text.timewords import hint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from byheart.domain.ports import RecordIndex
    from byheart.flows.minds import Minds

# So many new records get their vectors before an answer; more are given theirs by and by.
_AT_ONCE, _MOST_AT_ONCE = 32, 96
_READ_CLOSELY = 20
_DEEP_SHARE = 0.6
_BEFORE = 300
_ARCHIVE = "#archive"


def recall(desk: Desk, query: str, scopes: Sequence[Scope], most: int, *, deep: bool = False) -> Listing:
    """The records that fit a query, best first; none where nothing does."""
    asked = question(query)
    cabinet = desk.cabinet()
    try:
        index = cabinet.index()
        pages, problems = _synced(desk, index, scopes)
    except (Busy, Environment):
        # Somebody is writing for long, or nothing can be written: the files themselves can still be searched.
        index = cabinet.spare()
        pages, problems = _synced(desk, index, scopes)
    if not asked.terms or not pages:
        return Listing(hits=(), problems=tuple(problems))
    _embedded(index, cabinet.minds, _MOST_AT_ONCE)
    # All that an answer depends on. Files were compared a moment ago, so a change anywhere makes another key.
    stamps = index.page_stamps()
    state = (tuple((path, stamps.get(path)) for path in pages), index.generation(), desk.clock().date())
    key = (query, tuple(scopes), most, deep, state)
    found = cabinet.answers.get(key, lambda: _answer(desk, index, query, pages, most, deep=deep), _size)
    return replace(found, problems=tuple(problems))


def _size(listing: Listing) -> int:
    return 500 + sum(500 + 4 * len(hit.record.text) for hit in listing.hits)


def _answer(desk: Desk, index: RecordIndex, query: str, pages: Sequence[str], most: int, *, deep: bool) -> Listing:
    asked = question(query)
    minds = desk.cabinet().minds
    meaning = minds.meaning(query)
    candidates = index.recollected(asked, pages, meaning)
    today = desk.clock().date()
    verdict = recollecting.judged(asked, hint(query, today), candidates, today, meaning.scale if meaning else None)
    found = verdict.found
    if deep and found and minds.reranker is not None:
        first = found[:_READ_CLOSELY]
        read = minds.reranker.scores(query, [each.candidate.text for each in first])
        found = recollecting.reranked(found, read, _DEEP_SHARE)
    items = index.items([each.candidate.row for each in found[:most]])
    hits = [
        Hit(
            id=item.handle,
            record=item.record,
            scope=Scope(item.scope),
            dialect=item.dialect,
            path=each.candidate.path.removesuffix(_ARCHIVE),
            line=item.line,
            score=round(each.score, 4),
            note=item.note,
            factors={name: round(value, 4) for name, value in each.factors.items()},
        )
        for each in found[:most]
        if (item := items.get(each.candidate.row)) is not None
    ]
    return Listing(
        hits=tuple(without_secrets(desk, hits)),
        is_sure=verdict.is_sure,
        missing=minds.missing,
    )


def caught_up(desk: Desk) -> None:
    """Take what changed into an index that exists already; what was forgotten leaves it at once."""
    cabinet = desk.cabinet()
    if not cabinet.is_there():
        return
    try:
        _synced(desk, cabinet.index(), list(desk.roots))
    except Environment:
        # An index that cannot be written is not read either; recall makes one of its own then.
        return


def _synced(desk: Desk, index: RecordIndex, scopes: Sequence[Scope]) -> tuple[list[str], list[Finding]]:
    """Bring the index up to date with these scopes' files; their names in it, and what is wrong with them."""
    known = index.page_stamps()
    pages: list[str] = []
    problems: list[Finding] = []
    gone = 0
    for scope in scopes:
        for name in NOTEBOOKS:
            place = desk.roots[scope].documents[name]
            path = str(place)
            try:
                stamp = desk.files.stamp(place)
                if stamp and known.get(path) == stamp:
                    pages.append(path)
                    continue
            except (Unreadable, Unnatural) as error:
                problems.append(
                    Finding(rule="unreadable", message=f"{error.problem}; {error.remedy}", place=error.path)
                )
                continue
            if not stamp and path not in known:
                continue
            documents, wrong = every(desk, [scope], [name])
            problems += wrong
            # Only where a file changed: a question about files that did not needs nothing of what reads them.
            from byheart.flows.overview import noted

            hits = [hit for each in documents for hit in noted(each) if not _kept_back(hit.record)]
            # A file with something wrong in it is looked at again, so that it is said again.
            gone += index.put_page(path, stamp if not wrong else f"{stamp}!", list(_items(desk, hits)))
            pages.append(path)
        gone += _archive(desk, index, scope, known, pages)
    if gone:
        index.purge()
    return pages, problems


def _archive(desk: Desk, index: RecordIndex, scope: Scope, known: dict[str, str], pages: list[str]) -> int:
    """What has left MEMORY.md for its archive can still be found."""
    journal = desk.roots[scope].documents[JOURNAL]
    path = f"{journal}{_ARCHIVE}"
    if not desk.files.size(journal):
        return index.put_page(path, "", []) if path in known else 0
    # Most journals have no archive; then nobody pays for the journal's modules.
    from byheart.flows.journal.reading import archived
    from byheart.flows.journal.shelf import shelf_of

    archive = shelf_of(desk, desk.roots[scope]).archive
    try:
        stamp = desk.files.stamp(archive)
    except (Unreadable, Unnatural):
        return 0
    if not stamp:
        return index.put_page(path, "", []) if path in known else 0
    pages.append(path)
    stamp = f"{stamp} {desk.files.stamp(journal)}"
    if known.get(path) == stamp:
        return 0
    hits = [hit for hit in archived(desk, scope, {""}) if not _kept_back(hit.record)]
    return index.put_page(path, stamp, list(_items(desk, hits)))


def _kept_back(record: Record) -> bool:
    # Summaries hold a bit of everything and would win nearly every search; what they sum up is in the archive.
    return record.origin is not None and (record.is_secret or record.origin.category == COMPACTION)


def _items(desk: Desk, hits: Sequence[Hit]) -> Iterator[Item]:
    """Records as they are searched, clean."""
    last: dict[str, str] = {}
    for hit in without_secrets(desk, hits):
        record = hit.record
        session = record.origin.session if record.origin else ""
        at = record.origin.at if record.origin else None
        day = at.date() if at else record.added
        # The text of a lesson is spelled out in its value; what is in both is said once.
        values = [part for part in leaves(record.value) if part not in record.text]
        text = " ".join([record.text, *values])
        yield Item(
            handle=hit.id,
            line=hit.line,
            record=record,
            scope=hit.scope.value,
            dialect=hit.dialect,
            note=hit.note,
            at=day,
            text=text,
            before=last.get(session, "") if session else "",
            meta=_meta(record, day, text),
        )
        if session:
            last[session] = text[-_BEFORE:]


def _meta(record: Record, day: date | None, text: str) -> str:
    key = (record.key or "").replace("|", " ").replace(".", " ")
    when = f"{day:%-d %B %Y}" if day else ""
    parts = (key, " ".join(record.tags), record.kind.value, " ".join(record.triple or ()), when, humps(text))
    return " ".join(part for part in parts if part)


def _embedded(index: RecordIndex, minds: Minds, most: int) -> None:
    embedder = minds.embedder
    if embedder is None:
        return
    due = index.unembedded_records(embedder.id, most)
    for start in range(0, len(due), _AT_ONCE):
        some = due[start : start + _AT_ONCE]
        vectors = minds.vectors([text for _, text in some])
        if vectors is None:
            return
        pairs = [(own, vector) for (own, _), vector in zip(some, vectors, strict=True)]
        index.embedded_records(embedder.id, embedder.width, pairs)
