"""Whether upkeep is due: asked by every command, so it reads one small file and imports little."""

from __future__ import annotations

from byheart.domain.roots import Root
from byheart.flows.desk import Desk
from byheart.flows.journal.shelf import shelf_of, state
from byheart.policies.timing import is_due


def due(desk: Desk, root: Root) -> tuple[bool, bool]:
    """Whether compaction and whether the scan is due."""
    settings, now = desk.journal, desk.clock()
    if not settings.memory_compaction_enabled and not settings.integrity_scan_every_ms:
        return False, False
    if not desk.files.size(shelf_of(desk, root).memory):
        return False, False
    known = state(desk, root)
    compaction = settings.memory_compaction_enabled and is_due(
        known.compacted_at,
        now,
        settings.memory_compaction_schedule,
        settings.memory_compaction_interval_ms,
        desk.zone,
    )
    every = settings.integrity_scan_every_ms
    return compaction, bool(every) and is_due(known.scanned_at, now, "", every, desk.zone)
