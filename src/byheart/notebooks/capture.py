"""Whether a candidate may be stored unasked: durable, useful, specific and safe, each with its reason."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.domain.records import NEEDS_CONFIRMATION, Confidence, Signal
from byheart.domain.reports import Reason, Verdict
from byheart.text.patterns import deferred
from byheart.text.similarity import content_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.domain.results import Finding

_LASTING = deferred(
    r"\b(?:always|never|from now on|going forward|by default|prefer(?:s|red|ence)?|avoid|rather than|instead of|every time"
    r"|whenever|in general|usually|convention|standard|must(?: not)?|don'?t ever|do not ever|i (?:like|dislike|hate|use)"
    r"|we (?:use|always|never)|our (?:team|convention|policy|style)|my (?:timezone|time zone|name|editor|os|default))\b",
    re.IGNORECASE,
)
_PASSING = deferred(
    r"\b(?:for now|right now|this time|just (?:this )?once|today|tomorrow|tonight|yesterday|this (?:week|morning|afternoon"
    r"|session|pr|branch|commit|file|task|one)|temporar(?:y|ily)|for the moment|currently|until|at the moment|in this case"
    r"|next (?:step|week)|quickly|wip|hotfix)\b",
    re.IGNORECASE,
)
_CHATTER = deferred(
    r"^\s*(?:thanks?(?: you)?|ok(?:ay)?|yes|no|sure|great|cool|hi|hello|hey|please continue|continue|go on|done|lgtm|nice)\b[\s,.!]*(?:\w+[\s.!]*){0,2}$",
    re.IGNORECASE,
)
_HEDGED = deferred(
    r"\b(?:maybe|perhaps|i think|i guess|might|not sure|possibly|probably|for example|e\.g\.)\b", re.IGNORECASE
)
_TRANSCRIPT = deferred(r"(?m)^\s*(?:user|human|assistant|ai|system|tool|me|you)\s*:\s", re.IGNORECASE)


def judge(text: str, signal: Signal, findings: Sequence[Finding], *, lesson: bool, most: int) -> Verdict:
    """Store only what passes all four tests; an ambiguous or passing signal is kept at low confidence at best."""
    lasting, passing = bool(_LASTING.search(text)), bool(_PASSING.search(text))
    hedged = bool(_HEDGED.search(text))
    reasons = (
        _durable(signal, lasting=lasting, passing=passing, lesson=lesson),
        _stated(text),
        _useful(text),
        _specific(text, most),
        _safe(findings),
    )
    confidence = confidence_for(signal)
    if passing or hedged or (signal is not Signal.REPEATED and not lasting and not lesson):
        confidence = Confidence.LOW
    return Verdict(
        stored=all(reason.passed for reason in reasons),
        confidence=confidence,
        tags=(NEEDS_CONFIRMATION,) if confidence is Confidence.LOW else (),
        reasons=reasons,
    )


def confidence_for(signal: Signal) -> Confidence:
    """Said or confirmed outright: high. Repeated without confirmation: medium. Inferred: low."""
    match signal:
        case Signal.EXPLICIT | Signal.CONFIRMED:
            return Confidence.HIGH
        case Signal.REPEATED:
            return Confidence.MEDIUM
        case Signal.INFERRED:
            return Confidence.LOW


def _durable(signal: Signal, *, lasting: bool, passing: bool, lesson: bool) -> Reason:
    if passing and not lasting:
        return Reason(test="durable", passed=False, because="it speaks of the moment (for now, today, this time …)")
    if lesson:
        return Reason(test="durable", passed=True, because="a problem with its fix stays true")
    if lasting:
        return Reason(test="durable", passed=True, because="it uses the language of lasting preferences")
    if signal is Signal.REPEATED:
        return Reason(test="durable", passed=True, because="the same signal came more than once")
    if signal is Signal.INFERRED:
        return Reason(test="durable", passed=True, because="inferred, so it is kept at low confidence until confirmed")
    return Reason(test="durable", passed=False, because="nothing says that it will still hold in a later session")


_FLAG = deferred(r"(?:^|\s)--?[A-Za-z][\w-]*(?:=\S+)?(?=\s|$)")
_SHELL = deferred(r"\s(?:&&|\|\||\||>>?|2>&1)\s|^\s*(?:\$|>|#)\s|^\s*(?:\./|sudo\s|[A-Z_]{2,}=\S+\s)")
_PROGRAM = deferred(
    r"^\s*(?:git|gh|npm|npx|pnpm|yarn|bun|pip3?|uv|poetry|cargo|go|make|just|docker|kubectl|helm|terraform|aws|gcloud|az|ssh|scp|curl|wget|rm|mv|cp|chmod|chown|kill|python3?|node|deno|bash|sh|zsh|psql|mysql|systemctl|brew|apt(?:-get)?)"
    r"\s+[a-z./~-][\w./:@~-]*(?:\s+[\w./:@~=-]+){0,6}\s*$"
)
_SENTENCE = deferred(
    r"\b(?:i|we|you|our|my|the|a|an|is|are|be|to|not|never|always|prefer|use|uses|using|with|before|after|when|because|instead|than|should|must|do|don'?t|and|or|for|in|on|of)\b",
    re.IGNORECASE,
)


# An order to run something, now: what is to be done always, or never, or before something else each time, says so.
_ORDER = deferred(r"(?:please\s+|just\s+)?(?:run|execute|invoke|launch)\b", re.IGNORECASE)
_LASTING_WORD = deferred(r"\b(?:always|never|prefer|whenever|every time|by default)\b", re.IGNORECASE)
_LEAD = deferred(r"^(?:first|please|just|now)?[\s,:]*(?:do|run|use)?[\s:]+(?=\S)", re.IGNORECASE)
_THEN = deferred(r"\s*[,;]\s*(?:and\s+)?then\s+|\s+and\s+then\s+|\s*;\s*", re.IGNORECASE)


def is_command(text: str) -> bool:
    """Whether a text is something to run rather than something to know: it has what command lines have, and no words that join
    others to a sentence; a program's name with nothing but its arguments is one, too."""
    bare = text.strip().strip("`")
    if "\n" in bare:
        return all(is_command(line) for line in bare.split("\n") if line.strip())
    if _ORDER.match(bare) and not _LASTING_WORD.search(bare):
        return True
    steps = _THEN.split(_LEAD.sub("", bare))
    if len(steps) > 1:
        return all(is_command(_LEAD.sub("", step)) for step in steps)
    words = _SENTENCE.findall(_FLAG.sub(" ", bare))
    return bool((_FLAG.search(bare) or _SHELL.search(bare)) and not words) or bool(
        _PROGRAM.match(bare) and len(words) < 2
    )


