"""What forgetting, undoing and a compaction that was stopped mean for the journal's other files: the daily logs, the archive, the
summaries. The root is locked where something is put right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.documents import Change, Document, Drop, Place, Replace, Root, spliced
from byheart.domain.errors import ByheartError, Conflict, NotUndoable
from byheart.domain.journal import COMPACTION
from byheart.domain.ports import Snapshot
from byheart.domain.records import Record
from byheart.domain.values import dataclass, replace
from byheart.journal import retention
from byheart.journal.files import JournalFiles, State, daily_logs, journal_files, keep, local_day, parsed, read, state
from byheart.journal.retention import sentences
from byheart.text.deferred import module
from byheart.text.lines import unescaped
from byheart.text.similarity import normalised
from byheart.text.slugs import content_digest, short_digest
from byheart.workspace import ledger
from byheart.workspace.context import JOURNAL, Context, handle_of

if TYPE_CHECKING:
    from byheart.journal import experiences
else:
    experiences = module("byheart.journal.experiences")

_ROUNDS = 12
# Shorter than this, a sentence says nothing by itself.
_TELLING = 4
# And shorter than this, it stands in many places by chance.
_RARE = 12


def prose_handle(line: str) -> str:
    """What a line that is no record is called by: what it says."""
    return "p" + short_digest("prose", normalised(line.strip().lstrip("#-* ")))[:7]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProseLine:
    """A line of a journal's files that is no record."""

    place: Place
    line: int
    text: str

    @property
    def id(self) -> str:
        """What it is called by."""
        return prose_handle(self.text)


def prose_lines(context: Context, root: Root) -> list[ProseLine]:
    """Every line that people wrote into a journal's files, and every line of its summaries."""
    own_journal = journal_files(context, root)
    found = []
    for place in (own_journal.memory, own_journal.user, own_journal.long_memory, *daily_logs(context, own_journal)):
        text = _read(context, place)
        records = {each.line for each in parsed(context, text).placed} if text else set()
        for number, line in enumerate(text.split("\n"), 1):
            if number not in records and line.strip().lstrip("#-* "):
                found.append(ProseLine(place=place, line=number, text=line))
    return found


def drop_prose(context: Context, root: Root, gone: ProseLine) -> int:
    """Take a line out of every file of a journal that has it; how many had. The root is locked."""
    count = 0
    for place in dict.fromkeys(each.place for each in prose_lines(context, root) if each.id == gone.id):
        snapshot = read(context, place)
        text = snapshot.text or ""
        records = {each.line for each in parsed(context, text).placed}
        lines = text.split("\n")
        kept = [
            line
            for number, line in enumerate(lines, 1)
            if number in records or prose_handle(line) != gone.id or not line.strip()
        ]
        context.files.write(place, "\n".join(kept), snapshot.digest)
        count += 1
    return count


def find(context: Context, root: Root, selector: str) -> Record | None:
    """What a selector names in the journal's other files: a record by id, handle or whole text, or a line of a summary."""
    own_journal = journal_files(context, root)
    wanted = normalised(selector)
    for place in (*daily_logs(context, own_journal), own_journal.archive):
        for each in reversed(_document(context, place).placed):
            origin = each.record.origin
            names = (origin.id, handle_of(root.scope, JOURNAL, origin.id, each.record.text)) if origin else ()
            if selector in names or (wanted and normalised(each.record.text) == wanted):
                return each.record
    summed = {normalised(line.strip().removeprefix("- ")) for line in _summaries(context, own_journal)}
    if len(wanted) >= _RARE and wanted in summed:
        return Record(text=selector)
    return experiences.named(context, root, selector)


def _summaries(context: Context, own_journal: JournalFiles) -> list[str]:
    """Every line of every summary."""
    lines = [
        line
        for day, piece in retention.dated(_read(context, own_journal.long_memory))
        if day
        for line in piece.split("\n")
    ]
    for each in _document(context, own_journal.memory).placed:
        if each.record.origin is not None and each.record.origin.category == COMPACTION:
            lines += each.record.text.split("\n")
    return lines


def _read(context: Context, place: Place) -> str:
    try:
        return read(context, place).text or ""
    except ByheartError:
        return ""


def _document(context: Context, place: Place) -> Document:
    return parsed(context, _read(context, place))


