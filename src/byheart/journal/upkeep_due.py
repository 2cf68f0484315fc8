"""Whether upkeep is due: asked by every command, so it reads one small file and imports little."""

from __future__ import annotations

from datetime import datetime

from byheart.domain.roots import Root
from byheart.domain.values import dataclass
from byheart.journal.files import shelf_of, state
from byheart.journal.schedule import is_due
from byheart.workspace.context import Desk


@dataclass(frozen=True, slots=True)
class Due:
    """What upkeep should do now."""

    compaction: bool = False
    scan: bool = False
    experiences: bool = False


def due(desk: Desk, root: Root) -> Due:
    """What is due for a journal. Experiences are gathered on the schedule of compaction, whether or not that is on."""
    settings, now = desk.journal, desk.clock()
    is_gathering = settings.experience_store_enabled and desk.limits.enabled
    if not settings.memory_compaction_enabled and not settings.integrity_scan_every_ms and not is_gathering:
        return Due()
    if not desk.files.size(shelf_of(desk, root).memory):
        return Due()
    known = state(desk, root)

    def on_schedule(last: datetime | None) -> bool:
        schedule, every = settings.memory_compaction_schedule, settings.memory_compaction_interval_ms
        return is_due(last, now, schedule, every, desk.zone)

    every = settings.integrity_scan_every_ms
    return Due(
        compaction=settings.memory_compaction_enabled and on_schedule(known.compacted_at),
        scan=bool(every) and is_due(known.scanned_at, now, "", every, desk.zone),
        experiences=is_gathering and on_schedule(known.gathered_at),
    )
