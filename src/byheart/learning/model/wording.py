"""What a model may word of a handbook: the profile, tips, what a block is for, and skills. Everything else is made by code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from byheart.domain.handbook import Handbook, Overview, Pitfall, Skill, Topic
from byheart.domain.values import replace
from byheart.handbook.phrases import one_line
from byheart.handbook.summary import PROFILE_WORDS
from byheart.text.similarity import content_words
from byheart.text.slugs import slug

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_WORDS, _SENTENCES, _TIPS, _SKILLS = 300, 8, 8, 6
_CODE = re.compile(r"`([^`\n]+)`")
_FEW = 2


def worded(
    handbook: Handbook,
    told: Mapping[str, Sequence[Any]],
    material: str,
    threads: Sequence[str],
    is_fine: Callable[[str], bool],
) -> Handbook:
    """A handbook with a model's words where they name sessions that are there and commands that stand in the material.
    `is_fine` says whether a line may be shown to whoever reads it."""
    known = frozenset(threads)

    def line(value: object, most: int) -> str:
        text = one_line(value, most) if isinstance(value, str) else ""
        return text if text and is_fine(text) and _is_known(text, material) else ""

    skills = list(_skills(told["skills"], handbook.skills, known, line))
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


def _is_known(text: str, material: str) -> bool:
    return all(code in material for code in _CODE.findall(text))


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
    every: Sequence[Any], known_skills: Sequence[Skill], known: frozenset[str], line: Callable[[object, int], str]
) -> Iterator[Skill]:
    """Procedures that at least two sessions followed, without any command that nobody ran."""
    names = {skill.name for skill in known_skills}
    for each in every[:_SKILLS]:
        if not isinstance(each, dict) or not _rests(each, known, _FEW):
            continue
        name = slug(str(each.get("name") or ""), most=40)
        wanted = _listed(each.get("steps"))
        steps = [text for step in wanted if (text := line(step, 300))]
        description = line(each.get("description"), 240)
        triggers = [text for trigger in _listed(each.get("triggers")) if (text := line(trigger, 200))]
        checks = [text for check in _listed(each.get("checks")) if (text := line(check, 200))]
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
