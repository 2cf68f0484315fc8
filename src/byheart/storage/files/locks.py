"""One writer at a time in a root: flock, which the kernel releases when its holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from typing import TYPE_CHECKING

from byheart.domain.errors import Busy
from byheart.storage.files.containment import explained, open_file, open_folder, parts

if TYPE_CHECKING:
    from byheart.domain.documents import Place


def acquire(place: Place, seconds: float) -> tuple[int, bool]:
    """The locked descriptor, and whether the holder before us died without releasing it."""
    names = parts(place)
    until = time.monotonic() + seconds
    while True:
        folder = open_folder(place, names[:-1], create=True)
        assert folder is not None
        try:
            lock = open_file(place, folder, names[-1], os.O_RDWR | os.O_CREAT)
            try:
                _wait(lock, until, str(place))
                # Somebody may have removed the file while we waited; then our lock guards nothing.
                if _same(lock, folder, names[-1]):
                    died = os.pread(lock, 32, 0) != b""
                    os.pwrite(lock, f"{os.getpid():<16}".encode(), 0)
                    return lock, died
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)
        except OSError as error:
            raise explained(place, error, writing=True) from None
        finally:
            os.close(folder)


def release(lock: int) -> None:
    """Say that we left in good order, and let go."""
    os.ftruncate(lock, 0)
    os.close(lock)


def hold_folder(place: Place, until_seconds: float) -> int | None:
    """Lock the folder that holds a file outside our own root, where users with another home write too."""
    folder = open_folder(place, parts(place)[:-1], create=False)
    if folder is None:
        return None
    try:
        _wait(folder, time.monotonic() + until_seconds, str(place))
    except BaseException:
        os.close(folder)
        raise
    return folder


def _wait(lock: int, until: float, name: str) -> None:
    pause = 0.001
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise Busy(f"{name}: {_holder(lock)} holds the lock; try again when it is done") from None
        # Uneven pauses keep waiting processes from polling in step; the clock's last digits are uneven enough.
        time.sleep(pause * (0.5 + time.monotonic_ns() % 1000 / 1000))
        pause = min(pause * 1.5, 0.02)


def _holder(lock: int) -> str:
    try:
        note = os.pread(lock, 32, 0).decode("ascii", "replace").strip()
    except OSError:
        note = ""
    return f"process {note}" if note else "another process"


def _same(lock: int, folder: int, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return False
