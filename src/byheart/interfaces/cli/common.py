"""What all commands share: opening the memory, common options, printing."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from byheart.domain.errors import BadInput, ByheartError
from byheart.domain.records import Scope
from byheart.domain.roots import Place
from byheart.domain.values import dataclass, field
from byheart.interfaces.render import as_json, finding_line
from byheart.text.patterns import deferred
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from byheart.app.open import OpenMemory, Surroundings
    from byheart.domain.results import Finding

_STEERING = deferred("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")

NOTEBOOKS = {
    "profile": "yaml-block",
    "yaml-block": "yaml-block",
    "memories.md": "yaml-block",
    "rules": "triples",
    "triples": "triples",
    "memories.ndjson": "triples",
    "journal": "journal",
    "MEMORY.md": "journal",
}


@dataclass(slots=True)
class CommandCall:
    """This call of the command: what was given before the command's name, and what is to be done when it has ended."""

    flags: tuple[str, ...] = ()
    folder: str | None = None
    at_end: list[Callable[[], None]] = field(default_factory=list)

    def begin(self) -> None:
        """Another call in the same process starts from nothing."""
        self.flags, self.folder, self.at_end = (), None, []

    def end(self) -> None:
        """Do what is to be done when a command has ended."""
        for each in self.at_end:
            each()
        self.at_end = []


# One process, one call.
call = CommandCall()


def opened(*, upkeep: bool = True, writes: bool = False) -> OpenMemory:
    """The memory of the folder this command runs in. Upkeep that is due is started when the command is done; where it writes,
    what sessions are told is made ready again."""
    # Here, so that help, completion and version do not wait for it.
    from byheart.app.open import open_memory
    from byheart.app.upkeep import start_upkeep

    around = surroundings()
    found = open_memory(around)
    for problem in (found.ignored, found.memory.context.trust.problem):
        if problem:
            note(f"byheart: {problem}")
    if writes:
        from byheart.app import briefs

        call.at_end.append(lambda: briefs.after_write(found, around))
    if upkeep:
        call.at_end.append(lambda: start_upkeep(found, around))
    return found


def surroundings() -> Surroundings:
    """Where this command runs, with what environment and flags."""
    from byheart.app.open import Surroundings

    chosen = call.folder or folder()
    if not os.path.isdir(chosen):
        raise BadInput(f"{chosen!r} is not a folder; name an existing one with -C")
    return Surroundings(folder=chosen, environment=os.environ, flags=call.flags)


def folder() -> str:
    """The folder that relative paths on the command line start from."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise BadInput("the current folder no longer exists; change to one that does") from None


def scope_of(name: str | None) -> Scope | None:
    """The scope a flag names, if one was given."""
    return Scope(name) if name else None


def scopes_of(name: str | None) -> Sequence[Scope]:
    """The scope a flag names, else both."""
    return (Scope(name),) if name else (Scope.LOCAL, Scope.GLOBAL)


def say(line: str) -> None:
    """A line of the result; any colour in it was put there because it is wanted."""
    sys.stdout.write(f"{line}\n")


def page(text: str) -> None:
    """A file's text, without characters that could play tricks on a terminal."""
    say(visible(text))


def note(line: str) -> None:
    """A line beside the result."""
    # In order, where both go to the same place.
    sys.stdout.flush()
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def once(opened_: OpenMemory, line: str) -> None:
    """A line beside the result that is worth saying once; said again when it has become another."""
    place = Place(opened_.home, "state/said.txt")
    try:
        known = opened_.files.read(place)
        if known.text == line:
            return
        opened_.files.write(place, line, known.digest)
    except ByheartError:
        # Better said twice than not at all.
        pass
    note(f"byheart: {line}")


def put(value: object) -> None:
    """The result as JSON."""
    unicode = (sys.stdout.encoding or "").casefold().replace("-", "").startswith("utf")
    text = json.dumps(as_json(value), ensure_ascii=not unicode, indent=2)
    # Valid JSON may hold characters that steer a terminal; escaped, it says the same.
    sys.stdout.write(_STEERING.sub(lambda found: f"\\u{ord(found.group()):04x}", text) + "\n")


def problems(found: Iterable[Finding]) -> None:
    """What was wrong with files that were read, on stderr."""
    for each in found:
        note(f"byheart: {finding_line(each)}")


def heading(text: str, opened_: OpenMemory) -> str:
    """A heading, bold where the terminal and the user allow it."""
    return f"\x1b[1m{text}\x1b[0m" if colour(opened_) else text


def colour(opened_: OpenMemory) -> bool:
    """Whether to use colour: as configured, else on a terminal whose user has not set NO_COLOR."""
    wish = opened_.config.text("output.color")
    if wish == "always":
        return True
    return wish == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def width() -> int:
    """How wide the terminal is; 0 where the result goes elsewhere and need not fit."""
    import shutil

    return shutil.get_terminal_size((0, 0)).columns if sys.stdout.isatty() else 0


def examples(*lines: str) -> str:
    """The epilog that every command has: what to type."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)
