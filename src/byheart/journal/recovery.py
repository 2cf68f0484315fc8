"""What a compaction that was stopped, or is undone, leaves to be put right. The root is locked in all of this."""

from __future__ import annotations

from byheart.domain.errors import ByheartError, NotUndoable
from byheart.domain.ports import Snapshot
from byheart.domain.roots import Root
from byheart.domain.values import replace
from byheart.journal import retention
from byheart.journal.files import JournalFiles, State, journal_files, keep, read, state
from byheart.text.slugs import content_digest
from byheart.workspace import ledger
from byheart.workspace.context import Context


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
