"""byheart install, uninstall, status and mcp: agents, connected to memory."""

from __future__ import annotations

import difflib
import os
import shlex
from typing import TYPE_CHECKING

import click

from byheart.domain.documents import Place
from byheart.domain.errors import BadInput, Environment, NothingFound
from byheart.interfaces.cli import common, group
from byheart.interfaces.render import short, table
from byheart.text.deferred import module
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from byheart.agents.installing.pieces import FileChange, Installed
    from byheart.app import connecting
    from byheart.app import open as app_open
    from byheart.app.open import OpenMemory, Surroundings
    from byheart.domain import documents
    from byheart.interfaces.cli.commands import onboarding
    from byheart.interfaces.mcp import http as mcp_http
    from byheart.interfaces.mcp import stdio
else:
    connecting = module("byheart.app.connecting")
    app_open = module("byheart.app.open")
    documents = module("byheart.domain.documents")
    onboarding = module("byheart.interfaces.cli.commands.onboarding")
    mcp_http = module("byheart.interfaces.mcp.http")
    stdio = module("byheart.interfaces.mcp.stdio")

_project = click.option("--project", "in_project", is_flag=True, help="Write to this project's files instead of yours.")
_user = click.option("--user", "for_user", is_flag=True, help="Write to your own files, for all projects (default).")
_dry = click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
_all = click.option("--all", "every", is_flag=True, help="Every agent found on this machine.")


@click.command(
    epilog=common.examples(
        "byheart install claude-code", "byheart install --all --dry-run", "byheart install codex gemini-cli --project"
    )
)
@click.argument("agents", nargs=-1, metavar="[AGENT…]")
@_all
@_project
@_user
@_dry
@click.option("--no-trust", is_flag=True, help="Codex: do not trust the hooks; you approve them in Codex.")
@group.json_option
def install(
    agents: tuple[str, ...],
    every: bool,
    in_project: bool,
    for_user: bool,
    dry_run: bool,
    no_trust: bool,
    as_object: bool,
) -> int:
    """Connect agents: install hooks that brief each session and learn from it, and memory tools.

    Existing content, comments included, is kept. A backup is made of each file; byheart uninstall restores it exactly.
    """
    opened, around = common.opened(upkeep=False), common.surroundings()
    chosen = _chosen(agents, every, opened, around)
    project = _where(in_project, for_user, opened)
    before = connecting.installed(opened)
    try:
        done = [connecting.install(opened, around, name, project, dry=dry_run, trust=not no_trust) for name in chosen]
    except KeyboardInterrupt:
        fresh = [name for name, scope in connecting.installed(opened) if (name, scope) not in before]
        undo = f"Connected so far: {', '.join(fresh)}; byheart uninstall {' '.join(fresh)} disconnects them"
        common.note(f"Stopped. {undo if fresh else 'No agent was connected.'}")
        raise
    return _ended(done, as_object, dry_run=dry_run, verb="connected")


@click.command(epilog=common.examples("byheart uninstall claude-code", "byheart uninstall --all"))
@click.argument("agents", nargs=-1, metavar="[AGENT…]")
@_all
@_project
@_user
@_dry
@group.json_option
def uninstall(
    agents: tuple[str, ...], every: bool, in_project: bool, for_user: bool, dry_run: bool, as_object: bool
) -> int:
    """Disconnect agents and restore their settings files."""
    opened = common.opened(upkeep=False)
    known = connecting.installed(opened)
    if not agents and not every:
        raise BadInput("Name an agent or use --all. See which are connected with: byheart status")
    agents = tuple(map(connecting.agent_called, agents))
    scope = connecting.scope_of(_where(in_project, for_user, opened)) if in_project or for_user else None
    wanted = [(name, where) for name, where in known if (every or name in agents) and scope in (None, where)]
    if not wanted:
        raise NothingFound("Not connected. See which agents are with: byheart status")
    done = [connecting.uninstall(opened, name, where, dry=dry_run) for name, where in wanted]
    return _ended(done, as_object, dry_run=dry_run, verb="disconnected")


