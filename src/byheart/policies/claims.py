"""What a sentence claims that another could oppose: a subject, and yes or no, or one value out of many."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from byheart.text.likeness import stem
from byheart.text.patterns import deferred

# Nothing below can make a claim without one of these words; most texts have none and are passed over fast.
_CUES = deferred(
    r"\b(?:never|always|not|no|avoid\w*|stop|don't|doesn't|mustn't|shouldn't|can't|cannot|won't|must|should|use[sd]?|using"
    r"|prefer\w*|likes?|dislikes?|hates?|wants?|favou?rs?|allow\w*|permit\w*|forbid\w*|forbidden|prohibited|banned|enabled?"
    r"|disabled?|requires?|required|mandatory|optional|instead|rather|over|is|are|lives?|stored|listens?|runs?|hosted"
    r"|defaults?|keep|goes|go|ships?|happens?|turned|switched)\b|="
)
_REASON = deferred(
    r"\s*(?:[,;:(—–]|\s-\s)?\s*\b(?:because|since|so that|due to|otherwise|as it|after we|now that|given that|until)\b.*$|\s*[;(—–].*$"
)
_LEAD = deferred(
    r"^(?:(?:from now on|going forward|in future|in the future|please|remember(?: that| to)?|note(?: that)?|also|and|so|but"
    r"|reminder|rule|decision|preference|policy|convention|(?:we )?(?:have )?(?:decided|agreed)(?= (?:that|to)\b)|it was decided"
    r"|(?:the )?(?:user|operator|team) (?:said|says|told (?:us|me)|asked|asks|wants|mentioned|confirmed)"
    r"|(?:i|we) (?:want|would like)(?: you)?)\b[\s,:]*(?:that\b|to\b)?[\s,:]*)+"
)
_QUESTION = deferred(
    r"\?\s*$|^(?:should|shall|can|could|do|does|is|are|would|what|why|how|when|where|who|which)\s+\w+.*\?"
)
# What happened once; it says nothing about what holds.
_EVENT = deferred(
    r"\b(?:did not|didn't|was not|wasn't|were not|weren't|had not|hadn't|could not|couldn't|has not|hasn't|have not"
    r"|haven't|not (?:yet|found|sure|only|just)|whether or not|why not|not all|no longer fails?|no (?:errors?|issues?"
    r"|warnings?|changes?|failures?|problems?|regressions?|other|one|more|matches|results?|output|luck|need))\b"
)
_NEGATIONS = deferred(
    r"\b(?:never|not|don't|doesn't|mustn't|shouldn't|can't|cannot|won't|no longer|no|avoids?|avoiding|stop|refuses? to"
    r"|dislikes?|hates?|against|rejects?|forbids?|forbidden|prohibited|banned|disallowed|disabled?|optional|unnecessary|unwanted)\b"
)
# Words of the two sides of one thing; the second is the first with a not.
_OPPOSITES = {
    second: first
    for first, second in (
        ("dark", "light"), ("tab", "space"), ("concis", "verbos"), ("short", "long"), ("singl", "doubl"), ("sync", "async"),
        ("manual", "automatic"), ("public", "privat"), ("mutabl", "immutabl"), ("strict", "loos"), ("on", "off"),
        ("uppercas", "lowercas"), ("ascend", "descend"), ("local", "remot"), ("squash", "unsquash"),
        ("ascending", "descending"), ("squashed", "unsquashed"), ("before", "after"), ("synchronou", "asynchronou"),
        ("relativ", "absolut"), ("formal", "informal"), ("brief", "detail"), ("activ", "inactiv"), ("saf", "unsaf"),
    )
}  # fmt: skip
_BLAND = frozenset(
    stem(word)
    for word in (
        "a an and are as at be been being by do does done for from get gets go goes going had has have he her his i if in into "
        "is it its let make makes me my of on or our she so than that the their them then there these they this those to us "
        "was we were will with would you your can could may might must should shall ought need needs always ever all any each "
        "every use uses used using usage user users operator team everyone everybody people agent agents prefer prefers "
        "preferred preference like likes want wants favor favors favour love loves choose pick rather really very quite just "
        "only also now currently today generally usually normally typically strictly definitely absolutely please anymore "
        "allowed allow allows permitted permit fine ok okay enabled enable enables turned switched required require requires "
        "mandatory keep keeps kept here everywhere project repo repository codebase still again about which when while "
        "never not no avoid avoids avoiding stop dislike dislikes hate hates against forbid forbids forbidden prohibited "
        "banned disallowed disable disabled optional unnecessary unwanted longer dont doesnt cannot wont mustnt shouldnt cant "
        "refuse refuses reject rejects run runs running put puts set sets don't doesn't can't won't mustn't shouldn't"
    ).split()
)
_NORM = deferred(
    r"\b(?:never|always|must|mustn't|should|shouldn't|do not|don't|doesn't|does not|avoids?|stop|prefers?|preferred|likes?"
    r"|dislikes?|hates?|favou?rs?|loves?|use|uses|allowed|permitted|forbidden|prohibited|banned|disallowed|enabled|disabled"
    r"|required|mandatory|optional|cannot|can't|may not|no longer|required|rejects?|fine|ok|okay|turned (?:on|off)"
    r"|switched (?:on|off)|is (?:on|off)|are (?:on|off))\b|^no\b"
)
_OVER = deferred(
    r"^(?:.*?\b(?:prefers?|uses?|favou?rs?|likes?|chooses?|picks?|wants?|choose|go with|goes with|stick to|keep)\s+)?(.+?)"
    r"(?:\s+(?:over|instead of|rather than|in place of)|,?\s+(?:and\s+)?not|\s+to)\s+(.+)$"
)
_OVER_CUE = deferred(r"\b(?:over|instead of|rather than|in place of)\b|,\s*(?:and\s+)?not\b|\bprefers?\b.*\bto\b")
_NOUNS = (
    r"time\s?zone|name|editor|shell|port|host|hostname|branch|language|locale|region|os|database|db|registry|framework|manager"
    r"|style|url|path|folder|directory|licen[cs]e|tone|theme|encoding|formatter|linter|bundler|runtime|provider|owner|channel"
    r"|domain|endpoint|backend|queue|broker|cdn|cloud|orm|font|colou?r|currency|default"
)
# What may change from one run to the next: a claim only where it was noted to last.
_MOMENTARY = (
    "version|limit|timeout|size|length|width|height|budget|interval|threshold|ttl|retries|deadline|schedule|day"
)


def _attribute(nouns: str) -> re.Pattern[str]:
    whose = r"^(?:(?:my|our|the|their|his|her|its|default)\s+)?"
    where = r"(?: (?:for|of|in|on) [\w .'/-]{2,40}?)?"
    verb = r"\s+(?:is set to|is now|is|are|=|should be|must be|defaults? to|stays|will be)\s+(?!not\b)(.+)$"
    return re.compile(rf"{whose}((?:[\w.'/-]+ ){{0,5}}?(?:{nouns}){where}){verb}")


_ATTRIBUTE, _PASSING = _attribute(_NOUNS), _attribute(_MOMENTARY)
_PLACED = deferred(
    r"^(?:the |our |all )?(.{2,60}?)\s+(?:(?:is|are)\s+)?(lives?|(?:is |are )?stored|listens?|hosted|located|deployed|runs?|kept|saved|served"
    r"|goes|go|ships?|happens?|take place|scheduled)\s+(?:out\s+)?(?:in|on|at|to|under|every|with|from)\s+(?:the\s+)?(.+)$"
)
_PURPOSE = deferred(
    r"^(?:.*?\b)?(?:use|uses|prefer|prefers|run|go with|goes with|going with|went with|rely on|relies on|stick to|chose|picked"
    r"|standardi[sz]ed? on|decided on|settled on|opted for)\s+(?:the\s+)?(.{1,40}?)"
    r"\s+(?:for|as)\s+(?:the\s+|our\s+|all\s+|its\s+)?(.+)$"
)
_DONE_WITH = deferred(
    r"^(?:the |our |all )?(.{2,40}?)\s+(?:is|are|should be|must be|gets?)\s+(?:always\s+)?(?:done|handled|managed|built|written|formatted|"
    r"linted|tested|installed|packaged|bundled)\s+(?:with|by|using|in|through)\s+(?:the\s+)?(.+)$"
)
_OWNED = deferred(
    r"^(?:the )?(\w[\w .'-]{0,30}?)\s+(?:owns|maintains|leads|manages|is responsible for|is the owner of|is in charge of)\s+(?:the\s+)?(.+)$"
)
_VERSIONED = deferred(
    r"^(.*?)\b(?:uses?|runs on|requires?|targets?|is on|are on|pins?)\s+([a-z][\w.+#-]*)\s+v?(\d+(?:\.\d+)*)\b(?!\s*(?:times|minutes|seconds|hours|days))"
)
_OFTEN = deferred(
    r"^(.{2,60}?)\s+(?:(?:is|are)\s+)?(?:\w+\s+){0,2}(hourly|nightly|daily|weekly|monthly|quarterly|yearly)\b"
)
_AT = deferred(r"^(.{2,60}?)\s+(?:is|are|starts?|begins?|happens?)\s+at\s+(\d{1,2}(?:[:.]\d\d)?\s*(?:am|pm|utc)?)\b")
_TURNED = re.compile(rf"^(.{{1,40}}?)\s+(?:is|are)\s+(?:our|the|my)\s+((?:[\w-]+ ){{0,4}}(?:{_NOUNS}|{_MOMENTARY}))$")
_NUMBER = deferred(r"^\d[\d.]*$")
_TOKEN = deferred(r"[^\W_]+(?:[.'+#/_-][^\W_]+)*[+#]*|\d+%?")
_NUMBERS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "eight": "8", "ten": "10"}


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim about `subject` in one respect: of the same subject and respect, another value opposes it."""

    respect: str
    subject: frozenset[str]
    value: str


