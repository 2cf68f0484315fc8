"""Commands that only look: recall, show, list, profile, rules, log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from byheart.domain.records import Kind, Scope
from byheart.interfaces.cli import common, options, recall_output
from byheart.interfaces.render import hit_line, record_lines, statement, table
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.domain.results import Finding


@click.command(
    epilog=common.examples(
        'byheart recall "how do we run the tests"',
        'byheart recall --explain "what did we decide last week"',
        'byheart recall --deep "why do logins fail"',
    )
)
@click.argument("query", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1, 100), help="How many results at most.")
@click.option("--deep", is_flag=True, help="Read the best results closely; better order, a moment longer.")
@click.option("--explain", is_flag=True, help="Show what speaks for each result.")
@options.scope_option
@options.json_option
def recall(
    query: tuple[str, ...], limit: int | None, deep: bool, explain: bool, scope: str | None, as_object: bool
) -> int:
    """Find memories by words and by meaning, best first.

    Quoted words are looked for as they stand. Words such as "last week" or "in March" are taken as a hint.
    """
    return recall_output.told(query, limit=limit, deep=deep, explain=explain, scope=scope, as_object=as_object)


@click.command(
    "list",
    epilog=common.examples("byheart list", "byheart list --kind constraint", "byheart list --tag needs-confirmation"),
)
@click.option("--kind", type=click.Choice([kind.value for kind in Kind]), help="Only this kind.")
@click.option("--tag", help="Only entries with this tag.")
@click.option("--notebook", type=click.Choice(list(common.NOTEBOOKS)), help="Only this notebook.")
@options.scope_option
@options.json_option
def list_(kind: str | None, tag: str | None, notebook: str | None, scope: str | None, as_object: bool) -> int:
    """List memories, a line each."""
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
    return recall_output.ended(found, "there are no memories here; add one with: byheart remember")


@click.command(epilog=common.examples("byheart show", "byheart show writing.tone"))
@click.argument("selector", required=False)
@options.scope_option
@options.json_option
def show(selector: str | None, scope: str | None, as_object: bool) -> int:
    """Show the memory files as they are, or one memory in full.

    This works while memory is switched off. Secrets that somebody typed into a file are blanked out.
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
        common.note("byheart: there are no memory files yet; add a memory with: byheart remember")
        return 1
    return 0


@click.command(epilog=common.examples("byheart profile", "byheart profile --explain"))
@click.option("--explain", is_flag=True, help="Also say what was left out, and why.")
@options.scope_option
@options.json_option
def profile(explain: bool, scope: str | None, as_object: bool) -> int:
    """Show the Active Profile: at most 15 preferences and lessons that apply to a session here.

    Entries of low confidence and entries that wait for confirmation are left out. What the user asks for in the session
    always wins over the profile.
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
    common.note("byheart: the profile is empty; add to it with: byheart remember --key writing.tone concise")
    return 1


@click.command(epilog=common.examples("byheart rules", "byheart rules --global"))
@click.option("--all-scopes", is_flag=True, help="This project's rules and the global ones together.")
@options.scope_option
@options.json_option
def rules(all_scopes: bool, scope: str | None, as_object: bool) -> int:
    """Show the three to seven rules that come before a session.

    Constraints come before rules, rules before preferences; then weight counts, then the newer line. Overruled entries
    are left out.
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
        common.note("byheart: memory is switched off")
        return 0
    return recall_output.ended(found, "there are no rules here; add one with: byheart remember")


def _disabled(problems: Sequence[Finding]) -> bool:
    return any(each.rule == "disabled" for each in problems)


@click.command(epilog=common.examples("byheart log", "byheart log -n 5 --json"))
@click.option("-n", "--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="How many entries.")
@options.scope_option
@options.json_option
def log(limit: int, scope: str | None, as_object: bool) -> int:
    """Show what changed, newest first, with the receipts that undo takes."""
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
        common.note("byheart: nothing has changed yet")
        return 1
    return 0