def purge(context: Context, root: Root, record: Record) -> tuple[int, list[str]]:
    """Take a forgotten record out of every other file of the journal; how many held it, and which could not be cleared.

    A record goes where it has this text, or this id: an earlier wording of it is no less forgotten. One sentence of it goes
    only from summaries, which are made of sentences. What a person wrote stays. The root is locked.
    """
    own_journal = journal_files(context, root)
    whole = normalised(record.text)
    id_ = record.origin.id if record.origin else ""
    same = [
        each
        for each in _document(context, own_journal.memory).placed
        if each.record.origin and each.record.origin.id == id_
    ]
    # An id that several records share names none of them.
    name = id_ if id_ and len({each.record.text for each in same}) < 2 else None
    said = {whole, *(normalised(each) for each in sentences(record.text) if len(each) >= _TELLING)}
    count, failures = 0, []
    for place in (*daily_logs(context, own_journal), own_journal.archive, own_journal.memory):
        try:
            # The record itself leaves MEMORY.md by the one path that all changes take.
            count += _without(context, place, _Mark(whole, name, said), only_summaries=place is own_journal.memory)
        except ByheartError as error:
            failures.append(f"{place} could not be cleared: {error}")
    # Blocks that had to leave LONGMEMORY.md stand in the archive as they were.
    for place in (own_journal.long_memory, own_journal.archive):
        try:
            count += _without_lines(context, place, said)
        except ByheartError as error:
            failures.append(f"{place} could not be cleared: {error}")
    return count, failures


def remaining(context: Context, texts: list[str]) -> list[str]:
    """Where texts still stand in the journals' other files, of all scopes: in a person's own words, or in other records."""
    wanted = [" ".join(text.split()).casefold() for text in texts if len(text.strip()) >= _TELLING]
    notes = []
    for root in context.roots.values():
        own_journal = journal_files(context, root)
        for place in (
            *daily_logs(context, own_journal),
            own_journal.archive,
            own_journal.long_memory,
            own_journal.user,
        ):
            lines = unescaped(_read(context, place)).casefold().split("\n")
            at = next(
                (n for n, line in enumerate(lines, 1) if any(each in " ".join(line.split()) for each in wanted)), None
            )
            if at is not None:
                notes.append(f"{place}:{at} still has it")
    return notes


def relog(context: Context, root: Root, lines: str) -> list[str]:
    """Put records that came back into the logs of their days, where those are kept; what could not be done."""
    own_journal = journal_files(context, root)
    failures = []
    for line in lines.splitlines():
        for each in parsed(context, line).placed:
            at = each.record.origin.at if each.record.origin else None
            place = own_journal.daily(local_day(context, at)) if at else None
            try:
                if (
                    place is not None
                    and context.files.size(place) is not None
                    and line not in (read(context, place).text or "")
                ):
                    context.files.append(place, line + "\n", None)
            except ByheartError as error:
                failures.append(f"{place} does not have it again: {error}")
    return failures


def unlog(context: Context, root: Root, record: Record, *, archive: bool = False) -> list[str]:
    """Take a record whose adding was undone out of the daily logs, and out of the archive if it has been there; what could
    not be done. The root is locked."""
    failures = []
    own_journal = journal_files(context, root)
    for place in (*daily_logs(context, own_journal), *([own_journal.archive] if archive else [])):
        try:
            id_ = record.origin.id if record.origin else ""
            _without(context, place, _Mark(normalised(record.text), id_, set(), both=True))
        except ByheartError as error:
            failures.append(f"{place} still has it: {error}")
    return failures


@dataclass(frozen=True, slots=True)
class _Mark:
    """What is to go: a whole text, or an id, and the sentences that summaries may have taken from it. With `both`, the one
    last record that has this text and this id."""

    whole: str
    id: str | None
    said: set[str]
    both: bool = False


def _without(context: Context, place: Place, mark: _Mark, *, only_summaries: bool = False) -> int:
    """Drop what says exactly this from one file, and what it said from summaries there; 1 where there was something."""
    for _ in range(_ROUNDS):
        snapshot = read(context, place)
        if snapshot.text is None:
            return 0
        document = parsed(context, snapshot.text)
        changes = _changes(document, mark)
        if only_summaries:
            changes = [each for each in changes if isinstance(each, Replace)]
        if not changes:
            return 0
        splices = context.dialects[JOURNAL].plan(document, changes, context.clock().date())
        try:
            context.files.write(place, spliced(document.text, splices), snapshot.digest)
            return 1
        except Conflict as conflict:
            last = conflict
    raise last


def _changes(document: Document, mark: _Mark) -> list[Change]:
    found: list[Change] = []
    said = mark.said
    for each in document.placed:
        origin = each.record.origin
        text, named = normalised(each.record.text) == mark.whole, origin is not None and origin.id == mark.id
        if (text and named) if mark.both else (text or named):
            found.append(Drop(old=each, reason=None))
        elif said and origin is not None and origin.category == COMPACTION:
            lines = each.record.text.split("\n")
            kept = [line for line in lines if normalised(line.strip().removeprefix("- ")) not in said]
            if len(kept) < len(lines):
                found.append(Replace(old=each, new=replace(each.record, text="\n".join(kept))))
    return found[-1:] if mark.both else found


