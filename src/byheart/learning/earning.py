"""What a lesson is worth: in how many of the project's own sessions it was met, and met again after one of them had got over it.

Sessions are counted, not calls, and newer ones count for more. Everything follows from the extracts alone, so that learning step by
step comes to what learning at once comes to."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass, field
from byheart.handbook.lessons import Lesson, lesson_of
from byheart.sessions.facts.commands import kind_of, only_looks
from byheart.sessions.facts.errors import is_wrapper, signature_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from byheart.domain.handbook import Extract, Written

# After so many more sessions a meeting counts half. Chosen leave-one-project-out: anything from 12 to 40 knows as many repeats.
HALF_LIFE = 20
# Meetings that make a habit of what a single one may do by chance: trying again, being stuck, breaking the same rule.
OFTEN = 3
# Where a line points into a file, or tells of a test: that is work in progress, not how things are here.
_IN_PROGRESS = re.compile(
    r"\.\w{1,5}[:(]\d+|^(?:\(fail\)|FAIL|--- FAIL|✗|✖|×|not ok|note:|Found \d)|expect\(|assert", re.IGNORECASE
)
# A test that found something wrong says so about the code as it was that day, however often that happens.
_TESTED = re.compile(r"expect\(|assert|\btests? failed\b|^(?:Received|Expected)\b|^\d+ [|│]", re.IGNORECASE)
# The name of a rule that a checker goes by: a code, or words joined to a path.
_RULE = re.compile(r"\b[A-Z]{1,6}\d{2,5}\b|\b(?:lint|clippy|assist)(?:/|::)[\w/-]+|\berror\[\w+\]")
_CUT = "…"


@dataclass(slots=True, kw_only=True)
class Trouble:
    """An error by its signature: the sessions that met it, by their place in the order of time, and how they got over it, the oldest
    first."""

    signature: str
    met: list[int] = field(default_factory=list)
    ways: list[tuple[int, Lesson]] = field(default_factory=list)
    stuck: Lesson | None = None

    @property
    def sessions(self) -> int:
        return len(self.met)

    @property
    def needed(self) -> int:
        """How many sessions met it after one had got over it: what telling it would have helped."""
        first = min((place for place, _ in self.ways), default=len(self.met))
        return sum(place > first for place in self.met)

    def worth(self, now: int) -> float:
        return float(sum(0.5 ** ((now - place) / HALF_LIFE) for place in self.met))

    @property
    def lesson(self) -> Lesson:
        """The way that most sessions went; of those the one that changed least, and then the newest."""
        often = Counter(_cure(way) for _, way in self.ways)
        return max(
            self.ways,
            key=lambda each: (
                not each[1].is_retry,
                not each[1].is_workaround,
                not each[1].changed,
                often[_cure(each[1])],
                -len(each[1].ran),
                each[0],
            ),
        )[1]


def troubles(extracts: Iterable[tuple[Written, Extract]]) -> list[Trouble]:
    """What sessions met, what is worth most first."""
    known: dict[str, Trouble] = {}
    ordered = sorted(extracts, key=lambda each: (each[0].thread.updated, each[0].thread.id))
    for place, (_, extract) in enumerate(ordered):
        for line in (line for task in extract.tasks for line in task.failures):
            lesson = lesson_of(line.text)
            if lesson is None:
                continue
            signature = signature_of(lesson.error)
            trouble = known.setdefault(signature, Trouble(signature=signature))
            if trouble.met[-1:] != [place]:
                trouble.met.append(place)
            if lesson.is_solved:
                trouble.ways.append((place, lesson))
            else:
                trouble.stuck = lesson
    now = len(ordered)
    return sorted(known.values(), key=lambda each: (-each.worth(now), -each.met[-1], each.signature))


def _cure(lesson: Lesson) -> tuple[str, ...]:
    """What got over an error, for telling whether two sessions did the same."""
    return lesson.ran or (lesson.proof,) if not lesson.changed else ("changed",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Earned:
    """What is told of troubles: lessons, what nobody got over, and rules of checkers that sessions keep breaking."""

    lessons: tuple[tuple[Trouble, Lesson], ...] = ()
    stuck: tuple[Trouble, ...] = ()
    rules: tuple[Trouble, ...] = ()


def earned(every: Sequence[Trouble]) -> Earned:
    """The troubles that a session should be told of, by worth. Those that one session alone met come last, and only where what got over
    them says how things are in this project or on this machine."""
    known = [(trouble, lesson) for trouble in every if (lesson := _lesson(trouble)) is not None]
    once: list[tuple[Trouble, Lesson]] = []
    cures: set[tuple[str, ...]] = set()
    for trouble, lesson in [each for each in known if each[0].sessions > 1] + [each for each in known if each[0].sessions == 1]:  # fmt: skip
        # Two errors of one failure say the same.
        if (cure := (lesson.command, *_cure(lesson))) not in cures:
            cures.add(cure)
            once.append((trouble, lesson))
    told = {trouble.signature for trouble, _ in known}
    rest = [trouble for trouble in every if trouble.signature not in told and trouble.sessions >= OFTEN]
    return Earned(
        lessons=tuple(once),
        stuck=tuple(each for each in rest if each.stuck and not each.ways and not _is_of_the_day(each.stuck.error)),
        rules=tuple(each for each in rest if each.ways and _RULE.search(each.ways[-1][1].error)),
    )


def _lesson(trouble: Trouble) -> Lesson | None:
    """What a trouble teaches; None where it teaches nothing."""
    ran = Counter(way.ran for _, way in trouble.ways)
    ways = [
        (place, way)
        for place, way in trouble.ways
        if _is_lesson(way)
        and (not way.is_retry or trouble.sessions >= OFTEN)
        # What was run before code was right again may have had nothing to do with it, unless it was run more than once.
        and (not _IN_PROGRESS.search(way.error) or (not way.changed and (not way.ran or ran[way.ran] > 1)))
    ]
    if not ways:
        return None
    best = Trouble(signature=trouble.signature, met=trouble.met, ways=ways).lesson
    return best if trouble.sessions > 1 or _is_about_here(best) else None


def _is_lesson(way: Lesson) -> bool:
    """Whether an error that came back, and what got over it, says something to the next session."""
    if _TESTED.search(way.error) or is_wrapper(way.error) or way.is_workaround:
        return False
    return not (way.is_retry and _IN_PROGRESS.search(way.error))


def _is_about_here(way: Lesson) -> bool:
    """Whether a failure of a single session says how things are in this project or on this machine: one other call got over it, and
    what failed was no piece of code. A call that is too long to be told whole is one of its kind."""
    return (
        not way.changed
        and not way.is_retry
        and len(way.ran) <= 1
        and not _IN_PROGRESS.search(way.error)
        and not way.command.endswith(_CUT)
        and not only_looks(way.command)
        and not (kind_of(way.command) == "test" and not way.ran and _is_narrower(way))
    )


def _is_narrower(way: Lesson) -> bool:
    """Whether what passed in the end tried something else than what had failed."""
    failed, proof = set(way.command.split()), set(way.proof.split())
    return bool(proof - failed) and bool(failed - proof) and len(failed & proof) * 2 < len(failed)


def _is_of_the_day(error: str) -> bool:
    return is_wrapper(error) or bool(_TESTED.search(error) or _IN_PROGRESS.search(error))
