"""What went wrong in a task: with what got over it, with what the user said to it, or with nothing yet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.domain.handbook import Bullet
from byheart.domain.values import replace
from byheart.handbook.lessons import Lesson, lesson_line
from byheart.handbook.phrases import one_line
from byheart.language import lasting
from byheart.language.sentences import is_document, sentences
from byheart.learning.extract.signals import default_of
from byheart.sessions.facts import commands as lines_of
from byheart.sessions.facts import errors
from byheart.sessions.facts.differences import counterpart, steps_in, to_blame
from byheart.sessions.facts.fixes import is_workaround
from byheart.text.similarity import content_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.domain.sessions import FixFact
    from byheart.learning.extract.evidence import Evidence, Ran

_SPOKEN = 800
_PASTED = re.compile(r"^#|https?://|^\s*[-*] .*\n\s*[-*] ", re.MULTILINE)
_FINE = re.compile(
    r"\b(?:works?(?: now| fine| well| perfectly)?|not an issue|doesn'?t (?:really )?matter|that'?s fine|is fine|no problem|perfect|great|thanks?|looks good)\b",
    re.IGNORECASE,
)
_WANTS = re.compile(
    r"^\W*(?:(?:no|nope|wait|stop|please|actually|and|but|so|ok)[,.! ]+)*(?:use|run|make|keep|leave|put|move|add|remove|delete|change|revert|undo|do|don'?t|do not|only|just|never|always|show|hide|rename|fix|try|check|look|read|write|commit|push|create|start|stop|go|rebuild|review|test|fold|split)\b|"
    r"\b(?:should(?:n'?t)?|must(?:n'?t)?|needs? to|have to|want|instead|rather|not|never|don'?t|didn'?t|wrong|still)\b",
    re.IGNORECASE,
)
# Putting a commit together takes several calls, whatever stopped it.
_STAGES = re.compile(r"git (?:-\S+ \S+ )*(?:add|commit|stage)\b")
_MOST_FIXES, _MOST_UNSOLVED = 12, 8


def failures(found: Evidence) -> list[Bullet]:
    """What went wrong: with what helped, with what the user said to it, or with nothing yet."""
    spoken = [turn.number for turn in found.prompts]
    lines = [_fixed(fix, spoken) for fix in _telling(found)]
    for turn in found.later:
        quote = correction(turn.text)
        if quote:
            lines.append(Bullet(f'the user corrected: "{quote}" -> {default_of(quote)}', (turn.number,)))
    lines = [*lines[: _MOST_FIXES + 3], *_stopped(found)]
    return [*lines, *_open(found)]


def correction(text: str) -> str:
    """The sentence that corrects what was done; none where it is a lasting wish, which is told elsewhere, a question, praise, or
    part of something pasted."""
    if len(text) > _SPOKEN or is_document(text) or _PASTED.search(text):
        return ""
    every = list(sentences(text))
    for place, sentence in enumerate(every):
        if lasting.of_words(sentence, follows_work=True) != lasting.CORRECTION or sentence.rstrip().endswith("?"):
            continue
        if lasting.judged(sentence, is_correction=True).is_sure or _FINE.search(sentence):
            return ""
        # A short no means nothing without what follows it.
        whole = sentence if len(content_words(sentence)) >= 4 else " ".join(every[place : place + 2])
        if len(content_words(whole)) >= 4 and _WANTS.search(whole):
            return one_line(whole, 220).replace('"', "'")
    return ""


def _stopped(found: Evidence) -> list[Bullet]:
    """Where the user stopped the agent to tell it something else."""
    lines = []
    for turn in [*found.interrupted, *found.refused]:
        after = next((each for each in found.prompts if each.number > turn.number), None)
        if after is None or len(after.text) > _SPOKEN or _FINE.search(after.text) or correction(after.text):
            continue
        said = next(
            (each for each in sentences(after.text) if _WANTS.search(each) and len(content_words(each)) >= 4), ""
        )
        if said and not said.rstrip().endswith("?"):
            quote = one_line(said, 200).replace('"', "'")
            lines.append(
                Bullet(f'the user stopped the agent: "{quote}" -> {default_of(quote)}', (turn.number, after.number))
            )
    return lines[:2]


def _telling(found: Evidence) -> list[FixFact]:
    """What was got over, each error once: what another call got over before what a change of files did, and the shorter way before the
    longer; in the order they happened. Whether an error is worth telling shows in how many sessions meet it, so few are left out."""
    helped = [fix for fix in found.fixes if not _is_narrower(fix)]
    once = {fix.signature: fix for fix in reversed(helped)}
    # What went through when it was tried again comes last: one session alone proves nothing by it.
    ways = sorted(
        once.values(),
        key=lambda fix: (
            not fix.passed,
            not (fix.commands or fix.edited),
            bool(fix.edited),
            len(fix.commands) + len(fix.edited),
        ),
    )
    return sorted(ways[:_MOST_FIXES], key=lambda fix: fix.failed_at)


def _is_narrower(fix: FixFact) -> bool:
    """Whether what went through in the end tried less than what had failed: a single test file proves nothing about all."""
    if lines_of.kind_of(fix.failed_command) is None:
        return False
    failed, proof = (set(lines_of.form_of(each).split()) for each in (fix.failed_command, fix.proof))
    if any(word.startswith(folder) for folder in failed if folder.endswith("/") for word in proof - failed):
        return True
    return any("/" in word or "." in word for word in proof - failed) and not any(
        "/" in word or "." in word for word in failed - proof
    )


def _fixed(fix: FixFact, spoken: Sequence[int]) -> Bullet:
    """A failure with what got over it, each told by the single command that it is about. `spoken` are the turns in which the user
    spoke."""
    step = to_blame(fix.failed_command, fix.error)
    worked = counterpart(step, fix.proof)
    is_asked = any(fix.failed_at < number < fix.fixed_at for number in spoken)
    if fix.attempts and not is_asked and not fix.commands and not fix.edited:
        # It had been tried again before, in vain.
        return Bullet(lesson_line(Lesson(command=_short(step), error=fix.error)), (fix.failed_at,))
    lesson = Lesson(
        command=_short(step),
        error=fix.error,
        changed=fix.edited[-3:],
        ran=tuple(_between(fix, step, worked))[-2:],
        proof=_short(worked),
        passed=fix.passed,
        is_workaround=is_workaround(fix.commands, fix.proof),
    )
    if lesson.is_retry and is_asked:
        lesson = replace(lesson, is_asked=True)
    return Bullet(lesson_line(lesson), (fix.failed_at, fix.fixed_at))


def _between(fix: FixFact, step: str, worked: str) -> dict[str, None]:
    """What was run before it worked, step by step, in order; where it only ran elsewhere, with where."""
    known = {step, worked}
    # What was already a part of the line that failed is no new step, whatever it was pointed at.
    same = {_acts(each) for each in steps_in(fix.failed_command)} - {_acts(step)}
    ran: dict[str, None] = {}
    for command in (*(each for each in fix.commands if each != fix.proof), fix.proof):
        for each in steps_in(command):
            if each == worked and command == fix.proof:
                break
            is_own = bool(_STAGES.match(each)) and bool(_STAGES.match(step))
            if each not in known and _acts(each) not in same and not is_own and not lines_of.only_looks(each):
                ran[_short(each)] = None
    moved, before = lines_of.BEFORE.match(fix.proof.strip()), lines_of.BEFORE.match(fix.failed_command.strip())
    if moved and moved.group() != (before.group() if before else "") and moved.group().startswith("cd "):
        ran[one_line(f"{moved.group().rstrip(' &;')} && {worked}", 120).replace("`", "'")] = None
    return ran


def _acts(step: str) -> tuple[str, ...]:
    """A program with what it is told to do."""
    return (lines_of.program_of(step), *[word for word in step.split() if word.isalpha()][:2])


def _short(command: str) -> str:
    """A command as it is told: without the texts that were put into it."""
    form = lines_of.form_of(command)
    if "<<" in form:
        form = form.split("<<", 1)[0].rstrip(" \"'$(cat")
    return one_line(form, 110).replace("`", "'")


def _open(found: Evidence) -> list[Bullet]:
    """What still failed when the task ended."""
    fixed = {fix.failed_at for fix in found.fixes}
    last: dict[str, Ran] = {}
    for each in found.ran:
        if each.kind in ("test", "build", "lint", "types", "commit", "install"):
            last[each.kind] = each
    ended = [each for each in last.values() if each.ok is False and each.errors and each.number not in fixed]
    told = [
        Bullet(lesson_line(Lesson(command=_blamed(each), error=each.errors[0], is_last=True)), (each.number,))
        for each in ended
    ]
    return [*told, *_unsolved(found, {each.number for each in ended})]


def _unsolved(found: Evidence, told: set[int]) -> list[Bullet]:
    """What was met and not got over on the way, each error once: in how many sessions that happens is what tells."""
    solved = {fix.signature for fix in found.fixes}
    first: dict[str, Ran] = {}
    for each in found.ran:
        if each.ok is False and each.errors and each.number not in told:
            first.setdefault(errors.signature_of(each.errors[0]), each)
    return [
        Bullet(lesson_line(Lesson(command=_blamed(each), error=each.errors[0])), (each.number,))
        for signature, each in first.items()
        if signature not in solved and "`" not in each.errors[0]
    ][:_MOST_UNSOLVED]


def _blamed(ran: Ran) -> str:
    return _short(to_blame(ran.command, ran.errors[0]))
