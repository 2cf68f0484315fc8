"""Commands that only look: recall, show, list, profile, rules, log, experiences, brief, why, gain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from byheart.domain.brief import ToldLine
from byheart.domain.records import Kind, Scope
from byheart.interfaces.cli import common, group
from byheart.interfaces.render import counted, hit_line, record_lines, statement, table
from byheart.text.deferred import module
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.app import briefs, moments, sessions
    from byheart.app import gain as app_gain
    from byheart.app import open as app_open
    from byheart.domain.recall import Experience
    from byheart.domain.results import Finding
    from byheart.handbook import phrases
else:
    briefs = module("byheart.app.briefs")
    moments = module("byheart.app.moments")
    sessions = module("byheart.app.sessions")
    app_open = module("byheart.app.open")
    app_gain = module("byheart.app.gain")
    phrases = module("byheart.handbook.phrases")

_BARS, _COMMONEST, _NUMBERED = "▁▂▃▄▅▆▇█", 5, 12


@click.command(
    epilog=common.examples(
        'byheart recall "how do we run the tests"',
        'byheart recall --explain "what did we decide last week"',
        'byheart recall --deep "why do logins fail"',
    )
)
@click.argument("query", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1, 100), help="Maximum number of results.")
@click.option("--deep", is_flag=True, help="Rerank the best results with a larger model (slower).")
@click.option("--explain", is_flag=True, help="Explain the ranking.")
@group.scope_option
@group.json_option
def recall(
    query: tuple[str, ...], limit: int | None, deep: bool, explain: bool, scope: str | None, as_object: bool
) -> int:
    """Search memory by keywords and meaning, best match first.

    Quoted words must match exactly. Phrases such as "last week" or "in March" narrow the time.
    """
    return common.told(query, limit=limit, deep=deep, explain=explain, scope=scope, as_object=as_object)


@click.command(
    "list",
    epilog=common.examples("byheart list", "byheart list --kind constraint", "byheart list --tag needs-confirmation"),
)
@click.option("--kind", type=click.Choice([kind.value for kind in Kind]), help="Only this kind.")
@click.option("--tag", help="Only entries with this tag.")
@click.option("--notebook", type=click.Choice(list(common.NOTEBOOKS)), help="Only this kind of memory file.")
@group.scope_option
@group.json_option
def list_(kind: str | None, tag: str | None, notebook: str | None, scope: str | None, as_object: bool) -> int:
    """List memories, one per line."""
    opened = common.opened()
    names: Sequence[str] = [common.NOTEBOOKS[notebook]] if notebook else ["yaml-block", "triples"]
    found = opened.memory.list(
        scopes=common.scopes_of(scope), notebooks=names, kind=Kind(kind) if kind else None, tag=tag
    )
    common.problems(found.problems)
    if as_object:
        common.put(found)
    else:
        for hit in found.hits:
            common.say(hit_line(hit))
    return common.ended(found, "No memories yet. Add one with: byheart remember")


@click.command(epilog=common.examples("byheart show", "byheart show writing.tone"))
@click.argument("selector", required=False)
@group.scope_option
@group.json_option
def show(selector: str | None, scope: str | None, as_object: bool) -> int:
    """Print the memory files, or one memory in full.

    Works while memory is off. Secrets in the files are redacted.
    """
    opened = common.opened()
    if selector:
        hit = opened.memory.find(selector, scope=common.scope_of(scope))
        if as_object:
            common.put(hit)
        else:
            for line in record_lines(hit):
                common.say(line)
        return 0
    pages = opened.memory.show(scopes=common.scopes_of(scope))
    for page in pages:
        common.problems(page.problems)
    if as_object:
        common.put(pages)
        return 0
    there = [page for page in pages if page.exists]
    for page in there:
        common.say(common.heading(f"{page.path} ({page.scope.value})", opened))
        common.page(page.text.rstrip("\n"))
        common.say("")
    if any(each.rule == "unreadable" for page in pages for each in page.problems):
        return 5
    if not there:
        common.note("No memory files yet. Add a memory with: byheart remember")
    return 0


@click.command(epilog=common.examples("byheart profile", "byheart profile --explain"))
@click.option("--explain", is_flag=True, help="Also show what was left out, and why.")
@group.scope_option
@group.json_option
def profile(explain: bool, scope: str | None, as_object: bool) -> int:
    """Show your profile: up to 15 preferences and lessons that apply here.

    Low-confidence and unconfirmed entries are left out. What the user asks for in the session always wins over the
    profile.
    """
    opened = common.opened()
    view = opened.memory.profile(scopes=common.scopes_of(scope))
    common.problems(view.problems)
    for each in view.notes:
        common.note(f"byheart: {each}")
    if as_object:
        common.put(view)
    else:
        for hit in view.bullets:
            common.say(f"- {statement(hit.record)}")
        if explain:
            for name, reason in view.left_out:
                common.note(f"left out: {name}: {reason}")
    if view.bullets or not view.enabled:
        return 0
    if any(each.rule == "unreadable" for each in view.problems):
        return 5
    common.note('Your profile is empty. Add to it with: byheart remember "I prefer pnpm"')
    return 0


@click.command(epilog=common.examples("byheart rules", "byheart rules --global"))
@click.option("--all-scopes", is_flag=True, help="Both this project's and global rules.")
@group.scope_option
@group.json_option
def rules(all_scopes: bool, scope: str | None, as_object: bool) -> int:
    """Show the rules a session is told first (3 to 7).

    Constraints come before rules, rules before preferences, then by weight and date. Overridden entries are left out.
    """
    opened = common.opened()
    scopes = (Scope.LOCAL, Scope.GLOBAL) if all_scopes else (Scope(scope or "local"),)
    found = opened.memory.rules(scopes=scopes)
    common.problems(each for each in found.problems if each.severity != "note")
    if as_object:
        common.put(found)
    else:
        for hit in found.hits:
            weight = f" (weight {hit.record.weight})" if hit.record.weight > 1 else ""
            common.say(f"- [{hit.record.kind.value}] {hit.record.text}{weight}")
    if _disabled(found.problems):
        common.note("Memory is off. Turn it on with: byheart settings enabled on")
        return 0
    return common.ended(found, 'No rules yet. Add one with: byheart remember "never push to main"')


def _disabled(problems: Sequence[Finding]) -> bool:
    return any(each.rule == "disabled" for each in problems)


@click.command(epilog=common.examples("byheart log", "byheart log -n 5 --json"))
@click.option(
    "-n", "--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="Maximum number of entries."
)
@group.scope_option
@group.json_option
def log(limit: int, scope: str | None, as_object: bool) -> int:
    """Show changes, newest first, with receipts for undo."""
    opened = common.opened()
    entries = opened.memory.log(scope=common.scope_of(scope) or Scope.LOCAL, most=limit)
    if as_object:
        common.put(entries)
    else:
        rows = [
            (
                each.id,
                each.at[:19].replace("T", " "),
                each.action + (" (undone)" if each.undone else ""),
                visible(" ".join(each.summary.split())),
            )
            for each in entries
        ]
        for line in table(rows):
            common.say(line)
    if not entries:
        common.note("No changes yet.")
    return 0


_ASKED, _LISTED = 5, 20


@click.command(
    epilog=common.examples(
        'byheart experiences "the build runs out of memory"', "byheart experiences", "byheart experiences --gather"
    )
)
@click.argument("query", nargs=-1)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 1000), help="Maximum number (default: 5 matches, or the 20 newest)."
)
@click.option("--gather", is_flag=True, help="Collect new experiences now.")
@group.scope_option
@group.json_option
def experiences(query: tuple[str, ...], limit: int | None, gather: bool, scope: str | None, as_object: bool) -> int:
    """Show related past experiences; without a query, the newest.

    An experience is a record, lesson or solved failure that was new when it was collected. Enable with
    journal.experience_store_enabled.
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
        common.note("No match." if query else "No experiences yet. Collect them with: byheart experiences --gather")
    return 0 if found or not query else 1


