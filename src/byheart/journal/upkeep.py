"""Upkeep without a resident process: what is due is found out when somebody looks, and done then."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from byheart.domain.errors import ByheartError
from byheart.domain.experiences import Learnt
from byheart.domain.journal import Compacted, Upkeep
from byheart.domain.records import Scope
from byheart.domain.values import replace
from byheart.journal.compact import compact
from byheart.journal.files import State, note, shelf_of
from byheart.journal.scan import integrity_scan
from byheart.journal.upkeep_due import due
from byheart.workspace.context import Desk


def upkeep(
    desk: Desk, scopes: Sequence[Scope], *, force: bool = False, learnt: Callable[[], Sequence[Learnt]] = tuple
) -> list[Upkeep]:
    """Do what is due, or with `force` the scan and the scheduled compaction at once; a failure in one journal is noted.
    `learnt` gives what sessions showed; it is asked only where experiences are gathered for a project."""
    done = []
    for scope in scopes:
        root = desk.roots[scope]
        path = str(shelf_of(desk, root).memory)
        notes: list[str] = []
        try:
            now = due(desk, root)
            if not desk.files.size(shelf_of(desk, root).memory):
                continue
        except ByheartError as error:
            done.append(Upkeep(scope=scope.value, path=path, notes=(str(error),)))
            continue
        outcome = findings = added = None
        if now.compaction or (force and desk.journal.memory_compaction_enabled):
            outcome = _compacted(desk, scope, notes)
        if now.scan or force:
            findings = _scanned(desk, scope, notes)
        if now.experiences or (force and desk.journal.experience_store_enabled and desk.limits.enabled):
            added = _gathered(desk, scope, learnt if scope is Scope.LOCAL else tuple, notes)
        if outcome is not None or findings is not None or added is not None or notes:
            done.append(
                Upkeep(
                    scope=scope.value,
                    path=path,
                    compaction=outcome,
                    findings=findings,
                    experiences=added,
                    notes=tuple(notes),
                )
            )
    return done


def _scanned(desk: Desk, scope: Scope, notes: list[str]) -> int | None:
    found = None
    try:
        found = len(integrity_scan(desk, scope))
    except ByheartError as error:
        notes.append(str(error))
    _noted(desk, scope, lambda known: replace(known, scanned_at=desk.clock(), findings=found), notes)
    return found


def _compacted(desk: Desk, scope: Scope, notes: list[str]) -> Compacted | None:
    outcome = None
    try:
        outcome = compact(desk, scope)
    except ByheartError as error:
        notes.append(str(error))
    # A run that was not needed or failed counts as well, or it would be due again with the next command.
    _noted(desk, scope, lambda known: replace(known, compacted_at=desk.clock()), notes)
    return outcome


def _gathered(desk: Desk, scope: Scope, learnt: Callable[[], Sequence[Learnt]], notes: list[str]) -> int | None:
    from byheart.journal import experiences

    added = None
    try:
        added = len(experiences.gather(desk, scope, learnt()).added)
    except ByheartError as error:
        notes.append(str(error))
    _noted(desk, scope, lambda known: replace(known, gathered_at=desk.clock()), notes)
    return added


def _noted(desk: Desk, scope: Scope, change: Callable[[State], State], notes: list[str]) -> None:
    """Remember it, and which folder this journal serves, so that upkeep of all projects finds it."""
    try:
        note(desk, desk.roots[scope], lambda known: replace(change(known), folder=desk.project.folder))
    except ByheartError as error:
        notes.append(str(error))
