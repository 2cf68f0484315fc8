"""Many processes on one journal: appends, a window, compactions and a person's edits at once; also when killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from byheart.testing import Bench, Clock

WRITER = """
import sys
from datetime import UTC, datetime
from byheart.testing import Bench, Clock
folder, number, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
flags = ("journal.timezone=UTC", *sys.argv[4:])
bench = Bench(folder, clock=Clock(datetime(2026, 3, 14, tzinfo=UTC)), flags=flags)
store = bench.memory.journal()
for step in range(count):
    # Half of the records are old enough to be compacted as soon as somebody looks.
    at = "2026-01-01T00:00:00.000Z" if step % 2 else "2026-03-14T00:00:00.000Z"
    done = store.append({"text": f"p{number} s{step} decided", "provenance": {"timestamp": at}})
    print(done.id, flush=True)
"""
COMPACTOR = """
import sys
from datetime import UTC, datetime
from byheart.domain.errors import Conflict
from byheart.testing import Bench, Clock
bench = Bench(sys.argv[1], clock=Clock(datetime(2026, 3, 14, tzinfo=UTC)), flags=("journal.timezone=UTC",))
while True:
    try:
        bench.memory.journal().compact(force=True)
    except Conflict:
        pass
"""


def started(folder: Path, *arguments: str, script: str = WRITER) -> tuple[subprocess.Popen[str], Path]:
    out = folder / f"out-{random.random()}"
    with out.open("w", encoding="utf-8") as stream:
        command = [sys.executable, "-c", script, str(folder), *arguments]
        return subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, text=True), out


def lost(folder: Path, outs: list[Path]) -> list[str]:
    """Acknowledged records that are in no file any more, and whatever is wrong with the file itself."""
    bench = Bench(str(folder), clock=Clock(datetime(2026, 3, 14, tzinfo=UTC)))
    kept = Path(bench.path("journal")).read_text(encoding="utf-8")
    for archive in Path(bench.home).rglob("journal-archive.md"):
        kept += archive.read_text(encoding="utf-8")
    acknowledged = [line for out in outs for line in out.read_text(encoding="utf-8").splitlines()]
    assert [line for line in acknowledged if len(line) != 36] == []
    ids = Counter(each.origin.id for each in bench.memory.journal().read_all() if each.origin)
    assert [id_ for id_, count in ids.items() if count > 1] == []
    assert [each.rule for each in bench.memory.journal().integrity_scan() if each.rule == "broken-line"] == []
    return [id_ for id_ in acknowledged if id_ not in kept]


def test_appends_of_many_processes_survive_compactions_and_a_window(tmp_path: Path) -> None:
    writers = [started(tmp_path, str(number), "60", "journal.memory_max_records=150") for number in range(5)]
    compactor, _ = started(tmp_path, script=COMPACTOR)
    for process, out in writers:
        assert process.wait(timeout=200) == 0, out.read_text(encoding="utf-8")[-500:]
    compactor.kill()
    compactor.wait(timeout=20)
    outs = [out for _, out in writers]
    assert sum(len(out.read_text(encoding="utf-8").splitlines()) for out in outs) == 300
    assert lost(tmp_path, outs) == []


def test_processes_killed_at_random_moments_lose_no_acknowledged_record(tmp_path: Path) -> None:
    rng = random.Random(4)
    outs: list[Path] = []
    for _ in range(12):
        crowd = [started(tmp_path, str(number), "1000", "journal.memory_max_records=60") for number in range(2)]
        crowd.append(started(tmp_path, script=COMPACTOR))
        until = time.monotonic() + 30
        while not any(len(out.read_text(encoding="utf-8")) > 36 for _, out in crowd[:2]):
            assert time.monotonic() < until
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.15))
        for process, _ in crowd:
            os.kill(process.pid, signal.SIGKILL)
            process.wait(timeout=30)
        outs += [out for _, out in crowd[:2]]
        for out in outs[-2:]:
            # The last line may be half printed: then nobody was told.
            text = out.read_text(encoding="utf-8")
            out.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
        assert lost(tmp_path, outs) == []
    Bench(str(tmp_path)).memory.journal().compact(force=True)
    assert list(tmp_path.rglob(".byheart-*.tmp")) == []
