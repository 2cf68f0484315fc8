"""The command line: one group, its commands loaded when they are called."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import TypeVar

import click

from byheart import __version__
from byheart.interfaces.cli import common

# What a person wants to do → name → module, in the order help shows them.
SECTIONS: dict[str, dict[str, str]] = {
    "Start here": {"init": "onboarding", "status": "connecting", "open": "gateway", "help": "check"},
    "Ask": {
        "recall": "show", "how": "sessions", "fix": "sessions", "blame": "sessions", "sessions": "sessions", "brief": "show", "why": "show",
        "profile": "show", "rules": "show", "list": "show", "show": "show", "gain": "show", "experiences": "show", "view": "gateway",
    },
    "Tell": {"remember": "remember", "confirm": "remember", "forget": "remember", "undo": "remember", "journal": "journal"},
    "Review": {"inbox": "learning", "review": "learning", "log": "show", "check": "check", "memory": "memory"},
    "Agents": {
        "install": "connecting", "uninstall": "connecting", "learn": "learning", "trust": "onboarding", "untrust": "onboarding", "mcp": "connecting",
        "link": "connecting", "unlink": "connecting", "serve": "gateway", "plugin": "connecting",
    },
    "Maintenance": {
        "settings": "remember", "doctor": "check", "jobs": "learning", "model": "check", "schedule": "journal", "import": "exchange",
        "export": "exchange", "sync": "exchange", "convert": "exchange", "completion": "check", "bench": "bench", "version": "check", "work": "learning",
    },
}  # fmt: skip
COMMANDS = {name: module for section in SECTIONS.values() for name, module in section.items()}
# One line each for the list of commands: reading them out of every command's module would take ten times as long.
LINES = {
    "init": "Set up: find agents and sessions, connect, learn",
    "status": "Check which agents are connected and working",
    "open": "Open memory in your browser",
    "help": "Show this, or help for a command",
    "recall": "Search memory",
    "how": "How a command is run in this project",
    "fix": "What fixed an error before",
    "blame": "Which sessions changed a file, and why",
    "sessions": "List, search and read sessions",
    "brief": "Show what the next session is told",
    "why": "Show what a session was told, and why",
    "profile": "Show your preferences",
    "rules": "Show the rules told first",
    "list": "List memories",
    "show": "Print the memory files",
    "gain": "Show what memory would have prevented",
    "experiences": "Related past experiences",
    "view": "Write all memory as one HTML page",
    "remember": "Save a preference, rule, fact or lesson",
    "confirm": "Mark a memory as right",
    "forget": "Delete a memory for good",
    "undo": "Undo the last change",
    "journal": "Append to and read the journal",
    "inbox": "Decide on uncertain items",
    "review": "Messages agents are asked to judge",
    "log": "Show what changed",
    "check": "Find contradictions and broken lines",
    "memory": "View and manage what was learnt",
    "install": "Connect agents",
    "uninstall": "Disconnect agents, restoring their files",
    "learn": "Learn from sessions now",
    "trust": "Use this checkout's memory files",
    "untrust": "Stop using them",
    "mcp": "Serve memory to agents over MCP",
    "link": "Keep Codex's or oh-my-pi's handbook in step",
    "unlink": "Stop that, restoring its files",
    "serve": "Serve the page, the API and MCP",
    "plugin": "Write an agent's plugin",
    "settings": "Show or change settings",
    "doctor": "Check the installation",
    "jobs": "The work of learning",
    "model": "Models for search and learning",
    "schedule": "Run upkeep by the machine's scheduler",
    "import": "Import memories",
    "export": "Export memories",
    "sync": "Keep several machines in step",
    "convert": "Convert a memory file",
    "completion": "Shell completion",
    "bench": "Measure search and learning",
    "version": "Print the version",
}
_HIDDEN = ("work",)
# What people type who know other tools.
_ALIASES = {"search": "recall", "add": "remember", "save": "remember", "rm": "forget", "delete": "forget", "remove": "forget", "ls": "list", "config": "settings", "set": "settings", "connect": "install", "disconnect": "uninstall", "setup": "init", "ui": "open", "web": "open", "history": "log"}  # fmt: skip
_ATTRIBUTES = {"import": "import_", "list": "list_", "open": "open_", "help": "help_"}


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command is wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by what a person wants to do, a line each."""
        del ctx
        widest = max(map(len, COMMANDS))
        for title, names in SECTIONS.items():
            with formatter.section(title):
                rows = [(name.ljust(widest), LINES[name]) for name in names if name not in _HIDDEN]
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named; a name that is none is answered with the nearest."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            import difflib

            near = [_ALIASES[name]] if name in _ALIASES else difflib.get_close_matches(name, COMMANDS, 3, 0.6)
            hint = f"Did you mean {' or '.join(near)}?" if near else "byheart help lists the commands."
            raise click.UsageError(f"Unknown command {name!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        loaded = import_module(f"byheart.interfaces.cli.commands.{module}")
        command: click.Command = getattr(loaded, _ATTRIBUTES.get(cmd_name, cmd_name))
        return command


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--version", "wants_version", is_flag=True, help="Print the version.")
@click.option("--set", "flags", multiple=True, metavar="KEY=VALUE", help="Override a setting for this call.")
@click.option("-C", "--project", "folder", metavar="FOLDER", help="Act as if started in FOLDER.")
@click.pass_context
def byheart(ctx: click.Context, wants_version: bool, flags: tuple[str, ...], folder: str | None) -> int:
    """Persistent memory for coding agents.

    Without a command: where memory stands here, and what to do next.
    """
    common.call.flags, common.call.folder = flags, folder
    if wants_version:
        common.say(f"byheart {__version__}")
        return 0
    if ctx.invoked_subcommand is None:
        from byheart.interfaces.cli import overview

        return overview.shown()
    return 0


def run(arguments: list[str]) -> int:
    """Run one command as it is spelled, with help and good words for a typo; its exit code."""
    try:
        if "_BYHEART_COMPLETE" in os.environ:
            byheart.main(arguments, prog_name="byheart", complete_var="_BYHEART_COMPLETE")
        # Not Group.main, which turns a reader that went away (head) into exit code 1.
        with byheart.make_context("byheart", arguments) as context:
            outcome = byheart.invoke(context)
        return outcome if isinstance(outcome, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.Abort:
        common.note("Stopped. Nothing was changed.")
        return 130
    except click.ClickException as error:
        error.show()
        return 2


Command = TypeVar("Command", bound=Callable[..., object])


def json_option(command: Command) -> Command:
    """--json, which every command that prints a result has."""
    return click.option("--json", "as_object", is_flag=True, help="Print the result as JSON.")(command)


def scope_option(command: Command) -> Command:
    """--local or --global; without either the command chooses."""
    command = click.option("--global", "scope", flag_value="global", help="Only global memory.")(command)
    return click.option("--local", "scope", flag_value="local", default=None, help="Only this project's memory.")(
        command
    )
