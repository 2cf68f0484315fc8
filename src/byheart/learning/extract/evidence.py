"""What happened in a stretch of turns: commands and how they went, files that were changed, errors and what helped."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.sessions import FixFact, How, Speaker, Step, Turn
from byheart.domain.values import dataclass, field
from byheart.language import lasting
from byheart.sessions.facts import commands as lines_of
from byheart.sessions.facts import errors, fixes
from byheart.sessions.facts.files import ABSOLUTE, DRIVE, shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMED = re.compile(r"[\w-]\.[A-Za-z]\w{0,7}\Z|(?:^|/)(?:Makefile|Dockerfile|LICENSE|Justfile|justfile)\Z")
_CHANGED_TO = re.compile(
    r"\s*(?:cd|pushd|Set-Location(?: -\w+)?)\s+(?:\"([^\"\n]{1,300})\"|'([^'\n]{1,300})'|([^\s;&|]{1,300}))\s*(?:&&|;|\n)"
)
_ONLY_CHANGED = re.compile(
    r"\s*(?:cd|pushd|Set-Location(?: -\w+)?)\s+(?:\"([^\"\n]{1,300})\"|'([^'\n]{1,300})'|([^\s;&|]{1,300}))\s*\Z"
)
_MOST_HARMLESS, _SAID = 40, 4_000
_EDITS = (How.EDIT, How.CREATE, How.DELETE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A command that was run. `form` is without what only trims its output; `went_at` is the turn whose call had gone to its folder."""

    number: int
    command: str
    form: str
    folder: str | None
    kind: str | None
    ok: bool | None
    result: str | None
    errors: tuple[str, ...]
    went_at: int | None = None


@dataclass(slots=True)
class Evidence:
    """A stretch of turns, taken apart."""

    turns: list[Turn]
    shell: str | None = ""
    keeps_folder: bool = False
    went_at: int | None = None
    prompts: list[Turn] = field(default_factory=list)
    plans: list[Turn] = field(default_factory=list)
    answers: list[Turn] = field(default_factory=list)
    spoken: list[Turn] = field(default_factory=list)
    ran: list[Ran] = field(default_factory=list)
    edited: Counter[str] = field(default_factory=Counter)
    edits_at: dict[str, int] = field(default_factory=dict)
    read: Counter[str] = field(default_factory=Counter)
    fixes: list[FixFact] = field(default_factory=list)
    refused: list[Turn] = field(default_factory=list)
    interrupted: list[Turn] = field(default_factory=list)

    @property
    def later(self) -> list[Turn]:
        """What the user said after the task had been opened."""
        first = self.turns[0].number if self.turns else 0
        return [turn for turn in self.prompts if turn.number > first]

    @property
    def last_edit(self) -> int:
        return max(self.edits_at.values(), default=0)


def gathered(
    turns: Sequence[Turn],
    cwd: str,
    shell: str | None = "",
    *,
    keeps_folder: bool = False,
    went_at: int | None = None,
) -> Evidence:
    """The evidence of these turns; those that do not count are left out. Paths are shown from the session's folder. `shell` is
    the folder that its shell stood in before, where it stays there from one command to the next, and `went_at` the turn that went there."""
    found = Evidence(
        [turn for turn in turns if turn.is_evidence], shell=shell, keeps_folder=keeps_folder, went_at=went_at
    )
    steps: list[Step] = []
    for turn in found.turns:
        if turn.tool is not None:
            _call(found, steps, turn, cwd)
        elif turn.is_own_words and turn.side is None:
            found.prompts.append(turn)
        elif turn.synthetic == "plan":
            found.plans.append(turn)
        elif turn.synthetic == "notice" and "interrupted" in turn.text[:80]:
            found.interrupted.append(turn)
        elif turn.speaker is Speaker.ASSISTANT and turn.side is None and turn.text.strip():
            found.spoken.append(turn)
    harmless = _harmless(found)
    found.fixes = [fix for fix in fixes.pairs_of(steps) if fix.signature not in harmless]
    return found


