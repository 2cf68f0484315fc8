"""The handbook as recall searches it: its lines, the sessions it rests on, and its skills."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.dialects.handbook import raw, skills
from byheart.dialects.handbook.memory import FAILURES, KNOWLEDGE, PREFERENCES, core_of, outlined
from byheart.domain.handbook import MEMORY, RAW, SKILLS
from byheart.domain.records import Confidence, Kind, Record, Scope
from byheart.domain.results import Hit
from byheart.domain.roots import Place
from byheart.text.slugs import short_digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from byheart.domain.roots import Root
    from byheart.flows.desk import Desk

DIALECT = "handbook"
_KINDS = {PREFERENCES: Kind.PREFERENCE, KNOWLEDGE: Kind.NOTE, FAILURES: Kind.LESSON}


def folder_of(root: Root) -> Place:
    """Where a root's handbook lies."""
    return Place(root.folder.base, f"{root.folder.path}/handbook")


def places(desk: Desk, root: Root) -> Iterator[Place]:
    """The files of a handbook that are searched; none where there is no handbook."""
    folder = folder_of(root)
    if desk.files.size(Place(folder.base, f"{folder.path}/{MEMORY}")) is None:
        return
    for name in (MEMORY, RAW):
        yield Place(folder.base, f"{folder.path}/{name}")
    for skill in desk.files.names(Place(folder.base, f"{folder.path}/{SKILLS}")):
        yield Place(folder.base, f"{folder.path}/{SKILLS}/{skill}/SKILL.md")


def hits(place: Place, text: str, scope: Scope) -> list[Hit]:
    """What a file of a handbook tells, line by line."""
    name = place.path.rsplit("/", 1)[-1]
    found = {MEMORY: _lines, RAW: _sessions}.get(name, _skill)(text)
    return [
        Hit(id=handle(record.text), record=record, scope=scope, dialect=DIALECT, path=str(place), line=line)
        for line, record in found
    ]


def handle(text: str) -> str:
    """What a line of a handbook is called: by what it says, whatever it rests on."""
    return "h" + short_digest(DIALECT, core_of(text))[:7]


def _lines(text: str) -> Iterator[tuple[int, Record]]:
    for block in outlined(text).parts:
        group = block.title.removeprefix("Task Group:").strip()
        for part in block.parts:
            kind = _KINDS.get(part.title)
            for number, line in part.lines if kind else ():
                if line.startswith("- "):
                    core = core_of(line)
                    confidence = Confidence.MEDIUM if kind is Kind.PREFERENCE else None
                    yield (
                        number,
                        Record(
                            text=core, kind=kind or Kind.NOTE, tags=("learnt",), source=group, confidence=confidence
                        ),
                    )


def _sessions(text: str) -> Iterator[tuple[int, Record]]:
    for thread in raw.parsed_merge(text):
        told = raw.parsed_raw(thread.raw_memory)
        if told.description:
            yield (
                thread.line,
                Record(text=told.description, kind=Kind.NOTE, tags=("learnt", *told.keywords[:6]), source=thread.id),
            )


def _skill(text: str) -> Iterator[tuple[int, Record]]:
    front = skills.front_of(text)
    if front is None:
        return
    name, told = front[0].get("name", ""), skills.unquoted(front[0].get("description", ""))
    if name and told:
        yield 1, Record(text=f"skill {name}: {told}", kind=Kind.NOTE, tags=("learnt", "skill"), source=name)
