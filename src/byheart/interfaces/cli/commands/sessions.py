"""Commands about agents' sessions: sessions list|show|search|stats, how, fix, blame."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import click

from byheart.domain.errors import BadInput, Busy, Environment
from byheart.domain.sessions import Which
from byheart.interfaces import transcripts
from byheart.interfaces.cli import common, group
from byheart.interfaces.cli.common import bar
from byheart.interfaces.render import table, width
from byheart.text.deferred import module
from byheart.text.timewords import moment
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from byheart.app import open as app_open
    from byheart.app import sessions as app_sessions
    from byheart.app.open import OpenMemory
    from byheart.sessions.sessions import Sessions
else:
    app_open = module("byheart.app.open")
    app_sessions = module("byheart.app.sessions")

Command = TypeVar("Command", bound=Callable[..., object])


def _filters(command: Command) -> Command:
    """The options that choose sessions."""
    for option in (
        click.option("--no-refresh", is_flag=True, help="Use the index as is; read no new transcripts."),
        click.option("--until", metavar="WHEN", help="Only before WHEN."),
        click.option("--since", metavar="WHEN", help="Only after WHEN: 2026-01-31, 7d, yesterday."),
        click.option("--project", "project", metavar="NAME", help="Only this project: name, id or a folder in it."),
        click.option("--agent", metavar="NAME", help="Only this agent's sessions."),
    ):
        command = option(command)
    return command


def _opened(no_refresh: bool) -> tuple[OpenMemory, Sessions]:
    """The memory and the sessions, the index brought up to date unless that is not wanted."""
    opened = common.opened()
    sessions = app_sessions.open_sessions(opened, common.surroundings())
    if not no_refresh:
        done = sessions.refresh(bar("reading transcripts", 1e6, " MB"))
        if done.is_busy:
            common.note("Another byheart is reading transcripts; showing what it has read so far.")
        elif done.read > 20 or done.bytes > 20_000_000:
            common.note(f"byheart: read {done.read} transcripts, {done.bytes / 1e6:.0f} MB, {done.turns:,} turns")
        app_sessions.start_embedding(opened, common.surroundings(), sessions)
    return opened, sessions


def _which(
    opened: OpenMemory,
    every: Sessions,
    agent: str | None,
    project: str | None,
    since: str | None,
    until: str | None,
    text: str | None = None,
    subagents: bool = True,
) -> Which:
    if agent is not None:
        every.check_agent(agent, app_sessions.agent_names())
    if text is not None and not re.search(r"\w", text):
        raise BadInput("--text needs at least one word")
    return Which(
        agent=agent,
        project=_project(opened, every, project) if project else None,
        since=_moment("--since", since),
        until=_moment("--until", until),
        text=text,
        subagents=subagents,
    )


def _project(opened: OpenMemory, every: Sessions, name: str) -> str:
    """A project's id from what was typed: `.` or a folder, an id, or a name."""
    import os

    if name in (".", "here"):
        return opened.project.id
    if os.sep in name or "\\" in name or os.path.isdir(name):
        return app_sessions.project_id(opened, os.path.expanduser(name))
    return every.project(name)


