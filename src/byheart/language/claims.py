"""What a sentence claims that another could oppose: a subject, and yes or no, or one value out of many."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass
from byheart.text.deferred import deferred
from byheart.text.similarity import stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# A report of a moment makes a claim only where it says what should last; most have none of these and are passed over fast.
_LASTING = deferred(
    r"\b(?:never|always|from now on|going forward|prefers?|preferred|dislikes?|hates?|likes|wants|favou?rs"
    r"|(?:user|operator|we|team) (?:do not|don't|does not|doesn't) (?:like|want|use)|we (?:use|avoid|decided|agreed|chose|settled))\b"
)
_REASON = deferred(
    r"\s*(?:[,;:(—–]|\s-\s)?\s*\b(?:because|since|so that|due to|otherwise|as it|after we|now that|given that|until)\b.*$|\s*[;(—–].*$"
)
_LEAD = deferred(
    r"^(?:(?:from now on|going forward|in future|in the future|please|remember(?: that| to)?|note(?: that)?|also|and|so|but|make sure(?: to| that)?"
    r"|reminder|rule|decision|preference|policy|convention|(?:we )?(?:have )?(?:decided|agreed)(?= (?:that|to|not to)\b)|it was decided"
    r"|(?:the )?(?:user|operator|team) (?:said|says|told (?:us|me)|asked|asks|mentioned|confirmed)"
    r"|(?:i|we) (?:want|would like)(?: you)?)\b[\s,:]*(?:that\b|to\b)?[\s,:]*)+"
)
_QUESTION = deferred(r"\?\s*$")
# What happened once, or only may; it says nothing about what holds.
_EVENT = deferred(
    r"\b(?:did not|didn't|was not|wasn't|were not|weren't|had not|hadn't|could not|couldn't|has not|hasn't|have not"
    r"|haven't|not (?:yet|found|sure|only|just)|whether or not|why not|not all|no longer fails?|no (?:errors?|issues?"
    r"|warnings?|changes?|failures?|problems?|regressions?|other|one|more|matches|results?|output|luck)|maybe|perhaps|might|yesterday|today)\b"
)
_NEGATIONS = deferred(
    r"\b(?:never|not|don't|doesn't|mustn't|shouldn't|can't|cannot|won't|needn't|isn't|aren't|no longer|no need|no|avoids?|avoiding"
    r"|stop|refuses? to|dislikes?|hates?|against|rejects?|forbids?|forbidden|prohibited|banned|disallowed|disabled?|optional"
    r"|unnecessary|unwanted|without|inactive|deactivated|switched off|turned off)\b"
)
# Words of the two sides of one thing; the second is the first with a not.
_OPPOSITES = {
    stem(second): stem(first)
    for first, second in (
        ("dark", "light"), ("tabs", "spaces"), ("concise", "verbose"), ("short", "long"), ("single", "double"),
        ("sync", "async"), ("manual", "automatic"), ("manually", "automatically"), ("public", "private"),
        ("mutable", "immutable"), ("strict", "loose"), ("on", "off"), ("uppercase", "lowercase"), ("ascending", "descending"),
        ("squashed", "unsquashed"), ("before", "after"), ("synchronous", "asynchronous"), ("relative", "absolute"),
        ("formal", "informal"), ("brief", "detailed"), ("safe", "unsafe"), ("required", "unrequired"),
        ("camelcase", "snakecase"), ("camel", "snake"), ("inside", "outside"), ("first", "last"), ("eager", "lazy"),
    )
}  # fmt: skip
_BLAND = frozenset(
    stem(word)
    for word in (
        "a an and are as at be been being by do does done for from had has have he her his i if in into "
        "is it its let me my of on or our she so than that the their them then there these they this those to us "
        "was we were will with would you your can could may might must should shall ought need needs always ever all any each "
        "every use uses used using usage user users operator team everyone everybody people agent agents prefer prefers "
        "preferred preference like likes want wants favor favors favour love loves choose pick rather really very quite just "
        "only also now currently generally usually normally typically strictly definitely absolutely please anymore "
        "allowed allow allows permitted permit fine ok okay enabled enable enables turned switched required require requires "
        "mandatory keep keeps kept here everywhere project repo repository codebase still again about which when while "
        "never not no avoid avoids avoiding stop dislike dislikes hate hates against forbid forbids forbidden prohibited "
        "banned disallowed disable disabled optional unnecessary unwanted longer dont doesnt cannot wont mustnt shouldnt cant "
        "refuse refuses reject rejects run runs running put puts set sets don't doesn't can't won't mustn't shouldn't needn't "
        "isn't aren't without necessary needed active activated inactive deactivated been"
    ).split()
)
_OVER = deferred(
    r"^(?:.*?\b(?:prefers?|uses?|favou?rs?|likes?|chooses?|picks?|wants?|choose|go with|goes with|stick to|keep|chose|picked)\s+)?(.+?)"
    r"(?:\s+(?:over|instead of|rather than|in place of)|,?\s+(?:and\s+)?not|\s+to)\s+(.+)$"
)
# One thing in the other's place, now and from then on.
_REPLACED = deferred(
    r"^(?:(?:we|i|they|the team)\s+)?(?:have\s+|has\s+)?(?:replaced|swapped|dropped)\s+(.+?)\s+(?:with|by|for|in favou?r of)\s+(.+)$"
    r"|^(.*?)\b(?:switched|moved|migrated|changed|went)(?:\s+\w+){0,3}?\s+from\s+(.+?)\s+to\s+(.+)$"
)
_OVER_CUE = deferred(r"\b(?:over|instead of|rather than|in place of)\b|,\s*(?:and\s+)?not\b|\bprefers?\b.*\bto\b")
_NOUNS = (
    r"time\s?zone|name|editor|shell|port|host|hostname|branch|language|locale|region|os|database|db|registry|framework|manager"
    r"|style|url|path|folder|directory|licen[cs]e|tone|theme|encoding|formatter|linter|bundler|runtime|provider|owner|channel"
    r"|domain|endpoint|backend|queue|broker|cdn|cloud|orm|font|colou?r|currency|default|version|limit|timeout|size|length|width"
    r"|height|budget|interval|threshold|ttl|retries|deadline|schedule|day|lead|contact|maintainer|reviewer|approver|api|model"
    r"|architecture|strategy|id|type|key|codename|retention|protocol|logger|compiler|engine|driver|template|mode|level|tier|role|source of truth|standard"
)
# What a moment can say of such a thing without giving it a value.
_STATES = deferred(
    r"^(?:now |still |again |also |currently |already )*(?:empty|full|up|down|missing|there|back|broken|fixed|slow|fast|happy|green|red|ready|done|gone"
    r"|unreachable|reachable|available|locked|seeded|wrong|right|correct|important|optional|required|good|bad|fine|ok(?:ay)?"
    r"|unclear|unknown|different|the same|not\b.*|complaining\b.*|too\b.*|being\b.*|about\b.*|where\b.*|what\b.*|that\b.*|to\b.*|\w+ing(?:\s.*)?|\w+ed(?: by default)?)$"
)


def _attribute(nouns: str) -> re.Pattern[str]:
    whose = r"^(?:(?:my|our|the|their|his|her|its|default)\s+)?"
    where = r"(?: (?:for|of|in|on) [\w .'/-]{2,40}?)?"
    verb = r"(?:\s+(?:is set to|is now|is|are|=|should be|must be|defaults? to|stays|will be)|:)\s+(?!not\b)(.+)$"
    return re.compile(rf"{whose}((?:[\w.'/-]+ ){{0,5}}?(?:{nouns}){where}){verb}")


_ATTRIBUTE = _attribute(_NOUNS)
_PLACED = deferred(
    r"^(?:the |our |all )?(.{2,60}?)\s+(?:(?:is|are)\s+)?(?:lives?|sits?|resides?|lies|moved|migrated|(?:is |are )?stored|listens?|hosted|located|deployed|runs?|kept|saved|served"
    r"|goes|go|ships?|happens?|take place|scheduled|written)\s+(?:out\s+)?(in|on|at|to|under|every|from|through|via)\s+(?:the\s+)?(.+)$"
)
_PURPOSE = deferred(
    r"^(?:.*?\b)?(?:use|uses|prefer|prefers|run|go with|goes with|going with|went with|rely on|relies on|stick to|chose|picked"
    r"|standardi[sz]ed? on|decided on|settled on|opted for)\s+(?:the\s+)?(.{1,40}?)\s+(?:for|as|to)\s+(?:the\s+|our\s+|all\s+|its\s+)?(.+)$"
)
_DONE_WITH = deferred(
    r"^(?:the |our |all )?(.{2,40}?)\s+(?:is|are|should be|must be|gets?)\s+(?:always\s+)?(\w+ed|done|built|written|kept|sent|run|made|drawn)\s+"
    r"(with|by|using|through|as)\s+(?:the\s+|an?\s+)?(.+)$"
)
_CALLED_THAT = deferred(r"^(?:the |our )?(.{2,40}?)\s+(?:is|are)\s+(?:called|named|codenamed|known as)\s+(.+)$")
_USED_AS = deferred(r"^(.{1,40}?)\s+(?:is|are)\s+used\s+(?:as|for)\s+(?:the\s+|our\s+|all\s+)?(.+)$")
_IN_FORMAT = deferred(
    r"^(.{3,50}?)\s+(?:uses?|has|have|is in|are in)\s+(?:the\s+|an?\s+)?(.{2,20}?)\s+(format|style|case|notation|encoding)$"
)
_ON_CALL = deferred(r"^(.{1,30}?)\s+is on call\b(.*)$")
_OWNED = deferred(
    r"^(?:the )?(\w[\w .'-]{0,30}?)\s+(?:owns|maintains|leads|manages|looks after|takes care of|is responsible for|is the (?:owner|maintainer) of|is in charge of)\s+(?:the\s+)?(.+)$"
)
_BELONGS = deferred(
    r"^(?:the )?(.{2,50}?)\s+(?:belongs to|is owned by|is maintained by|is looked after by|is led by)\s+(?:the\s+)?(.{1,30})$"
)
_CALLED = deferred(r"^(?:call|address) (?:me|the user|them|him|her)(?: as)? (.{1,30})$")
_TURNED = re.compile(rf"^(.{{1,40}}?)\s+(?:is|are)\s+(?:our|the|my)\s+((?:[\w-]+ ){{0,4}}(?:{_NOUNS}))$")
_LANGUAGES = (
    r"english|german|french|spanish|italian|portuguese|dutch|polish|russian|chinese|japanese|korean|turkish|hindi|arabic|swedish"
    r"|deutsch|englisch|französisch|spanisch|allemand|anglais|français|espagnol|alemán|inglés|francés|español|inglês|francês|alemão|português|espanhol"
)
_SPOKEN = re.compile(rf"^(.{{3,60}}?)\s+(?:in|auf|en|em)\s+({_LANGUAGES})$")
_DAY_NAMES = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_DAY = re.compile(_DAY_NAMES)
_UNIT = r"seconds?|minutes?|hours?|days?|weeks?|months?|years?|ms|s|kb|mb|gb|percent|characters?|lines?"
_COUNT = r"one|two|three|four|five|six|seven|eight|nine|ten|twelve|twice|once"
# One quantity or time in a sentence, with what goes along with it.
_QUANTITY = re.compile(
    rf"(?<![\w./:-])(?:(?:every|per|each)\s+)?(?:{_DAY_NAMES}|hourly|nightly|daily|weekly|monthly|quarterly|yearly|v?\d+(?:[.:]\d+)*%?|{_COUNT})"
    rf"(?:[\s-](?:{_UNIT})\b)?(?![\w/-])|\bevery (?:{_UNIT})\b"
)
_NAMED_NUMBER = deferred(
    r"(?:#|\b(?:issue|pr|ticket|bug|step|task|part|round|phase|day|week|line|row|chapter|build|number|no|item|record|error|code|test) )\d"
    r"|\b(?:first|last|took|takes about|about|around|roughly|over|under|fixed|added|removed|found|ran|pass|passed|failed|all|total|supports?"
    r"|includes?|accepts?|works? with|tested on|also|allowed|fine|ok|okay|forbidden)\b"
    r"|(?<![\w.])(?:2[1-9]|[3-9]\d|\d{3,}) (?!(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|ms|s|kb|mb|gb|percent|characters?|lines?)\b)[a-z]+s\b"
)
_SCOPES = deferred(r"\s+(?:in|for|on|at|during|under|inside|within|by|per)\s+(?:the\s+)?([a-z][\w .'/-]*)$")
_NUMBER = deferred(r"^\d[\d.]*$")
# A number right behind a noun names one of many: "cluster 1", "module 7". Behind these it says how much, or which value.
_ONE_OF_MANY = re.compile(
    rf"(?<![\w-])(?!(?:{_NOUNS}|to|of|at|by|is|are|be|in|on|for|with|use|uses|used|least|most|max|maximum|min|minimum|every|per|than|after|before|within|exactly|only|about|up|set|keep|retry"
    rf"|allow|take|takes|wait|indent|run|runs|and|or|not|never|always|stay|stays|cost|costs|equals?|times?)\s)[a-z]{{3,}} \d+(?![\w:%-]|\.\d)(?! (?:{_UNIT})\b)"
)
# Words for one thing.
_SAME = {stem(word): stem("answer") for word in "reply replies respond responds response responses answers".split()}
# Prepositions that answer the same question.
_SIDES = {"to": "in", "under": "in", "via": "through", "by": "with", "using": "with"}
# Verbs that only carry a time or an amount.
_CARRIERS = frozenset(
    stem(word)
    for word in "happen happens ship ships out start starts begin begins take takes place target targets pin pinned".split()
)
_GOING = deferred(r"\bgo(?:es|ing)? (?=(?:with|to|for|through|out)\b)")
_TOKEN = deferred(r"[^\W_]+(?:[.'+#/_-][^\W_]+)*[+#]*|\d+%?")
_NUMBERS = {
    "one": "1", "once": "1", "two": "2", "twice": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10", "twelve": "12",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim about `subject` in one respect: of the same subject and respect, another value opposes it."""

    respect: str
    subject: frozenset[str]
    value: str


