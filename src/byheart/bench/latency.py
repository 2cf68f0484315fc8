"""How fast recall answers, how much memory it takes and what adding a record costs, at several sizes of a made-up memory.

Each size is measured in a process of its own, so that one's memory is not counted for another. Run as a module, it is that
process.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from byheart.domain.recall import Item, Meaning
from byheart.domain.records import Kind, Record
from byheart.policies import recollecting
from byheart.text.questions import question
from byheart.text.timewords import hint

_WIDTH, _SCALE = 384, (0.45, 0.63)
_AT_ONCE = 20_000
_QUESTIONS = 60
_COLD, _ADDED = 11, 9
Progress = Callable[[str], None]


def measured(sizes: Sequence[int], progress: Progress) -> list[dict[str, Any]]:
    """A row for each size: searching in a process that lives, a command from its start, adding one record."""
    rows = []
    for size in sizes:
        progress(f"{size:,} records: searching")
        row: dict[str, Any] = {"records": size, **_child("search", size)}
        if size <= 10_000:
            progress(f"{size:,} records: from a cold start, and adding one")
            row |= _child("command", size)
        rows.append(row)
    return rows


def _child(part: str, size: int) -> dict[str, Any]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "byheart.bench.latency", part, str(size)],
        env=environment, stdout=subprocess.PIPE, check=True, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class Made:
    """Texts of made-up words, a few of them in nearly every text and most of them in hardly any, as in real ones."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311 - the same texts every time
        letters = "abcdefghiklmnoprstuvw"
        self._words = ["".join(self.dice.choices(letters, k=self.dice.randint(4, 9))) for _ in range(20_000)]
        self._often = [1 / (place + 5) for place in range(len(self._words))]

    def text(self, least: int = 8, most: int = 20) -> str:
        """So many words."""
        return " ".join(self.dice.choices(self._words, self._often, k=self.dice.randint(least, most)))


def _searched(size: int, folder: str) -> dict[str, Any]:
    """Searching one notebook of so many records, each with a vector."""
    import numpy as np

    from byheart.adapters.index.notebook import NotebookIndex

    path, made = os.path.join(folder, "index.db"), Made(1)
    index = NotebookIndex(path)
    started = time.perf_counter()
    for start in range(0, size, _AT_ONCE):
        index.put_page(f"page {start}", "as it is", list(_items(made, start, min(size, start + _AT_ONCE))))
    built = time.perf_counter() - started
    vectors = np.random.default_rng(0)
    common = vectors.normal(size=_WIDTH) * 0.7
    for start in range(0, size, _AT_ONCE):
        some = vectors.normal(size=(min(_AT_ONCE, size - start), _WIDTH)) + common
        some = (some / np.linalg.norm(some, axis=1, keepdims=True)).astype(np.float32)
        index.embedded_records("made", _WIDTH, [(start + place + 1, each.tobytes()) for place, each in enumerate(some)])
    index.close()
    pages = list(index.page_stamps())
    by_words, by_both = list[float](), list[float]()
    for _ in range(_QUESTIONS):
        asked = made.text(8, 8)
        vector = vectors.normal(size=_WIDTH) + common
        unit = (vector / np.linalg.norm(vector)).astype(np.float32)
        meaning = Meaning("made", unit.tobytes(), _SCALE)
        by_words.append(_taken(index, asked, pages, None))
        by_both.append(_taken(index, asked, pages, meaning))
    disk = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
    return {
        "words p50 ms": _at(by_words, 0.5),
        "words p95 ms": _at(by_words, 0.95),
        # The first question reads the vectors.
        "both p50 ms": _at(by_both[1:], 0.5),
        "both p95 ms": _at(by_both[1:], 0.95),
        "first ms": round(1e3 * by_both[0]),
        "memory MB": _memory(),
        "disk MB": round(disk / 1e6),
        "records/s in": round(size / built),
    }


def _memory() -> int:
    """What the process holds now, in megabytes; making the records took more."""
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _items(made: Made, start: int, end: int) -> Iterator[Item]:
    for number in range(start, end):
        text = made.text()
        record = Record(text=text, kind=Kind.NOTE)
        yield Item(
            handle=f"{number:x}", line=number, record=record, scope="local", dialect="journal", text=text, meta="note"
        )


