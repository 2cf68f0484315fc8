"""Phase 2: a project's extracts become its handbook, with what people wrote in it kept."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from byheart.dialects.handbook import memory, raw, skills, summary
from byheart.dialects.handbook.checking_files import check
from byheart.dialects.handbook.handmade import merged
from byheart.dialects.handbook.phrases import signal_of
from byheart.domain.errors import Conflict, Refused
from byheart.domain.handbook import MEMORY, NOTES, RAW, ROLLOUTS, SKILLS, SUMMARY, Handbook
from byheart.domain.learning import CONSOLIDATE, Claim, Consolidated, Job, Kept, LearningQueue, LearningSettings
from byheart.domain.values import dataclass, replace
from byheart.flows import ledger, using
from byheart.flows.learning import inbox, indexed, publishing
from byheart.flows.learning.publishing import Edition
from byheart.flows.learning.shelf import (
    ARCHIVE,
    MAIN,
    Shelf,
    baseline,
    digest_of,
    digests,
    notes,
    paths,
    restored,
    state_text,
    texts,
)
from byheart.learners.offline.consolidating import consolidated
from byheart.learners.offline.grouping import Maybe
from byheart.learners.offline.wishes import same
from byheart.policies import forgetting, selection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_ROUNDS = 5
# A handbook that loses more than this share of its lines without a session to explain it is not published.
_LOSS = 0.25
_FEW = 12
# A line as long as this is not the same as another by chance.
_TELLING = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How a handbook is to be made: `force` where a person asked for it to be built anew, `dry` where only the difference is
    wanted, `forgets` where what goes must leave no trace."""

    force: bool = False
    dry: bool = False
    forgets: bool = False
    gone: tuple[tuple[str, str], ...] = ()


def consolidate(
    shelf: Shelf, queue: LearningQueue, settings: LearningSettings, order: Order, extra: Sequence[Kept] | None = None
) -> Consolidated:
    """Bring one project's handbook up to date. `extra` stands for the queue's extracts in a dry run. Raises Refused where
    nothing may be written, with the old files as they were."""
    report = Consolidated(project=shelf.project, name=shelf.name, folder=str(shelf.folder))
    if order.dry:
        _prepared(shelf, queue, settings, order, report, list(extra or ()))
        return report
    claim, job = queue.claim(CONSOLIDATE, shelf.project, settings.consolidate_lease_seconds, settings.retries)
    if job is None:
        report.refused = claim.value if claim is not Claim.UP_TO_DATE else ""
        return report
    try:
        _published(shelf, queue, settings, order, report, job)
    except Refused as error:
        report.refused = str(error)
        # Trying again changes nothing until somebody does something.
        queue.failed(job, str(error), 0, settings.retries, is_transient=False)
    except Conflict as error:
        report.refused = str(error)
        queue.failed(job, str(error), settings.retry_seconds, settings.retries, is_transient=True)
    except KeyboardInterrupt:
        queue.release(job)
        raise
    return report


def _published(
    shelf: Shelf, queue: LearningQueue, settings: LearningSettings, order: Order, report: Consolidated, job: Job
) -> None:
    for attempt in range(_ROUNDS):
        queue.beat(job, settings.consolidate_lease_seconds)
        edition, choice, kept = _prepared(shelf, queue, settings, order, report, queue.extracts(shelf.project))
        try:
            if edition.files or edition.own:
                publishing.publish(
                    shelf, edition, lambda: queue.holds(job), keep=0 if order.forgets else settings.backups
                )
            break
        except Conflict:
            # A person saved one of the files; their text is what the next attempt starts from.
            if attempt == _ROUNDS - 1 or not queue.holds(job):
                raise
    shelf.desk.files.prune(shelf.place(SKILLS))
    inbox.refreshed(shelf, kept, lambda text: _is_known(text, report.preferences))
    report.inbox = len(inbox.waiting(shelf))
    done = {each.written.thread.id: each.revision for each in choice.selected}
    queue.done(job, done, [each.written.thread.id for each in choice.archived])


