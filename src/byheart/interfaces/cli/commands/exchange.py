"""Commands that move memories between formats and machines: import, export, convert, sync."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from byheart.app.open import OpenMemory, place_of
from byheart.domain.errors import BadInput
from byheart.domain.records import Scope
from byheart.domain.reports import Conversion
from byheart.interfaces.cli import common, group
from byheart.interfaces.render import receipt_line
from byheart.text.deferred import module
from byheart.text.unicode import visible
from byheart.workspace.foreign import FORMATS

if TYPE_CHECKING:
    from byheart.agents import own_memories
    from byheart.app import config_file
    from byheart.app import sync as app_sync
else:
    app_sync = module("byheart.app.sync")
    config_file = module("byheart.app.config_file")
    own_memories = module("byheart.agents.own_memories")

_TARGETS = ("json", *common.NOTEBOOKS)


@click.command(
    "import",
    epilog=common.examples(
        "byheart import old/memories.ndjson", "byheart import notes.md --dry-run", "byheart import --agents"
    ),
)
@click.argument("file", required=False)
@click.option("--agents", "agents", is_flag=True, help="Import what agents on this machine remembered themselves.")
@click.option("--agent", "names", multiple=True, metavar="NAME", help="Only from this agent.")
@click.option("--from", "fmt", type=click.Choice(FORMATS), help="The file's format (default: detected).")
@click.option("--to", type=click.Choice(list(common.NOTEBOOKS)), help="Where to store them.")
@click.option("--dry-run", is_flag=True, help="Show what would be skipped; store nothing.")
@click.option("--include-forgotten", is_flag=True, help="Also store memories that were forgotten here.")
@group.scope_option
@group.json_option
def import_(
    file: str | None,
    agents: bool,
    names: tuple[str, ...],
    fmt: str | None,
    to: str | None,
    dry_run: bool,
    include_forgotten: bool,
    scope: str | None,
    as_object: bool,
) -> int:
    """Import memories from a file (memories.md, memories.ndjson, a journal, plain sentences, an export) or from agents.

    --agents imports the memory files of Claude Code, Codex, oh-my-pi, Qwen Code, OpenClaw, Hermes, Goose and Gemini CLI,
    for this project and for all projects, as journal records. Importing again changes nothing.
    """
    opened = common.opened(writes=True)
    if agents or names:
        if file:
            raise BadInput("Name a file or an agent, not both")
        return _taken_over(opened, names, dry_run=dry_run, as_object=as_object)
    if file is None:
        raise BadInput("Name a file, or use --agents")
    done = opened.memory.import_(
        place_of(file, common.folder()),
        fmt=fmt,
        to=common.NOTEBOOKS[to] if to else None,
        scope=Scope(scope or "local"),
        dry_run=dry_run,
        forgotten_too=include_forgotten,
    )
    common.problems(done.problems)
    if as_object:
        common.put(done)
    else:
        for receipt in done.receipts:
            common.say(receipt_line(receipt))
        for line, why in done.skipped:
            common.note(f"skipped line {line}: {why}")
        stored = (
            f"{done.passed} would be stored"
            if dry_run
            else f"{sum(each.action != 'unchanged' for each in done.receipts)} stored"
        )
        common.note(f"{stored}, {len(done.skipped)} skipped, {len(done.problems)} unreadable")
    return 0 if done.receipts or dry_run else 3


def _taken_over(opened: OpenMemory, names: tuple[str, ...], *, dry_run: bool, as_object: bool) -> int:
    """Take over what agents remembered themselves."""
    around = common.surroundings()
    home = around.environment.get("HOME") or os.path.expanduser("~")
    known = own_memories.names()
    for name in names:
        if name not in known:
            raise BadInput(f"{name!r} has no memory that byheart can import. Supported: {', '.join(known)}")
    found = own_memories.take_over(opened.memory.context, home, dict(around.environment), names, dry_run=dry_run)
    if as_object:
        common.put(found)
    for each in found if not as_object else ():
        done = f"{each.entries} entries" if dry_run else f"{each.stored} stored, {each.known} already known"
        common.say(
            f"{each.agent} ({each.scope}): {done}, from {len(each.files)} file{'s' if len(each.files) != 1 else ''}"
        )
        for why in each.skipped[:5]:
            common.note(f"  skipped: {visible(why)}")
    if not found:
        common.note("No agent on this machine remembered anything about this project or you.")
        return 0
    opened.memory.caught_up()
    return 0


@click.command(
    epilog=common.examples("byheart export > memories.json", "byheart export --format rules --out rules.ndjson")
)
@click.option(
    "--format", "target", type=click.Choice(_TARGETS), default="json", show_default=True, help="Output format."
)
@click.option("--out", help="Write to a new file instead of stdout.")
@click.option("--allow-secret", is_flag=True, help="Include journal records labelled secret.")
@group.scope_option
@group.json_option
def export(target: str, out: str | None, allow_secret: bool, scope: str | None, as_object: bool) -> None:
    """Export all memories. Fields that the format cannot store are listed on stderr."""
    opened = common.opened()
    done = opened.memory.export(_target(target), scopes=common.scopes_of(scope), allow_secret=allow_secret)
    _deliver(opened, done, out, as_object)


@click.command(
    epilog=common.examples("byheart convert memories.ndjson --to profile", "byheart convert memories.md --to json")
)
@click.argument("file")
@click.option("--to", "target", type=click.Choice(_TARGETS), required=True, help="Output format.")
@click.option("--from", "fmt", type=click.Choice(FORMATS), help="The file's format (default: detected).")
@click.option("--out", help="Write to a new file instead of stdout.")
@click.option("--allow-secret", is_flag=True, help="Include journal records labelled secret.")
@group.json_option
def convert(file: str, target: str, fmt: str | None, out: str | None, allow_secret: bool, as_object: bool) -> None:
    """Convert a memory file to another format on stdout. Lost fields are listed on stderr; FILE is not changed."""
    opened = common.opened()
    place = place_of(file, common.folder())
    done = opened.memory.convert(place, _target(target), fmt=fmt, allow_secret=allow_secret)
    _deliver(opened, done, out, as_object)


def _target(name: str) -> str:
    return common.NOTEBOOKS.get(name, name)


def _deliver(opened: OpenMemory, done: Conversion, out: str | None, as_object: bool) -> None:
    common.problems(done.problems)
    if out:
        opened.write_new(place_of(out, common.folder()), done.text)
    if as_object:
        common.put(done)
    elif not out:
        click.echo(done.text, nl=False)
    for name, fields in done.lost:
        common.note(f"lost: {name}: {', '.join(fields)}")
    if out:
        common.note(f"{done.records} memories written to {out}")


@click.command(
    epilog=common.examples("byheart sync ~/Sync/memory", "byheart sync git@host:me/memory.git", "byheart sync")
)
@click.argument("target", required=False)
@click.option("--dry-run", is_flag=True, help="Show what would be sent and taken; write nothing.")
@group.json_option
def sync(target: str | None, dry_run: bool, as_object: bool) -> int:
    """Keep the memory of several machines in step, over a folder or a private git repository of yours.

    Profile, rules, journal and notes in ~/.byheart are merged entry by entry; what one machine forgot is forgotten on all.
    Transcripts, the handbook and records labelled secret stay here. TARGET is remembered, so the next time byheart sync does.
    """
    opened = common.opened(writes=True)
    if target and "://" not in target and ":" not in target:
        target = os.path.abspath(os.path.expanduser(target))
    done = app_sync.sync(common.surroundings(), target or opened.config.text("sync.target"), dry_run=dry_run)
    if target and not dry_run and target != opened.config.text("sync.target"):
        config_file.put(opened, "sync.target", target)
    if as_object:
        common.put(done)
        return 4 if done.problems else 0
    would = "would be " if dry_run else ""
    for word, paths in (("sent", done.sent), ("taken", done.taken)):
        for path in paths:
            common.say(f"{would}{word}: {visible(path)}")
    if not done.sent and not done.taken:
        common.say(f"Already in step with {visible(done.target)}")
    for line in done.conflicts:
        common.note(f"both versions are kept in {app_sync.CONFLICTS}: {visible(line)}")
    for line in done.problems:
        common.note(f"byheart: {visible(line)}")
    return 4 if done.problems else 0
