"""Taking over what agents remembered themselves. Each entry has an id made from where it stands and what it says, so that taking
over again changes nothing."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from byheart.agents import native_memory
from byheart.domain.errors import ByheartError
from byheart.domain.journal import Origin
from byheart.domain.records import Record, Scope
from byheart.domain.roots import Place
from byheart.domain.values import dataclass, field
from byheart.journal.importing import import_records
from byheart.text.slugs import content_digest, uuid_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from byheart.agents.native_memory import Native
    from byheart.domain.reports import Imported
    from byheart.workspace.context import Desk

    Reader = Callable[[str, str], Iterator[Native]]

_LARGEST, _MOST_FILES = 400_000, 2_000
_PLAIN = re.compile(r"[^A-Za-z0-9]")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shelf:
    """Where an agent keeps memory: files below a folder, for this project or for all, and who can read them."""

    agent: str
    scope: Scope
    folder: str
    names: str
    read: Reader


def shelves(home: str, folder: str, environment: dict[str, str]) -> list[_Shelf]:
    """Every place where an agent may have kept something about this user, or about the project in this folder."""
    claude = environment.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    codex = environment.get("CODEX_HOME") or os.path.join(home, ".codex")
    omp = environment.get("PI_CODING_AGENT_DIR") or os.path.join(home, ".omp", "agent")
    openclaw = os.path.join(environment.get("OPENCLAW_STATE_DIR") or os.path.join(home, ".openclaw"), "workspace")
    dashed = _PLAIN.sub("-", folder)
    banked = "--" + re.sub(r"[/\\:]", "-", folder.strip("/")) + "--"
    here, everywhere = Scope.LOCAL, Scope.GLOBAL

    def about_here(text: str, name: str) -> Iterator[Native]:
        return native_memory.blocks(text, name, lambda cwd: os.path.realpath(cwd) == folder)

    def of_all(memories: str) -> Reader:
        return lambda text, name: native_memory.general(text, name, _beside(f"{memories}/MEMORY.md"))

    return [
        _Shelf(agent="claude-code", scope=here, folder=f"{claude}/projects/{dashed}/memory", names=r"(?!MEMORY\.md).*\.md", read=native_memory.topic),
        _Shelf(agent="claude-code", scope=here, folder=f"{claude}/projects/{dashed}/memory", names=r"MEMORY\.md", read=native_memory.unlinked),
        _Shelf(agent="codex", scope=everywhere, folder=f"{codex}/memories", names=r"memory_summary\.md", read=of_all(f"{codex}/memories")),
        _Shelf(agent="codex", scope=everywhere, folder=f"{codex}/memories_v2", names=r"memory_summary\.md", read=of_all(f"{codex}/memories_v2")),
        _Shelf(agent="codex", scope=here, folder=f"{codex}/memories", names=r"MEMORY\.md", read=about_here),
        _Shelf(agent="qwen-code", scope=everywhere, folder=f"{home}/.qwen/memories", names=r"(?!MEMORY\.md).*\.md", read=native_memory.topic),
        _Shelf(agent="qwen-code", scope=here, folder=f"{home}/.qwen/projects/{dashed}/memory", names=r"(?!MEMORY\.md).*\.md", read=native_memory.topic),
        _Shelf(agent="oh-my-pi", scope=here, folder=f"{omp}/memories/{banked}", names=r"learned\.md", read=native_memory.lessons),
        _Shelf(agent="oh-my-pi", scope=here, folder=f"{omp}/memories/{banked}", names=r"memory_summary\.md", read=native_memory.prose),
        _Shelf(agent="openclaw", scope=everywhere, folder=openclaw, names=r"(?:MEMORY|USER)\.md", read=native_memory.prose),
        _Shelf(agent="hermes", scope=everywhere, folder=f"{home}/.hermes/memories", names=r"(?:MEMORY|USER)\.md", read=native_memory.sections),
        _Shelf(agent="goose", scope=everywhere, folder=f"{home}/.config/goose/memory", names=r".*\.txt", read=native_memory.tagged),
        _Shelf(agent="goose", scope=here, folder=f"{folder}/.goose/memory", names=r".*\.txt", read=native_memory.tagged),
        _Shelf(agent="gemini-cli", scope=everywhere, folder=f"{home}/.gemini", names=r"GEMINI\.md", read=lambda text, name: native_memory.bullets(text, name, heading=native_memory.GEMINI_HEADING)),
    ]  # fmt: skip


def _beside(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read(_LARGEST)
    except OSError:
        return ""


def take_over(
    desk: Desk, home: str, environment: dict[str, str], agents: Sequence[str], *, dry_run: bool
) -> list[Taken]:
    """Store what agents remembered as journal records of this project, or of all projects. What was forgotten stays forgotten."""
    found: list[Taken] = []
    for shelf in shelves(home, desk.project.folder, environment):
        if agents and shelf.agent not in agents:
            continue
        if desk.trust.covers(Place(shelf.folder, "any")) and not desk.trust.is_trusted:
            # Notes that lie in a checkout may have come with it.
            continue
        records, files = _gathered(desk, shelf)
        if not files:
            continue
        done = import_records(
            desk, list(enumerate(records)), {}, shelf.scope, dry_run=dry_run, forgotten_too=False
        ) if records else None  # fmt: skip
        found.append(_taken(shelf, files, records, done))
    return found


def _taken(shelf: _Shelf, files: list[str], records: list[Record], done: Imported | None) -> Taken:
    taken = Taken(agent=shelf.agent, scope=shelf.scope.value, files=files, entries=len(records))
    if done is not None:
        taken.stored = sum(each.action == "added" for each in done.receipts)
        taken.known = sum(each.action == "unchanged" for each in done.receipts)
        taken.skipped = [why for _, why in done.skipped]
    return taken


def _gathered(desk: Desk, shelf: _Shelf) -> tuple[list[Record], list[str]]:
    """The entries of a place, and the files they stand in. What cannot be read is passed over: it is not ours to mend."""
    records: list[Record] = []
    files: list[str] = []
    for path in _files(desk, shelf):
        try:
            text = desk.files.read(Place(shelf.folder, path), _LARGEST).text
        except ByheartError:
            continue
        if not text:
            continue
        if desk.trust.covers(Place(shelf.folder, path)):
            text = desk.trust.own_text(Place(shelf.folder, path), text)
        entries = list(shelf.read(text, path))
        if entries:
            files.append(f"{shelf.folder}/{path}")
        records += [_record(shelf.agent, each) for each in entries]
    return records, files


def _files(desk: Desk, shelf: _Shelf) -> Iterator[str]:
    if not os.path.isdir(shelf.folder):
        return
    pattern = re.compile(shelf.names)
    # One level of folders is as deep as any of them goes.
    for name in desk.files.names(Place(os.path.dirname(shelf.folder), os.path.basename(shelf.folder)))[:_MOST_FILES]:
        if pattern.fullmatch(name):
            yield name
        elif (
            "." not in name and os.path.isdir(f"{shelf.folder}/{name}") and not os.path.islink(f"{shelf.folder}/{name}")
        ):
            below = desk.files.names(Place(shelf.folder, name))[:_MOST_FILES]
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
