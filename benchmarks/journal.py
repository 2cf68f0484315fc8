"""The journal at two sizes: append, trim, compact, scan, read, and what a session is told."""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

from byheart.domain.journal import Origin, Sensitivity, stamped
from byheart.domain.records import Record
from byheart.journal.format import TEMPLATE, row
from byheart.testing import Bench

Row = dict[str, object]
SMALL, LARGE = 1_000, 100_000


def made(bench: Bench, count: int) -> None:
    """A journal of so many records, nine in ten of them old enough to be compacted, written in one go."""
    rng = random.Random(count)
    words = "the parser cache build worker queue index token session branch test schema deploy retry".split()
    lines = []
    for number in range(count):
        category = rng.choice(["turn-summary"] * 7 + ["note", "learned", "decision"])
        age = timedelta(days=rng.uniform(0, 6) if number > 0.9 * count else rng.uniform(8, 100))
        said = " ".join(rng.choice(words) for _ in range(12))
        text = f"Fixed issue {number} in {rng.choice(words)}_{number % 997}.py because {said}. {said.capitalize()}."
        origin = Origin(
            id=f"{number:08x}-0000-4000-8000-{number:012x}",
            session=f"s{number % 50}",
            category=category,
            certainty=0.8,
            timestamp=stamped(bench.clock() - age),
            sensitivity=Sensitivity.OPERATIONAL,
        )
        lines.append(row(Record(text=text, origin=origin)))
    path = bench.path("journal")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(TEMPLATE + "\n".join(lines) + "\n")


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def measured(quick: bool) -> Iterator[Row]:
    """Each operation on both sizes, taken in turn, with the ratio."""
    large = LARGE // 10 if quick else LARGE
    with tempfile.TemporaryDirectory() as folder:
        benches = {count: Bench(os.path.join(folder, str(count))) for count in (SMALL, large)}
        for count, bench in benches.items():
            made(bench, count)
        stores = {count: bench.memory.journal() for count, bench in benches.items()}
        rounds = 60 if quick else 300

        def append(count: int) -> float:
            return timed(
                lambda: stores[count].append({"category": "turn-summary", "text": "Looked at it and went on."})
            )

        for count in benches:
            append(count)  # the first one makes folders
        yield _row("append", large, rounds, append)

        def once(name: str, action: Callable[[int], object], times: int) -> Row:
            return _row(name, large, times, lambda count: timed(lambda: action(count)))

        yield once("readAll", lambda count: stores[count].read_all(), 3)
        yield once("session context", lambda count: stores[count].session_context(), 3)
        memories = {count: bench.memory for count, bench in benches.items()}
        yield once("recall", lambda count: memories[count].recall("retry in parser_12"), 3)
        yield once("integrity scan", lambda count: stores[count].integrity_scan(), 2)
        windows = {
            count: Bench(
                bench.folder, clock=bench.clock, flags=(f"journal.memory_max_records={count}",)
            ).memory.journal()
            for count, bench in benches.items()
        }

        def trimming(count: int) -> object:
            return windows[count].append({"text": "One in, one out."})

        for count in benches:
            trimming(count)
        yield once("append with a window of that size", trimming, 3)
        yield once("compact", lambda count: stores[count].compact(force=True), 1)
        yield once(
            "recall, with what left in the archive", lambda count: memories[count].recall("retry in parser_12"), 3
        )


def _row(name: str, large: int, times: int, action: Callable[[int], float]) -> Row:
    """Both sizes in turn, so that a slow stretch of the machine hits both."""
    taken: dict[int, list[float]] = {SMALL: [], large: []}
    for _ in range(times):
        for count, found in taken.items():
            found.append(action(count))
    small, big = statistics.median(taken[SMALL]), statistics.median(taken[large])
    return {
        "what": name,
        f"ms at {SMALL:,}": round(small, 2),
        f"ms at {large:,}": round(big, 2),
        "ratio": round(big / small, 2),
        "records/s": round(large / big * 1000) if name != "append" else "",
    }
