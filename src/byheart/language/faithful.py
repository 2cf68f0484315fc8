"""Whether a sentence says no more than what somebody said: the same words, wanted where they were wanted and unwanted where they were not."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass
from byheart.text.similarity import content_words, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

_DENIES = re.compile(
    r"\b(?:not|never|no|don['’]?t|doesn['’]?t|didn['’]?t|isn['’]?t|aren['’]?t|avoid(?:s|ing)?|without|stop(?:s|ped)?|instead of|rather than|nothing|none|nor|cannot|can['’]?t"
    r"|won['’]?t|shouldn['’]?t|mustn['’]?t|needn['’]?t|unless|except|skip(?:s|ped|ping)?|nicht|nie|niemals|kein\w*|ohne|statt|ne|n['’]\w+|pas|jamais|sans|nunca|jamás|sin|não"
    r"|nem|sem|не|нет|ни|никогда|без)\b|不|别|勿|没|無|ない|ません|ず|禁止",
    re.IGNORECASE,
)
# Denials that stand behind what they deny.
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_SENTENCE = re.compile(r"(?<=[.!?;。！？；])\s*|\n+")
# What a denial reaches no further than.
_CLAUSE = re.compile(r"\s*(?:[,:()，、：—–]|\s-\s|->|→)\s*|\b(?:but|then|because|since|so that|otherwise|sondern|aber|mais|pero|mas|а|но)\b", re.IGNORECASE)  # fmt: skip
# What has to be somebody's to the letter: names in code, paths, addresses, options, numbers.
_SHARP = re.compile(
    r"`[^`]+`|\S*[\d/\\_.:@$|<>=~#%&*{}\[\]()]\S*\w|(?<![\w-])--?\w[\w-]*|\b[a-z]+[A-Z]\w*|\b[A-Z]{2,}\b"
)
# Words that only say that something is wanted, by whom, and that it lasts.
_PLAIN = frozenset(
    stem(word)
    for word in "use uses using used prefer prefers preferred want wants wanted like likes user users always generally default rule here "
    "this project repo repository session sessions agent agents instead rather sure ensure whenever every each".split()
)


@dataclass(frozen=True, slots=True)
class _Word:
    stem: str
    is_wanted: bool
    sentence: int


@dataclass(frozen=True, slots=True)
class Said:
    """What a text says, word by word."""

    words: dict[str, list[_Word]]


def denies(text: str) -> bool:
    """Whether a sentence says no to something."""
    return bool(_DENIES.search(text))


def names_in(text: str) -> list[str]:
    """What of a text has to be somebody's to the letter: names in code, paths, addresses, options, numbers."""
    return [each.strip("`") for each in _SHARP.findall(text)]


def says_no_more(wording: str, said: str, answering: str = "") -> bool:
    """Whether every telling word of a wording was said, with the same yes or no, and words that stand together in it were said together;
    names stand there to the letter. What is answered lends its words, and the answer says yes or no to them."""
    folded = f"{said}\n{answering}".casefold()
    if any(each.casefold() not in folded for each in names_in(wording)):
        return False
    known, lent, says_no = _known(_words(said)), _known(_words(answering)), denies(said)
    telling = [each for each in _words(wording) if each.stem not in _PLAIN]

    def is_backed(word: _Word) -> bool:
        if word.stem in known:
            return _stands(word, known)
        # A no to what was proposed makes nothing of it a wish.
        return word.stem in lent and (not word.is_wanted if says_no else _stands(word, lent))

    return (
        any(each.stem in known for each in telling)
        and all(map(is_backed, telling))
        and all(_said_together(one, other, known) for one, other in pairwise(telling))
    )


def source(text: str) -> Said:
    """A text, made ready to be compared with many lines."""
    return Said(_known(_words(text)))


def share_said(line: str, of: Said) -> float:
    """Which share of a line's telling words a text has, counting only those with the same yes or no there; 0 for a line without any."""
    telling = [each for each in _words(line) if each.stem not in _PLAIN]
    return sum(_stands(each, of.words) for each in telling) / len(telling) if telling else 0.0


def _stands(word: _Word, known: dict[str, list[_Word]]) -> bool:
    return any(each.is_wanted == word.is_wanted for each in known.get(word.stem, ()))


def _said_together(one: _Word, other: _Word, known: dict[str, list[_Word]]) -> bool:
    """Whether two neighbours in one sentence of a wording come from one sentence; what was answered goes with any."""
    if one.sentence != other.sentence or one.stem not in known or other.stem not in known:
        return True
    there = {each.sentence for each in known[one.stem]}
    return any(each.sentence in there for each in known[other.stem])


def _known(every: Sequence[_Word]) -> dict[str, list[_Word]]:
    found: dict[str, list[_Word]] = {}
    for each in every:
        found.setdefault(each.stem, []).append(each)
    return found


def _words(text: str) -> list[_Word]:
    """The telling words, each with whether it is wanted: a denial reaches to the end of its clause, and over all of it where a script puts
    it behind."""
    found = []
    for number, sentence in enumerate(_SENTENCE.split(text)):
        for clause in _CLAUSE.split(sentence):
            denial = _DENIES.search(clause)
            start = len(clause) if denial is None else 0 if _CJK.search(clause) else denial.start()
            found += [_Word(each, True, number) for each in _telling(clause[:start])]
            found += [_Word(each, False, number) for each in _telling(_DENIES.sub(" ", clause[start:]))]
    return found


def _telling(text: str) -> list[str]:
    return content_words(text) if text.strip() else []
