"""Commands that keep the house: init, check, doctor, completion, version."""

from __future__ import annotations

import platform

import click

from byheart import __version__
from byheart.domain.errors import Refused
from byheart.interfaces.cli import frame
from byheart.interfaces.render import finding_line, table

_PARTS = ("click", "google-re2", "markdown-it-py", "PyYAML")


@click.command(epilog=frame.examples("byheart init", "byheart init --in-repo"))
@click.option("--in-repo", is_flag=True, help="Keep this project's notebooks in the repository, where git sees them.")
@frame.json_option
def init(in_repo: bool, as_object: bool) -> None:
    """Set up this project's notebook and say where everything lies.

    By default memory stays outside the repository. With --in-repo, memories.md and docs/memory/memories.ndjson are made in
    it, and what was stored for this project so far moves there.
    """
    opened = frame.opened()
    fixed = [key for key in ("paths.profile", "paths.rules") if opened.config.text(key)]
    if in_repo and fixed:
        where = opened.config.origins[fixed[0]]
        raise Refused(f"{fixed[0]} in {where} says where the notebook lies; remove it there before moving the notebook")
    ready = opened.memory.init(opened.in_repo if in_repo else None)
    if as_object:
        frame.put(ready)
        return
    for each in ready.done:
        frame.say(each)
    frame.say(f"project {ready.project}")
    for line in table([("  " + name, path) for name, path in ready.documents]):
        frame.say(line)
    if in_repo:
        frame.note("note: these files are part of the repository now; whoever clones it can read them")
    frame.note('next: byheart remember "I prefer pnpm"')


@click.command(epilog=frame.examples("byheart check", "byheart check docs/memory/memories.ndjson"))
@click.argument("file", required=False)
@frame.scope_option
@frame.json_option
def check(file: str | None, scope: str | None, as_object: bool) -> int:
    """Look for what is wrong with the memory files; exit code 3 when something is. Nothing is changed."""
    from byheart.wiring import place_of

    opened = frame.opened()
    place = place_of(file, frame.folder()) if file else None
    findings = opened.memory.check(place, scopes=frame.scopes_of(scope))
    if as_object:
        frame.put(findings)
    else:
        for each in findings:
            frame.say(finding_line(each))
        frame.note(f"{len(findings)} finding{'' if len(findings) == 1 else 's'}" if findings else "nothing wrong")
    return 3 if findings else 0


@click.command(epilog=frame.examples("byheart doctor"))
@frame.json_option
def doctor(as_object: bool) -> int:
    """Say how the installation stands: versions, folders, files, history."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    from byheart.wiring import machine

    opened = frame.opened()
    versions = [("byheart", __version__), ("python", platform.python_version())]
    for name in _PARTS:
        try:
            versions.append((name, installed(name)))
        except PackageNotFoundError:
            versions.append((name, "not installed as a package"))
    found = opened.memory.doctor(machine(opened, versions))
    if as_object:
        frame.put(found)
    else:
        for line in table([(each.state, each.subject, each.detail) for each in found]):
            frame.say(line)
    return 5 if any(each.state == "failure" for each in found) else 0


@click.command(epilog=frame.examples('eval "$(byheart completion bash)"', "byheart completion fish | source"))
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that teaches a shell to complete byheart's commands and options."""
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root().command
    chosen = get_completion_class(shell)
    assert chosen is not None
    source = chosen(root, {}, "byheart", "_BYHEART_COMPLETE")
    click.echo(source.source_template % source.source_vars())


@click.command(epilog=frame.examples("byheart version"))
@frame.json_option
def version(as_object: bool) -> None:
    """Print the version."""
    if as_object:
        frame.put({"byheart": __version__, "python": platform.python_version()})
    else:
        frame.say(f"byheart {__version__}")
