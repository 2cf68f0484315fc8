"""Starting a byheart of its own, which outlives the command that started it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence


def command(arguments: Sequence[str]) -> list[str]:
    """The words that run this installation of byheart."""
    return [sys.executable, "-m", "byheart", *arguments]


def start(arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Run byheart with these arguments, detached and silent; whether it could be started."""
    try:
        subprocess.Popen(
            command(arguments),
            env=dict(environment),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return False
    return True
