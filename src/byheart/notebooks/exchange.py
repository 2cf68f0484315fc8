"""import, export and convert: the same records in other spellings, with what is lost said aloud."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date

from byheart.domain.documents import Add, Place, Settings, spliced
from byheart.domain.errors import BadInput, ByheartError, NothingFound, Refused
from byheart.domain.ports import Dialect
from byheart.domain.records import Confidence, Record, Request, Scope, Signal, leaves
from byheart.domain.reports import Conversion, Imported
from byheart.domain.results import Finding
from byheart.domain.values import replace
from byheart.journal.importing import import_records
from byheart.notebooks.remember import forgotten_on, lost, remember
from byheart.notebooks.request import prepared
from byheart.workspace import foreign, ledger
from byheart.workspace.context import JOURNAL, NOTEBOOKS, RULES, Context, every
from byheart.workspace.foreign import Foreign


def read_foreign(context: Context, place: Place, fmt: str | None) -> Foreign:
    """The records of a file in any format we know. Raises BadInput where it does not exist or has none of them."""
    text = context.files.read(place, context.journal.file_bytes if place.path.endswith(".md") else None).text
    if text is None:
        raise BadInput(f"{place} does not exist; name a file to read")
    return parse_foreign(context, str(place), text, fmt)


def parse_foreign(context: Context, name: str, text: str, fmt: str | None) -> Foreign:
    """The records of a text in any format we know."""
    kind = fmt or foreign.detect(name, text)
    match kind:
        case "triples-verbose":
            return foreign.verbose(text)
        case "sentences":
            return foreign.sentences(text)
        case "json":
            return _exported(name, text)
    document = context.dialects[kind].parse(text)
    records = tuple((each.line, each.record) for each in document.placed)
    return Foreign(
        format=kind,
        records=records,
        problems=document.problems,
        deletions=document.deletions,
        settings=document.settings,
    )


def _exported(name: str, text: str) -> Foreign:
    try:
        rows = json.loads(text, parse_constant=_no_constant)["records"]
        if not isinstance(rows, list):
            raise ValueError("records is not a list")
        records = tuple((number, ledger.from_fields(row)) for number, row in enumerate(rows, start=1))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(f"{name} is not a byheart export: {error}") from None
    return Foreign(format="json", records=records, problems=())


def _findings(context: Context, place: Place, found: Foreign) -> list[Finding]:
    return [
        Finding(rule=each.rule, message=context.scanner.redacted(each.message), place=str(place), line=each.line)
        for each in found.problems
    ]


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number that can be stored")


def import_(
    context: Context, place: Place, fmt: str | None, *, to: str | None, scope: Scope, dry_run: bool, forgotten_too: bool
) -> Imported:
    """Store every record of a file that may be stored; the others are named with the reason. A dry run stores nothing."""
    found = read_foreign(context, place, fmt)
    noted = Imported(receipts=(), skipped=())
    journal = found.records if to == JOURNAL else tuple(row for row in found.records if row[1].origin and to is None)
    if journal:
        noted = import_records(
            context, journal, _extras(context, place, found), scope, dry_run=dry_run, forgotten_too=forgotten_too
        )
    receipts, skipped, passed = list(noted.receipts), list(noted.skipped), noted.passed
    taken = {line for line, _ in journal}
    for line, record in found.records:
        if line in taken:
            continue
        if record.is_secret:
            skipped.append((line, "it is labelled secret, and that notebook has no labels"))
            continue
        name = to or (RULES if record.triple is not None and found.format != "sentences" else None)
        request = _request(record, name, scope, verbatim=found.format != "sentences")
        try:
            day = None if forgotten_too else forgotten_on(context, found.deletions, record.key, (record.text,))
            if day is not None:
                raise Refused(f"it was forgotten on {day}; --include-forgotten brings it back")
            prepared(context, request)
            passed += 1
            if not dry_run:
                receipts.append(remember(context, request))
        except ByheartError as error:
            if error.exit_code not in (2, 3):
                raise
            skipped.append((line, context.scanner.redacted(str(error))))
    problems = (*_findings(context, place, found), *noted.problems)
    if not found.records and not problems:
        raise NothingFound(f"{place} has no memories")
    return Imported(receipts=tuple(receipts), skipped=tuple(sorted(skipped)), problems=problems, passed=passed)


def _extras(context: Context, place: Place, found: Foreign) -> dict[int, dict[str, object]]:
    """The whole JSON of each journal line, so that fields we do not know come along."""
    if found.format != JOURNAL:
        return {}
    text = context.files.read(place, context.journal.file_bytes).text or ""
    document = context.dialects[JOURNAL].parse(text)
    return {each.line: json.loads(text[each.start : each.end].removeprefix("- ")) for each in document.placed}


def _request(record: Record, name: str | None, scope: Scope, *, verbatim: bool) -> Request:
    return Request(
        text=record.text,
        kind=record.kind,
        key=record.key if record.key and "|" not in record.key else None,
        value=record.value,
        triple=record.triple,
        to=name,
        scope=scope,
        signal=_signal(record),
        tags=record.tags,
        source=record.source or "imported",
        confidence=record.confidence or Confidence.MEDIUM,
        verbatim=verbatim,
        copied=True,
        added=record.added,
        weight=record.weight,
    )


def _signal(record: Record) -> Signal:
    said = (record.source or "").casefold()
    if "inferred" in said:
        return Signal.INFERRED
    return Signal.REPEATED if "repeat" in said else Signal.EXPLICIT


def convert(context: Context, place: Place, fmt: str | None, target: str, *, with_secret: bool = False) -> Conversion:
    """A file's records as a text in another format; nothing is written."""
    found = read_foreign(context, place, fmt)
    problems = _findings(context, place, found)
    kept = _unlabelled([record for _, record in found.records], problems, with_secret=with_secret)
    if not found.records:
        raise (BadInput(f"{place} has no readable memories") if problems else NothingFound(f"{place} has no memories"))
    done = _converted(context, kept, target, problems)
    extra = []
    if found.settings != Settings():
        extra.append(("the file", ("settings",)))
    if found.deletions:
        extra.append(("the file", (f"{len(found.deletions)} deletions",)))
    return replace(done, lost=(*done.lost, *extra))


