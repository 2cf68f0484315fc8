"""The command `byheart`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and give its exit code."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["hook"]:
        # A session waits for it: nothing else is loaded.
        from byheart.interfaces.hooks.hook import main as hook

        return hook(arguments[1:])
    if arguments[:1] == ["mcp"]:
        # An agent tells its model that it is still connecting until this answers.
        from byheart.interfaces.mcp.stdio import main as mcp

        done = mcp(arguments[1:])
        if done >= 0:
            return done
    import gc

    # A command lives for a moment: collecting cycles costs it more than it frees.
    gc.disable()
    from byheart.interfaces.cli.app import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
