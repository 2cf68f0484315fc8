"""Where the command line begins and ends: the shortest way to the command, and an exit code whatever happens. What agents call all
day is read without what helps people with the others, when it is spelled plainly."""

from __future__ import annotations

import io
import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from byheart.domain.errors import ByheartError
from byheart.domain.values import dataclass, field
from byheart.interfaces.cli import common

if TYPE_CHECKING:
    from collections.abc import Callable


def run(arguments: list[str]) -> int:
    """Run one command; the exit code: 0 done, 1 nothing found, 2 usage, 3 refused, 4 conflict or busy, 5 environment."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not make a command fail that has done its work.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if sys.stdin is None:
        # Somebody closed it: nobody answers, and nothing comes.
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    # A line of a list is told by what it says.
    arguments = [word[2:] if word.startswith("- ") else word for word in arguments]
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
    except BrokenPipeError as error:
        if not _is_reader_gone():
            # Some other pipe: what was asked for was not done.
            from byheart.interfaces import faults

            return faults.unexpected(error, debug=os.environ.get("BYHEART_DEBUG") == "1")
        # The reader went away (head, a closed pager); keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        sys.stderr.write(f"byheart: reading or writing failed: {error.strerror or error}\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 5
    except KeyboardInterrupt:
        # What is written is written whole; what was not done is done by the next call.
        sys.stderr.write("\nbyheart: interrupted. What was done is kept; run the command again to go on.\n")
        return 130
    except Exception as error:  # noqa: BLE001 - the boundary: whatever is left becomes a message
        from byheart.interfaces import faults

        return faults.unexpected(error, debug=os.environ.get("BYHEART_DEBUG") == "1")


def _is_reader_gone() -> bool:
    """Whether nobody reads what we print any longer."""
    import select

    if not hasattr(select, "poll"):
        return True
    asked = select.poll()
    for stream in (sys.stdout, sys.stderr):
        try:
            asked.register(stream.fileno(), 0)
        except (OSError, ValueError, AttributeError):
            continue
    return any(state & (select.POLLERR | select.POLLHUP | select.POLLNVAL) for _, state in asked.poll(0))


def _outcome(arguments: list[str]) -> int:
    command = command_in(arguments)
    if command is not None:
        return command()
    # What reads every spelling, and helps with those that are wrong, takes as long to load as a plain command takes in all.
    from byheart.interfaces.cli import group

    return group.run(arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How a command is spelled: what each switch says, which options take a number and from where to where, and how many
    words it needs."""

    switches: dict[str, tuple[str, object]]
    numbers: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    defaults: dict[str, object] = field(default_factory=dict)


RECALL = Form(
    switches={
        "--deep": ("deep", True),
        "--explain": ("explain", True),
        "--json": ("as_object", True),
        "--local": ("scope", "local"),
        "--global": ("scope", "global"),
    },
    numbers={"-n": ("limit", 1, 100), "--limit": ("limit", 1, 100)},
    defaults={"deep": False, "explain": False, "as_object": False, "scope": None, "limit": None},
)
FORMS = {"recall": RECALL}


def command_in(arguments: list[str]) -> Callable[[], int] | None:
    """What to call for these arguments; None where they are not plain."""
    if "_BYHEART_COMPLETE" in os.environ:
        return None
    rest, flags, folder = list(arguments), list[str](), None
    while len(rest) > 1 and rest[0] in ("--set", "-C", "--project"):
        name, value = rest[0], rest[1]
        del rest[:2]
        if name == "--set":
            flags.append(value)
        else:
            folder = value
    if not rest or rest[0] not in FORMS:
        return None
    read = words_and_options(rest[1:], FORMS[rest[0]])
    if read is None or not read[0]:
        return None
    words, options = read
    common.call.flags, common.call.folder = tuple(flags), folder
    return partial(common.told, tuple(words), **options)  # type: ignore[arg-type]


def words_and_options(arguments: list[str], form: Form) -> tuple[list[str], dict[str, object]] | None:
    """Words and options of a command; None where one of them is not plain."""
    words: list[str] = []
    options = dict(form.defaults)
    given = iter(arguments)
    for each in given:
        if not each.startswith("-") or each == "-":
            words.append(each)
        elif each in form.switches:
            name, says = form.switches[each]
            options[name] = says
        elif each in form.numbers:
            name, least, most = form.numbers[each]
            value = next(given, "")
            if not value.isascii() or not value.isdigit() or not least <= int(value[:9]) <= most or len(value) > 9:
                return None
            options[name] = int(value)
        else:
            return None
    return words, options
