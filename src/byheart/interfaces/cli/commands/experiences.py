"""byheart experiences: ask what was lived through, see it, gather it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from byheart.domain.records import Scope
from byheart.interfaces.cli import common, options
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.domain.experiences import Experience

_ASKED, _LISTED = 5, 20


@click.command(
    epilog=common.examples(
        'byheart experiences "the build runs out of memory"', "byheart experiences", "byheart experiences --gather"
    )
)
@click.argument("query", nargs=-1)
@click.option("-n", "--limit", type=click.IntRange(1, 1000), help="How many at most: 5 that fit, or the 20 newest.")
@click.option("--gather", is_flag=True, help="Keep what is new now, without waiting for upkeep.")
@options.scope_option
@options.json_option
def experiences(query: tuple[str, ...], limit: int | None, gather: bool, scope: str | None, as_object: bool) -> int:
    """Ask for experiences that have to do with something; without a question, list the newest.

    An experience is what said something new when it was gathered: a record, a lesson, a failure that a session overcame.
    They are kept where journal.experience_store_enabled is true.
    """
    opened = common.opened(upkeep=not gather)
    journal = opened.memory.journal()
    if gather:
        return _gather(scope, as_object)
    scopes = common.scopes_of(scope)
    if query:
        found = journal.query_experiences(" ".join(query), limit or _ASKED, scopes=scopes)
    else:
        found = journal.experiences(scopes, most=limit or _LISTED)
    if as_object:
        common.put({"results": [_fields(each) for each in found]})
    else:
        _show(found)
    if not found:
        common.note("byheart: nothing fits" if query else "byheart: there are none yet; gather them with --gather")
    return 0 if found else 1


def _gather(scope: str | None, as_object: bool) -> int:
    from byheart.app.sessions import learnt_of

    opened = common.opened(upkeep=False)
    rounds = []
    for each in common.scopes_of(scope):
        learnt = learnt_of(opened, common.surroundings()) if each is Scope.LOCAL else ()
        rounds.append(opened.memory.journal(each).gather_experiences(learnt))
    if as_object:
        common.put(
            [
                {
                    "path": done.path,
                    "count": done.count,
                    "dropped": done.dropped,
                    "added": [_fields(each) for each in done.added],
                }
                for done in rounds
            ]
        )
    else:
        for done in rounds:
            _show(done.added)
            common.note(f"{done.path}: {len(done.added)} new, {done.count} in all")
    return 0


def _fields(each: Experience) -> dict[str, object]:
    """As the tool of this name answers in other programs."""
    return {
        "id": each.id,
        "recordId": each.record,
        "text": each.text,
        "category": each.category,
        "sessionId": each.session,
        "timestamp": each.timestamp,
        "score": each.score,
    }


def _show(found: Sequence[Experience]) -> None:
    for each in found:
        where = f"  ({visible(each.record)})" if each.record else ""
        common.say(
            f"{each.timestamp[:10] or 'undated'}  [{visible(each.category)}] {visible(' '.join(each.text.split()))}{where}"
        )
