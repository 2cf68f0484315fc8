"""What of the journal fits before a session: the newest and the weightiest, in the order of time, under one cap."""

from __future__ import annotations

import heapq
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.journal import COMPACTION, DECISION, HEARTBEAT, LEARNED, NOTE, TURN_SUMMARY, USER_PREFERENCE
from byheart.domain.values import dataclass, replace
from byheart.text.patterns import deferred

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

JOINT = "\n\n---\n\n"
PROSE, HEADING, OTHER = "prose", "heading", "other"
# The weightiest first; a category that we do not know was chosen by somebody for a reason.
_WEIGHTS = {
    USER_PREFERENCE: 5, DECISION: 5, LEARNED: 5, OTHER: 4, PROSE: 3, NOTE: 3, COMPACTION: 2, TURN_SUMMARY: 1,
    HEARTBEAT: 0, HEADING: 0,
}  # fmt: skip
_PLAIN = deferred(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_CATEGORY = deferred(r'"category"\s*:\s*"([^"\\]*)"')
_ID = deferred(r'"id"\s*:\s*"([^"\\]+)"')
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
