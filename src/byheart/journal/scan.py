"""integrityScan: what is wrong with a journal, as findings; nothing is repaired here."""

from __future__ import annotations

from byheart.domain.documents import Document
from byheart.domain.records import Scope
from byheart.domain.results import Finding
from byheart.domain.roots import Place
from byheart.domain.values import replace
from byheart.journal import integrity
from byheart.journal.files import journal_files, parsed, read
from byheart.journal.integrity import CONTRADICTION, DUPLICATE, Trouble
from byheart.workspace.context import Context

_WORDS = {CONTRADICTION: "opposes line {other}: {about}", DUPLICATE: "repeats line {other}"}


def integrity_scan(context: Context, scope: Scope) -> list[Finding]:
    """Contradictions, duplicates, stale records and broken lines of one MEMORY.md, by line."""
    own_journal = journal_files(context, context.roots[scope])
    document = parsed(context, read(context, own_journal.memory).text or "")
    found = [
        Finding(rule=each.rule, message=each.message, place=str(own_journal.memory), line=each.line)
        for each in document.problems
    ]
    found += about_records(context, own_journal.memory, document)
    return sorted(found, key=lambda each: (each.line or 0, each.rule))


def about_records(context: Context, place: Place, document: Document) -> list[Finding]:
    """What is wrong among the records of one journal file."""
    found = []
    for each in integrity.troubles(document.placed, context.clock(), context.journal.stale_days):
        at = document.placed[each.at]
        other = document.placed[each.other] if each.other is not None else None
        # A finding goes to a terminal and a log, so it says nothing of what a label keeps back.
        hidden = at.record.is_secret or (other is not None and other.record.is_secret)
        # Blanked out before it is cut: half a credential is not recognised as one.
        whole = replace(each, about=context.scanner.redacted(each.about))
        message = _message(whole, other.line if other else 0, context.journal.stale_days, hidden=hidden)
        found.append(
            Finding(
                rule=each.rule,
                message=context.scanner.redacted(message),
                place=str(place),
                line=at.line,
                severity="warning",
            )
        )
    return found


def _message(each: Trouble, other: int, days: int, *, hidden: bool) -> str:
    if each.rule in _WORDS:
        about = "(labelled secret)" if hidden else repr(each.about[:120])
        return "this record " + _WORDS[each.rule].format(other=other, about=about)
    return f"this record is older than {days} days"
