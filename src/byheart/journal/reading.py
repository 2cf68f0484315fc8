"""readAll, retrieveForSession, and the list for people."""

from __future__ import annotations

from byheart.domain.errors import ByheartError
from byheart.domain.records import Record, Scope
from byheart.domain.results import Hit
from byheart.journal.files import JournalFiles, journal_files, parsed, read
from byheart.text.jsonspans import unescaped
from byheart.text.patterns import deferred
from byheart.workspace.context import JOURNAL, REPOSITORYS, Context, cleaned, handle_of, hits, opened, without_secrets

_ID = deferred(r'"id"\s*:\s*"([^"\\]+)"')


def read_all(context: Context, scope: Scope) -> list[Record]:
    """Every record of MEMORY.md in file order, secret ones among them: for programs that keep the journal."""
    return [each.record for each in opened(context, context.roots[scope], JOURNAL).document.placed]


def retrieve(context: Context, scope: Scope, session: str, *, allow_secret: bool) -> list[Record]:
    """The records of one session, oldest first; those labelled secret only where that is asked for."""
    found = [each for each in read_all(context, scope) if each.origin is not None and each.origin.session == session]
    return [cleaned(context, each) for each in found if allow_secret or not each.is_secret]


def listing(
    context: Context, scope: Scope, *, session: str | None, category: str | None, allow_secret: bool, most: int | None
) -> list[Hit]:
    """The newest records that fit the filters, in file order."""
    found = [
        hit
        for hit in hits(opened(context, context.roots[scope], JOURNAL))
        if (origin := hit.record.origin) is not None
        and (allow_secret or not origin.is_secret)
        and (session is None or origin.session == session)
        and (category is None or origin.category == category)
    ]
    return without_secrets(context, found[-most:] if most else found)


def archived(context: Context, scope: Scope, letters: set[str]) -> list[Hit]:
    """The records that have left MEMORY.md and have some of these letters, as far as they are not in it again; none where
    the archive cannot be read. An archive only grows, so no more of it is taken apart than must be."""
    root = context.roots[scope]
    place = journal_files(context, root).archive
    try:
        text = read(context, place).text or ""
    except ByheartError:
        return []
    if not text:
        return []
    raw = text.split("\n")
    folded = (unescaped(text) if "\\u" in text else text).casefold().split("\n")
    found: dict[tuple[str, str], tuple[int, Record]] = {}
    for number, line in enumerate(folded):
        if any(each in line for each in letters):
            for placed in parsed(context, raw[number]).placed:
                found[_name(placed.record)] = (number + 1, placed.record)
    # In the journal again, or labelled secret in another copy: the archive has nothing to say about it.
    here = {_name(each) for each in read_all(context, scope)} if found else set()
    secret = {
        record.origin.id for _, record in found.values() if record.origin and record.is_secret and record.origin.id
    }
    return [
        Hit(
            id=handle_of(scope, JOURNAL, record.origin.id if record.origin else None, record.text),
            record=record,
            scope=scope,
            dialect=JOURNAL,
            path=str(place),
            line=line,
            note=f"archived, {REPOSITORYS}" if context.trust.is_strange(raw[line - 1]) else "archived",
            is_repositorys=context.trust.is_strange(raw[line - 1]),
        )
        for name, (line, record) in found.items()
        if name not in here and not (record.origin and record.origin.id in secret)
    ]


def _name(record: Record) -> tuple[str, str]:
    return (record.origin.id if record.origin else "", record.text)


def archived_as(context: Context, own_journal: JournalFiles, ids: set[str]) -> dict[str, Record]:
    """Records of the archive by id, each as its latest copy has it; but a label that was strict once stays so."""
    text = read(context, own_journal.archive).text or ""
    found: dict[str, Record] = {}
    for match in _ID.finditer(text):
        if match[1] not in ids:
            continue
        start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
        for each in parsed(context, text[start : end if end >= 0 else len(text)]).placed:
            origin = each.record.origin
            if origin is not None and origin.id == match[1]:
                earlier = found.get(origin.id)
                found[origin.id] = earlier if earlier is not None and earlier.is_secret else each.record
    return found
