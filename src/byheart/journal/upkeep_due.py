"""Whether upkeep is due: asked by every command, so it reads one small file and imports little."""

from __future__ import annotations

from datetime import datetime

from byheart.domain.roots import Root
from byheart.domain.values import dataclass
from byheart.journal.files import journal_files, state
from byheart.journal.schedule import is_due
from byheart.workspace.context import Context


@dataclass(frozen=True, slots=True)
class UpkeepDue:
    """What upkeep should do now."""

    compaction: bool = False
    scan: bool = False
    experiences: bool = False


def due(context: Context, root: Root) -> UpkeepDue:
    """What is due for a journal. Experiences are gathered on the schedule of compaction, whether or not that is on."""
    settings, now = context.journal, context.clock()
    is_gathering = settings.experience_store_enabled and context.limits.enabled
    if not settings.memory_compaction_enabled and not settings.integrity_scan_every_ms and not is_gathering:
        return UpkeepDue()
    if not context.files.size(journal_files(context, root).memory):
        return UpkeepDue()
    known = state(context, root)

    def on_schedule(last: datetime | None) -> bool:
        schedule, every = settings.memory_compaction_schedule, settings.memory_compaction_interval_ms
        return is_due(last, now, schedule, every, context.zone)

    every = settings.integrity_scan_every_ms
    return UpkeepDue(
        compaction=settings.memory_compaction_enabled and on_schedule(known.compacted_at),
        scan=bool(every) and is_due(known.scanned_at, now, "", every, context.zone),
        experiences=is_gathering and on_schedule(known.gathered_at),
    )
