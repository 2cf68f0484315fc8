"""readAll, retrieveForSession, the list for people, and what fits before a session: the newest and the weightiest, in the order of
time, under one cap."""

from __future__ import annotations

import heapq
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.errors import ByheartError
from byheart.domain.journal import COMPACTION, DECISION, HEARTBEAT, LEARNED, NOTE, TURN_SUMMARY, USER_PREFERENCE
from byheart.domain.records import Record, Scope
from byheart.domain.results import Hit
from byheart.domain.values import dataclass, replace
from byheart.journal.files import JournalFiles, journal_files, parsed, read
from byheart.text.deferred import deferred
from byheart.text.lines import unescaped
from byheart.workspace.context import JOURNAL, REPOSITORYS, Context, cleaned, handle_of, hits, opened, without_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

_ID = deferred(r'"id"\s*:\s*"([^"\\]+)"')


def read_all(context: Context, scope: Scope) -> list[Record]:
    """Every record of MEMORY.md in file order, secret ones among them: for programs that keep the journal."""
    return [each.record for each in opened(context, context.roots[scope], JOURNAL).document.placed]


class Retrieved(list[Record]):
    """Records of a session, and why there are none where there are none."""

    reason = ""


def retrieve(context: Context, scope: Scope, session: str, *, allow_secret: bool) -> Retrieved:
    """The records of one session, oldest first; those labelled secret only where that is asked for."""
    every = read_all(context, scope)
    found = [each for each in every if each.origin is not None and each.origin.session == session]
    told = Retrieved(cleaned(context, each) for each in found if allow_secret or not each.is_secret)
    if found and not told:
        told.reason = f"all {len(found)} records of session {session!r} are labelled secret"
    elif not found:
        known = list(dict.fromkeys(each.origin.session for each in reversed(every) if each.origin))
        names = ", ".join(known[:5])
        told.reason = (
            f"no record is of session {session!r}; there are records of {names}" if known else "the journal is empty"
        )
    return told


def listing(
    context: Context, scope: Scope, *, session: str | None, category: str | None, allow_secret: bool, most: int | None
) -> list[Hit]:
    """The newest records that fit the filters, in file order."""
    found = [
        hit
        for hit in hits(opened(context, context.roots[scope], JOURNAL))
        if (origin := hit.record.origin) is not None
        and (allow_secret or not origin.is_secret)
        and (session is None or origin.session == session)
        and (category is None or origin.category == category)
    ]
    return without_secrets(context, found[-most:] if most else found)


def archived(context: Context, scope: Scope, letters: set[str]) -> list[Hit]:
    """The records that have left MEMORY.md and have some of these letters, as far as they are not in it again; none where
    the archive cannot be read. An archive only grows, so no more of it is taken apart than must be."""
    root = context.roots[scope]
    place = journal_files(context, root).archive
    try:
        text = read(context, place).text or ""
    except ByheartError:
        return []
    if not text:
        return []
    raw = text.split("\n")
    folded = (unescaped(text) if "\\u" in text else text).casefold().split("\n")
    found: dict[tuple[str, str], tuple[int, Record]] = {}
    for number, line in enumerate(folded):
        if any(each in line for each in letters):
            for placed in parsed(context, raw[number]).placed:
                found[_name(placed.record)] = (number + 1, placed.record)
    # In the journal again, or labelled secret in another copy: the archive has nothing to say about it.
    here = {_name(each) for each in read_all(context, scope)} if found else set()
    secret = {
        record.origin.id for _, record in found.values() if record.origin and record.is_secret and record.origin.id
    }
    return [
        Hit(
            id=handle_of(scope, JOURNAL, record.origin.id if record.origin else None, record.text),
            record=record,
            scope=scope,
            dialect=JOURNAL,
            path=str(place),
            line=line,
            note=f"archived, {REPOSITORYS}" if context.trust.is_strange(raw[line - 1]) else "archived",
            is_repositorys=context.trust.is_strange(raw[line - 1]),
        )
        for name, (line, record) in found.items()
        if name not in here and not (record.origin and record.origin.id in secret)
    ]


def _name(record: Record) -> tuple[str, str]:
    return (record.origin.id if record.origin else "", record.text)


def archived_as(context: Context, own_journal: JournalFiles, ids: set[str]) -> dict[str, Record]:
    """Records of the archive by id, each as its latest copy has it; but a label that was strict once stays so."""
    text = read(context, own_journal.archive).text or ""
    found: dict[str, Record] = {}
    for match in _ID.finditer(text):
        if match[1] not in ids:
            continue
        start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
        for each in parsed(context, text[start : end if end >= 0 else len(text)]).placed:
            origin = each.record.origin
            if origin is not None and origin.id == match[1]:
                earlier = found.get(origin.id)
                found[origin.id] = earlier if earlier is not None and earlier.is_secret else each.record
    return found


