"""Which one line somebody means who wants it forgotten: by its address, its handle, or the words that it is shown in.

Whatever is shown has a name that is made from what it says, so a name is that line's or nobody's. Where nothing fits, nothing is
touched, and what comes nearest is told.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from byheart.domain.errors import Ambiguous, BadInput, ByheartError, NothingFound
from byheart.domain.records import Kind
from byheart.domain.values import dataclass
from byheart.handbook import lines as indexed
from byheart.handbook.phrases import signal_of
from byheart.learning import review
from byheart.text.deferred import module
from byheart.text.similarity import normalised
from byheart.workspace import ranking
from byheart.workspace.context import NOTEBOOKS, every, find_one, hits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from byheart.domain.documents import Root
    from byheart.domain.records import Scope
    from byheart.domain.results import Hit
    from byheart.journal.purge import ProseLine
    from byheart.learning.handbook_files import HandbookFiles
    from byheart.learning.review import InboxItem
    from byheart.sessions.sessions import Sessions

    # Every line that a brief could show now, with its address.
    Shown = Callable[[HandbookFiles], Iterator[tuple[str, str]]]
    from byheart.journal import experiences, purge
else:
    experiences = module("byheart.journal.experiences")
    purge = module("byheart.journal.purge")

_ADDRESS = re.compile(r"memory://(?P<book>[a-z]+)(?:/[^#\s\]]*)?#(?P<name>[^\s\]]+)", re.IGNORECASE)
_TURN = re.compile(r"(?P<agent>[a-z][\w-]*):(?P<session>\S+)#(?P<turn>\d+)")
_ROW = re.compile(r"(?P<name>[0-9a-z]{8})\s{2,}(?P<rest>\S.*)", re.DOTALL)
_SESSION_ROW = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d\s+\S+\s+(?P<name>\S+)\s")
_SHORTEST_ID = 6
_EVERY = 100_000
_UNVERIFIED = re.compile(r"\s*\(unverified: [^()]*\)\s*$")
_BOOKS = {"profile": ("yaml-block",), "rules": ("triples",), "journal": ("journal",), "record": NOTEBOOKS}
_SHOWN, _TELLING = 3, 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetTarget:
    """One thing that can be forgotten, of whichever kind: a record, a learnt line, a question of the inbox, a line of prose, or a
    turn of a session."""

    text: str
    where: str
    hit: Hit | None = None
    learnt: Hit | None = None
    question: InboxItem | None = None
    prose: tuple[Root, ProseLine] | None = None
    turn: tuple[str, int] | None = None
    # Only agents' own transcripts have these words.
    is_said: bool = False


def meant(own: HandbookFiles, selector: str, scope: Scope | None, shown: Shown) -> ForgetTarget:
    """The one thing that a selector names. Raises Ambiguous or NothingFound, with what may have been meant."""
    selector = selector.strip()
    if not selector:
        raise BadInput("name what to forget: its address, its handle, or its words")
    address = _ADDRESS.search(selector)
    if address is not None:
        return _named(own, address["book"].casefold(), address["name"], scope, selector)
    if selector.casefold().startswith("memory://"):
        raise BadInput(
            f"{selector!r} names a file, not a line; add the line's handle, as in {selector.split('#')[0]}#HANDLE"
        )
    turn = _TURN.fullmatch(selector.strip("[]"))
    if turn is not None:
        return ForgetTarget(text="", where=selector, turn=(turn["session"], int(turn["turn"])))
    return (
        _by_name(own, selector, scope)
        or _by_words(own, selector, scope, shown)
        or _by_row(own, selector, scope)
        or _nothing(own, selector, scope)
    )


def _by_row(own: HandbookFiles, selector: str, scope: Scope | None) -> ForgetTarget | None:
    """By a row as lists, the inbox and recall print it: its handle, as long as the row still says what that names."""
    row = _ROW.match(selector)
    found = _by_name(own, row["name"], scope) if row else None
    if row is None or found is None:
        return None
    told = {normalised(found.text), normalised(indexed.essence(found.text))}
    if found.question is not None:
        told.add(normalised(found.question.text))
    said = normalised(row["rest"])
    return found if any(text and text in said for text in told) else None


def of_sessions(own: HandbookFiles, sessions: Sessions, selector: str) -> ForgetTarget | None:
    """Words that no memory has, but a session. Raises BadInput for a session's own name, and NothingFound where a line of memory says
    these words and more: a part of a line is not the line."""
    row = _SESSION_ROW.match(selector)
    name = (row["name"] if row else selector).strip()
    if len(name.split()) == 1 and len(name.rpartition(":")[2]) >= _SHORTEST_ID:
        try:
            listed = sessions.find(name.rpartition(":")[2]).session
        except ByheartError:
            pass
        else:
            raise BadInput(
                f"{name!r} is a session: byheart memory forget {listed.id} deletes what was learnt from it, "
                f"byheart forget {listed.agent}:{listed.id}#TURN one turn of it"
            )
    if longer := _saying_more(own, selector):
        told = "; ".join(f"{address} {own.context.scanner.redacted(text)[:160]!r}" for address, text in longer[:_SHOWN])
        raise NothingFound(f"no line says just {selector!r}, nothing was changed. It is a part of: {told}")
    # Shorter words stand in many.
    said = sessions.saying(selector) if len(selector) >= _TELLING else ()
    if not said:
        return None
    session, number, _ = said[0]
    return ForgetTarget(text=selector, where=f"{session.agent}:{session.id}#{number}", is_said=True)


def _saying_more(own: HandbookFiles, selector: str) -> list[tuple[str, str]]:
    """Lines of memory that hold these words among others: (address, text)."""
    wanted = normalised(selector)
    documents, _ = every(own.context, list(own.context.roots), NOTEBOOKS)
    # Titles and descriptions of sessions repeat what was said in them; they are no lines that somebody wants to keep.
    learnt = [hit for hit in indexed.learnt(own.context, own.root) if hit.record.kind is not Kind.NOTE]
    known = [*(hit for each in documents for hit in hits(each)), *learnt]
    found = {hit.address: hit.record.text for hit in known if wanted and wanted in normalised(hit.record.text)}
    found |= {f"memory://inbox#{each.id}": each.text for each in review.waiting(own) if wanted in normalised(each.text)}
    return list(found.items())


def _named(own: HandbookFiles, book: str, name: str, scope: Scope | None, selector: str) -> ForgetTarget:
    found: ForgetTarget | None = None
    if book in _BOOKS:
        try:
            return _of(find_one(own.context, name, scope, _BOOKS[book]))
        except NothingFound:
            found = _prose(own, name, scope)
    elif book == "root":
        found = _learnt(own, name)
    elif book == "inbox":
        found = _question(own, name)
    elif book == "experiences":
        found = _experience(own, name, scope)
    else:
        raise BadInput(
            f"unknown memory namespace {book!r} in {selector!r}; known are {', '.join((*_BOOKS, 'root', 'inbox', 'experiences'))}"
        )
    return found or _nothing(own, name, scope)


def _experience(own: HandbookFiles, name: str, scope: Scope | None) -> ForgetTarget | None:
    """An experience is a record's copy, or what a session showed: forgetting the record takes the copy along."""
    listed = experiences.listed(own.context, list(own.context.roots), _EVERY)
    text = next((each.text for each in listed if each.id == name), None)
    if text is None:
        return None
    return _by_name(own, text, scope) or ForgetTarget(text=name, where="experiences")


