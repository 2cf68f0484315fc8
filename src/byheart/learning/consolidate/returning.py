"""What people ask for again and again, in whatever words: requests that return in several sessions, how work is ended, and with what it
is done. Sessions are counted; words are only compared with one another."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass
from byheart.learning.consolidate.wishes import Mention, Wish
from byheart.learning.earning import HALF_LIFE
from byheart.learning.extract.knowledge import ASKED, ASKED_LATER, MANNER, THEN_RAN, manners_in
from byheart.learning.extract.tasks import is_chore
from byheart.text.similarity import STOP_WORDS, content_words, normalised, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_QUOTE = re.compile(
    rf'^(?:{re.escape(ASKED_LATER)}|{re.escape(ASKED)})"(?P<quote>.+?)"(?:{re.escape(THEN_RAN)}(?P<ran>`[^`]+`(?:, `[^`]+`)*))?$'
)
_RAN = re.compile(r"`([^`]+)`")
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
_ENDS = ("commit", "push", "open a pull request")
# What agrees, thanks or goes on, and asks for nothing by itself.
_CONSENT = frozenset(
    content_words(
        "yes yeah yep ok okay sure please thanks thank great nice good perfect cool go do it now then let lets"
    )
)
_ASKS_FOR = re.compile(r"\W*(?:\w+\W+){0,3}?(?:let'?s|please|can you|could you|can we)\b", re.IGNORECASE)
_VERSION = re.compile(r"\s+\d+(?:\.\d+)*$")
# So many sessions make a habit of what was asked for at their end.
HABIT = 3
# A request that returns: how many words it has at least, how alike two are, from what length on a button may have sent it, how many are told.
_SAYING, _NEARLY, _BUTTON, _MOST_REQUESTS = 2, 0.6, 60, 6
# Words in a row that so many sessions share are one request, whatever stands around them.
_ROW, _SHARE_ROW, _LONG = 3, 4, 8
_BRIEFLY = 3
EXPECT = "expect this request"
# What so many of the sessions ran belongs to a request; so many steps are told.
_MOST_OF, _MOST_STEPS = 0.5, 5
# What is worth less was asked for long ago, about something that may be gone.
_LASTS = 1.5
# And so many sessions make a habit of what was to be used.
MANNERS = 4
_NAMES = re.compile(r"https?://\S+|[\w@.~-]*(?:/[\w@.~-]+)+|#?\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A short request: its words, those in a row, and where it was made."""

    quote: str
    words: frozenset[str]
    rows: frozenset[tuple[str, ...]]
    place: Mention
    ran: tuple[str, ...] = ()


def habits(told: Iterable[tuple[str, Mention]]) -> list[Wish]:
    """What users ask for at the end of many sessions, in the words they used last."""
    asked: dict[str, list[tuple[str, Mention]]] = {}
    for text, place in sorted(told, key=lambda each: (each[1].at, each[1].cite)):
        found = _QUOTE.match(text) if text.startswith(ASKED_LATER) else None
        for action, pattern in _ACTIONS.items() if found and _is_asked(found["quote"]) else ():
            if found and pattern.search(found["quote"]):
                asked.setdefault(action, []).append((found["quote"], place))
    often = {action: places for action, places in asked.items() if len({place.thread for _, place in places}) >= HABIT}
    # What ends a piece of work is one habit, whatever it is made of.
    ends = [action for action in _ENDS if action in often]
    groups = [ends] if ends else []
    for action in (action for action in often if action not in ends):
        # What is asked for in one breath is one habit, too.
        said = _usual(often[action])
        whole = next((own for own in groups if said == _usual([one for each in own for one in often[each]])), None)
        if whole is None:
            groups.append([action])
        else:
            whole.append(action)
    return [_habit(actions, [each for action in actions for each in often[action]]) for actions in groups]


def _is_asked(quote: str) -> bool:
    """Whether a message asks for what it names, rather than speaking of it."""
    return is_chore(quote) or bool(_ASKS_FOR.match(quote))


