"""Compaction: old small talk becomes a few summaries; nothing else moves, and nothing is lost on the way.

The order is what makes it safe: backup, archive, LONGMEMORY.md, and last one atomic swap of MEMORY.md. Killed anywhere, a
reader finds the old file or the new one, and every record in the file or in the archive. The long work (reading, choosing,
checking) is done without the root's lock, so that appends do not wait for it; what they added meanwhile is carried over.
Everything that is written is written under the lock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta

from byheart.domain.documents import Document, Place, Root, Splice, spliced
from byheart.domain.errors import ByheartError, Conflict, Unreadable, Unwritable
from byheart.domain.journal import Compacted
from byheart.domain.ports import Snapshot
from byheart.domain.records import Placed, Scope
from byheart.domain.values import dataclass, replace
from byheart.journal import integrity, retention
from byheart.journal.append import append, checkpoint
from byheart.journal.files import JournalFiles, holds_secret, journal_files, keep, local_day, note, parsed, read, state
from byheart.journal.format import line_span, row
from byheart.journal.purge import recover, tidy
from byheart.journal.retention import MergedRecords
from byheart.text.lines import break_style
from byheart.text.slugs import content_digest, uuid_of
from byheart.workspace import ledger
from byheart.workspace.context import JOURNAL, Context

LOCK = "compaction"
# What CursorClaw makes while it compacts, and how old one may be that still counts.
_THEIR_LOCK, _THEIR_PATIENCE = "tmp/memory-compaction.lock", timedelta(hours=1)
_OURS = "byheart"
_ROUNDS = 5
_PAUSE = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """What one run will do: the text to swap in, what leaves, and what stands for it."""

    before: Document
    scope: tuple[Placed, ...]
    summaries: tuple[MergedRecords, ...]
    text: str


def compact(context: Context, scope: Scope, *, force: bool = False, session: str | None = None) -> Compacted:
    """Compact one journal if it is time to: enabled and over a threshold, then something in scope, then the lock.

    `force` leaves out the first check. With `session`, that session's checkpoint is written first. Raises Unwritable where
    it failed, and then MEMORY.md is as it was.
    """
    root = context.roots[scope]
    own_journal = journal_files(context, root)
    stopped = _too_early(context, own_journal, force=force)
    if stopped is not None:
        return stopped
    document = parsed(context, read(context, own_journal.memory).text or "")
    if not retention.groups(_selected(context, document), document.placed):
        return _nothing(context, own_journal)
    with context.files.claimed(root, LOCK) as ours:
        if not ours or _is_held_elsewhere(context, own_journal):
            _log(context, root, "compaction skipped", "compaction skipped: another one holds the lock")
            return _not_run(own_journal, "lock", "lock held")
        with _held(context, own_journal):
            if session is not None:
                append(context, checkpoint(session), scope)
            return _run(context, own_journal)


def _their_lock(own_journal: JournalFiles) -> Place:
    folder = own_journal.memory.path.rpartition("/")[0]
    return Place(own_journal.memory.base, f"{folder}/{_THEIR_LOCK}".lstrip("/"))


@contextmanager
def _held(context: Context, own_journal: JournalFiles) -> Iterator[None]:
    """Say to other programs that keep this journal that it is being compacted; nobody else keeps one in byheart's own folder."""
    place, made = _their_lock(own_journal), None
    if own_journal.memory.base != own_journal.root.folder.base:
        with suppress(ByheartError):
            # One of another program's is theirs to remove; our own is of a run that was killed.
            known = context.files.read(place)
            if known.text is None or known.text.startswith(_OURS):
                made = context.files.write(place, f"{_OURS} {context.clock().isoformat()}\n", known.digest)
    try:
        yield
    finally:
        if made is not None:
            with suppress(ByheartError):
                context.files.remove(place, made.digest)
                context.files.prune(Place(place.base, place.path.rpartition("/")[0]))


