"""One worker at a time: a lock that the kernel lets go of when its holder dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held(path: str) -> Iterator[bool]:
    """A stretch in which this process has the lock; False where somebody else has it. When it was last taken is the file's
    time of modification."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        os.utime(path)
        yield True
    finally:
        os.close(opened)


@contextmanager
def waited_for(path: str) -> Iterator[None]:
    """A stretch in which this process alone does what the lock is for; others wait for it."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)
