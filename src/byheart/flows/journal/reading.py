"""readAll, retrieveForSession, and the list for people."""

from __future__ import annotations

from byheart.domain.errors import ByheartError
from byheart.domain.records import Record, Scope
from byheart.domain.results import Hit
from byheart.flows.desk import JOURNAL, Desk, cleaned, handle_of, hits, opened, without_secrets
from byheart.flows.journal.shelf import parsed, read, shelf_of


def read_all(desk: Desk, scope: Scope) -> list[Record]:
    """Every record of MEMORY.md in file order, secret ones among them: for programs that keep the journal."""
    return [each.record for each in opened(desk, desk.roots[scope], JOURNAL).document.placed]


def retrieve(desk: Desk, scope: Scope, session: str, *, allow_secret: bool) -> list[Record]:
    """The records of one session, oldest first; those labelled secret only where that is asked for."""
    found = [each for each in read_all(desk, scope) if each.origin is not None and each.origin.session == session]
    return [cleaned(desk, each) for each in found if allow_secret or not each.is_secret]


def listing(
    desk: Desk, scope: Scope, *, session: str | None, category: str | None, allow_secret: bool, most: int | None
) -> list[Hit]:
    """The newest records that fit the filters, in file order."""
    found = [
        hit
        for hit in hits(opened(desk, desk.roots[scope], JOURNAL))
        if (origin := hit.record.origin) is not None
        and (allow_secret or not origin.is_secret)
        and (session is None or origin.session == session)
        and (category is None or origin.category == category)
    ]
    return without_secrets(desk, found[-most:] if most else found)


def archived(desk: Desk, scope: Scope) -> list[Hit]:
    """The records that have left MEMORY.md, as far as they are not in it again; none where the archive cannot be read."""
    root = desk.roots[scope]
    place = shelf_of(desk, root).archive
    try:
        document = parsed(desk, read(desk, place).text or "")
    except ByheartError:
        return []
    here = {each.origin.id for each in read_all(desk, scope) if each.origin} if document.placed else set()
    # Of several copies of one record the strictest label counts.
    here |= {each.record.origin.id for each in document.placed if each.record.origin and each.record.is_secret}
    return [
        Hit(
            id=handle_of(scope, JOURNAL, each.record.origin.id if each.record.origin else None, each.record.text),
            record=each.record,
            scope=scope,
            dialect=JOURNAL,
            path=str(place),
            line=each.line,
            note="archived",
        )
        for each in document.placed
        if each.record.origin is None or each.record.origin.id not in here
    ]
