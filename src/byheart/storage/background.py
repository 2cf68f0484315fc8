"""Starting a byheart of its own, which outlives the command that started it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence


def command(arguments: Sequence[str]) -> list[str]:
    """The words that run this installation of byheart."""
    return [sys.executable, "-m", "byheart", *arguments]


def crew(arguments: Sequence[str], environment: Mapping[str, str], count: int) -> Callable[[], list[str]]:
    """Start byheart so many times over beside this process; what is given back waits for all of them and tells what they
    printed. Those that fail leave their work to whoever started them."""
    made = [
        subprocess.Popen(
            command(arguments),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(count)
    ]

    def wait() -> list[str]:
        return [each.communicate()[0].decode("utf-8", "replace") for each in made]

    return wait


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
