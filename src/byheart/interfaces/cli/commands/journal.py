"""byheart journal and schedule: append, list, context, scan, compact, flush, upkeep, settings; and letting the machine start upkeep."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from byheart.app.upkeep import schedulers, upkeep_job
from byheart.domain.errors import BadInput, ByheartError, Environment
from byheart.domain.journal import MAIN, Appended, Compacted, Sensitivity
from byheart.domain.records import Scope
from byheart.interfaces.cli import common, group
from byheart.interfaces.render import finding_line, journal_line
from byheart.text.deferred import module
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from byheart.app import config_file, sessions
    from byheart.app import open as app_open
    from byheart.app import upkeep as app_upkeep
    from byheart.storage.background import Scheduler
else:
    config_file = module("byheart.app.config_file")
    app_open = module("byheart.app.open")
    sessions = module("byheart.app.sessions")
    app_upkeep = module("byheart.app.upkeep")

_LABELS = [each.value for each in Sensitivity]


@click.group(epilog=common.examples('byheart journal append "Chose Postgres over SQLite" --category decision'))
def journal() -> None:
    """The journal: MEMORY.md, a log for each day, and LONGMEMORY.md with summaries.

    Each record is one line of JSON that other programs can read and write. Your notes between records are kept.
    """


@journal.command(
    epilog=common.examples(
        'byheart journal append "Deploys go through the staging cluster" --category decision',
        "byheart journal append --record - < record.json",
    )
)
@click.argument("text", nargs=-1)
@click.option("--category", help="note, decision, learned, user-preference, turn-summary, … (default: note).")
@click.option("--session", help="Session it belongs to (default: main).")
@click.option("--channel", help="Where it came from (default: operator).")
@click.option("--confidence", type=click.FloatRange(0, 1), help="Confidence, 0 to 1 (default: 1).")
@click.option("--sensitivity", type=click.Choice(_LABELS), help="Sensitivity (default: private-user).")
@click.option("--record", help="A whole record as JSON, or - for stdin.")
@click.option("--auto", is_flag=True, help="Automatic write: skip if memory is off or the text was forgotten.")
@click.option("--redact", is_flag=True, help="Redact secrets instead of refusing the record.")
@group.scope_option
@group.json_option
def append(
    text: tuple[str, ...],
    category: str | None,
    session: str | None,
    channel: str | None,
    confidence: float | None,
    sensitivity: str | None,
    record: str | None,
    auto: bool,
    redact: bool,
    scope: str | None,
    as_object: bool,
) -> None:
    """Add a record to MEMORY.md and today's log ("-" reads the text from stdin)."""
    raw: dict[str, object] = _record(record) if record else {}
    if text:
        raw["text"] = sys.stdin.read().removeprefix("\ufeff").strip() if text == ("-",) else " ".join(text)
    named = (("category", category), ("sessionId", session))
    raw.update({name: value for name, value in named if value})
    source = raw.get("provenance") or {}
    if not isinstance(source, dict):
        raise BadInput("provenance is not an object")
    given = (("sourceChannel", channel), ("confidence", confidence), ("sensitivity", sensitivity))
    raw["provenance"] = {**source, **{name: value for name, value in given if value is not None}}
    opened = common.opened()
    done = opened.memory.journal(Scope(scope or "local")).append(raw, asked=not auto, redact=redact)
    _tell(done, as_object)


def _record(given: str) -> dict[str, object]:
    try:
        raw = json.loads(sys.stdin.read() if given == "-" else given)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"--record is not valid JSON: {error}") from None
    if not isinstance(raw, dict):
        raise BadInput("--record is not a JSON object")
    return raw


def _tell(done: Appended, as_object: bool) -> None:
    if as_object:
        common.put(done)
        return
    text = visible(" ".join(done.text.split())) or "(labelled secret)"
    common.say(f"Saved: {text} ({visible(done.category)}, {done.path}); remove with: byheart forget {done.handle}")
    if done.trimmed:
        common.note(f"note: {done.trimmed} of the oldest records went to the archive")
    if done.compaction is not None and done.compaction.ran:
        common.note(f"note: {_outcome(done.compaction)}")
    for each in done.notes:
        common.note(f"note: {each}")


@journal.command("list", epilog=common.examples("byheart journal list -n 20", "byheart journal list --session main"))
@click.option(
    "-n", "--limit", type=click.IntRange(1, 1_000_000), default=50, show_default=True, help="Maximum number of records."
)
@click.option("--session", help="Only records of this session.")
@click.option("--category", help="Only this category.")
@click.option("--allow-secret", is_flag=True, help="Include records labelled secret.")
@group.scope_option
@group.json_option
def list_(
    limit: int, session: str | None, category: str | None, allow_secret: bool, scope: str | None, as_object: bool
) -> int:
    """List the newest records, oldest first."""
    opened = common.opened()
    found = opened.memory.journal(Scope(scope or "local")).listing(
        session=session, category=category, allow_secret=allow_secret, most=limit
    )
    if as_object:
        common.put(found)
    else:
        for hit in found:
            common.say(journal_line(hit))
    if not found:
        common.note("No records. Add one with: byheart journal append")
        return 0
    return 0


