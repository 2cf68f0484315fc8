"""What is worth keeping of many old texts: whole sentences, chosen and ordered by code, never rewritten."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from byheart.text.likeness import content_words, normalised
from byheart.text.patterns import deferred

LONGEST_SENTENCE = 320
# A full stop ends a sentence only before a blank and something that can begin one: not in v1.2, e.g. this, or a.b.
_END = deferred(r"(?<=[.!?…])[\"')\]]*\s+(?=[\"'(\[`]?[A-Z0-9À-ÞА-Я])|(?<=[。！？])|\n+")
_BULLET = deferred(r"^\s*(?:[-*+•]|\d+[.)]|#+)\s+")
_DIGITS = deferred(r"\d+")
_CUES: tuple[tuple[int, re.Pattern[str]], ...] = (
    (
        5,
        re.compile(
            r"\b(?:decid\w+|decision|chose|chosen|agreed|settled on|going with|switch(?:ed|ing)? (?:to|from)|instead of|"
            r"rather than|migrat\w+|replac\w+|adopt\w+|standardi[sz]e\w*|policy|approved|rejected)\b",
            re.IGNORECASE,
        ),
    ),
    (
        5,
        re.compile(
            r"\b(?:prefer\w*|always|never|must(?:n't)?|should(?:n't)?|avoid\w*|do(?:n't| not)|wants?|likes?|dislikes?|"
            r"from now on|remember|convention|requires?|only)\b",
            re.IGNORECASE,
        ),
    ),
    (
        4,
        re.compile(
            r"\b(?:fail\w*|errors?|bugs?|crash\w*|broke\w*|fix\w*|time(?:d)? ?outs?|exceptions?|regress\w*|root cause|"
            r"because|workaround|caused|blocked|missing|wrong|leak\w*|flaky|deadlock\w*|lesson|learn(?:ed|t))\b",
            re.IGNORECASE,
        ),
    ),
    (2, re.compile(r"`[^`]+`|\b\w+[/.]\w+[\w/.]*|\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z]\w+\b|--[a-z]\w+")),
    (1, re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+\w*")),
    (1, re.compile(r"\d")),
)


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence and when it was said; `order` is its place among all."""

    text: str
    at: datetime | None
    order: int


def sentences(text: str) -> list[str]:
    """The sentences of a text, without list marks, in order; long ones are cut at a word's end."""
    found = []
    for piece in _END.split(text):
        sentence = " ".join(_BULLET.sub("", piece).split())
        if len(sentence) > LONGEST_SENTENCE:
            sentence = sentence[:LONGEST_SENTENCE].rsplit(" ", 1)[0] + " …"
        if sentence:
            found.append(sentence)
    return found


def weight(sentence: str) -> int:
    """How much a sentence carries: decisions, preferences, failures; then names and numbers."""
    return sum(points for points, cue in _CUES if cue.search(sentence))


def chosen(texts: Iterable[tuple[datetime | None, str]], most: int) -> list[Said]:
    """The sentences that carry most, each once, within `most` characters; in the order they were said.

    Of equals the newer counts. Where nothing carries anything, the newest sentences stand for the rest.
    """
    every: list[Said] = []
    for at, text in texts:
        every += [Said(sentence, at, order) for order, sentence in enumerate(sentences(text), start=len(every))]
    # Of a sentence that was said twice the later counts.
    latest = {normalised(each.text): each for each in every if len(each.text) > 3}
    weights = {each.order: weight(each.text) for each in latest.values()}
    ranked = sorted(latest.values(), key=lambda each: (-weights[each.order], -each.order))
    telling = [each for each in ranked if weights[each.order] > 0] or ranked[:3]
    taken: list[Said] = []
    room, meanings, shapes = most, set(), Counter[str]()
    for each in telling:
        if room < 20:
            break
        if len(each.text) + 3 > room:
            continue
        meaning = frozenset(content_words(each.text))
        shape = _DIGITS.sub("0", normalised(each.text))
        # "12 tests pass" and "14 tests pass" say the same thing on different days; two are enough.
        if meaning in meanings or shapes[shape] >= 2:
            continue
        meanings.add(meaning)
        shapes[shape] += 1
        taken.append(each)
        room -= len(each.text) + 3
    return sorted(taken, key=lambda each: each.order)


def listed(taken: Sequence[Said]) -> str:
    """The sentences as a list, a line each."""
    return "\n".join(f"- {each.text}" for each in taken)
