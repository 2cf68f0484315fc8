"""Measures start-up, write throughput, the journal and the scanner; prints a table and, last, one line of JSON.

    python benchmarks/run.py [--data secrets.jsonl.gz] [--only start,write,journal,scan] [--quick]

Times are compared within one run, as ratios: the machines this runs on are shared and noisy.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from byheart.domain.records import Confidence, Record, Request
from byheart.storage.scanners.scanner import RuleScanner
from byheart.testing import Bench

Row = dict[str, object]
Result = TypeVar("Result")


def best(action: Callable[[], object], times: int) -> float:
    """The shortest of several runs, in milliseconds: noise only ever adds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        found.append((time.perf_counter() - start) * 1000)
    return min(found)


def timed(action: Callable[[], Result]) -> tuple[float, Result]:
    """One run in milliseconds, with what it gave."""
    start = time.perf_counter()
    result = action()
    return (time.perf_counter() - start) * 1000, result


def start_up(quick: bool) -> Iterator[Row]:
    """Cold `byheart profile` and `byheart recall` against an interpreter that does nothing."""
    times = 5 if quick else 21
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for number in range(20):
            bench.remember(f"value number {number} for the profile", key=f"tooling.k{number}")
            bench.remember(f"never do thing number {number}")
        environment = {**os.environ, **bench.environment}
        # As an installed command runs: with its bytecode on disk.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def run(*arguments: str) -> Callable[[], object]:
            return lambda: subprocess.run(
                [sys.executable, *arguments], cwd=bench.project, env=environment, capture_output=True, check=True
            )

        # Taken in turn, so that a slow stretch of the machine hits all of them.
        commands = {
            "python -c pass": run("-c", "pass"),
            "byheart version": run("-m", "byheart", "version"),
            "byheart profile": run("-m", "byheart", "profile"),
            "byheart rules": run("-m", "byheart", "rules"),
            "byheart recall": run("-m", "byheart", "recall", "profile number"),
        }
        for command in commands.values():
            command()
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(times):
            for name, command in commands.items():
                taken[name].append(best(command, 1))
        bare = min(taken["python -c pass"])
        for name, found in taken.items():
            yield {
                "what": name,
                "min ms": round(min(found), 1),
                "median ms": round(statistics.median(found), 1),
                "x bare python": round(min(found) / bare, 2),
            }


def filled(bench: Bench, count: int) -> None:
    """A project whose notebooks hold `count` records each, written in one go."""
    from datetime import date

    from byheart.domain.documents import Add, spliced
    from byheart.domain.records import Kind
    from byheart.notebooks.formats.profile_yaml import YamlBlock
    from byheart.notebooks.formats.rules_ndjson import Triples

    day = date(2026, 1, 1)
    items = []
    for number in range(count):
        fields = {"key": f"tooling.k{number}", "value": f"use tool {number} for task {number}"}
        record = Record(text="", added=day, source="explicit user preference", confidence=Confidence.HIGH, **fields)  # type: ignore[arg-type]
        items.append(Add(record=record))
    rules = [
        Add(
            record=Record(
                text=f"Never touch part {number}.", kind=Kind.CONSTRAINT, triple=(f"part{number}", "avoid", "touch")
            )
        )
        for number in range(count)
    ]
    for path, dialect, changes in (
        ("memories.md", YamlBlock(), items),
        ("docs/memory/memories.ndjson", Triples(), rules),
    ):
        document = dialect.parse(dialect.blank())
        bench.put(path, spliced(document.text, dialect.plan(document, changes, day)))


