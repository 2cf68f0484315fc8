"""What got over the errors of a session: the call that shows that one is gone, and what was run and changed in the meantime."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from byheart.domain.sessions import FixFact, Step
from byheart.domain.values import replace
from byheart.sessions.facts.commands import (
    BEFORE,
    SPACES,
    core_of,
    is_filtered,
    is_from_shell,
    kind_of,
    only_looks,
    parts_of,
    program_of,
    result_of,
)
from byheart.sessions.facts.differences import changes, counterpart, is_elsewhere, steps_in, to_blame
from byheart.sessions.facts.errors import telling
from byheart.text.deferred import deferred

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# An error that is still open after so many steps has been left alone, not fixed.
_PATIENCE = 60
# A command as short as that may stand in an output by chance.
_SAYS_WHAT = 8
_OF_ONE = 2
_FEW_LINES = 6
# What programs say of the words that they are called with, rather than of what they work on.
_NOT_UNDERSTOOD = deferred(
    r"unknown|unrecogni[sz]ed|unexpected argument|no such (?:option|command|subcommand)|no .{1,40} found|not found|ambiguous|invalid (?:option|choice|value|argument)|illegal option|"
    r"requires?|missing|must (?:be|specify)|is not a|accepts|too (?:many|few)|usage",
    re.IGNORECASE,
)
# Programs that do many things; which one shows in the word behind them.
_RUNNERS = frozenset(
    "git gh npm pnpm yarn bun make cargo go docker kubectl uv poetry pip terraform helm aws gcloud az brew apt apt-get systemctl dotnet just nx bd".split()
)
_NOT_THERE = deferred(r"not found|not installed|not recogni[sz]ed|could not determine executable", re.IGNORECASE)
_FILLING = frozenset({"run", "exec", "--"})
_BYPASS = deferred(
    r"--no-verify|--force\b|(?:^|\s)-f(?:\s|$)|--skip|\|\| *true|\bgit stash\b|\brm -rf\b|HUSKY=0|--legacy-peer-deps|--no-check|-DskipTests"
)


def is_workaround(commands: Sequence[str], proof: str) -> bool:
    """Whether a check was skipped or something forced rather than put right."""
    return bool(_BYPASS.search(" ".join((*commands, proof))))


def pairs_of(steps: Sequence[Step]) -> list[FixFact]:
    """Only an error's last appearance counts: what comes back was not fixed."""
    met: dict[str, list[int]] = {}
    for index, step in enumerate(steps):
        for signature, _ in step.errors:
            met.setdefault(signature, []).append(index)
    found = []
    for signature, places in met.items():
        text = next(text for each, text in steps[places[-1]].errors if each == signature)
        if pair := _fix(steps, places[-1], signature, text):
            found.append(replace(pair, attempts=len(places) - 1))
    # Several lines of one failure have one fix. The most telling ones stand for it, two at most: which of them returns in other
    # sessions is for those to show.
    best: dict[tuple[int, int], list[FixFact]] = {}
    for pair in found:
        best.setdefault((pair.failed_at, pair.fixed_at), []).append(pair)
    kept = [pair for pairs in best.values() for pair in sorted(pairs, key=lambda each: -telling(each.error))[:_OF_ONE]]
    return sorted(kept, key=lambda pair: pair.failed_at)


def _fix(steps: Sequence[Step], index: int, signature: str, text: str) -> FixFact | None:
    failed = steps[index]
    commands: list[str] = []
    edited: dict[str, None] = {}
    for step in steps[index + 1 : index + 1 + _PATIENCE]:
        if not step.form:
            edited.update(dict.fromkeys(step.edited))
            continue
        if _is_proof(failed, step, signature):
            # Of all that was run in between, what the failed call itself had named is what it asked for.
            asked = [each for each in commands if _is_said(each, failed.said)]
            commands = asked[-1:] or commands
            if _is_misspelled(failed, step, text, edited):
                # What was never begun was not mended by what went on besides.
                commands, edited = [], {}
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
        # What nobody knows the end of may have been it all the same; but a test mends nothing.
        is_step = step.ok is not False and not only_looks(step.form) and kind_of(step.command) not in ("test", "types")
        if is_step and _differs(failed.command, step.command):
            commands.append(step.command)
    return None


