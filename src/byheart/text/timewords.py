"""Points in time: as people type them, and as a question speaks of them ("last week", "in March", "before 5 June"), which is a hint,
never a filter."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from byheart.domain.values import dataclass
from byheart.text.deferred import deferred

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = {name: place for place, name in enumerate(_MONTHS, 1)} | {
    name[:3]: place for place, name in enumerate(_MONTHS, 1) if name != "may"
}
_DAYS = {name: place for place, name in enumerate("monday tuesday wednesday thursday friday saturday sunday".split())}
_NUMBERS = {
    name: number
    for number, names in enumerate(
        ("", "a an one", "two couple", "three few", "four", "five several", "six", "seven", "eight", "nine", "ten")
    )
    for name in names.split()
}
_LENGTH = {"day": 1, "night": 1, "week": 7, "weekend": 7, "fortnight": 14, "month": 30, "quarter": 91, "year": 365}
_COUNT = rf"(\d{{1,3}}|{'|'.join(_NUMBERS)})(?: of)?"
_UNIT = r"(day|week|fortnight|month|quarter|year)s?"
_AGO = deferred(rf"\b{_COUNT} {_UNIT} ago\b")
_PAST = deferred(rf"\b(?:last|past|previous) (?:{_COUNT} )?{_UNIT}\b")
_LAST = deferred(rf"\b(last|this|on|past) ({'|'.join(_DAYS)}|weekend|night)\b")
_NAMED = deferred(r"\b(today|yesterday|this (week|month|year|quarter)|the other day)\b")
_ISO = deferred(r"\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?\b")
_DATE = deferred(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?({'|'.join(_MONTH)})\b\.?(?: (\d{{1,2}})(?:st|nd|rd|th)?\b)?(?:,? ((?:19|20)\d\d)\b)?"
)
_DATED = deferred(
    rf"\b(?:in|on|since|before|after|until|during|from) (?:early |late |mid |the )?(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?)?(?:{'|'.join(_MONTH)})\b\.?"
    r"(?: \d{1,2}(?:st|nd|rd|th)?\b)?(?:,? (?:19|20)\d\d\b)?"
)
_YEAR = deferred(r"\b(?:in|of|since|during|before|after|until|by) ((?:19|20)\d\d)\b")
# Words that are also names of months need one of these before them, or a number beside them.
_LEADS = deferred(r"\b(?:in|of|during|since|early|late|mid|on|last|this|before|after|until|by|from|to|and) $")
# One of these is in every text that any of the patterns fits: most questions speak of no time, and need none of them.
_TELLING = ("ago", "last", "past", "previous", "this ", "day", "night", "weekend", *(name[:3] for name in _MONTHS))
_UNSURE = frozenset({"may", "march", "mar", "sep", "dec", "jan"})
# What was talked about on a day often happened a little before it.
_AFTERWARDS = 14


@dataclass(frozen=True, slots=True)
class Spell:
    """A stretch of time, both days in it. An open end is a day at the end of the calendar."""

    first: date
    last: date
    slack: int = 1

    def closeness(self, day: date) -> float:
        """1 within, less the further outside, 0 beyond the slack; a little after it is nearly within."""
        if self.first <= day <= self.last:
            return 1.0
        late = (day - self.last).days
        if late > 0:
            return max(0.0, 1 - late / (max(_AFTERWARDS, self.slack) + 1))
        return max(0.0, 1 - (self.first - day).days / (self.slack + 1))


@dataclass(frozen=True, slots=True)
class TimeHint:
    """The stretches of time that a question speaks of."""

    spells: tuple[Spell, ...] = ()

    def closeness(self, day: date | None) -> float:
        """How well a day fits, from 0 to 1."""
        if day is None or not self.spells:
            return 0.0
        return max(each.closeness(day) for each in self.spells)

    def holds(self, day: date | None) -> bool:
        """Whether a day lies in one of the stretches."""
        return day is not None and any(each.first <= day <= each.last for each in self.spells)


def hint(question: str, today: date) -> TimeHint:
    """The time that a question speaks of, seen from a day."""
    text = " ".join(question.casefold().split())
    if not any(word in text for word in _TELLING) and not any(each.isdigit() for each in text):
        return TimeHint()
    spells = [*_relative(text, today), *_named(text, today), *_dates(text, today)]
    return TimeHint(tuple(spells))


def timeless(question: str) -> str:
    """A question without the words that say when: what is looked for in texts, which seldom say so themselves."""
    text = question
    for pattern in (_AGO, _PAST, _LAST, _NAMED, _ISO, _DATED):
        text = pattern.sub(" ", text.casefold())
    return text


def _count(word: str | None) -> int:
    if not word:
        return 1
    return int(word) if word.isdigit() else _NUMBERS[word]


def _relative(text: str, today: date) -> list[Spell]:
    found = []
    for match in _AGO.finditer(text):
        length = _LENGTH[match[2]]
        days = min(_count(match[1]) * length, 40_000)
        # "Three months ago" is not a day: half a unit to both sides.
        at, half = _before(today, days), max(1, length // 2)
        found.append(Spell(_before(at, half), min(at + timedelta(half), today), slack=max(2, length)))
    for match in _PAST.finditer(text):
        days = min(_count(match[1]) * _LENGTH[match[2]], 40_000)
        if match[1] is None and match[0].startswith("last") and match[2] == "year":
            found.append(Spell(date(today.year - 1, 1, 1), date(today.year - 1, 12, 31), slack=30))
        else:
            # "Last week" is the week before this one, or the seven days before this one: today is in neither.
            is_one = match[1] is None and match[0].startswith(("last", "previous"))
            until = _before(today, 1) if is_one else today
            since = days + today.weekday() if is_one and match[2] == "week" else days + days // 4
            found.append(Spell(_before(today, since), until, slack=max(2, days // 4)))
    return found


def _named(text: str, today: date) -> list[Spell]:
    found = []
    for match in _LAST.finditer(text):
        word = match[2]
        if word == "night":
            found.append(Spell(_before(today, 1), today))
        elif word == "weekend":
            saturday = _before(today, (today.weekday() - 5) % 7 or 7)
            found.append(Spell(saturday, saturday + timedelta(1), slack=2))
        else:
            day = _before(today, (today.weekday() - _DAYS[word]) % 7 or 7)
            found.append(Spell(day, day, slack=1))
    for match in _NAMED.finditer(text):
        word = match[1]
        if word == "today":
            found.append(Spell(today, today))
        elif word == "yesterday":
            found.append(Spell(_before(today, 1), _before(today, 1)))
        elif word == "the other day":
            found.append(Spell(_before(today, 7), today, slack=4))
        else:
            start = {
                "week": _before(today, today.weekday()),
                "month": today.replace(day=1),
                "quarter": date(today.year, (today.month - 1) // 3 * 3 + 1, 1),
                "year": date(today.year, 1, 1),
            }[match[2]]
            found.append(Spell(start, today, slack=2))
    return found


def _dates(text: str, today: date) -> list[Spell]:
    found: list[Spell] = []
    for match in _ISO.finditer(text):
        found += _spell(text[: match.start()], int(match[1]), int(match[2]), int(match[3]) if match[3] else None)
    for match in _DATE.finditer(text):
        day = match[1] or match[3]
        if match[2] in _UNSURE and not (day or match[4] or _LEADS.search(text[: match.start()])):
            continue
        month = _MONTH[match[2]]
        # Without a year: the last one that this month was in.
        year = int(match[4]) if match[4] else today.year - (month > today.month)
        found += _spell(text[: match.start()], year, month, int(day) if day else None)
    if not found:
        for match in _YEAR.finditer(text):
            year = int(match[1])
            found += _bounded(text[: match.start(1)], date(year, 1, 1), date(year, 12, 31), 30)
    return found


def _spell(before: str, year: int, month: int, day: int | None) -> list[Spell]:
    try:
        first = date(year, month, day or 1)
    except ValueError:
        return []
    if day:
        return _bounded(before, first, first, 2)
    following = date(year + (month == 12), month % 12 + 1, 1)
    return _bounded(before, first, following - timedelta(1), 4)


def _bounded(before: str, first: date, last: date, slack: int) -> list[Spell]:
    """The stretch itself, or all that lies before or after it."""
    if re.search(r"\b(?:before|until|by|prior to) (?:the )?$", before):
        return [Spell(date.min, _before(first, 1), slack=0)]
    if re.search(r"\b(?:after|since|from) (?:the )?$", before):
        return [Spell(first, date.max, slack=0)]
    return [Spell(first, last, slack)]


def _before(day: date, days: int) -> date:
    return date.fromordinal(max(1, day.toordinal() - days))


_SPAN_AGO = re.compile(r"(\d{1,5})\s*(h|d|w|y|hours?|days?|weeks?|months?|years?)(?:\s+ago)?", re.IGNORECASE)
_HOURS = {"h": 1, "d": 24, "w": 168, "m": 730, "y": 8766}


def moment(text: str, now: datetime) -> datetime | None:
    """A date, a date with a time, `today`, `yesterday`, or how long ago (`36h`, `7d`, `2 weeks`); None for anything else.
    What has no zone is meant in the machine's own."""
    typed = text.strip().casefold()
    local = now.astimezone()
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    if typed in ("today", "yesterday"):
        return midnight if typed == "today" else midnight - timedelta(days=1)
    ago = _SPAN_AGO.fullmatch(typed)
    try:
        if ago:
            return now - timedelta(hours=int(ago.group(1)) * _HOURS[ago.group(2)[0]])
        found = datetime.fromisoformat(text.strip())
        return found if found.tzinfo else found.astimezone()
    except (ValueError, OverflowError, OSError):
        return None
