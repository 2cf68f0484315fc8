"""Homes as agents leave them, written by hand, and reading all that is in one."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from byheart.agents.agent import FolderSource, sources
from byheart.agents.reading.folders import Machine
from byheart.domain.sessions import (
    Answered,
    Began,
    Caps,
    Found,
    Reading,
    Restood,
    Said,
    Session,
    SessionSource,
    Tally,
    Turn,
)
from byheart.domain.values import dataclass, field, fields, replace
from byheart.sessions.refresh import joined_output

HOMES = Path(__file__).with_name("homes")
NAMES = sorted(path.name for path in HOMES.iterdir())
# Not where an agent keeps them, so they are read as a folder that the user named.
LOOSE = ("generic", "openhands-list")


@dataclass
class Read:
    """A session with its turns, as a pass over its file told them."""

    session: Session
    turns: dict[int, Turn] = field(default_factory=dict)


def home(name: str, folder: Path) -> Path:
    """A copy of a home; stores stand there as SQL and become databases."""
    target = folder / name
    shutil.copytree(HOMES / name, target)
    for script in sorted(target.rglob("*.sql")):
        store(script.with_suffix(""), script.read_text(encoding="utf-8"))
        script.unlink()
    return target


def store(path: Path, script: str) -> Path:
    """A SQLite database made by a script."""
    with sqlite3.connect(path) as connection:
        connection.executescript(script)
    connection.close()
    return path


def all_sources(place: Path, caps: Caps | None = None) -> list[SessionSource]:
    """Every agent's source over a home, or the folder as it is."""
    caps = caps or Caps()
    if place.name in LOOSE:
        return [FolderSource((str(place),), caps)]
    machine = Machine(home=str(place), environment={}, projects=(str(place / "bakery"),))
    return list(sources(machine, (), caps))


def taken(reading: Reading, into: dict[str, Read] | None = None) -> dict[str, Read]:
    """The sessions of one pass, by id; `into` goes on where an earlier pass ended."""
    found = {} if into is None else into
    current: Read | None = None
    for event in reading:
        if isinstance(event, Began):
            current = found.setdefault(event.session.id, Read(event.session))
            current.session = _better(current.session, event.session)
            continue
        if current is None:
            current = next(iter(found.values()))
        if isinstance(event, Said):
            assert event.turn.number not in current.turns, "a number was given twice"
            current.turns[event.turn.number] = event.turn
        elif isinstance(event, Answered):
            turn = current.turns[event.number]
            current.turns[event.number] = replace(
                turn,
                output=joined_output(turn.output, event),
                exit=turn.exit if event.exit is None else event.exit,
                failed=turn.failed if event.failed is None else event.failed,
                touches=tuple(dict.fromkeys((*turn.touches, *event.touches))),
            )
        elif isinstance(event, Restood):
            for number in event.numbers:
                current.turns[number] = replace(current.turns[number], standing=event.standing)
    return found


def _better(known: Session, told: Session) -> Session:
    """What is known of a session after it was told again: a later pass may say less than an earlier one."""
    facts = {each.name: getattr(told, each.name) for each in fields(Session) if getattr(told, each.name) is not None}
    first = {name: getattr(known, name) for name in ("cwd", "commit", "started") if getattr(known, name) is not None}
    return replace(known, **{**facts, **first, "closed": told.closed})


def every_transcript(place: Path) -> Iterable[tuple[SessionSource, Found]]:
    """All transcripts of a home with the source that found them."""
    for source in all_sources(place):
        for found in source.found():
            yield source, found


def file_tally(reading: Reading) -> Tally:
    """What a pass came to."""
    taken(reading)
    return reading.tally
