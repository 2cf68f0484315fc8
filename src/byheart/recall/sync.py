"""Bringing the index up to date with the notebooks, before anything is searched: files are the truth."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from byheart.domain import journal as journal_words
from byheart.domain.documents import Place
from byheart.domain.errors import ByheartError, Unnatural, Unreadable
from byheart.domain.ports import Extent
from byheart.domain.recall import Item
from byheart.domain.records import Record, Scope, leaves
from byheart.domain.results import Finding, Hit
from byheart.domain.values import dataclass, field, replace
from byheart.language.programs import purposes_of
from byheart.search.models import embedded
from byheart.text.deferred import module
from byheart.text.questions import humps
from byheart.text.slugs import content_digest
from byheart.workspace.context import JOURNAL, Context, OpenedDocument, every, hits, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date

    from byheart.domain.ports import RecordIndex
    from byheart.handbook import lines
    from byheart.journal import files, reading
    from byheart.notebooks import overview
else:
    lines = module("byheart.handbook.lines")
    files = module("byheart.journal.files")
    reading = module("byheart.journal.reading")
    overview = module("byheart.notebooks.overview")

ARCHIVE = "#archive"
HANDBOOK = "handbook/MEMORY.md"
_BEFORE = 300
# How far back the record before another one of the same session may stand.
_REACH = 50
# Behind the stamp of a file with something wrong in it: it is looked at again, so that it is said again.
_WRONG = "!"


def caught_up(context: Context) -> None:
    """Take what changed into an index that already exists; what was forgotten leaves it at once. A process that has a model
    at hand gives new records their vectors, too."""
    search_tools = context.search_tools()
    if not search_tools.is_there():
        return
    try:
        index = search_tools.index()
        synced(context, index, list(context.roots))
        from byheart.journal.experiences import caught_up as lived_through

        lived_through(context, index)
        if search_tools.recall_models.is_awake:
            embedded(index, search_tools.recall_models)
    except ByheartError:
        # An index that cannot be written is not read either; recall makes one of its own then. What was done stands.
        return


def written(context: Context) -> None:
    """Something was written. A command leaves it to the next question to take it in; a process that lives long, and has been
    asked before, does so at once."""
    if context.search_tools().recall_models.is_awake:
        caught_up(context)


def synced(context: Context, index: RecordIndex, scopes: Sequence[Scope]) -> tuple[list[str], list[Finding]]:
    """Bring the index up to date with these scopes' files; their names in it, and what is wrong with them."""
    index.renew()
    taken = _Taken()
    _take(context, index, scopes, taken, only_look=True)
    if taken.is_behind:
        # Files are read again while nobody else writes: what another process has taken in meanwhile must not be put back.
        taken = _Taken()
        with index.writing():
            _take(context, index, scopes, taken)
            taken.gone += _vanished(context, index)
        if taken.gone:
            index.purge()
    return taken.pages, taken.problems


@dataclass(slots=True)
class _Taken:
    """What bringing up to date came to: the files' names in the index, what is wrong with them, how many records went, and
    whether there is anything to do."""

    pages: list[str] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)
    gone: int = 0
    is_behind: bool = False


def _take(
    context: Context, index: RecordIndex, scopes: Sequence[Scope], taken: _Taken, *, only_look: bool = False
) -> None:
    known = index.page_stamps()
    for scope in scopes:
        grown: list[Item] | None = None
        for name, place in context.roots[scope].every():
            path = str(place)
            try:
                stamp = _stamp(context, place)
                if stamp and known.get(path) == stamp:
                    taken.pages.append(path)
                    grown = [] if name == JOURNAL else None
                    continue
                if not stamp and path not in known:
                    continue
                if only_look:
                    taken.is_behind = True
                    return
                if name == JOURNAL and _may_grow(known.get(path, _WRONG), stamp):
                    grown = _grown(context, index, scope, place, stamp)
            except (Unreadable, Unnatural) as error:
                taken.problems.append(
                    Finding(rule="unreadable", message=f"{error.problem}; {error.remedy}", place=error.path)
                )
                continue
            if grown is None:
                went, wrong = _whole(context, index, scope, name, place, stamp)
                taken.gone += went
                taken.problems += wrong
            taken.pages.append(path)
        _archive(context, index, scope, known, taken, None if only_look else grown, only_look=only_look)
        _handbook(context, index, scope, known, taken, only_look=only_look)


