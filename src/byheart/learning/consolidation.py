"""Phase 2: a project's extracts become its handbook, with what people wrote in it kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.errors import Conflict, Environment, Refused
from byheart.domain.handbook import MEMORY, RAW, SKILLS, SUMMARY, Group, Handbook, Overview, Skill, Written
from byheart.domain.learning import CONSOLIDATE, Consolidated, Job, JobClaim, Kept, LearningQueue, LearningSettings
from byheart.domain.values import dataclass, replace
from byheart.handbook import lines as indexed
from byheart.handbook import memory, raw, summary
from byheart.handbook.checking_summary import check
from byheart.handbook.phrases import signal_of
from byheart.language.sentences import sentences
from byheart.learning import publish, review, selection
from byheart.learning.consolidate.grouping import Maybe, blocks
from byheart.learning.consolidate.overviews import overview
from byheart.learning.consolidate.procedures import skills
from byheart.learning.consolidate.wishes import same
from byheart.learning.extract.signals import FORGET
from byheart.learning.handbook_files import HandbookFiles, notes, texts
from byheart.learning.model_calls import WORDING
from byheart.learning.publish import Edition
from byheart.recall import recall
from byheart.workspace import ledger, tombstones

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from byheart.learning.model_calls import Asking

_ROUNDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How a handbook is to be made: `force` where a person asked for it to be built anew, `dry` where only the difference is
    wanted, `forgets` where what goes must leave no trace."""

    force: bool = False
    dry: bool = False
    forgets: bool = False
    asking: Asking | None = None
    gone: tuple[tuple[str, str], ...] = ()


def consolidate(
    own_handbook: HandbookFiles,
    queue: LearningQueue,
    settings: LearningSettings,
    order: Order,
    extra: Sequence[Kept] | None = None,
) -> Consolidated:
    """Bring one project's handbook up to date. `extra` stands for the queue's extracts in a dry run. Raises Refused where
    nothing may be written, with the old files as they were."""
    report = Consolidated(project=own_handbook.project, name=own_handbook.name, folder=str(own_handbook.folder))
    if order.dry:
        _prepared(own_handbook, queue, settings, order, report, list(extra or ()))
        return report
    claim, job = queue.claim(CONSOLIDATE, own_handbook.project, settings.consolidate_lease_seconds, settings.retries)
    if job is None:
        report.refused = claim.value if claim is not JobClaim.UP_TO_DATE else ""
        return report
    try:
        _published(own_handbook, queue, settings, order, report, job)
    except Refused as error:
        report.refused = str(error)
        # Trying again changes nothing until somebody does something.
        queue.failed(job, str(error), 0, settings.retries, is_transient=False)
    except (Conflict, Environment) as error:
        # One project's trouble is not another's.
        report.refused = str(error)
        queue.failed(job, str(error), settings.retry_seconds, settings.retries, is_transient=True)
    except KeyboardInterrupt:
        queue.release(job)
        raise
    return report


def _published(
    own_handbook: HandbookFiles,
    queue: LearningQueue,
    settings: LearningSettings,
    order: Order,
    report: Consolidated,
    job: Job,
) -> None:
    for attempt in range(_ROUNDS):
        queue.beat(job, settings.consolidate_lease_seconds)
        edition, choice, kept = _prepared(
            own_handbook, queue, settings, order, report, queue.extracts(own_handbook.project)
        )
        try:
            if edition.files or edition.own:
                publish.publish(
                    own_handbook, edition, lambda: queue.holds(job), keep=0 if order.forgets else settings.backups
                )
            break
        except Conflict:
            # A person saved one of the files; their text is what the next attempt starts from.
            if attempt == _ROUNDS - 1 or not queue.holds(job):
                raise
    own_handbook.context.files.prune(own_handbook.place(SKILLS))
    review.refreshed(own_handbook, kept, lambda text: _is_known(text, report.preferences))
    report.inbox = len(review.waiting(own_handbook))
    done = {each.written.thread.id: each.revision for each in choice.selected}
    queue.done(job, done, [each.written.thread.id for each in choice.archived])