def _without_lines(context: Context, place: Place, said: set[str]) -> int:
    """Drop the lines of dated summaries that repeat what was forgotten; what a person wrote around them stays."""
    snapshot = read(context, place)
    pieces = retention.dated(snapshot.text or "")
    new = "".join(_cleared(piece, said) if day else piece for day, piece in pieces)
    if new == (snapshot.text or ""):
        return 0
    context.files.write(place, new, snapshot.digest)
    return 1


def _cleared(piece: str, said: set[str]) -> str:
    lines = piece.splitlines(keepends=True)
    kept = "".join(
        line for line in lines if not (line.startswith("- ") and normalised(line.strip().removeprefix("- ")) in said)
    )
    # A heading with nothing left below it says nothing.
    return kept if kept == piece or "\n- " in kept or kept.split("\n", 1)[1].strip() else ""


def recover(context: Context, own_journal: JournalFiles, known: State) -> None:
    """See to what a stopped run left: bring a torn MEMORY.md back from the backup, else let the backup go."""
    try:
        whole = ledger.restored(context, own_journal.root, known.unfinished_backup) if known.unfinished_backup else None
    except NotUndoable:
        whole = None
    if whole is None:
        return
    found = read(context, own_journal.memory)
    text = found.text or ""
    # Torn in the middle of a line; a person who takes lines out takes whole ones.
    if text and whole.startswith(text) and not text.endswith("\n") and whole[len(text)] not in "\r\n":
        context.files.write(own_journal.memory, whole, found.digest)
    ledger.drop_backup(context, own_journal.root, known.unfinished_backup)


def tidy(context: Context, own_journal: JournalFiles, known: State) -> None:
    """Put LONGMEMORY.md back as it was before a run that was stopped before its swap; where somebody wrote to it since,
    take out that run's block and nothing else."""
    found = read(context, own_journal.long_memory)
    memory = read(context, own_journal.memory).text or ""
    if not found.text or any(id_ in memory for id_ in known.unfinished):
        return
    try:
        before = ledger.restored(context, own_journal.root, known.unfinished_backup + ledger.ALONG)
    except NotUndoable:
        unsummed(context, own_journal, found, known.unfinished_block)
        return
    block = retention.long_memory(found.text)[-1][1]
    most = context.journal.long_memory_max_chars
    expected, _ = retention.lengthened(before, block, most, lambda piece: bool(context.scanner.secrets(piece)))
    if found.text == expected and content_digest(block) == known.unfinished_block:
        context.files.write(own_journal.long_memory, before, found.digest)
    else:
        unsummed(context, own_journal, found, known.unfinished_block)


def forget_run(context: Context, root: Root, entry: ledger.StoredChange) -> list[str]:
    """See to the rest of a compaction that is undone: LONGMEMORY.md is as it was, and its archive is known; what could not
    be done. The root is locked."""
    own_journal = journal_files(context, root)
    try:
        # Any id will do: it says that the archive may hold what MEMORY.md holds again.
        keep(context, root, replace(state(context, root), unfinished=(entry.id,), idle_until=None))
        found = read(context, own_journal.long_memory)
        if entry.long_after and found.digest == entry.long_after:
            if entry.long_backup:
                old = ledger.restored(context, root, entry.long_backup)
                context.files.write(own_journal.long_memory, old, found.digest)
            else:
                context.files.remove(own_journal.long_memory, found.digest)
        elif entry.block:
            out = unsummed(context, own_journal, found, entry.block)
            what = "its new block is taken out" if out else "its new block is left there"
            return [
                f"{own_journal.long_memory} was edited since: {what}, and blocks that went for it are in the archive"
            ]
    except ByheartError as error:
        return [f"{own_journal.long_memory} could not be put back: {error}"]
    return []


def unsummed(context: Context, own_journal: JournalFiles, found: Snapshot, digest: str) -> bool:
    """Take one block out of LONGMEMORY.md, if it is there as it was written; whether it was."""
    pieces = retention.long_memory(found.text or "")
    kept = [piece for _, piece in pieces if content_digest(piece.rstrip("\n") + "\n") != digest]
    if len(kept) == len(pieces):
        return False
    if not "".join(kept).strip() or kept == ["# LONGMEMORY\n\n"]:
        context.files.remove(own_journal.long_memory, found.digest)
    else:
        text = "".join(kept)
        # The blank line before the block came with it.
        text = text[:-1] if text.endswith("\n\n") and pieces[-1][1] not in kept else text
        context.files.write(own_journal.long_memory, text, found.digest)
    return True