JOINT = "\n\n---\n\n"
PROSE, HEADING, OTHER = "prose", "heading", "other"
# The weightiest first; a category that we do not know was chosen by somebody for a reason.
_WEIGHTS = {
    USER_PREFERENCE: 5, DECISION: 5, LEARNED: 5, OTHER: 4, PROSE: 3, NOTE: 3, COMPACTION: 2, TURN_SUMMARY: 1,
    HEARTBEAT: 0, HEADING: 0,
}  # fmt: skip
_PLAIN = deferred(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_CATEGORY = deferred(r'"category"\s*:\s*"([^"\\]*)"')
_STAMP = deferred(r'"timestamp"\s*:\s*"([^"\\]*)"')
_SECRET = '"secret"'
# More lines than this are thinned out first; no line is told in fewer characters than that.
_PLENTY, _SHORTEST, _MOST_KINDS = 20_000, 20, 40
# Half of the room is for the newest, whatever they are; the rest goes by weight.
_NEWEST_SHARE = 0.5
# What the summaries of long ago may take at most, and what a person says of themselves.
LONG_SHARE, USER_SHARE = 0.25, 0.15
_CUT = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line that could be told: its section, its place there, how new it is among all, what it is and what it says."""

    section: str
    order: int
    rank: int
    category: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The lines that fit, by section, and how many of each category did not."""

    lines: dict[str, list[str]]
    left_out: Counter[str]


def shown_category(category: str) -> str:
    """A category as a session may see it: a plain word, or none of its own. Anybody may write anything there."""
    return category if _PLAIN.fullmatch(category) else OTHER


def thinned(text: str, ids: Set[str], room: int) -> tuple[str, Counter[str]]:
    """A long journal without the older lines of each category that could never fit into `room` characters, and how many of each those
    are. Records with one of these ids stay. Lines are told apart by a look at them, since taking each apart is what would take long."""
    lines = text.split("\n")
    if len(lines) <= _PLENTY:
        return text, Counter()
    by_kind: dict[str, list[tuple[str, int]]] = {}
    kept: set[int] = set()
    stamp = ""
    for at, line in enumerate(lines):
        category = shown_category(found[1]) if (found := _CATEGORY.search(line)) else PROSE
        stamp = found[1] if (found := _STAMP.search(line)) else stamp
        # What is labelled secret takes nobody's place. Categories are anybody's to make up; all that come late share one.
        kind = f"{category} {_SECRET}" if _SECRET in line else category
        by_kind.setdefault(kind if kind in by_kind or len(by_kind) < _MOST_KINDS else OTHER, []).append((stamp, at))
        if ids and (known := _ID.search(line)) and known[1] in ids:
            kept.add(at)
    gone: Counter[str] = Counter()
    for kind, stamped in by_kind.items():
        newest = {at for _, at in heapq.nlargest(2 * room // _SHORTEST, stamped)}
        gone[kind.removesuffix(f" {_SECRET}")] += sum(
            bool(lines[at].strip()) for _, at in stamped if at not in newest and at not in kept
        )
        kept |= newest
    return "\n".join(lines[at] for at in sorted(kept)), +gone


def fitted(lines: Sequence[Line], room: int) -> Fitted:
    """Choose lines within `room` characters. A line is told whole or not at all; only the newest is cut if it must be."""
    newest = sorted(lines, key=lambda each: -each.rank)
    taken: dict[int, Line] = {}
    left, share = room, int(room * _NEWEST_SHARE)
    for position, each in enumerate(newest):
        size = len(each.text) + 1
        if position == 0 and size > room >= _CUT:
            taken[each.order] = replace(each, text=each.text[: room - 3] + " …")
            left = 0
            break
        if size > share and (position or size > left):
            break
        taken[each.order] = each
        share -= size
        left -= size
    for each in sorted(newest, key=lambda each: (-_WEIGHTS.get(each.category, _WEIGHTS[OTHER]), -each.rank)):
        if each.order not in taken and len(each.text) + 1 <= left:
            taken[each.order] = each
            left -= len(each.text) + 1
    chosen: dict[str, list[str]] = {}
    for order in sorted(taken):
        chosen.setdefault(taken[order].section, []).append(taken[order].text)
    gone = Counter(each.category for each in lines if each.order not in taken and each.category != HEADING)
    return Fitted(lines=chosen, left_out=gone)


def newest_blocks(pieces: Sequence[tuple[str, str]], room: int) -> tuple[str, int]:
    """What of LONGMEMORY.md fits: pieces with a date go newest first, by date and not by place; those without before all.

    A piece that does not fit gives its last lines. The text in file order, and how many lines are missing.
    """
    ranked = sorted(range(len(pieces)), key=lambda at: (pieces[at][0] == "", pieces[at][0], at), reverse=True)
    kept: dict[int, str] = {}
    missing = 0
    for at in ranked:
        text = pieces[at][1].strip("\n")
        if len(text) + 2 <= room:
            kept[at] = text
            room -= len(text) + 2
            continue
        lines = text.split("\n")
        tail: list[str] = []
        while lines and len(lines[-1]) + 1 <= room - 4 and room >= _CUT:
            tail.insert(0, lines.pop())
            room -= len(tail[0]) + 1
        missing += sum(bool(line.strip()) for line in lines)
        if tail:
            kept[at] = "…\n" + "\n".join(tail)
        room = 0
    return "\n\n".join(kept[at] for at in sorted(kept)), missing


def note(left_out: Sequence[tuple[str, int]]) -> str:
    """The line that says what is missing, and where to find it."""
    if not left_out:
        return ""
    parts = ", ".join(f"{count} {name}" for name, count in left_out)
    return f"[not shown: {parts}; byheart journal list has the rest]"
