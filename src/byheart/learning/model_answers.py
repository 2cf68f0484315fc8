"""What of a model's answers counts: a preference by the person's own words, any other line by a turn; and what it may word of a
handbook: the profile, tips, what a block is for, and skills."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from byheart.domain.handbook import Bullet, Extract, Handbook, Overview, Pitfall, Skill, Task, Topic
from byheart.domain.values import dataclass, replace
from byheart.handbook.phrases import file_slug, keywords, one_line, said, shortened, signal_of
from byheart.handbook.summary import PROFILE_WORDS
from byheart.language.faithful import Said, names_in, says_no_more, share_said, source
from byheart.learning.consolidate.wishes import same
from byheart.text.similarity import content_words
from byheart.text.slugs import slug

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from byheart.domain.sessions import Session, Turn
    from byheart.learning.model_calls import ModelExtract

# How much of a line's words one turn, or one line of what was learnt, has to have said, with the same yes or no.
_SHARE = 0.5
_LEAST_QUOTE = 8
_PIECES = re.compile(r"\s*(?:…|\.\.\.|\[…\])\s*")
_MOST_LINES, _MOST_TASKS = 16, 24


@dataclass(slots=True)
class Proof:
    """A session's turns, ready to be compared with, and how many lines nothing spoke for."""

    turns: Sequence[Turn]
    said: list[tuple[int, Said]]
    own: list[tuple[int, str]]
    # All of it, for names that have to stand there to the letter.
    text: str
    unproved: int = 0


def proof_of(turns: Sequence[Turn]) -> Proof:
    """What a session can prove."""
    texts = [
        (turn.number, f"{turn.text[:20_000]}\n{turn.command or turn.arguments[:4_000]}\n{(turn.output or '')[:8_000]}")
        for turn in turns
        if turn.is_evidence
    ]
    own = [(turn.number, _plain(turn.text)) for turn in turns if turn.is_own_words]
    whole = "\n".join(text for _, text in texts).casefold()
    return Proof(turns, [(number, source(text)) for number, text in texts], own, whole)


def proved(
    told: ModelExtract, offline: Extract | None, session: Session, turns: Sequence[Turn], project: str
) -> tuple[Extract | None, int]:
    """A model's extract without what nothing speaks for, and with what was proved without it; and how many lines fell."""
    proof = proof_of(turns)
    known = list(offline.tasks) if offline else []
    if told.extract is None:
        # The model saw nothing. What the person said they want is still so.
        wishes = tuple(task for task in known if task.preferences)
        return (replace(offline, tasks=wishes) if offline and wishes else None), 0
    tasks = [_task(task, proof) for task in told.extract.tasks[:_MOST_TASKS]]
    tasks = [task for task in tasks if task.preferences or task.knowledge or task.failures or task.steps]
    if not tasks:
        return offline, proof.unproved
    merged = _merged(tasks, known, project)
    first = merged[0]
    description = told.extract.description
    if not _turn_of(description, proof):
        description = "; ".join(f"{task.name} ({task.outcome.value})" for task in merged[:4])
    when = f"{session.started:%Y-%m-%d}, " if session.started else ""
    branch = f" on branch {session.branch}" if session.branch else ""
    extract = Extract(
        description=shortened(one_line(description), 500),
        task=one_line(told.extract.task, 160) or first.name,
        group=first.group,
        outcome=told.extract.outcome,
        cwd=session.cwd or "unknown",
        keywords=keywords([*told.extract.keywords, *(offline.keywords if offline else ())], 16),
        tasks=tuple(merged),
        slug=file_slug(slug(told.slug.replace("_", " "), most=60, joint="_")),
        headline=told.extract.headline or shortened("; ".join(task.name for task in merged[:3]), 200),
        context=f"{when}{session.agent} in {session.cwd or 'an unknown folder'}{branch}",
    )
    return extract, proof.unproved


def _task(task: Task, proof: Proof) -> Task:
    def grounded(lines: Iterable[Bullet]) -> tuple[Bullet, ...]:
        found = []
        for line in list(lines)[:_MOST_LINES]:
            text = one_line(line.text, 500)
            number = _turn_of(text, proof)
            if number:
                found.append(Bullet(text, (number,)))
            else:
                proof.unproved += 1
        return tuple(found)

    return replace(
        task,
        name=one_line(task.name, 160) or "untitled work",
        preferences=_wishes(task.preferences, proof),
        knowledge=grounded(task.knowledge),
        failures=grounded(task.failures),
        references=grounded(task.references),
        steps=grounded(task.steps),
    )


