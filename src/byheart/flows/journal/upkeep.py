"""Upkeep without a resident process: what is due is found out when somebody looks, and done then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from byheart.domain.errors import ByheartError
from byheart.domain.journal import Compacted, Upkeep
from byheart.domain.records import Scope
from byheart.flows.desk import Desk
from byheart.flows.journal.compact import compact
from byheart.flows.journal.dueness import due
from byheart.flows.journal.scan import integrity_scan
from byheart.flows.journal.shelf import note, shelf_of


def upkeep(desk: Desk, scopes: Sequence[Scope], *, force: bool = False) -> list[Upkeep]:
    """Do what is due, or with `force` the scan and the scheduled compaction at once; a failure in one journal is noted."""
    done = []
    for scope in scopes:
        root = desk.roots[scope]
        path = str(shelf_of(desk, root).memory)
        try:
            compaction, scan = due(desk, root)
            if not desk.files.size(shelf_of(desk, root).memory):
                continue
            outcome = (
                _compacted(desk, scope) if compaction or (force and desk.journal.memory_compaction_enabled) else None
            )
            findings = _scanned(desk, scope) if scan or force else None
            if outcome is not None or findings is not None:
                done.append(Upkeep(scope=scope.value, path=path, compaction=outcome, findings=findings))
        except ByheartError as error:
            done.append(Upkeep(scope=scope.value, path=path, notes=(str(error),)))
    return done


def _scanned(desk: Desk, scope: Scope) -> int:
    found = len(integrity_scan(desk, scope))
    note(desk, desk.roots[scope], lambda known: replace(known, scanned_at=desk.clock(), findings=found))
    return found


def _compacted(desk: Desk, scope: Scope) -> Compacted:
    root = desk.roots[scope]
    outcome = compact(desk, scope)
    # A run that was not needed counts as well, or it would be due again at once.
    note(desk, root, lambda known: replace(known, compacted_at=desk.clock()))
    return outcome
