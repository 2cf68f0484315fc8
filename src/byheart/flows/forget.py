"""forget: out of the file, out of log and backups, with a tombstone that says so."""

from __future__ import annotations

from byheart.domain.changes import Drop
from byheart.domain.documents import Document
from byheart.domain.errors import NothingFound
from byheart.domain.records import Placed, Record, Scope, Value, spoken
from byheart.domain.results import Hit, Receipt
from byheart.flows import ledger
from byheart.flows.commit import commit
from byheart.flows.desk import Desk, find_one, hits, opened
from byheart.policies import forgetting
from byheart.policies.forgetting import Tombstone
from byheart.policies.merging import Decision

CANNOT_UNDO = "forgetting cannot be undone: the text also leaves the log and the backups"


def forget(desk: Desk, selector: str, scope: Scope | None, reason: str) -> Receipt:
    """Remove exactly one record. Raises Ambiguous or NothingFound, and then nothing is changed."""
    hit = find_one(desk, selector, scope)
    root = desk.roots[hit.scope]
    today = desk.clock().date()
    stone = Tombstone(
        key=hit.record.key,
        digest=forgetting.digest(desk.salt(), hit.record.text),
        removed=today.isoformat(),
        reason=reason,
    )

    texts = _texts(hit.record)
    cleaned = 0

    def decide(document: Document) -> Decision:
        nonlocal cleaned
        old = _still_there(document, hit)
        # Tombstone first, copies next, the record last: a crash in between leaves nothing that could bring it back.
        if not cleaned:
            ledger.bury(desk, root, stone)
        cleaned += ledger.scrub(desk, root, hit.id, texts)
        return Decision(changes=(Drop(old=old, reason=reason),), action="forgotten", record=Record(text=""))

    done = commit(desk, root, hit.dialect, decide, handle=lambda _: hit.id, private=True)
    notes = [f"removed from {cleaned} places in log and backups as well"] if cleaned else []
    notes += _remaining(desk, texts)
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


def _still_there(document: Document, hit: Hit) -> Placed:
    """The record as it stands now; a person may have moved it since it was found."""
    same = [each for each in document.placed if each.record == hit.record]
    if not same:
        raise NothingFound(f"{hit.record.key or hit.id!r} changed or went away in between; nothing was removed")
    # Of equal entries the one nearest to where it was found is meant.
    return min(same, key=lambda each: abs(each.line - hit.line))


def _texts(record: Record) -> list[str]:
    """Every text that would bring the record back to a reader's mind."""
    found = [record.text, spoken(record.value)]

    def leaves(value: Value) -> None:
        match value:
            case str():
                found.append(value)
            case list():
                for part in value:
                    leaves(part)
            case dict():
                for part in value.values():
                    leaves(part)

    leaves(record.value)
    # A word as short as "yes" stands everywhere; blanking it would harm other entries.
    return list(dict.fromkeys(text for text in found if len(text) >= 6))


def _remaining(desk: Desk, texts: list[str]) -> list[str]:
    """Where the text still stands: in prose around the block, or in another record. Said, not changed."""
    notes = []
    for root in desk.roots.values():
        for name in root.documents:
            text = desk.files.read(root.documents[name]).text
            if text is None or not any(needle in text for needle in texts):
                continue
            each = opened(desk, root, name)
            others = [other.id for other in hits(each) if any(needle in other.record.text for needle in texts)]
            if others:
                notes.append(f"{each.place} still has it in {', '.join(others)}")
            else:
                at = min(text.find(needle) for needle in texts if needle in text)
                line = text.count("\n", 0, at) + 1
                notes.append(f"{each.place}:{line} still has it outside the entries")
    return notes