def _is_held_elsewhere(context: Context, own_journal: JournalFiles) -> bool:
    """Whether another program that keeps this journal is compacting it: it says so with a file beside MEMORY.md, which one that was
    killed leaves behind."""
    place = _their_lock(own_journal)
    try:
        stamp = context.files.stamp(place)
        # Whoever asks has our own lock, so no other of us is at it.
        if not stamp or (context.files.read(place).text or "").startswith(_OURS):
            return False
    except ByheartError:
        return False
    written = int(stamp.split(":")[1]) / 1e9
    return abs(context.clock().timestamp() - written) < _THEIR_PATIENCE.total_seconds()


def is_over(context: Context, own_journal: JournalFiles) -> bool:
    """Whether MEMORY.md has more records or characters than a threshold allows; without one, whether it has any."""
    records, chars = (
        context.journal.memory_compaction_threshold_records,
        context.journal.memory_compaction_threshold_chars,
    )
    size = context.files.size(own_journal.memory) or 0
    if not records and not chars:
        return size > 0
    # Bytes are at least as many as characters, so a small file needs no reading.
    if not records and size <= chars:
        return False
    text = read(context, own_journal.memory).text or ""
    # There are at most as many records as this; only where that is too many are they counted.
    many = bool(records) and retention.count(text) > records
    return bool(chars and len(text) > chars) or (many and len(parsed(context, text).placed) > records)


def after_append(context: Context, scope: Scope) -> Compacted | None:
    """Compact if this append passed a threshold; None where that is not wanted or nothing can be in scope yet."""
    settings = context.journal
    if not settings.memory_compaction_enabled:
        return None
    if not settings.memory_compaction_threshold_records and not settings.memory_compaction_threshold_chars:
        return None
    known = state(context, context.roots[scope])
    # A moment further off than we would set it was set by a clock that has been put right since.
    if known.idle_until is not None and context.clock() < known.idle_until <= context.clock() + _PAUSE:
        return None
    try:
        return compact(context, scope)
    except ByheartError as error:
        # The append itself is done: whoever hears of a failure would make it again.
        return Compacted(
            ran=False, stage="failed", reason=str(error), path=str(context.roots[scope].documents[JOURNAL])
        )


def _too_early(context: Context, own_journal: JournalFiles, *, force: bool) -> Compacted | None:
    if not context.files.size(own_journal.memory):
        return _not_run(own_journal, "file", "no memory file")
    if force:
        return None
    if not context.journal.memory_compaction_enabled:
        return _not_run(own_journal, "enabled", "compaction is not enabled")
    return None if is_over(context, own_journal) else _not_run(own_journal, "threshold", "under threshold")


def _not_run(own_journal: JournalFiles, stage: str, reason: str) -> Compacted:
    return Compacted(ran=False, stage=stage, reason=reason, path=str(own_journal.memory))


def _nothing(context: Context, own_journal: JournalFiles) -> Compacted:
    """Say that nothing is in scope; the next appends need not look again for a while."""
    note(context, own_journal.root, lambda known: replace(known, idle_until=context.clock() + _PAUSE))
    return _not_run(own_journal, "scope", "nothing to compact")


def _selected(context: Context, document: Document) -> list[Placed]:
    """The records in scope. One in which a person typed a credential stays where it is: it must not be copied about."""
    found = retention.in_scope(document.placed, context.clock(), context.journal.memory_compaction_min_age_days)
    # In a summary nobody could tell any more whose words they were.
    found = [
        each for each in found if not any(map(context.trust.is_strange, retention.lines_of(document.text, [each])))
    ]
    if found and holds_secret(context, retention.lines_of(document.text, found)):
        return [each for each in found if not holds_secret(context, retention.lines_of(document.text, [each]))]
    return found