def _gather(scope: str | None, as_object: bool) -> int:
    opened = common.opened(upkeep=False)
    rounds = []
    for each in common.scopes_of(scope):
        learnt = sessions.learnt_of(opened, common.surroundings()) if each is Scope.LOCAL else ()
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


@click.command(
    epilog=common.examples(
        "byheart brief", "byheart brief --explain", 'byheart brief --hint "flaky login test"', "byheart brief --json"
    )
)
@click.option(
    "--explain", is_flag=True, help="Explain each line: why it is included, what was left out, and token costs."
)
@click.option("--hint", default="", metavar="TEXT", help="What the session is about: first prompt, branch, files.")
@click.option("--tokens", type=click.IntRange(200, 200_000), help="Maximum tokens (default: brief.tokens).")
@click.option(
    "--characters", type=click.IntRange(1_000, 1_000_000), help="Maximum characters, for agents that truncate."
)
@click.option("--prepare", is_flag=True, hidden=True, help="Only prepare it for the hooks.")
@group.json_option
def brief(explain: bool, hint: str, tokens: int | None, characters: int | None, prepare: bool, as_object: bool) -> int:
    """Show the brief that the next session here will receive.

    It is built from your profile, rules, handbook and journal, for this project and global, never from another project.
    Each line has an address; read it with byheart memory read.
    """
    opened = common.opened(upkeep=False)
    around = common.surroundings()
    if prepare:
        briefs.prepared(opened, around)
        return 0
    found = briefs.brief(opened, around, hint=hint, tokens=tokens, characters=characters)
    if as_object:
        common.put(found)
    elif found is not None and found.text:
        if explain and found.told:
            # Each line with its reason is the brief; it is not printed twice.
            _explained(found.told, found.left_out)
        else:
            common.page(found.text.rstrip("\n"), wraps=True)
        common.note(f"{found.tokens:,} tokens, {found.characters:,} characters, {len(found.told)} lines")
    for note in found.notes if found else ():
        common.note(f"byheart: {visible(note)}")
    if found is not None and not found.told:
        return 0
    if found is None:
        common.note("Nothing to tell a session here yet. Start with: byheart learn, or byheart remember")
    return 0


