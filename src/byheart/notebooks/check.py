"""check and doctor: what is wrong with the memory, and with the machine under it."""

from __future__ import annotations

from collections.abc import Sequence

from byheart.domain.documents import Document
from byheart.domain.errors import ByheartError
from byheart.domain.records import NEEDS_CONFIRMATION, Confidence, Scope, spoken
from byheart.domain.reports import Checkup
from byheart.domain.results import Finding
from byheart.domain.roots import Place
from byheart.domain.values import replace
from byheart.language import opposition
from byheart.notebooks.exchange import read_foreign
from byheart.workspace import ledger, tombstones
from byheart.workspace.context import JOURNAL, NOTEBOOKS, PROFILE, Context, OpenedDocument, every


def check(context: Context, scopes: Sequence[Scope]) -> list[Finding]:
    """Everything wrong with the files of these scopes; nothing is changed."""
    documents, findings = every(context, scopes, NOTEBOOKS)
    for each in documents:
        if each.exists:
            findings += _about(context, each)
    return [replace(each, message=context.scanner.redacted(each.message)) for each in findings]


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
        from byheart.journal.scan import about_records

        return about_records(context, place, document)
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
        add("overruled", lines[0], f"line {lines[1]} opposes and overrules this entry")
    for first, second in standing.undecided:
        add("conflict", document.placed[second].line, f"this may contradict line {document.placed[first].line}")
    return found


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
