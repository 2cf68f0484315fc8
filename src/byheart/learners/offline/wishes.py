"""Preferences of all sessions put together: what says the same is one, what was taken back is replaced, what returns counts
for more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.dialects.handbook.phrases import one_line, signal_of
from byheart.domain.values import dataclass, field
from byheart.policies.integrity import opposing
from byheart.text.likeness import content_words, normalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

_CLOSING = re.compile(r'^when it was done, the user asked: "(?P<quote>.+)"$')
_ACTIONS = {
    action: re.compile(pattern, re.IGNORECASE)
    for action, pattern in (
        ("commit", r"\bcommi?t(?:s|ted)?\b"),
        ("push", r"\bpush\b"),
        ("open a pull request", r"\b(?:pr|pull request|merge request)\b"),
        ("update the changelog", r"\bchange-?log\b"),
        ("update the documents", r"\b(?:readme|docs?|documentation)\b"),
        ("run the tests", r"\btests?\b"),
    )
}
# So many sessions make a habit of what was asked for at their end.
HABIT = 3
_ALIKE = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One place where something was wanted: the session, when, and the turns."""

    thread: str
    at: datetime
    cite: str
    group: str
    task: tuple[str, int]


@dataclass(slots=True, kw_only=True)
class Wish:
    """A preference with every place it was said in, the newest first; and one that it took the place of."""

    text: str
    default: str
    places: list[Said] = field(default_factory=list)
    replaces: str = ""
    is_inferred: bool = False

    @property
    def newest(self) -> datetime:
        return max(place.at for place in self.places)

    @property
    def sessions(self) -> int:
        return len({place.thread for place in self.places})


def merged(told: Iterable[tuple[str, Said]]) -> list[Wish]:
    """Preference signals, each with where it was said, as wishes. Of two that oppose each other the newer stands."""
    wishes: list[Wish] = []
    for text, place in sorted(told, key=lambda each: (each[1].at, each[1].cite)):
        parts = signal_of(text)
        default = parts["default"] if parts else text
        known = next((wish for wish in wishes if _same(wish.default, default)), None)
        if known is None:
            wishes.append(Wish(text=text, default=default, places=[place]))
        else:
            # The newest wording stands for all of them.
            known.text, known.default = text, default
            known.places.insert(0, place)
    return _settled(wishes)


def _same(one: str, other: str) -> bool:
    if normalised(one) == normalised(other):
        return True
    first, second = set(content_words(one)), set(content_words(other))
    if not first or not second or _denies(one) != _denies(other):
        return False
    return len(first & second) / len(first | second) >= _ALIKE


def _denies(text: str) -> bool:
    return bool(re.search(r"\b(?:not|never|no|don'?t|avoid|without|stop)\b", text, re.IGNORECASE))


def _settled(wishes: Sequence[Wish]) -> list[Wish]:
    """Wishes without those that a later one took back; the later one says so."""
    ordered = sorted(wishes, key=lambda wish: wish.newest)
    gone: set[int] = set()
    for older, newer in opposing([wish.default for wish in ordered]):
        first, second = ordered[older], ordered[newer]
        if first is second or older in gone:
            continue
        gone.add(older)
        quote = (signal_of(first.text) or {}).get("quote", first.default)
        second.replaces = f'replaces "{one_line(quote, 100)}" of {first.newest:%Y-%m-%d}'
    return [wish for place, wish in enumerate(ordered) if place not in gone]


def habits(told: Iterable[tuple[str, Said]]) -> list[Wish]:
    """What users ask for at the end of many sessions, in the words they used last."""
    asked: dict[str, list[tuple[str, Said]]] = {}
    for text, place in sorted(told, key=lambda each: (each[1].at, each[1].cite)):
        found = _CLOSING.match(text)
        for action, pattern in _ACTIONS.items() if found else ():
            if found and pattern.search(found["quote"]):
                asked.setdefault(action, []).append((found["quote"], place))
    wishes = []
    for action, places in asked.items():
        sessions = {place.thread for _, place in places}
        if len(sessions) < HABIT:
            continue
        # Of the last few, the one that says most.
        quote = max((quote for quote, _ in places[-3:]), key=len)
        text = f'when a task is done, the user asked in {len(sessions)} sessions: "{quote}" -> offer to {action} as the last step (inferred)'
        mine = [place for _, place in reversed(places)]
        wishes.append(Wish(text=text, default=f"offer to {action} at the end", places=mine, is_inferred=True))
    return wishes
