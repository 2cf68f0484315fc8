"""What a lesson is worth: in how many of the project's own sessions it was met, and which way over it they share.

Sessions are counted, not calls, and newer ones count for more. Everything follows from the extracts alone, so that learning step by
step comes to what learning at once comes to."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass, field, replace
from byheart.handbook.lessons import Lesson, lesson_of
from byheart.learning.extract.knowledge import PROCEDURE
from byheart.sessions.facts.commands import acts_of, is_from_shell, kind_of, only_looks, program_of, stem_of
from byheart.sessions.facts.differences import (
    BEHIND,
    INSTEAD,
    WITH,
    WITHOUT,
    Change,
    changes,
    is_file,
    is_named,
    steps_in,
)
from byheart.sessions.facts.errors import is_wrapper, signature_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from byheart.domain.handbook import Extract, Written

# After so many more sessions a meeting counts half. 10, 20 and 40 know the same repeats, whichever project is left out.
HALF_LIFE = 20
# Meetings that make a habit of what fewer may do by chance: trying again, being stuck, breaking the same rule. With 2 a tenth more repeats
# are known, whichever project is left out, and most of the lines that come with it are noise to a reader.
OFTEN = 3
# What nobody met in so many sessions, nor in the last third of all, may be gone, unless as many met it before.
_QUIET, _LASTING = 12, 5
# A program that so large a part of the sessions uses is known to whoever uses it: what fails once is a slip.
_EVERYDAY, _FEW_SESSIONS = 0.3, 5
# Where a line points into a file, or tells of a test: that is work in progress, not how things are here.
_IN_PROGRESS = re.compile(
    r"\.\w{1,5}[:(]\d+|^(?:FAIL|--- FAIL|✗|✖|×|not ok|note:|Found \d)|\(fail\)|expect\(|assert", re.IGNORECASE
)
# A test that found something wrong says so about the code as it was that day, however often that happens.
_TESTED = re.compile(
    r"expect\(|assert|\btests? failed\b|^(?:Received|Expected)\b|^\d+ [|│]|\(fail\)|^(?:test )?\S+ \.\.\. FAILED",
    re.IGNORECASE,
)
_MENDS = ("lint", "format")
_CHECKS = ("lint", "format", "commit")
# A shell that could not go where it was told.
_ELSEWHERE = re.compile(r"\bcd:(?:\d+:)? ")
# Examples are alike in length where they differ by less.
_CUT, _LENGTH = "…", 40
# What tidies up finds nothing to tidy; that is no trouble.
_REMOVES = frozenset("rm rmdir unlink".split())
_TIDIES = _REMOVES | frozenset("kill pkill killall".split())
_WORKED = re.compile(r"^`([^`]+)`.* \(worked [1-9]")
# The same call, run elsewhere.
_MOVED = re.compile(r"cd (?P<folder>\S+) && ")
_NAMED = "what the error names"
Cure = Change | str


@dataclass(slots=True, kw_only=True)
class Trouble:
    """An error by its signature: the sessions that met it, by their place in the order of time, and how they got over it, the oldest
    first."""

    signature: str
    met: list[int] = field(default_factory=list)
    turns: dict[int, tuple[int, ...]] = field(default_factory=dict)
    ways: list[tuple[int, Lesson]] = field(default_factory=list)
    stuck: Lesson | None = None

    @property
    def sessions(self) -> int:
        return len(self.met)

    def worth(self, now: int) -> float:
        return float(sum(0.5 ** ((now - place) / HALF_LIFE) for place in self.met))


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """What gets over a trouble: one session's way as the example, and what most ways have in common: words that differ, or a command
    that was run first. Neither where the same call passed when it was run again."""

    trouble: Trouble
    lesson: Lesson
    shared: tuple[Change, ...] = ()
    first: str = ""
    also: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Earned:
    """What is told of troubles: what helps, what nobody got over, and what checkers keep reporting."""

    help: tuple[Help, ...] = ()
    stuck: tuple[Trouble, ...] = ()
    rules: tuple[Help, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """An error that a session met after an earlier one had got over it. `turns` are where it failed and, if so, where it was got over."""

    thread: str
    help: Help
    turns: tuple[int, ...]


def repeats(extracts: Iterable[tuple[Written, Extract]]) -> list[Repeat]:
    """What the sessions of a project met again although an earlier one knew how to get over it, the oldest first."""
    ordered = in_order(extracts)
    usage = _used([extract for _, extract in ordered])
    found: list[tuple[int, Repeat]] = []
    for trouble in _troubles(ordered):
        help_ = _help(trouble, usage) if trouble.sessions > 1 else None
        if help_ is None:
            continue
        first = min(place for place, _ in trouble.ways)
        found += [
            (place, Repeat(thread=ordered[place][0].thread.id, help=help_, turns=trouble.turns[place]))
            for place in trouble.met
            if place > first
        ]
    return [each for _, each in sorted(found, key=lambda each: each[0])]


def in_order(extracts: Iterable[tuple[Written, Extract]]) -> list[tuple[Written, Extract]]:
    """Extracts, the oldest session first."""
    return sorted(extracts, key=lambda each: (each[0].thread.updated, each[0].thread.id))


def advice(help_: Help) -> str:
    """What gets over a trouble, as what to do."""
    lesson = help_.lesson
    if elsewhere := _MOVED.match(help_.first):
        return f"works in `{elsewhere['folder']}`"
    if help_.first:
        return f"run `{help_.first}` first" if lesson.proof == lesson.command else f"run `{help_.first}`, then `{lesson.proof}`"  # fmt: skip
    told = []
    for how in (WITHOUT, WITH):
        words = [change.old or change.new for change in help_.shared if change.how == how]
        if words:
            told.append(f"{how} {', '.join(f'`{word}`' for word in words)}")
    told += [f"with `{change.new}` instead of `{change.old}`" for change in help_.shared if change.how == INSTEAD]
    if not told and not help_.shared:
        if lesson.proof == lesson.command:
            return "ask the user first, then run it again" if lesson.is_asked else "passes when it is run again"
        return f"`{lesson.proof}` works"
    if told:
        # A call that is too long to be shown whole shows nothing more.
        return f"works {' and '.join(told)}" + (f": `{lesson.proof}`" if not lesson.proof.endswith(_CUT) else "")
    return f"works as `{lesson.proof}`"


def earned(extracts: Iterable[tuple[Written, Extract]]) -> Earned:
    """What sessions should be told of the troubles that these had, what is worth most first. Those that one session alone met come last,
    and only where what got over them says how things are in this project or on this machine."""
    ordered = in_order(extracts)
    every = _troubles(ordered)
    usage = _used([extract for _, extract in ordered])
    known = [found for trouble in every if (found := _help(trouble, usage)) is not None]
    told: dict[tuple[str, ...], Help] = {}
    for each in sorted(known, key=lambda each: each.trouble.sessions == 1):
        # Two errors of one failure say the same; which of them returns, nobody knows.
        cure = (each.first,) if each.first else (each.lesson.command, each.lesson.proof)
        other = told.get(cure)
        if other is None:
            told[cure] = each
        elif not other.also:
            told[cure] = replace(other, also=each.lesson.error)
    helped = {each.trouble.signature for each in known}
    rest = [trouble for trouble in every if trouble.signature not in helped and trouble.sessions >= OFTEN and _is_fresh(trouble, len(ordered))]  # fmt: skip
    return Earned(
        help=tuple(
            each for each in told.values() if _is_fresh(each.trouble, len(ordered)) and not _is_outdated(each, usage)
        ),
        stuck=tuple(each for each in rest if _is_stuck(each, usage.last)),
        rules=tuple(rule for each in rest if (rule := _rule(each)) is not None),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WayOver:
    """An error that was got over, with what to do about it; `wrong` are spellings that never worked here, each with what to write."""

    trouble: Trouble
    advice: str
    wrong: tuple[Change, ...] = ()
    command: str = ""


def ways_over(extracts: Iterable[tuple[Written, Extract]]) -> list[WayOver]:
    """What sessions got over by what they ran, what is worth most first, for a session that meets just that."""
    ordered = in_order(extracts)
    usage = _used([extract for _, extract in ordered])
    found = []
    for trouble in _troubles(ordered):
        if not trouble.ways or is_wrapper(trouble.ways[-1][1].error):
            continue
        help_ = _help(trouble, usage) or _newest(trouble)
        if help_ is None:
            continue
        wrong = tuple(change for change in help_.shared if _never_worked(change, help_.lesson, usage))
        found.append(WayOver(trouble=trouble, advice=advice(help_), wrong=wrong, command=help_.lesson.command))
    return found


def _newest(trouble: Trouble) -> Help | None:
    """What was run the last time, where no two sessions share a way: a change of files, and what a test found wrong, tell the next
    session nothing."""
    for _, way in reversed(trouble.ways):
        if (
            _is_lesson(way)
            and not way.is_retry
            and not _IN_PROGRESS.search(way.error)
            and not _is_long(way)
            and (cures := _cures(way))
        ):
            return _helped(trouble, way, cures)
    return None


def _never_worked(change: Change, way: Lesson, usage: Usage) -> bool:
    """Whether no session ran the same with what failed, or without what worked, and got through."""
    calls = usage.calls.get(acts_of(way.command), [])
    if change.how == BEHIND:
        return not any(program_of(way.command) == program_of(" ".join(words)) for words in calls if words)
    if change.how in (WITHOUT, INSTEAD) and change.old and not is_file(change.old):
        return not any(change.old.split()[0] in words for words in calls)
    return False


def _is_fresh(trouble: Trouble, now: int) -> bool:
    """Whether an error may still be met."""
    return trouble.sessions >= _LASTING or now - trouble.met[-1] <= max(_QUIET, now / 3)


def _is_stuck(trouble: Trouble, worked: Mapping[str, int]) -> bool:
    """Whether an error was met and never got over, and what met it did not work since."""
    lesson = trouble.stuck
    if lesson is None or trouble.ways or _is_of_the_day(lesson.error) or is_from_shell(lesson.error):
        return False
    is_since = worked.get(acts_of(lesson.command), -1) < trouble.met[-1]
    return is_since and trouble.sessions >= _LASTING and kind_of(lesson.command) != "test"


def _troubles(ordered: Sequence[tuple[Written, Extract]]) -> list[Trouble]:
    """What sessions met, what is worth most first."""
    known: dict[str, Trouble] = {}
    for place, (_, extract) in enumerate(ordered):
        for line in (line for task in extract.tasks for line in task.failures):
            lesson = lesson_of(line.text)
            if lesson is None or program_of(lesson.command) in _TIDIES:
                continue
            # To remove files first gets over nothing by itself.
            lesson = replace(lesson, ran=tuple(each for each in lesson.ran if program_of(each) not in _REMOVES))
            signature = signature_of(lesson.error)
            trouble = known.setdefault(signature, Trouble(signature=signature))
            if trouble.met[-1:] != [place]:
                trouble.met.append(place)
                trouble.turns[place] = line.turns
            if lesson.is_solved:
                trouble.ways.append((place, lesson))
            else:
                trouble.stuck = lesson
    now = len(ordered)
    return sorted(known.values(), key=lambda each: (-each.worth(now), -each.met[-1], each.signature))


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What worked in these sessions: programs that many of them use, for each program with what it is told to do the last session in which
    that worked, and the words of each such call."""

    everyday: frozenset[str]
    last: dict[str, int]
    calls: dict[str, list[frozenset[str]]]
    # For each program and option its values, each with the last session that used it.
    values: dict[tuple[str, str], dict[str, int]]


