"""Upkeep without a resident process: what is due is found out when somebody looks, and done then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from byheart.domain.errors import ByheartError
from byheart.domain.journal import Compacted, Upkeep
from byheart.domain.recall import PossibleExperience
from byheart.domain.records import Scope
from byheart.domain.values import replace
from byheart.journal.compact import compact
from byheart.journal.files import State, journal_files, note
from byheart.journal.integrity import integrity_scan
from byheart.journal.schedule import due
from byheart.text.deferred import module
from byheart.workspace.context import Context

if TYPE_CHECKING:
    from byheart.journal import experiences
else:
    experiences = module("byheart.journal.experiences")


def upkeep(
    context: Context,
    scopes: Sequence[Scope],
    *,
    force: bool = False,
    learnt: Callable[[], Sequence[PossibleExperience]] = tuple,
) -> list[Upkeep]:
    """Do what is due, or with `force` the scan and the scheduled compaction at once; a failure in one journal is noted.
    `learnt` gives what sessions showed; it is asked only where experiences are gathered for a project."""
    done = []
    for scope in scopes:
        root = context.roots[scope]
        path = str(journal_files(context, root).memory)
        notes: list[str] = []
        try:
            now = due(context, root)
            if not context.files.size(journal_files(context, root).memory):
                continue
        except ByheartError as error:
            done.append(Upkeep(scope=scope.value, path=path, notes=(str(error),)))
            continue
        outcome = findings = added = None
        if now.compaction or (force and context.journal.memory_compaction_enabled):
            outcome = _compacted(context, scope, notes)
        if now.scan or force:
            findings = _scanned(context, scope, notes)
        if now.experiences or (force and context.journal.experience_store_enabled and context.limits.enabled):
            added = _gathered(context, scope, learnt if scope is Scope.LOCAL else tuple, notes)
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


def _scanned(context: Context, scope: Scope, notes: list[str]) -> int | None:
    found = None
    try:
        found = len(integrity_scan(context, scope))
    except ByheartError as error:
        notes.append(str(error))
    _noted(context, scope, lambda known: replace(known, scanned_at=context.clock(), findings=found), notes)
    return found


def _compacted(context: Context, scope: Scope, notes: list[str]) -> Compacted | None:
    outcome = None
    try:
        outcome = compact(context, scope)
    except ByheartError as error:
        notes.append(str(error))
    # A run that was not needed or failed counts as well, or it would be due again with the next command.
    _noted(context, scope, lambda known: replace(known, compacted_at=context.clock()), notes)
    return outcome


def _gathered(
    context: Context, scope: Scope, learnt: Callable[[], Sequence[PossibleExperience]], notes: list[str]
) -> int | None:
    added = None
    try:
        added = len(experiences.gather(context, scope, learnt()).added)
    except ByheartError as error:
        notes.append(str(error))
    _noted(context, scope, lambda known: replace(known, gathered_at=context.clock()), notes)
    return added


def _noted(context: Context, scope: Scope, change: Callable[[State], State], notes: list[str]) -> None:
    """Remember it, and which folder this journal serves, so that upkeep of all projects finds it."""
    try:
        note(context, context.roots[scope], lambda known: replace(change(known), folder=context.project.folder))
    except ByheartError as error:
        notes.append(str(error))
