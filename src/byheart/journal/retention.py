"""What leaves MEMORY.md: the oldest beyond the rolling window, which are in the archive before they do, and old small talk; and what is
worth keeping of it: whole sentences, chosen and ordered by code, never rewritten."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from byheart.domain.documents import Document, Drop, spliced
from byheart.domain.errors import Conflict
from byheart.domain.journal import COMPACTION, HEARTBEAT, MAIN, NOTE, TURN_SUMMARY, Origin, stamped, strictest
from byheart.domain.records import Kind, Placed, Record
from byheart.domain.values import dataclass, replace
from byheart.journal.files import JournalFiles, holds_secret, parsed, read
from byheart.text.deferred import deferred
from byheart.text.similarity import content_words, normalised
from byheart.workspace.context import JOURNAL, Context

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    taken = chosen(texts, RECORD_CHARACTERS, but=said, all_of_it=category == NOTE)
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
    text = f"Summary of {count}, {days}:\n{listed(taken)}"
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
    taken = chosen([(each.at, each.text) for each in said], room, but=known, all_of_it=True, whole=True)
    return f"{heading}{listed(taken)}\n" if taken else ""


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


_ROUNDS = 12
_BEGINNING = deferred(r"^[ \t\ufeff]*- +\{", re.MULTILINE)


def trim(context: Context, own_journal: JournalFiles) -> int:
    """Bring MEMORY.md back under its limits; how many records left it. Daily logs are not touched. The root is locked."""
    most, chars = context.journal.memory_max_records, context.journal.memory_max_chars
    if not most and not chars:
        return 0
    archived: set[str] = set()
    for _ in range(_ROUNDS):
        snapshot = read(context, own_journal.memory)
        text = snapshot.text or ""
        # A look that costs little: nearly always there is room.
        if (not most or count(text) <= most) and (not chars or len(text) <= chars):
            return 0
        document = parsed(context, text)
        gone = beyond_window(document, most, chars)
        gone = _movable(context, document, gone, most, chars)
        if not gone:
            return 0
        archive(context, own_journal, lines_of(text, gone), archived)
        changes = [Drop(old=each, reason=None) for each in gone]
        splices = context.dialects[JOURNAL].plan(document, changes, context.clock().date())
        try:
            context.files.write(own_journal.memory, spliced(text, splices), snapshot.digest)
            return len(gone)
        except Conflict as conflict:
            last = conflict
    raise last


def count(text: str) -> int:
    """How many records a text has at most: lines that begin like one."""
    return len(_BEGINNING.findall(text))


def _movable(context: Context, document: Document, gone: list[Placed], most: int, chars: int) -> list[Placed]:
    """The oldest records beyond the window but for those with a credential in them: such a line stays where the person put
    it, since it is not ours to copy about. Only what would leave is looked at."""
    while gone and holds_secret(context, lines_of(document.text, gone)):
        held = {each.start for each in gone if holds_secret(context, lines_of(document.text, [each]))}
        if not held:
            return []
        document = replace(document, placed=tuple(each for each in document.placed if each.start not in held))
        gone = beyond_window(document, most, chars)
    return gone


def lines_of(text: str, placed: Iterable[Placed]) -> list[str]:
    """The lines of these records, as they stand in the file."""
    return [text[each.start : each.end] for each in placed]


def archive(context: Context, own_journal: JournalFiles, lines: list[str], known: set[str]) -> None:
    """Put lines, or blocks of lines, at the archive's end, but for those that are `known` to be there."""
    fresh = [line for line in lines if not known.issuperset(line.split("\n"))]
    if fresh:
        text = "".join(line + "\n" for line in fresh)
        context.files.append(own_journal.archive, text, None)
        known.update(text.split("\n"))