def _used(extracts: Sequence[Extract]) -> Usage:
    used: Counter[str] = Counter()
    last: dict[str, int] = {}
    calls: dict[str, list[frozenset[str]]] = {}
    values: dict[tuple[str, str], dict[str, int]] = {}
    for place, extract in enumerate(extracts):
        lines = [line.text for task in extract.tasks for line in task.knowledge]
        forms = {form for line in lines if line.startswith(PROCEDURE) for form in re.findall(r"`([^`]+)`", line)}
        used.update({program_of(form) for form in forms})
        forms |= {found[1] for line in lines if (found := _WORKED.match(line))}
        for step in (step for form in forms for step in steps_in(form)):
            last[acts_of(step)] = place
            calls.setdefault(acts_of(step), []).append(frozenset(step.split()))
            for option, value in _values_in(step):
                values.setdefault((program_of(step), option), {})[value] = place
    least = max(_FEW_SESSIONS, _EVERYDAY * len(extracts))
    everyday = frozenset(program for program, sessions in used.items() if sessions >= least)
    return Usage(everyday=everyday, last=last, calls=calls, values=values)


def _values_in(step: str) -> list[tuple[str, str]]:
    """The long options of a call that have a value, each with it."""
    words = [word.strip("\"'") for word in step.split()]
    pairs = [
        (word, words[at + 1])
        for at, word in enumerate(words[:-1])
        if len(word) > 2 and word.startswith("--") and "=" not in word
    ]
    pairs += [
        (word.partition("=")[0], word.partition("=")[2]) for word in words if word.startswith("--") and "=" in word
    ]
    return [(option, value) for option, value in pairs if value and not value.startswith("-")]


