"""byheart learn, inbox and jobs: learning from sessions, deciding what it was not sure of, and its work."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from byheart.domain.errors import BadInput
from byheart.domain.learning import Skip
from byheart.handbook.phrases import shortened
from byheart.interfaces.cli import common, group
from byheart.interfaces.cli.common import bar
from byheart.interfaces.render import counted, receipt_line, table
from byheart.text.deferred import module
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.app import briefs, moments, sessions, worker
    from byheart.app.open import OpenMemory
    from byheart.domain.learning import Consolidated, JobView, LearnReport
    from byheart.domain.results import Receipt
    from byheart.interfaces.cli.commands import sessions as commands_sessions
    from byheart.learning import learning as learning_learning
    from byheart.learning.learning import Learning
else:
    briefs = module("byheart.app.briefs")
    moments = module("byheart.app.moments")
    sessions = module("byheart.app.sessions")
    worker = module("byheart.app.worker")
    commands_sessions = module("byheart.interfaces.cli.commands.sessions")
    learning_learning = module("byheart.learning.learning")

_SHOWN, _DIFFERENCE = 8, 400
project_option = click.option("--project", metavar="NAME", help="Another project, by name or id.")


def learning() -> tuple[OpenMemory, Learning]:
    """The memory, and learning of all projects."""
    opened = common.opened(upkeep=False)
    return opened, sessions.open_learning(opened, common.surroundings())


@click.command(
    epilog=common.examples(
        "byheart learn", "byheart learn --dry-run", "byheart learn --project . --json", "byheart learn --startup"
    )
)
@click.option("--dry-run", is_flag=True, help="Show what would change; write only the index.")
@click.option(
    "--project",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only this project: name, id, a folder in it, or . for the current one.",
)
@click.option(
    "--startup",
    is_flag=True,
    help="Run as hooks do: only if learning.enabled is true, within its limits.",
)
@click.option("-n", "--limit", type=click.IntRange(1, 100_000), help="Maximum number of sessions; the rest wait.")
@click.option(
    "--forget-gone",
    is_flag=True,
    help="Also drop what was learnt from transcripts that their agent has cleaned up.",
)
@click.option("--no-refresh", is_flag=True, help="Use the index as is; read no new transcripts.")
@click.option("--hand", is_flag=True, hidden=True, help="Only extract, as one of several processes.")
@group.json_option
def learn(
    dry_run: bool,
    names: tuple[str, ...],
    startup: bool,
    limit: int | None,
    forget_gone: bool,
    no_refresh: bool,
    hand: bool,
    as_object: bool,
) -> int:
    """Learn from agents' sessions: read new transcripts and update each project's handbook.

    The handbook is Markdown in ~/.byheart/projects/<id>/handbook. Your edits are never overwritten. Safe to interrupt,
    and safe to run twice at once.
    """
    opened = common.opened(upkeep=False)
    around = common.surroundings()
    every = sessions.open_sessions(opened, around)
    if not no_refresh:
        done = every.refresh(bar("reading transcripts", 1e6, " MB"))
        if done.is_busy:
            common.note("Another byheart is reading transcripts; using what it has read so far.")
    projects = tuple(_project(opened, every, name) for name in names)
    wanted = learning_learning.Wanted(
        is_automatic=startup, projects=projects, most=limit, dry=dry_run, forgets_gone=forget_gone, is_hand=hand
    )
    door = sessions.open_learning(opened, around, every)
    report = door.learn(wanted, bar("learning", 1, " sessions"))
    opened.memory.caught_up()
    if not dry_run and not hand:
        briefs.refresh(around)
        moments.refresh(around, door, every)
        sessions.start_embedding(opened, around, every)
    if as_object:
        common.put(report)
    else:
        _told(report, opened, dry_run=dry_run)
    if report.failed or any(each.refused for each in report.projects):
        return 4
    return 0 if report.sessions else 1


def _project(opened: OpenMemory, every: object, name: str) -> str:
    return commands_sessions._project(opened, every, name)  # type: ignore[arg-type]


def _told(report: LearnReport, opened: OpenMemory, *, dry_run: bool) -> None:
    """What a run came to, for people."""
    would = "would be " if dry_run else ""
    if not report.sessions:
        common.note("No sessions found. See where byheart looks: docs/agents.md")
        return
    changed = report.learnt or report.nothing or report.failed or report.asked or any(each.added or each.removed for each in report.projects)  # fmt: skip
    if not changed and not report.model:
        common.say(f"No new sessions ({report.sessions:,} checked)")
        for reason, times in sorted(report.skipped.items(), key=lambda each: -each[1]):
            if reason != Skip.UNCHANGED:
                common.say(f"  {times:,} skipped: {reason}")
        return
    common.say(
        f"{counted(report.sessions, 'session')} read in {report.seconds:.1f} s: {len(report.learnt)} {would}learnt from, {report.nothing} had nothing to learn"
    )
    if report.asked or report.model:
        fell = f", {report.unproved} of its lines dropped for lack of evidence" if report.unproved else ""
        tokens = f", about {report.tokens:,} tokens" if report.tokens else ""
        asked = "would be asked" if dry_run else "was asked"
        common.say(f"  the model {asked} {report.asked} time{'s' if report.asked != 1 else ''}{tokens}{fell}")
    if report.model:
        common.note(f"byheart: {visible(report.model)}")
    for reason, times in sorted(report.skipped.items(), key=lambda each: -each[1]):
        common.say(f"  {times} skipped: {reason}")
    for key, error in report.failed:
        common.say(f"  failed: {visible(key)}: {visible(error)} (byheart jobs show {visible(key)})")
    empty = [
        each
        for each in report.projects
        if not each.groups and not each.removed and not each.refused and not each.kept_lines
    ]
    for each in report.projects:
        if each not in empty:
            _told_project(each, opened, dry_run=dry_run)
    if empty:
        common.say("")
        common.say(
            f"{counted(len(empty), 'project')} with nothing to learn yet: {', '.join(visible(each.name) for each in empty[:_SHOWN])}{' …' if len(empty) > _SHOWN else ''}"
        )
    waiting = sum(each.inbox for each in report.projects)
    if waiting:
        common.note(f"{waiting} thing{'s' if waiting > 1 else ''} to decide: byheart inbox --all")


def _told_project(each: Consolidated, opened: OpenMemory, *, dry_run: bool) -> None:
    common.say("")
    common.say(common.heading(f"{visible(each.name)}  ({each.mode or 'not consolidated'})", opened))
    if each.refused:
        common.say(f"  not written: {visible(each.refused)}")
        return
    common.say(
        f"  {counted(len(each.added), 'session')} added, {each.retained} as before, {len(each.removed)} removed:"
        f" {counted(each.groups, 'task group')}, {counted(each.tasks, 'task')},"
        f" {counted(len(each.preferences), 'preference')}, {counted(len(each.skills), 'skill')}"
    )
    for line in each.preferences[:_SHOWN]:
        common.say(f"  - {shortened(visible(line), 240)}")
    if len(each.preferences) > _SHOWN:
        common.say(f"  … and {len(each.preferences) - _SHOWN} more")
    for name in each.skills[:_SHOWN]:
        common.say(f"  skill: {visible(name)}")
    for receipt in each.saved:
        if receipt.announce:
            common.say(f"  {visible(receipt_line(receipt))}")
    if each.kept_lines:
        common.say(f"  {counted(each.kept_lines, 'line')} of yours kept")
    if each.moved_lines:
        common.say(f"  {each.moved_lines} of your lines moved to a note because their section is gone")
    if dry_run and each.diff:
        lines = each.diff.split("\n")
        common.say("")
        common.page("\n".join(lines[:_DIFFERENCE]))
        if len(lines) > _DIFFERENCE:
            common.note(f"  … and {len(lines) - _DIFFERENCE} more lines; see all with --json")
    elif each.written:
        common.say(f"  {visible(each.folder)}")


class _Listing(click.Group):
    """A group that lists when nothing is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ("-h", "--help")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_Listing,
    epilog=common.examples(
        "byheart inbox",
        "byheart inbox accept 1a2b",
        'byheart inbox edit 1a2b "use pnpm here"',
        "byheart inbox reject 1a2b",
    ),
)
def inbox() -> None:
    """Uncertain items: accept, reword or reject them.

    Accepted items are saved to your memory; rejected ones are never learnt again.
    """


