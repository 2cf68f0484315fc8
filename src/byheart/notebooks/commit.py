"""The one way a document changes: lock, read, decide, plan, verify, swap, log."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from byheart.domain.documents import (
    SEVERAL_BLOCKS,
    Add,
    Change,
    Document,
    Drop,
    Place,
    Replace,
    Root,
    Setting,
    Splice,
    spliced,
)
from byheart.domain.errors import ByheartError, Conflict, Refused, Unnatural, Unwritable
from byheart.domain.ports import Dialect, Snapshot
from byheart.domain.records import Record
from byheart.domain.values import dataclass
from byheart.notebooks.merge import Decision
from byheart.text.lines import unescaped
from byheart.text.slugs import content_digest
from byheart.workspace import ledger
from byheart.workspace.context import Context, vouched

# A person who keeps saving while we write wins a few rounds; then we say so instead of spinning.
_ROUNDS = 12
_SET_ASIDE = "the file had other yaml blocks; they are below its notes now, as they were, and nothing reads them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What a commit did: the receipt's id, the decision, and the document as it now stands."""

    id: str
    decision: Decision
    document: Document
    written: bool
    recovered: bool = False
    created: bool = False
    undoable: bool = False
    notes: tuple[str, ...] = ()


def commit(
    context: Context,
    root: Root,
    name: str,
    decide: Callable[[Document], Decision],
    *,
    handle: Callable[[Record], str | None] = lambda _: None,
    create: bool = False,
    private: bool = False,
    before: Callable[[], None] = lambda: None,
) -> Committed:
    """Change one document by what `decide` says about its current text; retried when a person saves in between.

    `before` runs once the new text is known to be sound, and before it is written. A private change is logged without any
    text, so it cannot be undone.
    """
    with context.files.locked(root):
        for _ in range(_ROUNDS):
            try:
                return _attempt(context, root, name, decide, handle, before, create=create, private=private)
            except Conflict as conflict:
                last = conflict
        raise Conflict(f"{last}; it keeps changing; try again in a moment")


def _attempt(
    context: Context,
    root: Root,
    name: str,
    decide: Callable[[Document], Decision],
    handle: Callable[[Record], str | None],
    before: Callable[[], None],
    *,
    create: bool,
    private: bool,
) -> Committed:
    dialect, place = context.dialects[name], root.documents[name]
    snapshot = context.files.read(place, context.most_bytes(name))
    rival = root.rivals.get(name)
    if snapshot.text is None and rival is not None and _has_moved(context, rival):
        # A new one here would stand beside the one that everybody else writes to by now.
        raise Conflict(f"the notebook moved to {rival} in the meantime")
    _refuse_strange(context, place, snapshot)
    document, recovered = usable(dialect, place, snapshot)
    decision = decide(document)
    created = snapshot.text is None
    if not (decision.changes or recovered or (create and created)):
        return Committed(id="", decision=decision, document=document, written=False)
    is_crowded = bool(decision.changes) and not recovered and document.has(SEVERAL_BLOCKS)
    if is_crowded:
        # A write leaves exactly one block; what else the file had is kept as it was, where nothing reads it.
        document, recovered = dialect.parse(dialect.recovered(document.text)), True
        decision = decide(document)
    splices = dialect.plan(document, decision.changes, context.clock().date())
    text = spliced(document.text, splices)
    after = dialect.reparse(document, text, min((each.start for each in splices), default=0))
    verify(place, document, after, decision.changes)
    _refuse_large(context, place, name, document.text, text)
    backup = None
    # The recovered file itself holds all old content, so a secret in it is not copied to a second place.
    if recovered and snapshot.text is not None and not context.scanner.secrets(snapshot.text):
        backup = ledger.back_up(context, root, place, snapshot.text)
    before()
    _put(context, place, snapshot, text)
    vouch(context, place, name, document, after)
    pieces, turns = None, None
    if not private and not recovered:
        pieces, turns = _account(context, document.text, splices, decision.changes)
    entry = ledger.StoredChange(
        id=context.token(),
        at=context.clock().isoformat(timespec="microseconds"),
        action="recovered" if recovered and not decision.changes else decision.action,
        dialect=name,
        base=place.base,
        path=place.path,
        handle=handle(decision.record),
        before=snapshot.digest,
        after=content_digest(text),
        pieces=pieces,
        turns=turns,
        backup=backup,
        setting=_setting(decision.changes),
        scrubbed=private,
    )
    return Committed(
        id=entry.id,
        decision=decision,
        document=after,
        written=True,
        recovered=recovered and not created and not is_crowded,
        created=created,
        undoable=entry.undoable,
        notes=(*_logged(context, root, entry), *((_SET_ASIDE,) if is_crowded else ())),
    )


def _refuse_large(context: Context, place: Place, name: str, before: str, text: str) -> None:
    """Refuse to let a file grow beyond what is read of it: nobody could undo or forget what stands in it then."""
    most = context.most_bytes(name) or context.limits.file_bytes
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > most and size > len(before.encode("utf-8", "surrogatepass")):
        setting = "journal.file_bytes" if context.most_bytes(name) else "store.file_bytes"
        raise Refused(
            f"not stored: {place} would have {size:,} bytes and may have {most:,} ({setting}); forget what is old, or raise the setting"
        )


def _has_moved(context: Context, rival: Place) -> bool:
    """Whether the user moved the notebook into the repository while we waited for the lock. One that a pull brought is not
    theirs, and takes nobody's place."""
    if context.files.read(rival).text is None:
        return False
    context.trust.renew()
    return context.trust.allows(rival)


