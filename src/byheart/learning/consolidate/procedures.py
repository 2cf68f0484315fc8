"""Skills: what several sessions did in the same order, and how a change is checked; with what went wrong on the way."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.handbook import Pitfall, Skill
from byheart.domain.values import dataclass
from byheart.handbook.lessons import lesson_line, lesson_of
from byheart.handbook.phrases import one_line
from byheart.learning.extract.knowledge import PROCEDURE
from byheart.sessions.facts import commands as lines_of
from byheart.text.similarity import content_words
from byheart.text.slugs import short_digest, slug

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from byheart.domain.handbook import Extract
    from byheart.learning.consolidate.wishes import Wish

# Checks make a skill when two of them worked in so many sessions; other commands when so many in a row did.
CHECKS, SESSIONS, STEPS = 2, 3, 3
# Of these steps so many belong to the procedure itself.
OWN_STEPS = 2
_TOLD_BY = 2
_MOST, _LONGEST = 6, 64
_PROVES = {
    "test": "the tests pass", "lint": "the linter has nothing to say", "types": "the types check", "build": "it builds",
}  # fmt: skip
_ORDER = ("build", "types", "lint", "test")
# Rows of nothing but these are what the skill for checking is about.
_CHECKING = ("test", "lint", "types", "build", "format", "install")
_KEEPING = re.compile(r"\bgit (?:-C \S+ )?(?:add|commit|status|stash|diff|log|checkout|switch|restore|fetch|pull)\b")
_WORKED = re.compile(
    r"^`(?P<command>[^`]+)`(?: in `(?P<folder>[^`]+)`)? (?:runs the tests|lints|checks types|builds|formats|starts it|installs dependencies) here \(worked "
)
# A script is run as it stands, so it holds nothing that could change or send anything.
_UNSAFE = re.compile(
    r"[\n\r\x00<>`;]|\$\(|--(?:fix|write|force|update\S*)\b|:fix\b|\b(?:rm|mv|sudo|push|publish|deploy|release|reset|delete|drop|destroy|curl|wget|eval)\b|\|\s*(?:sh|bash)\b"
)
_EFFECTS = re.compile(
    r"\b(?:push|publish|deploy|release|tag|merge|upload|delete|destroy|drop|apply|send|migrate|commit|rm|kubectl|terraform|scp|rsync|gh (?:pr|release|issue))\b"
)
_DULL = frozenset(
    "cd ls cat echo mkdir touch cp mv rm sleep export source pwd chmod kill pkill git-status true printf sed awk python python3 node sh bash".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What one task of a session did, in order: stems of commands, and how each was spelled."""

    thread: str
    task: str
    stems: tuple[str, ...]
    forms: tuple[str, ...]


def skills(extracts: Sequence[tuple[str, Extract]], project: str, wishes: Sequence[Wish] = ()) -> list[Skill]:
    """The procedures of a project: how a change is checked, and what else was done alike in several sessions. What people asked for in
    those sessions names them."""
    pitfalls = _Pitfalls()
    worked: dict[tuple[str, str], set[str]] = {}
    courses: list[Course] = []
    for thread, extract in extracts:
        for task in extract.tasks:
            for line in task.failures:
                pitfalls.note(line.text, thread)
            for line in task.knowledge:
                if found := _WORKED.match(line.text):
                    kind = lines_of.kind_of(found["command"]) or ""
                    told = f"(cd {found['folder']} && {found['command']})" if found["folder"] else found["command"]
                    worked.setdefault((kind, told), set()).add(thread)
                elif line.text.startswith(PROCEDURE):
                    courses.append(_course(thread, task.name, line.text))
    checks = _checks(worked)
    made = [_checking(checks, worked, pitfalls, project)] if len(checks) >= CHECKS else []
    asked = [
        (wish.quote, {place.thread for place in wish.places}) for wish in wishes if wish.is_inferred and wish.quote
    ]
    return [*made, *_sequences(courses, pitfalls, project, made, asked)]


def _course(thread: str, task: str, line: str) -> Course:
    forms = tuple(re.findall(r"`([^`]+)`", line[len(PROCEDURE) :]))
    told = [form for form in forms if lines_of.program_of(form) not in _DULL]
    return Course(thread=thread, task=task, stems=tuple(lines_of.stem_of(form) for form in told), forms=tuple(told))