@inbox.command("list", epilog=common.examples("byheart inbox", "byheart inbox --json"))
@click.option("--all", "every_one", is_flag=True, help="All projects.")
@project_option
@group.json_option
def list_inbox(every_one: bool, project: str | None, as_object: bool) -> int:
    """List this project's inbox."""
    _, every = learning()
    found = every.every_inbox() if every_one else every.at(project).inbox()
    if as_object:
        common.put(found)
    else:
        for each in found:
            where = f"  [{visible(each.project)}]" if every_one else ""
            common.say(f"{each.id}  {visible(each.text)}{where}")
            common.say(f'          "{visible(each.quote)}" ({each.cite}; {", ".join(each.reasons)})')
    if found and not as_object:
        first = found[0].id
        common.note(
            f'Save one: byheart inbox accept {first} · reword it: byheart inbox edit {first} "..." · drop it: byheart inbox reject {first}'
        )
    if not found:
        others = 0 if every_one else len(every.every_inbox())
        more = f"; {others} in other projects: byheart inbox --all" if others else ""
        common.note(f"Inbox is empty for this project{more}")
    return 0


def holder(project: str | None, name: str) -> Learning:
    """Learning of the project whose inbox has an item: the one that is named, the current one, or the only one that has it."""
    every = learning()[1]
    if project is None and not any(each.id.startswith(name) for each in every.inbox()):
        others = {each.project for each in every.every_inbox() if each.id.startswith(name)}
        project = next(iter(others)) if len(others) == 1 else None
    return every.at(project)