@click.command(epilog=common.examples("byheart gain", "byheart gain --weeks 26", "byheart gain --svg gain.svg"))
@click.option("--weeks", type=click.IntRange(1, 520), default=8, show_default=True, help="Weeks to look back.")
@click.option("--svg", "svg", metavar="FILE", help="Also write a picture to FILE (must not exist).")
@group.json_option
def gain(weeks: int, svg: str | None, as_object: bool) -> None:
    """Show which errors memory would have prevented, and which it did.

    Counts errors in your sessions that an earlier session of the same project had already solved. Minutes run from the failure
    to the call that worked, at most 30; unsolved errors count none.
    """
    opened, around = common.opened(upkeep=False), common.surroundings()
    every = sessions.open_sessions(opened, around)
    now = around.clock()
    found = app_gain.gain(sessions.open_learning(opened, around, every), every, opened.home, weeks, now)
    by_week = app_gain.by_week(found.again, weeks, now)
    said = moments.helped(opened.home)
    if svg:
        opened.write_new(app_open.place_of(svg, common.folder()), app_gain.picture(found, now))
    if as_object:
        common.put(
            {
                "weeks": weeks,
                "sessions": dict(found.sessions),
                "again": found.again,
                "minutes": round(found.minutes, 1),
                "by_week": by_week,
                "briefed": found.briefed,
                "since": found.since or None,
                "followed": found.followed,
                "remarks": said,
            }
        )
        return
    if not found.again:
        common.say(
            f"No error came back in {counted(sum(found.sessions.values()), 'session')} of the last {weeks} weeks."
            if any(found.sessions.values())
            else f"No sessions from the last {weeks} weeks were learnt from yet. Learn with: byheart learn"
        )
    else:
        _gained(found, by_week)
    if found.briefed:
        met = sum(each.is_told for each in found.again)
        common.say(
            f"\nSince {found.since[:10]}, {found.briefed} of these sessions were told a brief: {found.followed} times one used what it was told "
            f"and did not meet the error, {met} times it was met all the same."
        )
    if any(said.values()):
        common.say(
            f"Remarks at failures: {said['helped']} were followed by success, {said['failed again']} by the same failure."
        )
    if svg:
        common.note(f"Picture written to {svg}")