def _moment(option: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    found = moment(text, datetime.now(UTC))
    if found is None:
        raise BadInput(f"{option}: {text!r} is not a date. Use 2026-01-31, 7d, 36h or yesterday")
    return found


class _Default(click.Group):
    """A group that lists when nothing is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ("-h", "--help")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_Default,
    epilog=common.examples(
        "byheart sessions", "byheart sessions --agent codex --since 7d", "byheart sessions search pnpm"
    ),
)
def sessions() -> None:
    """List, search and read the sessions of agents on this machine.

    Transcripts are only read, where the agents keep them. The index (~/.byheart/state/index.db) contains no secrets and can be
    deleted at any time.
    """


@sessions.command(
    "list", epilog=common.examples("byheart sessions list --since 7d", "byheart sessions list --text pnpm --json")
)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 100_000), default=30, show_default=True, help="Maximum number of results."
)
@click.option("--text", help="Only sessions that contain all these words.")
@click.option("--no-subagents", is_flag=True, help="Leave out sub-agents.")
@_filters
@group.json_option
def list_(
    limit: int, text: str | None, no_subagents: bool, agent: str | None, project: str | None, since: str | None, until: str | None,
    no_refresh: bool, as_object: bool,
) -> int:  # fmt: skip
    """List sessions, newest first."""
    opened, every = _opened(no_refresh)
    found = every.list(_which(opened, every, agent, project, since, until, text, not no_subagents), limit)
    if as_object:
        common.put(found)
    else:
        for line in transcripts.session_table(found, width()):
            common.say(line)
    if not found:
        common.note("No sessions found. See where byheart looks: docs/agents.md")
    return 0


@sessions.command(
    epilog=common.examples(
        "byheart sessions show 1f9d2a6b", "byheart sessions show codex:019c6e27 --turns 10-20 --full"
    )
)
@click.argument("session")
@click.option("--turns", "span", metavar="FROM-TO", help="Only these turns.")
@click.option("--full", is_flag=True, help="Read the transcript itself, unshortened.")
@click.option("--no-refresh", is_flag=True, help="Use the index as is; read no new transcripts.")
@group.json_option
def show(session: str, span: str | None, full: bool, no_refresh: bool, as_object: bool) -> int:
    """Show a session as a readable transcript, with turn numbers.

    SESSION is an id or its prefix, as listed. Text added by a client and turns that were undone are marked.
    """
    _, every = _opened(no_refresh)
    cited = session.partition("#")[2]
    low, high = _span(span or cited)
    each = every.find(session)
    turns = every.whole(each.session) if full else iter(every.turns(each.session))
    chosen = (turn for turn in turns if low <= turn.number <= high)
    if as_object:
        shown = list(chosen)
        common.put({"session": each, "turns": shown})
        return _ended(bool(shown), f"the session has turns 1 to {each.turns}")
    for line in transcripts.session_head(each):
        common.say(line)
    any_shown = False
    for turn in chosen:
        any_shown = True
        common.page("\n".join(("", *transcripts.turn_lines(turn))))
    return _ended(any_shown, f"the session has turns 1 to {each.turns}")


def _span(text: str) -> tuple[int, int]:
    if not text:
        return 1, 2**31
    first, dash, last = text.partition("-")
    try:
        low = int(first) if first else 1
        high = int(last) if last else 2**31 if dash else low
    except ValueError:
        low, high = 1, 0
    if not 0 < low <= high:
        raise BadInput(f"{text!r} is not a turn or a range such as 10-20")
    return low, high


@sessions.command(
    epilog=common.examples(
        'byheart sessions search "flaky auth test"', "byheart sessions search pnpm --agent codex --json"
    )
)
@click.argument("query", nargs=-1, required=True)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="Maximum number of sessions."
)
@click.option("--deep", is_flag=True, help="Rerank the best turns with a larger model (slower).")
@click.option("--explain", is_flag=True, help="Explain the ranking.")
@_filters
@group.json_option
def search(
    query: tuple[str, ...], limit: int, deep: bool, explain: bool, agent: str | None, project: str | None, since: str | None,
    until: str | None, no_refresh: bool, as_object: bool,
) -> int:  # fmt: skip
    """Search sessions and turns, best match first."""
    opened, every = _opened(no_refresh)
    which = _which(opened, every, agent, project, since, until)
    found = every.search(_asked(" ".join(query)), which, limit, deep=deep)
    if every.missing:
        common.once(opened, every.missing)
    if as_object:
        common.put(found)
    else:
        if found and not any(hits.fits for hits in found):
            common.note("No confident match. Closest results:")
        terms = [re.escape(term) for word in query for term in re.findall(r"\w{3,}", word)]
        lit = re.compile("|".join(terms), re.IGNORECASE) if terms and common.colour(opened) else None
        for hits in found:
            session = hits.session
            title = transcripts.one_line(session.title or every.find(session.id).first, 70)
            common.say(
                common.heading(
                    f"{session.agent}:{visible(session.id)}  {transcripts.moment(session.ended)}  {visible(session.project or '')}  {title}",
                    opened,
                )
            )
            for hit in hits.turns:
                shown = transcripts.one_line(hit.snippet, 160)
                if lit is not None:
                    shown = lit.sub(lambda found: f"\x1b[1m{found.group()}\x1b[0m", shown)
                common.say(f"  #{hit.turn.number} {hit.turn.speaker.value}: {shown}")
                if explain:
                    told = ", ".join(f"{name} {value:+.2f}" for name, value in hit.factors.items())
                    common.say(f"      {hit.score:.2f}: {told}")
    return _ended(bool(found), "No match.")


@sessions.command(epilog=common.examples("byheart sessions embed", "byheart sessions embed --seconds 60"))
@click.option("--seconds", type=click.FloatRange(0), default=600.0, show_default=True, help="Time limit in seconds.")
@click.option("--no-refresh", is_flag=True, help="Do not look for new transcripts first.")
@click.option("--gently", is_flag=True, help="Run at low priority.")
@click.option("--records", "only_records", is_flag=True, help="Only memory, no sessions.")
@group.json_option
def embed(seconds: float, no_refresh: bool, gently: bool, only_records: bool, as_object: bool) -> int:
    """Compute the vectors that search by meaning uses.

    byheart does this as needed; this command does it all now. Interrupted work is kept.
    """
    if gently:
        os.nice(19)
    opened, every = _opened(no_refresh)
    with app_sessions.claimed_embedding(opened) as ours:
        if not ours:
            raise Busy("Another byheart is computing vectors.")
        records = app_sessions.embedded_records(opened, bar("vectors of records"))
        left = 0 if only_records else every.embed(seconds, bar("vectors of turns"))
    if every.missing:
        raise Environment(every.missing)
    if as_object:
        common.put({"left": left, "records": records})
    else:
        done = "All vectors are up to date."
        common.say(done if not left else f"{left:,} turns left. Continue with: byheart sessions embed")
    return 0


@sessions.command(epilog=common.examples("byheart sessions stats", "byheart sessions stats --svg activity.svg"))
@click.option("--svg", metavar="FILE", help="Write a calendar of activity by agent to FILE.")
@_filters
@group.json_option
def stats(
    svg: str | None,
    agent: str | None,
    project: str | None,
    since: str | None,
    until: str | None,
    no_refresh: bool,
    as_object: bool,
) -> int:
    """Count sessions, turns, commands and errors by agent, and show what could not be read."""
    opened, every = _opened(no_refresh)
    which = _which(opened, every, agent, project, since, until)
    if svg:
        picture = transcripts.calendar(every.days(which), datetime.now(UTC))
        if svg == "-":
            click.echo(picture, nl=False)
            return 0
        place = app_open.place_of(svg, common.folder())
        opened.write_new(place, picture)
        common.note(f"Picture written to {place}")
        return 0
    found = every.stats(which)
    if as_object:
        common.put(found)
        return 0
    rows: list[tuple[str, ...]] = [
        (
            "agent",
            "files",
            "sessions",
            "user",
            "assistant",
            "tool",
            "added",
            "taken back",
            "commands",
            "errors",
            "fixes",
            "lines known",
        )
    ]
    for each in found:
        known = f"{100 * each.tally.known_lines / each.tally.lines:.2f} %" if each.tally.lines else "-"
        numbers = (
            each.files,
            each.sessions,
            *(each.turns.get(who, 0) for who in ("user", "assistant", "tool")),
            each.synthetic,
            each.abandoned,
            each.commands,
            each.errors,
            each.fixes,
        )
        rows.append((each.agent, *(f"{number:,}" for number in numbers), known))
    for line in table(rows if found else []):
        common.say(line)
    for each in found:
        for label, counter in (
            ("skipped", each.tally.skipped),
            ("unknown", each.tally.unknown),
            ("mended", each.tally.mended),
        ):
            for name, number in sorted(counter.items()):
                common.say(f"{each.agent}: {label} {number:,}: {visible(name)}")
    _ended(bool(found), "No sessions found. See where byheart looks: docs/agents.md")
    return 0


def _asked(text: str) -> str:
    if not re.search(r"\w", text):
        raise BadInput(f"{text!r} has no words to search for")
    return text


def _ended(any_found: bool, empty: str) -> int:
    if any_found:
        return 0
    common.note(f"byheart: {empty}")
    return 1


def _scope(
    opened: OpenMemory,
    every: Sessions,
    everywhere: bool,
    agent: str | None,
    project: str | None,
    since: str | None,
    until: str | None,
) -> Which:
    """This project's sessions, unless another or all of them are asked for."""
    return _which(opened, every, agent, project or (None if everywhere else "."), since, until)


_EVERYWHERE = click.option("--all", "everywhere", is_flag=True, help="Search all projects.")
_LIMIT = click.option(
    "-n", "--limit", type=click.IntRange(1, 100), default=5, show_default=True, help="Maximum number of results."
)


@click.command(epilog=common.examples("byheart how test", "byheart how pytest --all", "byheart how bun run build"))
@click.argument("command", nargs=-1, required=True)
@_LIMIT
@_EVERYWHERE
@_filters
@group.json_option
def how(
    command: tuple[str, ...], limit: int, everywhere: bool, agent: str | None, project: str | None, since: str | None, until: str | None,
    no_refresh: bool, as_object: bool,
) -> int:  # fmt: skip
    """Show how a command is run in this project, from what agents ran and whether it worked.

    COMMAND is a program, part of a command line, or a purpose: test, build, lint, format, types, install, run.
    """
    opened, every = _opened(no_refresh)
    found = every.how(_asked(" ".join(command)), _scope(opened, every, everywhere, agent, project, since, until), limit)
    if as_object:
        common.put(found)
    else:
        for use in found:
            for line in transcripts.use_lines(use):
                common.say(line)
    return _ended(
        bool(found), "No agent ran such a command here" + ("" if everywhere else ". Search all projects with --all")
    )


@click.command(epilog=common.examples('byheart fix "Cannot find module"', "pytest 2>&1 | byheart fix -"))
@click.argument("error", nargs=-1, required=True)
@_LIMIT
@_EVERYWHERE
@_filters
@group.json_option
def fix(
    error: tuple[str, ...], limit: int, everywhere: bool, agent: str | None, project: str | None, since: str | None, until: str | None,
    no_refresh: bool, as_object: bool,
) -> int:  # fmt: skip
    """Show what fixed an error before.

    ERROR is the message, or - to read output from stdin.
    """
    opened, every = _opened(no_refresh)
    text = _asked(sys.stdin.read(1_000_000) if error == ("-",) else " ".join(error))
    found = every.fix(text, _scope(opened, every, everywhere, agent, project, since, until), limit)
    if as_object:
        common.put(found)
    else:
        for each in found:
            for line in transcripts.fix_lines(each):
                common.say(line)
    return _ended(
        bool(found), "No similar error was fixed here" + ("" if everywhere else ". Search all projects with --all")
    )


@click.command(epilog=common.examples("byheart blame src/cart.js", "byheart blame Makefile --reads --all"))
@click.argument("path")
@_LIMIT
@click.option("--reads", is_flag=True, help="Include sessions that only read the file.")
@_EVERYWHERE
@_filters
@group.json_option
def blame(
    path: str, limit: int, reads: bool, everywhere: bool, agent: str | None, project: str | None, since: str | None, until: str | None,
    no_refresh: bool, as_object: bool,
) -> int:  # fmt: skip
    """Show which sessions changed a file, newest first, and what was asked for."""
    opened, every = _opened(no_refresh)
    found = every.blame(
        _asked(path), _scope(opened, every, everywhere, agent, project, since, until), limit, reads=reads
    )
    if as_object:
        common.put(found)
    else:
        for visit in found:
            for line in transcripts.visit_lines(visit):
                common.say(line)
    return _ended(
        bool(found), "No session changed this file" + ("" if everywhere else ". Search all projects with --all")
    )
