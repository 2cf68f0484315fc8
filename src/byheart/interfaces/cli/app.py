"""Where the command line begins and ends: the shortest way to the command, and an exit code whatever happens."""

from __future__ import annotations

import io
import os
import sys

from byheart.domain.errors import ByheartError
from byheart.interfaces.cli import common, fast_argv


def run(arguments: list[str]) -> int:
    """Run one command; the exit code: 0 done, 1 nothing found, 2 usage, 3 refused, 4 conflict or busy, 5 environment."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not make a command fail that has done its work.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    common.call.begin()
    try:
        try:
            outcome = _outcome(arguments)
        finally:
            common.call.end()
        sys.stdout.flush()
        return outcome
    except ByheartError as error:
        from byheart.interfaces import faults

        return faults.told(error, as_object="--json" in arguments)
    except BrokenPipeError:
        # The reader went away (head, a closed pager); keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        sys.stderr.write(f"byheart: reading or writing failed: {error.strerror or error}\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 5
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 - the boundary: whatever is left becomes a message
        from byheart.interfaces import faults

        return faults.unexpected(error, debug=os.environ.get("BYHEART_DEBUG") == "1")


def _outcome(arguments: list[str]) -> int:
    command = fast_argv.command_in(arguments)
    if command is not None:
        return command()
    # What reads every spelling, and helps with those that are wrong, takes as long to load as a plain command takes in all.
    from byheart.interfaces.cli import group

    return group.run(arguments)
