"""What of the journal fits before a session: the newest and the weightiest, in the order of time, under one cap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from byheart.domain.journal import COMPACTION, DECISION, HEARTBEAT, LEARNED, NOTE, TURN_SUMMARY, USER_PREFERENCE

JOINT = "\n\n---\n\n"
# The weightiest first; a category that we do not know was chosen by somebody for a reason.
_WEIGHTS = {USER_PREFERENCE: 5, DECISION: 5, LEARNED: 5, COMPACTION: 2, NOTE: 3, TURN_SUMMARY: 1, HEARTBEAT: 0}
_UNKNOWN, PROSE = 4, "prose"
# Half of the room is for the newest, whatever they are; the rest goes by weight.
_NEWEST_SHARE = 0.5
# What the summaries of long ago may take at most, and what a person says of themselves.
LONG_SHARE, USER_SHARE = 0.25, 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line that could be told: its section, its place in time, what it is and what it says."""

    section: str
    order: int
    category: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The lines that fit, by section in the order given, and how many of each category did not."""

    lines: dict[str, list[str]]
    left_out: Counter[str]


def fitted(lines: Sequence[Line], room: int) -> Fitted:
    """Choose lines within `room` characters. A line is told whole or not at all."""
    newest = sorted(lines, key=lambda each: -each.order)
    taken: set[int] = set()
    left = room
    share = int(room * _NEWEST_SHARE)
    for each in newest:
        if len(each.text) + 1 > share:
            break
        taken.add(each.order)
        share -= len(each.text) + 1
        left -= len(each.text) + 1
    for each in sorted(newest, key=lambda each: (-_WEIGHTS.get(each.category, _UNKNOWN), -each.order)):
        if each.order not in taken and len(each.text) + 1 <= left:
            taken.add(each.order)
            left -= len(each.text) + 1
    chosen: dict[str, list[str]] = {}
    for each in sorted(lines, key=lambda each: each.order):
        if each.order in taken:
            chosen.setdefault(each.section, []).append(each.text)
    return Fitted(lines=chosen, left_out=Counter(each.category for each in lines if each.order not in taken))


def newest_part(text: str, room: int) -> tuple[str, bool]:
    """The end of a text, from a line's beginning on, within `room` characters; and whether something was cut."""
    if len(text) <= room:
        return text, False
    if room < 80:
        return "", True
    tail = text[len(text) - room + 2 :]
    start = tail.find("\n") + 1
    return "…\n" + tail[start:], True


def note(left_out: Sequence[tuple[str, int]]) -> str:
    """The line that says what is missing, and where to find it."""
    if not left_out:
        return ""
    parts = ", ".join(f"{count} {name}" for name, count in left_out)
    return f"[not shown: {parts}; see: byheart journal list]"
