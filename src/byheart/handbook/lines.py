"""The handbook as recall searches it: its lines, the sessions it rests on, its skills; and how agents say that they used it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.domain.documents import Place
from byheart.domain.handbook import EXTENSIONS, MEMORY, RAW, SKILLS, SUMMARY
from byheart.domain.records import Confidence, Kind, Record, Scope
from byheart.domain.results import Hit
from byheart.domain.values import dataclass
from byheart.handbook import raw, summary
from byheart.handbook.memory import FAILURES, KNOWLEDGE, PREFERENCES, core_of, outlined
from byheart.handbook.summary import INDEX
from byheart.text.slugs import short_digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from byheart.domain.documents import Root
    from byheart.workspace.context import Context

DIALECT = "handbook"
_KINDS = {PREFERENCES: Kind.PREFERENCE, KNOWLEDGE: Kind.NOTE, FAILURES: Kind.LESSON}


def folder_of(root: Root) -> Place:
    """Where a root's handbook lies."""
    return Place(root.folder.base, f"{root.folder.path}/handbook")


def places(context: Context, root: Root) -> Iterator[Place]:
    """The files of a handbook that are searched; none where there is no handbook."""
    folder = folder_of(root)
    for name in context.files.names(Place(folder.base, f"{folder.path}/{EXTENSIONS}")):
        # What people put beside the handbook: notes, and what an extension's instructions are about.
        for part in ("notes", "resources"):
            there = Place(folder.base, f"{folder.path}/{EXTENSIONS}/{name}/{part}")
            yield from (
                Place(there.base, f"{there.path}/{each}")
                for each in context.files.names(there)
                if each.endswith(".md") and not each.startswith(".")
            )
    if context.files.size(Place(folder.base, f"{folder.path}/{MEMORY}")) is None:
        return
    for name in (MEMORY, RAW):
        yield Place(folder.base, f"{folder.path}/{name}")
    for skill in context.files.names(Place(folder.base, f"{folder.path}/{SKILLS}")):
        yield Place(folder.base, f"{folder.path}/{SKILLS}/{skill}/SKILL.md")


def hits(place: Place, text: str, scope: Scope) -> list[Hit]:
    """What a file of a handbook tells, line by line."""
    name = place.path.rsplit("/", 1)[-1]
    readers = {MEMORY: _lines, RAW: _sessions, SUMMARY: _summary, "SKILL.md": _skill}
    found = readers.get(name, _notes)(text)
    return [
        Hit(id=handle(record.text), record=record, scope=scope, dialect=DIALECT, path=str(place), line=line)
        for line, record in found
    ]


def learnt(context: Context, root: Root) -> list[Hit]:
    """Every line of a handbook that somebody may be shown: of the summary, the handbook itself, its sessions, skills and notes."""
    folder = folder_of(root)
    found: list[Hit] = []
    every = [*places(context, root), Place(folder.base, f"{folder.path}/{SUMMARY}")]
    for place in every:
        text = context.files.read(place).text
        if text is not None:
            found += hits(place, text, root.scope)
    return found


_COUNTED = re.compile(
    r"^(?:Met once|(?:Met in|In) \d+ sessions?(?:, and none got over it)?)(?:, about (?P<place>`[^`]+`))?: |,? in \d+ sessions?\b|\b\d+ sessions?\b|\(worked (?:[^()]|\([^()]*\))*\)|, last: \".*?\"(?= ->)"
)
_TOPIC = re.compile(r"^(?P<label>[^:]+): ")
_SKILL = re.compile(r"^(?:Related skill: skills/(?P<file>[\w.-]+)/SKILL\.md|skill (?P<name>[\w.-]+)): ")
_NOTED = re.compile(r"^\[ad-hoc note\] (?P<text>.*) \([^()]*\.md\)$")


def essence(text: str) -> str:
    """What a line says, without where it comes from and how often: that changes while it stays the same line. One that repeats a note
    says what the note says, and a skill is called by its name wherever it is named."""
    noted = _NOTED.match(text)
    if noted:
        return noted["text"]
    skill = _SKILL.match(text)
    if skill:
        return f"skill {skill['file'] or skill['name']}"
    return " ".join(_COUNTED.sub(lambda found: (found["place"] or "") + " ", core_of(text)).split())


