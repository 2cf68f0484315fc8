"""log and undo."""

from __future__ import annotations

from dataclasses import replace

from byheart.domain.changes import Drop, Replace, Setting, Splice, spliced
from byheart.domain.documents import Document
from byheart.domain.errors import Conflict, NothingFound, NotUndoable
from byheart.domain.records import Record, Scope
from byheart.domain.results import LogEntry, Receipt
from byheart.domain.roots import Place, Root
from byheart.flows import ledger
from byheart.flows.desk import Desk
from byheart.flows.ledger import Entry
from byheart.policies.merging import Decision


def log(desk: Desk, scope: Scope, most: int) -> list[LogEntry]:
    """The newest changes first."""
    return ledger.shown(ledger.entries(desk, desk.roots[scope]))[:most]


def undo(desk: Desk, receipt: str | None, scope: Scope | None) -> Receipt:
    """Take back one change: the named one, or the last. Raises NotUndoable, Conflict or NothingFound."""
    root, found, entry = _wanted(desk, receipt, scope)
    undone = {each.undoes for each in found if each.undoes}
    if entry.id in undone:
        raise NotUndoable(f"{entry.id} has been undone already")
    if entry.action == "forgotten":
        raise NotUndoable(
            f"{entry.id} was a forget, which cannot be undone: its text was removed everywhere; name an earlier receipt (see: byheart log)"
        )
    if entry.undoes:
        raise NotUndoable(f"{entry.id} is an undo itself; remember it again instead")
    if not entry.undoable:
        raise NotUndoable(f"{entry.id} cannot be undone: what it changed was forgotten, or held a secret")
    with desk.files.locked(root):
        snapshot = desk.files.read(entry.place)
        exact = snapshot.digest == entry.after
        text = _restored(desk, root, entry, snapshot.text or "") if exact else _inverted(desk, entry, snapshot.text)
        if exact and not entry.before:
            desk.files.remove(entry.place, snapshot.digest)
            after = ""
        else:
            after = desk.files.write(entry.place, text, snapshot.digest).digest
        done = Entry(
            id=desk.token(),
            at=desk.clock().isoformat(timespec="seconds"),
            action="undone",
            dialect=entry.dialect,
            base=entry.base,
            path=entry.path,
            handle=entry.handle,
            before=snapshot.digest,
            after=after,
            undoes=entry.id,
        )
        ledger.record(desk, root, done)
    return Receipt(
        id=done.id,
        action="undone",
        scope=root.scope,
        dialect=entry.dialect,
        path=str(entry.place),
        record=None,
        handle=entry.handle,
        notes=(f"{entry.action} {entry.id} is undone; the file is as it was before",)
        if exact
        else (f"{entry.action} {entry.id} is undone; what changed since then is kept",),
    )


def _wanted(desk: Desk, receipt: str | None, scope: Scope | None) -> tuple[Root, list[Entry], Entry]:
    for root in [desk.roots[scope]] if scope else list(desk.roots.values()):
        found = ledger.entries(desk, root)
        if receipt is None:
            undone = {each.undoes for each in found if each.undoes}
            left = [each for each in found if not each.undoes and each.id not in undone]
            if left:
                return root, found, left[-1]
            if scope or root.scope is Scope.LOCAL:
                break
        else:
            match = next((each for each in found if each.id == receipt), None)
            if match is not None:
                return root, found, match
    if receipt is None:
        raise NothingFound("there is nothing to undo")
    raise NothingFound(f"no change has the receipt {receipt!r}; see: byheart log")


def _restored(desk: Desk, root: Root, entry: Entry, text: str) -> str:
    """The bytes from before: the file is exactly as this change left it."""
    if entry.backup is not None:
        return ledger.restored(desk, root, entry.backup)
    splices, shift = [], 0
    for piece in entry.pieces or []:
        start = piece["at"] + shift
        splices.append(Splice(start, start + len(piece["new"]), piece["old"]))
        shift += len(piece["new"]) - len(piece["old"])
    return spliced(text, splices)


def _inverted(desk: Desk, entry: Entry, text: str | None) -> str:
    """The file changed since: take back what this change meant, and keep everything else."""
    dialect = desk.dialects[entry.dialect]
    document = dialect.parse(text if text is not None else dialect.blank())
    if not document.intact or entry.backup is not None:
        raise Conflict(f"{entry.place} changed since {entry.id}; nothing was undone")
    decision = _inverse(entry, document, entry.place)
    return spliced(document.text, dialect.plan(document, decision.changes, desk.clock().date()))


def _inverse(entry: Entry, document: Document, place: Place) -> Decision:
    if entry.setting:
        flipped = Setting(name=str(entry.setting[0]), on=not entry.setting[1])
        return Decision(changes=(flipped,), action="undone", record=Record(text=""))
    was = ledger.from_fields(entry.was) if entry.was else None
    now = ledger.from_fields(entry.now) if entry.now else None
    if now is None:
        raise Conflict(f"{place} changed since {entry.id}; nothing was undone")
    current = [each for each in document.placed if _as_written(each.record, now)]
    if not current:
        raise Conflict(f"{now.key or now.text!r} in {place} changed since {entry.id}; nothing was undone")
    change = Drop(old=current[-1], reason=None) if was is None else Replace(old=current[-1], new=was)
    return Decision(changes=(change,), action="undone", record=now)


def _as_written(found: Record, written: Record) -> bool:
    """Equal in all that the file can spell; a value-less record is compared by its text."""
    if found.triple is not None:
        return (found.triple, found.text, found.weight) == (written.triple, written.text, written.weight)
    return replace(found, text="") == replace(written, text="", value=found.value, triple=None, weight=1) and (
        found.value == (written.value if written.value is not None else written.text)
    )
