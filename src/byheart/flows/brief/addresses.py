"""memory:// addresses: the handbook's files, and the notebooks that a brief tells from."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from byheart.dialects.journal import conceals
from byheart.domain.errors import BadInput, NothingFound
from byheart.domain.handbook import SUMMARY
from byheart.domain.records import Scope
from byheart.flows.desk import JOURNAL, PROFILE, RULES, find_one, without_secrets
from byheart.flows.learning import reading
from byheart.flows.learning.reading import SCHEME
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from byheart.flows.desk import Desk
    from byheart.flows.learning.shelf import Shelf

NAMESPACES = ("root", "profile", "rules", "journal", "experiences", "record")
_NOTEBOOKS = {"profile": PROFILE, "rules": RULES}
_MOST = 200


def read(desk: Desk, shelf: Shelf, address: str) -> str:
    """What an address names, without secrets. Raises BadInput or NothingFound, saying what can be named."""
    return visible(_read(desk, shelf, address))


def _read(desk: Desk, shelf: Shelf, address: str) -> str:
    rest = address[len(SCHEME) :] if address.casefold().startswith(SCHEME) else ""
    host, _, path = rest.partition("#")[0].partition("/")
    fragment = rest.partition("#")[2]
    host = host.casefold()
    if not rest or host == "root" or host not in NAMESPACES:
        return desk.scanner.redacted(_of_handbook(shelf, address, fragment))
    if host == "journal":
        return desk.scanner.redacted(_of_journal(desk, path))
    if host == "experiences":
        return _of_experiences(desk, fragment)
    if fragment:
        hit = without_secrets(desk, [find_one(desk, fragment, None, (_NOTEBOOKS[host],) if host in _NOTEBOOKS else (PROFILE, RULES, JOURNAL))])[0]  # fmt: skip
        named = f"{hit.record.key}: " if hit.record.key and not hit.record.triple else ""
        return f"{named}{hit.record.text}\n({hit.path}:{hit.line})\n"
    if host == "record":
        raise BadInput(f"{address!r} names no record; {SCHEME}record#ID does")
    return _of_notebook(desk, _NOTEBOOKS[host])


def _of_handbook(shelf: Shelf, address: str, fragment: str) -> str:
    text = reading.read(shelf, address)
    if not re.fullmatch("[0-9]{1,7}", fragment):
        return text
    # A line of the summary, with what stands indented below it.
    lines = text.split("\n")
    number = int(fragment)
    if not 1 <= number <= len(lines):
        raise NothingFound(f"{address}: {SUMMARY} has {len(lines)} lines")
    end = number
    while end < len(lines) and lines[end].startswith(" "):
        end += 1
    return "\n".join(lines[number - 1 : end]) + "\n"


def _of_notebook(desk: Desk, name: str) -> str:
    from byheart.flows import overview

    found = overview.listing(desk, (Scope.LOCAL, Scope.GLOBAL), [name], None, None).hits
    return "".join(f"- {hit.record.key + ': ' if hit.record.key and not hit.record.triple else ''}{hit.record.text} [{hit.id}]\n" for hit in found[:_MOST])  # fmt: skip


def _of_journal(desk: Desk, path: str) -> str:
    from byheart.flows.journal.shelf import parsed, read, shelf_of

    shelf = shelf_of(desk, desk.roots[Scope.LOCAL])
    name = path.strip("/")
    if not name or name == "MEMORY":
        place = shelf.memory
    elif name in ("USER", "LONGMEMORY"):
        place = shelf.user if name == "USER" else shelf.long_memory
    elif (day := _day(name)) is not None:
        place = shelf.daily(day)
    else:
        raise BadInput(f"{name!r} is no part of the journal; {SCHEME}journal, {SCHEME}journal/2026-01-31 and {SCHEME}journal/LONGMEMORY are")  # fmt: skip
    text = read(desk, place).text
    if text is None:
        raise NothingFound(f"{place} does not exist")
    document = parsed(desk, text)
    hidden = {each.line for each in document.placed if each.record.is_secret} | {
        each.line for each in document.problems
    }
    lines = text.split("\n")
    return "\n".join(line for number, line in enumerate(lines, 1) if number not in hidden and not conceals(line))


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else None
    except ValueError:
        return None


def _of_experiences(desk: Desk, fragment: str) -> str:
    from byheart.flows import experiences

    found = experiences.listed(desk, list(desk.roots), _MOST)
    chosen = [each for each in found if each.id.startswith(fragment)] if fragment else found
    if fragment and not chosen:
        raise NothingFound(f"no experience is called {fragment!r}")
    return "".join(f"- {each.text} [{each.id}]\n" for each in chosen)
