"""Preferences of all sessions put together: what says the same is one, what was taken back is replaced, what returns counts
for more."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass, field
from byheart.handbook.phrases import one_line, signal_of
from byheart.journal.integrity import opposing
from byheart.learning.extract.knowledge import MANNER, manners_in
from byheart.learning.extract.tasks import is_chore
from byheart.text.similarity import content_words, normalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

_CLOSING = re.compile(r'^when it was done, the user asked: "(?P<quote>.+)"$')
_ACTIONS = {
    action: re.compile(pattern, re.IGNORECASE)
    for action, pattern in (
        ("commit", r"\bcom+it+(?:s|ted)?\b|\bcommi\b"),
        ("push", r"\bpush\b"),
        (
            "fold it into the commit it belongs to",
            r"\b(?:fold(?:ed)?|fixup|amend|(?:existing|current|right) commits?)\b",
        ),
        ("open a pull request", r"\b(?:pr|pull request|merge request)\b"),
        ("update the changelog", r"\bchange-?log\b"),
        ("update the documents", r"\b(?:readme|docs?|documentation)\b"),
        ("run the tests", r"\btests?\b"),
    )
}
# What agrees, thanks or goes on, and asks for nothing by itself.
_CONSENT = frozenset(
    content_words(
        "yes yeah yep ok okay sure please thanks thank great nice good perfect cool go do it now then let lets"
    )
)
_ASKS_FOR = re.compile(r"\W*(?:\w+\W+){0,3}?(?:let'?s|please|can you|could you|can we)\b", re.IGNORECASE)
_VERSION = re.compile(r"\s+\d+(?:\.\d+)*$")
_THING = r"(?:the |only |just )?([A-Za-z@][\w@.+#/-]*)"
_FOR = re.compile(
    rf"\b(?:us(?:e|es|ing)|prefer|switch(?:ed)? to|mov(?:e|ed) to|go with|stick (?:to|with)|rely on)\s+{_THING}",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    rf"\b(?:not|never|no longer|don'?t|do not|stop|avoid|instead of|rather than|over)\s+(?:us(?:e|ing)\s+|with\s+)?{_THING}",
    re.IGNORECASE,
)
_NOTHING = frozenset(
    "a an the it this that them to be do use using ever any all have in on for with and or more".split()
)
# So many sessions make a habit of what was asked for at their end.
HABIT = 3
# A request that returns: how many words it has at least, how alike two are, from what length on a button may have sent it, how many are told.
_SAYING, _NEARLY, _BUTTON, _MOST_REQUESTS = 2, 0.6, 60, 6
# And so many make one of what was to be used.
MANNERS = 4
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
    # The request that stands for a habit.
    quote: str = ""

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
    wanted = {each.casefold().rstrip(".") for each in _FOR.findall(text)} - _NOTHING
    unwanted = {each.casefold().rstrip(".") for each in _AGAINST.findall(text)} - _NOTHING
    return _Told(
        plain=normalised(text),
        wanted=frozenset(wanted - unwanted),
        unwanted=frozenset(unwanted),
        words=frozenset(content_words(text)),
        denies=_denies(text),
    )


def _opposed(earlier: str, later: str) -> bool:
    """Whether the later sentence is against what the earlier one is for, or the other way round."""
    first, second = _told(earlier), _told(later)
    return bool(first.wanted & second.unwanted or first.unwanted & second.wanted)


def _denies(text: str) -> bool:
    return bool(re.search(r"\b(?:not|never|no|don'?t|avoid|without|stop)\b", text, re.IGNORECASE))


def _settled(wishes: Sequence[Wish]) -> list[Wish]:
    """Wishes without those that a later one took back; the later one says so."""
    ordered = sorted(wishes, key=lambda wish: wish.newest)
    gone: set[int] = set()
    texts = [wish.default for wish in ordered]
    pairs = set(opposing(texts))
    pairs |= {
        (older, newer) for newer in range(len(texts)) for older in range(newer) if _opposed(texts[older], texts[newer])
    }
    for older, newer in sorted(pairs):
        first, second = ordered[older], ordered[newer]
        if first is second or older in gone:
            continue
        gone.add(older)
        quote = (signal_of(first.text) or {}).get("quote", first.default)
        second.replaces = f'replaces "{one_line(quote, 100)}" of {first.newest:%Y-%m-%d}'
    return [wish for place, wish in enumerate(ordered) if place not in gone]


def habits(told: Iterable[tuple[str, Mention]]) -> list[Wish]:
    """What users ask for at the end of many sessions, in the words they used last."""
    asked: dict[str, list[tuple[str, Mention]]] = {}
    for text, place in sorted(told, key=lambda each: (each[1].at, each[1].cite)):
        found = _CLOSING.match(text)
        for action, pattern in _ACTIONS.items() if found and _is_asked(found["quote"]) else ():
            if found and pattern.search(found["quote"]):
                asked.setdefault(action, []).append((found["quote"], place))
    wishes: dict[str, tuple[list[str], list[tuple[str, Mention]]]] = {}
    for action, places in asked.items():
        sessions = {place.thread for _, place in places}
        if len(sessions) >= HABIT:
            # In the words that are used most, and latest. What is asked for in one breath is one habit.
            often = Counter(normalised(quote) for quote, _ in places)
            quote = max(enumerate(places), key=lambda each: (often[normalised(each[1][0])], each[0]))[1][0]
            known = wishes.setdefault(quote, ([], places))
            known[0].append(action)
            if len(places) > len(known[1]):
                wishes[quote] = (known[0], places)
    return [_habit(quote, actions, places) for quote, (actions, places) in wishes.items()]


def _is_asked(quote: str) -> bool:
    """Whether a message asks for what it names, rather than speaking of it."""
    return is_chore(quote) or bool(_ASKS_FOR.match(quote))


def requests(told: Iterable[tuple[str, Mention]], known: Sequence[Wish] = ()) -> list[Wish]:
    """Short requests that return in several sessions in nearly the same words, whatever they ask for, but for those that a known habit
    tells. What is the same to the letter and long is what a client's button sends."""
    quoted = [words for wish in known for words in [frozenset(content_words(wish.quote))] if words]
    clusters: list[tuple[frozenset[str], list[tuple[str, Mention]]]] = []
    for text, place in sorted(told, key=lambda each: (each[1].at, each[1].cite)):
        found = _CLOSING.match(text)
        words = frozenset(content_words(found["quote"])) if found else frozenset()
        if (
            found is None
            or len(words - _CONSENT) < _SAYING
            or found["quote"][:1] in "<‹"
            or any(_says_no_more(words, each) for each in quoted)
        ):
            continue
        near = next((each for first, each in clusters if _nearly(first, words)), None)
        if near is None:
            clusters.append((words, [(found["quote"], place)]))
        else:
            near.append((found["quote"], place))
    wishes = []
    for _, places in sorted(clusters, key=lambda each: -len({place.thread for _, place in each[1]})):
        sessions = {place.thread for _, place in places}
        quotes = Counter(quote for quote, _ in places)
        quote, times = quotes.most_common(1)[0]
        if len(sessions) < HABIT or (times == len(places) and len(quote) > _BUTTON):
            continue
        shown = quote.replace('"', "'")
        text = f'when working here, the user asked in {len(sessions)} sessions: "{shown}" -> expect this request, and prepare for it (inferred)'
        mine = [place for _, place in reversed(places)]
        wishes.append(Wish(text=text, default=f"expect: {shown}", places=mine, is_inferred=True))
    return wishes[:_MOST_REQUESTS]