def _is_said(command: str, said: str) -> bool:
    """Whether a failed call printed a command that was run then."""
    return any(len(step) >= _SAYS_WHAT and step in said for step in steps_in(command))


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
    said = next((text for each, text in failed.errors if each == signature), "")
    if later.ok is None and is_from_shell(said):
        # A shell that finds the program says nothing of it, whatever came of the rest.
        step = to_blame(failed.command, said)
        other = counterpart(step, later.command)
        return step != other and (_is_same_call(step, other) or _is_same_call(other, step))
    if later.ok:
        if later.is_silent and _NOT_THERE.search(said) and not is_from_shell(said):
            # A program that is not there and then says nothing has most likely done nothing.
            return False
        return _is_comparable(failed, later, said) and not is_elsewhere(failed.command, later.command, said)
    # With a filter behind it, the old line may only have been left away.
    shown = not is_filtered(later.command)
    return later.ok is False and bool(later.errors) and shown and _is_same_call(failed.form, later.form)


def _is_same_call(mine: str, theirs: str) -> bool:
    if not mine or not theirs:
        return False
    first, second = mine.split(), theirs.split()
    # The same words, or the same behind another program's name, or without a wrapper; the last of several commands is no wrapped one.
    wrapper = first[: -len(second)]
    return (
        mine == theirs
        or (len(first) > 1 and first[1:] == second[1:])
        or (len(second) > 1 and first[-len(second) :] == second and not {"&&", "||", ";", "|"} & set(wrapper))
    )


def _is_comparable(failed: Step, later: Step, said: str) -> bool:
    """Whether a later call tries the same thing, so that its success says something about the earlier failure."""
    if not failed.form:
        return False
    if _is_same_call(failed.form, later.form):
        return True
    step = to_blame(failed.command, said)
    other = counterpart(step, later.command)
    if _is_same_call(step, other) or _is_same_call(other, step):
        return True
    if only_looks(later.form) and not only_looks(failed.form):
        return False
    kind, later_kind = kind_of(failed.command), kind_of(later.command)
    if "commit" in (kind, later_kind):
        return _shares_git(failed.command, later.command)
    if kind is not None or later_kind is not None:
        return kind == later_kind and not (kind == "test" and _began(failed) and _narrows(failed.form, later.form))
    if program_of(failed.command) != program_of(later.command):
        return False
    mine, theirs = _words(failed.form), _words(later.form)
    if program_of(failed.command) in _RUNNERS:
        return mine[:1] == theirs[:1]
    shared = set(mine) & set(theirs)
    if only_looks(failed.form):
        return len(shared) >= max(1, len(set(mine)) // 2)
    return bool(shared) or not mine


# What a test command is called, whatever runs it.
_TESTS = deferred(
    r"(?:tests?|specs?|check|verify|ci|vitest|jest|pytest|unittest|nextest|mocha|ava)(?:[:-][\w:-]*)?", re.IGNORECASE
)


def _began(failed: Step) -> bool:
    """Whether a run that failed got as far as its work: who does not understand what it is told says so in a few lines, and no more."""
    lines = [line for line in failed.said.splitlines() if line.strip()]
    return not lines or len(lines) > _FEW_LINES or result_of(failed.said) is not None


def _is_misspelled(failed: Step, worked: Step, error: str, edited: Iterable[str]) -> bool:
    """Whether a call was not understood as it was spelled and worked in another spelling, whatever was changed in between."""
    if (
        not _NOT_UNDERSTOOD.search(error)
        or _began(failed)
        or any(os.path.basename(path) in failed.command for path in edited)
    ):
        return False
    step = to_blame(failed.command, error)
    other = counterpart(step, worked.command)
    return step != other and bool(changes(step, other, error))


def _narrows(failed: str, later: str) -> bool:
    """Whether a later test run was pointed at something that the failed one did not name: what failed may be among what it left out."""
    named = {word.strip("\"'") for word in _words(later) if not _TESTS.fullmatch(word)}
    return bool(named - {word.strip("\"'") for word in _words(failed)})


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
