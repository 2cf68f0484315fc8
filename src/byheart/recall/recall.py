"""Recall: what of all notebooks fits a question. The index is brought up to date first, so it never answers with the past."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.errors import Busy, ByheartError, Environment, Unnatural, Unwanted
from byheart.domain.records import Scope
from byheart.domain.results import Hit, Listing
from byheart.domain.values import replace
from byheart.language.programs import VOCABULARY, purposes_of
from byheart.recall import sync
from byheart.search import order
from byheart.search.models import KEYWORDS, ready
from byheart.text.deferred import deferred
from byheart.text.questions import question
from byheart.text.timewords import hint, timeless
from byheart.workspace.context import JOURNAL, REPOSITORYS, Context

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.domain.documents import Place
    from byheart.domain.ports import RecordIndex
    from byheart.domain.recall import Meaning, Question

_READ_CLOSELY = 20
_OTHERS = deferred(r"\bor\b|\belse\b|\binstead\b|\balternativ|\brather\b|\bvs\.?\b|\bversus\b", re.IGNORECASE)
_WHICH = deferred(r"^\W*(?:which|what|where|how)\b", re.IGNORECASE)
# Words that ask for a kind of thing, whatever kind.
_OF_ANY = frozenset(
    "something else tool tools library program software use uses using used user work works working prefer preferred preferences kind sort choose chosen app project team current currently go run".split()
)
# So many words name a kind of program.
_KIND_WORDS = 3
_DEEP_SHARE = 0.6
# Beside a time these ask for nothing more.
_IDLE = frozenset("happen happened happening going went done did new news thing things stuff work worked".split())


def recall(context: Context, query: str, scopes: Sequence[Scope], most: int, *, deep: bool = False) -> Listing:
    """The records that fit a query, best first; none where nothing does."""
    asked = question(query)
    search_tools = context.search_tools()
    try:
        index = search_tools.index()
        pages, problems = sync.synced(context, index, scopes)
    except (Busy, Environment, Unnatural):
        # Somebody is writing for long, or nothing can be written: the files themselves can still be searched.
        index = search_tools.spare()
        pages, problems = sync.synced(context, index, scopes)
    if not asked.terms or not pages:
        return Listing(hits=(), problems=tuple(problems))
    by_meaning = ready(index, search_tools.recall_models)
    # All that an answer depends on. Files were compared a moment ago, so a change anywhere makes another key.
    stamps = index.page_stamps()
    state = (tuple((path, stamps.get(path)) for path in pages), index.generation(), context.clock().date())
    key = (query, tuple(scopes), most, deep, state, by_meaning)
    found = search_tools.answers.get(
        key, lambda: _answer(context, index, query, pages, most, deep=deep, by_meaning=by_meaning), _size
    )
    search_tools.asked()
    if found.is_sure:
        note(context, [hit.id for hit in found.hits])
    return replace(found, problems=tuple(problems))


def of_journal(context: Context, query: str, scope: Scope, most: int) -> list[Hit]:
    """Records of one journal that fit a question, of the newest that the configuration lets an agent ask for. Raises Unwanted
    where it lets it ask for none."""
    settings = context.journal
    if not settings.memory_embeddings_enabled:
        raise Unwanted("agents may not ask for journal records; set journal.memory_embeddings_enabled to true")
    path = str(context.roots[scope].documents[JOURNAL])
    index = context.search_tools().index()
    pages, _ = sync.synced(context, index, [scope])
    if path not in pages:
        return []
    by_meaning = ready(index, context.search_tools().recall_models)
    first = index.line_before_end(path, settings.memory_embeddings_max_records)
    found = _answer(context, index, query, [path], 4 * most, deep=False, by_meaning=by_meaning)
    return [hit for hit in found.hits if hit.line >= first][:most]


def _size(listing: Listing) -> int:
    return 500 + sum(500 + 4 * len(hit.record.text) for hit in listing.hits)


def _answer(
    context: Context,
    index: RecordIndex,
    query: str,
    pages: Sequence[str],
    most: int,
    *,
    deep: bool,
    by_meaning: bool,
) -> Listing:
    recall_models = context.search_tools().recall_models
    meaning = recall_models.meaning(query) if by_meaning else None
    with index.reading():
        found = _found(context, index, query, pages, most, meaning, deep=deep)
    return replace(found, missing=KEYWORDS) if recall_models.embedder is not None and not by_meaning else found


def _asked(query: str) -> Question:
    """A question that speaks of a time, without it; with no terms where it asks for nothing else."""
    asked = question(timeless(query))
    left = tuple(term for term in asked.terms if term.strip('"') not in _IDLE)
    return replace(asked, text=query, terms=left if not asked.is_vague else ())


def _of_its_kind(asked: Question, query: str) -> Question:
    """A question about a kind of program: one that names a program and asks for others, with what that one is for; and one that asks for
    a kind, without the words that all such questions have."""
    terms = asked.terms
    if terms and _OTHERS.search(query):
        kind = " ".join(purposes_of(query).split()[:_KIND_WORDS])
        if kind:
            terms = (*terms, *(term for term in question(kind).terms if term not in terms))
    elif not terms or not _WHICH.search(query):
        return asked
    left = tuple(term for term in terms if term.strip('" *') not in _OF_ANY)
    is_of_kind = any(term.strip('" *') in VOCABULARY for term in left)
    return replace(asked, terms=left if is_of_kind else terms)


def _found(
    context: Context,
    index: RecordIndex,
    query: str,
    pages: Sequence[str],
    most: int,
    meaning: Meaning | None,
    *,
    deep: bool,
) -> Listing:
    today = context.clock().date()
    time = hint(query, today)
    # When something was is told by its date, seldom by its words.
    asked, recall_models = _asked(query) if time.spells else question(query), context.search_tools().recall_models
    asked = _of_its_kind(asked, query)
    days = [(each.first.toordinal(), each.last.toordinal()) for each in time.spells]
    candidates = index.recollected(asked, pages, meaning, days)
    scale = meaning.scale if meaning else None
    verdict = order.judged_records(asked, time, candidates, today, scale, counts(context), most)
    found = verdict.found
    if deep and found and recall_models.reranker is not None:
        first = found[:_READ_CLOSELY]
        read = recall_models.reranker.scores(query, [each.candidate.text for each in first])
        found = order.reranked_records(found, read, _DEEP_SHARE)
    # A line that stands in several blocks, each with its own counts, is one line; the best of them is told.
    items = index.items([each.candidate.row for each in found[: 2 * most]])
    once = {item.handle: each for each in reversed(found[: 2 * most]) if (item := items.get(each.candidate.row))}
    found = tuple(each for each in found[: 2 * most] if each in once.values())
    hits = [
        Hit(
            id=item.handle,
            record=item.record,
            scope=Scope(item.scope),
            dialect=item.dialect,
            path=each.candidate.path.removesuffix(sync.ARCHIVE),
            line=item.line,
            score=round(each.score, 4),
            note=item.note,
            is_repositorys=REPOSITORYS in (item.note or ""),
            factors={name: round(value, 4) for name, value in each.factors.items()},
        )
        for each in found[:most]
        if (item := items.get(each.candidate.row)) is not None
    ]
    return Listing(
        # Clean: what is in the index was looked through on its way in, by the rules that are in force now.
        hits=tuple(hits),
        is_sure=verdict.is_sure,
        missing=recall_models.missing,
    )


# Of an answer the first; what stands further down may be there by chance, and must not climb by that.
_COUNTED = 1
_LARGEST = 60_000


def _place(context: Context) -> Place:
    return context.roots[Scope.GLOBAL].own("uses.txt")


def counts(context: Context) -> Counter[str]:
    """How often each record was the first of an answer, by its handle; nothing where that cannot be told."""
    try:
        text = context.files.read(_place(context)).text or ""
    except ByheartError:
        return Counter()
    return Counter(line[11:] for line in text.splitlines() if len(line) > 11)


def note(context: Context, handles: Sequence[str]) -> None:
    """Somebody got this answer. While memory is off nothing is noted, and what cannot be written is left."""
    if not context.limits.enabled or not handles:
        return
    day = context.clock().date().isoformat()
    place = _place(context)
    try:
        context.files.append(place, "".join(f"{day} {each}\n" for each in handles[:_COUNTED]), None)
        if (context.files.size(place) or 0) > _LARGEST:
            with context.files.locked(context.roots[Scope.GLOBAL]):
                old = context.files.read(place)
                lines = (old.text or "").splitlines(keepends=True)
                context.files.write(place, "".join(lines[len(lines) // 2 :]), old.digest)
    except ByheartError:
        # An answer that was given must not fail for its note.
        return
