"""Phase 1 without a model: a session becomes an extract, or nothing where nothing would help anybody later."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.handbook import Bullet, Extract, Outcome, Task
from byheart.domain.learning import KEEP, TASK, UNSURE
from byheart.domain.values import dataclass, replace
from byheart.handbook.phrases import file_slug, keywords, one_line, said, shortened, signal_of
from byheart.learning.consolidate.wishes import same
from byheart.learning.extract import failures, knowledge
from byheart.learning.extract.evidence import Evidence, gathered
from byheart.learning.extract.signals import PossiblePreference, signals
from byheart.learning.extract.tasks import is_vague, name_of, outcome_of, stretches, telling_words
from byheart.sessions.facts.files import area_of, is_common
from byheart.text.similarity import STOP_WORDS, words
from byheart.text.slugs import slug

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.domain.sessions import Session, Turn
    from byheart.learning.judgement import Judged

# Which learner made an extract: another name, and sessions are learnt from anew.
LEARNER = "offline-5"
_CODE = re.compile(r"`([^`\n]{2,50})`|\b([a-z]+[A-Z]\w{2,40}|[A-Z][a-z]+[A-Z]\w{2,40}|\w{2,30}_\w{2,30}|[A-Z]{3,12}\b)")
_CONTEXT = re.compile(
    r"^#+\s*(?:Context|Goal|Problem|Background|Overview|Summary)\s*\n+(.+?)(?:\n\s*\n|\n#|\Z)", re.MULTILINE | re.DOTALL
)
_MOST_TASKS = 24
# Agents whose shell stands where the last command left it.
_KEEPS_FOLDER = ("claude-code",)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionExtract:
    """What a session came to: an extract, or None; and what a person may want to decide about."""

    extract: Extract | None
    candidates: tuple[PossiblePreference, ...] = ()


def learnt(session: Session, turns: Sequence[Turn], project: str, verdicts: Sequence[Judged] = ()) -> SessionExtract:
    """A session's extract. `project` is what its project is called; `verdicts` are a judge's, of what the person typed in it."""
    cwd = session.cwd or ""
    parts = stretches(turns)
    shell: str | None = ""
    went_at: int | None = None
    tasks: list[Task] = []
    candidates: list[PossiblePreference] = []
    for place, part in enumerate(parts):
        found = gathered(part.turns, cwd, shell, keeps_folder=session.agent in _KEEPS_FOLDER, went_at=went_at)
        shell, went_at = found.shell, found.went_at
        name = name_of(part.opening, session.title if len(parts) == 1 else None)
        if is_vague(name):
            name = _name_by_work(found) or name
        task, unsure = _task(found, name, project, is_last=place == len(parts) - 1)
        there = {turn.number for turn in part.turns}
        here = [row for row in verdicts if row.turn in there]
        task = _with_kept(task, here)
        candidates += _undecided(unsure, here)
        if _is_worth_it(task, found):
            tasks.append(task)
    tasks = _most_telling(tasks)
    if not tasks:
        return SessionExtract(extract=None, candidates=tuple(candidates))
    return SessionExtract(extract=_extract(session, tasks), candidates=tuple(candidates))


def _name_by_work(found: Evidence) -> str:
    """What a task is called by what came of it, where nobody said what it was about: the commit, else the files."""
    for line in knowledge.references(found):
        if line.text.startswith("commit: "):
            return line.text.removeprefix("commit: ")
    files = [path for path, _ in found.edited.most_common(3) if not is_common(path)]
    return f"changes to {', '.join(files)}" if files else ""


def _most_telling(tasks: list[Task]) -> list[Task]:
    """No more tasks than a session should be told by: those with preferences, then those that taught most, in their order."""
    if len(tasks) <= _MOST_TASKS:
        return tasks
    ranked = sorted(tasks, key=lambda task: (-len(task.preferences), -len(task.failures) - len(task.knowledge)))
    kept = {id(task) for task in ranked[:_MOST_TASKS]}
    return [task for task in tasks if id(task) in kept]


def _task(found: Evidence, name: str, project: str, *, is_last: bool) -> tuple[Task, list[PossiblePreference]]:
    outcome, _ = outcome_of(found, is_last=is_last)
    preferences, candidates = signals(found.prompts, name)
    area = area_of(found.edited.items())
    group = (
        f"{project}: {area}"
        if area
        else f"{project}: {'the project as a whole' if found.edited else 'questions and reviews'}"
    )
    plan = next((context for turn in found.plans if (context := _context(turn.text))), "")
    task = Task(
        name=name,
        group=group,
        outcome=outcome,
        preferences=tuple(preferences),
        knowledge=tuple(knowledge.knowledge(found, plan=plan)),
        failures=tuple(failures.failures(found)),
        references=tuple(knowledge.references(found)),
        steps=tuple(knowledge.steps(found)),
        keywords=_keywords(found, name),
    )
    return task, candidates


def _with_kept(task: Task, rows: Sequence[Judged]) -> Task:
    """A task with what a judge found that the person wants from now on, in place of what was read off the same words."""
    kept = [row for row in rows if row.verdict == KEEP]
    if not kept:
        return task
    known = [
        line for line in task.preferences
        if not any(_says_same(line, row) for row in kept)
    ]  # fmt: skip
    more = [said(f"working on {task.name}", "said", row.quote, row.wording, (row.turn,)) for row in kept]
    return replace(task, preferences=(*known, *more))


def _says_same(line: Bullet, row: Judged) -> bool:
    parts = signal_of(line.text)
    return parts is not None and (same(parts["default"], row.wording) or same(parts["quote"], row.quote))


def _undecided(unsure: Sequence[PossiblePreference], rows: Sequence[Judged]) -> list[PossiblePreference]:
    """What a person may still want to decide about: what a judge decided is not asked again, and what it could not is."""
    decided = {row.turn for row in rows if row.verdict == TASK}
    kept = [row for row in rows if row.verdict == KEEP]
    left = [
        each
        for each in unsure
        if each.turn not in decided
        and not any(same(each.default, row.wording) or same(each.quote, row.quote) for row in kept)
    ]
    known = {each.turn for each in left}
    return left + [
        PossiblePreference(quote=row.quote, default=row.wording, turn=row.turn, score=0.5, reasons=("an agent was not sure",), situation="")
        for row in rows
        if row.verdict == UNSURE and row.turn not in known
    ]  # fmt: skip


def _context(plan: str) -> str:
    found = _CONTEXT.search(plan)
    return f"why it was done: {one_line(found[1], 400)}" if found else ""


def _is_worth_it(task: Task, found: Evidence) -> bool:
    """Whether somebody could do better for knowing this. Questions that were only answered, and looks around, are not kept."""
    if task.preferences or any(" -> " in line.text and "unsolved" not in line.text for line in task.failures):
        return True
    if found.edited and any(each.ok is not None for each in found.ran if each.kind):
        return True
    if any(line.text.startswith(("decided by the user", knowledge.SET_UP)) for line in task.knowledge):
        return True
    told = sum(line.text.startswith("agent's finding") for line in task.knowledge)
    return (bool(found.edited) and len(found.turns) >= 6) or (told >= 2 and len(found.turns) >= 10)


def _keywords(found: Evidence, name: str) -> tuple[str, ...]:
    """What somebody would search for: files, commands, names in code, words of the request."""
    files = [path.rsplit("/", 1)[-1] for path, _ in found.edited.most_common(8) if not is_common(path)]
    named: Counter[str] = Counter()
    for turn in [*found.prompts, *found.plans]:
        for match in _CODE.finditer(turn.text[:4000]):
            named[match[1] or match[2]] += 1
    ran = [" ".join(each.form.split()[:3]) for each in found.ran if each.kind and each.ok and len(each.form) < 60]
    errors = [fix.error.split(":")[0][:40] for fix in found.fixes[:2] if ":" in fix.error[:40]]
    telling = [word for word in telling_words(name) if len(word) > 3]
    ordered = [*files[:5], *(each for each, _ in named.most_common(5)), *dict.fromkeys(ran[-4:]), *errors]
    return keywords([*ordered, *telling], 12)


def _extract(session: Session, tasks: Sequence[Task]) -> Extract:
    first = max(tasks, key=lambda task: len(task.knowledge) + len(task.failures) + 3 * len(task.preferences))
    outcomes = [task.outcome for task in tasks]
    whole = outcomes[0] if len(set(outcomes)) == 1 else Outcome.PARTIAL if Outcome.SUCCESS in outcomes else outcomes[-1]
    names = "; ".join(f"{task.name} ({task.outcome.value})" for task in tasks[:4])
    takeaway = _takeaway(tasks)
    when = f"{session.started:%Y-%m-%d}, " if session.started else ""
    branch = f" on branch {session.branch}" if session.branch else ""
    return Extract(
        description=shortened(f"{names}{'; ' + takeaway if takeaway else ''}", 500),
        task=first.name,
        group=first.group,
        outcome=whole,
        cwd=session.cwd or "unknown",
        keywords=keywords([word for task in tasks for word in task.keywords], 16),
        tasks=tuple(tasks),
        slug=_slug(first.name),
        headline=shortened("; ".join(task.name for task in tasks[:3]), 200),
        context=f"{when}{session.agent} in {session.cwd or 'an unknown folder'}{branch}",
    )


def _takeaway(tasks: Sequence[Task]) -> str:
    """The one line that is worth the most."""
    for lines in (
        [line for task in tasks for line in task.preferences],
        [line for task in tasks for line in task.failures],
    ):
        if lines:
            return shortened(lines[0].text, 200)
    return ""


def _slug(name: str) -> str:
    short = [word for word in words(name) if word not in STOP_WORDS]
    return file_slug(slug(" ".join(name.split()[:10]), most=60, joint="_") if short else "")
