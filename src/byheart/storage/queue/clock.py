"""A clock that nobody sets, and who is alive: what leases are told by.

The wall clock jumps (a laptop that was asleep, a virtual machine that was restored, a person who sets it). The time since the
machine was started does not, and is the same for all its processes; after a restart no lease of before is alive.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from functools import cache

_ALIVE = ".worker"


@cache
def era() -> str:
    """Which start of the machine this is; empty where it cannot be told."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            return stream.read(64).strip()
    except OSError:
        return ""


def ticks() -> float:
    """Seconds since the machine was started."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(clock) if clock is not None else time.monotonic()


class Workers:
    """Which workers are alive: each holds a lock on a file of its own, which the kernel lets go of when it dies."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._mine: dict[str, int] = {}

    def enlist(self) -> str:
        """A new worker's name; it is alive until `leave`, or until this process ends."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        name = f"{os.getpid()}-{os.urandom(6).hex()}"
        opened = os.open(self._path(name), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(opened, fcntl.LOCK_EX)
        self._mine[name] = opened
        return name

    def leave(self, name: str) -> None:
        """The worker is done."""
        opened = self._mine.pop(name, None)
        if opened is not None:
            with suppress(FileNotFoundError):
                os.unlink(self._path(name))
            os.close(opened)

    def is_alive(self, name: str) -> bool:
        """Whether a worker still holds its lock."""
        if name in self._mine:
            return True
        if not name or "/" in name:
            return False
        try:
            opened = os.open(self._path(name), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(opened)
        return False

    def sweep(self) -> None:
        """Take the files of workers away that have died."""
        with suppress(FileNotFoundError):
            for entry in os.listdir(self._folder):
                name = entry.removesuffix(_ALIVE)
                if entry.endswith(_ALIVE) and not self.is_alive(name):
                    with suppress(FileNotFoundError):
                        os.unlink(self._path(name))

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name + _ALIVE)