def _prepared(
    shelf: Shelf,
    queue: LearningQueue,
    settings: LearningSettings,
    order: Order,
    report: Consolidated,
    every: list[Kept],
) -> tuple[Edition, selection.Choice, list[Kept]]:
    """Everything but writing: which extracts, the handbook they come to, and what of it differs from what is there."""
    now = shelf.desk.clock()
    with_uses = _counted(shelf, every, queue)
    choice = selection.chosen([each for each in with_uses if each.written.raw_memory], settings, now)
    files, _ = texts(shelf.desk.files, shelf.folder)
    report.mode = "INCREMENTAL" if SUMMARY in files and files[SUMMARY].strip() else "INIT"
    report.added = [each.written.thread.id for each in choice.added]
    report.retained, report.archived = len(choice.retained), len(choice.archived)
    report.removed = [each.written.thread.id for each in choice.removed] + [thread for thread, _ in order.gone]
    report.selection = selection.selection_text(choice, lambda each: raw.file_of(each.written), order.gone)
    handbook = _handbook(shelf, choice)
    report.groups, report.tasks = len(handbook.groups), sum(len(group.tasks) for group in handbook.groups)
    report.preferences = list(handbook.overview.preferences)
    report.skills = [skill.name for skill in handbook.skills]
    wanted = _rendered(choice, handbook)
    problems = check({**wanted, **{path: text for path, text in files.items() if path.startswith("extensions/")}})
    if problems:
        first = problems[0]
        raise Refused(
            f"the new handbook of {shelf.name} breaks a rule and is not written: {first.place}:{first.line}: {first.message}"
        )
    edition = _edition(shelf, wanted, files, report)
    _add_archive(shelf, choice, edition)
    if not order.force and not report.removed:
        _refuse_loss(shelf, files, edition)
    _add_own(shelf, wanted, with_uses, edition)
    report.written = edition.changed
    report.diff = _diff(files, edition)
    return edition, choice, with_uses


def _is_known(text: str, preferences: Sequence[str]) -> bool:
    """Whether a preference of the handbook says this already."""
    told = (signal_of(memory.core_of(line)) for line in preferences)
    return any(same(parts["default"], text) for parts in told if parts)


def _counted(shelf: Shelf, every: Sequence[Kept], queue: LearningQueue) -> list[Kept]:
    """Extracts with what agents named of them, and what was recalled, counted in."""
    named = queue.citations()
    recalled = using.counts(shelf.desk)
    if not named and not recalled:
        return list(every)
    found = []
    now = shelf.desk.clock()
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


def _handbook(shelf: Shelf, choice: selection.Choice) -> Handbook:
    decided = inbox.decided(shelf)
    maybe = {
        each.written.thread.id: [
            Maybe(situation=told.situation, quote=told.quote, default=told.text, turn=told.turn)
            for told in inbox.questions(shelf, each)
            if told.id not in decided
        ]
        for each in choice.selected
    }
    return consolidated(
        [each.written for each in choice.selected],
        shelf.name,
        notes=notes(shelf),
        maybe=maybe,
        is_forgotten=forgotten_lines(shelf),
    )


def forgotten_lines(shelf: Shelf) -> Callable[[str], bool]:
    """Whether a learnt line says what somebody wants gone."""
    stones = ledger.tombstones(shelf.desk)
    if not stones:
        return lambda _: False
    salt = shelf.desk.salt()

    def is_forgotten(text: str) -> bool:
        parts = signal_of(text)
        told = [text, *([parts["default"], parts["quote"]] if parts else [])]
        return forgetting.blocks(stones, salt, None, told) is not None

    return is_forgotten


