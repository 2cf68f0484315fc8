"""Starting a byheart of its own from a hook: the session neither waits for it nor ends it. Imports next to nothing."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byheart.interfaces.hooks.hook import HookCall


def run(call: HookCall, arguments: list[str]) -> None:
    """Run byheart detached and silent."""
    silent = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    words = [sys.executable, "-m", "byheart", *arguments]
    environment = {**call.environment, "BYHEART_CHILD": "1"}
    try:
        os.posix_spawn(sys.executable, words, environment, file_actions=silent, setsid=True)
    except (OSError, NotImplementedError):
        # Some systems cannot start a process with a session of its own in one go.
        from byheart.storage import background

        background.start(arguments, environment)
