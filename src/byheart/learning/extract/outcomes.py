"""How a task ended: by what its user said, by tests and exit codes, and else by what came after it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.domain.handbook import Outcome
from byheart.language import remarks
from byheart.learning.extract.tasks import is_chore

if TYPE_CHECKING:
    from byheart.learning.extract.evidence import Evidence, Ran

PROVING = ("test", "build", "lint", "types")
_BROKEN = re.compile(
    r"\b(?:i undid|you (?:fucked|messed|screwed)|still (?:not|fail|broken|doesn'?t|the same|wrong|an issue|happening)|doesn'?t work|does not work|not working|didn'?t work|it'?s broken|you broke|is broken|same (?:error|issue|problem)|keeps? (?:failing|crashing)|gives? (?:me )?an? error|fails? (?:with|again))\b",
    re.IGNORECASE,
)
_GIVEN_UP = re.compile(
    r"\b(?:never ?mind|forget (?:it|about it|this)|drop (?:it|this)|revert (?:it|this|that|everything|all)|undo (?:it|this|that|everything|all)|abandon|scrap (?:it|this|that)|give up)\b",
    re.IGNORECASE,
)


def outcome_of(found: Evidence, *, is_last: bool) -> tuple[Outcome, str]:
    """The outcome, and what it was judged by."""
    words = _by_words(found)
    if words is not None:
        return words
    proofs = [each for each in found.ran if each.kind in PROVING and each.ok is not None]
    committed = next((each for each in reversed(found.ran) if _commits(each) and each.ok), None)
    if committed and (not found.edits_at or committed.number > found.last_edit):
        return Outcome.SUCCESS, f"committed (#{committed.number})"
    if found.edited and proofs:
        last = proofs[-1]
        shown = f"`{last.form[:80]}` {'passed' if last.ok else 'failed'} (#{last.number})"
        if not last.ok:
            return Outcome.PARTIAL, f"{shown} at the end"
        if last.number > found.last_edit:
            return Outcome.SUCCESS, f"{shown} after the last change"
    if found.interrupted and found.turns and found.interrupted[-1].number >= found.turns[-1].number - 1:
        return Outcome.UNCERTAIN, "stopped by the user"
    if not is_last:
        return Outcome.SUCCESS, "the user went on to something else without a complaint"
    return Outcome.UNCERTAIN, "nobody said how it ended"


def _by_words(found: Evidence) -> tuple[Outcome, str] | None:
    """What the user's last word on it says; None where it says nothing."""
    after = found.later
    for turn in reversed(after[-3:]):
        text = turn.text.strip()
        worked = any(other.number > turn.number and other.tool is not None for other in found.turns)
        if _GIVEN_UP.search(text[:200]) and len(text) < 300:
            return Outcome.FAIL, f"given up by the user (#{turn.number})"
        if _BROKEN.search(text[:400]):
            return (Outcome.PARTIAL if worked else Outcome.FAIL), f"the user said that it did not work (#{turn.number})"
        if is_chore(text):
            done = next((each for each in found.ran if each.number > turn.number and _commits(each)), None)
            if done is None or done.ok is not False:
                return Outcome.SUCCESS, f"the user had it wrapped up (#{turn.number})"
            return Outcome.PARTIAL, f"wrapping it up failed (#{done.number})"
        kind = remarks.of_words(text, follows_work=True)
        if kind == remarks.APPROVAL and not worked:
            return Outcome.SUCCESS, f"approved by the user (#{turn.number})"
        if kind == remarks.CORRECTION:
            return None if worked else (Outcome.PARTIAL, f"corrected by the user at the end (#{turn.number})")
    return None


def _commits(each: Ran) -> bool:
    return each.kind == "commit"
