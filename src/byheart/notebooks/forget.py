"""forget: out of the file, out of log and backups, with a tombstone that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.documents import Document, Drop, Root
from byheart.domain.errors import ByheartError, NothingFound, Unreadable, Unsafe
from byheart.domain.records import Placed, Record, Scope, leaves, spoken
from byheart.domain.results import Hit, Receipt
from byheart.language import wording
from byheart.notebooks.commit import commit
from byheart.notebooks.merge import Decision
from byheart.text.deferred import module
from byheart.text.similarity import normalised
from byheart.workspace import ledger, tombstones
from byheart.workspace.context import JOURNAL, NOTEBOOKS, Context, every, find_one, handle_of, hits, holder, opened
from byheart.workspace.tombstones import Tombstone

if TYPE_CHECKING:
    from byheart.journal import experiences, files, purge
else:
    experiences = module("byheart.journal.experiences")
    files = module("byheart.journal.files")
    purge = module("byheart.journal.purge")

CANNOT_UNDO = "forgetting cannot be undone: the text also leaves the log and the backups"


def forget(context: Context, selector: str, scope: Scope | None, reason: str) -> Receipt:
    """Remove exactly one record. Raises Ambiguous or NothingFound, and then nothing is changed."""
    findings = [each for each in context.scanner.findings(reason) if each.severity not in ("command", "weak")]
    if findings:
        raise Unsafe(findings, "the reason")
    try:
        hit = find_one(context, selector, scope)
    except NothingFound:
        _refuse_unread(context, scope)
        past = _elsewhere(context, selector, scope, reason)
        if past is None:
            raise
        return past
    root = holder(context, hit)
    texts = _texts(hit.record)
    stone = _stone(context, hit.record, reason)
    copies, buried = 0, False
    uncleared: list[str] = []

    def clear_copies() -> None:
        nonlocal copies, buried
        # Tombstone first, copies next, the record last: a crash in between leaves nothing that could bring it back.
        if not buried:
            ledger.bury(context, root, stone)
            buried = True
        copies += ledger.scrub(context, root, hit.id, texts)
        if hit.dialect == JOURNAL:
            count, uncleared[:] = purge.purge(context, root, hit.record)
            copies += count
        count, kept = _lived_through(context, hit.record, texts, hit.id)
        copies += count
        uncleared.extend(kept)

    def decide(document: Document) -> Decision:
        drop = Drop(old=_still_there(document, hit), reason=reason, named=stone.key is not None)
        return Decision(changes=(drop,), action="forgotten", record=Record(text=""))

    done = commit(context, root, hit.dialect, decide, handle=lambda _: hit.id, private=True, before=clear_copies)
    elsewhere, failures = _scrubbed_elsewhere(context, root, hit, texts)
    copies += elsewhere
    notes = [f"also removed from {copies} other {'place' if copies == 1 else 'places'}"] if copies else []
    notes += [*done.notes, *uncleared, *failures, *_remaining(context, texts), *_in_journals(context, texts)]
    return Receipt(
        id=done.id,
        action="forgotten",
        scope=hit.scope,
        dialect=hit.dialect,
        path=hit.path,
        record=None,
        handle=hit.id,
        line=hit.line,
        notes=(*notes, CANNOT_UNDO),
    )


def _refuse_unread(context: Context, scope: Scope | None) -> None:
    """Refuse to say that something is gone while a notebook that may hold it cannot be read."""
    _, problems = every(context, [scope] if scope else list(context.roots), NOTEBOOKS)
    for each in problems:
        if each.rule == "unreadable":
            raise Unreadable(
                each.place or "",
                f"nothing was forgotten, since it cannot be read: {each.message}",
                "fix it and try again",
            )


def _elsewhere(context: Context, selector: str, scope: Scope | None, reason: str) -> Receipt | None:
    """Forget what the notebooks no longer hold, but the journal's logs, archive or summaries, or the history, still do."""
    for root in [context.roots[scope]] if scope else list(context.roots.values()):
        record = purge.find(context, root, selector)
        if record is None:
            continue
        texts = _texts(record)
        handle = handle_of(root.scope, JOURNAL, record.origin.id if record.origin else None, record.text)
        with context.files.locked(root):
            ledger.bury(context, root, _stone(context, record, reason))
            count, failures = purge.purge(context, root, record)
            count += ledger.scrub(context, root, handle, texts)
            gone, kept = _lived_through(context, record, texts, handle)
        count, failures = count + gone, [*failures, *kept]
        notes = [f"it no longer stood in MEMORY.md; removed from {count} other places", *failures]
        return Receipt(
            id="",
            action="forgotten",
            scope=root.scope,
            dialect=JOURNAL,
            path=str(root.documents[JOURNAL]),
            record=None,
            handle=handle,
            notes=(*notes, *_remaining(context, texts), *_in_journals(context, texts), CANNOT_UNDO),
        )
    return _only_in_log(context, selector, scope, reason)


