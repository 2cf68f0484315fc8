"""byheart bench: measure recall and learning on labelled sets of your own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from byheart.bench.run import measured_latency, measured_learning, measured_replay, measured_retrieval
from byheart.domain.errors import BadInput
from byheart.interfaces.cli import common, group
from byheart.interfaces.render import table


@click.group(epilog=common.examples("byheart bench retrieval --data data", "byheart bench learning --data data"))
def bench() -> None:
    """Measure search and learning on labelled data. None of it is stored."""


@bench.command(
    epilog=common.examples(
        "byheart bench retrieval --data data",
        "byheart bench retrieval --data data --set locomo --mode words --mode both",
    )
)
@click.option("--data", metavar="DIR", help="Folder with the labelled sets.")
@click.option("--set", "sets", multiple=True, help="Only this set: locomo, longmemeval, agent-sessions.")
@click.option("--mode", "modes", multiple=True, help="Only this search mode: words, meaning, both, deep.")
@click.option(
    "--peer",
    "peers",
    multiple=True,
    help="Compare with another store, if installed: fts5, chroma, mem0, or all.",
)
@click.option("--kinds", is_flag=True, help="Also print a row for each kind of question.")
@click.option("-n", "--limit", type=click.IntRange(1), help="Maximum questions per collection.")
@click.option(
    "--records",
    "sizes",
    type=click.IntRange(0, 5_000_000),
    multiple=True,
    default=(6_000, 100_000),
    show_default=True,
    help="Also measure speed and memory with this many generated records (0: skip).",
)
@group.json_option
def retrieval(
    data: str | None,
    sets: tuple[str, ...],
    modes: tuple[str, ...],
    peers: tuple[str, ...],
    kinds: bool,
    limit: int | None,
    sizes: tuple[int, ...],
    as_object: bool,
) -> int:
    """Measure how often recall finds the right memory, and how fast, with confidence intervals.

    Without --data, only speed is measured.
    """
    if data is not None and not os.path.isdir(data):
        raise BadInput(f"{data!r} is not a folder; name the one with the labelled sets")
    before = os.getloadavg()
    opened = common.opened()
    speed = measured_latency([size for size in sizes if size], common.note)
    found = (
        measured_retrieval(opened, common.surroundings(), data, sets, modes, common.note, limit, peers) if data else []
    )
    load = {"before": before, "after": os.getloadavg(), "cores": os.cpu_count()}
    if as_object:
        common.put({"load": load, "speed": speed, "rows": found})
        return 0
    for rows in (speed, [row for row in found if kinds or row["kind"] == "all"]):
        _show(rows)
    told = " ".join(f"{each:.1f}" for each in (*before, *os.getloadavg()))
    common.note(f"load before and after: {told} on {os.cpu_count()} cores; brackets: 95 % of samples")
    return 0


@bench.command(
    epilog=common.examples(
        "byheart bench learning --data data", "byheart bench learning --data data --sessions 0 --json"
    )
)
@click.option("--data", metavar="DIR", required=True, help="Folder with capture/ and transcripts/.")
@click.option(
    "--sessions",
    "sizes",
    type=click.IntRange(0, 100_000),
    multiple=True,
    default=(100, 300, 1_000),
    show_default=True,
    help="Also time learning from this many sessions (0: skip).",
)
@group.json_option
def learning(data: str, sizes: tuple[int, ...], as_object: bool) -> int:
    """Measure precision, coverage and speed of learning."""
    if not os.path.isdir(data):
        raise BadInput(f"{data!r} is not a folder; name the one with the labelled sets")
    opened = common.opened()
    found = measured_learning(opened, common.surroundings(), data, [size for size in sizes if size], common.note)
    if as_object:
        common.put(found)
        return 0
    for name, told in found["definitions"].items():
        common.say(f"{name}: {told}")
    common.say("")
    for name in ("capture", "coverage", "scale"):
        _show(found[name])
    return 0


@bench.command(
    epilog=common.examples("byheart bench replay --data data", "byheart bench replay --data data --project shop --show")
)
@click.option("--data", metavar="DIR", required=True, help="Folder with projects/, or projects/ itself.")
@click.option("--project", "only", multiple=True, help="Only projects whose name contains this.")
@click.option("--show", is_flag=True, help="Print each case and when memory would have known it.")
@group.json_option
def replay(data: str, only: tuple[str, ...], show: bool, as_object: bool) -> int:
    """Replay projects session by session and count what memory would have prevented.

    Counted are errors that an earlier session met and got over (a), commands that it knew in a working spelling (b), paths, flags and
    names that it had tried in vain (c), what the person had said before (d), and the files that a first prompt leads to (e).
    """
    if not os.path.isdir(data):
        raise BadInput(f"{data!r} is not a folder; name the one with the project streams")
    found = measured_replay(data, only, common.note)
    if as_object:
        common.put(found)
        return 0
    for kind, meaning in found["kinds"].items():
        common.say(f"{kind}: {meaning}")
    common.say(
        "start, moment, asked: when a, b and c would have been known; floor: a and c known from the twelve most common solved errors"
    )
    common.say("")
    _show(found["projects"])
    for event in found["events"] if show else ():
        common.say(
            f"{event['project']}  {event['kind']}  {event['known']:<8} {event['text'][:160]!r} -> {event['answer'][:120]!r}"
        )
    return 0


def _show(rows: Sequence[dict[str, Any]]) -> None:
    """A table of rows, of which one may have figures that another lacks."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    for line in table([names, *([str(row.get(name, "-")) for name in names] for row in rows)]) if rows else ():
        common.say(line)
    if rows:
        common.say("")
