"""What leaves MEMORY.md: the oldest beyond a window, and old small talk that a summary can stand for."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from byheart.domain.journal import COMPACTION, HEARTBEAT, MAIN, NOTE, TURN_SUMMARY, Origin, stamped, strictest
from byheart.domain.records import Kind, Placed, Record
from byheart.domain.values import dataclass
from byheart.journal import summaries as summarising
from byheart.text.similarity import normalised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from byheart.domain.documents import Document
    from byheart.journal.summaries import DatedSentence

COMPACTABLE = frozenset({TURN_SUMMARY, NOTE, HEARTBEAT})
# A summary's record stays far below what a session is told at once; the day's block draws on all of them.
RECORD_CHARACTERS, BLOCK_CHARACTERS = 4_000, 8_000
# The session that a summary of finished sessions belongs to.
FINISHED = "compaction"
CHECKPOINT = "Checkpoint: what was said up to here may be compacted from now on."


def beyond_window(document: Document, max_records: int, max_chars: int) -> list[Placed]:
    """The oldest records that a window has no room for; the newest always stays. 0 is no limit."""
    placed = document.placed
    excess = len(placed) - max_records if max_records else 0
    size = len(document.text)
    gone: list[Placed] = []
    for each in placed[:-1]:
        if len(gone) >= excess and (not max_chars or size <= max_chars):
            break
        gone.append(each)
        size -= _length(document.text, each)
    return gone


def _length(text: str, each: Placed) -> int:
    """The characters of a record's whole line, its line break among them."""
    start, after = text.rfind("\n", 0, each.start) + 1, text.find("\n", each.end)
    return (after + 1 if after >= 0 else len(text)) - start


def in_scope(placed: Iterable[Placed], now: datetime, min_age_days: int) -> list[Placed]:
    """The records that compaction may merge: old enough by their own timestamp, of a fleeting category, not secret."""
    until = now - timedelta(days=min_age_days)
    return [each for each in placed if _is_fleeting(each.record) and (at := _at(each)) is not None and at < until]


def _is_fleeting(record: Record) -> bool:
    origin = record.origin
    if origin is None or origin.is_secret:
        return False
    return origin.category in COMPACTABLE or is_checkpoint(record)


def _at(each: Placed) -> datetime | None:
    return each.record.origin.at if each.record.origin else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRecords:
    """A summary record, the records it stands for, the fields that say so on its line, and the sentences it has kept."""

    record: Record
    parts: tuple[Placed, ...]
    more: dict[str, object]
    said: tuple[DatedSentence, ...]


def groups(scope: Sequence[Placed], every: Iterable[Placed]) -> dict[tuple[str, str], list[Placed]]:
    """What can be merged: for each category, and for each session that lives on in the file, at least two records.

    A session of which nothing else is left shares its summary with other finished ones, so that the number of summaries
    does not grow with the number of sessions.
    """
    leaving = {each.start for each in scope}
    # The talk with the user never finishes.
    alive = {MAIN, *(each.record.origin.session for each in every if each.start not in leaving and each.record.origin)}
    while True:
        found: dict[tuple[str, str], list[Placed]] = {}
        for each in scope:
            origin = each.record.origin
            if origin is not None and not is_checkpoint(each.record):
                session = origin.session if origin.session in alive else FINISHED
                found.setdefault((session, origin.category), []).append(each)
        # A record that is alone in its group stays, and so its session lives on.
        single = {
            parts[0].record.origin.session for parts in found.values() if len(parts) == 1 and parts[0].record.origin
        }
        if single <= alive:
            return {name: parts for name, parts in found.items() if len(parts) > 1}
        alive |= single


def is_checkpoint(record: Record) -> bool:
    """Whether a record only marks a point in time."""
    return record.origin is not None and record.origin.category == COMPACTION and record.text == CHECKPOINT


def summed_up(staying: Iterable[Placed]) -> set[str]:
    """What earlier summaries say already."""
    return {
        normalised(line.removeprefix("- "))
        for each in staying
        if each.record.origin is not None and each.record.origin.category == COMPACTION
        for line in each.record.text.split("\n")
    }


def merged(
    found: dict[tuple[str, str], list[Placed]], name: Callable[[], str], now: datetime, said: set[str]
) -> tuple[MergedRecords, ...]:
    """The summary records for what leaves, one for each group; what has been `said` before is not said again."""
    return tuple(_summary(session, category, parts, name(), now, said) for (session, category), parts in found.items())