def claims(text: str, *, lasting: bool) -> Iterator[Claim]:
    """The claims of one sentence. `lasting` is False for reports of a moment, in which only what was meant to last counts."""
    if not lasting and not _LASTING.search(text.casefold()):
        return
    said = " ".join(text.replace("’", "'").split()).strip(" .!\"'`*_").casefold()
    if len(said) > 240 or _QUESTION.search(text.strip()) or _EVENT.search(said):
        return
    said = _REASON.sub("", _LEAD.sub("", said)).strip(" .,!\"'`")
    yield from _compared(said)
    if lasting:
        replaced = list(_replaced(said))
        yield from replaced
        if replaced:
            return
        yield from _valued(said)
    if not _OVER_CUE.search(said):
        yield from _signed(said)


def _signed(said: str) -> Iterator[Claim]:
    """Yes or no to what the sentence is about, put into words that do not depend on how it was said."""
    sign = len(_NEGATIONS.findall(said)) % 2
    about, flips = _subject(said)
    if 1 <= len(about) <= 9:
        yield Claim("holds", about, "no" if (sign + flips) % 2 else "yes")


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
        yield Claim("holds", one, "no" if flips % 2 else "yes")
        if one != two:
            yield Claim("holds", two, "yes" if flips_too % 2 else "no")


