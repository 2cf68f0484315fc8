"""What is wrong inside a journal, as findings: records that oppose each other, say the same twice, or have grown old. Nothing is
repaired here."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from byheart.domain.documents import Document, Place
from byheart.domain.journal import COMPACTION, HEARTBEAT, TURN_SUMMARY
from byheart.domain.records import Scope
from byheart.domain.results import Finding
from byheart.domain.values import dataclass, replace
from byheart.journal.files import journal_files, parsed, read
from byheart.journal.retention import sentences
from byheart.language.claims import Claim, claims, neighbours
from byheart.text.similarity import normalised
from byheart.workspace.context import Context

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from byheart.domain.records import Placed

CONTRADICTION, DUPLICATE, STALE, DIFFERS = "contradiction", "duplicate", "stale", "differs"
# Reports of a moment: what they say held then, and the next one may say otherwise.
_REPORTS = frozenset({TURN_SUMMARY, HEARTBEAT, COMPACTION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Two positions in a journal that do not go together (`other` before `at`), or one on its own. `about` is the sentence
    that opposes, `topic` what it is about."""

    rule: str
    at: int
    other: int | None = None
    about: str = ""
    topic: str = ""


def troubles(placed: Sequence[Placed], now: datetime, stale_days: int) -> list[Trouble]:
    """Everything wrong, in file order. Nothing is judged by mere difference."""
    found = [*contradictions(placed), *_duplicates(placed), *_stale(placed, now, stale_days)]
    return sorted(found, key=lambda each: (each.at, each.rule, -1 if each.other is None else each.other))


def contradictions(placed: Sequence[Placed]) -> list[Trouble]:
    """Pairs of records that make opposing claims about one subject; of a row of changes of mind, each turn once."""
    return _pairs(dict(_claims(each)) for each in placed)


def _pairs(every: Iterable[dict[Claim, str]]) -> list[Trouble]:
    exact: dict[tuple[str, frozenset[str]], tuple[int, str]] = {}
    wider: dict[tuple[str, frozenset[str]], tuple[int, str]] = {}
    found: dict[tuple[int, int], Trouble] = {}
    for at, fresh in enumerate(every):
        for claim, sentence in fresh.items():
            topic = " ".join(sorted(claim.subject))
            for other in _opposing(claim, exact, wider):
                if other != at:
                    found.setdefault(
                        (other, at), Trouble(rule=CONTRADICTION, at=at, other=other, about=sentence, topic=topic)
                    )
        for claim in fresh:
            for subject in neighbours(claim):
                known = exact if subject == claim.subject else wider
                known[claim.respect, subject] = (at, claim.value)
    return list(found.values())


_Known = dict[tuple[str, frozenset[str]], tuple[int, str]]


def _opposing(claim: Claim, exact: _Known, wider: _Known) -> Iterable[int]:
    """The latest records under the claim's own subject, a more general and a more special one, where they differ."""
    for subject in neighbours(claim):
        latest = exact.get((claim.respect, subject))
        if latest is not None and latest[1] != claim.value:
            yield latest[0]
    latest = wider.get((claim.respect, claim.subject))
    if latest is not None and latest[1] != claim.value and len(claim.subject) > 1:
        yield latest[0]


def _claims(each: Placed) -> Iterable[tuple[Claim, str]]:
    category = each.record.origin.category if each.record.origin else ""
    lasting = category not in _REPORTS
    for sentence in sentences(each.record.text):
        for claim in claims(sentence, lasting=lasting):
            yield claim, sentence


def _duplicates(placed: Sequence[Placed]) -> list[Trouble]:
    """Records that repeat an earlier one of the same category word for word."""
    first: dict[tuple[str, str], int] = {}
    found = []
    for at, each in enumerate(placed):
        category = each.record.origin.category if each.record.origin else ""
        if category == COMPACTION:
            continue  # two summaries may well keep the same sentence
        key = (category, normalised(each.record.text))
        if key in first:
            found.append(Trouble(rule=DUPLICATE, at=at, other=first[key], topic=key[1]))
        else:
            first[key] = at
    return found


def _stale(placed: Sequence[Placed], now: datetime, days: int) -> list[Trouble]:
    until = now - timedelta(days=days)
    return [
        Trouble(rule=STALE, at=at)
        for at, each in enumerate(placed)
        if each.record.origin is not None and (moment := each.record.origin.at) is not None and moment < until
    ]


_WORDS = {CONTRADICTION: "opposes line {other}: {about}", DUPLICATE: "repeats line {other}"}


def by_category(placed: Sequence[Placed]) -> list[Trouble]:
    """Records of one session and category that say different things, each beside the one before it: contradictions as CursorClaw defines
    them, which most of the time are none."""
    last: dict[tuple[str, str], int] = {}
    found = []
    for at, each in enumerate(placed):
        origin = each.record.origin
        if origin is None:
            continue
        key = (origin.session, origin.category)
        before = last.get(key)
        if before is not None and normalised(placed[before].record.text) != normalised(each.record.text):
            found.append(Trouble(rule=DIFFERS, at=at, other=before))
        last[key] = at
    return found


def integrity_scan(context: Context, scope: Scope, *, differing: bool = False) -> list[Finding]:
    """Contradictions, duplicates, stale records and broken lines of one MEMORY.md, by line; with `differing` also what only differs from
    another record of its session and category."""
    own_journal = journal_files(context, context.roots[scope])
    document = parsed(context, read(context, own_journal.memory).text or "")
    found = [
        Finding(rule=each.rule, message=each.message, place=str(own_journal.memory), line=each.line)
        for each in document.problems
    ]
    found += about_records(context, own_journal.memory, document)
    for each in by_category(document.placed) if differing else ():
        at, other = document.placed[each.at], document.placed[each.other or 0]
        message = f"this record differs from line {other.line}, of the same session and category"
        found.append(
            Finding(rule=DIFFERS, message=message, place=str(own_journal.memory), line=at.line, severity="info")
        )
    return sorted(found, key=lambda each: (each.line or 0, each.rule))


def about_records(context: Context, place: Place, document: Document) -> list[Finding]:
    """What is wrong among the records of one journal file."""
    found = []
    for each in troubles(document.placed, context.clock(), context.journal.stale_days):
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