def _of(hit: Hit) -> ForgetTarget:
    return ForgetTarget(text=hit.record.text, where=f"{hit.path}:{hit.line}", hit=hit)


def _by_name(own: HandbookFiles, selector: str, scope: Scope | None) -> ForgetTarget | None:
    """By a handle, an id, a key, or all that it says."""
    try:
        return _of(find_one(own.context, selector, scope))
    except NothingFound:
        return _learnt(own, selector) or _prose(own, selector, scope) or _question(own, selector)


def _learnt(own: HandbookFiles, name: str) -> ForgetTarget | None:
    wanted = normalised(indexed.essence(name))
    every_one = indexed.learnt(own.context, own.root)
    found = [hit for hit in every_one if hit.id == name] or [
        hit for hit in every_one if wanted and wanted in (normalised(indexed.essence(hit.record.text)), _quote_of(hit))
    ]
    if not found:
        return None
    # The same line may stand in the summary and in the handbook; what it says is one thing.
    if len({hit.id for hit in found}) > 1:
        raise Ambiguous(name, found)
    # A note is a person's file; it has to leave that, whatever repeats it.
    chosen = next((hit for hit in found if "note" in hit.record.tags), found[0])
    return ForgetTarget(text=chosen.record.text, where=f"{chosen.path}:{chosen.line}", learnt=chosen)


