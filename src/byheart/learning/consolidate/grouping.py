"""Phase 2 without a model: tasks of all extracts as blocks of a handbook. The same extracts always give the same blocks, so
what no session changed stays as it was, and what a session alone supported goes with it."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.handbook import Bullet, Extract, Group, GroupTask, Guidance, Outcome, Source, Support, Task, Written
from byheart.domain.values import dataclass, field, replace
from byheart.handbook.lessons import lesson_of
from byheart.handbook.phrases import keywords, one_line, said, short_id, signal_of
from byheart.handbook.raw import cite_of, parsed_raw, stamp
from byheart.learning.consolidate.returning import habits, manners, requests
from byheart.learning.consolidate.wishes import Mention, Wish, merged, repeated
from byheart.learning.extract.knowledge import ASKED, ASKED_LATER, MANNER, PROCEDURE
from byheart.learning.extract.tasks import telling_words
from byheart.text.similarity import content_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

# Tasks of one block that share so many of their words are tries at the same thing.
_ALIKE = 0.6
_REFERRED = re.compile(r"\b[\w.-]+#\d+\b")
_COMMAND = re.compile(
    r"^(?P<what>`[^`]+`(?: in `[^`]+`)? (?:runs|lints|checks|builds|formats|starts|installs)[\w ]*? here) \(worked (?P<ok>\d+) of (?P<all>\d+)(?P<rest>.*)\)$"
)
_WHY = "why it was done: "
_QUOTED = re.compile(r"`([^`\n]{3,80})`")
_NAME = re.compile(r"[\w./@:#-]{3,40}\Z")
_SHOWN_TASKS, _SHOWN_COMMANDS, _SHOWN_CITES = 4, 8, 2
_OUTCOMES = (Outcome.SUCCESS, Outcome.PARTIAL, Outcome.UNCERTAIN, Outcome.FAIL)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedTask:
    """A task of an extract, with whose it is."""

    written: Written
    task: Task
    number: int

    @property
    def at(self) -> datetime:
        return self.written.thread.updated

    @property
    def key(self) -> tuple[str, int]:
        return (self.written.thread.id, self.number)


@dataclass(slots=True, kw_only=True)
class Family:
    """Tries at the same thing, the newest first."""

    told: list[OwnedTask] = field(default_factory=list)

    @property
    def newest(self) -> OwnedTask:
        return self.told[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Maybe:
    """A sentence that may be a preference, and the task it was said in."""

    situation: str
    quote: str
    default: str
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """All blocks, with what the overview is made of: the wishes, the newest task of each block, and the extracts."""

    groups: tuple[Group, ...]
    wishes: tuple[Wish, ...]
    newest: dict[str, datetime]
    extracts: tuple[tuple[Written, Extract], ...]


def blocks(
    every: Sequence[Written],
    is_forgotten: Callable[[str], bool],
    uses: Callable[[Written], int],
    maybe: Mapping[str, Sequence[Maybe]],
) -> Blocks:
    """The blocks of a handbook. What was forgotten is left out of each of them; `maybe` are sentences of threads that may be
    preferences, and are where they return."""
    extracts = [(each, _kept(parsed_raw(each.raw_memory), is_forgotten)) for each in every]
    told = [
        OwnedTask(written=each, task=task, number=number)
        for each, extract in extracts
        for number, task in enumerate(extract.tasks, 1)
    ]
    groups: dict[str, list[OwnedTask]] = {}
    for one in told:
        groups.setdefault(one.task.group or "everything else", []).append(one)
    wanted = merged((line.text, _place(one, line.turns, line.text)) for one in told for line in one.task.preferences)
    wanted += repeated(_maybe(told, maybe, is_forgotten), wanted)
    known = [(line.text, _place(one, line.turns)) for one in told for line in one.task.knowledge]
    usual = habits(known)
    wanted += [*usual, *requests(known, usual), *manners(known)]
    newest = {name: max(one.at for one in members) for name, members in groups.items()}
    used = {name: max((uses(one.written) for one in members), default=0) for name, members in groups.items()}
    order = sorted(groups, key=lambda name: (-used[name].bit_length(), -newest[name].timestamp(), name))
    made = tuple(_group(name, groups[name], wanted, uses) for name in order)
    return Blocks(groups=made, wishes=tuple(wanted), newest=newest, extracts=tuple(extracts))


def _maybe(
    told: Sequence[OwnedTask], maybe: Mapping[str, Sequence[Maybe]], is_forgotten: Callable[[str], bool]
) -> Iterable[tuple[str, Mention]]:
    """Sentences that may be preferences, each with the task it was said in."""
    for one in told:
        for each in maybe.get(one.written.thread.id, ()):
            if each.situation == one.task.name or (one.number == 1 and not _has(told, one, each.situation)):
                line = said(f"working on {one.task.name}", "asked", each.quote, each.default, (each.turn,))
                if not is_forgotten(line.text):
                    yield line.text, _place(one, (each.turn,))


def _has(told: Sequence[OwnedTask], one: OwnedTask, name: str) -> bool:
    return any(other.written.thread.id == one.written.thread.id and other.task.name == name for other in told)


def _kept(extract: Extract, is_forgotten: Callable[[str], bool]) -> Extract:
    def left(lines: tuple[Bullet, ...]) -> tuple[Bullet, ...]:
        return tuple(line for line in lines if not is_forgotten(line.text))

    def clean(task: Task) -> Task:
        return replace(
            task,
            preferences=left(task.preferences),
            knowledge=left(task.knowledge),
            failures=left(task.failures),
            references=left(task.references),
        )

    return replace(extract, tasks=tuple(clean(task) for task in extract.tasks))


def _place(one: OwnedTask, turns: Sequence[int], text: str = "") -> Mention:
    thread = one.written.thread
    turn = turns[0] if turns else 1
    return Mention(
        thread=thread.id,
        at=one.at,
        cite=f"{short_id(thread.id)}#{turn}",
        group=one.task.group,
        task=one.key,
        quote=(signal_of(text) or {}).get("quote", ""),
    )


def _group(name: str, members: list[OwnedTask], wanted: Sequence[Wish], uses: Callable[[Written], int]) -> Group:
    families = _families(members)
    families.sort(
        key=lambda family: (-uses(family.newest.written).bit_length(), -family.newest.at.timestamp(), family.newest.key)
    )
    number_of = {one.key: number for number, family in enumerate(families, 1) for one in family.told}
    cwd = _common_folder([one.written.thread.cwd for one in members])
    area = name.partition(": ")[2] or name
    return Group(
        name=name,
        scope=_scope(families, area),
        cwd=cwd,
        reuse=f"facts about {area} hold for checkouts of this project; check paths and versions before relying on them",
        tasks=tuple(_task(family) for family in families),
        preferences=tuple(_wishes(wanted, number_of)),
        knowledge=tuple(_knowledge(families, number_of)),
        failures=tuple(_failures(families, number_of)),
    )


def _families(members: Iterable[OwnedTask]) -> list[Family]:
    """Tasks that are tries at the same thing put together; a word in common is not enough."""
    found: list[Family] = []
    for one in sorted(members, key=lambda each: (-each.at.timestamp(), each.key)):
        for family in found:
            if _is_retry(one, family.newest):
                family.told.append(one)
                break
        else:
            found.append(Family(told=[one]))
    return found


def _is_retry(one: OwnedTask, other: OwnedTask) -> bool:
    mine, theirs = _REFERRED.findall(one.task.name), _REFERRED.findall(other.task.name)
    if mine and theirs:
        return bool(mine[0] == theirs[0])
    first, second = set(content_words(one.task.name)), set(content_words(other.task.name))
    return first == second or (len(first & second) >= 3 and len(first & second) / len(first | second) >= _ALIKE)


def _common_folder(folders: Sequence[str]) -> str:
    """The folder that most of it was done in."""
    known = Counter(folder for folder in folders if folder and folder != "unknown")
    if not known:
        return "unknown"
    (first, _), *rest = known.most_common()
    return first if not rest else f"{first} (and {len(rest)} more)"


def _scope(families: Sequence[Family], area: str) -> str:
    names = "; ".join(one_line(family.newest.task.name, 60) for family in families[:3])
    more = f" and {len(families) - 3} more" if len(families) > 3 else ""
    return f"work on {area}: {names}{more}; use it when a request is about this part of the project"


def _task(family: Family) -> GroupTask:
    first = family.newest
    outcome = min((one.task.outcome for one in family.told[:1]), key=_OUTCOMES.index)
    return GroupTask(
        title=first.task.name,
        outcome=outcome,
        sources=tuple(_source(one) for one in _once(family.told)),
        keywords=_keywords(family),
    )


def _once(told: Sequence[OwnedTask]) -> list[OwnedTask]:
    known: dict[str, OwnedTask] = {}
    for one in told:
        known.setdefault(one.written.thread.id, one)
    return list(known.values())


def _source(one: OwnedTask) -> Source:
    thread = one.written.thread
    return Source(
        file=cite_of(one.written),
        cwd=thread.cwd or "unknown",
        path=thread.path,
        updated=stamp(thread.updated),
        thread=thread.id,
        note=f"{thread.agent}, {one.task.outcome.value}",
    )


def _keywords(family: Family) -> tuple[str, ...]:
    """What to find a task by: those of its session's keywords that it speaks of itself, then names in its own lines."""
    found: list[str] = []
    for one in family.told:
        task = one.task
        lines = [*task.knowledge, *task.failures, *task.references, *task.preferences]
        folded = " ".join([task.name, *(line.text for line in lines)]).casefold()
        found += [word for word in parsed_raw(one.written.raw_memory).keywords if word.casefold() in folded]
        named = [name for line in lines for name in _QUOTED.findall(line.text) if _NAME.match(name)]
        found += [name.rsplit("/", 1)[-1] for name in named[:6]]
        found += [word for word in telling_words(task.name) if len(word) > 3]
    return keywords(found, 12) or ("session",)