@click.command(epilog=common.examples("byheart plugin claude-code ~/byheart-plugin"))
@click.argument("agent")
@click.argument("folder")
@group.json_option
def plugin(agent: str, folder: str, as_object: bool) -> None:
    """Write a plugin for Claude Code or Codex to a new folder, with its marketplace file.

    Use it if you would rather add a plugin than let byheart install edit settings."""
    import os

    opened, around = common.opened(upkeep=False), common.surroundings()
    files, how = connecting.plugin(opened, around, agent)
    top = os.path.realpath(os.path.join(common.folder(), os.path.expanduser(folder)))
    if os.path.exists(top) and (not os.path.isdir(top) or os.listdir(top)):
        raise BadInput(f"{top} already exists; name a new folder")
    os.makedirs(top, mode=0o755, exist_ok=True)
    for path, text in files.items():
        opened.files.write(documents.Place(top, path), text, "")
    commands = [line.format(folder=shlex.quote(top)) for line in how]
    if as_object:
        common.put({"folder": top, "files": sorted(files), "commands": commands})
        return
    common.say(f"{top}: {len(files)} files")
    for line in commands:
        common.say(f"next: {line}")


@click.command(epilog=common.examples("byheart status", "byheart status codex --json"))
@click.argument("agents", nargs=-1, metavar="[AGENT…]")
@click.option("--no-check", is_flag=True, help="Only check files; run no hook or server.")
@group.json_option
def status(agents: tuple[str, ...], no_check: bool, as_object: bool) -> int:
    """Check which agents are installed and connected, and whether the connection works."""
    opened, around = common.opened(upkeep=False), common.surroundings()
    agents = tuple(map(connecting.agent_called, agents))
    found = connecting.statuses(opened, around, agents, live=not no_check)
    if as_object:
        common.put(found)
    else:
        rows = []
        away = [each for each in found if not each.is_here and not each.scopes and not agents]
        for each in (each for each in found if each not in away):
            where = ", ".join(each.scopes) or "not connected"
            works = "; ".join(f"{what} {how}" for what, how in each.works)
            rows.append((each.agent, "here" if each.is_here else "not found", visible(each.version), where, works))
        for line in table(rows):
            common.say(line.rstrip())
        if away:
            common.say(f"Also supported, and not found here: {', '.join(each.agent for each in away)}")
        if any(each.is_here and not each.scopes for each in found):
            common.note("Connect what is here: byheart install --all")
        for each in found:
            for problem in each.problems:
                common.note(f"byheart: {each.agent}: {visible(problem)}")
        onboarding.offer(opened, asks=True)
    return 4 if any(each.problems for each in found) else 0


def _chosen(agents: tuple[str, ...], every: bool, opened: OpenMemory, around: Surroundings) -> list[str]:
    if every:
        found = connecting.here(opened, around)
        if not found:
            raise NothingFound(f"No agent found on this machine. Supported: {', '.join(connecting.names())}")
        return list(dict.fromkeys([*found, *map(connecting.agent_called, agents)]))
    if not agents:
        here = ", ".join(connecting.here(opened, around)) or "none"
        raise BadInput(f"Name an agent or use --all. Found here: {here}. Supported: {', '.join(connecting.names())}")
    return list(dict.fromkeys(map(connecting.agent_called, agents)))


def _where(in_project: bool, for_user: bool, opened: OpenMemory) -> str | None:
    if in_project and for_user:
        raise BadInput("Use either --project or --user, not both")
    return opened.project.folder if in_project else None


def _ended(done: list[Installed], as_object: bool, *, dry_run: bool, verb: str) -> int:
    if as_object:
        common.put([_spelled(each, dry_run=dry_run) for each in done])
    else:
        for each in done:
            _told(each, dry_run=dry_run, verb=verb)
    return 4 if any(each.problem for each in done) else 0


def _spelled(each: Installed, *, dry_run: bool) -> dict[str, object]:
    """What was done, without the texts of files that are not ours."""
    changes = [
        {"path": change.path, "manner": _manner(change), "whys": change.whys, **({"diff": _difference(change)} if dry_run else {})}
        for change in each.changes
        if change.is_change
    ]  # fmt: skip
    return {"agent": each.agent, "scope": each.scope, "changes": changes, "notes": each.notes, "problem": each.problem}


def _manner(change: FileChange) -> str:
    return "new" if change.before is None else "deleted" if change.after is None else "changed"


def _difference(change: FileChange) -> list[str]:
    """What changes in a file, line by line; other people's secrets in it are not shown."""
    before, after = (change.before or "").splitlines(), (change.after or "").splitlines()
    lines = list(difflib.unified_diff(before, after, n=1, lineterm=""))[2:60]
    return app_open.redacted("\n".join(lines)).split("\n")


