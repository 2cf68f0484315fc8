"""Phase 2 without a model: extracts become a handbook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.handbook import Group, Handbook, Overview, Skill, Written
from byheart.domain.values import replace
from byheart.learning.consolidate.grouping import Maybe, blocks
from byheart.learning.consolidate.overviews import overview
from byheart.learning.consolidate.procedures import skills

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def consolidated(
    every: Sequence[Written],
    project: str,
    *,
    notes: Sequence[tuple[str, str]] = (),
    maybe: Mapping[str, Sequence[Maybe]] | None = None,
    is_forgotten: Callable[[str], bool] = lambda _: False,
    uses: Callable[[Written], int] = lambda each: each.uses,
) -> Handbook:
    """The handbook of these extracts. It depends on nothing else, so that doing it again changes nothing."""
    made = blocks(every, is_forgotten, uses, maybe or {})
    found = skills([(each.thread.id, extract) for each, extract in made.extracts], project)
    groups = tuple(_pointing(group, found) for group in made.groups)
    told = overview(replace(made, groups=groups), found, project, notes)
    return Handbook(groups=groups, overview=_without(told, is_forgotten), skills=tuple(found))


def _without(told: Overview, is_forgotten: Callable[[str], bool]) -> Overview:
    """The summary without what somebody wants gone of what only it says. Its index stays: each block of the handbook has its line
    there, and whether that is told is another matter."""
    return replace(
        told,
        preferences=tuple(line for line in told.preferences if not is_forgotten(line)),
        tips=tuple(line for line in told.tips if not is_forgotten(line)),
    )


def _pointing(group: Group, found: Sequence[Skill]) -> Group:
    """A block whose tasks name the skills that came from their sessions."""
    by_thread: dict[str, list[str]] = {}
    for skill in found:
        for thread in skill.threads:
            by_thread.setdefault(thread, []).append(skill.name)
    tasks = []
    for task in group.tasks:
        names = dict.fromkeys(name for source in task.sources for name in by_thread.get(source.thread, ()))
        tasks.append(replace(task, skills=tuple(names)))
    return replace(group, tasks=tuple(tasks))
