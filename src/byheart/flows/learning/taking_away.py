"""Taking away what was learnt: all of a project, or one line of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.dialects.handbook.memory import core_of
from byheart.dialects.handbook.phrases import signal_of
from byheart.domain.errors import Ambiguous, NothingFound
from byheart.domain.handbook import MEMORY, RAW, ROLLOUTS, SKILLS
from byheart.domain.records import Scope
from byheart.flows import ledger
from byheart.flows.desk import NOTEBOOKS, every, hits
from byheart.flows.learning import inbox, indexed, publishing, shelf
from byheart.flows.learning.asking import WORDING
from byheart.policies import forgetting
from byheart.policies.forgetting import Tombstone
from byheart.text.likeness import content_words, normalised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.domain.learning import LearningQueue
    from byheart.domain.results import Hit
    from byheart.flows.learning.shelf import Shelf

# A text as long as this is not in another line by chance; and how much of what was asked for a line has to say.
_TELLING, _MEANT = 12, 0.8
# Lines that give a raw memory and a summary their shape: they stay, and only what they say goes.
_HEAD = re.compile(r"(?:description|task|task_group|keywords): |#{2,3} Task \d+: |# ")


def clear(own: Shelf, queue: LearningQueue) -> tuple[int, int]:
    """Take away everything that was learnt of one project: (extracts, files)."""
    files = own.desk.files
    with files.locked(own.root):
        every = [*shelf.paths(files, own.folder), *_archived(own)]
        gone = sum(publishing.removed(files, own.place(path)) for path in every if not path.startswith("extensions/"))
        kept = (
            shelf.STATE,
            publishing.UNDER_WAY,
            inbox.INBOX,
            WORDING,
            *(f"{shelf.BASELINE}/{name}" for name in (*shelf.MAIN, RAW)),
        )
        for name in (*kept, *(f"{publishing.BACKUP}/{each}" for each in publishing.backups(own))):
            publishing.removed(files, own.root.own(name))
    for folder in (SKILLS, ROLLOUTS, shelf.ARCHIVE):
        files.prune(own.place(folder))
    own.desk.drop_briefs()
    return queue.clear(own.project), gone


def _archived(own: Shelf) -> list[str]:
    files = own.desk.files
    names = files.names(own.place(f"{shelf.ARCHIVE}/{ROLLOUTS}"))
    whole = f"{shelf.ARCHIVE}/{RAW}"
    found = [f"{shelf.ARCHIVE}/{ROLLOUTS}/{name}" for name in names]
    return [*found, whole] if files.size(own.place(whole)) is not None else found


def bury_line(own: Shelf, queue: LearningQueue, selector: str) -> str:
    """Make sure that a learnt line never comes back: a tombstone first, then out of what the handbook is made from. The line."""
    place = own.place(MEMORY)
    text = own.desk.files.read(place).text or ""
    wanted = normalised(core_of(selector))
    hits = indexed.hits(place, text, Scope.LOCAL)
    found = {hit.record.text for hit in hits if selector == hit.id or wanted == normalised(hit.record.text)}
    if len(found) != 1:
        raise NothingFound(f"no learnt line of {own.name} is called {selector!r}")
    line = found.pop()
    parts = signal_of(line)
    told = list(dict.fromkeys([line, *([parts["default"], parts["quote"]] if parts else [])]))
    salt, today = own.desk.salt(), own.desk.clock().date().isoformat()
    for each in told:
        digest = forgetting.digest(salt, each)
        stone = Tombstone(key=None, key_digest=None, digest=digest, removed=today, reason="forgotten in the handbook")
        ledger.bury(own.desk, own.root, stone)
    for kept in queue.extracts(own.project):
        raw_memory, summary = (_less(each, told) for each in (kept.written.raw_memory, kept.written.rollout_summary))
        if (raw_memory, summary) != (kept.written.raw_memory, kept.written.rollout_summary):
            queue.rewrite(kept.written.thread.id, raw_memory, summary)
    return line


def meant(own: Shelf, what: str) -> tuple[Hit, bool]:
    """The one record or learnt line that a person asked to forget in their own words, and whether it was learnt. Raises
    NothingFound or Ambiguous, and then nothing is changed."""
    wanted = set(content_words(what))
    documents, _ = every(own.desk, list(own.desk.roots), NOTEBOOKS)
    place = own.place(MEMORY)
    learnt = indexed.hits(place, own.desk.files.read(place).text or "", Scope.LOCAL)
    found = [(hit, False) for each in documents for hit in hits(each)] + [(hit, True) for hit in learnt]
    fitting: dict[str, tuple[Hit, bool]] = {}
    for hit, is_learnt in found:
        said = set(content_words(f"{hit.record.key or ''} {hit.record.text}"))
        if wanted and len(wanted & said) / len(wanted) >= _MEANT:
            fitting.setdefault(normalised(hit.record.text), (hit, is_learnt))
    if not fitting:
        raise NothingFound(f"nothing in memory says {what!r}; reject it, and it is not asked about again")
    if len(fitting) > 1:
        raise Ambiguous(what, [hit for hit, _ in fitting.values()])
    return next(iter(fitting.values()))


def _less(text: str, told: Sequence[str]) -> str:
    """A text without the lines that say one of these things. The head of a raw memory keeps its shape: only what it says of
    them goes."""
    wanted = [normalised(each) for each in told if len(each) >= _TELLING]
    kept = []
    for line in text.split("\n"):
        if not any(each in normalised(line) for each in wanted):
            kept.append(line)
        elif head := _HEAD.match(line):
            kept.append(f"{head[0]}a session of which a line was forgotten")
    return "\n".join(kept)
