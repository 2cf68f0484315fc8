"""What every story has at hand: the ports, the roots, the clock and the limits."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.errors import Ambiguous, NothingFound, Unnatural, Unreadable
from byheart.domain.records import Record, Scope, Value, leaves
from byheart.domain.results import Finding, Hit
from byheart.domain.values import dataclass, replace
from byheart.text.similarity import normalised
from byheart.text.slugs import short_digest
from byheart.workspace import tombstones
from byheart.workspace.trust import ENTRIES_OF, FORGOTTEN_OF, deletions_of, entries_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime, tzinfo

    from byheart.domain.documents import Document, Place, Project, Root
    from byheart.domain.journal import JournalSettings, SessionContext
    from byheart.domain.ports import Dialect, Files, RecordIndex, Scanner
    from byheart.domain.records import Placed
    from byheart.domain.results import Listing
    from byheart.search.models import Cache, RecallModels
    from byheart.workspace.trust import Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds a user can lower; the field comments in defaults.toml say what each is for."""

    enabled: bool = True
    profile_bullets: int = 15
    rules_shown: int = 7
    recall_results: int = 10
    record_characters: int = 600
    file_bytes: int = 16_000_000
    log_entries: int = 2_000
    stale_days: int = 120
    lock_seconds: float = 20.0
    notebook: str = ""


PROFILE, RULES, JOURNAL = "yaml-block", "triples", "journal"
NOTEBOOKS = (PROFILE, RULES, JOURNAL)
REPOSITORYS = "came with the repository, not from you"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTools:
    """Where records are searched: the index, one that is gone with the process for when the other cannot be used, and the
    models. `is_there` tells without opening it whether the index exists; `asked` is told that a cache was, so that others
    can see how the caches of a process that lives long are doing."""

    index: Callable[[], RecordIndex]
    spare: Callable[[], RecordIndex]
    recall_models: RecallModels
    answers: Cache[Listing]
    contexts: Cache[SessionContext]
    is_there: Callable[[], bool]
    asked: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The tools of one command. `roots` is ordered: the project's own first. `zone` None is the machine's own."""

    files: Files
    scanner: Scanner
    dialects: Mapping[str, Dialect]
    roots: Mapping[Scope, Root]
    project: Project
    limits: Limits
    clock: Callable[[], datetime]
    token: Callable[[], str]
    salt: Callable[[], bytes]
    journal: JournalSettings
    zone: tzinfo | None
    search_tools: Callable[[], SearchTools]
    # Takes away what was prepared for sessions, and what is kept of what they were told.
    drop_briefs: Callable[[], None]
    # Which of the checkout's own files and lines are the user's.
    trust: Trust

    def most_bytes(self, name: str) -> int | None:
        """The largest file of a format that is read; None is the general limit."""
        return self.journal.file_bytes if name == JOURNAL else None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDocument:
    """A document of a root, as it stands on disk now. `strangers` are the entries that are not the user's, by their place
    among the document's."""

    root: Root
    dialect: Dialect
    place: Place
    document: Document
    exists: bool
    strangers: frozenset[int] = frozenset()

    @property
    def own(self) -> list[Placed]:
        """The entries that are the user's."""
        return [each for at, each in enumerate(self.document.placed) if at not in self.strangers]


# A larger journal than this is not only its heading.
_SMALL_JOURNAL = 65_536


def opened(context: Context, root: Root, name: str, place: Place | None = None) -> OpenedDocument:
    """Read and parse one document; one that does not exist reads as the blank it would start from."""
    dialect, place = context.dialects[name], place or root.documents[name]
    snapshot = context.files.read(place, context.most_bytes(name))
    text = snapshot.text if snapshot.text is not None else dialect.blank()
    document = dialect.parse(text)
    strangers = frozenset[int]()
    if snapshot.text is not None and context.trust.covers(place):
        document, strangers = _judged(context, place, name, document)
    return OpenedDocument(
        root=root,
        dialect=dialect,
        place=place,
        document=document,
        exists=snapshot.text is not None,
        strangers=strangers,
    )