def claims(text: str, *, lasting: bool) -> Iterator[Claim]:
    """The claims of one sentence. `lasting` is False for reports of a moment, in which only what was meant to last counts."""
    if not lasting and not _CUES.search(text.casefold()):
        return
    said = " ".join(text.replace("’", "'").split()).strip(" .!\"'`*_").casefold()
    if len(said) > 240 or _QUESTION.search(text.strip().casefold()) or _EVENT.search(said):
        return
    said = _REASON.sub("", _LEAD.sub("", said)).strip(" .,!\"'`")
    yield from _compared(said)
    yield from _valued(said, lasting=lasting)
    if _OVER_CUE.search(said):
        return
    if lasting or _NORM.search(said):
        signed = _signed(said)
        if signed is not None:
            yield signed


def _signed(said: str) -> Claim | None:
    """Yes or no to what the sentence is about, put into words that do not depend on how it was said."""
    sign = len(_NEGATIONS.findall(said)) % 2
    about, flips = _subject(said)
    if not 1 <= len(about) <= 9:
        return None
    return Claim("holds", about, "no" if (sign + flips) % 2 else "yes")


def _compared(said: str) -> Iterator[Claim]:
    """One thing over another; and with it, that the one is wanted and the other is not."""
    if not _OVER_CUE.search(said):
        return
    found = _OVER.match(said)
    if found is None or _NEGATIONS.search(found[1]):
        return
    # What stands behind a purpose ("for indentation") belongs to both.
    other, _, purpose = found[2].partition(" for ")
    first, second = _words(found[1]), _words(other)
    if first and second and first != second:
        both = frozenset({" ".join(sorted(first)), " ".join(sorted(second))})
        yield Claim("over", both, " ".join(sorted(first)))
        shared = _words(purpose)
        one, flips = _folded(first | shared)
        two, flips_too = _folded(second | shared)
        if one != two:
            yield Claim("holds", one, "no" if flips % 2 else "yes")
            yield Claim("holds", two, "yes" if flips_too % 2 else "no")