def requests(told: Iterable[tuple[str, Mention]], known: Sequence[Wish] = ()) -> list[Wish]:
    """Short requests that return in several sessions, whatever they ask for, but for those that a known habit tells: in nearly the same
    words, with more around them, or with a few words in a row in common. What is the same to the letter and long is what a client's button
    sends."""
    quoted = [own for wish in known if (own := frozenset(content_words(wish.quote)))]
    asked = [one for text, place in told if (one := _asked(text, place)) is not None]
    usual = [(_ACTIONS[action], wish.words) for wish in known for action in _ACTIONS if action in wish.default]
    every = [
        one
        for one in asked
        if not any(_says_no_more(one.words, own) for own in quoted)
        and not any(pattern.search(one.quote) and one.words - _CONSENT <= told for pattern, told in usual)
    ]
    every.sort(key=lambda each: (each.place.at, each.place.cite))
    clusters = _alike(every)
    often = [each for each in clusters if _sessions(each) >= HABIT]
    rest = [one for each in clusters if _sessions(each) < HABIT for one in each]
    often = _joined([*often, *_in_a_row(rest)])
    place = {thread: number for number, thread in enumerate(dict.fromkeys(each.place.thread for each in every), 1)}
    fresh = [each for each in often if not _is_button(each) and _worth(each, place) >= _LASTS]
    # What is run for any request says little about one.
    anyway = Counter(deed for _, deed in {(each.place.thread, deed) for each in every for deed in each.ran})
    common = {deed: times / len(place) for deed, times in anyway.items()}
    return [_request(each, common) for each in sorted(fresh, key=_sessions, reverse=True)][:_MOST_REQUESTS]


def _worth(own: Sequence[Asked], place: Mapping[str, int]) -> float:
    """In how many sessions something was asked for, those of long ago counting less."""
    return float(
        sum(0.5 ** ((len(place) - place[thread]) / HALF_LIFE) for thread in {each.place.thread for each in own})
    )


def _asked(text: str, place: Mention) -> Asked | None:
    found = _QUOTE.match(text)
    if found is None or found["quote"][:1] in "<‹/":
        return None
    plain = _NAMES.sub(" ", found["quote"])
    told = frozenset(content_words(plain))
    if len(told - _CONSENT - STOP_WORDS) < _SAYING:
        return None
    row = words(plain)
    rows = {tuple(row[at : at + _ROW]) for at in range(len(row) - _ROW + 1)}
    telling = {each for each in rows if len(set(each) - _CONSENT - STOP_WORDS) >= _SAYING}
    ran = tuple(_RAN.findall(found["ran"] or ""))
    return Asked(quote=found["quote"], words=told, rows=frozenset(telling), place=place, ran=ran)


def _alike(every: Sequence[Asked]) -> list[list[Asked]]:
    """Requests in nearly the same words, those that are made most often first; with them those that hold such a one and little more."""
    often = Counter(each.words for each in every)
    clusters: list[tuple[frozenset[str], list[Asked]]] = []
    for each in sorted(every, key=lambda each: (-often[each.words], len(each.words))):
        near = next((own for first, own in clusters if _nearly(first, each.words) or _holds(each.words, first)), None)
        if near is None:
            clusters.append((each.words, [each]))
        else:
            near.append(each)
    return [own for _, own in clusters]


def _joined(clusters: Sequence[list[Asked]]) -> list[list[Asked]]:
    """Requests that are made in several forms, each of them often: one, where the forms have half of their words in common."""
    joined: list[tuple[set[frozenset[str]], list[Asked]]] = []
    for own in sorted(clusters, key=_sessions, reverse=True):
        form = Counter(each.words for each in own).most_common(1)[0][0]
        near = next(
            (known for known in joined if any(2 * len(form & each) >= len(form | each) for each in known[0])), None
        )
        if near is None:
            joined.append(({form}, list(own)))
        else:
            near[0].add(form)
            near[1].extend(own)
    return [own for _, own in joined]


def _in_a_row(every: Sequence[Asked]) -> list[list[Asked]]:
    """Requests that share a few words in a row with those of other sessions."""
    left = list(every)
    found: list[list[Asked]] = []
    while True:
        rows: dict[tuple[str, ...], list[Asked]] = {}
        for each in left:
            for row in each.rows:
                rows.setdefault(row, []).append(each)
        row, own = max(rows.items(), key=lambda item: (_sessions(item[1]), item[0]), default=((), []))
        if _sessions(own) < _SHARE_ROW:
            return found
        found.append(own)
        left = [each for each in left if row not in each.rows]