def _run(context: Context, own_journal: JournalFiles) -> Compacted:
    root = own_journal.root
    archived: set[str] = set()
    problem = None
    try:
        with context.files.locked(root):
            known = state(context, root)
            if known.unfinished:
                # What an earlier run put into the archive before it was stopped is not put there twice.
                with suppress(ByheartError):
                    archived.update((read(context, own_journal.archive).text or "").split("\n"))
                tidy(context, own_journal, known)
                recover(context, own_journal, known)
        for _ in range(_ROUNDS):
            plan = _planned(context, read(context, own_journal.memory))
            if plan is None:
                return _nothing(context, own_journal)
            refuse_unsound(context, plan, own_journal.memory)
            try:
                return _carried_out(context, own_journal, plan, archived)
            except Conflict as conflict:
                problem = conflict
        raise Conflict(f"{problem}; it keeps changing; try again in a moment")
    except ByheartError as error:
        _log(context, root, "compaction failed", f"compaction failed: {error}")
        raise


def _carried_out(context: Context, own_journal: JournalFiles, plan: CompactionPlan, archived: set[str]) -> Compacted:
    """Backup, archive, LONGMEMORY.md, swap; where a step fails, the steps before it are taken back."""
    root = own_journal.root
    # A backup of a file with a credential in it would be a second copy of that, so it goes once it is not needed.
    lasting = not holds_secret(context, plan.before.text.split("\n"))
    with context.files.locked(root):
        current = read(context, own_journal.memory)
        text = _grown(plan, current, own_journal)
        long_before = read(context, own_journal.long_memory)
        block = _block(context, plan, long_before.text or "")
        backup = ledger.backup_name(context, own_journal.memory)
        # On disk before anything else is: whoever comes after a crash must know what to tidy up.
        begun = replace(
            state(context, root),
            unfinished=tuple(each.record.origin.id for each in plan.summaries if each.record.origin),
            unfinished_block=content_digest(block),
            unfinished_backup=backup,
        )
        keep(context, root, begun)
        lengthened = None
        secretive = bool(context.scanner.secrets(long_before.text or ""))
        try:
            ledger.back_up(context, root, own_journal.memory, current.text or "", backup)
            if block and long_before.text and not secretive:
                ledger.back_up(context, root, own_journal.long_memory, long_before.text, backup + ledger.ALONG)
            retention.archive(context, own_journal, retention.lines_of(plan.before.text, plan.scope), archived)
            lengthened = _lengthen(context, own_journal, long_before, block, archived)
            _swap(context, own_journal, current, text, backup)
        except ByheartError as error:
            # What cannot be taken back now (the disk may be full) is taken back by the next run.
            with suppress(ByheartError):
                _restore(context, own_journal, long_before, lengthened)
                if isinstance(error, Conflict) or read(context, own_journal.memory).digest == current.digest:
                    ledger.drop_backup(context, root, backup)
                    # What is archived by now stays known, so that the next run does not archive it again.
                    keep(context, root, replace(begun, unfinished_backup=""))
            raise
        kept = replace(
            ledger.entry_for(context, root, JOURNAL, "compacted"),
            before=current.digest,
            after=content_digest(text),
            size=len(text),
            block=content_digest(block) if lengthened else "",
            long_after=lengthened.digest if lengthened else "",
            backup=backup if lasting else None,
        )
        if lengthened and long_before.text and not secretive:
            kept = replace(kept, long_backup=backup + ledger.ALONG)
        return _finished(context, own_journal, plan, kept, begun.unfinished_backup)


def _grown(plan: CompactionPlan, current: Snapshot, own_journal: JournalFiles) -> str:
    """The new text, with what was appended since the plan was made. Raises Conflict where the file changed otherwise."""
    old, now = plan.before.text, current.text or ""
    # Appends start on a line of their own, so whatever follows the old text's last line break was appended.
    if now != old and not (old.endswith("\n") and now.startswith(old)):
        raise Conflict(f"{own_journal.memory} was edited while it was compacted")
    return plan.text + now[len(old) :]


