"""The door to learning: learn, look at what was learnt, decide, forget."""

from __future__ import annotations

import time
from copy import copy
from functools import cache
from typing import TYPE_CHECKING

from byheart.domain.documents import Place
from byheart.domain.errors import BadInput, Conflict, NothingFound, Refused
from byheart.domain.learning import CONSOLIDATE, DIED, EXTRACT, TASK, Consolidated, JobState, JobView, LearnReport
from byheart.domain.sessions import Which
from byheart.domain.values import replace
from byheart.handbook import lines as indexed
from byheart.handbook import raw
from byheart.learning import (
    addresses,
    capture,
    deletion,
    extraction,
    handbook_files,
    linking,
    publish,
    review,
    selection,
    targets,
)
from byheart.learning.consolidation import Order, consolidate, forgotten_lines
from byheart.learning.extract.session import LEARNER
from byheart.learning.extract.signals import FORGET
from byheart.learning.judging import Judging
from byheart.learning.model_calls import Asking
from byheart.learning.selection import Wanted as Wanted
from byheart.notebooks import forget
from byheart.sessions.sessions import bury, forgotten_threads
from byheart.text.deferred import module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from byheart.domain.handbook import Written
    from byheart.domain.learning import Kept, LearningQueue, LearningSettings, Models
    from byheart.domain.records import Scope
    from byheart.domain.results import Finding, Receipt
    from byheart.learning import judgement
    from byheart.learning.handbook_files import HandbookFiles
    from byheart.learning.review import InboxItem
    from byheart.learning.targets import ForgetTarget
    from byheart.sessions.sessions import Sessions
    from byheart.text import slugs
    from byheart.workspace.context import Context
else:
    slugs = module("byheart.text.slugs")


# Starting a process takes as long as learning from so many sessions.
_WORTH_A_HAND = 60


