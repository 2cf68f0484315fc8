"""check --fix: one proposed edit at a time, each for a person to take or leave; every edit taken can be undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from byheart.domain.changes import Change, Drop, Replace
from byheart.domain.documents import Document
from byheart.domain.errors import NothingFound
from byheart.domain.journal import COMPACTION
from byheart.domain.records import NEEDS_CONFIRMATION, Confidence, Placed, Record, Scope, spoken
from byheart.domain.results import Finding, Receipt
from byheart.domain.values import dataclass, replace
from byheart.journal import integrity
from byheart.language import opposition
from byheart.notebooks.commit import commit
from byheart.notebooks.merge import Decision
from byheart.text.jsonspans import unescaped
from byheart.workspace import ledger, tombstones
from byheart.workspace.context import JOURNAL, NOTEBOOKS, RULES, Context, OpenedDocument, cleaned, every

REMOVE, TAG = "remove", "tag"
Propose = Callable[[str, str, Placed, str], "Proposal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """An edit that would settle a finding: what to do to which record, and why."""

    rule: str
    action: str
    scope: Scope
    dialect: str
    path: str
    line: int
    because: str
    text: str
    # What the record is compared by when the edit is made: a person may have moved it since.
    record: Record

    @property
    def name(self) -> str:
        """What tells it from other proposals, before and after lines have moved."""
        return f"{self.rule}|{self.path}|{self.record!r}"


def proposals(context: Context, scopes: Sequence[Scope]) -> tuple[list[Proposal], list[Finding]]:
    """The edits that would settle what `check` finds, in file order, and the files that could not be read."""
    documents, problems = every(context, scopes, NOTEBOOKS)
    found = [proposal for each in documents if each.exists for proposal in _for(context, each)]
    # One edit for each record: a duplicate that is stale as well is removed once.
    first = {f"{each.path}|{each.line}": each for each in reversed(found)}
    chosen = sorted(first.values(), key=lambda each: (each.path, each.line))
    return chosen, [each for each in problems if each.rule == "unreadable"]


def _for(context: Context, each: OpenedDocument) -> Iterator[Proposal]:
    placed = each.document.placed

    def propose(rule: str, action: str, at: Placed, because: str) -> Proposal:
        raw = each.document.text[at.start : at.end]
        if context.scanner.secrets(raw) or context.scanner.secrets(unescaped(raw)):
            because += "; it holds a secret, so no copy is kept and the edit cannot be undone"
        text = "(labelled secret)" if at.record.is_secret else cleaned(context, at.record).text
        return Proposal(
            rule=rule,
            action=action,
            scope=each.root.scope,
            dialect=each.dialect.name,
            path=str(each.place),
            line=at.line,
            because=because,
            text=text,
            record=at.record,
        )

    salt, stones = context.salt(), ledger.tombstones(context)
    if stones:
        for at in placed:
            stone = tombstones.blocks(stones, salt, at.record.key, (at.record.text, spoken(at.record.value)))
            if stone is not None and (at.record.added is None or at.record.added.isoformat() < stone.removed):
                yield propose("forgotten", REMOVE, at, f"it was forgotten on {stone.removed}")
    if each.dialect.name == JOURNAL:
        yield from _journal(context, placed, propose)
    elif each.dialect.name == RULES:
        yield from _rules(each.document, propose)
    else:
        for at in placed:
            if at.record.confidence is Confidence.LOW and NEEDS_CONFIRMATION not in at.record.tags:
                yield propose("untagged-low", TAG, at, f"low confidence needs the tag {NEEDS_CONFIRMATION}")


def _journal(context: Context, placed: Sequence[Placed], propose: Propose) -> Iterator[Proposal]:
    days = context.journal.stale_days
    for trouble in integrity.troubles(placed, context.clock(), days):
        at = placed[trouble.at]
        other = placed[trouble.other] if trouble.other is not None else None
        if trouble.rule == integrity.CONTRADICTION and other is not None:
            if other.record.origin is not None and other.record.origin.category == COMPACTION:
                continue  # a summary holds much else beside this
            # The older one: what was said last is what holds.
            yield propose(trouble.rule, REMOVE, other, f"the later line {at.line} says otherwise")
        elif trouble.rule == integrity.DUPLICATE and other is not None:
            yield propose(trouble.rule, REMOVE, at, f"line {other.line} says the same")
        elif trouble.rule == integrity.STALE:
            yield propose(trouble.rule, REMOVE, at, f"it is older than {days} days")


def _rules(document: Document, propose: Propose) -> Iterator[Proposal]:
    placed = document.placed
    first: dict[str | None, Placed] = {}
    for at in placed:
        if at.record.key in first:
            yield propose("duplicate-key", REMOVE, at, f"line {first[at.record.key].line} has the same triple")
        else:
            first[at.record.key] = at
    for loser, master in sorted(opposition.standing(placed).overruled.items()):
        yield propose("overruled", REMOVE, placed[loser], f"line {placed[master].line} opposes and overrules it")


def apply(context: Context, proposal: Proposal) -> Receipt:
    """Make one proposed edit. Raises NothingFound when the record has changed since."""
    root = context.roots[proposal.scope]
    leaving: list[str] = []
    archived: set[str] = set()
    failures: list[str] = []

    def archive() -> None:
        if proposal.dialect != JOURNAL or proposal.action != REMOVE:
            return
        from byheart.journal import files, purge, window

        if not files.holds_secret(context, leaving):
            window.archive(context, files.journal_files(context, root), leaving, archived)
        # Else the next session would still be told it, from the day's log.
        failures[:] = purge.unlog(context, root, proposal.record)

    def decide(document: Document) -> Decision:
        same = [each for each in document.placed if each.record == proposal.record]
        if not same:
            raise NothingFound(f"line {proposal.line} of {proposal.path} changed in between; nothing was done")
        at = min(same, key=lambda each: abs(each.line - proposal.line))
        change: Change = Drop(old=at, reason=None)
        record = at.record
        leaving[:] = [document.text[at.start : at.end]]
        if proposal.action == TAG:
            record = replace(record, tags=(*record.tags, NEEDS_CONFIRMATION))
            change = Replace(old=at, new=record)
        return Decision(changes=(change,), action="fixed", record=record)

    done = commit(context, root, proposal.dialect, decide, before=archive)
    return Receipt(
        id=done.id,
        action="fixed",
        scope=proposal.scope,
        dialect=proposal.dialect,
        path=proposal.path,
        record=None,
        line=proposal.line,
        notes=(*done.notes, *failures),
        undo_with=f"byheart undo {done.id}" if done.undoable else None,
    )
