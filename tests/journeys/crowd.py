"""One of many processes that write to a root at the same time. Run as: python crowd.py FOLDER NUMBER OPERATIONS SEED.

Prints a line for each write it was told had succeeded, after it succeeded, so that a test can hold byheart to it.
"""

from __future__ import annotations

import random
import sys
from datetime import UTC, datetime

from byheart.domain.errors import ByheartError
from byheart.domain.records import Request
from byheart.testing import Bench, Clock


def main() -> None:
    folder, number, operations, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    rng = random.Random(seed * 1000 + number)
    bench = Bench(folder, clock=Clock(datetime(2026, 3, 14, tzinfo=UTC)))
    memory = bench.memory
    mine: list[str] = []
    for step in range(operations):
        if mine and rng.random() < 0.4:
            handle = mine.pop(rng.randrange(len(mine)))
            print(f"try-forget {handle}", flush=True)
            memory.forget(handle)
            print(f"forgot {handle}", flush=True)
            continue
        name = f"p{number}s{seed}n{step}"
        if rng.random() < 0.3:
            request = Request(text=f"value {name}", key=f"crowd.{name}")
        else:
            request = Request(text=f"Never touch {name}.", triple=(name, "avoid", "touch"))
        print(f"try-remember {name}", flush=True)
        receipt = memory.remember(request)
        print(f"remembered {name} {receipt.handle}", flush=True)
        if receipt.handle:
            mine.append(receipt.handle)


if __name__ == "__main__":
    try:
        main()
    except ByheartError as error:
        print(f"failed {error}", flush=True)
        sys.exit(1)
