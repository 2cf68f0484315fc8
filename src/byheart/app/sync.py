"""Several machines of one person: notebooks at home kept in step over a folder or a git repository of theirs, merged by entries.

Transcripts, what was learnt of them, and records that are labelled secret stay on their machine. Notebooks in a repository travel with it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from byheart.app.open import open_memory
from byheart.domain.documents import Place, Root
from byheart.domain.errors import BadInput, ByheartError, Conflict, Unnatural
from byheart.domain.records import Scope
from byheart.domain.values import dataclass, field
from byheart.notebooks import editing
from byheart.storage import sync_store
from byheart.text.merging import merged, units
from byheart.workspace import ledger, tombstones
from byheart.workspace.context import JOURNAL, PROFILE, RULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from byheart.app.open import OpenMemory, Surroundings
    from byheart.text.merging import Merged
    from byheart.workspace.context import Context

_ROUNDS = 5
_FILES = {"memories.md": PROFILE, "memories.ndjson": RULES, "journal/MEMORY.md": JOURNAL}
_PLAIN = ("journal/USER.md", "journal/LONGMEMORY.md")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.md")
_NOTES = "handbook/extensions/ad_hoc/notes"
# Where what was beaten is kept for its writer to look at.
CONFLICTS = "sync-conflicts.md"


@dataclass(slots=True, kw_only=True)
class Synced:
    """What a sync came to: files that were sent and taken, entries of which two machines had made different things, and files that stayed
    as they are, with why."""

    target: str
    sent: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One file: as it is here, what of it may travel, and what it comes to here and there."""

    path: str
    local: str
    digest: str
    new: str
    shared: str
    was: str
    result: Merged


def sync(around: Surroundings, target: str, *, dry_run: bool = False) -> Synced:
    """Bring this machine and what others put into the same place together. Raises BadInput, Environment, and Conflict where others keep
    putting something at the same moment."""
    opened = open_memory(around)
    if not target:
        raise BadInput("Name a folder or a git repository of yours: byheart sync ~/Sync/memory, or an address such as git@host:me/memory.git")  # fmt: skip
    done = Synced(target=target)
    store = sync_store.opened(target, os.path.join(opened.home, "state", "sync", "work"), around.environment)
    for attempt in range(_ROUNDS):
        there = store.texts()
        steps = list(_steps(opened, there, done))
        changes: dict[str, str | None] = {each.path: each.shared for each in steps if each.shared != there.get(each.path, "")}  # fmt: skip
        if dry_run:
            done.sent, done.taken = list(changes), [each.path for each in steps if each.new != each.local]
            return done
        try:
            if changes:
                store.put(changes)
        except Conflict:
            if attempt + 1 == _ROUNDS:
                raise
            done.problems.clear()
            continue
        done.sent = list(changes)
        for each in steps:
            _take(opened, each, done)
        return done
    raise AssertionError("unreachable")


def _steps(opened: OpenMemory, there: Mapping[str, str], done: Synced) -> Iterator[_Step]:
    context = opened.memory.context
    for path in sorted({*_local(opened.home), *(each for each in there if _is_ours(each))}):
        held = context.files.read(Place(opened.home, path), context.journal.file_bytes)
        local = held.text or ""
        if context.scanner.secrets(local) or context.scanner.secrets(there.get(path, "")):
            done.problems.append(f"{path} holds a secret; it is not synced until that is taken out")
            continue
        shared = _without_secret(context, path, local)
        base = context.files.read(_base(opened.home, path)).text or ""
        # A file that is gone here was deleted or never came: either way what others keep comes back, and nothing is lost.
        mine = shared if held.text is not None else base
        result = merged(base, mine, there.get(path, ""))
        new = result.text if shared == local else merged(shared, local, result.text).text
        yield _Step(path=path, local=local, digest=held.digest, new=new, shared=result.text, was=base, result=result)


def _local(home: str) -> Iterator[str]:
    """The files of a home that are kept in step, as paths in it."""
    tops = ["global"]
    projects = os.path.join(home, "projects")
    if os.path.isdir(projects):
        tops += [f"projects/{name}" for name in sorted(os.listdir(projects))]
    for top in tops:
        found = [*_FILES, *_PLAIN]
        for folder in ("journal/memory", _NOTES):
            place = os.path.join(home, top, folder)
            found += [f"{folder}/{name}" for name in sorted(os.listdir(place))] if os.path.isdir(place) else []
        for name in found:
            path = f"{top}/{name}"
            if (
                _is_ours(path)
                and os.path.isfile(os.path.join(home, path))
                and not os.path.islink(os.path.join(home, path))
            ):
                yield path


