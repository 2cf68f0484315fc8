"""byheart brief and why: what a session is told, and why each line of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from byheart.domain.brief import ToldLine
from byheart.interfaces.cli import common, options
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command(
    epilog=common.examples(
        "byheart brief", "byheart brief --explain", 'byheart brief --hint "flaky login test"', "byheart brief --json"
    )
)
@click.option(
    "--explain", is_flag=True, help="Say of each line why it is in, what was left out and why, and what each costs."
)
@click.option(
    "--hint", default="", metavar="TEXT", help="What the session is about: its first prompt, a branch, files."
)
@click.option("--tokens", type=click.IntRange(200, 200_000), help="Most tokens; brief.tokens says how many else.")
@click.option(
    "--characters", type=click.IntRange(1_000, 1_000_000), help="Most characters, as for agents that cut longer texts."
)
@click.option("--prepare", is_flag=True, hidden=True, help="Only make it ready for the hooks.")
@options.json_option
def brief(explain: bool, hint: str, tokens: int | None, characters: int | None, prepare: bool, as_object: bool) -> int:
    """Show what a session in this folder is told at its start.

    It is made from your profile, the rules, what sessions taught, and the journal: for this project and for all, never of
    another. Each line names where it stands (byheart memory read shows it).
    """
    from byheart.app import briefs

    opened = common.opened(upkeep=False)
    around = common.surroundings()
    if prepare:
        briefs.prepared(opened, around)
        return 0
    found = briefs.brief(opened, around, hint=hint, tokens=tokens, characters=characters)
    if as_object:
        common.put(found)
    elif found is not None and found.text:
        common.page(found.text.rstrip("\n"))
        if explain and found.told:
            _explained(found.told, found.left_out)
        common.note(f"{found.tokens:,} tokens, {found.characters:,} characters, {len(found.told)} lines")
    for note in found.notes if found else ():
        common.note(f"byheart: {visible(note)}")
    if found is not None and not found.told:
        return 1
    if found is None:
        common.note(
            "byheart: there is nothing to tell a session here yet; byheart learn or byheart remember changes that"
        )
        return 1
    return 0


@click.command(epilog=common.examples("byheart why", "byheart why 5e550001"))
@click.argument("session", required=False)
@options.json_option
def why(session: str | None, as_object: bool) -> None:
    """Show what a session was told at its start, and why: the last one, or the one whose id begins so."""
    from byheart.app import briefs

    opened = common.opened(upkeep=False)
    found = briefs.why(opened.home, session)
    if as_object:
        common.put(found)
        return
    common.say(
        f"{visible(str(found['client']))} session {visible(str(found['session']))} in {visible(str(found['folder']))}, {found['at']}"
    )
    told = [ToldLine(section=str(each[0]), text=str(each[1]), address=str(each[2]), why=str(each[4]), tokens=int(each[3])) for each in found["told"]]  # fmt: skip
    left = [ToldLine(section=str(each[0]), text=str(each[1]), address=str(each[2]), why=str(each[3])) for each in found["left_out"]]  # fmt: skip
    _explained(told, left)


def _explained(told: Sequence[ToldLine], left_out: Sequence[ToldLine]) -> None:
    """Each line with its reason, and each that is not there."""
    section = ""
    for line in told:
        if line.section != section:
            section = line.section
            common.say(f"\n{section}")
        common.say(f"  {visible(line.text)}")
        common.say(f"    {line.address}, {line.tokens} tokens: {visible(line.why)}")
    if left_out:
        common.say("\nLeft out")
    for line in left_out:
        common.say(f"  {visible(line.text)[:160]}")
        common.say(f"    {line.address}: {visible(line.why)}")