LONGEST_SENTENCE = 320
# A full stop ends a sentence only before a blank and something that can begin one: not in v1.2, e.g. this, or a.b.
_END = deferred(r"(?<=[.!?…])[\"')\]]*\s+(?=[\"'(\[`]?[A-Z0-9À-ÞА-Я])|(?<=[。！？])|\n+")
_BULLET = deferred(r"^\s*(?:[-*+•]|\d+[.)]|#+)\s+")
_ABBREVIATION = deferred(r"(?:^|[\s(])(?:Dr|Mr|Mrs|Ms|St|vs|No|Nos|etc|cf|approx|ca|Fig|Sec|Ch|e\.g|i\.e|incl|resp)\.$")
# What is said to keep a talk going; it tells nobody anything a week later.
_TALK = deferred(
    r"\?\s*$|^(?:let me|let's|shall i|i'll|i will|i can|do you|would you|great|perfect|sounds good|ok(?:ay)?|sure|done|hmm|thanks"
    r"|here(?:'s| is)|now (?:i|let)|looks good|next,? i)\b|^(?:i (?:don't|do not) see|i only (?:looked|checked|read)|there should be no)\b",
    re.IGNORECASE,
)
_DIGITS = deferred(r"\d+")
_CUES: tuple[tuple[int, re.Pattern[str]], ...] = (
    (
        5,
        re.compile(
            r"\b(?:decid\w+|decision|chose|chosen|agreed|settled on|going with|switch(?:ed|ing)? (?:to|from)|instead of|"
            r"rather than|migrat\w+|replac\w+|adopt\w+|standardi[sz]e\w*|policy|approved|rejected)\b",
            re.IGNORECASE,
        ),
    ),
    (
        5,
        re.compile(
            r"\b(?:prefer\w*|always|never|must(?:n't)?|should(?:n't)?|avoid\w*|do(?:n't| not)|wants?|likes?|dislikes?|"
            r"from now on|remember|convention|requires?|only)\b",
            re.IGNORECASE,
        ),
    ),
    (
        4,
        re.compile(
            r"\b(?:fail\w*|errors?|bugs?|crash\w*|broke\w*|fix\w*|time(?:d)? ?outs?|exceptions?|regress\w*|root cause|"
            r"because|workaround|caused|blocked|missing|wrong|leak\w*|flaky|deadlock\w*|lesson|learn(?:ed|t))\b",
            re.IGNORECASE,
        ),
    ),
    (2, re.compile(r"`[^`]+`|\b\w+[/.]\w+[\w/.]*|\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z]\w+\b|--[a-z]\w+")),
    (
        1,
        re.compile(
            r"(?<=[a-z,;] )[A-Z][a-z]+\w*|^[A-Z][a-z]+ (?:is|owns|runs|leads|pays|wants|said|asked|maintains)\b"
        ),
    ),
    (1, re.compile(r"\d")),
    (
        1,
        re.compile(
            r"\b(?:is|are|owns?|uses?|runs?|lives?|needs?|means|stays?|goes|set up|implemented|added|removed)\b"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class DatedSentence:
    """A sentence and when it was said; `order` is its place among all."""

    text: str
    at: datetime | None
    order: int


def sentences(text: str) -> list[str]:
    """The sentences of a text, without list marks, in order; long ones are cut at a word's end."""
    found: list[str] = []
    for piece in _END.split(text):
        sentence = " ".join(_BULLET.sub("", piece).split())
        if not sentence:
            continue
        if found and _ABBREVIATION.search(found[-1]):
            sentence = f"{found.pop()} {sentence}"
        found.append(sentence)
    return [
        each if len(each) <= LONGEST_SENTENCE else each[:LONGEST_SENTENCE].rsplit(" ", 1)[0] + " …" for each in found
    ]


def weight(sentence: str) -> int:
    """How much a sentence carries: decisions, preferences, failures; then facts, names and numbers. Talk carries nothing."""
    if _TALK.search(sentence):
        return 0
    found = sum(points for points, cue in _CUES if cue.search(sentence))
    # The cues are English; what is written in another script cannot be weighed, so it is not thrown away for that.
    if sentence.isascii():
        return found
    foreign = sum(ord(each) > 0x24F and each.isalpha() for each in sentence)
    return found + 3 if foreign * 3 > len(sentence) else found


def chosen(
    texts: Iterable[tuple[datetime | None, str]],
    most: int,
    *,
    but: set[str] | None = None,
    all_of_it: bool = False,
    whole: bool = False,
) -> list[DatedSentence]:
    """The sentences that carry most, each once, within `most` characters; in the order they were said.

    Of equals the newer counts. Sentences that carry nothing stay out unless `all_of_it` is wanted, and those of `but`
    always do. Where nothing carries anything, the newest sentences stand for the rest. `whole` texts are sentences already.
    """
    every: list[DatedSentence] = []
    for at, text in texts:
        parts = [text] if whole else sentences(text)
        every += [DatedSentence(sentence, at, order) for order, sentence in enumerate(parts, start=len(every))]
    # Of a sentence that was said twice the later counts.
    latest = {normalised(each.text): each for each in every if len(each.text) > 3}
    known = [each for name, each in latest.items() if not but or name not in but]
    weights = {each.order: weight(each.text) for each in known}
    ranked = sorted(known, key=lambda each: (-weights[each.order], -each.order))
    telling = [each for each in ranked if all_of_it or weights[each.order] > 0] or ranked[:3]
    taken: list[DatedSentence] = []
    meanings: set[frozenset[str]] = set()
    shapes = Counter[str]()
    room = most
    # "12 tests pass" and "14 tests pass" say the same thing on different days; two are enough while others need the room.
    for limit in (2, 50):
        for each in telling:
            if len(each.text) + 3 > room or (limit > 2 and room < most // 2):
                continue
            meaning = frozenset(content_words(each.text))
            shape = _DIGITS.sub("0", normalised(each.text))
            if meaning in meanings or shapes[shape] >= limit:
                continue
            meanings.add(meaning)
            shapes[shape] += 1
            taken.append(each)
            room -= len(each.text) + 3
            if room < 20:
                break
    return sorted(taken, key=lambda each: each.order)


def listed(taken: Sequence[DatedSentence]) -> str:
    """The sentences as a list, a line each."""
    return "\n".join(f"- {each.text}" for each in taken)
