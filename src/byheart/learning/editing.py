"""What has to be written for a new handbook: with people's lines in it, their files left alone, and nothing lost unseen."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from byheart.domain.errors import Refused
from byheart.domain.handbook import NOTES, RAW, ROLLOUTS, SKILLS
from byheart.handbook import memory, raw
from byheart.handbook.handmade import merged
from byheart.learning import publish
from byheart.learning.handbook_files import ARCHIVE, MAIN, HandbookFiles, baseline, digest_of, digests, state_text
from byheart.learning.publish import Edition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.domain.learning import Consolidated, Kept
    from byheart.learning.selection import SelectedExtracts

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
            edition.bases[path] = publish.base_of(own_handbook, path)
    for path in files:
        if (
            path not in wanted
            and path.partition("/")[0] in (ROLLOUTS, SKILLS)
            and not _is_theirs(path, files[path], known)
        ):
            edition.files[path] = None
            edition.bases[path] = publish.base_of(own_handbook, path)
        elif path not in wanted and path.startswith(f"{ROLLOUTS}/") and path in known:
            # A session that is gone, in a file that somebody wrote into: their lines stay, its own go.
            homeless += _own_lines(files[path], bases.get(RAW, ""))
            edition.files[path] = None
            edition.bases[path] = publish.base_of(own_handbook, path)
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
            edition.bases[path] = publish.base_of(own_handbook, path)
    for path in there:
        if path not in wanted:
            edition.files[path] = None
            edition.bases[path] = publish.base_of(own_handbook, path)


def add_own(own_handbook: HandbookFiles, wanted: dict[str, str], kept: list[Kept], edition: Edition) -> None:
    """What tells a person's work from ours the next time: the two main texts as they were made, and digests of the others."""
    told = {path: digest_of(text) for path, text in wanted.items() if path not in (*MAIN, RAW)}
    known = digests(own_handbook)
    for path in told:
        now = own_handbook.context.files.read(own_handbook.place(path)).text
        if path not in edition.files and now is not None and digest_of(now) != told[path]:
            # Theirs stays theirs.
            told[path] = known.get(path, "")
    own = publish.own_files({name: wanted[name] for name in (*MAIN, RAW)}, state_text(kept, told))
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
