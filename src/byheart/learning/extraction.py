"""Phase 1: sessions that are due become extracts, each claimed by one worker, clean before it is kept."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING

from byheart.domain.errors import Busy, ByheartError, Environment
from byheart.domain.handbook import REDACTED, Bullet, Extract, Task, Written
from byheart.domain.learning import (
    EXTRACT,
    DueSession,
    Job,
    JobClaim,
    Kept,
    LearningQueue,
    LearningSettings,
    LearnReport,
    Skip,
)
from byheart.domain.sessions import Speaker
from byheart.domain.values import dataclass, replace
from byheart.handbook import raw
from byheart.handbook.lines import citations
from byheart.learning import judgement, selection
from byheart.learning.extract.session import LEARNER, SessionExtract, learnt
from byheart.text.deferred import module
from byheart.text.slugs import short_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from byheart.domain import sessions
    from byheart.domain.ports import Scanner
    from byheart.domain.sessions import Listed, Turn
    from byheart.learning.judgement import Judged, Spoken
    from byheart.learning.model_calls import Asking
    from byheart.sessions.sessions import Sessions
else:
    sessions = module("byheart.domain.sessions")

_MARK = re.compile(r"\[REDACTED:[a-z0-9-]{1,40}\]")
_REFUSALS = {
    JobClaim.RUNNING: Skip.ELSEWHERE,
    JobClaim.WAITING: Skip.WAITING,
    JobClaim.DEAD: Skip.DEAD,
    JobClaim.UP_TO_DATE: Skip.UNCHANGED,
    JobClaim.GONE: Skip.ELSEWHERE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What phase 1 works with."""

    sessions: Sessions
    queue: LearningQueue
    scanner: Scanner
    settings: LearningSettings
    clock: Callable[[], datetime]
    is_forgotten: Callable[[str], bool]
    is_off: Callable[[str | None], bool]
    is_line_forgotten: Callable[[str], Callable[[str], bool]]
    # Sessions below this folder are those of models that byheart asked.
    own_folder: str = ""
    asking: Asking | None = None
    # What a judge said of a project's sessions, by thread; and where what people typed waits for one, if it does.
    judged: Callable[[str], Mapping[str, Sequence[Judged]]] = lambda _: {}
    wait: Callable[[str, Sequence[Spoken]], None] | None = None

    def learner(self, thread: str, project: str) -> str:
        """Which learner a session is learnt from by: another once a judge said something of it."""
        rows = self.judged(project).get(thread) if project else None
        return (
            f"{LEARNER}.{short_digest(*(f'{row.id}{row.verdict}{row.wording}' for row in rows))}" if rows else LEARNER
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DueSessions:
    """What there is to do: sessions that are due, by thread, the newest first, and all that are there."""

    due: tuple[tuple[DueSession, Listed], ...]
    present: dict[str, Listed]


def planned(
    tools: Tools,
    within: selection.Bounds,
    report: LearnReport,
    only: Callable[[str], bool],
    ended: frozenset[str] = frozenset(),
) -> DueSessions:
    """Look through all sessions; those that are not due are counted with the reason. Of those in `ended`, by id or by file, it
    is known that they are over."""
    now = tools.clock()
    known = tools.queue.revisions()
    asks = _Allowance(tools, now)
    due: list[tuple[DueSession, Listed]] = []
    present: dict[str, Listed] = {}
    every = tools.sessions.list(sessions.Which(), tools.settings.scanned_sessions)
    if len(every) >= tools.settings.scanned_sessions:
        total = sum(each.sessions for each in tools.sessions.stats(sessions.Which()))
        if total > len(every):
            report.skip(Skip.BEYOND, total - len(every))
    for listed in _once(every):
        thread = selection.thread_id(listed)
        present[thread] = listed
        if not only(listed.session.project or ""):
            continue
        report.sessions += 1
        is_over = listed.session.id in ended or listed.session.path in ended
        learnt_of = known.get(thread, "")
        learner = tools.learner(thread, listed.session.project or "")
        is_known = selection.without_mark(learnt_of) == selection.revision(listed, learner)
        mark = asks.mark(listed) if not is_known or "+" not in learnt_of else ""
        reason = (
            Skip.FORGOTTEN
            if tools.is_forgotten(thread)
            else Skip.OFF
            if tools.is_off(listed.session.cwd)
            else Skip.OWN
            if _is_own(listed, tools.own_folder)
            else selection.reason_against(
                listed,
                replace(within, idle=None) if is_over else within,
                now,
                is_active=listed.active and not is_over,
                is_known=is_known and not mark,
            )
        )
        if reason is not None:
            report.skip(reason)
        else:
            asks.left -= bool(mark)
            due.append((selection.due_of(listed, learner, mark), listed))
    return DueSessions(due=tuple(due), present=present)


def again(tools: Tools, every: Sequence[Listed], threads: set[str]) -> DueSessions:
    """These sessions as work to do, though nothing more was said in them; those whose transcript is gone are left as they are."""
    listed = {selection.thread_id(each): each for each in every}
    due = [
        (selection.due_of(one, tools.learner(thread, one.session.project or "")), one)
        for thread, one in sorted(listed.items())
        if thread in threads and one.session.ended and one.session.project
    ]
    return DueSessions(due=tuple(due), present=listed)


class _Allowance:
    """How many sessions a model is asked about in a run, and which: a person who asks for a run themselves has all of theirs
    learnt from, but an old session is not worth a model's time, nor are hundreds at once."""

    def __init__(self, tools: Tools, now: datetime) -> None:
        self._mark = tools.asking.mark if tools.asking else ""
        self._oldest = now - timedelta(days=tools.settings.max_session_age_days)
        self.left = tools.settings.sessions_per_start

    def mark(self, listed: Listed) -> str:
        """The mark of the model that is to be asked about a session, if one is."""
        ended = listed.session.ended
        return self._mark if self.left > 0 and ended is not None and ended >= self._oldest else ""


def _is_own(listed: Listed, folder: str) -> bool:
    cwd = listed.session.cwd or ""
    return bool(folder) and (cwd == folder or cwd.startswith(f"{folder}/"))


def _once(every: Sequence[Listed]) -> list[Listed]:
    """Each session once, in its fullest form: copies of it may lie in several files."""
    best: dict[str, Listed] = {}
    for listed in every:
        thread = selection.thread_id(listed)
        known = best.get(thread)
        if known is None or _fullness(listed) > _fullness(known):
            best[thread] = listed
    return list(best.values())


def _fullness(listed: Listed) -> tuple[bool, int, int, int]:
    """How much of a session a file holds that counts: of a copy, the words are the other file's."""
    return (listed.session.parent is None, listed.prompts, listed.commands, listed.turns)


def extracted(
    tools: Tools,
    plan: DueSessions,
    most: int | None,
    report: LearnReport,
    progress: Callable[[int, int, str], None] | None,
) -> tuple[set[str], list[tuple[DueSession, Skip]]]:
    """Learn from what is due, as many sessions as may be; the projects whose handbook is behind now, and what others had."""
    tools.queue.enqueue(due for due, _ in plan.due)
    touched: set[str] = set()
    missed: list[tuple[DueSession, Skip]] = []
    done = 0
    chosen = plan.due if most is None else plan.due[:most]
    if most is not None and len(plan.due) > most:
        report.skip(Skip.OVER_CAP, len(plan.due) - most)
    for due, listed in chosen:
        if progress:
            progress(done, len(chosen), due.thread.agent)
        done += 1
        claim, job = tools.queue.claim(
            EXTRACT, due.thread.id, tools.settings.extract_lease_seconds, tools.settings.retries
        )
        if job is None:
            missed.append((due, _REFUSALS[claim]))
            continue
        if _one(tools, job, due, listed, report):
            touched.add(due.thread.project)
    if progress:
        progress(len(chosen), len(chosen), "")
    return touched, missed


def reported(texts: Sequence[str]) -> set[str]:
    """The sessions that others who worked for us were at, as they tell; one that fell silent tells of none."""
    found: set[str] = set()
    for text in texts:
        try:
            told = json.loads(text)
            found |= {str(each) for each in (*told["learnt"], *told["empty"])}
        except (ValueError, KeyError, TypeError):
            continue
    return found


def settled(
    tools: Tools, missed: Sequence[tuple[DueSession, Skip]], report: LearnReport, by_hands: set[str] | None
) -> set[str]:
    """Count the sessions that somebody else had: as ours where they worked for us. The projects that are behind now."""
    known = tools.queue.revisions() if by_hands is not None else {}
    touched: set[str] = set()
    threads: dict[str, set[str]] = {}
    for due, reason in missed:
        is_done = selection.without_mark(known.get(due.thread.id, "")) == selection.without_mark(due.revision)
        if not is_done or due.thread.id not in (by_hands or ()):
            report.skip(reason)
            touched |= {due.thread.project} if is_done else set()
            continue
        project = due.thread.project
        touched.add(project)
        if due.thread.id in threads.setdefault(project, set(tools.queue.threads(project))):
            report.learnt.append(due.thread.id)
        else:
            report.nothing += 1
    return touched


def _one(tools: Tools, job: Job, due: DueSession, listed: Listed, report: LearnReport) -> bool:
    """Learn from one session; whether its project's handbook is behind now."""
    try:
        kept, revision = extract_of(tools, due, listed, report)
        turns = tools.sessions.turns(listed.session)
        turns_cited = _cited(turns)
    except (Busy, Environment) as error:
        _failed(tools, job, str(error), report, is_transient=True)
        return False
    except ByheartError as error:
        _failed(tools, job, str(error), report, is_transient=False)
        return False
    except (ValueError, KeyError, IndexError, RecursionError, OverflowError) as error:
        # A session in an unheard-of state must not cost the others theirs.
        _failed(tools, job, f"{type(error).__name__}: {error}", report, is_transient=False)
        return False
    except KeyboardInterrupt:
        tools.queue.release(job)
        raise
    # What a model was to be asked and was not is done for now, and due again the next time.
    if not tools.queue.learnt(replace(job, revision=revision), kept):
        report.skip(Skip.ELSEWHERE)
        return False
    if tools.wait is not None:
        tools.wait(due.thread.project, judgement.spoken(due.thread.id, listed.session.ended, turns))
    if turns_cited:
        tools.queue.cited(due.thread.id, turns_cited, tools.clock())
    if kept is None:
        report.nothing += 1
        report.empty.append(due.thread.id)
    else:
        report.learnt.append(due.thread.id)
    return True


def _failed(tools: Tools, job: Job, error: str, report: LearnReport, *, is_transient: bool) -> None:
    settings = tools.settings
    wait = min(settings.retry_most_seconds, settings.retry_seconds * 2 ** (job.attempt - 1))
    clean = tools.scanner.redacted(error)[:300]
    tools.queue.failed(job, clean, wait, settings.retries, is_transient=is_transient)
    report.failed.append((job.key, clean))


def extract_of(
    tools: Tools, due: DueSession, listed: Listed, report: LearnReport, *, dry: bool = False
) -> tuple[Kept | None, str]:
    """The extract of one session as it is kept, None where nothing was learnt; and which revision of it this is. A dry run asks
    no model."""
    turns = _within(tools.sessions.turns(listed.session), tools.settings.session_characters)
    project = due.thread.project.rsplit("-", 1)[0]
    found = learnt(listed.session, turns, project, tools.judged(due.thread.project).get(due.thread.id, ()))
    revision = selection.without_mark(due.revision)
    if tools.asking and dry and due.revision != revision:
        report.asked += 1
        report.tokens += tools.asking.estimate(due.thread.id, turns)
    if tools.asking and not dry and due.revision != revision:
        extract, helped = tools.asking.about_session(due.thread.id, listed, turns, found.extract, project, report)
        found = replace(found, extract=extract)
        revision = due.revision if helped else revision
    return _kept(tools, due, found, revision, report), revision


def _kept(tools: Tools, due: DueSession, found: SessionExtract, revision: str, report: LearnReport) -> Kept | None:
    """What was learnt, clean, as the queue keeps it."""
    candidates = [
        {
            "quote": each.quote, "default": each.default, "turn": each.turn, "score": each.score, "reasons": list(each.reasons),
            "situation": each.situation,
        }
        for each in found.candidates
    ]  # fmt: skip
    told = clean(tools.scanner, json.dumps(candidates, ensure_ascii=False))
    if found.extract is None and not candidates:
        return None
    extract = safe(tools.scanner, found.extract, report) if found.extract else None
    extract = forgetful(extract, tools.is_line_forgotten(due.thread.project)) if extract else None
    if extract is None and not candidates:
        return None
    thread = replace(
        due.thread,
        cwd=clean(tools.scanner, due.thread.cwd),
        path=clean(tools.scanner, due.thread.path),
        branch=clean(tools.scanner, due.thread.branch) if due.thread.branch else None,
    )
    written = Written(
        thread=thread,
        raw_memory=clean(tools.scanner, raw.raw_memory(extract)) if extract else "",
        rollout_summary=clean(tools.scanner, raw.rollout_summary(extract)) if extract else "",
        slug=extract.slug if extract else None,
    )
    return Kept(written=written, revision=revision, made=tools.clock(), selected="", candidates=told)


def _within(turns: Sequence[Turn], most: int) -> list[Turn]:
    """The turns that fit a budget: where there are too many, the middle is left out, since tasks begin and end elsewhere."""
    sizes = [len(turn.text) + len(turn.output or "") + len(turn.arguments) for turn in turns]
    if sum(sizes) <= most:
        return list(turns)
    head, tail = [], []
    left = most // 2
    for turn, size in zip(turns, sizes, strict=True):
        if left < size:
            break
        head.append(turn)
        left -= size
    left = most // 2
    for turn, size in zip(reversed(turns[len(head) :]), reversed(sizes[len(head) :]), strict=True):
        if left < size:
            break
        tail.append(turn)
        left -= size
    return [*head, *reversed(tail)]


def clean(scanner: Scanner, text: str) -> str:
    """A text without secrets, marked as handbooks mark them."""
    return _MARK.sub(REDACTED, scanner.redacted(text))


def safe(scanner: Scanner, extract: Extract, report: LearnReport) -> Extract | None:
    """An extract without lines that give orders to whoever reads them; None where nothing is left."""

    def fine(bullet: Bullet) -> bool:
        # Secrets are blanked out later; what is left is about orders to a reader and hidden characters.
        if any(each.severity not in ("command", "weak", "secret") for each in scanner.findings(bullet.text)):
            report.redacted += 1
            return False
        return True

    def kept(lines: Iterable[Bullet]) -> tuple[Bullet, ...]:
        return tuple(each for each in lines if fine(each))

    tasks = []
    for task in extract.tasks:
        if not fine(Bullet(task.name)):
            continue
        tasks.append(_checked(task, kept))
    told = [extract.description, extract.headline, extract.task]
    if not tasks:
        return None
    if not all(fine(Bullet(text)) for text in told):
        names = "; ".join(task.name for task in tasks[:3])
        return replace(extract, tasks=tuple(tasks), description=names, headline=names, task=tasks[0].name)
    return replace(extract, tasks=tuple(tasks))


def forgetful(extract: Extract, is_forgotten: Callable[[str], bool]) -> Extract:
    """An extract without the lines that somebody wants gone."""

    def kept(lines: Iterable[Bullet]) -> tuple[Bullet, ...]:
        return tuple(each for each in lines if not is_forgotten(each.text))

    tasks = tuple(_checked(task, kept) for task in extract.tasks)
    if tasks == extract.tasks:
        return extract
    # The description may have told what is gone.
    told = "; ".join(f"{task.name} ({task.outcome.value})" for task in tasks[:4])
    return replace(extract, tasks=tasks, description=told)


def _checked(task: Task, kept: Callable[[Iterable[Bullet]], tuple[Bullet, ...]]) -> Task:
    return replace(
        task,
        preferences=kept(task.preferences),
        knowledge=kept(task.knowledge),
        failures=kept(task.failures),
        references=kept(task.references),
        steps=kept(task.steps),
    )


def _cited(turns: Sequence[Turn]) -> dict[str, int]:
    """What an agent said it had from memory: names of threads and files, with how often."""
    found: dict[str, int] = {}
    for turn in turns:
        if turn.speaker is Speaker.ASSISTANT and turn.tool is None and turn.is_evidence and ("mem" in turn.text):
            for name in citations(turn.text):
                found[name] = found.get(name, 0) + 1
    return found


def let_go(
    tools: Tools,
    plan: DueSessions,
    is_wanted: Callable[[str], bool],
    is_gone: Callable[[str], bool | None],
    cleared_after: Callable[[str], float | None],
    *,
    forgets_gone: bool,
) -> dict[str, list[tuple[str, str]]]:
    """Let go of threads whose transcript somebody took away, by project, each with its file; what an agent cleared away by its age
    stays."""
    found: dict[str, list[tuple[str, str]]] = {}
    oldest: dict[str, float] = {}
    for listed in plan.present.values():
        if listed.session.ended:
            at = listed.session.ended.timestamp()
            oldest[listed.session.agent] = min(oldest.get(listed.session.agent, at), at)
    now = tools.clock()
    for kept in _missing(tools, plan, is_wanted):
        thread = kept.written.thread
        is_cleared = selection.is_expired(thread, cleared_after(thread.agent), oldest.get(thread.agent), now)
        if is_gone(thread.path) and (forgets_gone or not is_cleared):
            found.setdefault(thread.project, []).append((thread.id, raw.file_of(kept.written)))
    for threads in found.values():
        tools.queue.remove([thread for thread, _ in threads])
    return found


def _missing(tools: Tools, plan: DueSessions, is_wanted: Callable[[str], bool]) -> Iterator[Kept]:
    """Extracts of sessions that are not to be found."""
    for project in tools.queue.projects():
        if is_wanted(project) and not set(tools.queue.threads(project)) <= set(plan.present):
            yield from (each for each in tools.queue.extracts(project) if each.written.thread.id not in plan.present)