@inbox.command(epilog=common.examples("byheart inbox accept 1a2b3c4d"))
@click.argument("names", nargs=-1, required=True, metavar="ID...")
@project_option
@group.json_option
def accept(project: str | None, names: tuple[str, ...], as_object: bool) -> None:
    """Save an item as a preference of this project."""
    receipts = [holder(project, name).accept(name) for name in names]
    _decided(receipts, as_object)


@inbox.command(epilog=common.examples('byheart inbox edit 1a2b3c4d "always use pnpm in this repository"'))
@click.argument("name", metavar="ID")
@click.argument("text")
@project_option
@group.json_option
def edit(project: str | None, name: str, text: str, as_object: bool) -> None:
    """Save an item in your own words."""
    if not text.strip():
        raise BadInput("Add the new wording")
    _decided([holder(project, name).accept(name, text)], as_object)


def _decided(receipts: Sequence[Receipt], as_object: bool) -> None:
    if as_object:
        common.put(receipts)
        return
    for each in receipts:
        common.say(receipt_line(each))


@inbox.command(epilog=common.examples("byheart inbox reject 1a2b3c4d"))
@click.argument("names", nargs=-1, required=True, metavar="ID...")
@project_option
@group.json_option
def reject(project: str | None, names: tuple[str, ...], as_object: bool) -> None:
    """Reject an item for good."""
    gone = [holder(project, name).reject(name).id for name in names]
    if as_object:
        common.put({"rejected": gone})
    else:
        common.say(f"Rejected: {', '.join(gone)}")


# So many messages are listed.
_MOST_WAITING = 20


