"""byheart trust and untrust: whether the memory files that a checkout holds count as the user's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from byheart.domain.errors import Refused
from byheart.interfaces.cli import common, options
from byheart.interfaces.render import counted, table
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from byheart.app.open import OpenMemory


@click.command(epilog=common.examples("byheart trust", "byheart trust --yes"))
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.json_option
def trust(yes: bool, as_object: bool) -> None:
    """Use the memory files of this checkout as your own.

    A clone may bring memory files: memories.md, memories.ndjson, MEMORY.md, USER.md, LONGMEMORY.md, transcripts. None of them is
    used until you say so here. Lines that other people's commits add later are shown as the repository's, not as yours; run
    this again to accept them too.
    """
    from byheart.app import trusted

    opened = common.opened(writes=True)
    found = trusted.survey(opened)
    if not as_object:
        common.say(f"Memory files in {visible(opened.project.folder)}:")
        rows = [(f"  {visible(each.name)}", counted(each.entries, "entry", "entries"), f"{each.strange} from others" if each.strange else "") for each in found]  # fmt: skip
        for line in table(rows or [("  none yet", "", "")]):
            common.say(line.rstrip())
    if not yes:
        if as_object or not sys.stdin.isatty():
            raise Refused("nothing was changed; look at these files, then run: byheart trust --yes")
        click.confirm("Use them as your own?", default=False, abort=True, err=True)
    trusted.accept(opened)
    if as_object:
        common.put({"folder": opened.project.folder, "trusted": True, "files": found})
    else:
        common.say("Trusted. Undo with: byheart untrust")


@click.command(epilog=common.examples("byheart untrust"))
@options.json_option
def untrust(as_object: bool) -> None:
    """Stop using the memory files of this checkout. The files stay as they are."""
    from byheart.app import trusted

    opened = common.opened(writes=True)
    was = trusted.withdraw(opened)
    if as_object:
        common.put({"folder": opened.project.folder, "trusted": False, "changed": was})
    else:
        common.say(f"{'No longer trusted' if was else 'Not trusted'}: {visible(opened.project.folder)}")


def offer(opened: OpenMemory, *, asks: bool) -> None:
    """Say that the checkout brings memory files that are not used; on a terminal ask about them, once."""
    from byheart.app import trusted

    names, known = trusted.unused(opened), opened.memory.context.trust
    if not names or known.is_asked:
        return
    told = f"This repository brings memory files that are not used: {', '.join(names)}"
    if not asks or not sys.stdin.isatty():
        common.note(f"byheart: {told}. Accept them with: byheart trust")
        return
    common.note(told)
    if click.confirm("Use them as your own?", default=False, err=True):
        trusted.accept(opened)
    else:
        known.decline()
        common.note("Not used. Change that with: byheart trust")