class _Pitfalls:
    """What went wrong and what helped, by the error; with the sessions that met it."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, Pitfall, set[str]]] = {}

    def note(self, text: str, thread: str) -> None:
        lesson = lesson_of(text)
        if lesson is None or not lesson.is_solved or not lesson.passed or lesson.is_workaround:
            return
        key = re.sub(r"[\d\W_]+", " ", lesson.error.casefold())[:60]
        did = lesson_line(lesson).split(" -> ")[1:-1]
        fix = Pitfall(
            symptom=f"`{lesson.command}` says `{one_line(lesson.error, 140)}`",
            cause=f"met in session {thread[:13]}",
            fix=one_line(f"{did[0]}, then `{lesson.proof}`" if did else f"`{lesson.proof}`", 240),
        )
        self._known.setdefault(key, (lines_of.stem_of(lesson.command), fix, set()))[2].add(thread)

    def of(self, stems: Sequence[str]) -> tuple[Pitfall, ...]:
        """Those of these commands, the commonest first; where there is none, what to do then."""
        kinds = {lines_of.kind_of(stem) for stem in stems} - {None}
        ranked = sorted(self._known.values(), key=lambda each: (-len(each[2]), each[1].symptom))
        mine = [fix for stem, fix, _ in ranked if stem in stems or lines_of.kind_of(stem) in kinds]
        none = Pitfall(
            symptom="a step fails",
            cause="not met in the sessions so far",
            fix="read its first error, mend that, and go on from that step",
        )
        return tuple(mine[:5]) or (none,)


def _checks(worked: dict[tuple[str, str], set[str]]) -> list[tuple[str, str, int]]:
    """For each purpose the command that worked in most sessions: (kind, command, sessions)."""
    best: dict[str, tuple[str, int]] = {}
    for (kind, command), threads in sorted(
        worked.items(), key=lambda item: (-len(item[1]), len(item[0][1]), item[0][1])
    ):
        if kind not in _PROVES or kind in best or len(threads) < SESSIONS:
            continue
        if not _UNSAFE.search(command) and len(command) <= 100:
            best[kind] = (command, len(threads))
    return [(kind, *best[kind]) for kind in _ORDER if kind in best]


def _checking(
    checks: Sequence[tuple[str, str, int]],
    worked: dict[tuple[str, str], set[str]],
    pitfalls: _Pitfalls,
    project: str,
) -> Skill:
    commands = [command for _, command, _ in checks]
    script = "#!/bin/sh\n# Every check that worked in earlier sessions; stops at the first that fails.\nset -eu\n"
    return Skill(
        name=_name(f"verify {project}"),
        description=f"Check a change in {project} before it is handed over. Use when asked to run the checks, to make sure nothing broke, or before a commit.",
        triggers=(
            f"a change in {project} is finished and has to be checked",
            'the user says "run the tests", "check it" or "make sure nothing broke", or asks for a commit',
        ),
        non_goals=("changes to documents that none of these commands reads",),
        inputs=("the folder of the repository as working directory", "which files were changed"),
        steps=tuple(
            f"Run `{command}`: {_PROVES[kind]} (worked in {count} sessions)." for kind, command, count in checks
        ),
        efficiency=(
            "Start with the check that is nearest to the change; run the whole list once, at the end.",
            "`sh scripts/verify.sh`, started in the repository, runs all of it in this order and stops at the first failure.",
            "Stop when a step has failed three times for the same reason, and say so.",
        ),
        pitfalls=pitfalls.of(commands),
        checks=tuple(f"`{command}`: {_PROVES[kind]}" for kind, command, _ in checks),
        has_side_effects=False,
        tools=("Bash", "Read"),
        scripts=(("verify.sh", script + "".join(f"{command}\n" for command in commands)),),
        threads=tuple(sorted({thread for key, threads in worked.items() if key[1] in commands for thread in threads})),
    )


def _sequences(
    courses: Sequence[Course],
    pitfalls: _Pitfalls,
    project: str,
    known: Sequence[Skill],
    asked: Sequence[tuple[str, set[str]]],
) -> Iterator[Skill]:
    """Rows of commands that several sessions went through in the same order, the longest and commonest first."""
    support: dict[tuple[str, ...], set[str]] = {}
    shared = {row for row in _shared(courses) if sum(not _is_usual(stem) for stem in row) >= OWN_STEPS}
    for row in shared:
        support[row] = {course.thread for course in courses if _is_within(row, course.stems)}
    ranked = sorted(
        (row for row, threads in support.items() if len(threads) >= SESSIONS),
        key=lambda row: (-len(row) * len(support[row]), row),
    )
    kept: list[tuple[str, ...]] = []
    names = {skill.name for skill in known}
    for row in ranked:
        if any(len(set(row) & set(other)) * 2 >= min(len(row), len(other)) for other in kept):
            continue
        own = [course for course in courses if _is_within(row, course.stems)]
        about = _asked_for(own, asked) or _about(own, project)
        if not about:
            # Nobody would look for a procedure that is only named by its commands.
            continue
        kept.append(row)
        skill = _procedure(row, own, about, pitfalls)
        if skill.name not in names:
            names.add(skill.name)
            yield skill
        if len(kept) >= _MOST:
            return


def _is_usual(stem: str) -> bool:
    """Whether a step is one of any work: a check, or keeping what was done."""
    return lines_of.kind_of(stem) in _CHECKING or bool(_KEEPING.search(stem))


def _shared(courses: Sequence[Course]) -> Iterator[tuple[str, ...]]:
    """What two courses of different sessions have in common, in order."""
    for place, one in enumerate(courses):
        for other in courses[place + 1 :]:
            if one.thread != other.thread and len(set(one.stems) & set(other.stems)) >= STEPS:
                common = _common(one.stems, other.stems)
                if len(set(common)) >= STEPS:
                    yield common


def _common(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """The longest row that both go through, not necessarily without anything in between."""
    lengths = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i in range(len(one) - 1, -1, -1):
        for j in range(len(other) - 1, -1, -1):
            same = one[i] == other[j]
            lengths[i][j] = lengths[i + 1][j + 1] + 1 if same else max(lengths[i + 1][j], lengths[i][j + 1])
    row: list[str] = []
    i = j = 0
    while i < len(one) and j < len(other):
        if one[i] == other[j]:
            if one[i] not in row:
                row.append(one[i])
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return tuple(row)


def _is_within(row: Sequence[str], stems: Sequence[str]) -> bool:
    rest = iter(stems)
    return all(stem in rest for stem in row)


def _procedure(row: Sequence[str], courses: Sequence[Course], about: str, pitfalls: _Pitfalls) -> Skill:
    threads = sorted({course.thread for course in courses})
    spelled = {
        stem: Counter(
            form for course in courses for own, form in zip(course.stems, course.forms, strict=True) if own == stem
        )
        for stem in row
    }
    steps = []
    for stem in row:
        form, times = spelled[stem].most_common(1)[0]
        alike = len(spelled[stem]) == 1 or times > 1
        steps.append(f"Run `{form}`." if alike else f"Run `{stem}`, as in `{form}`.")
    named = [form for stem in row for form, _ in spelled[stem].most_common(1)]
    last = named[-1]
    effects = any(_EFFECTS.search(stem) for stem in row)
    return Skill(
        name=_name(about),
        description=f"{about.capitalize()}, as {len(threads)} sessions did it: {' → '.join(_acts(form) for form in named[:5])}. Use when the user asks for it.",
        triggers=tuple(dict.fromkeys(f'a request such as "{one_line(course.task, 90)}"' for course in courses[-3:])),
        non_goals=("work in other projects, where these commands may mean something else",),
        inputs=(
            "the folder of the repository as working directory",
            "what differs from the last time: names, versions, branches",
        ),
        steps=tuple(steps),
        efficiency=(
            f"Go straight to these steps: {len(threads)} sessions ended up with them.",
            "Stop at the first step that fails; later ones build on it.",
        ),
        pitfalls=pitfalls.of(row),
        checks=(f"`{last}` ended without an error", "no step before it was left out"),
        has_side_effects=effects,
        tools=("Bash", "Read"),
        threads=tuple(threads),
    )


def _acts(form: str) -> str:
    """A command without what it was pointed at."""
    words = [word for word in form.split() if re.fullmatch(r"[a-z][\w:-]*", word)]
    return " ".join(words[:3]) or form[:30]


def _asked_for(courses: Sequence[Course], asked: Sequence[tuple[str, set[str]]]) -> str:
    """The request that most of these sessions have in common, in the person's words; none where few do."""
    threads = {course.thread for course in courses}
    found = [(len(threads & own), -len(own), quote) for quote, own in asked if len(threads & own) * 2 > len(threads)]
    # Which version or number it was changes.
    plain = re.sub(r"\S*\d\S*", " ", max(found)[2]) if found else ""
    return one_line(plain, 60).casefold().strip(" .,:;!?")


def _about(courses: Sequence[Course], project: str) -> str:
    """The words that most of these tasks were asked for with; none where they are not two, besides the project's own name."""
    own = set(content_words(project))
    counts = Counter(
        word
        for course in courses
        for word in dict.fromkeys(content_words(course.task))
        if word.isalpha() and len(word) > 3 and word not in own
    )
    common = [word for word, times in counts.most_common(4) if times * 2 > len(courses)]
    first = courses[-1].task.casefold().split()
    spelled = [next((own.strip(".,:;!?") for own in first if own.startswith(word[:5])), word) for word in common]
    return " ".join(spelled[:3]) if len(spelled) >= _TOLD_BY else ""


def _name(text: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", slug(text, most=_LONGEST).casefold()).strip("-")
    return plain[:_LONGEST].strip("-") or f"procedure-{short_digest(text)}"