@journal.command(epilog=common.examples("byheart journal context", "byheart journal context --json"))
@click.option("--shared", is_flag=True, help="Not the main session: print nothing.")
@click.option("--allow-secret", is_flag=True, help="Include records labelled secret.")
@click.option("--last-message", default="", help="The user's last message: adds related past experiences.")
@group.json_option
def context(shared: bool, allow_secret: bool, last_message: str, as_object: bool) -> int:
    """Print the session context: USER.md, LONGMEMORY.md, MEMORY.md, yesterday's and today's log.

    Limited to journal.session_memory_cap characters: the newest and most important records are kept, and a note says what is missing.
    """
    found = (
        common.opened()
        .memory.journal()
        .session_context(main=not shared, allow_secret=allow_secret, last_message=last_message)
    )
    for each in found.notes:
        common.note(f"byheart: {each}")
    if as_object:
        common.put(found)
    elif found.text:
        common.page(found.text)
    if not found.text and not found.notes:
        common.note("The journal is empty.")
    return 0


@journal.command(epilog=common.examples("byheart journal scan"))
@group.scope_option
@group.json_option
def scan(scope: str | None, as_object: bool) -> int:
    """Find contradictions, duplicates, stale records and broken lines; exit code 3 if there are any.

    Nothing is changed. To fix them one at a time: byheart check --fix
    """
    found = common.opened().memory.journal(Scope(scope or "local")).integrity_scan()
    if as_object:
        common.put(found)
    else:
        for each in found:
            common.say(finding_line(each))
        common.note(f"{len(found)} finding{'' if len(found) == 1 else 's'}" if found else "nothing wrong")
    return 3 if found else 0


@journal.command(epilog=common.examples("byheart journal compact", "byheart journal compact --force"))
@click.option("--force", is_flag=True, help="Compact even if compaction is off or the file is small.")
@click.option("--session", help="Write this session's checkpoint first.")
@group.scope_option
@group.json_option
def compact(force: bool, session: str | None, scope: str | None, as_object: bool) -> int:
    """Merge old turn summaries and notes into a few summaries.

    Recent records (journal.memory_compaction_min_age_days), decisions, preferences, lessons and secret records are kept.
    Records that leave MEMORY.md are archived first.
    """
    done = common.opened().memory.journal(Scope(scope or "local")).compact(force=force, session_id=session)
    if as_object:
        common.put(done)
    else:
        (common.say if done.ran else common.note)(_outcome(done))
    for each in done.notes:
        common.note(f"note: {each}")
    if done.ran:
        return 0
    return 4 if done.stage == "lock" else 1


def _outcome(done: Compacted) -> str:
    if not done.ran:
        hint = "; use --force to compact anyway" if done.stage in ("enabled", "threshold") else ""
        return f"Not compacted: {done.reason}{hint}"
    undo = f"; undo with: byheart undo {done.receipt}" if done.receipt else ""
    return (
        f"Compacted {done.path}: {done.records_before} records became {done.records_after} "
        f"({done.characters_before:,} characters became {done.characters_after:,}){undo}"
    )


@journal.command(epilog=common.examples("byheart journal flush --session main"))
@click.option("--session", default=MAIN, show_default=True, help="Session about to be compacted.")
@group.scope_option
@group.json_option
def flush(session: str, scope: str | None, as_object: bool) -> None:
    """Write a checkpoint record before a compaction."""
    _tell(common.opened().memory.journal(Scope(scope or "local")).flush_pre_compaction(session), as_object)


@journal.command(epilog=common.examples("byheart journal upkeep --all"))
@click.option("--all", "everywhere", is_flag=True, help="All projects' journals.")
@click.option("--force", is_flag=True, help="Run everything, even if not due.")
@group.json_option
def upkeep(everywhere: bool, force: bool, as_object: bool) -> int:
    """Run due upkeep: compaction, the scan for contradictions and stale records, collecting experiences.

    byheart commands start this in the background when it is due; byheart schedule runs it hourly.
    """
    opened = common.opened(upkeep=False)
    around = common.surroundings()
    done = list(opened.memory.journal().upkeep(force=force, learnt=partial(sessions.learnt_of, opened, around)))
    if everywhere:
        for folder in app_upkeep.known_folders(opened.home):
            if folder == opened.project.folder:
                continue
            try:
                about = app_open.Surroundings(folder=folder, environment=around.environment, flags=around.flags)
                there = app_open.open_memory(about)
                if there.ignored:
                    common.note(f"byheart: {there.ignored}")
                learnt = partial(sessions.learnt_of, there, about)
                done += there.memory.journal().upkeep((Scope.LOCAL,), force=force, learnt=learnt)
            except ByheartError as error:
                # One project with a broken setting must not keep the others from their upkeep.
                common.note(f"byheart: {folder}: {error}")
    if as_object:
        common.put(done)
    else:
        for each in done:
            if each.compaction is not None:
                common.say(f"{each.path}: {_outcome(each.compaction).removeprefix('byheart: ')}")
            if each.findings is not None:
                common.say(f"{each.path}: {each.findings} finding{'' if each.findings == 1 else 's'}")
            if each.experiences is not None:
                common.say(f"{each.path}: {each.experiences} new experience{'' if each.experiences == 1 else 's'}")
            for note in each.notes:
                common.note(f"byheart: {each.path}: {note}")
        if not done:
            common.note("Nothing was due.")
    return 5 if any(each.notes for each in done) else 0


