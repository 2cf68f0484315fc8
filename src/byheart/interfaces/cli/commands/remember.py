"""Commands that change memory: remember, forget, confirm, settings, undo."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from byheart.domain.errors import BadInput, NothingFound, Refused
from byheart.domain.journal import Sensitivity
from byheart.domain.records import Kind, Request, Scope, Signal, Triple, Value
from byheart.domain.results import Receipt
from byheart.interfaces.cli import common, group
from byheart.interfaces.render import NOTEBOOK_NAMES, as_json, receipt_line, short, statement
from byheart.language.wording import simple_value
from byheart.notebooks.forget import CANNOT_UNDO
from byheart.text.deferred import module

if TYPE_CHECKING:
    from byheart.app import config, config_file, sessions, setting_rules
    from byheart.app import memory as app_memory
    from byheart.app.open import OpenMemory
else:
    config = module("byheart.app.config")
    config_file = module("byheart.app.config_file")
    app_memory = module("byheart.app.memory")
    sessions = module("byheart.app.sessions")
    setting_rules = module("byheart.app.setting_rules")

_SIGNALS = {"explicit": Signal.EXPLICIT, "repeated": Signal.REPEATED, "inferred": Signal.INFERRED}


@click.command(
    epilog=common.examples(
        'byheart remember "never run build repeatedly because it is heavy"',
        'byheart remember "global: I prefer pnpm"',
        "byheart remember --key writing.tone concise",
        'byheart remember --issue "tests hang" --outcome "CI times out" --fix "raise the timeout to 60 s"',
    )
)
@click.argument("text", nargs=-1)
@click.option("--kind", type=click.Choice([kind.value for kind in Kind]), help="Kind of memory.")
@click.option("--key", help="Key in memories.md, such as writing.tone.")
@click.option("--value", help="Value: text, number, true, false, or JSON for a list or map.")
@click.option("--triple", nargs=3, metavar="SUBJECT PREDICATE OBJECT", help="The rule's key in memories.ndjson.")
@click.option("--to", type=click.Choice(list(common.NOTEBOOKS)), help="Where to store them.")
@click.option("--tag", "tags", multiple=True, help="Tag (repeatable).")
@click.option("--source", help="Where it comes from.")
@click.option("--category", help="Journal category, such as note or decision.")
@click.option(
    "--sensitivity",
    type=click.Choice([each.value for each in Sensitivity]),
    help="Journal sensitivity.",
)
@click.option("--issue", help="Lesson: what went wrong.")
@click.option("--outcome", help="Lesson: the result.")
@click.option("--fix", help="Lesson: what fixed it.")
@click.option("--private", is_flag=True, help="Store it even if it is sensitive personal data.")
@click.option("--auto", is_flag=True, help="Automatic write: store only what the capture policy allows.")
@click.option("--signal", type=click.Choice(list(_SIGNALS)), help="With --auto: the kind of signal.")
@click.option("--dry-run", is_flag=True, help="Show whether and where it would be stored; store nothing.")
@group.scope_option
@group.json_option
def remember(
    text: tuple[str, ...],
    kind: str | None,
    key: str | None,
    value: str | None,
    triple: Triple | None,
    to: str | None,
    tags: tuple[str, ...],
    source: str | None,
    category: str | None,
    sensitivity: str | None,
    issue: str | None,
    outcome: str | None,
    fix: str | None,
    private: bool,
    auto: bool,
    signal: str | None,
    dry_run: bool,
    scope: str | None,
    as_object: bool,
) -> None:
    """Save one memory.

    TEXT is a sentence ("-" reads stdin). It is saved for this project unless --global or the sentence says otherwise
    ("global: …", "in every project …"). If the project keeps one kind of memory file, it goes there; otherwise rules go to
    memories.ndjson, preferences and lessons to memories.md.
    """
    sentence = sys.stdin.read().removeprefix("\ufeff") if text == ("-",) else " ".join(text)
    content: Value = _value(value)
    if issue or outcome or fix:
        if not (issue and fix):
            raise BadInput("A lesson needs both --issue and --fix")
        lesson: dict[str, Value] = {"issue": issue, "outcome": outcome, "fix": fix}
        content = {name: part for name, part in lesson.items() if part}
        sentence = sentence or (f"{issue} -> {outcome} -> {fix}" if outcome else f"lesson: {issue} -> {fix}")
        kind = kind or Kind.LESSON.value
    named = (("key", key), ("triple", triple), ("value", value), ("source", source), ("tags", tags))
    given = frozenset(name for name, was in named if was)
    request = Request(
        text=sentence,
        kind=Kind(kind) if kind else None,
        key=key,
        value=content,
        triple=triple or None,
        to=common.NOTEBOOKS[to] if to else None,
        scope=common.scope_of(scope),
        signal=_SIGNALS[signal or ("inferred" if auto else "explicit")],
        asked=not auto,
        is_private_wanted=private and not auto,
        tags=tags,
        source=source,
        category=category,
        sensitivity=sensitivity,
        given=given,
    )
    opened = common.opened(writes=True)
    if dry_run:
        _judged(opened.memory.judge(request), as_object)
        return
    receipt = opened.memory.remember(request)
    if as_object:
        common.put(receipt)
    elif receipt.announce:
        _print(receipt, given)


def _value(text: str | None) -> Value:
    if text is None:
        return None
    if text.startswith(("[", "{")):
        try:
            found: Value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"--value is not valid JSON ({error})") from None
        return found
    return simple_value(text)


def _judged(verdict: object, as_object: bool) -> None:
    if as_object:
        common.put(verdict)
        return
    view = as_json(verdict)
    assert isinstance(view, dict)
    stored = "would be stored" if view["stored"] else "would not be stored"
    common.say(f"{stored}, confidence {view['confidence']}")
    for reason in view["reasons"]:
        common.say(f"  {'yes' if reason['passed'] else 'no '}  {reason['test']}: {reason['because']}")


def _print(receipt: Receipt, given: frozenset[str] = frozenset()) -> None:
    common.say(receipt_line(receipt))
    for each in receipt.notes:
        common.note(f"note: {each}")
    # The receipt lists all that the format cannot spell; a person wants to hear of what they typed.
    missed = [name for name in receipt.lost if name in given or name == "kind"]
    if missed:
        common.note(f"note: {NOTEBOOK_NAMES[receipt.dialect]} does not keep {', '.join(missed)}")


@click.command(epilog=common.examples("byheart forget writing.tone", 'byheart forget "I prefer pnpm." --yes'))
@click.argument("selector")
@click.option("--reason", default="user asked", show_default=True, help="Reason, kept with the tombstone.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@group.scope_option
@group.json_option
def forget(selector: str, reason: str, yes: bool, scope: str | None, as_object: bool) -> None:
    """Delete one memory for good.

    SELECTOR is an address (memory://…#…), a handle, a key, or the words shown in a brief, list or recall. If several
    memories match, nothing changes and they are listed; if none does, the closest are.

    The text is also removed from the log and backups, so this cannot be undone. A tombstone keeps it from being learnt
    again.
    """
    opened = common.opened(writes=True)
    where = common.scope_of(scope)
    learning = sessions.open_learning(opened, common.surroundings(), even_off=True)
    try:
        target = learning.target(selector, where)
        told = statement(target.hit.record) if target.hit else target.text
        question = f"Forget {opened.memory.context.scanner.redacted(told)!r} at {target.where}?"
        if not as_object:
            common.note(f"note: {CANNOT_UNDO}")
    except NothingFound as error:
        if not opened.memory.is_in_history(selector, scope=where):
            raise error from None
        target, question = None, f"Only the history still has {selector!r}. Delete it there? {CANNOT_UNDO}"
    if not yes and not as_object:
        if not sys.stdin.isatty():
            raise Refused("Nothing was forgotten: this cannot be undone. Confirm with --yes")
        click.confirm(question, abort=True, err=True)
    if target is not None:
        receipt = learning.forget(target, scope=where, reason=reason)
        opened.memory.caught_up()
    else:
        receipt = opened.memory.forget(selector, scope=where, reason=reason)
    if as_object:
        common.put(receipt)
        return
    if target is None or target.hit is not None:
        common.say(receipt_line(receipt))
    else:
        learnt = " (it will not be learnt again)" if target.learnt else ""
        common.say(f"Forgot: {opened.memory.context.scanner.redacted(target.text) or selector}{learnt}")
    for each in receipt.notes:
        if each != CANNOT_UNDO:
            common.note(f"note: {each}")


@click.command(epilog=common.examples("byheart confirm tooling.pnpm"))
@click.argument("selector")
@group.scope_option
@group.json_option
def confirm(selector: str, scope: str | None, as_object: bool) -> None:
    """Confirm a memory: high confidence, no longer awaiting confirmation."""
    receipt = common.opened(writes=True).memory.confirm(selector, scope=common.scope_of(scope))
    if as_object:
        common.put(receipt)
    else:
        _print(receipt)


@click.command(
    epilog=common.examples(
        "byheart settings",
        "byheart settings enabled off",
        "byheart settings brief.tokens 3000",
        "byheart settings brief.tokens --unset",
    )
)
@click.argument("name", required=False)
@click.argument("state", required=False, metavar="[VALUE]")
@click.option("--unset", is_flag=True, help="Remove it from your config.toml (back to the default).")
@group.scope_option
@group.json_option
def settings(name: str | None, state: str | None, unset: bool, scope: str | None, as_object: bool) -> None:
    """Show or change settings: `enabled` and `announce_writes` per project, others in your config.toml."""
    # A setting of the machine is read anew once it is changed: a brief made before that would be made with the old one.
    opened = common.opened(writes=name in _SWITCHES and bool(state))
    where = common.scope_of(scope) or Scope.LOCAL
    if name and name not in _SWITCHES:
        _setting(opened, name, state, unset, as_object)
        return
    if state and state not in ("on", "off"):
        raise BadInput(f"{name} must be on or off, not {state!r}")
    if name and state:
        receipt = opened.memory.switch(name, on=state == "on", scope=where)
        if as_object:
            common.put(receipt)
        else:
            common.say(f"{name} is {state} ({where.value}, {receipt.path})")
        return
    switches = opened.memory.settings(where)
    if as_object:
        chosen = {
            "notebook": as_json(switches),
            "config": dict(opened.config.values),
            "origins": dict(opened.config.origins),
        }
        common.put(chosen if name is None else {name: getattr(switches, name)})
        return
    if name:
        common.say("on" if getattr(switches, name) else "off")
        return
    common.say(common.heading(f"This project's memory ({where.value})", opened))
    common.say(f"  enabled          {'on' if switches.enabled else 'off'}")
    common.say(f"  announce_writes  {'on' if switches.announce_writes else 'off'}")
    common.say(common.heading("Settings (changed ones first)", opened))
    origins = opened.config.origins
    for key in sorted(opened.config.values, key=lambda key: origins[key] == "default"):
        common.say(f"  {key:<42} {_shown(opened.config.values[key]):<10} {origins[key]}")
    common.note("Explain one: byheart settings KEY · change it: byheart settings KEY VALUE")


def _setting(opened: OpenMemory, key: str, value: str | None, unset: bool, as_object: bool) -> None:
    """Show or change one setting of the user's configuration."""
    if unset:
        config_file.unset(opened, key)
    elif value is not None:
        config_file.put(opened, key, value)
    elif setting_rules.named(key) not in opened.config.values:
        config.understood("settings", key, "")
    opened, key = common.opened(writes=True), setting_rules.named(key)
    rule, told = setting_rules.KEYS[key], opened.config
    if as_object:
        common.put({"key": key, "value": told.values[key], "origin": told.origins[key], "allowed": rule.allowed(), "meaning": config.meanings().get(key, "")})  # fmt: skip
        return
    common.say(f"{key} = {_shown(told.values[key])}  (set by: {told.origins[key]})")
    if value is None and not unset:
        common.say(config.meanings().get(key, ""))
        common.say(f"Allowed: {rule.allowed()}")


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, str) else str(value)


_SWITCHES = ("enabled", "announce_writes")


@click.command(epilog=common.examples("byheart undo", "byheart undo 3f9a01c2"))
@click.argument("receipt", required=False)
@group.scope_option
@group.json_option
def undo(receipt: str | None, scope: str | None, as_object: bool) -> None:
    """Undo the last change, or the one named by RECEIPT (see byheart log).

    If the file has not changed since, its old bytes are restored; otherwise only this change is reverted.
    """
    done, project = app_memory.undone(common.opened(writes=True), receipt, common.scope_of(scope))
    if as_object:
        common.put(done)
    else:
        where = f"project {project}" if project else done.scope.value
        common.say(f"Undone: {done.notes[0]} ({where}, {short(done.path)})")