def _valued(said: str, *, lasting: bool) -> Iterator[Claim]:
    """One value at a time: attributes, places, times, owners, versions, and the tool that serves a purpose."""
    named = _ATTRIBUTE.match(said) or (_PASSING.match(said) if lasting else None)
    if named is not None:
        if not _NEGATIONS.search(named[2]):
            yield from _one("is", _words(named[1], keep=True), _value(named[2]))
        return
    if _NEGATIONS.search(said):
        return
    served = _PURPOSE.match(said)
    if served is not None:
        if not _OVER_CUE.search(said):
            yield from _one("served by", _words(served[2]), _value(served[1]))
        return
    handled = _DONE_WITH.match(said)
    if handled is not None:
        yield from _one("served by", _words(handled[1]), _value(handled[2]))
    elif lasting:
        yield from _noted(said)


def _noted(said: str) -> Iterator[Claim]:
    """Values that only a note meant to last can fix: in a report they were true for a moment."""
    for respect, pattern in (("how often", _OFTEN), ("when", _AT)):
        found = pattern.match(said)
        if found is not None:
            yield from _one(respect, _words(found[1]), _value(found[2]))
            return
    versioned = _VERSIONED.match(said)
    if versioned is not None:
        yield from _one("version", _words(versioned[1]) | _words(versioned[2]), versioned[3])
    owned = _OWNED.match(said)
    if owned is not None:
        yield from _one("owner", _words(owned[2]), _value(owned[1]))
    turned = _TURNED.match(said)
    if turned is not None:
        # "Node 18 is the oldest version" is about Node: its name is part of the subject, its number the value.
        value = _words(turned[1], keep=True)
        numbers = frozenset(word for word in value if _NUMBER.match(word))
        subject = _words(turned[2]) | (value - numbers if numbers else frozenset())
        yield from _one("is", subject, " ".join(sorted(numbers or value)))
    placed = _PLACED.match(said)
    if placed is not None:
        value_ = _value(placed[3])
        respect = "when" if re.search(r"\b\w+day\b|\bnoon\b|\bmidnight\b", value_) else "where"
        yield from _one(respect, _words(placed[1]), value_)


