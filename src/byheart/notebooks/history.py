"""log and undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.documents import Change, Document, Drop, Replace, Root, Setting, Splice, spliced
from byheart.domain.errors import Conflict, NothingFound, NotUndoable
from byheart.domain.records import Placed, Record, Scope
from byheart.domain.reports import LogEntry
from byheart.domain.results import Receipt
from byheart.notebooks.commit import as_meant, verify, vouch
from byheart.text.deferred import module
from byheart.text.lines import break_style
from byheart.text.slugs import content_digest
from byheart.workspace import ledger
from byheart.workspace.context import JOURNAL, PROFILE, Context
from byheart.workspace.ledger import StoredChange

if TYPE_CHECKING:
    from byheart.journal import purge
else:
    purge = module("byheart.journal.purge")


def log(context: Context, scope: Scope, most: int) -> list[LogEntry]:
    """The newest changes first."""
    root = context.roots[scope]
    return ledger.shown(ledger.entries(context, root), set(context.files.names(root.own(ledger.BACKUP))))[:most]


def newest(context: Context, receipt: str | None = None, scope: Scope | None = None) -> LogEntry:
    """The change that undo would take back. Raises NothingFound."""
    root, found, entry = _wanted(context, receipt, scope)
    names = set(context.files.names(root.own(ledger.BACKUP)))
    return next(each for each in ledger.shown(found, names) if each.id == entry.id)


def undo(context: Context, receipt: str | None, scope: Scope | None) -> Receipt:
    """Take back one change: the named one, or the last. Raises NotUndoable, Conflict or NothingFound."""
    root, found, entry = _wanted(context, receipt, scope)
    _refuse(root, found, entry)
    with context.files.locked(root):
        snapshot = context.files.read(entry.place, context.most_bytes(entry.dialect))
        exact = bool(entry.after) and snapshot.digest == entry.after
        notes: list[str] = []
        if exact and not entry.before:
            context.files.remove(entry.place, snapshot.digest)
            after = ""
        else:
            if exact:
                text = _restored(context, root, entry, snapshot.text or "")
            else:
                text = _inverted(context, root, entry, snapshot.text)
            after = context.files.write(entry.place, text, snapshot.digest).digest
            if context.trust.covers(entry.place):
                dialect = context.dialects[entry.dialect]
                vouch(
                    context,
                    entry.place,
                    entry.dialect,
                    dialect.parse(snapshot.text or dialect.blank()),
                    dialect.parse(text),
                )
        done = StoredChange(
            id=context.token(),
            at=context.clock().isoformat(timespec="microseconds"),
            action="undone",
            dialect=entry.dialect,
            base=entry.base,
            path=entry.path,
            handle=entry.handle,
            before=snapshot.digest,
            after=after,
            undoes=entry.id,
        )
        ledger.record(context, root, done)
        if entry.dialect == JOURNAL:
            notes = _followed(context, root, entry)
    ending = "the file is as it was before" if exact else "what changed since then is kept"
    said = next(each for each in ledger.shown(found, set()) if each.id == entry.id).summary
    told = f"{entry.action}: {context.scanner.redacted(said)}" if said else f"{entry.action} ({entry.id})"
    return Receipt(
        id=done.id,
        action="undone",
        scope=root.scope,
        dialect=entry.dialect,
        path=str(entry.place),
        record=None,
        handle=entry.handle,
        notes=(f"{told}; {ending}", *notes),
    )


def _followed(context: Context, root: Root, entry: StoredChange) -> list[str]:
    """What is taken back from MEMORY.md is taken back beside it: a record from the daily logs, or the next session would be
    told it all the same; a summary from LONGMEMORY.md. What could not be done."""
    if entry.action == "compacted":
        return purge.forget_run(context, root, entry)
    lines = _dropped_lines(entry)
    if lines is not None:
        return purge.relog(context, root, lines)
    added = [turn["now"] for turn in entry.turns or [] if turn["was"] is None and turn["now"] is not None]
    return [failure for now in added for failure in purge.unlog(context, root, ledger.from_fields(now), archive=True)]


def _wanted(
    context: Context, receipt: str | None, scope: Scope | None
) -> tuple[Root, list[StoredChange], StoredChange]:
    """The named change, or the newest one, of all scopes or of one, that has not been taken back."""
    newest: list[tuple[str, Root, list[StoredChange], StoredChange]] = []
    for root in [context.roots[scope]] if scope else list(context.roots.values()):
        found = ledger.entries(context, root)
        undone = {each.undoes for each in found if each.undoes}
        for each in found:
            if each.id == receipt:
                return root, found, each
        here = {*root.documents.values(), *root.kept.values()}
        left = [
            each
            for each in found
            if not each.undoes
            and each.id not in undone
            and each.place in here
            # What upkeep did by itself is not what a person means by their last change.
            and not each.is_notice
            and each.action != "compacted"
        ]
        if left:
            newest.append((left[-1].at, root, found, left[-1]))
    if receipt is not None:
        raise NothingFound(f"no change has the receipt {receipt!r}; see: byheart log")
    if not newest:
        raise NothingFound("nothing to undo")
    return max(newest, key=lambda each: each[0])[1:]


def _refuse(root: Root, found: list[StoredChange], entry: StoredChange) -> None:
    if entry.id in {each.undoes for each in found}:
        raise NotUndoable(f"{entry.id} is already undone")
    if entry.action == "forgotten":
        raise NotUndoable(
            f"{entry.id} was a forget, which cannot be undone: its text was removed everywhere; "
            "name an earlier receipt (see: byheart log)"
        )
    if entry.undoes:
        raise NotUndoable(f"{entry.id} is an undo itself; remember it again instead")
    if not entry.undoable:
        raise NotUndoable(f"{entry.id} cannot be undone: what it changed was forgotten, or held a secret")
    if entry.place not in (*root.documents.values(), *root.kept.values()):
        raise Conflict(f"{entry.id} changed {entry.place}, which is not the notebook in use here; nothing was undone")


def _restored(context: Context, root: Root, entry: StoredChange, text: str) -> str:
    """The bytes from before: the file is exactly as this change left it."""
    if entry.backup is not None:
        old = ledger.restored(context, root, entry.backup)
    else:
        splices, shift = [], 0
        for piece in entry.pieces or []:
            start = piece["at"] + shift
            splices.append(Splice(start, start + len(piece["new"]), piece["old"]))
            shift += len(piece["new"]) - len(piece["old"])
        old = spliced(text, splices)
    if content_digest(old) != entry.before:
        raise Conflict(f"{entry.place} cannot be restored to its state before {entry.id}; nothing was undone")
    return old


def _inverted(context: Context, root: Root, entry: StoredChange, text: str | None) -> str:
    """The file changed since: take back what this change meant, and keep everything else."""
    fresh = entry.pieces == [] and not entry.before
    if entry.size and (entry.backup or fresh) and content_digest((text or "")[: entry.size]) == entry.after:
        # Only appended to since: what came later follows the old text.
        old = ledger.restored(context, root, entry.backup) if entry.backup else context.dialects[entry.dialect].blank()
        tail = (text or "")[entry.size :]
        return old + ("\n" if tail and old and not old.endswith("\n") else "") + tail
    dialect = context.dialects[entry.dialect]
    document = dialect.parse(text if text is not None else dialect.blank())
    if not document.intact or entry.backup is not None:
        raise Conflict(f"{entry.place} changed since {entry.id}; nothing was undone")
    lines = _dropped_lines(entry)
    if lines is not None:
        newline = break_style(document.text)
        joint = "" if not document.text or document.text.endswith("\n") else newline
        return document.text + joint + lines.replace("\n", newline)
    changes = _inverse(entry, document)
    result = spliced(document.text, dialect.plan(document, changes, context.clock().date()))
    verify(entry.place, document, dialect.parse(result), changes)
    return result


def _dropped_lines(entry: StoredChange) -> str | None:
    """The lines that a change took out of a file of lines, to be put back at its end; None for every other change."""
    turns = entry.turns or []
    if entry.dialect == PROFILE or not turns or any(turn["now"] is not None for turn in turns):
        return None
    lines = [piece["old"].strip("\r\n") for piece in entry.pieces or [] if piece["old"].strip()]
    return "".join(line + "\n" for line in lines) or None


def _inverse(entry: StoredChange, document: Document) -> list[Change]:
    changes: list[Change] = []
    if entry.setting:
        changes.append(Setting(name=str(entry.setting[0]), on=not entry.setting[1]))
    for turn in reversed(entry.turns or []):
        if turn["now"] is None:
            continue
        now = ledger.from_fields(turn["now"])
        current = _current(document, now, entry)
        was = ledger.from_fields(turn["was"]) if turn["was"] else None
        changes.append(Drop(old=current, reason=None) if was is None else Replace(old=current, new=was))
    if not changes:
        raise Conflict(f"{entry.place} changed since {entry.id}; nothing was undone")
    return changes


def _current(document: Document, now: Record, entry: StoredChange) -> Placed:
    """The record as this change left it; one that was edited since is not ours to take back."""
    found = [each for each in document.placed if as_meant(each.record, now)]
    if not found:
        name = "the record" if now.is_secret else repr(now.key or now.text)
        raise Conflict(f"{name} in {entry.place} changed since {entry.id}; nothing was undone")
    return found[-1]
