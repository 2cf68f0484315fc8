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
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from byheart.domain.documents import Place
from byheart.domain.recall import Item, Meaning
from byheart.domain.records import Kind, Record
from byheart.search import order
from byheart.text.deferred import module
from byheart.text.questions import STOP_WORDS, question
from byheart.text.timewords import hint

if TYPE_CHECKING:
    from byheart.app import open as app_open
    from byheart.storage.index import records
else:
    app_open = module("byheart.app.open")
    records = module("byheart.storage.index.records")

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
        with tempfile.TemporaryDirectory(prefix="byheart-bench-") as folder:
            # Made by one process and searched by another: what making takes is not what searching takes.
            row: dict[str, Any] = {"records": size, **_child("make", size, folder), **_child("search", size, folder)}
        if size <= 10_000:
            progress(f"{size:,} records: from a cold start, and adding one")
            with tempfile.TemporaryDirectory(prefix="byheart-bench-") as folder:
                row |= _child("command", size, folder)
        rows.append(row)
    return rows


def _child(part: str, size: int, folder: str) -> dict[str, Any]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "byheart.bench.latency", part, str(size), folder],
        env=environment, stdout=subprocess.PIPE, check=True, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class Made:
    """Texts of made-up words, a few of them in nearly every text and most of them in hardly any, as in real ones."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311 - the same texts every time
        letters = "abcdefghiklmnoprstuvw"
        made = ["".join(self.dice.choices(letters, k=self.dice.randint(4, 9))) for _ in range(20_000)]
        # The most frequent words of a language are those that no search looks for.
        self._words = [*sorted(STOP_WORDS), *made]
        self._often = list(accumulate(1 / (place + 5) for place in range(len(self._words))))

    def text(self, least: int = 8, most: int = 20) -> str:
        """So many words."""
        return " ".join(self.dice.choices(self._words, cum_weights=self._often, k=self.dice.randint(least, most)))


def _filled(size: int, folder: str) -> dict[str, Any]:
    """One index of so many records, each with a vector."""
    import numpy as np

    made = Made(1)
    index = records.NotebookIndex(os.path.join(folder, "index.db"))
    built = 0.0
    for start in range(0, size, _AT_ONCE):
        some = list(_items(made, start, min(size, start + _AT_ONCE)))
        started = time.perf_counter()
        index.put_page(f"page {start}", "as it is", some)
        built += time.perf_counter() - started
    vectors = np.random.default_rng(0)
    common = vectors.normal(size=_WIDTH) * 0.7
    for start in range(0, size, _AT_ONCE):
        rows = vectors.normal(size=(min(_AT_ONCE, size - start), _WIDTH)) + common
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        pairs = [(start + place + 1, each.tobytes()) for place, each in enumerate(rows.astype(np.float32))]
        index.embedded_records("made", _WIDTH, pairs)
    index.close()
    return {"records/s in": round(size / built)}


def _searched(size: int, folder: str) -> dict[str, Any]:
    """Searching it, after a first question has read the vectors."""
    import numpy as np

    made = Made(1)
    made.dice.seed(size)
    index = records.NotebookIndex(os.path.join(folder, "index.db"))
    pages = list(index.page_stamps())
    common = np.random.default_rng(0).normal(size=_WIDTH) * 0.7
    vectors = np.random.default_rng(1)
    by_words, by_both = list[float](), list[float]()
    for _ in range(_QUESTIONS):
        asked = made.text(8, 8)
        vector = vectors.normal(size=_WIDTH) + common
        unit = (vector / np.linalg.norm(vector)).astype(np.float32)
        by_words.append(_taken(index, asked, pages, None))
        by_both.append(_taken(index, asked, pages, Meaning("made", unit.tobytes(), _SCALE)))
    disk = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
    return {
        "words p50 ms": _at(by_words, 0.5),
        "words p95 ms": _at(by_words, 0.95),
        "both p50 ms": _at(by_both[1:], 0.5),
        "both p95 ms": _at(by_both[1:], 0.95),
        "first ms": round(1e3 * by_both[0]),
        "memory MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "disk MB": round(disk / 1e6),
    }


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
        verdict = order.judged_records(terms, hint(asked, today), found, today, meaning.scale if meaning else None)
        index.items([each.candidate.row for each in verdict.found[:10]])
    return time.perf_counter() - start


def _at(values: Sequence[float], share: float) -> float:
    return round(1e3 * sorted(values)[int(share * (len(values) - 1))], 1)


def _commanded(size: int, folder: str) -> dict[str, Any]:
    """`byheart recall` from its start, and adding a record to a journal of so many until it can be found by its meaning."""
    made, project, home = Made(2), os.path.join(folder, "project"), os.path.join(folder, "home")
    os.makedirs(project)
    environment = {"HOME": folder, "BYHEART_HOME": home, "PATH": os.environ.get("PATH", ""), "BYHEART_CHILD": "1"}
    opened = app_open.open_memory(app_open.Surroundings(folder=project, environment=environment))
    journal = opened.memory.journal()
    journal.append({"text": made.text()})
    _fill(opened, made, size - 1)
    model = _with_vectors(opened)
    row: dict[str, Any] = {}
    # Without a word against bytecode on disk in it: the first run leaves that behind, as with every installed command.
    for name, flags in (("cold words ms", ["--set", "recall.embedder=none"]), ("cold both ms", [])):
        if name == "cold both ms" and model is None:
            continue
        command = [*_byheart(), *flags, "recall", made.text(4, 4)]
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


def _byheart() -> list[str]:
    """The command as it was installed."""
    script = os.path.join(os.path.dirname(sys.executable), "byheart")
    return [script] if os.path.exists(script) else [sys.executable, "-m", "byheart"]


def _fill(opened: Any, made: Made, size: int) -> None:
    """Write the other records as any program could: a line each."""
    path = next(page.path for page in opened.memory.show() if page.dialect == "journal" and page.exists)
    lines = []
    for number in range(size):
        record = {"id": f"r{number}", "sessionId": f"s{number // 40}", "category": "note", "text": made.text()}
        lines.append(f"- {json.dumps(record)}\n")
    opened.files.append(Place(os.path.dirname(path), os.path.basename(path)), "".join(lines), None)


def _with_vectors(opened: Any) -> str | None:
    """Take the records in and give each a vector under the model's name, made up: what they are does not change how long a
    search takes. None where there is no model."""
    opened.memory.recall("anything at all")
    search_tools = opened.memory.search_tools
    embedder, index = search_tools.recall_models.embedder, search_tools.index()
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


PARTS = {"make": _filled, "search": _searched, "command": _commanded}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(PARTS[sys.argv[1]](int(sys.argv[2]), sys.argv[3])) + "\n")