def _refuse_strange(context: Context, place: Place, snapshot: Snapshot) -> None:
    """Refuse to write into a repository's file that the user has not made and does not trust."""
    if snapshot.text is not None and not context.trust.allows(place):
        raise Conflict(f"{place} came with the repository; look at it, then run: byheart trust")


def vouch(context: Context, place: Place, name: str, before: Document, after: Document) -> None:
    """Whatever byheart writes into a repository is the user's."""
    if context.trust.covers(place):
        known = set(vouched(name, before))
        context.trust.vouch(text for text in vouched(name, after) if text not in known)


def usable(dialect: Dialect, place: Place, snapshot: Snapshot) -> tuple[Document, bool]:
    """The document to plan against, and whether it had to be recovered from what is on disk."""
    text = snapshot.text if snapshot.text is not None else dialect.blank()
    document = dialect.parse(text)
    if document.intact:
        return document, False
    merging = next((each for each in document.problems if each.rule == "unfinished-merge"), None)
    if merging is not None:
        raise Unnatural(f"{place}:{merging.line}", merging.message, "finish it and try again")
    refused = next((each for each in document.problems if each.rule == "unsupported-yaml"), None)
    if refused is not None:
        raise Unnatural(f"{place}:{refused.line}", refused.message, "write the value out in full and try again")
    return dialect.parse(dialect.recovered(text)), True


def verify(place: Place, before: Document, after: Document, changes: Sequence[Change]) -> None:
    """Refuse a text that does not say what was decided: every other record must be exactly as it was."""
    gone = {change.old.start for change in changes if isinstance(change, Drop)}
    replaced = {change.old.start: change.new for change in changes if isinstance(change, Replace)}
    kept = [(each.start, each.record) for each in before.placed if each.start not in gone]
    expected = [(replaced[start], False) if start in replaced else (record, True) for start, record in kept]
    expected += [(change.record, False) for change in changes if isinstance(change, Add)]
    found = [each.record for each in after.placed]
    sound = after.intact and len(found) == len(expected)
    if sound:
        pairs = zip(found, expected, strict=True)
        sound = all(one == other if untouched else as_meant(one, other) for one, (other, untouched) in pairs)
    if not sound:
        raise Unwritable(str(place), "the change cannot be made without harming other entries", "run: byheart check")


def as_meant(found: Record, wanted: Record) -> bool:
    """Whether a record reads back as it was meant, in all that its format can spell."""
    if wanted.origin is not None:
        return (found.origin, found.text) == (wanted.origin, wanted.text)
    if wanted.triple is not None:
        return (found.triple, found.text, found.kind, found.weight, found.tags) == (
            wanted.triple, wanted.text, wanted.kind, wanted.weight, wanted.tags,
        )  # fmt: skip
    value = wanted.value if wanted.value is not None else wanted.text or None
    return (found.key, found.value, found.confidence, found.tags, found.source, found.added) == (
        wanted.key, value, wanted.confidence, wanted.tags, wanted.source, wanted.added,
    )  # fmt: skip


def _put(context: Context, place: Place, snapshot: Snapshot, text: str) -> None:
    old = snapshot.text
    if old and text.startswith(old) and text != old:
        # Only the end differs: one append leaves every earlier byte alone.
        context.files.append(place, text[len(old) :], snapshot.digest)
    else:
        context.files.write(place, text, snapshot.digest)


def _account(
    context: Context, text: str, splices: list[Splice], changes: Sequence[Change]
) -> tuple[list[ledger.LoggedSplice] | None, list[ledger.RecordChange] | None]:
    """What undo needs, or nothing: a person may have typed a secret, and a copy in the log would outlive the original."""
    ordered = sorted(splices, key=lambda each: (each.start, each.end))
    pieces: list[ledger.LoggedSplice] = [
        {"at": each.start, "old": text[each.start : each.end], "new": each.text} for each in ordered
    ]
    turns = [_turn(change) for change in changes if not isinstance(change, Setting)]
    sides = [side for turn in turns for side in (turn["was"], turn["now"]) if side]
    spoken = [f"{side.get('key')} = {side.get('text')}" for side in sides]
    everything = "\n".join([*(piece["old"] for piece in pieces), *spoken, *(json.dumps(side) for side in sides)])
    plain = unescaped(everything)
    secret = context.scanner.secrets(everything) or (plain != everything and context.scanner.secrets(plain))
    return (None, None) if secret else (pieces, turns)


def _turn(change: Change) -> ledger.RecordChange:
    match change:
        case Add():
            return {"was": None, "now": ledger.as_fields(change.record)}
        case Replace():
            return {"was": ledger.as_fields(change.old.record), "now": ledger.as_fields(change.new)}
        case Drop():
            return {"was": ledger.as_fields(change.old.record), "now": None}
        case Setting():
            return {"was": None, "now": None}


def _logged(context: Context, root: Root, entry: ledger.StoredChange) -> tuple[str, ...]:
    """Log a change that has been made. It stands whether or not the log can be written; then that is said."""
    try:
        ledger.record(context, root, entry)
    except ByheartError as error:
        return (f"it is stored, but the log could not be written: {error}",)
    return ()


def _setting(changes: Sequence[Change]) -> list[str | bool] | None:
    for change in changes:
        if isinstance(change, Setting):
            return [change.name, change.on]
    return None