def _rendered(choice: selection.Choice, handbook: Handbook) -> dict[str, str]:
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
        found[f"{SKILLS}/{skill.name}/SKILL.md"] = skills.rendered(skill)
        for name, text in skill.scripts:
            found[f"{SKILLS}/{skill.name}/scripts/{name}"] = text
    return found


def _edition(shelf: Shelf, wanted: dict[str, str], files: dict[str, str], report: Consolidated) -> Edition:
    """What has to be written and removed, with people's work in it and left alone."""
    edition = Edition()
    bases = baseline(shelf)
    known = digests(shelf)
    homeless: list[str] = []
    unwanted = _taken_out(wanted, files, bases)
    for path, text in wanted.items():
        now = files.get(path)
        if path in MAIN and now is not None:
            merge = merged(bases.get(path, ""), now, _without(text, unwanted))
            report.kept_lines += len(merge.kept)
            homeless += merge.homeless
            _check_kept(shelf, path, merge.kept, merge.text)
            text = merge.text  # noqa: PLW2901 - what is written is the merge
        elif now is not None and known.get(path) not in (None, digest_of(now)):
            # Somebody rewrote this file: it is theirs.
            continue
        if now != text:
            edition.files[path] = text
            edition.bases[path] = publishing.base_of(shelf, path)
    for path in files:
        if (
            path not in wanted
            and path.partition("/")[0] in (ROLLOUTS, SKILLS)
            and not _is_theirs(path, files[path], known)
        ):
            edition.files[path] = None
            edition.bases[path] = publishing.base_of(shelf, path)
        elif path not in wanted and path.startswith(f"{ROLLOUTS}/") and path in known:
            # A session that is gone, in a file that somebody wrote into: their lines stay, its own go.
            homeless += _own_lines(files[path], known[path], path, shelf)
            edition.files[path] = None
            edition.bases[path] = publishing.base_of(shelf, path)
    if homeless:
        report.moved_lines += len(homeless)
        _moved(shelf, homeless, edition)
    return edition


def _taken_out(wanted: dict[str, str], files: dict[str, str], bases: dict[str, str]) -> set[str]:
    """What a person took out of one of the two main files: it leaves the other, too."""
    found: set[str] = set()
    for path in MAIN:
        if path in files and path in bases:
            gone = merged(bases[path], files[path], wanted[path]).removed
            found |= {memory.core_of(line) for line in gone if line.startswith("- ")}
    still = {memory.core_of(line) for path in MAIN for line in files.get(path, "").split("\n")}
    return {core for core in found if len(core) >= _TELLING and core not in still}


def _without(text: str, unwanted: set[str]) -> str:
    if not unwanted:
        return text
    return "\n".join(
        line for line in text.split("\n") if memory.core_of(line) not in unwanted or not line.startswith("- ")
    )


def _check_kept(shelf: Shelf, path: str, kept: Sequence[str], text: str) -> None:
    """A line that a person wrote is in the new text, or nothing is written."""
    lines = {line.strip() for line in text.split("\n")}
    lost = [line for line in kept if line.strip() and line.strip() not in lines]
    if lost:
        raise Refused(
            f"the new {path} of {shelf.name} would lose a line that was written by hand: {lost[0].strip()[:80]!r}"
        )


def _is_theirs(path: str, text: str, known: dict[str, str]) -> bool:
    return known.get(path) != digest_of(text)


def _own_lines(text: str, known: str, path: str, shelf: Shelf) -> list[str]:
    del known, path
    # Only the digest of what was written is kept, so what is theirs cannot be told from what is not: lines that no extract
    # of this handbook has are taken for theirs.
    machine = {line.strip() for each in restored(shelf) for line in each.written.rollout_summary.split("\n")}
    return [
        line
        for line in text.split("\n")
        if line.strip()
        and line.strip() not in machine
        and not line.startswith(("thread_id:", "updated_at:", "rollout_path:", "cwd:", "git_branch:"))
    ]


