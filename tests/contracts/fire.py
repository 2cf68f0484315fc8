"""Compacts the journal of a folder, over and over, each time in a process of its own that waits to be traced.

Run as: python fire.py [careless]. Reads a folder a line; prints the child's number once it has stopped, and its exit status
once it has ended. The imports are paid once, so that a thousand crash points take a minute and not an hour.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from datetime import UTC, datetime

from byheart.domain.documents import Place
from byheart.domain.errors import ByheartError
from byheart.domain.ports import Snapshot
from byheart.journal import compact  # noqa: F401 - so that no child has to load it
from byheart.storage.files.disk import digest
from byheart.testing import Bench, Clock, SharedFiles

NOW = datetime(2026, 3, 14, 9, 26, tzinfo=UTC)
# Little room in LONGMEMORY.md, so that an older block has to leave it for the new one.
FLAGS = ("journal.timezone=UTC", "journal.long_memory_max_chars=600")


class Careless(SharedFiles):
    """The control: writes into the file itself. If this one passes too, the harness tests nothing."""

    def write(self, place: Place, text: str, base: str) -> Snapshot:
        if not str(place).endswith("/MEMORY.md"):
            return super().write(place, text, base)
        content = text.encode()
        opened = os.open(str(place), os.O_WRONLY | os.O_TRUNC)
        os.write(opened, content[: len(content) // 2])
        os.write(opened, content[len(content) // 2 :])
        os.close(opened)
        return Snapshot(text, digest(content))


def main() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                # Let a tracer that is not our parent in, where the kernel asks for that.
                libc.prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)
                files = Careless() if "careless" in sys.argv else SharedFiles()
                store = Bench(line.rstrip("\n"), clock=Clock(NOW), files=files, flags=FLAGS).memory.journal()
                os.kill(os.getpid(), signal.SIGSTOP)
                code = 0 if store.compact(force=True).ran else 3
            except ByheartError:
                code = 5
            finally:
                os._exit(code)
        os.waitpid(child, os.WUNTRACED)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