@click.command(epilog=common.examples("byheart review", "byheart review --answers verdicts.json"))
@click.option(
    "--answers",
    metavar="FILE",
    help="Verdicts as JSON, as the review_candidates tool takes them (- for stdin).",
)
@group.json_option
def review(answers: str | None, as_object: bool) -> int:
    """Show which of your messages agents are asked to judge, or record verdicts."""
    opened, every = learning()
    if answers is None:
        found = every.judging.waiting()
        if as_object:
            common.put(found)
        for each in found[:_MOST_WAITING] if not as_object else ():
            common.say(f"{each.id}  {visible(each.text)}")
        if len(found) > _MOST_WAITING and not as_object:
            common.note(f"{len(found) - _MOST_WAITING} more: byheart review --json")
        if found and not as_object:
            common.note(
                "Nothing to do here: your agents are handed a few of these at a time. Stop that with: byheart settings learning.ask_agent false"
            )
        if not found:
            common.note("No messages to judge in this project.")
        return 0
    raw = click.open_file(answers, encoding="utf-8").read(1_000_000)
    try:
        verdicts = json.loads(raw)
    except ValueError as error:
        raise BadInput(f"{answers}: not JSON ({error})") from None
    told = briefs.judged(opened, common.surroundings(), every, verdicts)
    briefs.after_write(opened, common.surroundings())
    if as_object:
        common.put({"outcome": told})
    else:
        common.say(told)
    return 0


@click.group(
    cls=_Listing,
    epilog=common.examples(
        "byheart jobs", "byheart jobs show 0194f5a6", "byheart jobs retry 0194f5a6", "byheart jobs drop 0194f5a6"
    ),
)
def jobs() -> None:
    """Learning jobs: waiting, running and failed."""


@jobs.command("list", epilog=common.examples("byheart jobs list", "byheart jobs list --all --json"))
@click.option("--all", "every_one", is_flag=True, help="Include finished jobs.")
@group.json_option
def list_jobs(every_one: bool, as_object: bool) -> int:
    """List jobs, failed ones first."""
    _, every = learning()
    found = [job for job in every.jobs() if every_one or job.state != "done"]
    if as_object:
        common.put(found)
    else:
        rows = [
            (job.state.value, job.kind, job.key[:44], job.project, f"try {job.attempts}", visible(job.error)[:80])
            for job in found
        ]
        for line in table(rows):
            common.say(line)
    if not found:
        common.note("No jobs waiting or failed.")
    return 0


@jobs.command("show", epilog=common.examples("byheart jobs show 0194f5a6"))
@click.argument("name")
@group.json_option
def show_job(name: str, as_object: bool) -> None:
    """Show one job, by name or prefix."""
    _, every = learning()
    _one(every.job(name), as_object)


@jobs.command("retry", epilog=common.examples("byheart jobs retry 0194f5a6"))
@click.argument("name")
@group.json_option
def retry_job(name: str, as_object: bool) -> None:
    """Reset a job's retry count; the next byheart learn runs it."""
    _, every = learning()
    _one(every.retry(name), as_object)


@jobs.command("drop", epilog=common.examples("byheart jobs drop 0194f5a6"))
@click.argument("name")
@group.json_option
def drop_job(name: str, as_object: bool) -> None:
    """Drop a job until its session changes."""
    _, every = learning()
    _one(every.drop(name), as_object)


def _one(job: JobView, as_object: bool) -> None:
    if as_object:
        common.put(job)
        return
    rows = [
        ("kind", job.kind), ("name", job.key), ("project", job.project), ("state", job.state.value), ("tries", str(job.attempts)),
        ("started", job.started or "never"), ("finished", job.finished or "not yet"), ("error", job.error or "none"),
        ("next try", f"in {job.waits_seconds:.0f} s" if job.waits_seconds else "at the next byheart learn"),
    ]  # fmt: skip
    for line in table([(name, visible(value)) for name, value in rows]):
        common.say(line)


@click.command(hidden=True, epilog=common.examples("byheart work"))
@group.json_option
def work(as_object: bool) -> int:
    """Learn from due sessions and prepare briefs, as hooks do. Does nothing if already running."""
    done = worker.work(common.surroundings())
    if as_object:
        common.put(done)
    else:
        busy = "already running;  " if done.was_busy else ""
        common.say(
            f"{busy}{counted(len(done.learnt), 'session')} learnt from, {done.noted} noted, {counted(done.cards, 'brief')} ready"
        )
    for problem in done.problems:
        common.note(f"byheart: {visible(problem)}")
    return 4 if done.was_busy else 0