def writes(quick: bool) -> Iterator[Row]:
    """remember and forget, each acknowledged only when it is on disk, on roots of three sizes."""
    for count in (10, 1000) if quick else (10, 1000, 10_000):
        rounds = max(3, min(60, 20_000 // count)) if not quick else 5
        for notebook in ("memories.ndjson", "memories.md"):
            with tempfile.TemporaryDirectory() as folder:
                bench = Bench(folder)
                filled(bench, count)
                memory = bench.memory
                if notebook == "memories.md":
                    requests = [Request(text=f"fresh value {n}", key=f"fresh.k{n}") for n in range(rounds)]
                else:
                    requests = [
                        Request(text=f"Never fresh {n}.", triple=(f"fresh{n}", "avoid", "x")) for n in range(rounds)
                    ]
                remembered = [timed(partial(memory.remember, request)) for request in requests]
                handles = [receipt.handle or "" for _, receipt in remembered]
                forgotten = [timed(partial(memory.forget, handle)) for handle in handles]
                yield {
                    "what": notebook,
                    "records": count,
                    "remember/s": round(1000 / statistics.median(taken for taken, _ in remembered), 1),
                    "forget/s": round(1000 / statistics.median(taken for taken, _ in forgotten), 1),
                }


def words(rng: random.Random, count: int) -> str:
    vocabulary = (
        "the build token key value of path run test import return def class for key config error line to in".split()
    )
    return " ".join(rng.choice(vocabulary) for _ in range(count))


def speed(quick: bool) -> Iterator[Row]:
    """Scanner throughput on text like transcripts, and on text made to be slow; equal time per byte means linear."""
    scanner = RuleScanner()
    rng = random.Random(1)
    size = 2_000_000 if quick else 8_000_000
    prose = "\n".join(words(rng, 14) for _ in range(size // 70))
    hostile = {
        "prose and code words": prose,
        "password=password=…": "password=" * (size // 9),
        "one long token": "a1" * (size // 2),
        "curl curl curl …": "curl -x " * (size // 8),
        "BEGIN PRIVATE KEY without end": ("-----BEGIN PRIVATE " + "KEY-----\nAAAA\n") * (size // 45),
        "eyJeyJeyJ…": "eyJ" * (size // 3),
        "://a:b …": "x://a:b" * (size // 7),
        "ignore ignore …": "ignore the " * (size // 11),
    }
    for name, text in hostile.items():
        half = text[: len(text) // 2]
        scanner.findings(half[:100_000])
        small, large = (
            best(partial(scanner.findings, half), 3),
            best(partial(scanner.findings, text), 3),
        )
        yield {
            "what": name,
            "MB": round(len(text) / 1e6, 1),
            "MB/s": round(len(text) / 1e3 / large, 1),
            "time for 2x the text": round(large / small, 2),
        }


def quality(path: str) -> Iterator[Row]:
    """Recall and false positives on a labelled set."""
    scanner = RuleScanner()
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    groups: dict[str, list[bool]] = {}
    for row in rows:
        flagged = bool(scanner.secrets(row["text"]))
        names = ["all positives"] if row["label"] else [f"false positives {row['tier']}"]
        if row["label"] and row["core"] and row["strong_format"]:
            names.append("core and strong_format")
        if row["label"] and (row["core"] or row["strong_format"]):
            names.append("core or strong_format")
        for name in names:
            groups.setdefault(name, []).append(flagged)
    content = "\n".join(row["text"] for row in rows)
    repeated = content * max(1, 4_000_000 // len(content))
    for name, found in groups.items():
        yield {"what": name, "rows": len(found), "flagged": sum(found), "share": round(sum(found) / len(found), 4)}
    taken = best(lambda: scanner.secrets(repeated), 3)
    yield {
        "what": "speed on this set itself, a secret in every other line",
        "rows": len(rows),
        "MB/s": round(len(repeated.encode()) / 1e3 / taken, 1),
    }


def transcripts(folder: str) -> Iterator[Row]:
    """Scanner throughput on real transcript files below a folder."""
    scanner = RuleScanner()
    texts = []
    for where, _, names in os.walk(folder):
        for name in names:
            if name.endswith((".jsonl", ".json", ".md")):
                with open(os.path.join(where, name), encoding="utf-8", errors="replace") as stream:
                    texts.append(stream.read())
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    taken = best(lambda: [scanner.secrets(text) for text in texts], 1)
    yield {"what": f"{len(texts)} files", "MB": round(size / 1e6, 1), "MB/s": round(size / 1e3 / taken, 1)}


def table(title: str, rows: list[Row]) -> None:
    print(f"\n{title}")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [columns, *([str(row.get(name, "")) for name in columns] for row in rows)]
    widths = [max(len(row[index]) for row in cells) for index in range(len(columns))]
    for row in cells:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="a labelled set of secrets, JSON lines in gzip")
    parser.add_argument("--transcripts", help="a folder of transcripts to scan")
    parser.add_argument("--only", default="start,write,journal,scan", help="which parts to run")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller sizes")
    options = parser.parse_args()
    wanted = set(options.only.split(","))
    parts: dict[str, list[Row]] = {}
    if "start" in wanted:
        parts["Cold start"] = list(start_up(options.quick))
    if "write" in wanted:
        parts["Writes, each on disk before it is acknowledged"] = list(writes(options.quick))
    if "journal" in wanted:
        # A script's own folder is where it finds its neighbours.
        import journal  # type: ignore[import-not-found]

        parts["Journal; the ratio of an append should stay near 1"] = list(journal.measured(options.quick))
    if "scan" in wanted:
        parts["Scanner speed; a ratio near 2 is linear"] = list(speed(options.quick))
        if options.data:
            parts["Scanner quality"] = list(quality(options.data))
        if options.transcripts:
            parts["Scanner on transcripts"] = list(transcripts(options.transcripts))
    for title, rows in parts.items():
        table(title, rows)
    print("\n" + json.dumps(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
