"""The rolling window: the oldest records leave MEMORY.md, and are in the archive before they do."""

from __future__ import annotations

import re
from collections.abc import Iterable

from byheart.domain.changes import Drop, spliced
from byheart.domain.documents import Document
from byheart.domain.errors import Conflict
from byheart.domain.records import Placed
from byheart.domain.values import replace
from byheart.journal import retention
from byheart.journal.files import JournalFiles, holds_secret, parsed, read
from byheart.text.patterns import deferred
from byheart.workspace.context import JOURNAL, Context

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
        gone = retention.beyond_window(document, most, chars)
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
        gone = retention.beyond_window(document, most, chars)
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
