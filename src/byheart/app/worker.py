"""What runs by itself: once, under a lease, started by hooks and gone when there is nothing left to do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from byheart.app import briefs, moments
from byheart.app.open import Surroundings, open_memory
from byheart.app.sessions import open_learning, open_sessions
from byheart.domain.errors import ByheartError
from byheart.domain.journal import MAIN
from byheart.domain.records import Scope
from byheart.domain.values import dataclass, field, replace
from byheart.storage import background
from byheart.storage import cards as card_files
from byheart.storage import moments as moment_files
from byheart.text.deferred import module
from byheart.workspace.context import keeps_journal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from byheart.domain.learning import LearnReport
    from byheart.learning import learning as learning_learning
else:
    learning_learning = module("byheart.learning.learning")

_MOST_ROUNDS, _KEPT = 20, 200


@dataclass(slots=True, kw_only=True)
class Worked:
    """What a worker did: its rounds, the sessions that were noted for it, and what it learnt."""

    rounds: int = 0
    noted: int = 0
    learnt: list[str] = field(default_factory=list)
    cards: int = 0
    problems: list[str] = field(default_factory=list)
    was_busy: bool = False


def work(around: Surroundings) -> Worked:
    """Learn from what was noted and what is due, then make briefs ready; again while something new was noted."""
    done = Worked()
    with background.held(os.path.join(around.home, "state", "worker.lock")) as is_ours:
        if not is_ours:
            done.was_busy = True
            return done
        while done.rounds == 0 or (card_files.has_notes(around.home) and done.rounds < _MOST_ROUNDS):
            done.rounds += 1
            notes = card_files.take_notes(around.home)
            done.noted += len(notes)
            ended = {str(note.get(key)) for note in notes if note.get("event") != "stop" for key in ("session", "path") if note.get(key)}  # fmt: skip
            try:
                report = _learnt(around, frozenset(ended))
                done.learnt += report.learnt
                done.problems += [error for _, error in report.failed]
            except ByheartError as error:
                done.problems.append(str(error))
            done.problems += _kept_up(around, notes)
            card_files.notes_done(around.home)
        done.cards = briefs.refresh(around)
        _moments_ready(around)
        card_files.sweep_sent(around.home, _KEPT)
        moment_files.sweep(around.home, _KEPT, around.clock().timestamp())
    return done


def _kept_up(around: Surroundings, notes: Sequence[Mapping[str, Any]]) -> list[str]:
    """The journals of the folders that sessions spoke of: a checkpoint before a session is compacted, and the upkeep that is due; what
    went wrong."""
    problems: list[str] = []
    folders = dict.fromkeys(str(note.get("cwd") or "") for note in notes)
    for folder in folders:
        if not os.path.isdir(folder):
            continue
        try:
            memory = open_memory(replace(around, folder=folder, flags=())).memory
            if not keeps_journal(memory.context, memory.context.roots[Scope.LOCAL]):
                continue
            compacting = [note for note in notes if note.get("cwd") == folder and note.get("event") == "pre-compact"]
            for session in dict.fromkeys(str(note.get("session") or MAIN) for note in compacting):
                memory.journal().flush_pre_compaction(session)
            if memory.is_upkeep_due():
                memory.journal().upkeep()
        except ByheartError as error:
            problems.append(str(error))
    return problems


def _moments_ready(around: Surroundings) -> None:
    """Prepare what may be said while sessions work."""
    opened = open_memory(around)
    if opened.config.moments.enabled and opened.config.flag("memory.enabled"):
        every = open_sessions(opened, around)
        moments.refresh(around, open_learning(opened, around, every), every)


def _learnt(around: Surroundings, ended: frozenset[str]) -> LearnReport:
    opened = open_memory(around)
    every = open_sessions(opened, around)
    every.refresh()
    learning = open_learning(opened, around, every)
    learning.count_briefed(card_files.every_sent(around.home))
    report = learning.learn(learning_learning.Wanted(is_automatic=True, ended=ended))
    opened.memory.caught_up()
    return report
