"""What recall prints, and how listings end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.interfaces.cli import common
from byheart.interfaces.render import hit_line

if TYPE_CHECKING:
    from byheart.domain.results import Listing


def told(
    query: tuple[str, ...], *, limit: int | None, deep: bool, explain: bool, scope: str | None, as_object: bool
) -> int:
    """Print what fits a question; the exit code."""
    opened = common.opened()
    found = opened.memory.recall(" ".join(query), scopes=common.scopes_of(scope), most=limit, deep=deep)
    common.problems(found.problems)
    if found.missing:
        common.once(opened, found.missing)
    if as_object:
        common.put(found)
        return ended(found, "nothing fits")
    if found.hits and not found.is_sure:
        common.note("byheart: nothing surely fits; these come nearest")
    for hit in found.hits:
        common.say(hit_line(hit))
        common.say(f"          {hit.path}:{hit.line}")
        if explain:
            factors = ", ".join(f"{name} {value:+.2f}" for name, value in hit.factors.items())
            common.say(f"          {hit.score:.2f}: {factors}")
    return ended(found, "nothing fits")


def ended(listing: Listing, empty: str) -> int:
    """Exit code of a listing: 0 with results, 5 when files could not be read, 1 when there is nothing."""
    if listing.hits:
        return 0
    broken = [
        each
        for each in listing.problems
        if each.rule in ("unreadable", "broken-yaml", "unsupported-yaml", "no-block", "no-memory", "bad-items")
    ]
    if broken:
        return 5
    common.note(f"byheart: {empty}")
    return 1