def _replaced(said: str) -> Iterator[Claim]:
    """That one thing took another's place: the new one is wanted now, the old one is not."""
    found = _REPLACED.match(said)
    if found is None:
        return
    old, new = (found[1], found[2]) if found[1] is not None else (found[4], found[5])
    context = _words(found[3] or "")
    new, _, purpose = new.partition(" for ")
    first, second = _words(old), _words(new)
    if first and second and first != second:
        both = frozenset({" ".join(sorted(first)), " ".join(sorted(second))})
        yield Claim("over", both, " ".join(sorted(second)))
        shared = context | _words(purpose)
        yield Claim("holds", first | shared, "no")
        yield Claim("holds", second | shared, "yes")
        if shared:
            yield Claim("served by", shared, " ".join(sorted(second)))


def _valued(said: str) -> Iterator[Claim]:
    """One value at a time: attributes, places, times, amounts, owners, and the tool that serves a purpose."""
    named = _ATTRIBUTE.match(said)
    if named is not None:
        if not _NEGATIONS.search(named[2]) and not _STATES.match(named[2]):
            yield from _scoped("is", _words(named[1], keep=True), named[2])
        return
    if _NEGATIONS.search(said):
        return
    served = _PURPOSE.match(said)
    if served is not None:
        if not _OVER_CUE.search(said):
            yield from _one("served by", _words(served[2]), _value(served[1]))
        return
    for pattern, subject, value, respect in (
        (_CALLED_THAT, 1, 2, "name"),
        (_USED_AS, 2, 1, "served by"),
        (_IN_FORMAT, 1, 2, "format"),
        (_ON_CALL, 2, 1, "on call"),
        (_BELONGS, 1, 2, "owner"),
    ):
        found = pattern.match(said)
        if found is not None:
            yield from _one(respect, _words(found[subject]), _value(found[value]))
            return
    handled = _DONE_WITH.match(said)
    if handled is not None:
        yield from _scoped(
            f"done {_SIDES.get(handled[3], handled[3])}", _words(f"{handled[1]} {handled[2]}"), handled[4]
        )
        return
    yield from _noted(said)


