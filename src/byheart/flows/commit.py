"""The one way a document changes: lock, read, decide, plan, verify, swap, log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from byheart.domain.changes import Add, Change, Drop, Replace, Setting, Splice, spliced
from byheart.domain.documents import Document
from byheart.domain.errors import Conflict, Unnatural, Unwritable
from byheart.domain.ports import Dialect, Snapshot
from byheart.domain.records import Record
from byheart.domain.roots import Place, Root
from byheart.flows import ledger
from byheart.flows.desk import Desk
from byheart.policies.merging import Decision

# A person who keeps saving while we write wins a few rounds; then we say so instead of spinning.
_ROUNDS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What a commit did: the receipt's id, the decision, and the document as it now stands."""

    id: str
    decision: Decision
    document: Document
    written: bool
    recovered: bool = False
    created: bool = False


def commit(
    desk: Desk,
    root: Root,
    name: str,
    decide: Callable[[Document], Decision],
    *,
    handle: Callable[[Record], str | None] = lambda _: None,
    create: bool = False,
    private: bool = False,
) -> Committed:
    """Change one document by what `decide` says about its current text; retried when a person saves in between.

    A private change is logged without any text, so it cannot be undone.
    """
    with desk.files.locked(root):
        for _ in range(_ROUNDS):
            try:
                return _attempt(desk, root, name, decide, handle, create=create, private=private)
            except Conflict as conflict:
                last = conflict
        raise Conflict(f"{last}; it kept changing, try again in a moment")


def _attempt(
    desk: Desk,
    root: Root,
    name: str,
    decide: Callable[[Document], Decision],
    handle: Callable[[Record], str | None],
    *,
    create: bool,
    private: bool,
) -> Committed:
    dialect, place = desk.dialects[name], root.documents[name]
    snapshot = desk.files.read(place)
    document, recovered = usable(dialect, place, snapshot)
    decision = decide(document)
    created = snapshot.text is None
    wanted = bool(decision.changes) or recovered or (create and created)
    if not wanted:
        return Committed(id="", decision=decision, document=document, written=False)
    splices = dialect.plan(document, decision.changes, desk.clock().date())
    text = spliced(document.text, splices)
    after = dialect.reparse(document, text, min((each.start for each in splices), default=0))
    _verify(place, document, after, decision.changes)
    backup = None
    # The recovered file itself holds all old content, so a secret in it is not copied to a second place.
    if recovered and snapshot.text and not desk.scanner.secrets(snapshot.text):
        backup = ledger.back_up(desk, root, place, snapshot.text)
    written = _put(desk, place, snapshot, text)
    entry_id = desk.token()
    pieces = None if private or recovered else _pieces(desk, document.text, splices)
    telling = pieces is not None
    entry = ledger.Entry(
        id=entry_id,
        at=desk.clock().isoformat(timespec="seconds"),
        action="recovered" if recovered and not decision.changes else decision.action,
        dialect=name,
        base=place.base,
        path=place.path,
        handle=handle(decision.record),
        before=snapshot.digest,
        after=written.digest,
        pieces=pieces,
        was=ledger.as_fields(_before(decision.changes)) if telling else None,
        now=ledger.as_fields(decision.record) if telling and decision.record.text else None,
        backup=backup,
        setting=_setting(decision.changes),
        scrubbed=private,
    )
    ledger.record(desk, root, entry)
    return Committed(
        id=entry_id,
        decision=decision,
        document=after,
        written=True,
        recovered=recovered and not created,
        created=created,
    )


def usable(dialect: Dialect, place: Place, snapshot: Snapshot) -> tuple[Document, bool]:
    """The document to plan against, and whether it had to be recovered from what is on disk."""
    text = snapshot.text if snapshot.text is not None else dialect.blank()
    document = dialect.parse(text)
    if document.intact:
        return document, False
    refused = next((each for each in document.problems if each.rule == "unsupported-yaml"), None)
    if refused is not None:
        raise Unnatural(f"{place}:{refused.line}", refused.message, "write the value out in full and try again")
    return dialect.parse(dialect.recovered(text)), True


def _put(desk: Desk, place: Place, snapshot: Snapshot, text: str) -> Snapshot:
    before = snapshot.text
    if before and text.startswith(before) and text != before:
        # Only the end differs: one append leaves every earlier byte alone.
        desk.files.append(place, text[len(before) :], snapshot.digest)
        return desk.files.read(place)
    return desk.files.write(place, text, snapshot.digest)


def _verify(place: Place, before: Document, after: Document, changes: tuple[Change, ...]) -> None:
    """Refuse to write a text that does not say what was decided: every other record must be as it was."""
    touched = {change.old.start for change in changes if isinstance(change, Replace | Drop)}
    added = [change.record for change in changes if isinstance(change, Add)]
    replaced = {change.old.start: change.new for change in changes if isinstance(change, Replace)}
    expected = [
        replaced.get(each.start, each.record)
        for each in before.placed
        if each.start not in touched or each.start in replaced
    ]
    found = [each.record for each in after.placed]
    same = after.intact and len(found) == len(expected) + len(added)
    if same:
        same = all(_alike(one, other) for one, other in zip(found, expected + added, strict=True))
    if not same:
        raise Unwritable(str(place), "the change cannot be made without harming other entries", "run: byheart check")


def _alike(found: Record, wanted: Record) -> bool:
    if found == wanted:
        return True
    wanted_value = wanted.value if wanted.value is not None else wanted.text
    found_value = found.value if found.value is not None else found.text
    return (
        found.key in (wanted.key, None)
        or (wanted.triple is not None and found.triple == wanted.triple)
        or (found_value == wanted_value)
    )


def _pieces(desk: Desk, text: str, splices: list[Splice]) -> list[ledger.Piece] | None:
    ordered = sorted(splices, key=lambda each: (each.start, each.end))
    pieces: list[ledger.Piece] = [
        {"at": each.start, "old": text[each.start : each.end], "new": each.text} for each in ordered
    ]
    # What a person typed by hand may hold a secret; a copy of it in the log would outlive the original.
    if desk.scanner.secrets("\n".join(piece["old"] for piece in pieces)):
        return None
    return pieces


def _before(changes: tuple[Change, ...]) -> Record | None:
    return next((change.old.record for change in changes if isinstance(change, Replace | Drop)), None)


def _setting(changes: tuple[Change, ...]) -> list[str | bool] | None:
    for change in changes:
        if isinstance(change, Setting):
            return [change.name, change.on]
    return None
