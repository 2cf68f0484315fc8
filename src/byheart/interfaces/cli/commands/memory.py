"""byheart memory: what was learnt of a project; see it, read it, build it anew, take it away."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from byheart.domain.errors import BadInput, Refused
from byheart.interfaces.cli import common, group
from byheart.interfaces.cli.commands.learning import learning, project_option
from byheart.interfaces.render import table
from byheart.text.deferred import module
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from byheart.app import briefs, sessions
    from byheart.learning.learning import Learning
else:
    briefs = module("byheart.app.briefs")
    sessions = module("byheart.app.sessions")


@click.group(
    epilog=common.examples(
        "byheart memory view",
        "byheart memory read memory://root/MEMORY.md",
        "byheart memory stats",
        "byheart memory clear",
    )
)
def memory() -> None:
    """What was learnt about this project: the summary and everything behind it.

    byheart learn writes it to ~/.byheart/projects/<id>/handbook, as files you can read and edit.
    """


@memory.command(epilog=common.examples("byheart memory view"))
@project_option
@group.json_option
def view(project: str | None, as_object: bool) -> int:
    """Show the summary that sessions of this project receive."""
    opened = common.opened(upkeep=False)
    around = common.surroundings()
    found = briefs.brief_of(opened, around, _chosen(project).handbook()) if project else briefs.brief(opened, around)
    if as_object:
        common.put(found)
    elif found and found.text:
        common.page(found.text.rstrip("\n"))
        common.note(
            f"{found.tokens:,} tokens, {len(found.told)} lines, {len(found.left_out)} left out (byheart brief --explain)"
        )
    if found is None or not found.text:
        common.note("Nothing was learnt about this project yet. Learn with: byheart learn")
    return 0


@memory.command(
    epilog=common.examples("byheart memory read memory://root", "byheart memory read memory://root/MEMORY.md")
)
@click.argument("address")
@project_option
@group.json_option
def read(project: str | None, address: str, as_object: bool) -> None:
    """Show what a memory:// address refers to."""
    every = _chosen(project)
    text = every.read(address)
    if as_object:
        common.put({"address": address, "text": text})
    else:
        common.page(text.rstrip("\n"))


@memory.command(epilog=common.examples("byheart memory stats"))
@project_option
@group.json_option
def stats(project: str | None, as_object: bool) -> None:
    """Count what memory holds for this project."""
    every = _chosen(project)
    found = every.stats()
    if as_object:
        common.put(found)
        return
    rows = []
    for name, value in found.items():
        shown = (
            ", ".join(f"{times} {state}" for state, times in value.items()) if isinstance(value, dict) else str(value)
        )
        rows.append((name, visible(shown)))
    for line in table(rows):
        common.say(line)


@memory.command(epilog=common.examples("byheart memory diagnose"))
@project_option
@group.json_option
def diagnose(project: str | None, as_object: bool) -> None:
    """Explain why something was not learnt, and what to do."""
    every = _chosen(project)
    found = every.diagnose()
    if as_object:
        common.put([{"subject": subject, "detail": detail} for subject, detail in found])
        return
    for line in table([(subject, visible(detail)) for subject, detail in found]):
        common.say(line)


def _rebuilt(project: str | None, force: bool, as_object: bool) -> int:
    every = _chosen(project)
    found = every.rebuild(force=force)
    if as_object:
        common.put(found)
    else:
        common.say(
            found.refused or f"{found.groups} task groups, {found.tasks} tasks; {len(found.written)} files written"
        )
        common.note(found.folder)
    return 3 if found.refused else 0


@memory.command(epilog=common.examples("byheart memory rebuild"))
@click.option("--force", is_flag=True, help="Rebuild even if the new handbook is much shorter.")
@project_option
@group.json_option
def rebuild(project: str | None, force: bool, as_object: bool) -> int:
    """Rebuild this project's handbook from its extracts. Your lines are kept."""
    return _rebuilt(project, force, as_object)


@memory.command(epilog=common.examples("byheart memory enqueue"))
@project_option
@group.json_option
def enqueue(project: str | None, as_object: bool) -> None:
    """Learn from this project's sessions again at the next byheart learn."""
    every = _chosen(project)
    count = every.enqueue()
    if as_object:
        common.put({"enqueued": count})
    else:
        common.say(f"{count} session{'' if count == 1 else 's'} will be learnt from again at the next byheart learn")


@memory.command(epilog=common.examples("byheart memory rollback"))
@project_option
@group.json_option
def rollback(project: str | None, as_object: bool) -> None:
    """Restore this project's handbook to before byheart's last change."""
    every = _chosen(project)
    name = every.roll_back()
    if as_object:
        common.put({"backup": name})
    else:
        common.say(f"Restored from {name}")


@memory.command(epilog=common.examples("byheart memory forget 0194f5a6"))
@click.argument("session")
@click.option("--yes", is_flag=True, help="Do not ask.")
@group.json_option
def forget(session: str, yes: bool, as_object: bool) -> None:
    """Forget what one session taught, for good. Its transcript is kept but never learnt from again."""
    opened, every = learning()
    _sure(f"forget what session {session} taught", yes)
    thread, project = every.forget_session(session)
    # What is not shown any more leaves the index.
    sessions.open_sessions(opened, common.surroundings()).refresh()
    opened.memory.caught_up()
    if as_object:
        common.put({"session": thread, "project": project})
    else:
        common.say(f"forgotten: {thread} ({project})")
        common.note("The transcript belongs to its agent and is kept; byheart will not read it again.")


def _cleared(project: str | None, yes: bool, as_object: bool) -> None:
    opened, every = learning()
    every = every.at(project)
    own = every.handbook()
    _sure(
        f"delete everything that was learnt about {own.name}; what you told byheart, and other projects, are kept", yes
    )
    extracts, files = every.clear()
    if as_object:
        common.put({"project": own.project, "extracts": extracts, "files": files})
    else:
        common.say(f"{own.name}: deleted {files} files and {extracts} extracts")
        common.note(
            "Transcripts are kept, and byheart sessions still finds them; so are agents' notes (projects/<id>/memories)."
        )
    opened.memory.caught_up()


def _chosen(project: str | None) -> Learning:
    """Learning, seen from the project that was named, else from the one we stand in."""
    return learning()[1].at(project)


@memory.command(epilog=common.examples("byheart memory clear", "byheart memory clear --yes"))
@click.option("--yes", is_flag=True, help="Do not ask.")
@project_option
@group.json_option
def clear(project: str | None, yes: bool, as_object: bool) -> None:
    """Delete what was learnt about this project only. The next byheart learn learns it again."""
    _cleared(project, yes, as_object)


@memory.command(epilog=common.examples("byheart memory reset --yes"))
@click.option("--yes", is_flag=True, help="Do not ask.")
@project_option
@group.json_option
def reset(project: str | None, yes: bool, as_object: bool) -> None:
    """Same as clear."""
    _cleared(project, yes, as_object)


def _sure(what: str, yes: bool) -> None:
    """Ask before something is taken away; without a terminal only --yes will do."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise BadInput(f"this would {what}. Confirm with --yes")
    click.echo(f"This will {what}. Continue? [y/N] ", nl=False, err=True)
    if sys.stdin.readline().strip().casefold()[:1] != "y":
        raise Refused("Nothing was changed.")