def _noted(said: str) -> Iterator[Claim]:
    """What else can have one value: a language, an owner, a name, an amount or a time, a place."""
    spoken, owned, called = _SPOKEN.match(said), _OWNED.match(said), _CALLED.match(said)
    if spoken is not None:
        yield from _one("in", _words(spoken[1]), spoken[2])
        return
    if owned is not None:
        yield from _one("owner", _words(owned[2]), _value(owned[1]))
        return
    if called is not None:
        yield from _one("is", frozenset({"name"}), _value(called[1]))
        return
    turned = _TURNED.match(said)
    if turned is not None:
        # "Node 18 is the oldest version" is about Node: its name is part of the subject, its number the value.
        value = _words(turned[1], keep=True)
        numbers = frozenset(word for word in value if _NUMBER.match(word))
        subject = _words(turned[2]) | (value - numbers if numbers else frozenset())
        yield from _one("is", subject, " ".join(sorted(numbers or value)))
        return
    amounts = _QUANTITY.findall(said)
    if amounts:
        if len(amounts) <= 2 and not _NAMED_NUMBER.search(said) and not _ONE_OF_MANY.search(said):
            rest = _QUANTITY.sub(" ", said)
            subject = _words(rest)
            times = [each for each in amounts if not _DAY.search(each) and any(map(str.isdigit, each))]
            if len(amounts) == 2 and len(times) == 1 and any(_DAY.search(each) for each in amounts):
                # What is at one time on Mondays says nothing of another time on Thursdays; another time that day does, and another day.
                for one, other in (amounts, amounts[::-1]):
                    yield from _one("amount", (subject - _CARRIERS or subject) | {_amount(other)}, _amount(one))
                return
            yield from _one("amount", subject - _CARRIERS or subject, " ".join(_amount(each) for each in amounts))
        return
    placed = _PLACED.match(said)
    if placed is not None:
        yield from _scoped(f"where {_SIDES.get(placed[2], placed[2])}", _words(placed[1]), placed[3])