def _stated(text: str) -> Reason:
    if is_command(text):
        return Reason(test="a statement", passed=False, because="it is a command to run, not something to know")
    return Reason(test="a statement", passed=True, because="it says something")


def _useful(text: str) -> Reason:
    if _CHATTER.match(text):
        return Reason(test="useful", passed=False, because="it is conversation, not a preference")
    if text.rstrip().endswith("?"):
        return Reason(test="useful", passed=False, because="it is a question")
    words = content_words(text)
    if len(set(words)) < 2 and len(text) < 12:
        return Reason(test="useful", passed=False, because="it says too little to change a later answer")
    return Reason(test="useful", passed=True, because="it would change how later work is done")


def _specific(text: str, most: int) -> Reason:
    if is_transcript(text):
        return Reason(test="specific", passed=False, because="it is a transcript, not one statement")
    if len(text) > most:
        return Reason(test="specific", passed=False, because=f"it is longer than {most} characters")
    return Reason(test="specific", passed=True, because="it fits one small entry")


def is_transcript(text: str) -> bool:
    """Whether a text is a stretch of conversation or a page of lines rather than one statement."""
    return len(_TRANSCRIPT.findall(text)) >= 2 or text.strip().count("\n") > 8


def _safe(findings: Sequence[Finding]) -> Reason:
    if findings:
        rules = ", ".join(sorted({finding.rule for finding in findings}))
        return Reason(test="safe", passed=False, because=f"the scanner found {rules}")
    return Reason(test="safe", passed=True, because="nothing sensitive or instruction-like was found")