def handle(text: str) -> str:
    """What a line of a handbook is called: by what it says, whatever it rests on."""
    return "h" + short_digest(DIALECT, essence(text).casefold())[:7]


def topic_label(text: str) -> str:
    """What a line of the index is called by: its keywords change with every session."""
    found = _TOPIC.match(text)
    return f"topic {found['label']}" if found else text


def _summary(text: str) -> Iterator[tuple[int, Record]]:
    title = ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("## "):
            title = line[3:].strip()
        elif line.startswith("- ") and line[2:].strip():
            said = line[2:].strip()
            kind = Kind.PREFERENCE if title == PREFERENCES else Kind.NOTE
            yield (
                number,
                Record(
                    text=topic_label(said) if title == INDEX else core_of(said),
                    kind=kind,
                    tags=("learnt",),
                    source=title,
                ),
            )


def _notes(text: str) -> Iterator[tuple[int, Record]]:
    for number, line in enumerate(text.split("\n"), 1):
        plain = line.strip().lstrip("-*# ").strip()
        if plain and plain != "---":
            yield number, Record(text=plain, kind=Kind.NOTE, tags=("note",))


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
    front = summary.front_of(text)
    if front is None:
        return
    name, told = front[0].get("name", ""), summary.unquoted(front[0].get("description", ""))
    if name and told:
        yield 1, Record(text=f"skill {name}: {told}", kind=Kind.NOTE, tags=("learnt", "skill"), source=name)


_BLOCK = re.compile(r"<oai-mem-citation>(?P<body>.*?)(?:</oai-mem-citation>|\Z)", re.DOTALL | re.IGNORECASE)
_IDS = re.compile(r"<(?P<tag>rollout_ids|thread_ids)>(?P<body>.*?)(?:</(?P=tag)>|\Z)", re.DOTALL | re.IGNORECASE)
_ENTRIES = re.compile(r"<citation_entries>(?P<body>.*?)(?:</citation_entries>|\Z)", re.DOTALL | re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_FILE = re.compile(r"rollout_summaries/(?P<stem>[0-9A-Za-z_T.-]{10,140})\.md")
_ADDRESS = re.compile(r"memory://root/(?P<path>[^\s)>\]\"'`|]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedLines:
    """A stretch of a memory file that was used, and for what."""

    path: str
    first: int
    last: int
    note: str


def entries(text: str) -> list[UsedLines]:
    """The entries of all citation blocks: path:start-end|note=[text]."""
    found = []
    for block in _BLOCK.finditer(text):
        part = _ENTRIES.search(block["body"])
        for line in (part["body"] if part else block["body"]).split("\n"):
            where, mark, note = line.strip().rpartition("|note=[")
            if not mark:
                continue
            path, colon, lines = where.rpartition(":")
            first, dash, last = lines.partition("-")
            if colon and first.isdigit() and (last.isdigit() if dash else True):
                found.append(UsedLines(path=path, first=int(first), last=int(last or first), note=note.rstrip("]")))
    return found


def citations(text: str) -> Iterator[str]:
    """What a reply names of memory, each once: ids of threads, and names of their summary files."""
    known: dict[str, None] = {}
    for block in _BLOCK.finditer(text):
        for part in _IDS.finditer(block["body"]):
            known.update(dict.fromkeys(each.casefold() for each in _UUID.findall(part["body"])))
    for entry in entries(text):
        known.update(dict.fromkeys(each["stem"] for each in _FILE.finditer(entry.path)))
    for address in _ADDRESS.finditer(text):
        known.update(dict.fromkeys(each["stem"] for each in _FILE.finditer(address["path"])))
    return iter(known)


def without_blocks(text: str) -> str:
    """A reply without its citation blocks."""
    return _BLOCK.sub("", text).rstrip() if "oai-mem-citation" in text.casefold() else text
