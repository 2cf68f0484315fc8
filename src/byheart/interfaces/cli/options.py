"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

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