def _wishes(wanted: Sequence[Wish], number_of: dict[tuple[str, int], int]) -> Iterable[Guidance]:
    mine = [wish for wish in wanted if any(place.task in number_of for place in wish.places)]
    for wish in sorted(mine, key=lambda wish: (-wish.sessions, -wish.newest.timestamp(), wish.text)):
        here = [place for place in wish.places if place.task in number_of]
        text = f"{wish.text} ({wish.replaces})" if wish.replaces else wish.text
        yield Guidance(text=text, support=_support([(number_of[place.task], place.cite) for place in here]))


def _support(places: Sequence[tuple[int, str]]) -> Support:
    tasks = tuple(sorted(dict.fromkeys(number for number, _ in places))[:_SHOWN_TASKS])
    cites = tuple(dict.fromkeys(cite for _, cite in places))[:_SHOWN_CITES]
    return Support(tasks=tasks, cites=cites)


def _knowledge(families: Sequence[Family], number_of: dict[tuple[str, int], int]) -> Iterable[Guidance]:
    """Facts of all tasks: a command once, with where it worked; then what each task found."""
    commands: dict[str, list[tuple[str, int, str]]] = {}
    others: dict[str, list[tuple[str, int, str]]] = {}
    for family in families:
        for one in family.told:
            for line in one.task.knowledge:
                if line.text.startswith((_WHY, ASKED, ASKED_LATER, MANNER, PROCEDURE)):
                    continue
                place = (line.text, number_of[one.key], _place(one, line.turns).cite)
                found = _COMMAND.match(line.text)
                if found:
                    commands.setdefault(found["what"], []).append(place)
                else:
                    others.setdefault(line.text, []).append(place)
    ranked = sorted(commands.items(), key=lambda each: (-len(each[1]), each[0]))
    for _, places in ranked[:_SHOWN_COMMANDS]:
        yield Guidance(text=_summed(places), support=_support([each[1:] for each in places]))
    for text, places in others.items():
        yield Guidance(text=text, support=_support([each[1:] for each in places]))


