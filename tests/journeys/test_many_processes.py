"""Many processes on one root: every acknowledged write is there once, none is lost, none is torn; also when killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from byheart.domain.records import Scope
from byheart.testing import Bench

CROWD = Path(__file__).with_name("crowd.py")


def started(folder: Path, number: int, operations: int, seed: int) -> tuple[subprocess.Popen[str], Path]:
    out = folder / f"out-{seed}-{number}"
    with out.open("w", encoding="utf-8") as stream:
        arguments = [sys.executable, str(CROWD), str(folder), str(number), str(operations), str(seed)]
        return subprocess.Popen(arguments, stdout=stream, stderr=subprocess.STDOUT, text=True), out


class Claims:
    """What the processes were told: remembered, forgotten, and what was under way when they ended."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.remembered: set[str] = set()
        self.forgotten: set[str] = set()
        self.pending: set[str] = set()

    def read(self, out: Path) -> None:
        last = ""
        for line in out.read_text(encoding="utf-8").splitlines():
            last = line
            word, _, rest = line.partition(" ")
            if word == "remembered":
                name, _, handle = rest.partition(" ")
                self.names[handle] = name
                self.remembered.add(name)
            elif word == "forgot":
                self.forgotten.add(self.names[rest])
            else:
                assert word in ("try-remember", "try-forget"), line
        if last.startswith("try-"):
            rest = last.split(" ", 1)[1]
            self.pending.add(self.names.get(rest, rest))

    def check(self, bench: Bench) -> None:
        listing = bench.memory.list(scopes=(Scope.LOCAL,))
        assert listing.problems == ()
        found = Counter(
            hit.record.key.split(".")[1]
            if hit.dialect == "yaml-block" and hit.record.key
            else (hit.record.triple or ("",))[0]
            for hit in listing.hits
        )
        assert [name for name, count in found.items() if count > 1] == []
        must = self.remembered - self.forgotten - self.pending
        assert must - set(found) == set(), "acknowledged writes are missing"
        assert set(found) - must - self.pending == set(), "forgotten or unknown entries are there"


def no_leftovers(folder: Path) -> None:
    assert list(folder.rglob(".byheart-*.tmp")) == []


def test_eight_processes_lose_no_acknowledged_write(tmp_path: Path) -> None:
    crowd = [started(tmp_path, number, 200, seed=0) for number in range(8)]
    claims = Claims()
    for process, out in crowd:
        assert process.wait(timeout=280) == 0, out.read_text(encoding="utf-8")[-500:]
        claims.read(out)
    assert len(claims.remembered) > 700
    assert len(claims.forgotten) > 300
    claims.check(Bench(str(tmp_path)))
    no_leftovers(tmp_path)


@pytest.mark.parametrize("part", range(2))
def test_processes_killed_at_random_moments_lose_no_acknowledged_write(tmp_path: Path, part: int) -> None:
    """50 rounds in two parts: three writers, each killed with SIGKILL at a random moment, then everything is checked."""
    rng = random.Random(part)
    bench, claims = Bench(str(tmp_path)), Claims()
    killed = 0
    for round_ in range(25):
        crowd = [started(tmp_path, number, 1000, seed=part * 100 + round_) for number in range(3)]
        until = time.monotonic() + 20
        # Wait for a sign of work rather than for a time, so that slow machines kill mid-write as well.
        while not any("remembered" in out.read_text(encoding="utf-8") for _, out in crowd):
            assert time.monotonic() < until
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.12))
        for process, _ in crowd:
            os.kill(process.pid, signal.SIGKILL)
            killed += process.wait(timeout=30) == -signal.SIGKILL
        pending = claims.pending
        claims.pending = set()
        for _, out in crowd:
            claims.read(out)
        claims.pending |= pending
        claims.check(bench)
    assert killed == 75
    # The next writer sweeps what the killed ones left behind.
    bench.remember("Never leave litter.", triple=("litter", "avoid", "leave"))
    no_leftovers(tmp_path)
