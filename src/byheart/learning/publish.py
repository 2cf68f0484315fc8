"""Putting a handbook in place: with people's lines in it and their files left alone; all of its files, or what was there before."""

from __future__ import annotations

import difflib
import json
import re
from typing import TYPE_CHECKING

from byheart.domain.errors import Conflict, NothingFound, Refused
from byheart.domain.handbook import NOTES, RAW, ROLLOUTS, SKILLS
from byheart.domain.values import dataclass, field
from byheart.handbook import memory, raw
from byheart.handbook.handmade import merged
from byheart.learning.handbook_files import (
    ARCHIVE,
    BASELINE,
    MAIN,
    STATE,
    HandbookFiles,
    baseline,
    digest_of,
    digests,
    state_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from byheart.domain.documents import Place
    from byheart.domain.learning import Consolidated, Kept
    from byheart.domain.ports import Files
    from byheart.learning.selection import SelectedExtracts

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
                raise Conflict(f"{handbook.place(path)} was saved in the meantime; nothing was written")
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
            raise Conflict(f"{handbook.place(saved[0])} was saved in the meantime and was left alone")


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


# A handbook that loses more than this share of its lines without a session to explain it is not published.
_LOSS = 0.25
_FEW = 12
# A line as long as this is not the same as another by chance.
_TELLING = 24


def edition_of(
    own_handbook: HandbookFiles, wanted: dict[str, str], files: dict[str, str], report: Consolidated
) -> Edition:
    """What has to be written and removed, with people's work in it and left alone."""
    edition = Edition()
    bases = baseline(own_handbook)
    known = digests(own_handbook)
    homeless: list[str] = []
    unwanted = _taken_out(wanted, files, bases)
    for path, text in wanted.items():
        now = files.get(path)
        if path in MAIN and now is not None:
            merge = merged(bases.get(path, ""), now, _without(text, unwanted))
            report.kept_lines += len(merge.kept)
            homeless += merge.homeless
            _check_kept(own_handbook, path, merge.kept, merge.text)
            text = merge.text  # noqa: PLW2901 - what is written is the merge
        elif path == RAW and now is not None:
            # A mechanical merge: what somebody wrote in between is kept, but not there.
            homeless += _written_between(bases.get(RAW, now), now)
        elif now is not None and known.get(path) not in (None, digest_of(now)):
            # Somebody rewrote this file: it is theirs.
            continue
        if now != text:
            edition.files[path] = text
            edition.bases[path] = base_of(own_handbook, path)
    for path in files:
        if (
            path not in wanted
            and path.partition("/")[0] in (ROLLOUTS, SKILLS)
            and not _is_theirs(path, files[path], known)
        ):
            edition.files[path] = None
            edition.bases[path] = base_of(own_handbook, path)
        elif path not in wanted and path.startswith(f"{ROLLOUTS}/") and path in known:
            # A session that is gone, in a file that somebody wrote into: their lines stay, its own go.
            homeless += _own_lines(files[path], bases.get(RAW, ""))
            edition.files[path] = None
            edition.bases[path] = base_of(own_handbook, path)
    if homeless:
        report.moved_lines += len(homeless)
        _moved(own_handbook, homeless, edition)
    return edition


def _taken_out(wanted: dict[str, str], files: dict[str, str], bases: dict[str, str]) -> set[str]:
    """What a person took out of one of the two main files: it leaves the other, too."""
    found: set[str] = set()
    for path in MAIN:
        if path in files and path in bases:
            gone = merged(bases[path], files[path], wanted[path]).removed
            # What only moved is still there.
            still = {memory.core_of(line) for line in files[path].split("\n")}
            cores = {memory.core_of(line) for line in gone if line.startswith("- ")}
            found |= {core for core in cores if len(core) >= _TELLING and core not in still}
    return found


def _without(text: str, unwanted: set[str]) -> str:
    if not unwanted:
        return text
    return "\n".join(
        line for line in text.split("\n") if memory.core_of(line) not in unwanted or not line.startswith("- ")
    )


def _check_kept(own_handbook: HandbookFiles, path: str, kept: Sequence[str], text: str) -> None:
    """A line that a person wrote is in the new text, or nothing is written."""
    lines = {line.strip() for line in text.split("\n")}
    lost = [line for line in kept if line.strip() and line.strip() not in lines]
    if lost:
        raise Refused(
            f"the new {path} of {own_handbook.name} would lose a line that was written by hand: {lost[0].strip()[:80]!r}"
        )


def _is_theirs(path: str, text: str, known: dict[str, str]) -> bool:
    return known.get(path) != digest_of(text)


def _written_between(base: str, now: str) -> list[str]:
    """The lines of a text that were not in the one it was made from."""
    known = {line.strip() for line in base.split("\n")}
    return [line for line in now.split("\n") if line.strip() and line.strip() not in known]


# How the lines of a summary begin that are not in the raw memory of its session.
_TOLD = re.compile(
    r"(?:thread_id|updated_at|rollout_path|cwd|git_branch|Outcome|Rollout context): |# |## Task \d+: |(?:Preference signals|Key steps|Failures and how to do differently|Reusable knowledge|References):\Z|"
    r"- (?:the user: \"|the agent: |ran |\d+ changes to |`\w+` failed \d+ time)"
)


def _own_lines(text: str, raw_base: str) -> list[str]:
    """What somebody wrote into the summary of a session that is gone now."""
    known = {line.strip() for line in raw_base.split("\n")}
    plain = ((line, re.sub(r"^- \[\d+\] ", "- ", line.strip())) for line in text.split("\n"))
    return [line for line, bare in plain if bare and bare not in known and not _TOLD.match(bare)]


def _moved(own_handbook: HandbookFiles, lines: Sequence[str], edition: Edition) -> None:
    """Lines whose place is gone are kept as a note, which every session is told of."""
    name = f"{NOTES}/{own_handbook.context.clock():%Y-%m-%dT%H-%M-%S}-kept-from-handbook.md"
    old = own_handbook.context.files.read(own_handbook.place(name))
    text = (old.text or "") + "".join(f"{line.strip()}\n" for line in lines)
    edition.files[name] = text
    edition.bases[name] = old.digest
    edition.moved = [(line.strip().lstrip("-*# ").strip(), name) for line in lines]


def add_archive(own_handbook: HandbookFiles, choice: SelectedExtracts, edition: Edition) -> None:
    """Extracts that rest lie in the archive, in the same formats."""
    wanted: dict[str, str] = {}
    if choice.archived:
        every = [each.written for each in choice.archived]
        wanted[f"{ARCHIVE}/{RAW}"] = raw.merged(every)
        wanted |= {f"{ARCHIVE}/{raw.cite_of(written)}": raw.rollout_file(written) for written in every}
    folder = own_handbook.place(f"{ARCHIVE}/{ROLLOUTS}")
    there = [f"{ARCHIVE}/{ROLLOUTS}/{name}" for name in own_handbook.context.files.names(folder)]
    there += (
        [f"{ARCHIVE}/{RAW}"]
        if own_handbook.context.files.size(own_handbook.place(f"{ARCHIVE}/{RAW}")) is not None
        else []
    )
    for path, text in wanted.items():
        if own_handbook.context.files.read(own_handbook.place(path)).text != text:
            edition.files[path] = text
            edition.bases[path] = base_of(own_handbook, path)
    for path in there:
        if path not in wanted:
            edition.files[path] = None
            edition.bases[path] = base_of(own_handbook, path)


def add_own(own_handbook: HandbookFiles, wanted: dict[str, str], kept: list[Kept], edition: Edition) -> None:
    """What tells a person's work from ours the next time: the two main texts as they were made, and digests of the others."""
    told = {path: digest_of(text) for path, text in wanted.items() if path not in (*MAIN, RAW)}
    known = digests(own_handbook)
    for path in told:
        now = own_handbook.context.files.read(own_handbook.place(path)).text
        if path not in edition.files and now is not None and digest_of(now) != told[path]:
            # Theirs stays theirs.
            told[path] = known.get(path, "")
    own = own_files({name: wanted[name] for name in (*MAIN, RAW)}, state_text(kept, told))
    for name, text in own.items():
        if own_handbook.context.files.read(own_handbook.root.own(name)).text != text:
            edition.own[name] = text


def refuse_loss(own_handbook: HandbookFiles, files: dict[str, str], edition: Edition) -> None:
    """Refuse to write what would lose a large part of a handbook although no session has gone."""
    for path in MAIN:
        new = edition.files.get(path)
        if new is None or path not in files:
            continue
        old = {memory.core_of(line) for line in files[path].split("\n") if line.startswith("- ")}
        still = {memory.core_of(line) for line in new.split("\n") if line.startswith("- ")}
        if len(old) >= _FEW and len(still) < len(old) * (1 - _LOSS):
            raise Refused(
                f"{own_handbook.place(path)} would shrink from {len(old)} to {len(still)} lines although no session is gone; nothing was written."
                " byheart memory rebuild --force writes it all the same"
            )


def difference(files: dict[str, str], edition: Edition) -> str:
    """What an edition changes, as a unified diff of the two main files and a list of the others."""
    parts: list[str] = []
    for path in (*MAIN,):
        if path in edition.files:
            old, new = files.get(path, ""), edition.files[path] or ""
            parts += difflib.unified_diff(
                old.splitlines(), new.splitlines(), f"a/{path}", f"b/{path}", n=1, lineterm=""
            )
    for path, text in sorted(edition.files.items()):
        if path not in MAIN:
            parts.append(f"{'D' if text is None else 'M' if path in files else 'A'} {path}")
    return "\n".join(parts)
