"""Crash points: the process is killed, or the disk refuses, at every system call of a write in turn."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WRITER = """
import sys
from byheart.storage.files.disk import DiskFiles
from byheart.domain.documents import Place
files, place = DiskFiles(), Place(sys.argv[1], "x.md")
files.write(place, "new" * 5000, files.read(place).digest)
"""
# The control: a writer without our care. If this one passes too, the harness tests nothing.
CARELESS = """
import sys
with open(sys.argv[1] + "/x.md", "w", encoding="utf-8") as stream:
    stream.write("new" * 2500)
    stream.flush()
    stream.write("new" * 2500)
"""
CALLS = ("openat", "write", "fsync", "rename", "renameat", "renameat2", "unlinkat", "close", "fchmod")


def has_strace() -> bool:
    if not shutil.which("strace"):
        return False
    return subprocess.run(["strace", "-qq", "-e", "trace=none", "true"], capture_output=True).returncode == 0


def outcomes(folder: Path, writer: str, how: str) -> tuple[set[str], int]:
    """What a reader finds after each crash point, and how many crash points there were."""
    found, hits = set(), 0
    for call in CALLS:
        for number in range(1, 4):
            place = folder / f"{call}{number}{how[:6]}"
            place.mkdir()
            (place / "x.md").write_text("old" * 5000, encoding="utf-8")
            # Only calls on this folder count; the interpreter makes hundreds of its own.
            command = ["strace", "-f", "-qq", "-o", str(place / "trace"), "-P", str(place), "-P", str(place / "x.md")]
            command += ["-e", f"trace={call}", "-e", f"inject={call}:{how}:when={number}"]
            subprocess.run([*command, sys.executable, "-c", writer, str(place)], capture_output=True)
            trace = (
                (place / "trace").read_text(encoding="utf-8", errors="replace") if (place / "trace").exists() else ""
            )
            hits += "INJECTED" in trace or "killed by" in trace
            text = (place / "x.md").read_text(encoding="utf-8") if (place / "x.md").exists() else "<gone>"
            found.add({"old" * 5000: "old", "new" * 5000: "new"}.get(text, "torn"))
    return found, hits


@pytest.mark.skipif(not has_strace(), reason="needs strace with ptrace rights")
@pytest.mark.parametrize("how", ["signal=KILL", "error=ENOSPC", "error=EIO"])
def test_reader_sees_the_old_file_or_the_new_one_at_every_crash_point(tmp_path: Path, how: str) -> None:
    found, hits = outcomes(tmp_path, WRITER, how)
    assert hits >= 3
    assert found <= {"old", "new"}


@pytest.mark.skipif(not has_strace(), reason="needs strace with ptrace rights")
def test_careless_writer_is_caught_by_the_same_harness(tmp_path: Path) -> None:
    found, _ = outcomes(tmp_path, CARELESS, "signal=KILL")
    assert "torn" in found