def _is_outdated(help_: Help, usage: Usage) -> bool:
    """Whether what helped gives an option a value that later sessions gave it no longer, while they gave it another."""
    last = help_.trouble.met[-1]
    for step in (help_.first, help_.lesson.proof):
        for option, value in _values_in(step):
            known = usage.values.get((program_of(step), option), {})
            if known.get(value, -1) <= last and any(place > last for other, place in known.items() if other != value):
                return True
    return False


def _help(trouble: Trouble, usage: Usage) -> Help | None:
    """What gets over a trouble; None where nothing surely does."""
    ways = [(place, way) for place, way in trouble.ways if _is_lesson(way)]
    if trouble.sessions < OFTEN:
        # A look around that finds nothing is an answer, until that happens again and again.
        ways = [(place, way) for place, way in ways if not only_looks(way.command)]
    if trouble.sessions == 1:
        return next((_helped(trouble, way, _cures(way)) for _, way in ways if _is_about_here(way, usage)), None)
    votes = Counter(cure for _, cure in {(place, _shape(cure, way)) for place, way in ways for cure in _cures(way)})
    shared = [cure for cure, times in votes.items() if times > 1]
    if shared:
        most = max(votes[cure] for cure in shared)
        best = {cure for cure in shared if votes[cure] == most}
        # The example that shows it with the least besides.
        shapes = [(place, way, {_shape(cure, way) for cure in _cures(way)}) for place, way in ways]
        fits = [(len(best & own), -len(own), -len(way.command) // _LENGTH, place, way) for place, way, own in shapes]
        *_, way = max(fits, key=lambda each: each[:4])
        return _helped(trouble, way, [cure for cure in _cures(way) if _shape(cure, way) in best])
    again = [(place, way) for place, way in ways if way.is_retry]
    tried = {place for place, _ in again}
    least = OFTEN if again and kind_of(again[-1][1].command) == "test" else 2
    # Trying again helps where it helped most who met it.
    if len(tried) >= least and 2 * len(tried) >= trouble.sessions:
        asked = [(place, way) for place, way in again if way.is_asked]
        return _helped(trouble, (asked if 2 * len(asked) >= len(again) else again)[-1][1], ())
    # Every session went another way: the newest that shows what differed, where the error is none of the code.
    for _, way in reversed(ways):
        different = [cure for cure in _cures(way) if isinstance(cure, Change) and _is_telling(cure, way)]
        only = way.ran if len(way.ran) == 1 and way.proof == way.command and not way.changed else ()
        if (different or (only and _cures(way))) and not _IN_PROGRESS.search(way.error) and not _is_long(way):
            return _helped(trouble, way, different or _cures(way))
    return None


def _is_telling(change: Change, way: Lesson) -> bool:
    """Whether a difference says by itself that it mattered: another wrapper, or a word that the error names."""
    return change.how == BEHIND or (bool(change.old) and (is_named(change.old, way.error) or change.how == INSTEAD))


def _cures(way: Lesson) -> list[Cure]:
    """What may have got over it: the words that differ, and what was run first, by its shape. A change of files is in the repository
    since, so it tells nobody anything."""
    if way.changed:
        return []
    elsewhere = [each for each in way.ran if _MOVED.match(each)]
    if elsewhere:
        # What differs besides may not have mattered.
        return [elsewhere[-1]]
    different: list[Cure] = list(changes(way.command, way.proof, way.error))
    return different or [stem_of(each) for each in way.ran if not _is_repair(each)]


def _is_repair(ran: str) -> bool:
    """Whether a command was done to files: then it is done, as a change of files is."""
    return any(is_file(word) for word in ran.split()[1:] if not word.startswith("-")) or only_looks(ran)


def _shape(cure: Cure, way: Lesson) -> Cure:
    """A cure as two sessions share it: which word an error names differs from one to the next."""
    if isinstance(cure, Change) and cure.old and is_named(cure.old, way.error):
        return Change(cure.how, _NAMED, "" if cure.how == INSTEAD else cure.new)
    return cure


def _helped(trouble: Trouble, way: Lesson, cures: Sequence[Cure]) -> Help:
    different = tuple(cure for cure in cures if isinstance(cure, Change))
    first = "" if different else next((ran for ran in reversed(way.ran) if stem_of(ran) in cures or ran in cures), "")
    return Help(trouble=trouble, lesson=way, shared=different, first=first)


def _is_lesson(way: Lesson) -> bool:
    """Whether an error that came back, and what got over it, says something to the next session."""
    if _TESTED.search(way.error) or is_wrapper(way.error) or way.is_workaround or _ELSEWHERE.search(way.error):
        return False
    return not (way.is_retry and _IN_PROGRESS.search(way.error))


def _is_about_here(way: Lesson, usage: Usage) -> bool:
    """Whether a failure of a single session says how things are in this project or on this machine: another spelling or one step before
    it got over it, and what failed was no piece of code. Where the program is one that everybody here knows, it was a slip, unless the
    error names the word that was wrong, or what failed never worked here."""
    cures = _cures(way)
    if _IN_PROGRESS.search(way.error) or _is_long(way) or only_looks(way.command) or not cures or len(way.ran) > 1:
        return False
    if _is_narrower(way):
        return False
    different = [cure for cure in cures if isinstance(cure, Change)]
    if any(cure.how == INSTEAD and _is_slip(cure) for cure in different):
        return False
    if any(cure.how in (BEHIND, INSTEAD) for cure in different):
        return True
    if kind_of(way.command) == "commit":
        return False
    return program_of(way.command) not in usage.everyday or any(_is_new(cure, way, usage) for cure in different)


def _is_new(change: Change, way: Lesson, usage: Usage) -> bool:
    """Whether nobody here ever ran the same with what failed, or without what worked."""
    calls = usage.calls.get(acts_of(way.command), [])
    if change.how == WITHOUT and change.old.startswith("-"):
        return not any(change.old.split()[0] in words for words in calls)
    return change.how == WITH and bool(calls) and all(change.new.split()[0] in words for words in calls)


def _is_narrower(way: Lesson) -> bool:
    """Whether a test run only was given more to go by: it may have left out what failed."""
    different = [cure for cure in _cures(way) if isinstance(cure, Change)]
    return (
        kind_of(way.command) == "test"
        and bool(different)
        and all(cure.how == WITH and cure.new.startswith("-") for cure in different)
    )


def _is_slip(change: Change) -> bool:
    """Whether a command was only pointed at a file that is not there."""
    return is_file(change.old) and is_file(change.new) and bool(re.search(r"\.\w{1,5}$", change.old))


def _is_long(way: Lesson) -> bool:
    """Whether a call is too long to be told whole: then it is one of its kind."""
    return way.command.endswith(_CUT) or way.proof.endswith(_CUT)


def _rule(trouble: Trouble) -> Help | None:
    """What a checker reports, or what a check stops, by the newest call that met it, with what was run more than once before it was gone;
    what a compiler says is about the code of the day."""
    ways = [way for _, way in reversed(trouble.ways) if not is_wrapper(way.error) and not _TESTED.search(way.error)]
    mine = next((way for way in ways if kind_of(way.command) in _CHECKS), None)
    if mine is None:
        return None
    # A change of files may have been what helped, but nobody runs the same by chance.
    ran = Counter(stem_of(each) for way in ways for each in (*way.ran, way.proof) if kind_of(each) in _MENDS)
    often = [(times, each) for each, times in ran.items() if times > 1 and each != stem_of(mine.command)]
    return Help(trouble=trouble, lesson=mine, first=max(often)[1] if often else "")


def _is_of_the_day(error: str) -> bool:
    return is_wrapper(error) or bool(_TESTED.search(error) or _IN_PROGRESS.search(error))
