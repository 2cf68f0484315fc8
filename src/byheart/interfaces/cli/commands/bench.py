"""byheart bench: measure recall on labelled sets of your own."""

from __future__ import annotations

import os

import click

from byheart.domain.errors import BadInput
from byheart.interfaces.cli import frame, options
from byheart.interfaces.render import table
from byheart.machine import measured_retrieval


@click.group(epilog=frame.examples("byheart bench retrieval --data data"))
def bench() -> None:
    """Measure on data that you name. Nothing of it is kept."""


@bench.command(
    epilog=frame.examples(
        "byheart bench retrieval --data data",
        "byheart bench retrieval --data data --set locomo --mode words --mode both",
    )
)
@click.option("--data", required=True, metavar="DIR", help="The folder that holds the labelled sets.")
@click.option("--set", "sets", multiple=True, help="Only this set: locomo, longmemeval, agent-sessions.")
@click.option("--mode", "modes", multiple=True, help="Only this way of searching: words, meaning, both, deep.")
@click.option("--kinds", is_flag=True, help="A row for each kind of question, too.")
@click.option("-n", "--limit", type=click.IntRange(1), help="At most so many questions of each collection.")
@options.json_option
def retrieval(
    data: str, sets: tuple[str, ...], modes: tuple[str, ...], kinds: bool, limit: int | None, as_object: bool
) -> int:
    """Say how often recall finds what it should, how fast, and how sure the figures are."""
    if not os.path.isdir(data):
        raise BadInput(f"{data!r} is no folder; name the one that holds the sets")
    opened = frame.opened()
    rows = measured_retrieval(opened, frame.surroundings(), data, sets, modes, frame.note, limit)
    load = os.getloadavg()
    if as_object:
        frame.put({"load": load, "rows": rows})
        return 0
    shown = [row for row in rows if kinds or row["kind"] == "all"]
    if shown:
        names = list(shown[0])
        for line in table([names, *([str(row[name]) for name in names] for row in shown)]):
            frame.say(line)
    frame.note(f"load {load[0]:.1f} {load[1]:.1f} {load[2]:.1f} on {os.cpu_count()} cores; brackets: 95 % of samples")
    return 0