def _moved(shelf: Shelf, lines: Sequence[str], edition: Edition) -> None:
    """Lines whose place is gone are kept as a note, which every session is told of."""
    name = f"{NOTES}/{shelf.desk.clock():%Y-%m-%dT%H-%M-%S}-kept-from-handbook.md"
    old = shelf.desk.files.read(shelf.place(name))
    text = (old.text or "") + "".join(f"{line.strip()}\n" for line in lines)
    edition.files[name] = text
    edition.bases[name] = old.digest


def _add_archive(shelf: Shelf, choice: selection.Choice, edition: Edition) -> None:
    """Extracts that rest lie in the archive, in the same formats."""
    wanted: dict[str, str] = {}
    if choice.archived:
        every = [each.written for each in choice.archived]
        wanted[f"{ARCHIVE}/{RAW}"] = raw.merged(every)
        wanted |= {f"{ARCHIVE}/{raw.cite_of(written)}": raw.rollout_file(written) for written in every}
    folder = shelf.place(f"{ARCHIVE}/{ROLLOUTS}")
    there = [f"{ARCHIVE}/{ROLLOUTS}/{name}" for name in shelf.desk.files.names(folder)]
    there += [f"{ARCHIVE}/{RAW}"] if shelf.desk.files.size(shelf.place(f"{ARCHIVE}/{RAW}")) is not None else []
    for path, text in wanted.items():
        if shelf.desk.files.read(shelf.place(path)).text != text:
            edition.files[path] = text
            edition.bases[path] = publishing.base_of(shelf, path)
    for path in there:
        if path not in wanted:
            edition.files[path] = None
            edition.bases[path] = publishing.base_of(shelf, path)


def _add_own(shelf: Shelf, wanted: dict[str, str], kept: list[Kept], edition: Edition) -> None:
    """What tells a person's work from ours the next time: the two main texts as they were made, and digests of the others."""
    told = {path: digest_of(text) for path, text in wanted.items() if path not in MAIN}
    known = digests(shelf)
    for path in told:
        now = shelf.desk.files.read(shelf.place(path)).text
        if path not in edition.files and now is not None and digest_of(now) != told[path]:
            # Theirs stays theirs.
            told[path] = known.get(path, "")
    own = publishing.own_files({name: wanted[name] for name in MAIN}, state_text(kept, told))
    for name, text in own.items():
        if shelf.desk.files.read(shelf.root.own(name)).text != text:
            edition.own[name] = text


def _refuse_loss(shelf: Shelf, files: dict[str, str], edition: Edition) -> None:
    """Refuse to write what would lose a large part of a handbook although no session has gone."""
    for path in MAIN:
        new = edition.files.get(path)
        if new is None or path not in files:
            continue
        old = {memory.core_of(line) for line in files[path].split("\n") if line.startswith("- ")}
        still = {memory.core_of(line) for line in new.split("\n") if line.startswith("- ")}
        if len(old) >= _FEW and len(still) < len(old) * (1 - _LOSS):
            raise Refused(
                f"{shelf.place(path)} would shrink from {len(old)} to {len(still)} lines although no session is gone; nothing was written."
                " byheart memory rebuild --force writes it all the same"
            )


def _diff(files: dict[str, str], edition: Edition) -> str:
    """What an edition changes, as a unified diff of the two main files and a list of the others."""
    parts: list[str] = []
    for path in (*MAIN,):
        if path in edition.files:
            old, new = files.get(path, ""), edition.files[path] or ""
            parts += difflib.unified_diff(
                old.splitlines(), new.splitlines(), f"a/{path}", f"b/{path}", n=1, lineterm=""
            )
    for path, text in sorted(edition.files.items()):
        if path not in MAIN:
            parts.append(f"{'D' if text is None else 'M' if path in files else 'A'} {path}")
    return "\n".join(parts)


def every_path(shelf: Shelf) -> list[str]:
    """All files of a handbook, by their paths in it."""
    return list(paths(shelf.desk.files, shelf.folder))