def _taken(index: Any, asked: str, pages: Sequence[str], meaning: Meaning | None) -> float:
    start = time.perf_counter()
    today = datetime.now(UTC).date()
    terms = question(asked)
    with index.reading():
        found = index.recollected(terms, pages, meaning)
        verdict = recollecting.judged(terms, hint(asked, today), found, today, meaning.scale if meaning else None)
        index.items([each.candidate.row for each in verdict.found[:10]])
    return time.perf_counter() - start


def _at(values: Sequence[float], share: float) -> float:
    return round(1e3 * sorted(values)[int(share * (len(values) - 1))], 1)


def _commanded(size: int, folder: str) -> dict[str, Any]:
    """`byheart recall` from its start, and adding a record to a journal of so many until it can be found by its meaning."""
    from byheart.wiring import Surroundings, open_memory

    made, project, home = Made(2), os.path.join(folder, "project"), os.path.join(folder, "home")
    os.makedirs(project)
    environment = {"HOME": folder, "BYHEART_HOME": home, "PATH": os.environ.get("PATH", ""), "BYHEART_CHILD": "1"}
    opened = open_memory(Surroundings(folder=project, environment=environment))
    journal = opened.memory.journal()
    journal.append({"text": made.text()})
    _fill(opened.memory.show(), made, size - 1)
    model = _with_vectors(opened)
    row: dict[str, Any] = {}
    # As an installed command runs: with its bytecode on disk.
    environment["PYTHONPYCACHEPREFIX"] = os.path.join(folder, "bytecode")
    for name, flags in (("cold words ms", ["--set", "recall.embedder=none"]), ("cold both ms", [])):
        if name == "cold both ms" and model is None:
            continue
        command = [sys.executable, "-m", "byheart", *flags, "recall", made.text(4, 4)]
        times = []
        for _ in range(_COLD):
            start = time.perf_counter()
            subprocess.run(command, cwd=project, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: PLW1510 - 1 is "nothing found"
            times.append(time.perf_counter() - start)
        row[name] = _at(times[1:], 0.5)
    opened.memory.recall(made.text(4, 4))
    added, asked = [], []
    for _ in range(_ADDED):
        text = made.text(12, 12)
        start = time.perf_counter()
        journal.append({"text": text})
        opened.memory.caught_up()
        added.append(time.perf_counter() - start)
        start = time.perf_counter()
        opened.memory.recall(made.text(8, 8))
        asked.append(time.perf_counter() - start)
    row["add one ms"] = _at(added, 0.5)
    row["whole recall ms"] = _at(asked, 0.5)
    return row


def _fill(pages: Sequence[Any], made: Made, size: int) -> None:
    """Write the other records as any program could: a line each."""
    path = next(page.path for page in pages if page.dialect == "journal" and page.exists)
    with open(path, "a", encoding="utf-8") as stream:
        for number in range(size):
            record = {"id": f"r{number}", "sessionId": f"s{number // 40}", "category": "note", "text": made.text()}
            stream.write(f"- {json.dumps(record)}\n")


def _with_vectors(opened: Any) -> str | None:
    """Take the records in and give each a vector under the model's name, made up: what they are does not change how long a
    search takes. None where there is no model."""
    opened.memory.recall("anything at all")
    cabinet = opened.memory.cabinet
    embedder, index = cabinet.minds.embedder, cabinet.index()
    if embedder is None:
        return None
    import numpy as np

    dice = np.random.default_rng(3)
    while due := index.unembedded_records(embedder.id, _AT_ONCE):
        some = dice.normal(size=(len(due), embedder.width))
        some = (some / np.linalg.norm(some, axis=1, keepdims=True)).astype(np.float32)
        pairs = [(own, each.tobytes()) for (own, _), each in zip(due, some, strict=True)]
        index.embedded_records(embedder.id, embedder.width, pairs)
    return str(embedder.id)


def main(part: str, size: int) -> None:
    """Measure one part at one size, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="byheart-bench-") as folder:
        found = _searched(size, folder) if part == "search" else _commanded(size, folder)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