def _is_ours(path: str) -> bool:
    """Whether a path is one that is kept in step: others' may be anything."""
    found = re.fullmatch(r"(?:global|projects/[\w.-]{1,200})/(.+)", path)
    if found is None or ".." in path.split("/"):
        return False
    folder, _, name = found[1].rpartition("/")
    return (
        found[1] in (*_FILES, *_PLAIN)
        or (folder == "journal/memory" and bool(_DAY.fullmatch(name)))
        or (folder == _NOTES and re.fullmatch(r"[\w][\w .-]{0,120}\.md", name) is not None)
    )


def _base(home: str, path: str) -> Place:
    """What this file was when machines last agreed on it."""
    return Place(home, f"state/sync/base/{path}")


def _dialect(path: str) -> str:
    return _FILES.get(re.sub(r"^(?:global|projects/[^/]+)/", "", path), "")


def _without_secret(context: Context, path: str, text: str) -> str:
    """A journal's text without the records that are labelled secret."""
    if "/journal/" not in path:
        return text
    placed = context.dialects[JOURNAL].parse(text).placed
    for each in sorted((one for one in placed if one.record.is_secret), key=lambda one: -one.start):
        end = each.end + 1 if text[each.end : each.end + 1] == "\n" else each.end
        text = text[: each.start] + text[end:]
    return text


def _take(opened: OpenMemory, step: _Step, done: Synced) -> None:
    """Have this machine hold what it came to."""
    context, home = opened.memory.context, opened.home
    root = _root(home, step.path)
    try:
        if step.new != step.local:
            _bury(context, root, step)
            place = Place(home, step.path)
            try:
                editing.write_file(context, root, place, step.new, step.digest, dialect=_dialect(step.path))
            except Unnatural:
                # A line that somebody broke on another machine is theirs to mend; it comes along as it is.
                editing.write_file(context, root, place, step.new, step.digest)
            done.taken.append(step.path)
        if step.result.beaten:
            _keep_beaten(context, root, step, done)
        base = context.files.read(_base(home, step.path))
        if base.text != step.shared:
            context.files.write(_base(home, step.path), step.shared, base.digest)
    except ByheartError as error:
        # The next sync finds it as it was left, and tries again.
        done.problems.append(f"{step.path}: {error}")


def _root(home: str, path: str) -> Root:
    top = "/".join(path.split("/")[: 1 if path.startswith("global/") else 2])
    documents = {dialect: Place(home, f"{top}/{name}") for name, dialect in _FILES.items()}
    return Root(scope=Scope.GLOBAL if top == "global" else Scope.LOCAL, folder=Place(home, top), documents=documents)


def _bury(context: Context, root: Root, step: _Step) -> None:
    """What another machine forgot is forgotten here too, so that nothing here learns it again."""
    left = {each.name for each in units(step.new) if each.name}
    known = {each.name for each in units(step.was) if each.name}
    gone = [each for each in units(step.local) if each.name in known and each.name not in left and each.says]
    day = f"{context.clock():%Y-%m-%d}"
    for each in gone if step.result.text else ():
        ledger.bury(context, root, tombstones.stone(context.salt(), each.says, day, "forgotten on another machine"))


def _keep_beaten(context: Context, root: Root, step: _Step, done: Synced) -> None:
    """Keep the other version of what two machines changed to different things."""
    place = Place(root.folder.base, f"{root.folder.path}/{CONFLICTS}")
    held = context.files.read(place)
    lines = [
        f"- in {step.path}, kept `{winner.says}`, the other version was `{loser.says}`\n"
        for winner, loser in step.result.beaten
    ]
    fresh = [line for line in lines if line not in (held.text or "")]
    done.conflicts += [line.strip("- \n") for line in fresh]
    if fresh:
        head = held.text or "# Both versions of what two machines changed\n\n"
        context.files.write(place, head + "".join(fresh), held.digest)
