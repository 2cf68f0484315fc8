"""Putting a handbook in place: all of its files, or what was there before.

Several files cannot be swapped at once, so what is to be written is written down first, as one file; from then on it counts.
Whoever finds that file after a crash finishes the work. What was there before is kept the same way, to go back to.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from byheart.domain.errors import Conflict, NothingFound, Refused
from byheart.domain.values import dataclass, field
from byheart.learning.handbook_files import BASELINE, STATE, HandbookFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from byheart.domain.ports import Files
    from byheart.domain.roots import Place

UNDER_WAY = "handbook-under-way.json"
BACKUP = "backup"
_ENDING = "-handbook.json"
_OWN = "own:"


@dataclass(slots=True, kw_only=True)
class Edition:
    """What a handbook's files shall be: path → text, or None for one that goes. `own` are those in byheart's own folder."""

    files: dict[str, str | None] = field(default_factory=dict)
    own: dict[str, str | None] = field(default_factory=dict)
    # What each file looked like when this was worked out; another by then is a person's work.
    bases: dict[str, str] = field(default_factory=dict)
    # Lines of people's that lost their place, and the note that they are in now.
    moved: list[tuple[str, str]] = field(default_factory=list)

    @property
    def changed(self) -> list[str]:
        return sorted(self.files)


def publish(handbook: HandbookFiles, edition: Edition, is_ours: Callable[[], bool], *, keep: int) -> None:
    """Put an edition in place. Raises Conflict, with nothing written, where somebody else has the work now or a person saved
    one of the files meanwhile; `keep` backups stay, 0 takes all of them away."""
    files = handbook.context.files
    with files.locked(handbook.root):
        finish(handbook)
        for path in edition.files:
            if files.read(handbook.place(path)).digest != edition.bases.get(path, ""):
                raise Conflict(f"{handbook.place(path)} was saved meanwhile; nothing was written")
        if not is_ours():
            raise Conflict("another process took this work over; nothing was written")
        before = {path: files.read(handbook.place(path)).text for path in edition.files}
        owned = {name: files.read(handbook.root.own(name)).text for name in edition.own}
        if keep and any(text is not None for text in before.values()):
            _back_up(handbook, before, owned, keep)
        plan = {**edition.files, **{f"{_OWN}{name}": text for name, text in edition.own.items()}}
        place = handbook.root.own(UNDER_WAY)
        files.write(place, json.dumps({"files": plan, "bases": edition.bases}), files.read(place).digest)
        saved = finish(handbook)
        if not keep:
            _drop_backups(handbook, 0)
        if saved:
            raise Conflict(f"{handbook.place(saved[0])} was saved meanwhile and is left as it is")


def finish(handbook: HandbookFiles) -> list[str]:
    """Do what is written down as under way, if anything is; which files a person saved meanwhile, so that they were left
    alone. The root is locked."""
    files = handbook.context.files
    place = handbook.root.own(UNDER_WAY)
    noted = files.read(place)
    if noted.text is None:
        return []
    try:
        told = json.loads(noted.text)
        plan: dict[str, str | None] = told["files"]
        bases: dict[str, str] = told["bases"]
    except (ValueError, KeyError, TypeError):
        # Written whole or not at all; this is somebody else's.
        raise Refused(f"{place} is not as byheart writes it; look at it, then delete it") from None
    # New evidence first, what goes last: whoever reads in between finds every file that is named.
    saved: list[str] = []
    for path, text in sorted(plan.items(), key=lambda each: (each[1] is None, _rank(each[0]), each[0])):
        if path.removeprefix(f"{_OWN}{BASELINE}/") in saved:
            # What their text is to be compared with is what it was made from.
            continue
        if not _apply(handbook, path, text, bases):
            saved.append(path)
    files.remove(place, noted.digest)
    return saved


def _rank(path: str) -> int:
    if path.startswith(_OWN):
        return 5
    return {"MEMORY.md": 2, "memory_summary.md": 3, "raw_memories.md": 1}.get(path, 0)


def _apply(handbook: HandbookFiles, path: str, text: str | None, bases: Mapping[str, str]) -> bool:
    """Write or remove one file; False where a person has saved it since the plan was made, and keeps what they saved."""
    files = handbook.context.files
    own = path.startswith(_OWN)
    place = handbook.root.own(path[len(_OWN) :]) if own else handbook.place(path)
    now = files.read(place)
    if now.text == text:
        return True
    if not own and now.digest != bases.get(path, ""):
        return False
    try:
        if text is None:
            files.remove(place, now.digest)
        else:
            files.write(place, text, now.digest)
    except Conflict:
        return False
    return True


def _back_up(
    handbook: HandbookFiles, before: Mapping[str, str | None], owned: Mapping[str, str | None], keep: int
) -> None:
    _drop_backups(handbook, keep - 1)
    plan = {**before, **{f"{_OWN}{name}": text for name, text in owned.items()}}
    name = f"{handbook.context.clock():%Y%m%dT%H%M%S%fZ}-{handbook.context.token()}{_ENDING}"
    handbook.context.files.write(handbook.root.own(f"{BACKUP}/{name}"), json.dumps({"files": plan}), "")


def backups(handbook: HandbookFiles) -> list[str]:
    """The names of a handbook's backups, the oldest first."""
    return [name for name in handbook.context.files.names(handbook.root.own(BACKUP)) if name.endswith(_ENDING)]


def _drop_backups(handbook: HandbookFiles, keep: int) -> None:
    names = backups(handbook)
    for name in names[: len(names) - keep] if keep else names:
        place = handbook.root.own(f"{BACKUP}/{name}")
        handbook.context.files.remove(place, handbook.context.files.read(place).digest)


def roll_back(handbook: HandbookFiles) -> str:
    """Bring back what was there before the last edition; the name of the backup that was used."""
    files = handbook.context.files
    with files.locked(handbook.root):
        finish(handbook)
        names = backups(handbook)
        if not names:
            raise NothingFound(f"there is no backup of the handbook of {handbook.name}")
        place = handbook.root.own(f"{BACKUP}/{names[-1]}")
        noted = files.read(place)
        told = json.loads(noted.text or "{}").get("files", {})
        bases = {path: files.read(handbook.place(path)).digest for path in told if not path.startswith(_OWN)}
        # What is there now can be brought back the same way: a person may have written in it.
        before = {path: files.read(handbook.place(path)).text for path in told if not path.startswith(_OWN)}
        owned = {
            path.removeprefix(_OWN): files.read(handbook.root.own(path.removeprefix(_OWN))).text
            for path in told
            if path.startswith(_OWN)
        }
        _back_up(handbook, before, owned, len(names) + 1)
        under_way = handbook.root.own(UNDER_WAY)
        files.write(under_way, json.dumps({"files": told, "bases": bases}), files.read(under_way).digest)
        finish(handbook)
        files.remove(place, noted.digest)
    return names[-1]


def own_files(baseline: Mapping[str, str], state: str) -> dict[str, str | None]:
    """What is kept beside an edition: its own two texts, and what else tells a person's work apart."""
    return {**{f"{BASELINE}/{name}": text for name, text in baseline.items()}, STATE: state}


def base_of(handbook: HandbookFiles, path: str) -> str:
    """What a file looks like now."""
    return handbook.context.files.read(handbook.place(path)).digest


def removed(files: Files, place: Place) -> bool:
    """Take a file away, if it is there; whether it was."""
    found = files.read(place)
    if found.text is None:
        return False
    files.remove(place, found.digest)
    return True
