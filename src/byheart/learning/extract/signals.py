"""What a person wants from now on, in their own words: nobody else's words are looked at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.domain.handbook import Bullet
from byheart.domain.values import dataclass
from byheart.handbook.phrases import one_line, said
from byheart.language import lasting, personal
from byheart.language.sentences import is_document, is_handed_over, sentences
from byheart.text.similarity import normalised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.domain.sessions import Turn

_LEAD = re.compile(
    r"^\W*(?:(?:and|also|but|so|ok(?:ay)?|please|pls|hey|oh|yes|no|well|btw|by the way|actually|just|again|note|important|reminder|my dude|plus|lgtm|sure|thanks|great|good|nice|perfect)\b[,:;!.\s-]*)*"
    r"(?:global(?:ly)?\s*[:,]\s*)?(?:(?:please\s+)?(?:remember|keep in mind|bear in mind|don'?t forget|note|(?:add|save)\s+(?:this\s+)?(?:to|in)\s+(?:(?:your|the|my|our|global|project)\s+)*memory)(?:\s+(?:that|to|this(?=\s*[:,])))?\b\s*[,:]?\s*)?"
    r"(?:(?:from now on|going forward|in (?:the )?future|from here on(?: out)?|as a (?:general )?rule|in general|by default|next time)\b[,:]?\s*)?",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"[,\s]*\b(?:from now on|going forward|from here on(?: out)?|in (?:the )?future|please|thanks?(?: you)?|ok\??|i (?:already )?told you(?: so| that| before| already)?|(?:as|like) i (?:already )?(?:said|told you)(?: before| already)?)\W*$",
    re.IGNORECASE,
)
_REFERS = re.compile(
    r"(?:it|this|that|these|those|they)\b(?!\s+(?:repo|repository|project|codebase|team|package|service)\b)",
    re.IGNORECASE,
)
_MOST = 40
_QUOTED = re.compile(r"\"[^\"\n]{8,200}\"|“[^”\n]{8,200}”|«[^»\n]{8,200}»|「[^」\n]{4,200}」")
# How a candidate begins that is about taking something out of memory.
FORGET = "forget: "
_WRAPPED = re.compile(r"^\((.*)\)\W*$")
_FIRST = ((re.compile(r"^i'?d rather not\b", re.IGNORECASE), "avoid to"), (re.compile(r"^(?:i'?d|i would) rather\b", re.IGNORECASE), "rather"),
          (re.compile(r"^i (?:(?:really|strongly|generally|usually|always) )?prefer\b", re.IGNORECASE), "prefer"),
          (re.compile(r"^i (?:hate|dislike|don'?t like|do not like|can'?t stand)\b", re.IGNORECASE), "avoid"),
          (re.compile(r"^i (?:don'?t|do not) want (?:you )?to\b", re.IGNORECASE), "do not"),
          (re.compile(r"^i (?:don'?t|do not) want\b", re.IGNORECASE), "no"),
          (re.compile(r"^i want you to\b", re.IGNORECASE), ""), (re.compile(r"^you (?:should|must|need to|have to)\b", re.IGNORECASE), ""))  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PossiblePreference:
    """A sentence that may be a preference: for a person to decide."""

    quote: str
    default: str
    turn: int
    score: float
    reasons: tuple[str, ...]
    situation: str


def signals(prompts: Sequence[Turn], situation: str) -> tuple[list[Bullet], list[PossiblePreference]]:
    """The preferences in these messages, and what may be one."""
    sure: dict[str, tuple[str, str, list[int], str]] = {}
    unsure: dict[str, PossiblePreference] = {}
    for place, turn in enumerate(prompts):
        document = is_document(turn.text)
        corrects = place > 0 and lasting.of_words(turn.text, follows_work=True) == lasting.CORRECTION
        for sentence in sentences(turn.text):
            if "[REDACTED" in sentence or personal.kind_of(sentence):
                # What it is about is nobody's to know, so it helps nobody; and private life is kept only where somebody asks for it.
                continue
            gone = "" if document else lasting.unsaid(sentence)
            if gone:
                asked = PossiblePreference(quote=one_line(sentence, 300), default=f"{FORGET}{one_line(gone, 200)}", turn=turn.number, score=0.8, reasons=("asks to forget",), situation=situation)  # fmt: skip
                unsure.setdefault(normalised(asked.default), asked)
                continue
            judged = lasting.judged(sentence, in_document=document, is_correction=corrects)
            if not judged.is_possible:
                continue
            default = default_of(sentence)
            key = normalised(default)
            # What lasts only by words in quotation marks is about those words.
            bare = _QUOTED.sub('""', sentence)
            is_quoted = (
                bare != sentence and not lasting.judged(bare, in_document=document, is_correction=corrects).is_sure
            )
            # What "it" is, another session cannot know.
            is_whole = not _REFERS.match(default)
            if judged.is_sure and is_whole and not is_quoted and not is_handed_over(turn.text, sentence):
                manner = "corrected" if corrects else _manner(sentence)
                known = sure.setdefault(key, (sentence, default, [], manner))
                known[2].append(turn.number)
            else:
                unsure.setdefault(
                    key,
                    PossiblePreference(
                        quote=one_line(sentence, 300),
                        default=default,
                        turn=turn.number,
                        score=judged.score,
                        reasons=judged.reasons,
                        situation=situation,
                    ),
                )
    bullets = [
        said(_when(situation, quote), manner, quote, default, turns) for quote, default, turns, manner in sure.values()
    ]
    # Nobody has so many at once; what is pasted may.
    return bullets[:_MOST], [each for key, each in unsure.items() if key not in sure][:_MOST]


def _when(situation: str, quote: str) -> str:
    """The situation, without the sentence itself where the task was named after it."""
    before = situation.casefold().partition(one_line(quote).casefold().rstrip(" .!")[:60])[0].rstrip(" ;,.:")
    shown = situation[: len(before)] if len(before) < len(situation) else situation
    return f"working on {shown}" if shown else "working in this project"


def _manner(sentence: str) -> str:
    return "asked" if re.search(r"\bplease\b", sentence, re.IGNORECASE) else "said"


def _last_clause(text: str) -> str:
    """What follows a "but", where only that is meant for later: what stands before it is praise, or about what was done."""
    before, word, after = text.partition(", but ")
    is_for_later = word and lasting.judged(after).is_possible and not lasting.judged(before).is_possible
    return after if is_for_later else text


def default_of(sentence: str) -> str:
    """What a sentence means for the next time: itself, without how it was introduced."""
    text = one_line(sentence)
    wrapped = _WRAPPED.match(text)
    text = wrapped[1] if wrapped else text
    core = _TAIL.sub("", _LEAD.sub("", _last_clause(text), count=1)).strip(" ,;:-") or text
    for pattern, stand_in in _FIRST:
        shorter, count = pattern.subn(stand_in, core, count=1)
        if count:
            core = shorter.strip()
            break
    return core.rstrip(" .!") or text
