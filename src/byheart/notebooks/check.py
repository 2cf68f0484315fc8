"""check and doctor: what is wrong with the memory and with the machine under it; and check --fix: one proposed edit at a time, each
for a person to take or leave, and each can be undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from byheart.domain.documents import Change, Document, Drop, Place, Replace, Root
from byheart.domain.errors import ByheartError, NothingFound
from byheart.domain.journal import COMPACTION
from byheart.domain.records import NEEDS_CONFIRMATION, Confidence, Placed, Record, Scope, spoken
from byheart.domain.reports import Checkup
from byheart.domain.results import Finding, Receipt
from byheart.domain.values import dataclass, replace
from byheart.journal import integrity
from byheart.language import opposition
from byheart.notebooks.commit import commit
from byheart.notebooks.exchange import read_foreign
from byheart.notebooks.merge import Decision
from byheart.text.deferred import module
from byheart.text.lines import unescaped
from byheart.workspace import ledger, tombstones
from byheart.workspace.context import JOURNAL, NOTEBOOKS, PROFILE, RULES, Context, OpenedDocument, cleaned, every

if TYPE_CHECKING:
    from byheart.journal import files, purge, retention
else:
    files = module("byheart.journal.files")
    purge = module("byheart.journal.purge")
    retention = module("byheart.journal.retention")

# So many of the newest entries of two notebooks are compared with each other.
_COMPARED = 200


# So much of an entry is quoted.
_QUOTED = 80


def check(context: Context, scopes: Sequence[Scope]) -> list[Finding]:
    """Everything wrong with the files of these scopes; nothing is changed."""
    documents, findings = every(context, scopes, NOTEBOOKS)
    for each in documents:
        if each.exists:
            findings += _about(context, each)
    findings += _between(documents)
    return [replace(each, message=context.scanner.redacted(each.message)) for each in findings]


def _between(documents: Sequence[OpenedDocument]) -> Iterator[Finding]:
    """Preferences and rules of one scope that exclude each other."""
    for one in documents:
        if one.dialect.name == PROFILE:
            placed = one.document.placed[-_COMPARED:]
            for older, newer in opposition.opposing([each.record.text for each in placed]):
                message = f"this and line {placed[older].line} exclude each other"
                yield Finding(rule="conflict", message=message, place=str(one.place), line=placed[newer].line)
        for other in documents:
            if one.dialect.name != PROFILE or other.dialect.name != RULES or one.root.scope is not other.root.scope:
                continue
            for first in one.document.placed[-_COMPARED:]:
                for second in other.document.placed[-_COMPARED:]:
                    if opposition.exclude(first.record.text, second.record.text):
                        message = f"this and {other.place}:{second.line} exclude each other"
                        yield Finding(rule="conflict", message=message, place=str(one.place), line=first.line)


def check_file(context: Context, place: Place) -> list[Finding]:
    """Everything wrong with one file, whatever format it has."""
    found = read_foreign(context, place, None)
    findings = [
        Finding(rule=each.rule, message=each.message, place=str(place), line=each.line) for each in found.problems
    ]
    text = context.files.read(place, context.journal.file_bytes if place.path.endswith(".md") else None).text or ""
    findings += _scanned(context, place, text)
    if found.format in context.dialects:
        findings += _entries(context, place, context.dialects[found.format].parse(text), found.format)
    return [replace(each, message=context.scanner.redacted(each.message)) for each in findings]


def _about(context: Context, each: OpenedDocument) -> list[Finding]:
    found = _scanned(context, each.place, each.document.text)
    found += _entries(context, each.place, each.document, each.dialect.name)
    salt, stones = context.salt(), ledger.tombstones(context)
    for placed in each.document.placed:
        record = placed.record
        stone = tombstones.blocks(stones, salt, record.key, (record.text, spoken(record.value)))
        if stone is not None and (record.added is None or record.added.isoformat() < stone.removed):
            message = f"{record.key or 'an entry'} was forgotten on {stone.removed}, yet it stands here"
            found.append(Finding(rule="forgotten", message=message, place=str(each.place), line=placed.line))
    return found


def _scanned(context: Context, place: Place, text: str) -> list[Finding]:
    return [
        Finding(
            rule=each.rule, message=f"the text {each.message}", place=str(place), line=each.line, column=each.column
        )
        for each in context.scanner.findings(text)
        if each.severity not in ("command", "weak")
    ]


def _entries(context: Context, place: Place, document: Document, name: str) -> list[Finding]:
    if name == JOURNAL:
        return integrity.about_records(context, place, document)
    found = []

    def add(rule: str, line: int, message: str, severity: str = "warning") -> None:
        found.append(Finding(rule=rule, message=message, place=str(place), line=line, severity=severity))

    today = context.clock().date()
    for placed in document.placed:
        record = placed.record
        name = record.key or "an entry"
        if record.confidence is Confidence.LOW and NEEDS_CONFIRMATION not in record.tags:
            add("untagged-low", placed.line, f"{name} has low confidence but no {NEEDS_CONFIRMATION} tag")
        if len(record.text) > context.limits.record_characters:
            add("too-long", placed.line, f"{name} is {len(record.text)} characters long")
        if (
            record.added
            and (today - record.added).days > context.limits.stale_days
            and record.confidence is not Confidence.HIGH
        ):
            add("stale", placed.line, f"{name} is older than {context.limits.stale_days} days and was never confirmed")
    standing = opposition.standing(document.placed)
    for loser, master in sorted(standing.overruled.items()):
        lines = document.placed[loser].line, document.placed[master].line
        add(
            "overruled",
            lines[0],
            f"line {lines[1]} ({_quoted(context, document.placed[master])}) opposes and overrules {_quoted(context, document.placed[loser])}; byheart check --fix removes it",
        )
    for first, second in standing.undecided:
        add(
            "conflict",
            document.placed[second].line,
            f"{_quoted(context, document.placed[second])} may contradict line {document.placed[first].line} ({_quoted(context, document.placed[first])})",
        )
    return found


def _quoted(context: Context, placed: Placed) -> str:
    text = " ".join(context.scanner.redacted(placed.record.text).split())
    return f'"{text if len(text) <= _QUOTED else text[: _QUOTED - 1] + "…"}"'


def _upkeep(context: Context, scope: Scope) -> list[Checkup]:
    """How the journal's upkeep stands, where there is a journal; and settings that defeat each other."""
    settings, root = context.journal, context.roots[scope]
    try:
        if not context.files.size(root.documents[JOURNAL]):
            return []
        from byheart.journal.files import state

        known = state(context, root)
    except ByheartError as error:
        return [Checkup(subject=f"{scope.value} upkeep", state="failure", detail=str(error))]
    when = f"last compaction {known.compacted_at:%Y-%m-%d}" if known.compacted_at else "not compacted yet"
    looked = f"last scan {known.scanned_at:%Y-%m-%d %H:%M}" if known.scanned_at else "not scanned yet"
    found = f", {known.findings} findings" if known.findings is not None else ""
    subject = f"{scope.value} upkeep"
    rows = [Checkup(subject=subject, state="warning" if known.findings else "ok", detail=f"{when}; {looked}{found}")]
    window, threshold = settings.memory_max_records, settings.memory_compaction_threshold_records
    if settings.memory_compaction_enabled and 0 < window <= threshold:
        detail = f"a window of {window} records never reaches the compaction threshold of {threshold}"
        rows.append(Checkup(subject=subject, state="warning", detail=detail))
    return rows


