"""What people typed, waiting for an agent to judge: kept, put before one, and settled by its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.errors import Refused
from byheart.learning import judgement

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from byheart.learning.handbook_files import HandbookFiles
    from byheart.workspace.context import Context


class Judging:
    """The messages of one project that wait for a judge, and what became of those that were judged."""

    def __init__(
        self, context: Context, files_of: Callable[[str], HandbookFiles], project: str, *, is_on: bool
    ) -> None:
        self._context, self._files_of, self._project = context, files_of, project
        # Whether agents are asked at all.
        self.is_on = is_on

    def waiting(self) -> list[judgement.Spoken]:
        """What waits for a judge, the likeliest first."""
        return judgement.waiting(self._files_of(self._project))

    def by_thread(self, project: str) -> dict[str, list[judgement.Judged]]:
        """What was judged of each of a project's sessions."""
        found: dict[str, list[judgement.Judged]] = {}
        for row in judgement.judged(self._files_of(project)):
            found.setdefault(row.thread, []).append(row)
        return found

    def wait(self, project: str, every: Sequence[judgement.Spoken]) -> None:
        """Have what a session said wait for a judge."""
        own = self._files_of(project)
        known = {each.id for each in judgement.waiting(own)} | {each.id for each in judgement.judged(own)}
        judgement.noted(own, [each for each in every if each.id not in known])

    def put_in_order(self, own: HandbookFiles, gone: Collection[str]) -> None:
        """Let go of what need not be judged any more, also of sessions that are gone."""
        judgement.put_in_order(own, gone, is_on=self.is_on)

    def settled(self, answers: object, asked: Sequence[str], by: str) -> judgement.Outcome:
        """What counts of a judge's answers about what it was asked; those messages wait no longer. Raises BadInput, and Refused where none
        of them waits."""
        given = judgement.verdicts(answers)
        own = self._files_of(self._project)
        wait = {each.id: each for each in self.waiting() if each.id in asked} if self.is_on else {}
        if not wait:
            raise Refused("no message waits for a verdict here; nothing was changed")
        at = self._context.clock().isoformat(timespec="seconds")
        outcome = judgement.outcome_of(given, wait, at, by, self._context.scanner)
        judgement.settle(own, outcome.rows)
        return outcome
