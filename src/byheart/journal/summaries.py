"""What is worth keeping of many old texts: whole sentences, chosen and ordered by code, never rewritten."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass
from byheart.text.patterns import deferred
from byheart.text.similarity import content_words, normalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

LONGEST_SENTENCE = 320
# A full stop ends a sentence only before a blank and something that can begin one: not in v1.2, e.g. this, or a.b.
_END = deferred(r"(?<=[.!?…])[\"')\]]*\s+(?=[\"'(\[`]?[A-Z0-9À-ÞА-Я])|(?<=[。！？])|\n+")
_BULLET = deferred(r"^\s*(?:[-*+•]|\d+[.)]|#+)\s+")
_ABBREVIATION = deferred(r"(?:^|[\s(])(?:Dr|Mr|Mrs|Ms|St|vs|No|Nos|etc|cf|approx|ca|Fig|Sec|Ch|e\.g|i\.e|incl|resp)\.$")
# What is said to keep a talk going; it tells nobody anything a week later.
_TALK = deferred(
    r"\?\s*$|^(?:let me|let's|shall i|i'll|i will|i can|do you|would you|great|perfect|sounds good|ok(?:ay)?|sure|done|hmm|thanks"
    r"|here(?:'s| is)|now (?:i|let)|looks good|next,? i)\b|^(?:i (?:don't|do not) see|i only (?:looked|checked|read)|there should be no)\b",
    re.IGNORECASE,
)
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
    (
        1,
        re.compile(
            r"(?<=[a-z,;] )[A-Z][a-z]+\w*|^[A-Z][a-z]+ (?:is|owns|runs|leads|pays|wants|said|asked|maintains)\b"
        ),
    ),
    (1, re.compile(r"\d")),
    (
        1,
        re.compile(
            r"\b(?:is|are|owns?|uses?|runs?|lives?|needs?|means|stays?|goes|set up|implemented|added|removed)\b"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class DatedSentence:
    """A sentence and when it was said; `order` is its place among all."""

    text: str
    at: datetime | None
    order: int


def sentences(text: str) -> list[str]:
    """The sentences of a text, without list marks, in order; long ones are cut at a word's end."""
    found: list[str] = []
    for piece in _END.split(text):
        sentence = " ".join(_BULLET.sub("", piece).split())
        if not sentence:
            continue
        if found and _ABBREVIATION.search(found[-1]):
            sentence = f"{found.pop()} {sentence}"
        found.append(sentence)
    return [
        each if len(each) <= LONGEST_SENTENCE else each[:LONGEST_SENTENCE].rsplit(" ", 1)[0] + " …" for each in found
    ]


def weight(sentence: str) -> int:
    """How much a sentence carries: decisions, preferences, failures; then facts, names and numbers. Talk carries nothing."""
    if _TALK.search(sentence):
        return 0
    found = sum(points for points, cue in _CUES if cue.search(sentence))
    # The cues are English; what is written in another script cannot be weighed, so it is not thrown away for that.
    if sentence.isascii():
        return found
    foreign = sum(ord(each) > 0x24F and each.isalpha() for each in sentence)
    return found + 3 if foreign * 3 > len(sentence) else found


def chosen(
    texts: Iterable[tuple[datetime | None, str]],
    most: int,
    *,
    but: set[str] | None = None,
    all_of_it: bool = False,
    whole: bool = False,
) -> list[DatedSentence]:
    """The sentences that carry most, each once, within `most` characters; in the order they were said.

    Of equals the newer counts. Sentences that carry nothing stay out unless `all_of_it` is wanted, and those of `but`
    always do. Where nothing carries anything, the newest sentences stand for the rest. `whole` texts are sentences already.
    """
    every: list[DatedSentence] = []
    for at, text in texts:
        parts = [text] if whole else sentences(text)
        every += [DatedSentence(sentence, at, order) for order, sentence in enumerate(parts, start=len(every))]
    # Of a sentence that was said twice the later counts.
    latest = {normalised(each.text): each for each in every if len(each.text) > 3}
    known = [each for name, each in latest.items() if not but or name not in but]
    weights = {each.order: weight(each.text) for each in known}
    ranked = sorted(known, key=lambda each: (-weights[each.order], -each.order))
    telling = [each for each in ranked if all_of_it or weights[each.order] > 0] or ranked[:3]
    taken: list[DatedSentence] = []
    meanings: set[frozenset[str]] = set()
    shapes = Counter[str]()
    room = most
    # "12 tests pass" and "14 tests pass" say the same thing on different days; two are enough while others need the room.
    for limit in (2, 50):
        for each in telling:
            if len(each.text) + 3 > room or (limit > 2 and room < most // 2):
                continue
            meaning = frozenset(content_words(each.text))
            shape = _DIGITS.sub("0", normalised(each.text))
            if meaning in meanings or shapes[shape] >= limit:
                continue
            meanings.add(meaning)
            shapes[shape] += 1
            taken.append(each)
            room -= len(each.text) + 3
            if room < 20:
                break
    return sorted(taken, key=lambda each: each.order)


def listed(taken: Sequence[DatedSentence]) -> str:
    """The sentences as a list, a line each."""
    return "\n".join(f"- {each.text}" for each in taken)