@journal.command(
    epilog=common.examples("byheart journal settings", "byheart journal settings --from openclaw.json --write")
)
@click.option("--from", "file", help="Another program's configuration (JSON) with continuity and memory settings.")
@click.option("--write", is_flag=True, help="Add the [journal] table to your config.toml instead of printing it.")
@group.json_option
def settings(file: str | None, write: bool, as_object: bool) -> int:
    """Print the journal's settings, or convert them from another program's configuration."""
    opened = common.opened()
    if file is None:
        if write:
            raise BadInput("--write needs --from FILE")
        rows = {key: value for key, value in opened.config.values.items() if key.startswith("journal.")}
        if as_object:
            common.put(rows)
        else:
            for key, value in rows.items():
                common.say(f"{key.removeprefix('journal.')} = {json.dumps(value)}")
        return 0
    taken = config_file.carried_over(opened, file, common.folder())
    for name in taken.ignored:
        common.note(f"not carried over: {visible(name)}")
    if write and taken.values:
        common.note(f"written to {config_file.carry_over(opened, taken)}")
    if as_object:
        common.put({"values": taken.values, "ignored": taken.ignored})
    else:
        common.page(taken.text.rstrip("\n"))
    return 0 if taken.values else 1


@click.group(epilog=common.examples("byheart schedule show", "byheart schedule install --cron"))
def schedule() -> None:
    """Run upkeep every hour with the system scheduler. Without it, byheart commands start it when due.

    It runs `byheart journal upkeep --all`. Nothing is scheduled unless you ask.
    """


def _chosen(name: str | None) -> list[Scheduler]:
    found = schedulers(common.surroundings())
    return [each for each in found if name in (None, each.name)]


@schedule.command(epilog=common.examples("byheart schedule install", "byheart schedule install --systemd --print"))
@click.option("--systemd", "name", flag_value="systemd", help="Use a systemd user timer.")
@click.option("--cron", "name", flag_value="cron", help="Use a line in your crontab.")
@click.option("--print", "only_print", is_flag=True, help="Print what would be installed; change nothing.")
@group.json_option
def install(name: str | None, only_print: bool, as_object: bool) -> int:
    """Schedule upkeep with systemd if available, otherwise cron."""
    job = upkeep_job(common.surroundings())
    wanted = _chosen(name)
    if only_print:
        texts = {f"{each.name}: {file}": text for each in wanted for file, text in each.texts(job).items()}
        if as_object:
            common.put(texts)
        else:
            for title, text in texts.items():
                common.note(title)
                common.page(text.rstrip("\n"))
        return 0
    usable = next((each for each in wanted if each.is_available()), None)
    if usable is None:
        tried = " and ".join(each.name for each in wanted)
        raise Environment(f"{tried} is not available here. To set it up by hand, see: byheart schedule install --print")
    for other in _chosen(None):
        # One timer is enough: an earlier one of the other sort goes.
        if other is not usable and other.name != usable.name and other.is_available():
            other.remove()
    done = usable.install(job)
    if as_object:
        common.put({"scheduler": usable.name, "done": done})
    else:
        for line in done:
            common.say(line)
        common.note("Remove it with: byheart schedule remove")
    return 0


@schedule.command(epilog=common.examples("byheart schedule remove"))
@group.json_option
def remove(as_object: bool) -> int:
    """Remove byheart's scheduled jobs."""
    done = [line for each in _chosen(None) if each.is_available() or each.name == "systemd" for line in each.remove()]
    if as_object:
        common.put({"done": done})
    else:
        for line in done:
            common.say(line)
    if not done:
        common.note("Nothing is scheduled.")
        return 0
    return 0


@schedule.command(epilog=common.examples("byheart schedule show"))
@group.json_option
def show(as_object: bool) -> int:
    """Show what is scheduled."""
    found = {
        each.name: text
        for each in _chosen(None)
        if each.is_available() or each.name == "systemd"
        if (text := each.show()) is not None
    }
    if as_object:
        common.put(found)
    else:
        for name, text in found.items():
            common.note(f"{name}:")
            common.page(text)
    if not found:
        common.note("Nothing is scheduled. Set it up with: byheart schedule install")
        return 0
    return 0
