"""Measures reading transcripts: how fast, in how much memory, how large the index, and how much was understood.

    python benchmarks/sessions.py --data FOLDER [--agents claude-code,codex] [--times 3]

FOLDER holds transcripts as files or as `*.tar.gz`, one for each client, unpacked for the run into a temporary folder. A
tarball with whole homes (`toy-homes.tar.gz`) is read as homes. Each client is read in a process of its own, so that its
peak memory is its own. Prints a table and, last, one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from byheart.agents.agent import FolderSource, sources
from byheart.agents.reading.folders import Machine
from byheart.domain.sessions import Caps, SessionSource, Which
from byheart.sessions.refresh import SessionTools, refresh
from byheart.storage.index.sqlite import SqliteIndex
from byheart.storage.scanners.scanner import RuleScanner

Row = dict[str, object]


def homes(folder: Path) -> list[SessionSource]:
    """Every agent's source over every home in a folder."""
    found: list[SessionSource] = []
    for home in sorted(each for each in folder.iterdir() if each.is_dir()):
        machine = Machine(home=str(home), environment={}, projects=(str(home / "toy-shop"),))
        found += sources(machine, (), Caps())
        exports = [str(path) for name in ("export.json", "transcript_events.jsonl") for path in home.glob(name)]
        found += [FolderSource((path,), Caps()) for path in exports]
    return found


def one(name: str, folder: Path) -> Row:
    """Read one client's transcripts twice: for the first time, and with nothing changed."""
    with tempfile.TemporaryDirectory() as place:
        index = SqliteIndex(os.path.join(place, "index.db"))
        every = homes(folder) if name == "toy-homes" else [FolderSource((str(folder),), Caps())]
        tools = SessionTools(
            sources=every, index=index, scanner=RuleScanner(), project_of=lambda cwd, remote: cwd or remote
        )
        index.stamps()
        began, spent = time.perf_counter(), time.process_time()
        done = refresh(tools)
        index.close()
        wall, cpu = time.perf_counter() - began, time.process_time() - spent
        began = time.perf_counter()
        again = refresh(tools)
        nothing = time.perf_counter() - began
        size = os.path.getsize(index.path)
        counts = index.counts(Which())
        turns: dict[str, int] = {}
        skipped: dict[str, int] = {}
        unknown: dict[str, int] = {}
        lines = known = understood = total = 0
        for each in counts:
            for speaker, number in each.turns.items():
                turns[speaker] = turns.get(speaker, 0) + number
            for target, counter in ((skipped, each.tally.skipped), (unknown, each.tally.unknown)):
                for key, number in counter.items():
                    target[key] = target.get(key, 0) + number
            lines, known = lines + each.tally.lines, known + each.tally.known_lines
            total, understood = total + each.tally.bytes, understood + each.tally.known_bytes
        return {
            "client": name,
            "files": done.files,
            "sessions": sum(each.sessions for each in counts),
            "MB": round(done.bytes / 1e6, 1),
            "MB/s": round(done.bytes / 1e6 / wall, 1),
            "MB/s of CPU": round(done.bytes / 1e6 / cpu, 1),
            "sessions/s": round(done.sessions / wall),
            "refresh ms": round(nothing * 1000, 1),
            "reread": again.read,
            "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
            "index/MB": round(size / max(1, done.bytes), 3),
            **{speaker: turns.get(speaker, 0) for speaker in ("user", "assistant", "tool")},
            "added": sum(each.synthetic for each in counts),
            "not counted": sum(each.abandoned for each in counts),
            "commands": sum(each.commands for each in counts),
            "fixes": sum(each.fixes for each in counts),
            "lines known %": round(100 * known / max(1, lines), 2),
            "bytes known %": round(100 * understood / max(1, total), 2),
            "skipped": skipped,
            "unknown": unknown,
        }


def unpacked(data: Path, into: Path) -> list[tuple[str, Path]]:
    """Each client's folder, from tarballs or as it is."""
    found = []
    for path in sorted(data.iterdir()):
        if path.name.endswith(".tar.gz"):
            name = path.name.removesuffix(".tar.gz")
            with tarfile.open(path) as archive:
                archive.extractall(into / name, filter="data")
            found.append((name, into / name))
        elif path.is_dir():
            found.append((path.name, path))
    return found


def main() -> int:
    """Run over all clients and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=Path, help="a folder of transcripts or tarballs of them")
    parser.add_argument("--agents", default="", help="only these clients, by the names of their tarballs")
    parser.add_argument("--times", type=int, default=3, help="how often each client is read; the fastest counts")
    parser.add_argument("--one", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one[0], Path(given.one[1]))))
        return 0
    if not given.data.is_dir():
        parser.error(f"{given.data} is not a folder")
    wanted = [each for each in given.agents.split(",") if each]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as place:
        for name, folder in unpacked(given.data, Path(place)):
            if wanted and name not in wanted:
                continue
            command = [sys.executable, __file__, "--data", str(given.data), "--one", name, str(folder)]
            runs: list[Row] = []
            for _ in range(given.times):
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(done.stderr, file=sys.stderr)
                    return 1
                runs.append(json.loads(done.stdout))
            # Noise only ever adds, so the fastest run is the one that says most.
            rows.append(max(runs, key=lambda row: float(str(row["MB/s"]))))
    columns = [name for name in rows[0] if name not in ("skipped", "unknown")] if rows else []
    widths = {name: max(len(name), *(len(str(row[name])) for row in rows)) for name in columns}
    print("  ".join(name.rjust(widths[name]) for name in columns))
    for row in rows:
        print("  ".join(str(row[name]).rjust(widths[name]) for name in columns))
    for row in rows:
        for label in ("skipped", "unknown"):
            counts = row[label]
            assert isinstance(counts, dict)
            for reason, number in counts.items():
                print(f"{row['client']}: {label} {number}: {reason}")
    print(json.dumps({"sessions": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