def _judged(context: Context, place: Place, name: str, document: Document) -> tuple[Document, frozenset[int]]:
    """A document of the checkout without what others say was forgotten, and which of its entries are theirs."""
    if name != PROFILE:
        theirs = context.trust.strangers(place, document.text.split("\n"))
        return document, frozenset(at for at, each in enumerate(document.placed) if each.line - 1 in theirs)
    gone = context.trust.strangers(place, deletions_of(document), FORGOTTEN_OF) if document.deletions else ()
    kept = tuple(each for at, each in enumerate(document.deletions) if at not in gone)
    switches = document.settings
    if not context.trust.is_on(place, document.text, says_on=switches.enabled):
        switches = replace(switches, enabled=False)
    return replace(document, deletions=kept, settings=switches), context.trust.strangers(
        place, entries_of(document), ENTRIES_OF
    )


def vouched(name: str, document: Document) -> list[str]:
    """A document's entries as the user vouches for them."""
    if name != PROFILE:
        return [line for line in document.text.split("\n") if line.strip()]
    return [*entries_of(document), *deletions_of(document)]


def holder(context: Context, hit: Hit) -> Root:
    """The root that a hit is changed in: of its scope, with the very file it stands in."""
    root = context.roots[hit.scope]
    kept = root.kept.get(hit.dialect)
    return replace(root, documents={**root.documents, hit.dialect: kept}) if kept and str(kept) == hit.path else root


def every(
    context: Context, scopes: Iterable[Scope], names: Iterable[str], places: Sequence[Place] | None = None
) -> tuple[list[OpenedDocument], list[Finding]]:
    """All documents of these scopes and formats, or only those at these places; one that cannot be read becomes a problem, the
    others still count."""
    found, problems = [], []
    for scope in scopes:
        for name in names:
            for place in places or context.roots[scope].places(name):
                try:
                    found.append(opened(context, context.roots[scope], name, place))
                except (Unreadable, Unnatural) as error:
                    problems.append(
                        Finding(rule="unreadable", message=f"{error.problem}; {error.remedy}", place=error.path)
                    )
    for each in found:
        problems += [
            Finding(
                rule=problem.rule,
                message=context.scanner.redacted(problem.message),
                place=str(each.place),
                line=problem.line,
            )
            for problem in each.document.problems
        ]
    return found, problems


def hits(each: OpenedDocument) -> list[Hit]:
    """The document's records with their handles. Entries that would share one are named by all that they say, and so is what
    others wrote: a name that was somebody's once is never another's."""
    scope, dialect = each.root.scope, each.dialect
    names = [
        handle_of(scope, dialect.name, dialect.key_of(one.record), one.record.text) for one in each.document.placed
    ]
    owners = Counter(name for at, name in enumerate(names) if at not in each.strangers)
    seen: dict[str, int] = {}
    found = []
    # A record at home beside one of the same name in the repository is another record.
    beside = "-home" if each.place == each.root.kept.get(dialect.name) else ""
    for at, placed in enumerate(each.document.placed):
        handle = names[at]
        if at in each.strangers or owners[handle] > 1:
            handle = short_digest(scope.value, dialect.name, handle, normalised(placed.record.text))
        seen[handle] = seen.get(handle, 0) + 1
        unique = (handle if seen[handle] == 1 else f"{handle}-{seen[handle]}") + beside
        is_repositorys = at in each.strangers
        found.append(
            Hit(
                id=unique,
                note=REPOSITORYS if is_repositorys else None,
                is_repositorys=is_repositorys,
                record=placed.record,
                scope=each.root.scope,
                dialect=each.dialect.name,
                path=str(each.place),
                line=placed.line,
            )
        )
    return found


def own_part(context: Context, place: Place, name: str, document: Document) -> Document:
    """A document with only the entries that are the user's: what others wrote is neither reinforced nor overruled by them."""
    if not context.trust.covers(place):
        return document
    document, theirs = _judged(context, place, name, document)
    return replace(document, placed=tuple(each for at, each in enumerate(document.placed) if at not in theirs))


