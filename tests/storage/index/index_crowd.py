"""One of many processes that write and search the same memory: says what it wrote, and complains when it does not find it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from byheart.app.open import Surroundings
from byheart.app.sessions import open_sessions
from byheart.domain.records import Request
from byheart.domain.sessions import Which
from byheart.testing import Bench

LETTERS = "bcdfghjklmnpqrstvwxz"


def word(number: int, turn: int) -> str:
    """A word that nobody else writes, and that no stemmer takes for another."""
    value, out = number * 10_000 + turn, "zq"
    while value:
        value, rest = divmod(value, len(LETTERS))
        out += LETTERS[rest] + "o"
    return out + "k"


def main(folder: str, number: int, turns: int) -> None:
    """Write a record and a line of a transcript in turn, and search for each at once."""
    bench = Bench(folder, flags=("recall.embedder=sha1",))
    opened = bench.opened()
    around = Surroundings(folder=bench.project, environment=bench.environment, flags=bench.flags)
    transcript = Path(folder) / ".claude" / "projects" / "p" / f"s{number}.jsonl"
    transcript.parent.mkdir(parents=True, exist_ok=True)
    for turn in range(turns):
        own = word(number, turn)
        if turn % 5 == 4:
            opened.memory.remember(Request(text=f"I prefer the tool {own} over the others", key=f"tooling.{own}"))
        else:
            opened.memory.journal().append({"text": f"We met the ghost {own} in the cellar", "sessionId": f"s{number}"})
        found = opened.memory.recall(own)
        if not any(own in hit.record.text for hit in found.hits):
            print(f"LOST record {own}: {[hit.record.text for hit in found.hits]} {found.problems}", flush=True)
        row = {
            "type": "user",
            "uuid": f"{number:08x}-{turn:04x}",
            "timestamp": f"2026-03-02T10:{turn // 60:02}:{turn % 60:02}Z",
            "cwd": bench.project,
            "message": {"role": "user", "content": f"the parrot {own} sat on the mast"},
        }
        with transcript.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        every = open_sessions(opened, around)
        every.refresh()
        if not every.search(own, Which(), 3):
            print(f"LOST turn {own}", flush=True)
        print(f"wrote {own}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
