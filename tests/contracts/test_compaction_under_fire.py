"""Compaction under fire: killed, out of space or failed by the disk at every system call, and at every file operation.

After each, MEMORY.md is the old file or the complete new one, every record that was there is in it or in the archive, and
the next run finishes the job as if nothing had happened.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from byheart.domain.documents import Place
from byheart.domain.errors import ByheartError
from byheart.domain.ports import Snapshot
from byheart.storage.files.containment import explained
from byheart.testing import Bench, Clock, SharedFiles
from tests.contracts.fire import FLAGS, NOW
from tests.contracts.test_crashes import has_strace

FIRE = Path(__file__).with_name("fire.py")
PROSE = "Mine: the lighthouse plan is in the drawer."
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def bench(folder: Path, files: SharedFiles | None = None) -> Bench:
    return Bench(str(folder), clock=Clock(NOW), files=files or SharedFiles(), flags=FLAGS)


def laid_out(folder: Path) -> None:
    """A journal with something of everything: old and new, kept and fleeting, secret, prose, an older summary."""
    made = bench(folder)
    # Copies of the folder are the same project, by its remote.
    made.put(".git/config", '[remote "origin"]\n\turl = https://example.com/shop.git\n')
    store = made.memory.journal()
    made.clock.now = NOW - timedelta(days=40)
    for number in range(4):
        store.append({"category": "turn-summary", "text": f"Fixed the crash in part_{number}.py because of x{number}."})
    store.append(
        {"category": "note", "text": "The vault is behind the picture", "provenance": {"sensitivity": "secret"}}
    )
    store.append({"category": "decision", "text": "Chose Postgres over SQLite for the queue"})
    store.append({"category": "note", "text": "Older remark about the build: it takes 12 minutes."})
    store.append({"category": "note", "text": "Another remark: the cache must be warm."})
    made.clock.now = NOW - timedelta(days=1)
    store.append({"category": "turn-summary", "text": "Yesterday's report stays."})
    made.clock.now = NOW
    memory = Path(made.path("journal"))
    lines = memory.read_text(encoding="utf-8").splitlines(keepends=True)
    lines.insert(6, PROSE + "\n")
    memory.write_text("".join(lines), encoding="utf-8")
    (memory.parent / "LONGMEMORY.md").write_text(
        "# LONGMEMORY\n\nKept by hand.\n\n## Summary (2026-01-01)\n\n- Earlier " + "x" * 300 + ".\n", encoding="utf-8"
    )


@dataclass(frozen=True)
class Journal:
    """What a reader finds in a folder, with made-up ids and times of day made alike."""

    memory: str
    long: str
    archive: list[str]
    litter: list[str]

    @classmethod
    def of(cls, folder: Path) -> Journal:
        root = next((folder / "home" / "projects").iterdir())
        memory = root / "journal" / "MEMORY.md"
        archive = root / ".byheart" / "journal-archive.md"
        text = memory.read_text(encoding="utf-8", errors="replace") if memory.exists() else "<gone>"
        long = (root / "journal" / "LONGMEMORY.md").read_text(encoding="utf-8")
        kept = archive.read_text(encoding="utf-8").splitlines() if archive.exists() else []
        litter = [path.name for path in folder.rglob(".byheart-*.tmp")]
        backups = root / ".byheart" / "backup"
        # One backup may stay, of both files.
        copies = sorted(path.name for path in backups.iterdir()) if backups.exists() else []
        litter += [name for name in copies if name.removesuffix(".along") != copies[0]]
        return cls(memory=text, long=long, archive=kept, litter=litter)


def plain(text: str, old: str) -> str:
    """The text with ids that were not in the old file made alike."""
    known = set(_UUID.findall(old))
    return _UUID.sub(lambda found: found.group() if found.group() in known else "NEW", text)


class Expected:
    """How the journal looks before, and after a run that nobody disturbed."""

    def __init__(self, folder: Path) -> None:
        self.template = folder / "template"
        laid_out(self.template)
        self.before = Journal.of(self.template)
        self.records = [line for line in self.before.memory.splitlines() if line.startswith("- {")]
        calm = folder / "calm"
        shutil.copytree(self.template, calm)
        assert bench(calm).memory.journal().compact(force=True).ran
        self.after = Journal.of(calm)
        self.new = plain(self.after.memory, self.before.memory)
        assert PROSE in self.new
        assert self.new != self.before.memory
        assert self.after.litter == []

    def verdict(self, folder: Path) -> str:
        """What state a disturbed run left: old, new, or what is wrong with it."""
        found = Journal.of(folder)
        missing = Counter(self.records) - Counter(found.memory.splitlines()) - Counter(set(found.archive))
        if found.memory == self.before.memory:
            return "old"
        if plain(found.memory, self.before.memory) != self.new:
            return "torn"
        return f"lost {len(missing)}" if missing else "new"

    def recovers(self, folder: Path) -> None:
        """The next run leaves exactly what a calm one leaves: one summary more, nothing archived twice, no litter."""
        bench(folder).memory.journal().compact(force=True)
        found = Journal.of(folder)
        assert plain(found.memory, self.before.memory) == self.new
        assert found.long == self.after.long
        assert Counter(found.archive) == Counter(self.after.archive)
        assert found.litter == []


@pytest.fixture
def expected(tmp_path: Path) -> Expected:
    return Expected(tmp_path)


# System calls, by strace


class Range:
    """A place to shoot at compactions: runs one in a fresh copy, with one system call of it spoiled."""

    def __init__(self, expected: Expected, folder: Path, *arguments: str) -> None:
        self.expected, self.folder = expected, folder
        self.server = subprocess.Popen(
            [sys.executable, str(FIRE), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def shot(self, name: str, options: list[str]) -> tuple[Path, int, str]:
        """The folder, the exit status and the trace of one run."""
        target, trace = self.folder / name, self.folder / f"{name}.trace"
        shutil.copytree(self.expected.template, target)
        assert self.server.stdin is not None and self.server.stdout is not None
        self.server.stdin.write(f"{target}\n")
        self.server.stdin.flush()
        child = int(self.server.stdout.readline())
        tracer = subprocess.Popen(["strace", "-qq", "-o", str(trace), "-p", str(child), *options])
        until = time.monotonic() + 240
        while f"TracerPid:\t{tracer.pid}" not in Path(f"/proc/{child}/status").read_text(encoding="ascii"):
            assert time.monotonic() < until, "strace does not attach"
            time.sleep(0.001)
        os.kill(child, signal.SIGCONT)
        status = int(self.server.stdout.readline())
        tracer.wait(timeout=240)
        text = trace.read_text(encoding="utf-8", errors="replace")
        trace.unlink()
        return target, status, text

    def close(self) -> None:
        self.server.kill()
        self.server.wait(timeout=20)
        for stream in (self.server.stdin, self.server.stdout):
            if stream is not None:
                stream.close()


@pytest.fixture
def shooting(expected: Expected, tmp_path: Path) -> Iterator[Range]:
    if not can_attach():
        pytest.skip("needs strace with ptrace rights")
    place = Range(expected, tmp_path / "range")
    yield place
    place.close()


def can_attach() -> bool:
    """Whether strace may trace a process that is not its child."""
    if not has_strace():
        return False
    sleeper = subprocess.Popen([sys.executable, "-c", ALLOWING], stdout=subprocess.PIPE)
    assert sleeper.stdout is not None
    sleeper.stdout.readline()
    tracer = subprocess.Popen(["strace", "-qq", "-o", os.devnull, "-p", str(sleeper.pid)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            if f"TracerPid:\t{tracer.pid}" in Path(f"/proc/{sleeper.pid}/status").read_text(encoding="ascii"):
                return True
            if tracer.poll() is not None:
                return False
            time.sleep(0.01)
        return False
    finally:
        for process in (tracer, sleeper):
            process.kill()
            process.wait(timeout=20)
        sleeper.stdout.close()


ALLOWING = """
import ctypes, time
ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)
print("ready", flush=True)
time.sleep(30)
"""


# What a process asks of memory, time and chance says nothing about files.
QUIET = "!mmap,munmap,mremap,mprotect,brk,futex,getpid,getrandom,clock_nanosleep,rt_sigaction,restart_syscall,madvise"


# The calls that leave something else on the disk, or wait for it. Killed before any other, a process leaves what it leaves when it is
# killed before the next of these.
CHANGING = frozenset("write pwrite64 fsync fdatasync rename renameat renameat2 unlink unlinkat mkdir mkdirat ftruncate fchmod link linkat".split())  # fmt: skip
MANY = ("openat", "close", "newfstatat")


def calls(shooting: Range) -> dict[str, list[str]]:
    """The system calls of an undisturbed run as the trace has them, by name, in their order."""
    _, status, trace = shooting.shot("count", ["-e", f"trace={QUIET}"])
    assert status == 0
    found: dict[str, list[str]] = {}
    for line in trace.splitlines():
        name = line.partition("(")[0]
        if name.replace("_", "").isalnum() and name not in ("exit_group", "exit"):
            found.setdefault(name, []).append(line)
    return found


def is_changing(call: str, line: str) -> bool:
    return call in CHANGING or (call == "openat" and "O_CREAT" in line)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "how", ["signal=KILL", "error=ENOSPC", *(f"error=EIO in {call}" for call in (*MANY, "others"))]
)
def test_compaction_survives_every_system_call(expected: Expected, shooting: Range, how: str) -> None:
    """Guards seen to matter: with the archive written after the swap, kills lose records; with the unfinished note taken
    out, the next run archives twice and sums up twice."""
    outcomes: Counter[str] = Counter()
    hits = 0
    fault, _, part = how.partition(" in ")
    for call, lines in calls(shooting).items():
        if part and part != (call if call in MANY else "others"):
            continue
        for number, line in enumerate(lines, 1):
            if not part and not is_changing(call, line):
                continue
            inject = ["-e", f"trace={call}", "-e", f"inject={call}:{fault}:when={number}"]
            target, status, trace = shooting.shot(f"{call}{number}", inject)
            hits += "INJECTED" in trace or status == -signal.SIGKILL
            verdict = expected.verdict(target)
            outcomes[verdict] += 1
            assert verdict in ("old", "new"), f"{call} number {number}: {verdict}"
            expected.recovers(target)
            shutil.rmtree(target)
    assert hits > 50
    assert outcomes["old"] > 20
    assert outcomes["new"] > 5


def test_careless_writer_is_caught_by_the_same_range(expected: Expected, tmp_path: Path) -> None:
    if not can_attach():
        pytest.skip("needs strace with ptrace rights")
    careless = Range(expected, tmp_path / "range", "careless")
    verdicts = set()
    for number in range(1, len(calls(careless)["write"]) + 1):
        inject = ["-e", "trace=write", "-e", f"inject=write:signal=KILL:when={number}"]
        verdicts.add(expected.verdict(careless.shot(f"write{number}", inject)[0]))
    careless.close()
    assert "torn" in verdicts


# File operations, without a tracer


class Killed(BaseException):
    """The process is gone: nothing catches this."""


class Spoiled(SharedFiles):
    """Real files whose operation number `when` does not happen, or happens and is not answered."""

    def __init__(self, when: int, how: str) -> None:
        super().__init__()
        self.left, self.how, self.dead = when, how, False

    def _spoil(self, place: Place, action: Callable[[], object]) -> None:
        if self.dead:
            raise Killed
        self.left -= 1
        if self.left:
            return
        if self.how == "killed after":
            action()
        if self.how.startswith("killed"):
            self.dead = True
            raise Killed
        number = errno.ENOSPC if self.how == "ENOSPC" else errno.EIO
        raise explained(place, OSError(number, os.strerror(number)), writing=True)

    def read(self, place: Place, most: int | None = None) -> Snapshot:
        self._spoil(place, lambda: None)
        return super().read(place, most)

    def write(self, place: Place, text: str, base: str) -> Snapshot:
        self._spoil(place, lambda: super(Spoiled, self).write(place, text, base))
        return super().write(place, text, base)

    def append(self, place: Place, text: str, base: str | None) -> None:
        self._spoil(place, lambda: super(Spoiled, self).append(place, text, base))
        super().append(place, text, base)

    def remove(self, place: Place, base: str) -> None:
        self._spoil(place, lambda: super(Spoiled, self).remove(place, base))
        super().remove(place, base)


@pytest.mark.parametrize("how", ["killed before", "killed after", "ENOSPC", "EIO"])
def test_compaction_survives_every_file_operation(expected: Expected, tmp_path: Path, how: str) -> None:
    outcomes: Counter[str] = Counter()
    for when in range(1, 200):
        target = tmp_path / f"op{when}"
        shutil.copytree(expected.template, target)
        files = Spoiled(when, how)
        with suppress(Killed, ByheartError):
            bench(target, files).memory.journal().compact(force=True)
        if files.left > 0:
            break
        verdict = expected.verdict(target)
        outcomes[verdict] += 1
        assert verdict in ("old", "new"), f"operation {when}: {verdict}"
        expected.recovers(target)
        shutil.rmtree(target)
    else:
        pytest.fail("the run never ends")
    assert outcomes["old"] > 10
    assert outcomes["new"] > 2