def doctor(context: Context, machine: Sequence[Checkup]) -> list[Checkup]:
    """The state of every root, after what the machine says about itself."""
    found = list(machine)
    for scope, root in context.roots.items():
        for name, place in root.documents.items():
            subject = f"{scope.value} {place.path.rsplit('/', 1)[-1]}"
            try:
                documents, problems = every(context, [scope], [name])
            except ByheartError as error:
                found.append(Checkup(subject=subject, state="failure", detail=str(error)))
                continue
            if not documents:
                found.append(Checkup(subject=subject, state="failure", detail=problems[0].message))
            elif not documents[0].exists:
                found.append(Checkup(subject=subject, state="ok", detail=f"{place} (not there yet)"))
            else:
                count = len(documents[0].document.placed)
                detail = f"{place}: {count} entr{'y' if count == 1 else 'ies'}"
                issues = check(context, [scope]) if name == PROFILE else problems
                mine = [each for each in issues if each.place == str(place)]
                size, warn = len(documents[0].document.text), context.journal.memory_size_warn_chars
                large = name == JOURNAL and bool(warn) and size > warn
                state = "warning" if mine or large else "ok"
                if large:
                    detail += (
                        f", {size:,} characters (journal.memory_size_warn_chars is {warn:,}; byheart journal compact)"
                    )
                found.append(
                    Checkup(
                        subject=subject,
                        state=state,
                        detail=detail + (f", {len(mine)} findings (byheart check)" if mine else ""),
                    )
                )
        found += _beside(context, root)
        found += _upkeep(context, scope)
        entries = ledger.entries(context, root)
        found.append(
            Checkup(
                subject=f"{scope.value} history",
                state="ok",
                detail=f"{len(entries)} change{'' if len(entries) == 1 else 's'}",
            )
        )
    return found


def _beside(context: Context, root: Root) -> list[Checkup]:
    """Notebooks at home that are read beside the repository's own, with the way to make one of two."""
    found = []
    for name, place in root.kept.items():
        documents, _ = every(context, [root.scope], [name], [place])
        count = len(documents[0].document.placed) if documents else 0
        entries = f"{count} entr{'y' if count == 1 else 'ies'}"
        detail = f"{place}: {entries}, read beside the repository's; byheart init --in-repo brings them together"
        found.append(Checkup(subject=f"{root.scope.value} notebook at home", state="ok", detail=detail))
    return found


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
        if not files.holds_secret(context, leaving):
            retention.archive(context, files.journal_files(context, root), leaving, archived)
        # Else the next session would still be told it, from the day's log.
        failures[:] = purge.unlog(context, root, proposal.record)

    def decide(document: Document) -> Decision:
        same = [each for each in document.placed if each.record == proposal.record]
        if not same:
            raise NothingFound(f"line {proposal.line} of {proposal.path} changed in the meantime; nothing was done")
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
