"""byheart init, trust and untrust: from nothing to a first brief, and whether a checkout's memory files count as the user's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from byheart.domain.errors import Refused
from byheart.handbook.phrases import shortened
from byheart.interfaces.cli import common, group
from byheart.interfaces.cli.common import bar
from byheart.interfaces.render import counted, table
from byheart.text.deferred import module
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from byheart.app import onboarding, trusted
    from byheart.app.onboarding import Begun, Survey
    from byheart.app.open import OpenMemory
    from byheart.notebooks.setup import Ready
else:
    onboarding = module("byheart.app.onboarding")
    trusted = module("byheart.app.trusted")


@click.command(epilog=common.examples("byheart init", "byheart init --yes", "byheart init --in-repo"))
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--no-install", is_flag=True, help="Connect no agents.")
@click.option("--no-learn", is_flag=True, help="Do not read transcripts.")
@click.option("--in-repo", is_flag=True, help="Keep this project's memory in the repository.")
@group.json_option
def init(yes: bool, no_install: bool, no_learn: bool, in_repo: bool, as_object: bool) -> int:
    """Set up byheart: find agents, learn from their sessions, connect them, and show the first brief.

    Shows what will be read and changed, then asks once. Memory is stored in ~/.byheart; with --in-repo, this project's
    memories.md and docs/memory/memories.ndjson are kept in the repository, and existing memory moves there.
    """
    opened = common.opened()
    fixed = [key for key in ("paths.profile", "paths.rules") if opened.config.text(key)]
    if in_repo and fixed:
        where = opened.config.origins[fixed[0]]
        raise Refused(f"{fixed[0]} in {where} sets where memory is stored. Remove it before using --in-repo")
    around = common.surroundings()
    is_on = opened.config.flag("memory.enabled")
    found = onboarding.survey(opened, around) if is_on else None
    asks = (
        found is not None
        and not yes
        and not as_object
        and sys.stdin.isatty()
        and bool(found.agents or found.transcripts)
    )
    if asks and found is not None:
        _surveyed(found, opened, no_install=no_install, no_learn=no_learn)
        if not click.confirm("Go on?", default=True, err=True):
            common.say("Nothing was changed.")
            return 0
    if found is not None and not asks and not yes and (found.agents or found.transcripts):
        return _unasked(found, opened, as_object, no_install=no_install, no_learn=no_learn)
    offer(opened, asks=asks)
    ready = opened.memory.init(opened.in_repo if in_repo else None)
    if not as_object:
        _ready(ready, in_repo=in_repo)
    if found is None:
        if as_object:
            common.put({"ready": ready})
        return 0
    if not asks and not as_object:
        _surveyed(found, opened, no_install=no_install, no_learn=no_learn)
    if not asks and not yes:
        _next(found, no_install=no_install, no_learn=no_learn)
        if as_object:
            common.put(
                {
                    "ready": ready,
                    "survey": {"agents": [each.agent for each in found.agents], "transcripts": found.transcripts},
                }
            )
        return 0
    before = onboarding.connected(opened)
    try:
        done = onboarding.begin(around, connects=not no_install, learns=not no_learn, progress=bar)
    except KeyboardInterrupt:
        fresh = [name for name in onboarding.connected(opened) if name not in before]
        told = f"Connected: {', '.join(fresh)}" if fresh else "No agent was connected"
        common.note(f"\nStopped. {told}; what was learnt so far is kept. Go on with: byheart init")
        return 130
    if as_object:
        common.put({"ready": ready, "connected": [{"agent": each.agent, "problem": each.problem, "notes": each.notes} for each in done.connected], "taken": done.taken, "learnt": done.report, "highlights": done.highlights, "brief": done.brief, "brief_of": done.brief_of, "problems": done.problems})  # fmt: skip
    else:
        _begun(done, opened)
    return 4 if done.problems else 0


def _unasked(found: Survey, opened: OpenMemory, as_object: bool, *, no_install: bool, no_learn: bool) -> int:
    """What would be done, where nobody is there to say yes to it."""
    if as_object:
        common.put({"survey": {"agents": [each.agent for each in found.agents], "transcripts": found.transcripts}})
    else:
        _surveyed(found, opened, no_install=no_install, no_learn=no_learn)
    common.note("Nothing was changed: there is no terminal to ask on. byheart init --yes does all of that")
    return 0


def _ready(ready: Ready, *, in_repo: bool) -> None:
    for each in ready.done:
        common.say(each)
    common.say(f"project {ready.project}")
    for line in table([("  " + name, path) for name, path in ready.documents]):
        common.say(line)
    if in_repo:
        common.note("note: these files are part of the repository now; whoever clones it can read them")


def _surveyed(found: Survey, opened: OpenMemory, *, no_install: bool, no_learn: bool) -> None:
    """What is here, and what would be done."""
    common.say("")
    if found.transcripts and not no_learn:
        count, size = (sum(each[place] for each in found.transcripts.values()) for place in (0, 1))
        names = ", ".join(
            f"{agent} {each[0]}" for agent, each in sorted(found.transcripts.items(), key=lambda pair: -pair[1][0])
        )
        common.say(
            f"Would read {count:,} transcripts ({size / 1e6:,.0f} MB): {names}. They are only read, and nothing leaves this machine."
        )
    if found.agents and not no_install:
        common.say("Would connect, keeping what is in these files (byheart uninstall --all takes it out again):")
        for each in found.agents:
            changed = [change for change in each.changes if change.is_change]
            files = ", ".join(visible(change.path) for change in changed) or "nothing to change"
            common.say(f"  {each.agent}: {visible(each.problem) or files}")
        if not found.learns_already:
            common.say(
                f"Would set learning.enabled in {opened.home}/config.toml, so that sessions are learnt from when they end."
            )
            common.say(
                "Agents would then be asked, at most once a session, which of your earlier messages to remember (learning.ask_agent)."
            )
    if not found.agents and not found.transcripts:
        common.say("No agent was found on this machine; docs/agents.md says where byheart looks.")


def _next(found: Survey, *, no_install: bool, no_learn: bool) -> None:
    """What a script may do next: it is never asked anything."""
    if not found.agents and not found.transcripts:
        common.note('next: byheart remember "I prefer pnpm"')
    elif not (no_install and no_learn):
        common.note("next: byheart init --yes does all of that; or byheart learn, byheart install AGENT one by one")


def _begun(done: Begun, opened: OpenMemory) -> None:
    """What came of it, and where to go from here."""
    common.say("")
    for each in done.connected:
        common.say(f"{each.agent}: {'not connected: ' + visible(each.problem) if each.problem else 'connected'}")
        for note in each.notes:
            common.note(f"  {visible(note)}")
    for taken in done.taken:
        common.say(f"took over {taken.stored} memories of {taken.agent}'s own ({taken.scope})")
    report = done.report
    if report is not None:
        left = [f"{report.nothing} taught nothing"] if report.nothing else []
        left += [f"{times} {reason}" for reason, times in sorted(report.skipped.items(), key=lambda each: -each[1])]
        told = f" ({', '.join(left)})" if left else ""
        handbooks = len([each for each in report.projects if each.groups])
        common.say(
            f"learnt from {len(report.learnt)} of {report.sessions} sessions in {report.seconds:.0f} s{told}; {handbooks} projects have a handbook now"
        )
    if done.highlights:
        common.say("\nWhat stands out, in your own words where you said it:")
        for project, text, cite in done.highlights:
            common.say(f"  {visible(shortened(text, 200))}  ({visible(project)}{', ' + visible(cite) if cite else ''})")
    if done.brief is not None and done.brief.text:
        common.say(f"\nWhat the next session in {visible(done.brief_of)} is told:\n")
        common.page(done.brief.text.rstrip("\n"))
        common.note(f"{done.brief.tokens:,} tokens, {len(done.brief.told)} lines")
    if done.gain:
        common.say(f"\n{done.gain} byheart gain shows which.")
    waiting = sum(each.inbox for each in report.projects) if report else 0
    common.say(
        "\nLook:     byheart brief --explain · byheart why · byheart memory read memory://root/MEMORY.md"
        f"\nCorrect:  edit the files in {opened.home}, your lines stay · byheart forget · byheart inbox{f' ({waiting} wait)' if waiting else ''}"
        "\nSwitch off: byheart uninstall --all · byheart settings enabled off (this project) · memory.enabled = false in config.toml (all)"
    )
    for problem in done.problems:
        common.note(f"byheart: {visible(problem)}")


@click.command(epilog=common.examples("byheart trust", "byheart trust --yes"))
@click.option("--yes", is_flag=True, help="Do not ask.")
@group.json_option
def trust(yes: bool, as_object: bool) -> None:
    """Use the memory files of this checkout as your own.

    A clone may contain memory files: memories.md, memories.ndjson, MEMORY.md, USER.md, LONGMEMORY.md, transcripts. They are
    ignored until you trust them. Lines that other people commit later are shown as the repository's, not yours; run this
    again to accept them.
    """
    opened = common.opened(writes=True)
    found = trusted.survey(opened)
    if not as_object:
        common.say(f"Memory files in {visible(opened.project.folder)}:")
        rows = [(f"  {visible(each.name)}", counted(each.entries, "entry", "entries"), f"{each.strange} from others" if each.strange else "") for each in found]  # fmt: skip
        for line in table(rows or [("  none yet", "", "")]):
            common.say(line.rstrip())
    if not yes:
        if as_object or not sys.stdin.isatty():
            raise Refused("Nothing was changed. Review these files, then run: byheart trust --yes")
        click.confirm("Use them as your own?", default=False, abort=True, err=True)
    trusted.accept(opened)
    if as_object:
        common.put({"folder": opened.project.folder, "trusted": True, "files": found})
    else:
        common.say("Trusted. Undo with: byheart untrust")


@click.command(epilog=common.examples("byheart untrust"))
@group.json_option
def untrust(as_object: bool) -> None:
    """Stop using this checkout's memory files. The files are not changed."""
    opened = common.opened(writes=True)
    was = trusted.withdraw(opened)
    if as_object:
        common.put({"folder": opened.project.folder, "trusted": False, "changed": was})
    else:
        common.say(f"{'No longer trusted' if was else 'Not trusted'}: {visible(opened.project.folder)}")


def offer(opened: OpenMemory, *, asks: bool) -> None:
    """Say that the checkout brings memory files that are not used; on a terminal ask about them, once."""
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