def _gained(found: app_gain.Gain, by_week: Sequence[int]) -> None:
    common.say(app_gain.sentence(found))
    rows = [("", "project", "sessions", "met again", "spelling", "calls", "minutes")]
    for project in sorted(found.sessions, key=lambda name: -sum(each.project == name for each in found.again)):
        own = [each for each in found.again if each.project == project]
        if own:
            rows.append(("", visible(project), str(found.sessions[project]), *_counts(own)))
    for agent in sorted({each.agent for each in found.again}):
        rows.append(("", f"({agent})", "", *_counts([each for each in found.again if each.agent == agent])))
    common.say("")
    for line in table(rows):
        common.say(line)
    top = max(by_week)
    bars = "".join(_BARS[round((len(_BARS) - 1) * count / top)] for count in by_week)
    numbers = f"  ({', '.join(map(str, by_week))})" if len(by_week) <= _NUMBERED else ""
    common.say(f"\n  by week  {bars}{numbers}\n")
    for times, error, advice in app_gain.commonest(found.again, _COMMONEST):
        common.say(f"  {times} × {visible(phrases.shortened(error, 110))}")
        common.say(f"      {visible(phrases.shortened(advice, 150))}")


def _counts(own: Sequence[app_gain.Again]) -> tuple[str, str, str, str]:
    spelled = sum(each.is_spelling for each in own)
    return str(len(own)), str(spelled), str(sum(each.calls for each in own)), f"{sum(each.minutes for each in own):.0f}"


@click.command(epilog=common.examples("byheart why", "byheart why 5e550001"))
@click.argument("session", required=False)
@group.json_option
def why(session: str | None, as_object: bool) -> None:
    """Show what a session was told and why: the last one, or the one with this id prefix."""
    opened = common.opened(upkeep=False)
    found = briefs.why(opened.home, session)
    if not found:
        if as_object:
            common.put({})
        common.note(
            "No session has received a brief yet. Connect agents with: byheart install. Preview the brief with: byheart brief"
        )
        return
    remarks = moments.told(opened.home, str(found["client"]), str(found["session"]))
    if as_object:
        common.put({**found, "remarks": remarks})
        return
    common.say(
        f"{visible(str(found['client']))} session {visible(str(found['session']))} in {visible(str(found['folder']))}, {found['at']}"
    )
    told = [ToldLine(section=str(each[0]), text=str(each[1]), address=str(each[2]), why=str(each[4]), tokens=int(each[3])) for each in found["told"]]  # fmt: skip
    left = [ToldLine(section=str(each[0]), text=str(each[1]), address=str(each[2]), why=str(each[3])) for each in found["left_out"]]  # fmt: skip
    _explained(told, left)
    if remarks:
        common.say("\nWhile it worked")
    for each in remarks:
        common.say(f"  {visible(each['text'])}")
        common.say(
            f"    {visible(str(each.get('event', '')))}, {visible(str(each.get('at', '')))}: {visible(str(each.get('why', '')))}"
        )


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
