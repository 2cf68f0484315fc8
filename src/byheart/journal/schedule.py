"""Whether upkeep is due: by interval, or by a cron expression read in local time. Asked by every command, so it reads one small file
and imports little."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from byheart.domain.documents import Root
from byheart.domain.values import dataclass
from byheart.journal.files import journal_files, state
from byheart.workspace.context import Context

_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_MONTHS = {name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_DAYS = {name: number for number, name in enumerate("sun mon tue wed thu fri sat".split())}
# Five years see every day that exists, the 29th of February among them.
_HORIZON_DAYS = 366 * 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """The minutes, hours and days at which something is due."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    # As cron has it: where both kinds of day are restricted, either is enough.
    either_day: bool

    def has_day(self, day: datetime) -> bool:
        if day.month not in self.months:
            return False
        by_month, by_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_month or by_week if self.either_day else by_month and by_week


def cron(expression: str) -> Cron | None:
    """The five fields of a cron expression, or None where it is not one."""
    text = _NICKNAMES.get(expression.strip().casefold(), expression)
    parts = text.split()
    if len(parts) != 5:
        return None
    try:
        minutes = _values(parts[0], 0, 59, {})
        hours = _values(parts[1], 0, 23, {})
        days = _values(parts[2], 1, 31, {})
        months = _values(parts[3], 1, 12, _MONTHS)
        weekdays = frozenset(day % 7 for day in _values(parts[4], 0, 7, _DAYS))
    except ValueError:
        return None
    either = not parts[2].startswith("*") and not parts[4].startswith("*")
    found = Cron(minutes=minutes, hours=hours, days=days, months=months, weekdays=weekdays, either_day=either)
    # "0 0 31 2 *" is well spelled and never comes.
    return found if next_after(found, datetime(2026, 1, 1, tzinfo=UTC), UTC) else None


def _values(field: str, least: int, most: int, names: dict[str, int]) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        if span == "*":
            low, high = least, most
        else:
            low = _number(first, names)
            high = _number(last, names) if dash else most if slash else low
        stride = int(step) if slash else 1
        if stride < 1 or not least <= low <= high <= most:
            raise ValueError(part)
        found.update(range(low, high + 1, stride))
    return frozenset(found)


def _number(text: str, names: dict[str, int]) -> int:
    found = names.get(text.casefold())
    if found is not None:
        return found
    if not text.isascii() or not text.isdigit():
        raise ValueError(text)
    return int(text)


def next_after(when: Cron, moment: datetime, zone: tzinfo | None) -> datetime | None:
    """The first moment after `moment` that a cron expression names, read on the zone's wall clock."""
    local = moment.astimezone(zone).replace(second=0, microsecond=0)
    day = local.replace(hour=0, minute=0)
    for _ in range(_HORIZON_DAYS):
        if when.has_day(day):
            for hour in sorted(when.hours):
                for minute in sorted(when.minutes):
                    # Naive plus zone: a wall clock that is set back or forward is asked again for each day.
                    found = day.replace(hour=hour, minute=minute, tzinfo=None)
                    aware = found.astimezone() if zone is None else found.replace(tzinfo=zone)
                    if aware.astimezone(UTC) > moment:
                        return aware.astimezone(UTC)
        day = (day.replace(tzinfo=None) + timedelta(days=1)).replace(tzinfo=day.tzinfo)
    return None


def is_due(last: datetime | None, now: datetime, expression: str, interval_ms: int, zone: tzinfo | None) -> bool:
    """Whether a scheduled task should run: never run before, or its time has come since."""
    if last is None or last > now:
        # A clock that was set back must not put the task off for years.
        return True
    when = cron(expression) if expression else None
    if when is not None:
        following = next_after(when, last, zone)
        return following is not None and following <= now
    return now - last >= timedelta(milliseconds=interval_ms)


@dataclass(frozen=True, slots=True)
class UpkeepDue:
    """What upkeep should do now."""

    compaction: bool = False
    scan: bool = False
    experiences: bool = False


def due(context: Context, root: Root) -> UpkeepDue:
    """What is due for a journal. Experiences are gathered on the schedule of compaction, whether or not that is on."""
    settings, now = context.journal, context.clock()
    is_gathering = settings.experience_store_enabled and context.limits.enabled
    if not settings.memory_compaction_enabled and not settings.integrity_scan_every_ms and not is_gathering:
        return UpkeepDue()
    if not context.files.size(journal_files(context, root).memory):
        return UpkeepDue()
    known = state(context, root)

    def on_schedule(last: datetime | None) -> bool:
        schedule, every = settings.memory_compaction_schedule, settings.memory_compaction_interval_ms
        return is_due(last, now, schedule, every, context.zone)

    every = settings.integrity_scan_every_ms
    return UpkeepDue(
        compaction=settings.memory_compaction_enabled and on_schedule(known.compacted_at),
        scan=bool(every) and is_due(known.scanned_at, now, "", every, context.zone),
        experiences=is_gathering and on_schedule(known.gathered_at),
    )