def _harmless(found: Evidence) -> set[str]:
    """What test runs that passed print as well: no error, whatever it is called."""
    return {
        errors.signature_of(line)
        for turn in found.turns
        if turn.command is not None and turn.output and lines_of.kind_of(turn.command) == "test"
        and lines_of.judged(turn.command, lines_of.ended_well(turn.exit, turn.failed), turn.output)
        for line in errors.errors_in(turn.output, most=_MOST_HARMLESS)
    }  # fmt: skip


def _call(found: Evidence, steps: list[Step], turn: Turn, cwd: str) -> None:
    output = turn.output or ""
    about = lasting.of_result(output) if output else None
    if about is not None:
        # What a person said to a question that the client put to them; whatever another tool prints is no answer.
        asked = (turn.tool or "").casefold().replace("_", "") in ("askuserquestion", "askuser", "requestuserinput")
        if about[0] == lasting.REFUSAL:
            found.refused.append(turn)
        elif asked:
            found.answers.append(turn)
        if about[0] == lasting.REFUSAL:
            return
    ended = lines_of.ended_well(turn.exit, turn.failed)
    edited = []
    for touch in turn.touches:
        path = shown_path(touch.path, cwd)
        # What a command line seems to name may be a pattern or a word; what an editing tool names is a file.
        if not path or (turn.command is not None and not _NAMED.search(path)):
            continue
        if touch.how in _EDITS and ended is not False:
            found.edited[path] += 1
            found.edits_at[path] = turn.number
            edited.append(path)
        elif touch.how is How.READ:
            found.read[path] += 1
    if turn.command is None:
        if edited:
            steps.append(Step(number=turn.number, edited=tuple(edited)))
        return
    form = lines_of.form_of(turn.command)
    kind = lines_of.kind_of(turn.command)
    ok = lines_of.judged(turn.command, ended, output)
    wrong = errors.errors_of(output, turn.command) if ok is False else []
    result = lines_of.result_of(output) if kind == "test" and output else None
    found.ran.append(
        Ran(
            number=turn.number,
            command=turn.command,
            form=form,
            folder=_ran_in(found, turn.command, cwd, turn.number),
            kind=kind,
            ok=ok,
            result=result,
            errors=tuple(wrong),
            went_at=found.went_at if found.went_at != turn.number else None,
        )
    )
    met = tuple((errors.signature_of(each), each) for each in wrong)
    steps.append(
        Step(
            number=turn.number,
            form=form,
            command=turn.command,
            ok=ok,
            edited=tuple(edited),
            errors=met,
            said=output[-_SAID:] if met else "",
            is_silent=not output.strip(),
        )
    )


def _ran_in(found: Evidence, command: str, cwd: str, number: int) -> str | None:
    """The folder that a command ran in; a shell that stays where it was is followed."""
    start = found.shell if found.keeps_folder else ""
    moved = _CHANGED_TO.match(command) or _ONLY_CHANGED.match(command)
    if moved is None:
        return start
    folder = folder_of(command if _CHANGED_TO.match(command) else f"{command};", cwd)
    path = (moved[1] or moved[2] or moved[3]).replace("\\", "/")
    if folder and start and not ABSOLUTE.match(path):
        folder = posixpath.normpath(f"{start}/{folder}")
    if folder is not None and folder.startswith(".."):
        folder = None
    if found.keeps_folder:
        found.shell, found.went_at = folder, number
    return folder


def folder_of(command: str, cwd: str) -> str | None:
    """The folder that a command ran in, seen from the session's: empty for that one itself, None for one outside."""
    found = _CHANGED_TO.match(command)
    if found is None:
        return ""
    path = (found[1] or found[2] or found[3]).replace("\\", "/").rstrip("/")
    base = cwd.replace("\\", "/").rstrip("/")
    drive = DRIVE.match(base)
    spellings = [base, f"/{drive[1]}/{drive[2]}" if drive else base]
    for spelling in spellings:
        if path.casefold() == spelling.casefold():
            return ""
        if path.casefold().startswith(spelling.casefold() + "/"):
            return posixpath.normpath(path[len(spelling) + 1 :])
    return None if re.match(r"[/~$-]|[A-Za-z]:/", path) else posixpath.normpath(path)