def _wishes(lines: Iterable[Bullet], proof: Proof) -> tuple[Bullet, ...]:
    """Preferences whose quotation the person typed, and whose meaning says no more than they did; the quotation itself where it does."""
    found = []
    for line in list(lines)[:_MOST_LINES]:
        parts = signal_of(one_line(line.text))
        number = _typed(parts["quote"], proof) if parts else 0
        if not parts or not number:
            proof.unproved += 1
            continue
        default = parts["default"]
        if not says_no_more(default, next(text for each, text in proof.own if each == number)):
            proof.unproved += 1
            default = parts["quote"]
        found.append(said(parts["situation"], parts["manner"], parts["quote"], default, (number,)))
    return tuple(found)


def _typed(quote: str, proof: Proof) -> int:
    """The turn in which a person typed this, in full or with parts left out; 0 where nobody did."""
    pieces = [_plain(piece) for piece in _PIECES.split(quote) if piece.strip(" .!?")]
    if not pieces or sum(map(len, pieces)) < _LEAST_QUOTE:
        return 0
    for number, text in proof.own:
        if all(piece.strip(" .!?") in text for piece in pieces):
            return number
    return 0


def _turn_of(line: str, proof: Proof) -> int:
    """The turn that says most of a line; 0 where none says enough, or where the session does not have a name in it."""
    if any(each.casefold() not in proof.text for each in names_in(line)):
        return 0
    share, number = max(((share_said(line, each), -n) for n, each in proof.said), default=(0.0, 0))
    return -number if share >= _SHARE else 0


def _plain(text: str) -> str:
    return " ".join(text.replace('"', "'").split()).casefold()


def _merged(tasks: list[Task], known: Sequence[Task], project: str) -> list[Task]:
    """A model's tasks with what was proved without it: wishes, commands that worked, failures that were overcome. Blocks are
    named by what was worked on, so that the next session about it finds its place."""
    made = list(tasks)
    for other in known:
        place = max(range(len(made)), key=lambda n: (_alike(made[n].name, other.name), -n))
        task = made[place]
        made[place] = replace(
            task,
            preferences=(*task.preferences, *_new_wishes(task.preferences, other.preferences)),
            knowledge=_more(task.knowledge, [line for line in other.knowledge if line.text.startswith(("`", "decided by the user: "))]),
            failures=_more(task.failures, other.failures),
            references=_more(task.references, other.references),
            keywords=task.keywords or other.keywords,
        )  # fmt: skip
    groups = [max(known, key=lambda other: _alike(task.name, other.name)).group if known else "" for task in made]
    return [
        replace(task, group=group or f"{project}: the project as a whole", keywords=task.keywords or keywords(content_words(task.name), 8))
        for task, group in zip(made, groups, strict=True)
    ]  # fmt: skip


def _new_wishes(known: Sequence[Bullet], more: Sequence[Bullet]) -> list[Bullet]:
    told = [parts["default"] for line in known if (parts := signal_of(line.text))]
    turns = {turn for line in known for turn in line.turns}
    found = []
    for line in more:
        parts = signal_of(line.text)
        if parts and not any(same(parts["default"], each) for each in told) and not set(line.turns) <= turns:
            found.append(line)
    return found


def _more(known: Sequence[Bullet], more: Sequence[Bullet]) -> tuple[Bullet, ...]:
    told = {one_line(line.text).casefold() for line in known}
    return (*known, *(line for line in more if one_line(line.text).casefold() not in told))


def _alike(one: str, other: str) -> float:
    first, second = set(content_words(one)), set(content_words(other))
    return len(first & second) / max(1, len(first | second))


_WORDS, _SENTENCES, _TIPS, _SKILLS = 300, 8, 8, 6
_FEW = 2


def worded(
    handbook: Handbook,
    told: Mapping[str, Sequence[Any]],
    material: str,
    threads: Sequence[str],
    is_fine: Callable[[str], bool],
) -> Handbook:
    """A handbook with a model's words where they name sessions that are there, and where a line of the material says most of each.
    `is_fine` says whether a line may be shown to whoever reads it."""
    known = frozenset(threads)
    folded = material.casefold()
    lines = [source(each) for each in dict.fromkeys(material.split("\n")) if each.strip()]

    def label(value: object, most: int) -> str:
        text = one_line(value, most) if isinstance(value, str) else ""
        is_there = all(each.casefold() in folded for each in names_in(text))
        return text if text and is_there and is_fine(text) else ""

    def line(value: object, most: int) -> str:
        text = label(value, most)
        return text if text and max((share_said(text, each) for each in lines), default=0.0) >= _SHARE else ""

    skills = list(_skills(told["skills"], handbook.skills, known, line, label))
    taken = sum(len(sentence.split()) for sentence in handbook.overview.profile)
    profile = _profile(told["profile"], min(_WORDS, PROFILE_WORDS - taken), line)
    tips = [
        text
        for each in told["tips"][:_TIPS]
        if isinstance(each, dict) and _rests(each, known) and (text := line(each.get("text"), 400))
    ]
    new = [tip for tip in tips if not any(_says(tip, old) for old in handbook.overview.tips)]
    more = [f"Related skill: skills/{skill.name}/SKILL.md: {one_line(skill.description, 160)}" for skill in skills]
    overview = handbook.overview
    if handbook.groups:
        overview = replace(
            overview,
            # What the sessions themselves count stays; the model's sentences go before it.
            profile=(*profile, *overview.profile) if profile else overview.profile,
            tips=(*overview.tips[:-1], *new, *more, *overview.tips[-1:]),
        )
    overview = _with_topics(overview, told["blocks"], known, line)
    return replace(handbook, overview=overview, skills=(*handbook.skills, *skills))


