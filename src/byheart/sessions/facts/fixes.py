"""Which error was followed by which fix: what was done between a failure and the same thing going through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.work import FixFact, Step
from byheart.sessions.facts.commands import (
    BEFORE,
    SPACES,
    core_of,
    is_filtered,
    kind_of,
    only_looks,
    parts_of,
    program_of,
)
from byheart.sessions.facts.errors import telling

if TYPE_CHECKING:
    from collections.abc import Sequence

# An error that is still open after so many steps has been left alone, not fixed.
_PATIENCE = 60
# Programs that do many things; which one shows in the word behind them.
_RUNNERS = frozenset(
    "git gh npm pnpm yarn bun make cargo go docker kubectl uv poetry pip terraform helm aws gcloud az brew apt apt-get systemctl dotnet just nx bd".split()
)
_FILLING = frozenset({"run", "exec", "--"})


def pairs_of(steps: Sequence[Step]) -> list[FixFact]:
    """Only an error's last appearance counts: what comes back was not fixed."""
    last: dict[str, int] = {}
    for index, step in enumerate(steps):
        for signature, _ in step.errors:
            last[signature] = index
    found = []
    for signature, index in last.items():
        text = next(text for each, text in steps[index].errors if each == signature)
        if pair := _fix(steps, index, signature, text):
            found.append(pair)
    # Several lines of one failure have one fix; the most telling line stands for it.
    best: dict[tuple[int, int], FixFact] = {}
    for pair in found:
        key = (pair.failed_at, pair.fixed_at)
        if key not in best or telling(pair.error) > telling(best[key].error):
            best[key] = pair
    return sorted(best.values(), key=lambda pair: pair.failed_at)


def _fix(steps: Sequence[Step], index: int, signature: str, text: str) -> FixFact | None:
    failed = steps[index]
    commands: list[str] = []
    edited: dict[str, None] = {}
    for step in steps[index + 1 : index + 1 + _PATIENCE]:
        if not step.form:
            edited.update(dict.fromkeys(step.edited))
            continue
        if _is_proof(failed, step, signature):
            if step.command not in commands and _differs(failed.command, step.command):
                commands.append(step.command)
            return FixFact(
                error=text,
                signature=signature,
                failed_at=failed.number,
                failed_command=failed.command,
                fixed_at=step.number,
                proof=step.command,
                passed=bool(step.ok),
                commands=tuple(commands[-4:]),
                edited=tuple(edited)[-6:],
            )
        # What nobody knows the end of may have been it all the same.
        if step.ok is not False and not only_looks(step.form) and _differs(failed.command, step.command):
            commands.append(step.command)
    return None


def _differs(one: str, other: str) -> bool:
    """Whether two commands differ in more than how their output is trimmed."""
    return core_of(one) != core_of(other) or _place_of(one) != _place_of(other)


def _place_of(command: str) -> str:
    """The folder that a command changed to before it ran."""
    before = BEFORE.match(command.strip())
    return SPACES.sub(" ", before.group()).strip() if before else ""


def _is_proof(failed: Step, later: Step, signature: str) -> bool:
    """Whether a later call shows that an error is gone: it went through, or the very same call met other troubles."""
    if any(each == signature for each, _ in later.errors):
        return False
    if later.ok:
        return _is_comparable(failed, later)
    # With a filter behind it, the old line may only have been left away.
    shown = not is_filtered(later.command)
    return later.ok is False and bool(later.errors) and shown and _is_same_call(failed.form, later.form)


def _is_same_call(mine: str, theirs: str) -> bool:
    if not mine or not theirs:
        return False
    first, second = mine.split(), theirs.split()
    # The same words, or the same behind another program's name, or without a wrapper.
    return (
        mine == theirs
        or (len(first) > 1 and first[1:] == second[1:])
        or (len(second) > 1 and first[-len(second) :] == second)
    )


def _is_comparable(failed: Step, later: Step) -> bool:
    """Whether a later call tries the same thing, so that its success says something about the earlier failure."""
    if not failed.form:
        return False
    if _is_same_call(failed.form, later.form):
        return True
    if only_looks(later.form) and not only_looks(failed.form):
        return False
    kind, other = kind_of(failed.command), kind_of(later.command)
    if kind == "commit" or other == "commit":
        return _shares_git(failed.command, later.command)
    if kind is not None or other is not None:
        return kind == other
    if program_of(failed.command) != program_of(later.command):
        return False
    mine, theirs = _words(failed.form), _words(later.form)
    if program_of(failed.command) in _RUNNERS:
        return mine[:1] == theirs[:1]
    shared = set(mine) & set(theirs)
    if only_looks(failed.form):
        return len(shared) >= max(1, len(set(mine)) // 2)
    return bool(shared) or not mine


def _shares_git(mine: str, theirs: str) -> bool:
    """Whether two lines of git do the same steps to something they share."""
    first, second = ([_words(part) for part in parts_of(line) if part.startswith("git ")] for line in (mine, theirs))
    steps = {words[0] for words in first if words}
    if not steps or not steps <= {words[0] for words in second if words}:
        return False
    return bool({word for words in first for word in words[1:]} & {word for words in second for word in words[1:]})


def _words(form: str) -> list[str]:
    """What a program was told, without its options and its own name."""
    words = form.split()
    told: list[str] = []
    skip = False
    name = program_of(form)
    begun = False
    for word in words:
        if not begun:
            begun = word.rsplit("/", 1)[-1].strip("\"'`(){};") == name
            continue
        if skip:
            skip = False
        elif word in ("-C", "-c", "--repo", "-R"):
            skip = True
        elif not word.startswith("-") and word not in _FILLING:
            if word in ("&&", "||", ";", "|"):
                break
            told.append(word)
    return told
