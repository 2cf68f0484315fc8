"""Taking over what agents remembered themselves. Each entry has an id made from where it stands and what it says, so that taking
over again changes nothing."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from byheart.agents.agent import every
from byheart.agents.reading.folders import Machine
from byheart.domain.documents import Place
from byheart.domain.errors import ByheartError
from byheart.domain.journal import Origin
from byheart.domain.records import Record, Scope
from byheart.domain.values import dataclass, field
from byheart.journal.importing import import_records
from byheart.text.slugs import content_digest, uuid_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from byheart.agents.agent import MemoryFolder
    from byheart.agents.reading.memory_files import Native
    from byheart.workspace.context import Context

_LARGEST, _MOST_FILES = 400_000, 2_000


@dataclass(slots=True, kw_only=True)
class Taken:
    """What one agent remembered, for one scope: in how many files, and what became of it."""

    agent: str
    scope: str
    files: list[str] = field(default_factory=list)
    entries: int = 0
    stored: int = 0
    known: int = 0
    skipped: list[str] = field(default_factory=list)


def names() -> list[str]:
    """The agents whose own memory can be read."""
    return sorted(agent.installed_as for agent in every().values() if agent.memories)


def take_over(
    context: Context, home: str, environment: dict[str, str], agents: Sequence[str], *, dry_run: bool
) -> list[Taken]:
    """What became of storing what agents remembered as journal records of this project, or of all projects. What was forgotten
    stays forgotten."""
    found: list[Taken] = []
    machine = Machine(home=home, environment=environment)
    for agent in every().values():
        if agent.memories is None or (agents and agent.installed_as not in agents):
            continue
        for place in agent.memories(machine, context.project.folder):
            # Notes that lie in a checkout may have come with it.
            if context.trust.covers(Place(place.folder, "any")) and not context.trust.is_trusted:
                continue
            records, files = _gathered(context, agent.installed_as, place)
            if files:
                found.append(_stored(context, agent.installed_as, place.scope, files, records, dry_run=dry_run))
    return found


def _stored(
    context: Context, agent: str, scope: Scope, files: list[str], records: list[Record], *, dry_run: bool
) -> Taken:
    taken = Taken(agent=agent, scope=scope.value, files=files, entries=len(records))
    if records:
        done = import_records(context, list(enumerate(records)), {}, scope, dry_run=dry_run, forgotten_too=False)
        taken.stored = sum(each.action == "added" for each in done.receipts)
        taken.known = sum(each.action == "unchanged" for each in done.receipts)
        taken.skipped = [why for _, why in done.skipped]
    return taken


def _gathered(context: Context, agent: str, place: MemoryFolder) -> tuple[list[Record], list[str]]:
    """The entries of a place, and the files they stand in. What cannot be read is passed over: it is not ours to mend."""
    records: list[Record] = []
    files: list[str] = []
    for path in _files(context, place):
        try:
            text = context.files.read(Place(place.folder, path), _LARGEST).text
        except ByheartError:
            continue
        if not text:
            continue
        if context.trust.covers(Place(place.folder, path)):
            text = context.trust.own_text(Place(place.folder, path), text)
        entries = list(place.read(text, path))
        if entries:
            files.append(f"{place.folder}/{path}")
        records += [_record(agent, each) for each in entries]
    return records, files


def _files(context: Context, place: MemoryFolder) -> Iterator[str]:
    if not os.path.isdir(place.folder):
        return
    pattern = re.compile(place.names)
    # One level of folders is as deep as any of them goes.
    for name in context.files.names(Place(os.path.dirname(place.folder), os.path.basename(place.folder)))[:_MOST_FILES]:
        if pattern.fullmatch(name):
            yield name
        elif (
            "." not in name and os.path.isdir(f"{place.folder}/{name}") and not os.path.islink(f"{place.folder}/{name}")
        ):
            below = context.files.names(Place(place.folder, name))[:_MOST_FILES]
            yield from (f"{name}/{each}" for each in below if pattern.fullmatch(each))


def _record(agent: str, each: Native) -> Record:
    origin = Origin(
        id=uuid_of(content_digest(f"{agent}\x1f{each.name.partition('#')[0]}\x1f{each.text}")),
        session=each.session or "imported",
        category=each.category,
        channel=f"{agent} memory"[:80],
        timestamp=each.at or None,
    )
    return Record(text=each.text, origin=origin)
