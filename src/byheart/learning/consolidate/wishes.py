"""Preferences of all sessions put together: what says the same is one, what was taken back is replaced, what returns counts
for more."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass, field
from byheart.handbook.phrases import one_line, signal_of
from byheart.language.faithful import denies
from byheart.language.opposition import opposing, position
from byheart.text.similarity import content_words, normalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

# Words that only say how it is meant, or in which of two ways a thing is called.
_MANNER = frozenset(
    content_words(
        "always please never ever just only also really every each all any repo repository project here everywhere make sure use using run running write writing add adding instead over rather"
    )
)
_ALIKE = 0.75
_LONG = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One place where something was wanted: the session, when, and the turns."""

    thread: str
    at: datetime
    cite: str
    group: str
    task: tuple[str, int]
    quote: str = ""


@dataclass(slots=True, kw_only=True)
class Wish:
    """A preference with every place it was said in, the newest first; and one that it took the place of."""

    text: str
    default: str
    places: list[Mention] = field(default_factory=list)
    replaces: str = ""
    is_inferred: bool = False
    # The request that stands for a habit, and the words of all of them.
    quote: str = ""
    words: frozenset[str] = frozenset()

    @property
    def newest(self) -> datetime:
        return max(place.at for place in self.places)

    @property
    def sessions(self) -> int:
        # A long sentence that stands in two sessions word for word is one message in two files.
        return len({_once(place) for place in self.places})


def _once(place: Mention) -> str:
    return normalised(place.quote) if len(place.quote.split()) >= _LONG else place.thread


def merged(told: Iterable[tuple[str, Mention]]) -> list[Wish]:
    """Preference signals, each with where it was said, as wishes. Of two that oppose each other the newer stands."""
    wishes: list[Wish] = []
    for text, place in sorted(told, key=lambda each: (each[1].at, each[1].cite)):
        parts = signal_of(text)
        default = parts["default"] if parts else text
        known = next((wish for wish in wishes if same(wish.default, default)), None)
        if known is None:
            wishes.append(Wish(text=text, default=default, places=[place]))
        else:
            # The newest wording stands for all of them.
            known.text, known.default = text, default
            known.places.insert(0, place)
    return _settled(wishes)


def repeated(told: Iterable[tuple[str, Mention]], wishes: list[Wish]) -> list[Wish]:
    """What nobody could be sure of by itself, and several sessions said: those that agree with a known wish add to it, and of
    the others those that came more than once. Word for word the same may be a copy, so it counts once."""
    maybe: list[Wish] = []
    for text, place in sorted(told, key=lambda each: (each[1].at, each[1].cite)):
        default = (signal_of(text) or {}).get("default", text)
        known = next((wish for wish in wishes if same(wish.default, default)), None)
        if known is not None:
            known.places.append(place)
            known.places.sort(key=lambda each: each.at, reverse=True)
            continue
        other = next((wish for wish in maybe if same(wish.default, default)), None)
        if other is None:
            maybe.append(Wish(text=text, default=default, places=[place]))
        elif normalised(other.text) != normalised(text) and place.at.date() != other.places[0].at.date():
            other.text, other.default = text, default
            other.places.insert(0, place)
    return [wish for wish in maybe if wish.sessions > 1]


def same(one: str, other: str) -> bool:
    """Whether two sentences want the same thing."""
    first, second = _told(one), _told(other)
    if first.plain == second.plain:
        return True
    if first.wanted and first.unwanted and (first.wanted, first.unwanted) == (second.wanted, second.unwanted):
        # One thing and not another, whatever is said around it.
        return True
    if not first.words or not second.words or first.denies != second.denies:
        return False
    if first.words - second.words - _MANNER and second.words - first.words - _MANNER:
        # Another word in the place of one is another thing: two lines that say nearly the same do less harm than one that is lost.
        return False
    return len(first.words & second.words) / len(first.words | second.words) >= _ALIKE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """A sentence as it is compared: the things it is for and against by name, its words, and whether it denies."""

    plain: str
    wanted: frozenset[str]
    unwanted: frozenset[str]
    words: frozenset[str]
    denies: bool


@lru_cache(maxsize=8192)
def _told(text: str) -> _Told:
    named = position(text)
    return _Told(
        plain=normalised(text),
        wanted=named.wanted,
        unwanted=named.unwanted,
        words=frozenset(content_words(text)),
        denies=denies(text),
    )


def _settled(wishes: Sequence[Wish]) -> list[Wish]:
    """Wishes without those that a later one took back; the later one says so."""
    ordered = sorted(wishes, key=lambda wish: wish.newest)
    gone: set[int] = set()
    for older, newer in sorted(opposing([wish.default for wish in ordered])):
        first, second = ordered[older], ordered[newer]
        if first is second or older in gone:
            continue
        gone.add(older)
        quote = (signal_of(first.text) or {}).get("quote", first.default)
        second.replaces = f'replaces "{one_line(quote, 100)}" of {first.newest:%Y-%m-%d}'
    return [wish for place, wish in enumerate(ordered) if place not in gone]
