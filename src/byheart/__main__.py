"""The command `byheart`."""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """Run the command line and give its exit code."""
    # A command lives for a moment: collecting cycles costs it more than it frees.
    gc.disable()
    from byheart.interfaces.cli.app import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
