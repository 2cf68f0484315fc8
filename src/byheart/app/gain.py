"""What memory would have spared its user, and what it did spare, counted on the user's own sessions."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from byheart.domain.errors import ByheartError
from byheart.domain.values import dataclass, field
from byheart.handbook.raw import parsed_raw
from byheart.learning.earning import Repeat, advice, in_order, repeats
from byheart.sessions.facts.commands import program_of, stem_of
from byheart.sessions.facts.differences import BEHIND, INSTEAD, WITH, WITHOUT
from byheart.sessions.facts.errors import signature_of
from byheart.storage import cards

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from byheart.domain.handbook import Extract, Written
    from byheart.domain.sessions import Turn
    from byheart.learning.learning import Learning
    from byheart.sessions.sessions import Sessions

# Longer than this nobody worked on one error.
_LONGEST = timedelta(minutes=30)
_TOLD = re.compile(r"^Met (?:once|in \d+ sessions): `(?P<command>[^`]+)` failed with `(?P<error>[^`]+)`")
_QUOTED = re.compile(r"`([^`]+)`")
_SPELLED = (BEHIND, INSTEAD, WITH, WITHOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """An error that was met again, when, and what it cost: the calls and minutes until it was got over, as far as it was."""

    project: str
    agent: str
    session: str
    at: datetime
    error: str
    advice: str
    is_spelling: bool
    calls: int
    minutes: float
    is_told: bool


@dataclass(slots=True, kw_only=True)
class Gain:
    """What was counted: errors met again, sessions looked at, sessions that were told a brief, and how often one of those used what it was
    told and did not meet the error."""

    weeks: int
    sessions: Counter[str] = field(default_factory=Counter)
    again: list[Again] = field(default_factory=list)
    briefed: int = 0
    since: str = ""
    followed: int = 0

    @property
    def minutes(self) -> float:
        return sum(each.minutes for each in self.again)


def gain(learning: Learning, every: Sessions, home: str, weeks: int, now: datetime) -> Gain:
    """What memory would have spared in the last weeks, by the user's own sessions: errors that a session met although an earlier one of
    the same project had got over them."""
    found = Gain(weeks=weeks)
    since = now - timedelta(weeks=weeks)
    told = {str(each.get("session", "")): each for each in cards.every_sent(home)}
    found.since = min((str(each.get("at", "")) for each in told.values()), default="")
    for own, written in learning.taught():
        extracts = in_order([(each, parsed_raw(each.raw_memory)) for each in written])
        recent = {each.thread.id: (each, extract) for each, extract in extracts if each.thread.updated >= since}
        found.sessions[own.name] += len(recent)
        for repeat in repeats(extracts):
            if repeat.thread in recent:
                found.again.append(_again(repeat, recent[repeat.thread][0], own.name, every, repeat.thread in told))
        for thread, (_, extract) in recent.items():
            if thread in told:
                found.briefed += 1
                found.followed += _followed(extract, told[thread])
    found.again.sort(key=lambda each: each.at)
    return found


def _again(repeat: Repeat, written: Written, project: str, every: Sessions, is_told: bool) -> Again:
    lesson = repeat.help.lesson
    calls, minutes = 1, 0.0
    if len(repeat.turns) > 1:
        turns = _turns(every, written)
        first, last = (turns.get(number) for number in (repeat.turns[0], repeat.turns[-1]))
        calls = sum(
            turn.command is not None for number, turn in turns.items() if repeat.turns[0] <= number < repeat.turns[-1]
        )
        if first and last and first.at and last.at:
            minutes = min(last.at - first.at, _LONGEST).total_seconds() / 60
    return Again(
        project=project,
        agent=written.thread.agent,
        session=written.thread.id,
        at=written.thread.updated,
        error=lesson.error,
        advice=advice(repeat.help),
        is_spelling=any(change.how in _SPELLED for change in repeat.help.shared),
        calls=max(calls, 1),
        minutes=round(max(minutes, 0.0), 1),
        is_told=is_told,
    )


def _turns(every: Sessions, written: Written) -> dict[int, Turn]:
    try:
        return {turn.number: turn for turn in every.turns(every.find(written.thread.id).session)}
    except ByheartError:
        # Its transcript is gone, or another agent has a session of that name: then nobody knows how long it took.
        return {}


def _followed(extract: Extract, told: dict[str, object]) -> int:
    """How often a session ran what it was told to run and did not meet the error that this is about."""
    lines = [line for task in extract.tasks for line in task.failures]
    met = {signature_of(error) for line in lines for error in _QUOTED.findall(line.text)[1:2]}
    forms = {stem_of(form) for task in extract.tasks for line in task.knowledge for form in _QUOTED.findall(line.text)}
    count = 0
    said = told.get("told")
    for line in said if isinstance(said, list) else ():
        found = _TOLD.match(str(line[1]))
        if found is None or signature_of(found["error"]) in met:
            continue
        helps = str(line[1])[found.end() :]
        count += any(
            stem_of(form) in forms and stem_of(form) != stem_of(found["command"]) and program_of(form)
            for form in _QUOTED.findall(helps)
        )
    return count


def commonest(again: Sequence[Again], most: int) -> list[tuple[int, str, str]]:
    """The errors that were met again most often: how often, the error, and what helps."""
    counts = Counter(signature_of(each.error) for each in again)
    last = {signature_of(each.error): each for each in again}
    return [(times, last[signature].error, last[signature].advice) for signature, times in counts.most_common(most)]


def by_week(again: Sequence[Again], weeks: int, now: datetime) -> list[int]:
    """How many in each week, the oldest first."""
    counts = [0] * weeks
    for each in again:
        counts[weeks - 1 - min(weeks - 1, max(0, (now - each.at).days // 7))] += 1
    return counts


def sentence(found: Gain) -> str:
    """The sum in one line; empty where there is nothing to say."""
    if not found.again:
        return ""
    times, sessions = len(found.again), len({each.session for each in found.again})
    return (
        f"In the last {found.weeks} weeks, {sessions} session{'s' if sessions > 1 else ''} met {times} error{'s' if times > 1 else ''} "
        f"that an earlier session had already solved (about {found.minutes:.0f} minutes)."
    )


def picture(found: Gain, now: datetime) -> str:
    """A bar for each week, as SVG."""
    counts = by_week(found.again, found.weeks, now)
    top, width = max(counts, default=0) or 1, 40
    bars = "".join(
        f'<rect x="{20 + place * width}" y="{150 - 110 * count / top:.1f}" width="{width - 8}" height="{110 * count / top:.1f}" fill="#4a7dbd"/>'
        f'<text x="{20 + place * width + width / 2 - 4:.0f}" y="{144 - 110 * count / top:.1f}" text-anchor="middle">{count}</text>'
        f'<text x="{20 + place * width + width / 2 - 4:.0f}" y="168" text-anchor="middle">{_monday(now, found.weeks - 1 - place)}</text>'
        for place, count in enumerate(counts)
    )
    size = 40 + found.weeks * width
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{max(size, 320)}" height="184" font-family="sans-serif" font-size="11">'
        f'<rect width="100%" height="100%" fill="white"/><text x="20" y="18" font-size="13">Errors met again, by week</text>{bars}</svg>\n'
    )


def _monday(now: datetime, weeks_ago: int) -> str:
    return f"{now - timedelta(weeks=weeks_ago):%d %b}"