def _scrubbed_elsewhere(context: Context, root: Root, hit: Hit, texts: list[str]) -> tuple[int, list[str]]:
    """Clear the other scopes' histories, which may repeat the text as a thing undone; one lock at a time."""
    count, failures = 0, []
    for other in context.roots.values():
        try:
            if other is not root and context.files.read(other.own(ledger.LOG)).text is not None:
                with context.files.locked(other):
                    count += ledger.scrub(context, other, hit.id, texts)
        except ByheartError as error:
            # The record itself is gone; that must not be reported as a failure.
            failures.append(f"the {other.scope.value} history could not be cleared: {error}")
    return count, failures


def _stone(context: Context, record: Record, reason: str) -> Tombstone:
    salt = context.salt()
    chosen = record.triple is None and record.key is not None
    if record.key is not None and wording.is_derived(record.key, record.text, record.value):
        chosen = False
    return Tombstone(
        key=record.key if chosen else None,
        key_digest=tombstones.digest(salt, record.key) if record.key else None,
        digest=tombstones.digest(salt, record.text),
        removed=context.clock().date().isoformat(),
        reason=reason,
        length=len(normalised(record.text)),
    )


def is_in_history(context: Context, selector: str, scope: Scope | None) -> bool:
    """Whether what no notebook holds any more still stands in a journal's old files or in the log."""
    roots = [context.roots[scope]] if scope else list(context.roots.values())
    return any(purge.find(context, root, selector) or _logged(context, root, selector) for root in roots)


def _logged(context: Context, root: Root, selector: str) -> tuple[ledger.StoredChange, Record] | None:
    """The first entry of a log that holds what a name or a text means, with the record."""
    for entry in ledger.entries(context, root):
        sides = [side for turn in entry.turns or [] for side in (turn["was"], turn["now"]) if side]
        for record in (ledger.from_fields(side) for side in sides):
            if selector in (entry.handle, record.key) or normalised(selector) == normalised(record.text):
                return entry, record
    return None


def _only_in_log(context: Context, selector: str, scope: Scope | None, reason: str) -> Receipt | None:
    """Forget what the files no longer hold but the log still does: something undone, or replaced."""
    for root in [context.roots[scope]] if scope else list(context.roots.values()):
        with context.files.locked(root):
            found = _logged(context, root, selector)
            if found is None:
                continue
            entry, record = found
            ledger.bury(context, root, _stone(context, record, reason))
            count = ledger.scrub(context, root, entry.handle or "", _texts(record))
            return Receipt(
                id="",
                action="forgotten",
                scope=root.scope,
                dialect=entry.dialect,
                path=str(root.own(ledger.LOG)),
                record=None,
                handle=entry.handle,
                notes=(f"it was only in the history: {count} {'place' if count == 1 else 'places'}", CANNOT_UNDO),
            )
    return None


def _lived_through(context: Context, record: Record, texts: list[str], handle: str) -> tuple[int, list[str]]:
    """Take it out of the stores of experiences, where there are any."""
    if not any(context.files.size(files.journal_files(context, root).experiences) for root in context.roots.values()):
        return 0, []
    return experiences.forgotten(context, texts, {handle, record.origin.id if record.origin else ""} - {""})


def _still_there(document: Document, hit: Hit) -> Placed:
    """The record as it stands now; a person may have moved it since it was found."""
    same = [each for each in document.placed if each.record == hit.record]
    if not same:
        raise NothingFound(f"{hit.record.key or hit.id!r} changed or was removed in the meantime; nothing was removed")
    # Of equal entries the one nearest to where it was found is meant.
    return min(same, key=lambda each: abs(each.line - hit.line))


def _texts(record: Record) -> list[str]:
    """Every text that would bring the record back to a reader's mind."""
    return list(
        dict.fromkeys(text for text in (record.text, spoken(record.value), *leaves(record.value)) if text.strip())
    )


def _in_journals(context: Context, texts: list[str]) -> list[str]:
    """Where the text still stands in the journals' other files; nothing is looked for where there is no journal."""
    if not any(context.files.size(root.documents[JOURNAL]) for root in context.roots.values()):
        return []
    return purge.remaining(context, texts)


def _remaining(context: Context, texts: list[str]) -> list[str]:
    """Where the text still stands: in prose around the block, or in another record. Said, not changed."""
    notes = []
    # A word as short as "yes" stands everywhere and tells nobody anything.
    texts = [text for text in texts if len(text) >= 6]
    for root in context.roots.values():
        for name in root.documents:
            try:
                text = context.files.read(root.documents[name], context.most_bytes(name)).text
            except ByheartError:
                continue
            if text is None or not any(needle in text for needle in texts):
                continue
            each = opened(context, root, name)
            others = [other.id for other in hits(each) if any(needle in other.record.text for needle in texts)]
            if others:
                notes.append(f"{each.place} still has it in {', '.join(others)}")
            else:
                at = min(text.find(needle) for needle in texts if needle in text)
                line = text.count("\n", 0, at) + 1
                notes.append(f"{each.place}:{line} still has it outside the entries")
    return notes