def _prepared(
    own_handbook: HandbookFiles,
    queue: LearningQueue,
    settings: LearningSettings,
    order: Order,
    report: Consolidated,
    every: list[Kept],
) -> tuple[Edition, selection.SelectedExtracts, list[Kept]]:
    """Everything but writing: which extracts, the handbook they come to, and what of it differs from what is there."""
    now = own_handbook.context.clock()
    with_uses = _counted(own_handbook, every, queue)
    choice = selection.chosen([each for each in with_uses if each.written.raw_memory], settings, now)
    files, _ = texts(own_handbook.context.files, own_handbook.folder)
    report.mode = "INCREMENTAL" if SUMMARY in files and files[SUMMARY].strip() else "INIT"
    report.added = [each.written.thread.id for each in choice.added]
    report.retained, report.archived = len(choice.retained), len(choice.archived)
    report.removed = [each.written.thread.id for each in choice.removed] + [thread for thread, _ in order.gone]
    report.selection = selection.selection_text(choice, lambda each: raw.file_of(each.written), order.gone)
    before = (files.get(SUMMARY, ""), report.selection)
    handbook, wanted, wording = _made(own_handbook, choice, files, (), order.asking, before)
    edition = publish.edition_of(own_handbook, wanted, files, report)
    if edition.moved:
        # Lines that lost their place become a note, and a note is something that the summary tells.
        handbook, wanted, wording = _made(own_handbook, choice, files, edition.moved, order.asking, before)
        report.kept_lines = report.moved_lines = 0
        edition = publish.edition_of(own_handbook, wanted, files, report)
    report.groups, report.tasks = len(handbook.groups), sum(len(group.tasks) for group in handbook.groups)
    report.preferences = list(handbook.overview.preferences)
    report.skills = [skill.name for skill in handbook.skills]
    publish.add_archive(own_handbook, choice, edition)
    if not order.force and not report.removed:
        publish.refuse_loss(own_handbook, files, edition)
    publish.add_own(own_handbook, wanted, with_uses, edition)
    if own_handbook.context.files.read(own_handbook.root.own(WORDING)).text != wording:
        edition.own[WORDING] = wording
    report.written = edition.changed
    report.diff = publish.difference(files, edition)
    return edition, choice, with_uses


def _made(
    own_handbook: HandbookFiles,
    choice: selection.SelectedExtracts,
    files: dict[str, str],
    moved: Sequence[tuple[str, str]],
    asking: Asking | None,
    before: tuple[str, str],
) -> tuple[Handbook, dict[str, str], str | None]:
    """The handbook, the files it comes to, and what a model said of it. Raises Refused where a file would break a rule."""
    handbook, wording = _handbook(own_handbook, choice, moved), None
    if asking is not None:
        is_forgotten = forgotten_lines(own_handbook)

        def is_fine(text: str) -> bool:
            told = own_handbook.context.scanner.findings(text)
            return not is_forgotten(text) and all(each.severity in ("command", "weak") for each in told)

        every = [each.written for each in choice.selected]
        handbook, wording = asking.about_project(own_handbook, every, handbook, is_fine, before)
    wanted = _rendered(choice, handbook)
    every_file = {**wanted, **{path: text for path, text in files.items() if path.startswith("extensions/")}}
    # What people put beside it is theirs: byheart check tells them of it, and nothing waits for that.
    problems = [each for each in check(every_file) if each.place in wanted]
    if problems:
        first = problems[0]
        raise Refused(
            f"the new handbook of {own_handbook.name} breaks a rule and is not written: {first.place}:{first.line}: {first.message}"
        )
    return handbook, wanted, wording


def _is_known(text: str, preferences: Sequence[str]) -> bool:
    """Whether a preference of the handbook says this already."""
    if text.startswith(FORGET):
        # It says what a preference says, and wants it gone.
        return False
    told = (signal_of(memory.core_of(line)) for line in preferences)
    return any(same(parts["default"], text) for parts in told if parts)


def _counted(own_handbook: HandbookFiles, every: Sequence[Kept], queue: LearningQueue) -> list[Kept]:
    """Extracts with what agents named of them, and what was recalled, counted in."""
    named = queue.citations()
    recalled = recall.counts(own_handbook.context)
    if not named and not recalled:
        return list(every)
    found = []
    now = own_handbook.context.clock()
    for each in every:
        written = each.written
        keys = (written.thread.id.casefold(), raw.file_of(written).removesuffix(".md"))
        hits = [named[key] for key in keys if key in named]
        if times := _recalled(written.raw_memory, recalled):
            hits.append((times, now))
        if hits:
            last = max([when for _, when in hits] + ([written.last_use] if written.last_use else []))
            written = replace(written, uses=written.uses + sum(times for times, _ in hits), last_use=last)
        found.append(replace(each, written=written))
    return found