def _handbook(
    context: Context, index: RecordIndex, scope: Scope, known: dict[str, str], taken: _Taken, *, only_look: bool
) -> None:
    """What was learnt of a project, and of no other."""
    root = context.roots[scope]
    if context.files.size(Place(root.folder.base, f"{root.folder.path}/{HANDBOOK}")) is None:
        # Most projects have none, and need not pay for what reads it.
        return
    for place in lines.places(context, root):
        path = str(place)
        try:
            stamp = _stamp(context, place)
            if not stamp:
                continue
            taken.pages.append(path)
            if known.get(path) == stamp:
                continue
            if only_look:
                taken.is_behind = True
                return
            text = context.files.read(place).text or ""
        except (Unreadable, Unnatural) as error:
            problem = f"{error.problem}; {error.remedy}"
            taken.problems.append(Finding(rule="unreadable", message=problem, place=error.path))
            continue
        taken.gone += index.put_page(path, stamp, list(_items(context, lines.hits(place, text, scope), ())))


def _may_grow(known: str, stamp: str) -> bool:
    """Whether a file may have got lines at its end and nothing else: it was sound, and looked through by the same rules."""
    return not known.endswith(_WRONG) and known.rpartition("/")[2] == stamp.rpartition("/")[2]


def _stamp(context: Context, place: Place) -> str:
    """What tells whether a file has to be taken in again: it changed, or the rules about what must not be in the index did."""
    stamp = context.files.stamp(place)
    return f"{stamp}/{context.scanner.fingerprint}" if stamp else ""


def _vanished(context: Context, index: RecordIndex) -> int:
    """Take the notebooks out whose files are gone, of whichever project; how many records went."""
    gone = 0
    for path in index.page_stamps():
        folder, _, name = path.removesuffix(ARCHIVE).rpartition("/")
        try:
            if folder and context.files.size(Place(folder, name)) is None:
                gone += index.put_page(path, "", [])
        except ByheartError:
            # It is there, and somebody else's to look at.
            continue
    return gone


def _whole(
    context: Context, index: RecordIndex, scope: Scope, name: str, place: Place, stamp: str
) -> tuple[int, list[Finding]]:
    """Take a whole notebook in; how many records went away, and what is wrong with it."""
    documents, wrong = every(context, [scope], [name], [place])
    # Only where a file changed: a question about files that did not needs nothing of what reads them.
    every_one = [hit for each in documents for hit in overview.noted(each)]
    found = [hit for hit in every_one if not _kept_back(hit.record)]
    extent = None
    if name == JOURNAL and documents and documents[0].exists:
        extent = _extent(documents[0].document.text, [hit.id for hit in every_one if _kept_back(hit.record)])
    path = str(place)
    return index.put_page(path, f"{stamp}{_WRONG}" if wrong else stamp, list(_items(context, found, ())), extent), wrong


def _extent(text: str, hidden: Sequence[str]) -> Extent | None:
    """How far a text goes; None where its last line may go on."""
    if not text.endswith("\n"):
        return None
    return Extent(len(text.encode()), content_digest(text), text.count("\n"), tuple(hidden))


def _grown(context: Context, index: RecordIndex, scope: Scope, place: Place, stamp: str) -> list[Item] | None:
    """Take in what was added to a journal, whose lines stand each for themselves; None where that is not all that happened."""
    path = str(place)
    known = index.page_extent(path)
    found = context.files.behind(place, known, context.most_bytes(JOURNAL)) if known else None
    if known is None or found is None:
        return None
    text, extent = found
    document = context.dialects[JOURNAL].parse(text)
    if document.problems or not (text.endswith("\n") or not text):
        return None
    part = OpenedDocument(
        root=context.roots[scope], dialect=context.dialects[JOURNAL], place=place, document=document, exists=True
    )
    if context.trust.covers(place):
        # What stands above was looked at when it was taken in.
        theirs = context.trust.strangers(place, text.split("\n"))
        part = replace(
            part, strangers=frozenset(at for at, each in enumerate(document.placed) if each.line - 1 in theirs)
        )
    every_one = hits(part)
    names = [hit.id for hit in every_one]
    if any("-" in name or name in known.hidden for name in names) or index.has_handle(path, names):
        # Two with one name are told apart by their order in the whole file.
        return None
    fresh = [hit for hit in every_one if not _kept_back(hit.record)]
    hidden = [hit.id for hit in every_one if _kept_back(hit.record)]
    extent = replace(extent, hidden=(*known.hidden, *hidden))
    items = list(_items(context, fresh, index.last_items(path, _REACH), known.lines))
    index.grow_page(path, stamp, items, extent)
    return items


