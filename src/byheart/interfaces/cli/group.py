"""The command line: one group, its commands loaded when they are called."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import TypeVar

import click

from byheart.interfaces.cli import common

# name → module, in the order help shows them.
COMMANDS = {
    "init": "onboarding",
    "install": "connecting",
    "uninstall": "connecting",
    "status": "connecting",
    "plugin": "connecting",
    "trust": "onboarding",
    "untrust": "onboarding",
    "brief": "show",
    "mcp": "connecting",
    "why": "show",
    "gain": "show",
    "open": "gateway",
    "serve": "gateway",
    "view": "gateway",
    "remember": "remember",
    "recall": "show",
    "forget": "remember",
    "confirm": "remember",
    "show": "show",
    "list": "show",
    "profile": "show",
    "rules": "show",
    "settings": "remember",
    "log": "show",
    "undo": "remember",
    "import": "exchange",
    "export": "exchange",
    "convert": "exchange",
    "journal": "journal",
    "experiences": "show",
    "learn": "learning",
    "inbox": "learning",
    "review": "learning",
    "jobs": "learning",
    "work": "learning",
    "memory": "memory",
    "sessions": "sessions",
    "how": "sessions",
    "fix": "sessions",
    "blame": "sessions",
    "model": "check",
    "bench": "bench",
    "schedule": "journal",
    "check": "check",
    "doctor": "check",
    "completion": "check",
    "version": "check",
}
_ATTRIBUTES = {"import": "import_", "list": "list_", "open": "open_"}


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command is wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        loaded = import_module(f"byheart.interfaces.cli.commands.{module}")
        command: click.Command = getattr(loaded, _ATTRIBUTES.get(cmd_name, cmd_name))
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--set", "flags", multiple=True, metavar="KEY=VALUE", help="Override a setting for this call.")
@click.option("-C", "--project", "folder", metavar="FOLDER", help="Act as if started in FOLDER.")
def byheart(flags: tuple[str, ...], folder: str | None) -> None:
    """The memory that coding agents carry from session to session.

    Memory is plain files: memories.md for preferences and lessons, memories.ndjson for rules, MEMORY.md for the
    journal. They live in ~/.byheart (BYHEART_HOME moves it), or in your repository after `byheart init --in-repo`.

    \b
    Example:
      byheart remember "never run build repeatedly because it is heavy"
      byheart recall build
    """
    common.call.flags, common.call.folder = flags, folder


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
        common.note("byheart: stopped; nothing was changed")
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
    command = click.option("--global", "scope", flag_value="global", help="Only the memory of all projects.")(command)
    return click.option("--local", "scope", flag_value="local", default=None, help="Only this project's memory.")(
        command
    )