def _told(each: Installed, *, dry_run: bool, verb: str) -> None:
    changed = [change for change in each.changes if change.is_change]
    if each.problem:
        common.note(f"byheart: {each.agent}: {visible(each.problem)}")
    else:
        state = f"would be {verb}" if dry_run else verb
        told = state if changed else f"{verb} already" if each.changes else f"not {verb}"
        common.say(f"{each.agent}: {told} ({each.scope})")
    for change in changed if not each.problem else ():
        common.say(f"  {_manner(change)}: {visible(change.path)}: {'; '.join(dict.fromkeys(change.whys))}")
        if dry_run:
            for line in _difference(change):
                common.say(f"    {visible(line)}")
    for note in each.notes:
        common.note(f"byheart: {each.agent}: {visible(note)}")


TOKEN = "mcp-token"


@click.command(epilog=common.examples("byheart mcp", "byheart mcp --http --port 8787", "byheart mcp -C ~/shop"))
@click.option("--http", is_flag=True, help="Serve over HTTP on loopback instead of stdio.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8787,
    show_default=True,
    help="Port for --http (0: any free port).",
)
@click.option("--no-token", is_flag=True, help="With --http: accept any client on this machine.")
@click.option("-C", "folder", metavar="FOLDER", help="Project folder to use if the client names none.")
def mcp(http: bool, port: int, no_token: bool, folder: str | None) -> int:
    """Serve memory to an agent over MCP: tools, resources and prompts.

    byheart install adds this to your agents' settings. Over HTTP, clients send the token from ~/.byheart/state/mcp-token
    as Authorization: Bearer TOKEN.
    """
    if folder is not None:
        common.call.folder = folder
    around = common.surroundings()
    if not http:
        return stdio.serve(around.folder)
    token = "" if no_token else _token(around.home)
    try:
        server = mcp_http.Server("127.0.0.1", port, os.path.realpath(around.folder), token)
    except OSError as error:
        raise Environment(f"port {port} is not available ({error.strerror}). Choose another with --port") from None
    common.note(f"Serving http://127.0.0.1:{server.server_port}{mcp_http.PATH} for {around.folder}")
    if token:
        common.note(f"Token: {os.path.join(around.home, 'state', TOKEN)}")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0


def _token(home: str) -> str:
    """The token that clients need, made when it is first wanted."""
    import secrets

    files, place = app_open.disk(), Place(home, f"state/{TOKEN}")
    known = files.read(place).text
    if known and known.strip():
        return known.strip()
    made = secrets.token_urlsafe(32)
    files.write(place, f"{made}\n", files.read(place).digest)
    return made


@click.command(epilog=common.examples("byheart link", "byheart link codex", "byheart link oh-my-pi --write"))
@click.argument("agent", required=False)
@click.option(
    "--write", "writes", is_flag=True, help="Also write this project's handbook where the agent reads its own."
)
@group.json_option
def link(agent: str | None, writes: bool, as_object: bool) -> None:
    """Keep an agent's own handbook and this project's in step; without an agent, list the links.

    Works with Codex and oh-my-pi. What they wrote about this project is used as evidence, after every learning. With --write, they read
    this project's handbook in place of their own; a backup is kept, and byheart unlink restores their files.
    """
    opened, around = common.opened(upkeep=False), common.surroundings()
    if agent is None:
        found = connecting.linked(opened)
        if as_object:
            common.put(found)
            return
        for each in found:
            how = "read and written" if each["writes"] else "read"
            common.say(f"{each['agent']}: {how}, {short(str(each['folder']))}")
        if not found:
            common.say(
                f"No agent's handbook is linked with this project. Link one with: byheart link {connecting.linkable()[0]}"
            )
        return
    came, written = connecting.link(opened, around, agent, writes=writes)
    if as_object:
        common.put({"agent": agent, "read": came, "written": written})
        return
    common.say(
        f"Linked with {agent}: {_count(came, 'file')} read, {_count(written, 'file')} written. Undo with: byheart unlink {agent}"
    )


@click.command(epilog=common.examples("byheart unlink codex"))
@click.argument("agent")
@group.json_option
def unlink(agent: str, as_object: bool) -> None:
    """Stop keeping an agent's handbook in step, and restore its files."""
    changed = connecting.unlink(common.opened(upkeep=False), agent)
    if as_object:
        common.put({"agent": agent, "restored": changed})
        return
    common.say(f"No longer linked with {agent}: {_count(changed, 'file')} restored.")


def _count(found: list[str], what: str) -> str:
    return f"{len(found)} {what}{'' if len(found) == 1 else 's'}"