def _summed(places: Sequence[tuple[str, int, str]]) -> str:
    """A command with how often it worked in all sessions, and what it said last."""
    found = [each for each in (_COMMAND.match(text) for text, _, _ in places) if each]
    worked, tried = sum(int(each["ok"]) for each in found), sum(int(each["all"]) for each in found)
    sessions = len({cite.partition("#")[0] for _, _, cite in places})
    where = f" in {sessions} sessions" if sessions > 1 else ""
    return f"{found[0]['what']} (worked {worked} of {tried}{where}{found[0]['rest']})"


def _failures(families: Sequence[Family], number_of: dict[tuple[str, int], int]) -> Iterable[Guidance]:
    found: dict[str, list[tuple[str, int, str]]] = {}
    for family in families:
        for one in family.told:
            for line in one.task.failures:
                lesson = lesson_of(line.text)
                if lesson is not None and not lesson.is_solved and not lesson.is_last:
                    # It counts for how often an error is met; by itself it helps nobody.
                    continue
                key = re.sub(r"[\d\W_]+", " ", line.text.casefold())[:160]
                found.setdefault(key, []).append((line.text, number_of[one.key], _place(one, line.turns).cite))
    for places in found.values():
        yield Guidance(text=places[0][0], support=_support([each[1:] for each in places]))