def _one(respect: str, subject: frozenset[str], value: str) -> Iterator[Claim]:
    if subject and value:
        yield Claim(respect, subject, value)


def _value(text: str) -> str:
    """A value as it is compared: without articles, politeness and what follows a comma."""
    head = re.split(r",|\bfor\b|\band\b|\bnow\b", text)[0]
    return " ".join(sorted(_words(head, keep=True)))


def _words(text: str, *, keep: bool = False) -> frozenset[str]:
    """The telling words of a text, stemmed; with `keep`, those that say how also count where nothing else is left."""
    every = []
    for found in _TOKEN.findall(text):
        word = found.strip("'").removesuffix("'s")
        word = _NUMBERS.get(word, word)
        short = stem(word)
        every.append(short.removesuffix("ment") if len(short) > 8 else short)
    telling = frozenset(word for word in every if word not in _BLAND)
    return telling or (frozenset(every) if keep else telling)


def _subject(said: str) -> tuple[frozenset[str], int]:
    words = _words(said)
    sign = bool(re.search(r"\b(?:turned|switched|is|are|set to) off\b", said))
    about, flips = _folded(words - {"off"} if sign else words)
    return about, flips + sign


def _folded(words: frozenset[str]) -> tuple[frozenset[str], int]:
    """The words with each of a pair of opposites put as the first of the pair, and how many were."""
    flips = sum(word in _OPPOSITES for word in words)
    return frozenset(_OPPOSITES.get(word, word) for word in words), flips


def neighbours(claim: Claim) -> Iterable[frozenset[str]]:
    """The subjects that a claim may be compared with: its own, and for a yes or no also one word more general."""
    yield claim.subject
    if claim.respect == "holds" and len(claim.subject) > 2:
        for word in claim.subject:
            yield claim.subject - {word}