def _planned(context: Context, snapshot: Snapshot) -> CompactionPlan | None:
    document = parsed(context, snapshot.text or "")
    selected = _selected(context, document)
    found = retention.groups(selected, document.placed)
    if not found:
        return None
    leaving = {each.start for parts in found.values() for each in parts}
    scope = [each for each in selected if each.start in leaving or retention.is_checkpoint(each.record)]
    text, newline = document.text, break_style(document.text)
    gone = {each.start for each in scope}
    said = retention.summed_up(each for each in document.placed if each.start not in gone)
    summaries = retention.merged(found, lambda: _fresh_id(context), context.clock(), said)
    splices = [Splice(*line_span(text, each), "") for each in scope]
    # The summaries stand where the first record of each stood, so that the file stays in the order of time.
    for each in summaries:
        start = line_span(text, each.parts[0])[0]
        splices.append(Splice(start, start, row(each.record, each.more) + newline))
    new = spliced(text, splices)
    if not text.endswith("\n"):
        new = new.removesuffix("\n").removesuffix("\r")
    return CompactionPlan(before=document, scope=tuple(scope), summaries=summaries, text=new)


def _fresh_id(context: Context) -> str:
    return uuid_of("".join(context.token() for _ in range(4)))


def refuse_unsound(context: Context, plan: CompactionPlan, place: Place) -> None:
    """Check the new text before it counts: fewer records, everything else exactly there, no label loosened, no new trouble."""
    after = parsed(context, plan.text)
    before = plan.before.placed
    gone = {each.start for each in plan.scope}
    staying = [each for each in before if each.start not in gone]
    summaries = [each.record for each in plan.summaries]
    problem = None
    if len(after.placed) != len(staying) + len(summaries) or len(after.placed) >= len(before):
        problem = "the number of records is not what it should be"
    elif _others(plan.before) != _others(after):
        problem = "a line that is not a record would change"
    else:
        lines = Counter(plan.before.text[each.start : each.end] for each in staying)
        found = Counter(after.text[each.start : each.end] for each in after.placed)
        problem = "a record that should stay would go" if lines - found else None
    if problem is None and any(_loosened(each) for each in plan.summaries):
        problem = "a summary would have a looser label than its parts"
    if problem is None and (fresh := _new_trouble(context, before, after.placed)):
        problem = f"there would be new findings: {fresh}"
    if problem is not None:
        raise Unwritable(str(place), f"the compaction would not be sound: {problem}", "run: byheart journal scan")


def _others(document: Document) -> list[str]:
    """The lines that are not records, in order."""
    taken = {each.line for each in document.placed}
    every = document.text.split("\n")
    return [line for number, line in enumerate(every, start=1) if number not in taken]


def _loosened(each: MergedRecords) -> bool:
    ranks = [part.record.origin.sensitivity.rank for part in each.parts if part.record.origin]
    return each.record.origin is None or each.record.origin.sensitivity.rank < max(ranks, default=0)


def _new_trouble(context: Context, before: Sequence[Placed], after: Sequence[Placed]) -> str:
    """The findings after that are about something nothing was found about before."""
    now, days = context.clock(), context.journal.stale_days
    new = {(each.rule, each.topic) for each in integrity.troubles(after, now, days) if each.rule != integrity.STALE}
    if not new:
        return ""
    fresh = new - {(each.rule, each.topic) for each in integrity.troubles(before, now, days)}
    return ", ".join(sorted(f"{rule} about {topic!r}" for rule, topic in fresh))


def _block(context: Context, plan: CompactionPlan, long_text: str) -> str:
    most = context.journal.long_memory_max_chars
    day = local_day(context, context.clock())
    room = retention.room_for_block(long_text, most, lambda piece: bool(context.scanner.secrets(piece)))
    return retention.block(plan.summaries, day, room, long_text)


def _lengthen(
    context: Context, own_journal: JournalFiles, old: Snapshot, block: str, archived: set[str]
) -> Snapshot | None:
    """Add the block to LONGMEMORY.md; older blocks that have to go for it are archived first."""
    if not block:
        return None
    text, gone = retention.lengthened(
        old.text or "",
        block,
        context.journal.long_memory_max_chars,
        lambda piece: bool(context.scanner.secrets(piece)),
    )
    retention.archive(context, own_journal, [piece.rstrip("\n") for piece in gone], archived)
    return context.files.write(own_journal.long_memory, text, old.digest)


