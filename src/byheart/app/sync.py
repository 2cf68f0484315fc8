"""Several machines of one person: notebooks at home kept in step over a folder or a git repository of theirs, merged by entries.

Transcripts, what was learnt of them, and records that are labelled secret stay on their machine. Notebooks in a repository travel with it."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from functools import partial
from typing import TYPE_CHECKING

from byheart.app.open import open_memory
from byheart.domain.documents import Place, Root
from byheart.domain.errors import BadInput, ByheartError, Conflict
from byheart.domain.records import Scope
from byheart.domain.values import dataclass, field
from byheart.handbook.phrases import one_line
from byheart.notebooks import editing
from byheart.storage import sync_store
from byheart.text.deferred import module
from byheart.text.merging import digests_of, merged, merged_units, remembered, tidied, units
from byheart.text.slugs import short_digest
from byheart.workspace import ledger, tombstones
from byheart.workspace.context import JOURNAL, PROFILE, RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from byheart.app import sessions as app_sessions
    from byheart.app.open import OpenMemory, Surroundings
    from byheart.text.merging import Merged, Unit
    from byheart.workspace.context import Context
    from byheart.workspace.tombstones import Tombstone
else:
    app_sessions = module("byheart.app.sessions")

_ROUNDS = 5
_FILES = {"memories.md": PROFILE, "memories.ndjson": RULES, "journal/MEMORY.md": JOURNAL}
_PLAIN = ("journal/USER.md", "journal/LONGMEMORY.md")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.md")
_NOTES = "handbook/extensions/ad_hoc/notes"
# What an emptied file is there: one without this was lost, or never came.
EMPTIED = "\n"
# A record with the label that keeps it back, also where its line is broken or in another place than it should be.
_LABELLED = re.compile(r"sensitivity\W{1,8}secret", re.IGNORECASE)
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
    was: list[Unit]
    result: Merged
    base: Place


def sync(around: Surroundings, target: str, *, dry_run: bool = False) -> Synced:
    """Bring this machine and what others put into the same place together. Raises BadInput, Environment, and Conflict where others keep
    putting something at the same moment."""
    opened = open_memory(around)
    if not target:
        raise BadInput(
            "Name a folder or a git repository of yours: byheart sync ~/Sync/memory, or an address such as git@host:me/memory.git"
        )
    done = Synced(target=target)
    # What machines last agreed on is true of one place to meet alone.
    own = f"state/sync/{short_digest(target)}"
    store = sync_store.opened(target, os.path.join(opened.home, own, "work.git"), around.environment)
    for attempt in range(_ROUNDS):
        there = {path: text for path, text in store.texts().items() if _is_ours(path)}
        done.problems = list(store.problems)
        steps = list(_steps(opened, there, f"{own}/base", done))
        changes = {each.path: each.shared for each in steps if each.shared != there.get(each.path, "")}
        if dry_run:
            done.sent, done.taken = list(changes), [each.path for each in steps if each.new != each.local]
            return done
        try:
            if changes:
                store.put(changes)
        except Conflict:
            if attempt + 1 == _ROUNDS:
                raise
            continue
        done.sent = list(changes)
        buried = {
            each.path.split("/")[1] for each in steps if _take(opened, each, done) and each.path.startswith("projects/")
        }
        _let_go(opened, around, buried, done)
        return done
    raise AssertionError("unreachable")


def _steps(opened: OpenMemory, there: Mapping[str, str], base: str, done: Synced) -> Iterator[_Step]:
    stones = ledger.tombstones(opened.memory.context)
    for path in sorted({*_local(opened.home), *there}):
        try:
            step = _step(opened, path, there.get(path, ""), Place(opened.home, f"{base}/{path}"), stones)
        except ByheartError as error:
            # One file's trouble is not another's.
            done.problems.append(f"{path}: {error}")
            continue
        if isinstance(step, str):
            done.problems.append(f"{path} {step}")
        else:
            yield step


def _step(opened: OpenMemory, path: str, there: str, base: Place, stones: Sequence[Tombstone]) -> _Step | str:
    """What one file comes to; or why it is left alone."""
    context = opened.memory.context
    held = context.files.read(Place(opened.home, path), context.journal.file_bytes)
    local = held.text or ""
    if context.scanner.secrets(local) or context.scanner.secrets(there):
        return "holds a secret; it is not synced until that is taken out"
    shared, theirs = _without_labelled(context, path, local), _without_labelled(context, path, there)
    digest = partial(_digest, context.salt())
    # A file that others never had, or that was lost there, deletes nothing here; one that they emptied has its mark. Nor is one that is
    # gone here deleted there.
    rows = (context.files.read(base).text or "") if there and held.text is not None else ""
    was = remembered(rows, digest, shared, theirs)
    result = merged_units(was, shared, theirs)
    text = result.text if rows else _without_forgotten(context, shared, result.text, stones)
    if not text.strip():
        text = EMPTIED if local.strip() or there else ""
    new = text if shared == local else merged(shared, local, text).text
    new = "" if new == EMPTIED else new
    fresh = "\n".join(line for line in new.split("\n") if line not in set(local.split("\n")))
    if any(each.severity not in ("command", "weak") for each in context.scanner.findings(fresh)):
        return (
            "has lines there that may not be stored, such as orders to agents or hidden characters; look at them there"
        )
    dialect = _dialect(path)
    known = context.dialects[dialect] if dialect else None
    if (
        known is not None
        and new.strip()
        and not known.parse(new).intact
        and (not local.strip() or known.parse(local).intact)
    ):
        return "cannot be read as it is there; it is not taken"
    return _Step(path=path, local=local, digest=held.digest, new=new, shared=text, was=was, result=result, base=base)


def _without_forgotten(context: Context, local: str, text: str, stones: Sequence[Tombstone]) -> str:
    """A text without the entries that were forgotten on this machine and are not back on it."""
    if not stones:
        return text
    here = {each.name for each in units(local) if each.name}
    salt = context.salt()
    return tidied(
        [
            each
            for each in units(text)
            if not each.says or each.name in here or tombstones.blocks(stones, salt, None, [each.says]) is None
        ]
    )


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


def _dialect(path: str) -> str:
    return _FILES.get(re.sub(r"^(?:global|projects/[^/]+)/", "", path), "")


def _without_labelled(context: Context, path: str, text: str) -> str:
    """A text without the records that are labelled secret, and without lines that look like one, however they are broken."""
    if "/journal/" in path:
        placed = context.dialects[JOURNAL].parse(text).placed
        for each in sorted((one for one in placed if one.record.is_secret), key=lambda one: -one.start):
            end = each.end + 1 if text[each.end : each.end + 1] == "\n" else each.end
            text = text[: each.start] + text[end:]
    if "ensitivity" not in text:
        return text
    return "".join(line for line in text.splitlines(keepends=True) if not _LABELLED.search(line))


def _take(opened: OpenMemory, step: _Step, done: Synced) -> bool:
    """Have this machine hold what it came to; whether another one had forgotten something of it."""
    context, home = opened.memory.context, opened.home
    root, is_buried = _root(home, step.path), False
    try:
        if step.new != step.local:
            is_buried = _bury(context, root, step)
            place = Place(home, step.path)
            # Nothing of it goes into the log: what is forgotten later must not stand there.
            editing.write_file(context, root, place, step.new, step.digest)
            done.taken.append(step.path)
        if step.result.beaten:
            _keep_beaten(context, root, step, done)
        base = context.files.read(step.base)
        agreed = digests_of(step.shared, partial(_digest, context.salt()))
        if base.text != agreed:
            context.files.write(step.base, agreed, base.digest)
    except ByheartError as error:
        # The next sync finds it as it was left, and tries again.
        done.problems.append(f"{step.path}: {error}")
    return is_buried


def _let_go(opened: OpenMemory, around: Surroundings, projects: Iterable[str], done: Synced) -> None:
    """Have these projects' handbooks let go of what another machine forgot."""
    for project in sorted(projects):
        try:
            app_sessions.open_learning(opened, around, even_off=True).at(project).let_go()
        except BadInput:
            # Nothing was learnt of it here.
            continue
        except ByheartError as error:
            done.problems.append(f"projects/{project}: {error}")