def handle_of(scope: Scope, dialect: str, key: str | None, text: str) -> str:
    """A record's short name: the same on every machine and after every edit that keeps its key."""
    return short_digest(scope.value, dialect, key or normalised(text))


def without_secrets(context: Context, found: Sequence[Hit]) -> list[Hit]:
    """The hits with any secret that a person put into the file by hand blanked out, in whichever field it stands."""
    if not context.scanner.secrets("\n".join(_whole(hit.record) for hit in found)):
        return list(found)
    return [replace(hit, record=cleaned(context, hit.record)) for hit in found]


def _whole(record: Record) -> str:
    """Every text of a record, alone and behind its key, a line each."""
    parts = [
        record.text,
        *leaves(record.value, names=True),
        *record.tags,
        record.source or "",
        record.key or "",
        *(record.triple or ()),
    ]
    if record.origin is not None:
        parts += [record.origin.id, record.origin.session, record.origin.category, record.origin.channel]
    return "\n".join(dict.fromkeys([*parts, *(f"{record.key} = {part}" for part in parts if not record.triple)]))


def cleaned(context: Context, record: Record) -> Record:
    """The record with every secret in it replaced by the name of the rule that found it."""
    if not context.scanner.secrets(_whole(record)):
        return record

    def clean(part: str) -> str:
        alone = context.scanner.redacted(part)
        if alone != part or not part:
            return alone
        found = context.scanner.secrets(f"{record.key} = {part}")
        return f"[REDACTED:{found[0].rule}]" if found and not record.triple else part

    return replace(
        record,
        text=clean(record.text),
        value=_each_leaf(record.value, clean),
        tags=tuple(clean(tag) for tag in record.tags),
        source=clean(record.source) if record.source else record.source,
        key=context.scanner.redacted(record.key) if record.key else record.key,
        triple=(clean(record.triple[0]), clean(record.triple[1]), clean(record.triple[2])) if record.triple else None,
        origin=replace(
            record.origin,
            id=clean(record.origin.id),
            session=clean(record.origin.session),
            category=clean(record.origin.category),
            channel=clean(record.origin.channel),
        )
        if record.origin
        else None,
    )


def _each_leaf(value: Value, change: Callable[[str], str]) -> Value:
    match value:
        case str():
            return change(value)
        case list():
            return [_each_leaf(part, change) for part in value]
        case dict():
            return {change(name): _each_leaf(part, change) for name, part in value.items()}
        case _:
            return value


def keeps_journal(context: Context, root: Root) -> bool:
    """Whether somebody keeps a journal in a root: there is one, with a record in it."""
    place = root.documents[JOURNAL]
    size = context.files.size(place) or 0
    return size > _SMALL_JOURNAL or (size > 0 and "\n- {" in f"\n{context.files.read(place).text or ''}")


def is_enabled(context: Context, root: Root) -> bool:
    """Whether memory may be applied and written unasked: config and the notebook's own switch both say so."""
    if not context.limits.enabled:
        return False
    roots = {id(each): each for each in (root, context.roots[Scope.LOCAL])}
    return all(_says_on(context, each, place) for each in roots.values() for place in each.places(PROFILE))


def _says_on(context: Context, root: Root, place: Place) -> bool:
    try:
        return opened(context, root, PROFILE, place).document.settings.enabled
    except (Unreadable, Unnatural):
        # A notebook that cannot be read takes none of the others away; that it cannot is told by whoever tells of it.
        return True


def find_one(context: Context, selector: str, scope: Scope | None, names: Sequence[str] = NOTEBOOKS) -> Hit:
    """The one record a selector names. Raises Ambiguous or NothingFound, with what may have been meant."""
    scopes = [scope] if scope else list(context.roots)
    documents, _ = every(context, scopes, names)
    found = [hit for each in documents for hit in hits(each)]
    matches = tombstones.meant(selector, found)
    if len(matches) > 1:
        raise Ambiguous(selector, matches)
    if not matches:
        near = tombstones.near(selector, found)
        hint = "; did you mean " + " or ".join(repr(hit.record.key or hit.id) for hit in near) + "?" if near else ""
        raise NothingFound(f"no memory is named {selector!r}{hint}")
    return matches[0]
