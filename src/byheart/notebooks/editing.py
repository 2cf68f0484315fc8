"""Editing memory by hand through an interface: one record in other words, or a whole file, by the laws of any other write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.errors import Conflict, Refused, Unnatural, Unsafe
from byheart.domain.records import Record, Scope
from byheart.domain.results import Receipt
from byheart.domain.values import replace
from byheart.notebooks.commit import commit, vouch
from byheart.notebooks.merge import Decision
from byheart.notebooks.request import prepared
from byheart.text.deferred import module
from byheart.text.slugs import content_digest
from byheart.workspace import ledger
from byheart.workspace.context import Context, find_one, handle_of, holder

if TYPE_CHECKING:
    from byheart.domain import documents, records
    from byheart.domain.documents import Document, Place, Root
    from byheart.domain.records import Placed
else:
    documents = module("byheart.domain.documents")
    records = module("byheart.domain.records")


def reword(
    context: Context, selector: str, text: str, scope: Scope | None = None, *, was: str | None = None
) -> Receipt:
    """Put one record of the profile or the rules into other words, where it stands; with `was`, only if it still says that. Raises
    NothingFound, Ambiguous, Unsafe, Refused, Conflict."""
    hit = find_one(context, selector, scope)
    if was is not None and hit.record.text != was:
        raise Conflict(f"the line was changed in the meantime; it says {hit.record.text!r} now")
    if isinstance(hit.record.value, dict | list):
        raise Refused(f"{hit.path}:{hit.line} holds more than a sentence; edit the file")
    wanted, _, _ = prepared(context, records.Request(text=text, scope=hit.scope, to=hit.dialect, kind=hit.record.kind))
    root = holder(context, hit)

    def decide(document: Document) -> Decision:
        old = _standing(document, hit.record)
        if hit.dialect == "triples":
            new = replace(old.record, text=wanted.text, triple=wanted.triple, kind=wanted.kind)
        else:
            new = replace(old.record, text=wanted.text, value=wanted.text)
        if new == old.record:
            return Decision(changes=(), action="unchanged", record=old.record)
        return Decision(changes=(documents.Replace(old=old, new=new),), action="reworded", record=new)

    done = commit(context, root, hit.dialect, decide, handle=lambda record: _handle(hit.scope, hit.dialect, record))
    return Receipt(
        id=done.id,
        action=done.decision.action,
        scope=hit.scope,
        dialect=hit.dialect,
        path=str(root.documents[hit.dialect]),
        record=done.decision.record,
        handle=_handle(hit.scope, hit.dialect, done.decision.record),
        undo_with=f"byheart undo {done.id}" if done.undoable else None,
    )


def _handle(scope: Scope, dialect: str, record: Record) -> str:
    return handle_of(scope, dialect, record.key, record.text)


def _standing(document: Document, record: Record) -> Placed:
    found = [each for each in document.placed if each.record == record]
    if not found:
        raise Conflict("the line was changed in the meantime; look at it again")
    return found[-1]


def write_file(context: Context, root: Root, place: Place, text: str, base: str, *, dialect: str = "") -> Receipt:
    """Put a whole file in the place of the one with the digest `base`, as a person edited it. A file of records has to stay readable, and
    nothing new in it may be a secret. Raises Conflict where the file is another by now, Unsafe and Unnatural."""
    with context.files.locked(root):
        snapshot = context.files.read(place, context.most_bytes(dialect) if dialect else None)
        if snapshot.digest != base:
            raise Conflict(f"{place} was changed in the meantime; both versions are kept, look at them and save again")
        old = snapshot.text or ""
        _refuse_new_secrets(context, old, text)
        if dialect:
            _refuse_broken(context, place, dialect, old, text)
        after = context.files.write(place, text, snapshot.digest)
        if dialect:
            known = context.dialects[dialect]
            vouch(context, place, dialect, known.parse(old or known.blank()), known.parse(text))
        entry = _entry(context, place, dialect, old, text, snapshot.digest, after.digest)
        ledger.record(context, root, entry)
    undo = f"byheart undo {entry.id}" if entry.undoable else None
    return Receipt(id=entry.id, action="edited", scope=root.scope, dialect=dialect or "file", path=str(place), record=None, undo_with=undo)  # fmt: skip


def _refuse_new_secrets(context: Context, old: str, text: str) -> None:
    known = set(old.split("\n"))
    fresh = "\n".join(line if line not in known else "" for line in text.split("\n"))
    found = [each for each in context.scanner.findings(fresh) if each.severity == "secret"]
    if found:
        raise Unsafe(found)


def _refuse_broken(context: Context, place: Place, dialect: str, old: str, text: str) -> None:
    """Refuse a text that has a problem which the old one had not."""
    known = context.dialects[dialect]
    before = {(each.rule, each.message) for each in known.parse(old or known.blank()).problems}
    document = known.parse(text)
    wrong = next((each for each in document.problems if (each.rule, each.message) not in before), None)
    if wrong is not None or not document.intact:
        line, message = (wrong.line, wrong.message) if wrong else (1, "it cannot be read")
        raise Unnatural(f"{place}:{line}", message, "fix that line and save again")


def _entry(
    context: Context, place: Place, dialect: str, old: str, text: str, before: str, after: str
) -> ledger.StoredChange:
    """The change as the log keeps it: the stretch that differs, unless a secret of the person's stood there."""
    start = _alike(old, text)
    end = _alike(old[start:][::-1], text[start:][::-1])
    gone, new = old[start : len(old) - end], text[start : len(text) - end]
    pieces: list[ledger.LoggedSplice] | None = [{"at": start, "old": gone, "new": new}]
    if not dialect or context.scanner.secrets(f"{gone}\n{new}"):
        pieces = None
    at = context.clock().isoformat(timespec="microseconds")
    return ledger.StoredChange(
        id=context.token(),
        at=at,
        action="edited",
        dialect=dialect or "file",
        base=place.base,
        path=place.path,
        before=before,
        after=after or content_digest(text),
        pieces=pieces,
    )


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin alike with."""
    shorter = min(len(one), len(other))
    return next((place for place in range(shorter) if one[place] != other[place]), shorter)