class Learning:
    """Learning of all projects on this machine. `is_gone` tells whether a transcript was taken away: None where nobody can
    say, since its whole folder is not there; `cleared_after`, after how many days an agent clears its transcripts away
    itself, if it does."""

    def __init__(
        self,
        context: Context,
        home: str,
        sessions: Sessions,
        queue: LearningQueue,
        settings: LearningSettings,
        chosen: Callable[[str], bool],
        is_gone: Callable[[str], bool | None],
        cleared_after: Callable[[str], float | None],
        shown: targets.Shown,
        is_off: Callable[[str | None], bool],
        crew: Callable[[int], Callable[[], list[str]]] | None = None,
        models: Models | None = None,
        context_of: Callable[[str, Sequence[str]], Context | None] = lambda *_: None,
    ) -> None:
        self._context, self._home, self._sessions, self._queue = context, home, sessions, queue
        self._settings, self._chosen, self._is_gone, self._cleared_after = settings, chosen, is_gone, cleared_after
        self._here, self._crew, self._lines, self._is_off = context.project.id, crew, shown, is_off
        self._asking = Asking(models, context.scanner) if models else None
        self._context_of = context_of

    def at(self, name: str | None) -> Learning:
        """Learning as seen from another project, by its id or its name; what nobody learnt from is told."""
        if name is None:
            return self
        known = dict.fromkeys([*self._queue.projects(), *self._known_projects()])
        fitting = [name] if name in known else [each for each in known if each.rsplit("-", 1)[0] == name]
        if len(fitting) != 1:
            choices = ", ".join((fitting or list(known))[:8]) or "none yet"
            why = "fits several projects" if fitting else "is no project that was learnt from"
            raise BadInput(f"{name!r} {why}; known: {choices}")
        other = copy(self)
        other._here = fitting[0]
        return other

    # Learning

    def learn(
        self,
        wanted: Wanted,
        progress: Callable[[int, int, str], None] | None = None,
        titled: Callable[[str], None] | None = None,
    ) -> LearnReport:
        """Bring memory up to date: read sessions, extract, consolidate. Safe to interrupt and to run twice at once."""
        began = time.monotonic()
        report = LearnReport()
        if wanted.is_automatic and not self._settings.enabled:
            raise Refused("automatic learning is off; set learning.enabled to true, or run byheart learn")
        within = selection.bounds(self._settings, is_automatic=wanted.is_automatic, chosen=self._chosen)
        within = within if wanted.most is None else replace(within, most=wanted.most)
        tools = self._tools()
        for project in self._known_projects():
            self._restore(project)
            if not wanted.dry:
                linking.taken_in(self._handbook_files(project))
        plan = extraction.planned(tools, within, report, lambda project: self._is_wanted(project, wanted), wanted.ended)
        if titled:
            titled("learning")
        if wanted.dry:
            self._shown(tools, plan, within, report, wanted)
        else:
            with self._queue.working():
                if not wanted.is_automatic:
                    self._revive()
                hands = self._hands(plan, within.most, wanted)
                touched, missed = extraction.extracted(tools, plan, within.most, report, progress)
                by_hands = extraction.reported(hands()) if hands is not None else None
                touched |= extraction.settled(tools, missed, report, by_hands)
                if wanted.is_hand:
                    return report
                gone = extraction.let_go(
                    tools,
                    plan,
                    lambda project: self._is_wanted(project, wanted),
                    self._is_gone,
                    self._cleared_after,
                    forgets_gone=wanted.forgets_gone,
                )
                for project in sorted(touched | set(gone) | self._behind(wanted)):
                    report.projects.append(self._consolidated(project, gone.get(project, ())))
        if self._asking and not wanted.dry:
            self._asking.report(report)
        report.seconds = round(time.monotonic() - began, 2)
        return report

    def _hands(self, plan: extraction.DueSessions, most: int | None, wanted: Wanted) -> Callable[[], list[str]] | None:
        """Others to learn with, where there is enough for several; waits for them when it is called."""
        due = len(plan.due) if most is None else 0
        count = min(self._settings.workers - 1, due // _WORTH_A_HAND)
        if self._crew is None or wanted.is_hand or count < 1:
            return None
        self._queue.enqueue(due for due, _ in plan.due)
        return self._crew(count)

    def _revive(self) -> None:
        """Who asks for a run themselves has not given up on work whose workers were only killed, nor on handbooks that could
        not be written: what stood in the way may be gone."""
        for job in self._queue.jobs():
            if job.state is JobState.DEAD and (job.error == DIED or job.kind == CONSOLIDATE):
                self._queue.retry(job.kind, job.key)

    def _tools(self) -> extraction.Tools:
        forgotten = forgotten_threads(self._context.files, self._home)
        return extraction.Tools(
            sessions=self._sessions,
            queue=self._queue,
            scanner=self._context.scanner,
            settings=self._settings,
            clock=self._context.clock,
            is_forgotten=lambda thread: thread in forgotten,
            is_off=self._is_off,
            is_line_forgotten=cache(lambda project: forgotten_lines(self._handbook_files(project))),
            own_folder=self._home,
            asking=self._asking,
            judged=cache(self.judging.by_thread),
            wait=self.judging.wait if self.judging.is_on else None,
        )

    # Judgement

    @property
    def judging(self) -> Judging:
        """What people typed, for an agent to judge."""
        return Judging(self._context, self._handbook_files, self._here, is_on=self._settings.asks)

    def judge(self, answers: object, asked: Sequence[str], by: str) -> judgement.Outcome:
        """Take a judge's answers about what it was asked, and learn from the sessions that were meant anew, each by itself. Raises BadInput
        for answers that cannot be read, Refused where nothing waits."""
        outcome = self.judging.settled(answers, asked, by)
        threads = {row.thread for row in outcome.rows if row.verdict != TASK}
        if threads:
            tools = self._tools()
            every = self._sessions.list(Which(project=self._here), self._settings.scanned_sessions)
            with self._queue.working():
                plan = extraction.again(tools, every, threads)
                extraction.extracted(tools, plan, None, LearnReport(), None)
                self._consolidated(self._here, ())
        return outcome

    def _is_wanted(self, project: str, wanted: Wanted) -> bool:
        return not wanted.projects or project in wanted.projects

    def _consolidated(self, project: str, gone: Sequence[tuple[str, str]], *, force: bool = False) -> Consolidated:
        own = self._handbook_files(project)
        self._queue.touch(project, self._revision(own))
        files = self._context.files
        if (
            any(files.size(own.place(name)) is None for name in handbook_files.MAIN)
            or files.size(own.root.own(publish.UNDER_WAY)) is not None
        ):
            # Made from the same, but not there, or not all of it.
            self._queue.retry(CONSOLIDATE, project)
        order = Order(forgets=bool(gone), gone=tuple(gone), force=force, asking=self._asking)
        done = consolidate(own, self._queue, self._settings, order)
        self.judging.put_in_order(own, {thread for thread, _ in gone})
        if gone:
            self._context.drop_briefs()
        if done.mode and not done.refused:
            capture.captured_from(own, self._queue, done, self._context_of)
        done.refused = done.refused or linking.in_step(own)
        return done

    def revision(self, project: str) -> str:
        """What a project was learnt from, as one word: another where an extract is another."""
        return slugs.short_digest(LEARNER, *self._queue.fingerprints(project))

    def written(self, project: str) -> list[Written]:
        """What the sessions of a project taught, each by itself."""
        return [kept.written for kept in self._queue.extracts(project)]

    def _revision(self, own: HandbookFiles) -> str:
        """What a handbook is made from, as one word: another when an extract, a note, a tombstone or the day is another."""
        kept = self._queue.fingerprints(own.project)
        files = self._context.files
        told = [f"{text}\x1f{file}" for text, file in handbook_files.notes(own)]
        told += [files.stamp(root.own("forgotten.ndjson")) for root in own.context.roots.values()]
        day = f"{self._context.clock():%Y-%m-%d}" if kept else ""
        model = self._asking.models.consolidating.id if self._asking else ""
        return slugs.short_digest(LEARNER, model, day, *kept, *told)

    def _behind(self, wanted: Wanted) -> set[str]:
        """Projects whose handbook is made from something else than there is now, or was left half-written."""
        done = {job.project: job.done_revision for job in self._queue.jobs() if job.kind == CONSOLIDATE}
        found = set()
        for project in self._queue.projects():
            own = self._handbook_files(project)
            files = self._context.files
            if (
                done.get(project) != self._revision(own)
                or any(files.size(own.place(name)) is None for name in handbook_files.MAIN)
                or files.size(own.root.own(publish.UNDER_WAY)) is not None
            ):
                found.add(project)
        return {project for project in found if self._is_wanted(project, wanted)}

    def _known_projects(self) -> list[str]:
        files = self._context.files
        folder = Place(self._home, "projects")
        return [
            name
            for name in files.names(folder)
            if files.size(Place(self._home, f"projects/{name}/{handbook_files.HANDBOOK}/raw_memories.md"))
        ]

    def _restore(self, project: str) -> None:
        """Take extracts in that files hold and the queue does not: it may have been deleted."""
        if not self._queue.fingerprints(project):
            found = handbook_files.restored(self._handbook_files(project))
            if found:
                self._queue.restore(project, found)

    def _shown(
        self,
        tools: extraction.Tools,
        plan: extraction.DueSessions,
        within: selection.Bounds,
        report: LearnReport,
        wanted: Wanted,
    ) -> None:
        """What a run would do, without doing it."""
        fresh: dict[str, dict[str, Kept]] = {}
        chosen = plan.due if within.most is None else plan.due[: within.most]
        for due, listed in chosen:
            kept, _ = extraction.extract_of(tools, due, listed, report, dry=True)
            if kept is None:
                report.nothing += 1
                continue
            report.learnt.append(due.thread.id)
            fresh.setdefault(due.thread.project, {})[due.thread.id] = kept
        for project in sorted(set(fresh) | self._behind(wanted)):
            every = {each.written.thread.id: each for each in self._queue.extracts(project)}
            every |= fresh.get(project, {})
            own = self._handbook_files(project)
            ordered = [every[thread] for thread in sorted(every)]
            report.projects.append(consolidate(own, self._queue, self._settings, Order(dry=True), ordered))

    def handbook(self, project: str | None = None) -> HandbookFiles:
        """The handbook of a project, else of the one we stand in."""
        return self._handbook_files(project or self._here)

    def _handbook_files(self, project: str) -> HandbookFiles:
        return handbook_files.handbook_files_of(self._context, self._home, project)

    def read(self, address: str, project: str | None = None) -> str:
        """What a memory:// address names; it counts as a use."""
        own = self.handbook(project)
        text = addresses.read(own.context, own, address, self._lines)
        self._note_use(own, address)
        return text

    def count_briefed(self, sent: Sequence[Mapping[str, object]]) -> None:
        """Count what sessions were told as a use of where it comes from."""
        review.count_briefed(self._context, Place(self._home, "state/counted.txt"), self._queue, sent)

    def _note_use(self, own: HandbookFiles, address: str) -> None:
        stem = address.rpartition("/")[2].removesuffix(".md")
        for kept in self._queue.extracts(own.project):
            if raw.file_of(kept.written).removesuffix(".md") == stem:
                self._queue.used({kept.written.thread.id: 1}, self._context.clock())

    def check(self, folder: Place | None = None, project: str | None = None) -> Sequence[Finding]:
        """What is wrong with a handbook: a project's, or that in any folder, whoever wrote it."""
        where = folder or self.handbook(project).folder
        if folder is None:
            self._finished(self.handbook(project))
        return review.findings(self._context, where)

    def _finished(self, own: HandbookFiles) -> None:
        """Finish what a killed run had begun to write."""
        if self._context.files.size(own.root.own(publish.UNDER_WAY)) is not None:
            with self._context.files.locked(own.root):
                publish.finish(own)

    def taught(self) -> Iterator[tuple[HandbookFiles, list[Written]]]:
        """What the sessions of each project taught."""
        for project in self._known_projects():
            yield self._handbook_files(project), [kept.written for kept in self._queue.extracts(project)]

    def stats(self, project: str | None = None) -> dict[str, object]:
        """What memory holds of a project, and what waits."""
        return review.stats(self.handbook(project), self._queue)

    def diagnose(self, project: str | None = None) -> list[tuple[str, str]]:
        """How learning stands for a project, in words: what would stop it, and what to do."""
        own, report = self.handbook(project), LearnReport()
        within = selection.bounds(self._settings, is_automatic=True, chosen=self._chosen)
        plan = extraction.planned(self._tools(), within, report, lambda each: each == own.project)
        lines = review.diagnosis(self._settings, report, len(plan.due), self._queue.jobs(own.project))
        try:
            wrong = self.check(project=own.project)
            lines.append(("handbook", f"{own.folder}: {len(wrong)} findings" if wrong else f"{own.folder}: sound"))
        except NothingFound as error:
            lines.append(("handbook", str(error)))
        return lines

    def inbox(self, project: str | None = None) -> Sequence[InboxItem]:
        """What waits for a decision."""
        return review.waiting(self.handbook(project))

    def every_inbox(self) -> Sequence[InboxItem]:
        """What waits for a decision in any project."""
        return [each for project in self._queue.projects() for each in review.waiting(self._handbook_files(project))]

    def accept(self, name: str, text: str | None = None, project: str | None = None) -> Receipt:
        """Store one of them as a record."""
        own = self.handbook(project)
        question = review.named(own, name)
        if text is None and question.text.startswith(FORGET):
            return self._forgotten_as_asked(own, question)
        return review.accept(own, question, text)

    def _forgotten_as_asked(self, own: HandbookFiles, question: InboxItem) -> Receipt:
        hit, is_learnt = deletion.meant(own, question.text.removeprefix(FORGET))
        target = targets.ForgetTarget(text=hit.record.text, where=hit.path, hit=None if is_learnt else hit, learnt=hit if is_learnt else None)  # fmt: skip
        receipt, told = deletion.forget(own, self._sessions, target, hit.scope, "asked for in a session")
        self._clear(own, told)
        review.settled(own, question)
        return receipt

    def reject(self, name: str, project: str | None = None) -> InboxItem:
        """Never learn one of them."""
        own = self.handbook(project)
        question = review.named(own, name)
        review.reject(own, question)
        return question

    def jobs(self, project: str | None = None) -> list[JobView]:
        """Every job."""
        return self._queue.jobs(project)

    def job(self, name: str) -> JobView:
        """One job, by its session or project, or how that begins."""
        return review.named_job(self._queue.jobs(), name)

    def retry(self, name: str) -> JobView:
        """Give a job its attempts back."""
        return self._changed(name, self._queue.retry)

    def drop(self, name: str) -> JobView:
        """Drop a job until its session changes."""
        return self._changed(name, self._queue.drop)

    def _changed(self, name: str, change: Callable[[str, str], bool]) -> JobView:
        job = self.job(name)
        if not change(job.kind, job.key):
            raise Refused(f"{job.key} is being worked on; wait for it")
        return self.job(job.key)

    def rebuild(self, project: str | None = None, *, force: bool = False) -> Consolidated:
        """Make a project's handbook anew from its extracts."""
        own = self.handbook(project)
        self._restore(own.project)
        if not self._queue.extracts(own.project):
            raise NothingFound(f"nothing was learnt of {own.name} yet; run: byheart learn")
        with self._queue.working():
            self._queue.touch(own.project, self._revision(own))
            self._queue.retry(CONSOLIDATE, own.project)
            return consolidate(own, self._queue, self._settings, Order(force=force, asking=self._asking))

    def enqueue(self, project: str | None = None) -> int:
        """Have a project's sessions learnt from anew at the next run, and its handbook made anew; how many sessions."""
        own = self.handbook(project)
        jobs = [job for job in self._queue.jobs(own.project) if job.kind == EXTRACT]
        for job in jobs:
            self._queue.retry(EXTRACT, job.key)
        self._queue.touch(own.project, self._revision(own) + ".asked")
        self._queue.retry(CONSOLIDATE, own.project)
        return len(jobs)

    def roll_back(self, project: str | None = None) -> str:
        """Bring back the handbook of before the last consolidation."""
        return publish.roll_back(self.handbook(project))

    def clear(self, project: str | None = None) -> tuple[int, int]:
        """Take away everything that was learnt of one project, and of no other: (extracts, files). What people wrote or confirmed, and
        what was forgotten, stays."""
        return deletion.clear(self.handbook(project), self._queue, self._context_of)

    def forget_session(self, name: str) -> tuple[str, str]:
        """Take away what one session taught, for good: it is not learnt from again. (thread, project)"""
        every = (kept for project in self._queue.projects() for kept in self._queue.extracts(project))
        found = [(kept.written.thread, kept) for kept in every if kept.written.thread.id.startswith(name)]
        if not found:
            raise NothingFound(f"nothing was learnt from session {name!r}")
        if len(found) > 1:
            names = ", ".join(thread.id for thread, _ in found[:5])
            raise BadInput(f"{name!r} matches {len(found)} sessions; name one: {names}")
        thread, kept = found[0]
        bury(self._context.files, self._home, thread.id, thread.path)
        self._queue.remove([thread.id])
        with self._queue.working():
            self._consolidated(thread.project, [(thread.id, raw.file_of(kept.written))])
        return thread.id, thread.project

    def target(self, selector: str, scope: Scope | None = None) -> ForgetTarget:
        """The one thing that somebody means: by its address, its handle, or the words that it is shown in."""
        try:
            return targets.meant(self.handbook(), selector, scope, self._lines)
        except NothingFound:
            if (said := targets.of_sessions(self.handbook(), self._sessions, selector)) is None:
                raise
            return said

    def forget(self, target: ForgetTarget, *, scope: Scope | None = None, reason: str = "user asked") -> Receipt:
        """Take one thing away for good, whatever it is, and say where its words still stand and what is done about that."""
        own = self.handbook()
        receipt, told = deletion.forget(own, self._sessions, target, scope, reason)
        notes = [note for note in receipt.notes if note != forget.CANNOT_UNDO]
        if target.turn is None:
            more, said = deletion.hidden(own, self._sessions, told, is_said=target.is_said)
            notes, told = [*notes, *more], [*told, *said]
        self._clear(own, told)
        return replace(receipt, notes=(*notes, forget.CANNOT_UNDO))

    def let_go(self) -> None:
        """Take out what was forgotten on another machine and is still told here."""
        if told := deletion.forgotten_elsewhere(own := self.handbook(), self._sessions, forgotten_lines(own)):
            self._clear(own, told)

    def _clear(self, own: HandbookFiles, told: Sequence[str]) -> None:
        """Have the handbook say none of this, where it did."""
        changed = deletion.rewritten(own, self._queue, told)
        self.judging.put_in_order(own, ())
        is_forgotten = forgotten_lines(own)
        if changed or any(is_forgotten(hit.record.text) for hit in indexed.learnt(own.context, own.root)):
            self._made_anew(own)

    def _made_anew(self, own: HandbookFiles) -> None:
        """Make a handbook without what was forgotten; where it cannot be written, that is told."""
        with self._queue.working():
            done = self._consolidated(own.project, [("", "")], force=True)
        if done.refused:
            why = f"it is forgotten, but the handbook could not be written: {done.refused}"
            raise Conflict(f"{why}; try again with: byheart learn")