def _root(home: str, path: str) -> Root:
    top = "/".join(path.split("/")[: 1 if path.startswith("global/") else 2])
    documents = {dialect: Place(home, f"{top}/{name}") for name, dialect in _FILES.items()}
    return Root(scope=Scope.GLOBAL if top == "global" else Scope.LOCAL, folder=Place(home, top), documents=documents)


def _bury(context: Context, root: Root, step: _Step) -> bool:
    """What another machine forgot is forgotten here too, so that nothing here learns it again."""
    left = {each.name for each in units(step.new) if each.name}
    known = {each.name for each in step.was if each.name}
    gone = [each for each in units(step.local) if each.name in known and each.name not in left and each.says]
    day = f"{context.clock():%Y-%m-%d}"
    for each in gone if step.result.text else ():
        ledger.bury(context, root, tombstones.stone(context.salt(), each.says, day, "forgotten on another machine"))
        with context.files.locked(root):
            ledger.scrub(context, root, "", [each.says])
    return bool(gone and step.result.text)


def _keep_beaten(context: Context, root: Root, step: _Step, done: Synced) -> None:
    """Keep the other version of what two machines changed to different things."""
    place = Place(root.folder.base, f"{root.folder.path}/{CONFLICTS}")
    held = context.files.read(place)
    lines = [
        f"In {step.path}, kept:\n\n{_quoted(winner.text)}\n\nthe other version:\n\n{_quoted(loser.text)}\n\n"
        for winner, loser in step.result.beaten
    ]
    fresh = [line for line in lines if line not in (held.text or "")]
    done.conflicts += [f"{step.path}: {one_line(loser.text, 160)}" for _, loser in step.result.beaten if fresh]
    if fresh:
        head = held.text or "# Both versions of what two machines changed\n\n"
        context.files.write(place, head + "".join(fresh), held.digest)


def _quoted(text: str) -> str:
    """An entry as a quotation, to the letter."""
    return "\n".join(f"    {line}" for line in text.rstrip("\n").split("\n"))


def _digest(salt: bytes, text: str) -> str:
    """A digest that only this installation can compare, of a text to the letter."""
    return hmac.new(salt, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:32]
