"""Chooses the thresholds of what is told by leaving one project out, and says what that choice knows on the project left out.

    python benchmarks/thresholds.py --data FOLDER [--project NAME]

For each threshold and each value, every project is replayed (see `byheart bench replay --help`). For each project the value is chosen that
knows most avoidable repeats at the start on all other projects; what it knows on the one left out is the figure to report. Prints a table
and, last, one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from byheart.bench import replay
from byheart.bench.streams import Stream, projects
from byheart.learning import earning

# Each with the value in force first.
TRIED = {"HALF_LIFE": (20, 10, 40), "OFTEN": (3, 2, 4)}


def known(streams: Sequence[Stream]) -> tuple[int, int, int]:
    """The avoidable repeats of a project: how many there are, known at the start, known at the start or at the moment."""
    events, _ = replay.replayed(streams)
    repeats = [event for event in events if event.kind in "abc"]
    start = sum(event.known == "start" for event in repeats)
    return len(repeats), start, start + sum(event.known == "moment" for event in repeats)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--project", action="append", default=[])
    given = parser.parse_args(arguments)
    every = [(repo, streams) for repo, streams in projects(given.data, given.project) if len(streams) > 1]
    usual = {repo: known(streams) for repo, streams in every}
    every = [(repo, streams) for repo, streams in every if usual[repo][0]]
    rows = []
    for name, values in TRIED.items():
        found = {values[0]: {repo: usual[repo] for repo, _ in every}}
        for value in values[1:]:
            before = getattr(earning, name)
            setattr(earning, name, value)
            found[value] = {repo: known(streams) for repo, streams in every}
            setattr(earning, name, before)
            print(f"{name}={value}: {sum(each[1] for each in found[value].values())} known at the start", flush=True)
        for repo, _ in every:
            best = max(values, key=lambda value: (sum(each[1] for own, each in found[value].items() if own != repo), -values.index(value)))  # fmt: skip
            count, start, moment = found[best][repo]
            rows.append({"threshold": name, "left_out": repo, "chosen": best, "repeats": count, "start": start, "start_or_moment": moment})  # fmt: skip
            print(
                f"{name:10} {repo:32} {best:4}  {start:3} at the start, {moment:3} at the start or moment, of {count}"
            )
        mine = [row for row in rows if row["threshold"] == name]
        print(f"{name:10} {'all':32}       {sum(int(str(row['start'])) for row in mine):3} at the start, {sum(int(str(row['start_or_moment'])) for row in mine):3} at the start or moment, of {sum(int(str(row['repeats'])) for row in mine)}")  # fmt: skip
    print(json.dumps({"rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