def _restore(context: Context, own_journal: JournalFiles, old: Snapshot, new: Snapshot | None) -> None:
    """Put LONGMEMORY.md back as it was before a swap that did not happen, unless somebody wrote to it since."""
    if new is None:
        return
    with suppress(Conflict):
        if old.text is None:
            context.files.remove(own_journal.long_memory, new.digest)
        else:
            context.files.write(own_journal.long_memory, old.text, new.digest)


def _swap(context: Context, own_journal: JournalFiles, current: Snapshot, text: str, backup: str) -> None:
    """Swap in the new text and see that it is there; a write that failed half-way is rolled back. Raises Conflict."""
    try:
        context.files.write(own_journal.memory, text, current.digest)
        _check_written(context, own_journal, text)
    except Conflict:
        raise
    except ByheartError as error:
        _roll_back(context, own_journal, current, text, backup, error)
        raise


def _check_written(context: Context, own_journal: JournalFiles, text: str) -> None:
    # Somebody who does not know our lock may have appended since.
    if not (read(context, own_journal.memory).text or "").startswith(text):
        raise Unwritable(str(own_journal.memory), "it does not hold what was written", "check the disk")


def _roll_back(
    context: Context, own_journal: JournalFiles, old: Snapshot, new: str, backup: str, error: ByheartError
) -> None:
    """Bring MEMORY.md back from the backup if the failed write left it torn; a file that a person saved is left alone."""
    try:
        found = read(context, own_journal.memory)
        if found.digest == old.digest:
            return
        torn = found.text is None or new.startswith(found.text) or (old.text or "").startswith(found.text)
        if torn:
            context.files.write(own_journal.memory, ledger.restored(context, own_journal.root, backup), found.digest)
    except Unreadable as worse:
        place = own_journal.root.own(f"{ledger.BACKUP}/{backup}")
        raise Unwritable(
            str(own_journal.memory),
            f"the write failed ({error}) and so did the way back ({worse})",
            f"copy back {place}",
        ) from None


def _finished(
    context: Context, own_journal: JournalFiles, plan: CompactionPlan, entry: ledger.StoredChange, backup: str
) -> Compacted:
    """Log the statistics, let go of what is no longer needed, and say how it went. The root is locked."""
    root, notes = own_journal.root, []
    records, compacted = len(plan.before.placed), len(plan.scope)
    after = records - compacted + len(plan.summaries)
    note_ = f"{compacted} records became {len(plan.summaries)}; {records} before, {after} after"
    try:
        ledger.drop_backups(context, root, "compacted", but=entry.backup)
        if entry.backup is None:
            ledger.drop_backup(context, root, backup)
        ledger.record(context, root, replace(entry, note=note_))
        keep(context, root, replace(state(context, root).settled(), compacted_at=context.clock(), idle_until=None))
    except ByheartError as error:
        notes.append(f"it is done, but the log could not be written: {error}")
        entry = replace(entry, backup=None)
    return Compacted(
        ran=True,
        path=str(own_journal.memory),
        records_before=records,
        records_after=after,
        records_compacted=compacted,
        characters_before=len(plan.before.text),
        characters_after=len(plan.text),
        long_memory_appended=bool(entry.block),
        archive=str(own_journal.archive),
        receipt=entry.id if entry.undoable else None,
        notes=tuple(notes),
    )


def _log(context: Context, root: Root, action: str, note: str) -> None:
    """A line in the log about something that did not happen; a log that cannot be written must not hide the reason."""
    entry = replace(ledger.entry_for(context, root, JOURNAL, action), note=context.scanner.redacted(note))
    try:
        with context.files.locked(root):
            ledger.record(context, root, entry)
    except ByheartError:
        return
