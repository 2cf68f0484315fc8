"""The command line: one group, its commands loaded when they are called."""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module

import click

from byheart.domain.errors import ByheartError
from byheart.interfaces import faults

# name → module, in the order help shows them.
COMMANDS = {
    "init": "keeping",
    "remember": "writing",
    "recall": "looking",
    "forget": "writing",
    "confirm": "writing",
    "show": "looking",
    "list": "looking",
    "profile": "looking",
    "rules": "looking",
    "settings": "writing",
    "log": "looking",
    "undo": "writing",
    "import": "exchanging",
    "export": "exchanging",
    "convert": "exchanging",
    "journal": "journal",
    "sessions": "sessions",
    "how": "sessions",
    "fix": "sessions",
    "blame": "sessions",
    "model": "model",
    "bench": "bench",
    "schedule": "scheduling",
    "check": "keeping",
    "doctor": "keeping",
    "completion": "keeping",
    "version": "keeping",
}
_ATTRIBUTES = {"import": "import_", "list": "list_"}


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
@click.pass_context
def byheart(ctx: click.Context, flags: tuple[str, ...], folder: str | None) -> None:
    """The memory that coding agents carry from session to session.

    Memory is plain files: memories.md for preferences and lessons, memories.ndjson for rules, MEMORY.md for the
    journal. They live in ~/.byheart (BYHEART_HOME moves it), or in your repository after `byheart init --in-repo`.

    \b
    Example:
      byheart remember "never run build repeatedly because it is heavy"
      byheart recall build
    """
    ctx.obj = {"flags": flags, "folder": folder}


def run(arguments: list[str]) -> int:
    """Run one command; the exit code: 0 done, 1 nothing found, 2 usage, 3 refused, 4 conflict or busy, 5 environment."""
    as_object = "--json" in arguments
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not make a command fail that has done its work.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    debug = os.environ.get("BYHEART_DEBUG") == "1"
    try:
        if "_BYHEART_COMPLETE" in os.environ:
            byheart.main(arguments, prog_name="byheart", complete_var="_BYHEART_COMPLETE")
        # Not Group.main, which turns a reader that went away (head) into exit code 1.
        with byheart.make_context("byheart", arguments) as context:
            outcome = byheart.invoke(context)
        sys.stdout.flush()
        return outcome if isinstance(outcome, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.Abort:
        sys.stderr.write("byheart: stopped; nothing was changed\n")
        return 130
    except click.ClickException as error:
        error.show()
        return 2
    except ByheartError as error:
        return faults.told(error, as_object=as_object)
    except BrokenPipeError:
        # The reader went away (head, a closed pager); keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 - the boundary: whatever is left becomes a message
        return faults.unexpected(error, debug=debug)