def _says_no_more(words: frozenset[str], known: frozenset[str]) -> bool:
    return _nearly(words, known) or (known <= words and len(words - known) < _SAYING)


def _nearly(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _NEARLY * len(one | other)


def manners(told: Iterable[tuple[str, Mention]]) -> list[Wish]:
    """What users want used in many sessions, by name, in the words they used last."""
    asked: dict[str, list[tuple[str, Mention]]] = {}
    for text, place in sorted(told, key=lambda each: (each[1].at, each[1].cite)):
        if text.startswith(MANNER):
            quote = text[len(MANNER) :].strip('"')
            for name in dict.fromkeys(name.casefold() for name in manners_in(quote)):
                # Of which version it was may change.
                asked.setdefault(_VERSION.sub("", name), []).append((quote, place))
    wishes = []
    for name, places in asked.items():
        # The same sentence in two sessions may be one session, copied.
        distinct = {normalised(quote): place.thread for quote, place in places}
        if len(set(distinct.values())) < MANNERS:
            continue
        quote = places[-1][0].replace('"', "'")
        text = f'when giving work, the user asked for "{name}" in {len(set(distinct.values()))} sessions, last: "{quote}" -> use it for the same kind of work unless told otherwise (inferred)'
        wishes.append(
            Wish(text=text, default=f"use {name}", places=[place for _, place in reversed(places)], is_inferred=True)
        )
    return wishes


def _habit(quote: str, actions: Sequence[str], places: Sequence[tuple[str, Mention]]) -> Wish:
    sessions = len({place.thread for _, place in places})
    action = " and ".join(actions)
    text = f'when a task is done, the user asked in {sessions} sessions: "{quote}" -> offer to {action} as the last step (inferred)'
    mine = [place for _, place in reversed(places)]
    return Wish(text=text, default=f"offer to {action} at the end", places=mine, is_inferred=True, quote=quote)