def _quote_of(hit: Hit) -> str:
    """The whole of what a person said, for a line that quotes it."""
    parts = signal_of(hit.record.text)
    return normalised(parts["quote"]) if parts else ""


def _prose(own: HandbookFiles, name: str, scope: Scope | None) -> ForgetTarget | None:
    wanted = purge.prose_handle(name)
    for root in own.context.roots.values():
        if scope is not None and root.scope is not scope:
            continue
        try:
            lines = purge.prose_lines(own.context, root)
        except ByheartError:
            continue
        for line in lines:
            if line.id in (name, wanted):
                return ForgetTarget(text=line.text.strip(), where=f"{line.place}:{line.line}", prose=(root, line))
    return None


def _question(own: HandbookFiles, name: str) -> ForgetTarget | None:
    wanted = normalised(name)
    for each in review.waiting(own):
        if name == each.id or (wanted and wanted in (normalised(each.text), normalised(each.quote))):
            return ForgetTarget(text=each.text, where="inbox", question=each)
    return None


def _by_words(own: HandbookFiles, selector: str, scope: Scope | None, shown: Shown) -> ForgetTarget | None:
    """By the words that a brief or a list shows it in, which need not be those that it is kept in."""
    # What a brief adds to a line is not the line's.
    plain = normalised(_UNVERIFIED.sub("", selector.removeprefix("- ")))
    addresses = {address for text, address in shown(own) if normalised(text) == plain}
    # Recall and list put a key before what it says.
    documents, _ = every(own.context, [scope] if scope else list(own.context.roots), NOTEBOOKS)
    keyed = [hit for each in documents for hit in hits(each) if hit.record.key and plain in _spelled(hit)]
    addresses |= {hit.address for hit in keyed}
    if len(addresses) > 1:
        # What sessions taught may be told out of the notebook that it was written into; forgotten there, it is forgotten.
        addresses -= {each for each in addresses if each.startswith("memory://root#")} if keyed else set()
    if len(addresses) > 1:
        raise Ambiguous(selector, keyed or [])
    for address in addresses:
        found = _ADDRESS.search(address)
        assert found is not None
        return _named(own, found["book"], found["name"], scope, address)
    return None


def _spelled(hit: Hit) -> tuple[str, ...]:
    record = hit.record
    return tuple(
        normalised(text)
        for text in (f"{record.key}: {record.text}", f"{record.key} {record.text}", f"{record.key} = {record.text}")
    )


def _nothing(own: HandbookFiles, selector: str, scope: Scope | None) -> ForgetTarget:
    documents, _ = every(own.context, [scope] if scope else list(own.context.roots), NOTEBOOKS)
    known: Sequence[Hit] = [*(hit for each in documents for hit in hits(each)), *indexed.learnt(own.context, own.root)]
    by_id = {hit.id: hit for hit in known}
    alike = difflib.get_close_matches(selector.rpartition("#")[2], by_id, _SHOWN, 0.75)
    near = {name: by_id[name] for name in alike} | {hit.id: hit for hit in ranking.found(selector, known, 2 * _SHOWN)}
    told = "; ".join(
        f"{hit.address} {own.context.scanner.redacted(hit.record.text)[:160]!r}" for hit in list(near.values())[:_SHOWN]
    )
    hint = f". Nearest: {told}" if told else ". byheart list and byheart brief show what there is"
    raise NothingFound(f"no line is named {selector!r}, nothing was changed{hint}")