def _summary(
    session: str, category: str, parts: list[Placed], id_: str, now: datetime, said: set[str]
) -> MergedRecords:
    origins = [each.record.origin for each in parts if each.record.origin]
    moments = [at for origin in origins if (at := origin.at) is not None]
    first, last = min(moments, default=now), max(moments, default=now)
    # A note was written to be kept; of reports only what carries something is.
    texts = [(_at(each), each.record.text) for each in parts]
    taken = summarising.chosen(texts, RECORD_CHARACTERS, but=said, all_of_it=category == NOTE)
    count = f"{len(parts)} {category} record{'' if len(parts) == 1 else 's'}"
    days = f"{first.date()} to {last.date()}" if first.date() != last.date() else f"{first.date()}"
    channels = Counter(origin.channel for origin in origins)
    certainties = [origin.certainty for origin in origins if origin.certainty is not None]
    origin = Origin(
        id=id_,
        session=session,
        category=COMPACTION,
        channel=channels.most_common(1)[0][0] if channels else "compaction",
        certainty=min(certainties, default=None),
        # The newest part's: what is summed up is as old as it was.
        timestamp=stamped(last),
        sensitivity=strictest([each.sensitivity for each in origins]),
    )
    more: dict[str, object] = {
        "compacted": {
            "category": category,
            "records": len(parts),
            "from": stamped(first),
            "until": stamped(last),
            "sessions": len({each.session for each in origins}),
            "sourceChannels": sorted(channels),
            "at": stamped(now),
        }
    }
    text = f"Summary of {count}, {days}:\n{summarising.listed(taken)}"
    record = Record(text=text, kind=Kind.NOTE, origin=origin, source=origin.channel, added=last.date())
    return MergedRecords(record=record, parts=tuple(parts), more=more, said=tuple(taken))


_HEADING = "## Summary ("


def long_memory(text: str) -> list[tuple[bool, str]]:
    """LONGMEMORY.md taken apart at its headings: whether each piece is a dated summary, and its text; oldest first."""
    pieces: list[tuple[bool, str]] = []
    current: list[str] = []
    dated = listed = bare = False
    for line in text.splitlines(keepends=True):
        heading = line.startswith(("# ", "## "))
        # A block of ours is a list; what follows it and is none was written by a person. Other programs' blocks are prose.
        if heading or (dated and listed and line.strip() and not line.startswith(("- ", " ", "\t"))):
            if current:
                pieces.append((dated, "".join(current)))
            current, dated, listed = [], heading and line.startswith(_HEADING), False
            bare = True
        elif line.strip():
            listed = listed or (bare and line.startswith("- "))
            bare = False
        current.append(line)
    if current:
        pieces.append((dated, "".join(current)))
    return pieces


def dated(text: str) -> list[tuple[str, str]]:
    """The pieces of LONGMEMORY.md, each with the day its heading names, "" where it is no summary."""
    found = []
    for is_summary, piece in long_memory(text):
        day = piece[len(_HEADING) :].split(")", 1)[0].strip() if is_summary else ""
        found.append((day, piece))
    return found


def block(summaries: Sequence[MergedRecords], day: date, most: int, before: str) -> str:
    """The dated summary of everything that one compaction merged, within `most` characters; "" where nothing fits.

    It is chosen from what the summaries have chosen, so that nothing stands here that MEMORY.md does not say.
    """
    heading = f"{_HEADING}{day.isoformat()})\n\n"
    room = min(BLOCK_CHARACTERS, most) - len(heading) - 1
    said = sorted((each for merged in summaries for each in merged.said), key=lambda each: (each.at is None, each.at))
    known = {normalised(line.strip().removeprefix("- ")) for line in before.split("\n")}
    taken = summarising.chosen([(each.at, each.text) for each in said], room, but=known, all_of_it=True, whole=True)
    return f"{heading}{summarising.listed(taken)}\n" if taken else ""


def lengthened(text: str, fresh: str, most: int, stays: Callable[[str], bool]) -> tuple[str, list[str]]:
    """LONGMEMORY.md with a new block at its end, and the blocks that had to go for it: the oldest by their dates.

    What a person wrote outside of the dated blocks always stays, and so do blocks that `stays` speaks for.
    """
    pieces = dated(text) if text else [("", "# LONGMEMORY\n\n")]
    if pieces and not pieces[-1][1].endswith("\n\n"):
        pieces[-1] = (pieces[-1][0], pieces[-1][1].rstrip("\n") + "\n\n")
    gone: list[str] = []
    size = len(fresh) + sum(len(piece) for _, piece in pieces)
    leaving = sorted((day, at) for at, (day, piece) in enumerate(pieces) if day and not stays(piece))
    out = set()
    for _, at in leaving:
        if size <= most:
            break
        out.add(at)
        gone.append(pieces[at][1])
        size -= len(pieces[at][1])
    return "".join([*(piece for at, (_, piece) in enumerate(pieces) if at not in out), fresh]), gone


def room_for_block(text: str, most: int, stays: Callable[[str], bool]) -> int:
    """The characters that a new block may have once every older block has gone that may go."""
    return most - sum(len(piece) for day, piece in dated(text) if not day or stays(piece)) - 16
