"""What happened in a stretch of turns: commands and how they went, files that were changed, errors and what helped."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.sessions import How, Speaker, Turn
from byheart.domain.values import dataclass, field
from byheart.domain.work import FixFact, Step
from byheart.policies import commands as lines_of
from byheart.policies import errors as troubles
from byheart.policies import fixes, remarks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Files that every piece of work touches and that say nothing about it.
_COMMON = re.compile(
    r"(?:^|/)(?:CHANGELOG[^/]*|README[^/]*|package(?:-lock)?\.json|bun\.lockb?|yarn\.lock|pnpm-lock\.yaml|Cargo\.lock|go\.sum|uv\.lock|poetry\.lock|\.gitignore)$",
    re.IGNORECASE,
)
_OUTSIDE = ("/tmp/", "/private/tmp/", "/var/folders/", "/dev/")  # noqa: S108 - told apart, never written
_WORKTREE = re.compile(r"/\.(?:claude|codex|cursor)/worktrees/[^/]+/")
_ABSOLUTE = re.compile(r"[/~]|\.\.|[A-Za-z]:/")
# Folders that are made, not written.
_MADE = re.compile(
    r"^(?:tmp|temp|node_modules|dist|build|out|target|coverage|\.git|\.venv|venv|__pycache__)/|/node_modules/"
)
_BARE = re.compile(
    r"(?:Makefile|Dockerfile|LICENSE|Justfile|justfile|Procfile|Gemfile|Rakefile|Jenkinsfile|Vagrantfile|CODEOWNERS|\..*|.*[./].*)\Z"
)
_DRIVE = re.compile(r"([A-Za-z]):/(.+)\Z")
_EDITS = (How.EDIT, How.CREATE, How.DELETE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A command that was run. `form` is without what only trims its output."""

    number: int
    command: str
    form: str
    kind: str | None
    ok: bool | None
    result: str | None
    errors: tuple[str, ...]


@dataclass(slots=True)
class Evidence:
    """A stretch of turns, taken apart."""

    turns: list[Turn]
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
    def last_edit(self) -> int:
        return max(self.edits_at.values(), default=0)


def gathered(turns: Sequence[Turn], cwd: str) -> Evidence:
    """The evidence of these turns; those that do not count are left out. Paths are shown from the session's folder."""
    found = Evidence([turn for turn in turns if turn.is_evidence])
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
    found.fixes = fixes.pairs_of(steps)
    return found


def _call(found: Evidence, steps: list[Step], turn: Turn, cwd: str) -> None:
    output = turn.output or ""
    about = remarks.of_result(output) if output else None
    if about is not None:
        # What a person said to a question that the client put to them; whatever another tool prints is no answer.
        asked = (turn.tool or "").casefold().replace("_", "") in ("askuserquestion", "askuser", "requestuserinput")
        if about[0] == remarks.REFUSAL:
            found.refused.append(turn)
        elif asked:
            found.answers.append(turn)
        if about[0] == remarks.REFUSAL:
            return
    ended = lines_of.ended_well(turn.exit, turn.failed)
    edited = []
    for touch in turn.touches:
        path = shown_path(touch.path, cwd)
        if not path:
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
    wrong = troubles.errors_in(output) if ok is False else []
    if ok is False and not wrong and not lines_of.only_looks(form) and (last := troubles.last_line(output)):
        wrong = [last]
    result = lines_of.result_of(output) if kind == "test" and output else None
    found.ran.append(
        Ran(number=turn.number, command=turn.command, form=form, kind=kind, ok=ok, result=result, errors=tuple(wrong))
    )
    errors = tuple((troubles.signature_of(each), each) for each in wrong)
    steps.append(Step(number=turn.number, form=form, command=turn.command, ok=ok, edited=tuple(edited), errors=errors))


def shown_path(path: str, cwd: str) -> str:
    """A path as seen from the session's folder; empty for files outside that say nothing."""
    plain = path.replace("\\", "/")
    base = cwd.replace("\\", "/").rstrip("/")
    plain = _WORKTREE.sub("/", plain)
    if base and plain.casefold().startswith(base.casefold() + "/"):
        plain = plain[len(base) + 1 :]
    drive = _DRIVE.match(base)
    if drive and plain.casefold().startswith(f"/{drive[1]}/{drive[2]}/".casefold()):
        # As the shells of Windows spell it.
        plain = plain[len(drive[2]) + 4 :]
    if (
        plain.startswith(_OUTSIDE)
        or "/AppData/Local/Temp/" in plain
        or "/scratchpad/" in plain
        or "/.claude/" in plain
        or "/.codex/" in plain
        or not plain.strip("./")
    ):
        return ""
    if _MADE.search(plain) or not _BARE.match(plain):
        return ""
    return posixpath.normpath(plain)


def is_common(path: str) -> bool:
    """Whether a file is one that any piece of work may touch."""
    return bool(_COMMON.search(path))


def area_of(paths: Iterable[tuple[str, int]]) -> str:
    """The part of a project that most of these files lie in: at most three folders deep; empty where there is none."""
    weights: Counter[str] = Counter()
    for path, times in paths:
        if is_common(path) or _ABSOLUTE.match(path):
            continue
        folders = path.split("/")[:-1][:3]
        weights["/".join(folders)] += min(times, 3)
    if not weights:
        return ""
    whole = sum(weights.values())
    # The deepest folder that holds most of it.
    best, depth = "", 0
    totals: Counter[str] = Counter()
    for folder, weight in weights.items():
        parts = folder.split("/") if folder else []
        for end in range(1, len(parts) + 1):
            totals["/".join(parts[:end])] += weight
    for folder, weight in sorted(totals.items(), key=lambda each: (-each[1], each[0])):
        deep = folder.count("/") + 1
        if weight * 5 >= whole * 3 and deep > depth:
            best, depth = folder, deep
    if not best and totals:
        best = max((folder for folder in totals if "/" not in folder), key=lambda each: (totals[each], each))
    return best