def _recalled(raw_memory: str, counts: Mapping[str, int]) -> int:
    """How often a line of an extract was the answer to a question."""
    if not counts or not raw_memory:
        return 0
    told = raw.parsed_raw(raw_memory)
    lines = [line.text for task in told.tasks for line in (*task.preferences, *task.knowledge, *task.failures)]
    return sum(counts.get(indexed.handle(text), 0) for text in (*lines, told.description))


def _handbook(
    own_handbook: HandbookFiles, choice: selection.SelectedExtracts, moved: Sequence[tuple[str, str]]
) -> Handbook:
    decided = review.decided(own_handbook)
    maybe = {
        each.written.thread.id: [
            Maybe(situation=told.situation, quote=told.quote, default=told.text, turn=told.turn)
            for told in review.questions(own_handbook, each)
            if told.id not in decided and not told.text.startswith(FORGET)
        ]
        for each in choice.selected
    }
    return consolidated(
        [each.written for each in choice.selected],
        own_handbook.name,
        notes=[*notes(own_handbook), *moved],
        maybe=maybe,
        is_forgotten=forgotten_lines(own_handbook),
    )


def forgotten_lines(own_handbook: HandbookFiles) -> Callable[[str], bool]:
    """Whether a learnt line says what somebody wants gone."""
    stones = ledger.tombstones(own_handbook.context)
    if not stones:
        return lambda _: False
    salt = own_handbook.context.salt()

    def is_forgotten(text: str) -> bool:
        parts = signal_of(text)
        told = [text, indexed.essence(text), *([parts["default"], parts["quote"]] if parts else [])]
        # A line may repeat a whole message: then each of its sentences counts.
        told += [each.strip('"') for each in sentences(text.partition(': "')[2] or text)]
        return tombstones.blocks(stones, salt, None, told) is not None

    return is_forgotten


def _rendered(choice: selection.SelectedExtracts, handbook: Handbook) -> dict[str, str]:
    """Every file of the handbook that is written by code."""
    every = [each.written for each in choice.selected]
    found = {
        MEMORY: memory.rendered(handbook.groups),
        SUMMARY: summary.rendered(handbook.overview),
        RAW: raw.merged(every),
    }
    for written in every:
        found[raw.cite_of(written)] = raw.rollout_file(written)
    for skill in handbook.skills:
        found[f"{SKILLS}/{skill.name}/SKILL.md"] = summary.rendered_skill(skill)
        for name, text in skill.scripts:
            found[f"{SKILLS}/{skill.name}/scripts/{name}"] = text
    return found


def consolidated(
    every: Sequence[Written],
    project: str,
    *,
    notes: Sequence[tuple[str, str]] = (),
    maybe: Mapping[str, Sequence[Maybe]] | None = None,
    is_forgotten: Callable[[str], bool] = lambda _: False,
    uses: Callable[[Written], int] = lambda each: each.uses,
) -> Handbook:
    """The handbook of these extracts. It depends on nothing else, so that doing it again changes nothing."""
    made = blocks(every, is_forgotten, uses, maybe or {})
    every_skill = skills([(each.thread.id, extract) for each, extract in made.extracts], project, made.wishes)
    found = [skill for skill in every_skill if not is_forgotten(f"skill {skill.name}: {skill.description}")]
    groups = tuple(_pointing(group, found) for group in made.groups)
    told = overview(replace(made, groups=groups), found, project, notes)
    return Handbook(groups=groups, overview=_without(told, is_forgotten), skills=tuple(found))


def _without(told: Overview, is_forgotten: Callable[[str], bool]) -> Overview:
    """The summary without what somebody wants gone of what only it says. Its index stays: each block of the handbook has its line
    there, and whether that is told is another matter."""
    return replace(
        told,
        preferences=tuple(line for line in told.preferences if not is_forgotten(line)),
        tips=tuple(line for line in told.tips if not is_forgotten(line)),
    )


def _pointing(group: Group, found: Sequence[Skill]) -> Group:
    """A block whose tasks name the skills that came from their sessions."""
    by_thread: dict[str, list[str]] = {}
    for skill in found:
        for thread in skill.threads:
            by_thread.setdefault(thread, []).append(skill.name)
    tasks = []
    for task in group.tasks:
        names = dict.fromkeys(name for source in task.sources for name in by_thread.get(source.thread, ()))
        tasks.append(replace(task, skills=tuple(names)))
    return replace(group, tasks=tuple(tasks))
