"""The command `byheart`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and give its exit code."""
    from byheart.interfaces.cli.app import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