def _sessions(own: Sequence[Asked]) -> int:
    # A long sentence that stands in two sessions word for word is one message in two files.
    return len({normalised(each.quote) if len(each.quote.split()) >= _LONG else each.place.thread for each in own})


def _is_button(own: Sequence[Asked]) -> bool:
    return len({each.quote for each in own}) == 1 and len(own[0].quote) > _BUTTON


def _request(own: Sequence[Asked], common: Mapping[str, float]) -> Wish:
    """A request that returns, in the words that have most in common with all others."""
    counts = Counter(word for each in own for word in each.words)
    best = max(own, key=lambda each: (sum(counts[word] for word in each.words) / len(each.words), each.place.at))
    # Who asks for more than that often says so in the same words too.
    more = [each for each in own if best.words < each.words]
    usual, times = Counter(each.words for each in more).most_common(1)[0] if more else (frozenset(), 0)
    fuller = next((each.quote for each in reversed(more) if each.words == usual), "") if times >= HABIT else ""
    shown = f'{best.quote}" or "{fuller}' if fuller else best.quote.replace('"', "'")
    usual_steps = _usually_run(own, common)
    expected = (
        f"{EXPECT}; sessions then ran {', '.join(usual_steps)}" if usual_steps else f"{EXPECT}, and prepare for it"
    )
    text = f'when working here, the user asked in {_sessions(own)} sessions: "{shown}" -> {expected} (inferred)'
    mine = [each.place for each in sorted(own, key=lambda each: (each.place.at, each.place.cite), reverse=True)]
    return Wish(text=text, default=f"expect: {shown}", places=mine, is_inferred=True, quote=best.quote)


def _usually_run(own: Sequence[Asked], common: Mapping[str, float]) -> list[str]:
    """What most sessions ran for a request, what is run for that rather than for others first. `common` is in how large a part of all
    sessions each thing was run. No more than that something was sent is nothing to tell."""
    by_session: dict[str, set[str]] = {}
    for each in own:
        by_session.setdefault(each.place.thread, set()).update(each.ran)
    counts = Counter(deed for ran in by_session.values() for deed in ran)
    most = [deed for deed, times in counts.items() if times >= max(HABIT, _MOST_OF * len(by_session))]
    most.sort(key=lambda deed: (-counts[deed] * (1 - common[deed]), deed))
    return [f"`{deed}`" for deed in most[:_MOST_STEPS]] if len(most) > 1 else []


def _says_no_more(told: frozenset[str], known: frozenset[str]) -> bool:
    return _nearly(told, known) or told <= known or (known <= told and len(told - known - _CONSENT) < _SAYING)


def _holds(told: frozenset[str], first: frozenset[str]) -> bool:
    """Whether a request says what another does, and no more than as much again."""
    return first <= told and len(told) <= 2 * len(first) + 1


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


def _usual(places: Sequence[tuple[str, Mention]]) -> str:
    """Of several requests the words that are used most, and latest."""
    often = Counter(normalised(quote) for quote, _ in places)
    ordered = sorted(places, key=lambda each: (each[1].at, each[1].cite))
    return max(enumerate(ordered), key=lambda each: (often[normalised(each[1][0])], each[0]))[1][0]


def _habit(actions: Sequence[str], places: Sequence[tuple[str, Mention]]) -> Wish:
    """A habit in the words that are used most, and latest."""
    ordered = sorted(places, key=lambda each: (each[1].at, each[1].cite))
    quote = _usual(places)
    sessions = len({place.thread for _, place in places})
    action = " and ".join([", ".join(actions[:-1]), actions[-1]] if len(actions) > 1 else actions)
    text = f'when a task is done, the user asked in {sessions} sessions: "{quote}" -> offer to {action} as the last step (inferred)'
    mine = list(dict.fromkeys(place for _, place in reversed(ordered)))
    # A request that says much says more than the habit.
    short = [own for each, _ in places if len(own := set(content_words(each)) - _CONSENT) <= _BRIEFLY]
    told = frozenset(word for own in short for word in own)
    return Wish(
        text=text, default=f"offer to {action} at the end", places=mine, is_inferred=True, quote=quote, words=told
    )
