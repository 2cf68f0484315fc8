"""remember, where the journal is what was meant: the sentence becomes a record of its kind's category."""

from __future__ import annotations

from byheart.domain.records import Record, Scope
from byheart.domain.requests import Request
from byheart.domain.results import Receipt
from byheart.journal import compact
from byheart.journal.append import append
from byheart.workspace import foreign
from byheart.workspace.context import JOURNAL, PROFILE, Context, handle_of, opened


def noted(context: Context, scope: Scope, record: Record, request: Request, lost: tuple[str, ...]) -> Receipt:
    """Append what is to be remembered, and say so as every other notebook does."""
    fitted = foreign.fitted(record, JOURNAL)
    origin = fitted.origin
    assert origin is not None
    raw: dict[str, object] = {
        "category": origin.category,
        "text": fitted.text,
        "provenance": {"sourceChannel": "operator" if request.asked else "agent", "confidence": origin.certainty or 1},
    }
    done = append(context, raw, scope, asked=request.asked)
    outcome = compact.after_append(context, scope)
    notes = list(done.notes)
    if done.trimmed:
        notes.append(f"{done.trimmed} of the oldest records went to the archive")
    if outcome is not None and outcome.ran:
        notes.append(f"{outcome.records_compacted} old records were compacted")
    handle = handle_of(scope, JOURNAL, done.id, fitted.text)
    return Receipt(
        id=done.receipt,
        action="added",
        scope=scope,
        dialect=JOURNAL,
        path=done.path,
        record=fitted,
        handle=handle,
        lost=lost,
        notes=tuple(context.scanner.redacted(each) for each in notes),
        announce=request.asked or opened(context, context.roots[scope], PROFILE).document.settings.announce_writes,
        remove_with=f"byheart forget {handle}",
        undo_with=f"byheart undo {done.receipt}" if done.receipt else None,
    )
