"""Where a root's journal keeps its files, and what its upkeep remembers between runs."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterable
from datetime import date, datetime

from byheart.domain.documents import Document, Place, Root
from byheart.domain.errors import BadSetting
from byheart.domain.journal import ARCHIVE, moment, stamped
from byheart.domain.ports import Snapshot
from byheart.domain.values import dataclass, replace
from byheart.text.deferred import deferred
from byheart.text.lines import unescaped
from byheart.workspace.context import JOURNAL, Context

STATE, EXPERIENCES = "journal.json", "experience-store.json"
_DAILY = deferred(r"/memory/\d{4}-\d{2}-\d{2}\.md$")


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalFiles:
    """The files of one journal: MEMORY.md, and beside it the daily logs, LONGMEMORY.md and USER.md."""

    root: Root
    memory: Place
    long_memory: Place
    archive: Place
    user: Place
    experiences: Place

    def daily(self, day: date) -> Place:
        """The log of one calendar day."""
        return _beside(self.memory, f"memory/{day.isoformat()}.md")

    @property
    def days(self) -> Place:
        """The folder of the daily logs."""
        return _beside(self.memory, "memory")


def journal_files(context: Context, root: Root) -> JournalFiles:
    """A root's journal files. Raises BadSetting where two of them would be the same file."""
    memory = root.documents[JOURNAL]
    settings = context.journal
    long_memory = _chosen(memory, settings.long_memory_path or "LONGMEMORY.md")
    archive = _chosen(memory, settings.memory_archive_path) if settings.memory_archive_path else root.own(ARCHIVE)
    user = _beside(memory, "USER.md")
    experiences = _experiences(root, memory, settings.experience_store_path)
    taken = {str(each) for each in (user, _beside(memory, "memory"), root.own(STATE), *root.documents.values())}
    chosen = (
        ("long_memory_path", long_memory),
        ("memory_archive_path", archive),
        ("experience_store_path", experiences),
    )
    for key, place in chosen:
        if ".." in place.path.split("/") or not place.path.strip("./"):
            raise BadSetting(
                "configuration", f"journal.{key}", "leaves the journal's folder", "a file in it, or an absolute path"
            )
        if str(place) in taken or _DAILY.search(str(place)):
            raise BadSetting("configuration", f"journal.{key}", f"names {place}, which has another use", "its own file")
        taken.add(str(place))
    return JournalFiles(
        root=root, memory=memory, long_memory=long_memory, archive=archive, user=user, experiences=experiences
    )


def _experiences(root: Root, memory: Place, path: str) -> Place:
    """Where experiences are kept. A path that names a folder, as CursorClaw's does, means the file beside that folder."""
    if not path:
        return root.own(EXPERIENCES)
    if not path.endswith(".json"):
        path = posixpath.join(posixpath.dirname(path), EXPERIENCES)
    return _chosen(memory, path)


def _beside(memory: Place, path: str) -> Place:
    folder = posixpath.dirname(memory.path)
    return Place(memory.base, posixpath.join(folder, path))


def _chosen(memory: Place, path: str) -> Place:
    """A path from the user's configuration: a relative one lies beside MEMORY.md."""
    if not posixpath.isabs(path):
        return _beside(memory, posixpath.normpath(path))
    return Place(posixpath.dirname(path), posixpath.basename(path))


def local_day(context: Context, when: datetime) -> date:
    """The calendar day of a moment, in the one zone that writing and reading share."""
    return when.astimezone(context.zone).date()


def daily_logs(context: Context, own_journal: JournalFiles) -> list[Place]:
    """The daily logs that exist, oldest first; other files in their folder are none of ours."""
    names = [name for name in context.files.names(own_journal.days) if _DAILY.search(f"/memory/{name}")]
    return [Place(own_journal.days.base, f"{own_journal.days.path}/{name}") for name in names]


def holds_secret(context: Context, lines: Iterable[str]) -> bool:
    """Whether lines of a journal hold a credential, as they stand or behind the escapes of their JSON."""
    text = "\n".join(lines)
    plain = unescaped(text)
    return bool(context.scanner.secrets(text)) or (plain != text and bool(context.scanner.secrets(plain)))


def read(context: Context, place: Place) -> Snapshot:
    """A journal file, under the journal's own size limit."""
    return context.files.read(place, context.journal.file_bytes)


def parsed(context: Context, text: str) -> Document:
    """A journal text's records."""
    return context.dialects[JOURNAL].parse(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """When upkeep last ran for a journal, and a compaction that was begun and has not been seen to end."""

    folder: str = ""
    compacted_at: datetime | None = None
    scanned_at: datetime | None = None
    gathered_at: datetime | None = None
    findings: int | None = None
    # Before this moment nothing can be in scope, so appends need not look.
    idle_until: datetime | None = None
    # The ids of the summaries that were under way, the digest of the block meant for LONGMEMORY.md, and the backup.
    unfinished: tuple[str, ...] = ()
    unfinished_block: str = ""
    unfinished_backup: str = ""

    def settled(self) -> State:
        """The same, with no compaction under way."""
        return replace(self, unfinished=(), unfinished_block="", unfinished_backup="")


def state(context: Context, root: Root) -> State:
    """What upkeep remembers; an unreadable note is as good as none, since all of it can be found out again."""
    try:
        raw = json.loads(context.files.read(root.own(STATE)).text or "{}")
        found = raw.get("findings")
        ids = raw.get("unfinished") or []
        return State(
            folder=str(raw.get("folder") or ""),
            compacted_at=moment(raw.get("compacted_at")),
            scanned_at=moment(raw.get("scanned_at")),
            gathered_at=moment(raw.get("gathered_at")),
            findings=found if isinstance(found, int) else None,
            idle_until=moment(raw.get("idle_until")),
            unfinished=tuple(str(each) for each in ids) if isinstance(ids, list) else (),
            unfinished_block=str(raw.get("unfinished_block") or ""),
            unfinished_backup=str(raw.get("unfinished_backup") or ""),
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        return State()


def note(context: Context, root: Root, change: Callable[[State], State]) -> State:
    """Remember something more; what was remembered before, and is changed by it, is read under the root's lock."""
    with context.files.locked(root):
        new = change(state(context, root))
        keep(context, root, new)
    return new


def keep(context: Context, root: Root, new: State) -> None:
    """Remember exactly this. The root is locked, so that what a crash leaves behind is swept by the next writer."""
    raw = {
        "folder": new.folder,
        "compacted_at": stamped(new.compacted_at) if new.compacted_at else None,
        "scanned_at": stamped(new.scanned_at) if new.scanned_at else None,
        "gathered_at": stamped(new.gathered_at) if new.gathered_at else None,
        "findings": new.findings,
        "idle_until": stamped(new.idle_until) if new.idle_until else None,
        "unfinished": list(new.unfinished),
        "unfinished_block": new.unfinished_block,
        "unfinished_backup": new.unfinished_backup,
    }
    text = json.dumps({name: value for name, value in raw.items() if value not in (None, "", [])}) + "\n"
    place = root.own(STATE)
    old = context.files.read(place)
    if old.text != text:
        context.files.write(place, text, old.digest)