def _scoped(respect: str, subject: frozenset[str], text: str) -> Iterator[Claim]:
    """A claim whose value may end in where or when it holds: "dark in the editor" is about the editor."""
    scope = _SCOPES.search(text)
    if scope is not None and scope.start() > 0:
        subject |= _words(scope[1])
        text = text[: scope.start()]
    yield from _one(respect, subject, _value(text))


def _amount(text: str) -> str:
    """An amount or a time as it is compared."""
    words = [_NUMBERS.get(word, word).removeprefix("v") for word in re.split(r"[\s-]+", text)]
    kept = [
        word.removesuffix("s") if word[0].isalpha() else word for word in words if word not in ("every", "per", "each")
    ]
    return " ".join(
        kept if len(kept) > 1 or not re.fullmatch(rf"(?:{_UNIT})", kept[0] if kept else "") else ["1", *kept]
    )


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
    for found in _TOKEN.findall(_GOING.sub("", text)):
        word = found.strip("'").removesuffix("'s")
        word = _NUMBERS.get(word, word)
        short = stem(word)
        short = short.removesuffix("ment") if len(short) > 8 else short
        every.append(_SAME.get(short, short))
    telling = frozenset(word for word in every if word not in _BLAND)
    return telling or (frozenset(every) if keep else telling)


def _subject(said: str) -> tuple[frozenset[str], int]:
    words = _words(said)
    sign = bool(re.search(r"\b(?:is|are|set to|stays) off\b", said))
    about, flips = _folded(words - {"off"} if sign or ("off" in words and "ed off" in said) else words)
    return about, flips + sign


def _folded(words: frozenset[str]) -> tuple[frozenset[str], int]:
    """The words with each of a pair of opposites put as the first of the pair, and how many were."""
    flips = sum(word in _OPPOSITES for word in words)
    return frozenset(_OPPOSITES.get(word, word) for word in words), flips


def differ(first: Claim, second: Claim) -> bool:
    """Whether two claims say different things of just one subject. Of a subject and one that is a word more general the one may be the
    exception to the other."""
    return first.respect == second.respect and first.value != second.value and first.subject == second.subject


def neighbours(claim: Claim) -> Iterable[frozenset[str]]:
    """The subjects that a claim may be compared with: its own, and for a yes or no also one word more general."""
    yield claim.subject
    if claim.respect == "holds" and len(claim.subject) > 2:
        for word in claim.subject:
            yield claim.subject - {word}
