"""What all commands share: opening the memory, common options, printing."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING

from byheart.domain.documents import Place
from byheart.domain.errors import BadInput, ByheartError
from byheart.domain.records import Scope
from byheart.domain.values import dataclass, field
from byheart.interfaces.render import as_json, finding_line, hit_line, short, width, wrapped
from byheart.text.deferred import deferred, module
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from byheart.app import briefs
    from byheart.app import open as app_open
    from byheart.app import sessions as app_sessions
    from byheart.app import upkeep as app_upkeep
    from byheart.app.open import OpenMemory
    from byheart.domain.results import Finding, Listing
    from byheart.search import models
    from byheart.sessions.refresh import Progress
else:
    briefs = module("byheart.app.briefs")
    app_open = module("byheart.app.open")
    app_sessions = module("byheart.app.sessions")
    app_upkeep = module("byheart.app.upkeep")
    models = module("byheart.search.models")

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
    around = surroundings()
    found = app_open.open_memory(around)
    for problem in (found.ignored, found.memory.context.trust.problem):
        if problem:
            note(f"byheart: {problem}")
    if writes:
        call.at_end.append(lambda: briefs.after_write(found, around))
    if upkeep:
        call.at_end.append(lambda: app_upkeep.start_upkeep(found, around))
    return found


def surroundings() -> app_open.Surroundings:
    """Where this command runs, with what environment and flags."""
    chosen = call.folder or folder()
    if not os.path.isdir(chosen):
        raise BadInput(f"{chosen!r} is not a folder; name an existing one with -C")
    return app_open.Surroundings(folder=chosen, environment=os.environ, flags=call.flags)


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
    """A line of the result, with ~ for the home folder; any colour in it was put there because it is wanted."""
    sys.stdout.write(f"{wrapped(short(line), width())}\n")


def page(text: str, *, wraps: bool = False) -> None:
    """A file's text, without characters that could play tricks on a terminal; `wraps` where nobody copies it line by line."""
    sys.stdout.write(f"{wrapped(visible(text), width() if wraps else 0)}\n")


def note(line: str) -> None:
    """A line beside the result."""
    # In order, where both go to the same place.
    sys.stdout.flush()
    sys.stderr.write(f"{wrapped(short(line), width(sys.stderr))}\n")
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


def examples(*lines: str) -> str:
    """The epilog that every command has: what to type."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


_WIDTH = 30
# What is over sooner than this needs no bar, and more often than this nobody sees it.
_PATIENCE, _EVERY = 0.3, 0.1


def bar(title: str, unit: float = 1, suffix: str = "") -> Progress | None:
    """Shows how much is done of how much, counted in units; None where nobody would see it."""
    if not sys.stderr.isatty():
        return None
    began, shown = time.monotonic(), [0.0]

    def progress(done: int, total: int, about: str) -> None:
        now = time.monotonic()
        if done >= total:
            if shown[0]:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
            return
        if now - began < _PATIENCE or now - shown[0] < _EVERY:
            return
        shown[0] = now
        filled = round(_WIDTH * done / total) if total else 0
        drawn = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {done / unit:,.0f} of {total / unit:,.0f}{suffix}"
        line = f"{title} {drawn}  {about}".rstrip()
        # A line that goes on in the next row is never cleared.
        sys.stderr.write(f"\r\x1b[K{line[: max(20, width(sys.stderr) - 1)]}")
        sys.stderr.flush()

    return progress


def told(
    query: tuple[str, ...], *, limit: int | None, deep: bool, explain: bool, scope: str | None, as_object: bool
) -> int:
    """Print what fits a question; the exit code."""
    open_here = opened()
    found = open_here.memory.recall(" ".join(query), scopes=scopes_of(scope), most=limit, deep=deep)
    problems(found.problems)
    if found.missing == models.KEYWORDS:
        # Each time: the same question may have another answer in a moment.
        note(f"byheart: {found.missing}")
        app_sessions.start_embedding(open_here, surroundings())
    elif found.missing:
        once(open_here, found.missing)
    if as_object:
        put(found)
        return ended(found, "No match.", is_search=True)
    if found.hits and not found.is_sure:
        note("No confident match. Closest results:")
    for hit in found.hits:
        say(hit_line(hit))
        say(f"          {hit.path}:{hit.line}")
        if explain:
            factors = ", ".join(f"{name} {value:+.2f}" for name, value in hit.factors.items())
            say(f"          {hit.score:.2f}: {factors}")
    return ended(found, "No match.", is_search=True)


def ended(listing: Listing, empty: str, *, is_search: bool = False) -> int:
    """Exit code of a listing: 0, 5 when files could not be read, 1 when a search found nothing."""
    if listing.hits:
        return 0
    broken = [
        each
        for each in listing.problems
        if each.rule in ("unreadable", "broken-yaml", "unsupported-yaml", "no-block", "no-memory", "bad-items")
    ]
    if broken:
        return 5
    note(f"byheart: {empty}")
    return 1 if is_search else 0