def _profile(lines: Sequence[Any], left: int, line: Callable[[object, int], str]) -> list[str]:
    found: list[str] = []
    for each in lines[:_SENTENCES]:
        text = line(each, 400)
        left -= len(text.split())
        if text and left >= 0:
            found.append(text)
    return found


def _rests(each: Mapping[str, Any], known: frozenset[str], least: int = 1) -> bool:
    """Whether a line names sessions that are there."""
    named = each.get("threads")
    return isinstance(named, list) and len({name for name in named if isinstance(name, str)} & known) >= least


def _says(tip: str, old: str) -> bool:
    wanted = set(content_words(tip))
    return bool(wanted) and len(wanted & set(content_words(old))) / len(wanted) > 0.7


def _with_topics(
    overview: Overview, blocks: Sequence[Any], known: frozenset[str], line: Callable[[object, int], str]
) -> Overview:
    told: dict[str, tuple[str, str]] = {}
    for each in blocks:
        if isinstance(each, dict) and isinstance(each.get("name"), str) and _rests(each, known):
            label = each["name"].replace(":", " -").strip()
            told[label] = (line(each.get("description"), 300), line(each.get("learnings"), 400))

    def better(topic: Topic) -> Topic:
        description, learnings = told.get(topic.label, ("", ""))
        # Where to look stays: the tasks are what somebody searches by.
        return replace(
            topic,
            description=one_line(f"{description}; {topic.description}", 600) if description else topic.description,
            learnings=learnings if learnings and topic.learnings else topic.learnings,
        )

    return replace(
        overview,
        recent=tuple(
            (scope, tuple((day, tuple(map(better, topics))) for day, topics in days)) for scope, days in overview.recent
        ),
        older=tuple((scope, tuple(map(better, topics))) for scope, topics in overview.older),
    )


def _skills(
    every: Sequence[Any],
    known_skills: Sequence[Skill],
    known: frozenset[str],
    line: Callable[[object, int], str],
    label: Callable[[object, int], str],
) -> Iterator[Skill]:
    """Procedures that at least two sessions followed, each step of which they show. What it is for and when may be in the model's words."""
    names = {skill.name for skill in known_skills}
    for each in every[:_SKILLS]:
        if not isinstance(each, dict) or not _rests(each, known, _FEW):
            continue
        name = slug(str(each.get("name") or ""), most=40)
        wanted = _listed(each.get("steps"))
        steps = [text for step in wanted if (text := line(step, 300))]
        description = label(each.get("description"), 240)
        triggers = [text for trigger in _listed(each.get("triggers")) if (text := label(trigger, 200))]
        checks = [text for check in _listed(each.get("checks")) if (text := label(check, 200))]
        # A procedure with a step missing is worse than none.
        if (
            not name
            or name in names
            or not description
            or len(steps) < _FEW
            or len(steps) < len(wanted)
            or not triggers
            or not checks
        ):
            continue
        names.add(name)
        pitfalls = [
            Pitfall(symptom=symptom, cause=cause, fix=fix)
            for pitfall in _listed(each.get("pitfalls"))
            if isinstance(pitfall, dict)
            and (symptom := line(pitfall.get("symptom"), 200))
            and (cause := line(pitfall.get("cause"), 200))
            and (fix := line(pitfall.get("fix"), 200))
        ]
        yield Skill(
            name=name,
            description=description,
            triggers=tuple(triggers),
            non_goals=(),
            inputs=(),
            steps=tuple(steps),
            efficiency=(),
            pitfalls=tuple(pitfalls),
            checks=tuple(checks),
            has_side_effects=True,
            threads=tuple(thread for thread in each["threads"] if thread in known),
        )


def _listed(value: object) -> list[Any]:
    return value[:12] if isinstance(value, list) else []