def _archive(
    context: Context,
    index: RecordIndex,
    scope: Scope,
    known: dict[str, str],
    taken: _Taken,
    grown: list[Item] | None,
    *,
    only_look: bool,
) -> None:
    """What has left MEMORY.md for its archive can still be found. `grown` is what MEMORY.md has got more, where no more than
    that happened to it."""
    journal = context.roots[scope].documents[JOURNAL]
    path = f"{journal}{ARCHIVE}"
    archive = stamp = None
    chosen = context.journal.memory_archive_path
    is_there = (
        chosen or path in known or context.files.size(context.roots[scope].own(journal_words.ARCHIVE)) is not None
    )
    if is_there and context.files.size(journal):
        # Most journals have no archive; then nobody pays for the journal's modules.
        archive = files.journal_files(context, context.roots[scope]).archive
        try:
            stamp = _stamp(context, archive)
        except (Unreadable, Unnatural):
            return
    if not stamp:
        taken.is_behind = taken.is_behind or path in known
        if path in known and not only_look:
            taken.gone += index.put_page(path, "", [])
        return
    taken.pages.append(path)
    whole = f"{stamp} {context.files.stamp(journal)}"
    if known.get(path) == whole:
        return
    if only_look:
        taken.is_behind = True
        return
    is_as_it_was = grown is not None and known.get(path, "").startswith(f"{stamp} ")
    if is_as_it_was and not index.has_handle(path, [item.handle for item in grown or ()]):
        # What is in the journal again is told from there; what is new in it has nothing to do with what has left.
        index.restamp_page(path, whole)
        return
    try:
        found = [hit for hit in reading.archived(context, scope, {""}) if not _kept_back(hit.record)]
    except (Unreadable, Unnatural):
        # Nobody can say what of it is in the journal again; what is wrong with that has been said.
        taken.pages.remove(path)
        return
    taken.gone += index.put_page(path, whole, list(_items(context, found, ())))


def _kept_back(record: Record) -> bool:
    # Summaries hold a bit of everything and would win nearly every search; what they sum up is in the archive.
    return record.origin is not None and (record.is_secret or record.origin.category == journal_words.COMPACTION)


def _items(context: Context, found: Sequence[Hit], before: Iterable[Item], offset: int = 0) -> Iterator[Item]:
    """Records as they are searched, clean. `before` are those that stand in front of them, `offset` lines above."""
    last = deque(((_session(item.record), item.text) for item in before), maxlen=_REACH)
    for hit in without_secrets(context, found):
        record = hit.record
        session = _session(record)
        at = record.origin.at if record.origin else None
        day = at.date() if at else record.added
        # The text of a lesson is spelled out in its value; what is in both is said once.
        values = [part for part in leaves(record.value) if part not in record.text]
        text = " ".join([record.text, *values])
        yield Item(
            handle=hit.id,
            line=hit.line + offset,
            record=record,
            scope=hit.scope.value,
            dialect=hit.dialect,
            note=hit.note,
            at=day,
            text=text,
            before=next((each[-_BEFORE:] for own, each in reversed(last) if own == session), "") if session else "",
            meta=_meta(record, day, text),
        )
        last.append((session, text))


def _session(record: Record) -> str:
    return record.origin.session if record.origin else ""


def _meta(record: Record, day: date | None, text: str) -> str:
    key = (record.key or "").replace("|", " ").replace(".", " ")
    when = f"{day:%-d %B %Y}" if day else ""
    category = record.origin.category if record.origin else ""
    parts = (
        key,
        " ".join(record.tags),
        record.kind.value,
        category,
        " ".join(record.triple or ()),
        when,
        humps(text),
        purposes_of(text),
    )
    return " ".join(part for part in parts if part)