def export(context: Context, scopes: Sequence[Scope], target: str, *, with_secret: bool = False) -> Conversion:
    """All records of these scopes as one text; those labelled secret only where that is asked for."""
    documents, problems = every(context, scopes, NOTEBOOKS)
    # What others committed is in their repository already.
    records = [placed.record for each in documents for placed in each.own]
    records = _unlabelled(records, problems, with_secret=with_secret)
    if not records:
        raise NothingFound("no memories to export")
    return _converted(context, records, target, problems)


def _unlabelled(records: list[Record], problems: list[Finding], *, with_secret: bool) -> list[Record]:
    """The records without those labelled secret, and a word about that, unless they are asked for."""
    secret = sum(record.is_secret for record in records)
    if with_secret or not secret:
        return records
    message = f"{secret} record{'' if secret == 1 else 's'} labelled secret left out; --allow-secret takes them along"
    problems.append(Finding(rule="labelled-secret", message=message, severity="note"))
    return [record for record in records if not record.is_secret]


def _converted(context: Context, records: list[Record], target: str, problems: list[Finding]) -> Conversion:
    kept: list[Record] = []
    for number, record in enumerate(records, start=1):
        parts = [
            record.text,
            *leaves(record.value, names=True),
            *record.tags,
            record.source or "",
            *(record.triple or ()),
        ]
        if record.origin is not None:
            parts += [record.origin.id, record.origin.session, record.origin.category, record.origin.channel]
        parts += [f"{record.key or ''} = {part}" for part in parts]
        findings = context.scanner.secrets("\n".join(parts))
        if findings:
            message = f"memory {number} is left out: it {findings[0].message}"
            problems.append(Finding(rule=findings[0].rule, message=message))
        else:
            kept.append(record)
    if target == "json":
        rows = [ledger.as_fields(record) for record in kept]
        text = json.dumps({"byheart": 1, "records": rows}, ensure_ascii=False, indent=2) + "\n"
        return Conversion(text=text, records=len(kept), lost=(), problems=tuple(problems))
    dialect = context.dialects[target]
    text, losses = _spelled(dialect, kept, context.clock().date())
    return Conversion(text=text, records=len(kept), lost=losses, problems=tuple(problems))


def _spelled(
    dialect: Dialect, records: list[Record], today: date
) -> tuple[str, tuple[tuple[str, tuple[str, ...]], ...]]:
    fitted: list[Record] = []
    losses = []
    taken: list[str] = []
    for record in records:
        each = foreign.fitted(record, dialect.name, taken)
        taken.append(each.key or "")
        fitted.append(each)
        missing = lost(dialect.keeps, record, frozenset({"triple", "value"} if record.triple else {"key"}))
        if missing:
            losses.append((record.key or record.text, missing))
    document = dialect.parse(dialect.blank())
    changes = [Add(record=each) for each in fitted]
    return spliced(document.text, dialect.plan(document, changes, today)), tuple(losses)
