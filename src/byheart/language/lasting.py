"""Whether a person's sentence will still hold in a later session, or was about the work at hand.

Words such as "always" say little by themselves: nine times in ten they describe a program. What counts is what the sentence
does: it tells somebody how to act from now on, says how things are done here, or names what must hold. Each of these has its
own shape; questions, wishes for the task at hand and descriptions have theirs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass
from byheart.text.deferred import deferred

if TYPE_CHECKING:
    from collections.abc import Sequence

# From here on it is a preference; from there on somebody may be asked whether it is one.
SURE, MAYBE = 1.0, 0.5

_VERB = (
    r"(?:add|allow|answer|ask|assume|avoid|be|break|bring|build|call|change|check|choose|cite|close|comment|commit|compile|"
    r"create|delegate|delete|deploy|disable|do|document|edit|enable|end|ensure|explain|fix|follow|force|format|generate|give|go|guess|handle|"
    r"have|hide|hardcode|ignore|implement|import|include|install|keep|leave|let|limit|link|lint|list|log|look|make|mention|merge|mock|modify|move|name|"
    r"note|omit|open|order|pass|pin|place|plan|prefer|prefix|print|propose|provide|push|put|raise|read|rebase|refactor|refer|reference|reformat|"
    r"release|remove|rename|repeat|replace|report|respect|respond|restart|return|reuse|revert|review|rewrite|rely|run|save|say|search|send|set|show|"
    r"skip|sort|spell|squash|start|stay|stick|stop|store|suggest|summari[sz]e|switch|tag|take|talk|tell|test|throw|touch|treat|try|type|update|use|"
    r"validate|verify|wait|work|wrap|write)"
)
_FILLER = r"(?:(?:please|pls|also|and|but|so|ok(?:ay)?|then|just|btw|by the way|oh|yes|yeah|no|again|hey|well|now|actually|note|important|reminder|remember)[,:;!.\s-]+)*"

# Sentences that ask, wish, propose or describe: about the work at hand.
_QUESTION = deferred(
    rf"^{_FILLER}(?:can|could|would|will|should|shall|do|does|did|is|are|was|were|am|have|has|may|might|what|why|how|which|where|who|whose|when (?:did|do|does|is|are|was|will)|"
    r"any (?:idea|chance|way)|isn'?t|aren'?t|don'?t (?:you|we|they)|doesn'?t|didn'?t|wouldn'?t|shouldn'?t (?:we|it|this)|couldn'?t|wondering|question)\b",
    re.IGNORECASE,
)
_WISH = deferred(
    r"\b(?:i'?d like|i would like|i'?d love|i want to|i wanna|i need to|i'?m (?:trying|going|thinking|planning)|i am (?:trying|going|planning)|let'?s|let us|lets|"
    r"we (?:should|could|can|need|might|may|want|have) (?:to )?|i think we|what if|how about|maybe|perhaps|my assumption|theoretically|i guess|i assume)\b",
    re.IGNORECASE,
)
_PASSING = deferred(
    r"\b(?:for now|right now|this time|just (?:this )?once|today|tomorrow|tonight|yesterday|this (?:week|morning|afternoon|session|pr|branch|commit|task|one|case|change|issue|round|release)|"
    r"temporar(?:y|ily)|for the moment|at the moment|in (?:this|that) case|could change|may change|until then|\byet\b|still (?:reads|says|shows)|as today|(?:just|only) for (?:this|that|the|now)|in this (?:session|conversation|chat)|^\W*until (?:the|this|that|it|we)\b[^,]{0,60}|for (?:the|this) (?:demo|test|experiment|trial|hotfix|release)|while\b[^,.]{0,60}\bthis)\b|\bnow(?=[,.;)]|$| and\b)",
    re.IGNORECASE,
)
_STORY = deferred(
    r"\b(?:never mind|nevermind|you can always|we can always|one can always|(?:it|they|this|that|he|she|there|which|and|but|user|users|file|code|value|test|tests)\s+(?:will |would |is |are |was |were |has |have |does |can )?(?:always|never)\b"
    r"|i never (?:saw|got|had|said|heard|asked)|not always|don'?t always|doesn'?t always|always (?:visible|correct|been|the same)|never (?:been|called|shown|used|executed?)|(?:are|is|was|were) (?:never|always))",
    re.IGNORECASE,
)
_BORROWED = deferred(
    r"^[\"'“‘>].*|\b(?:announce at start|the following (?:is|are) an? example)\b|:\s*\*\*|\bI'm using the\b",
    re.IGNORECASE,
)

# What says by itself that it is for later.
_STANDING = deferred(
    r"\b(?:going forward|from now on|from here on(?: out)?|henceforth|in (?:the )?future (?:sessions?|tasks?|runs?|prs?|commits?|work|changes?)|for future reference|"
    r"next time|every ?time (?:you|we|i)|each time (?:you|we)|any ?time (?:you|we)|as a (?:general )?rule|by default,? (?:use|do|don'?t|please|always|never)|in general,? (?:use|do|don'?t|please|always|never|prefer|i|we))\b",
    re.IGNORECASE,
)
_REMEMBER = deferred(
    rf"^{_FILLER}(?:global(?:ly)?\s*[:,]\s*)?(?:(?:and|also|please|so)\s+)*(?:always )?(?:remember|keep in mind|bear in mind|don'?t forget|make a note|take note|note for (?:the )?(?:future|later)|add (?:this )?to (?:your |the |my |our |global |project )*memory|memori[sz]e|save (?:this )?(?:to|in) (?:your )?memory)\b(?! (?:the|when|how|what|why|if|where) (?:we|i|you|it|they)\b)(?! (?:the |this )?@?\S*[/.]\w)",
    re.IGNORECASE,
)
# An order for every time.
_ORDER = deferred(
    rf"(?:^|[,;:(]\s*|\b(?:and|but|so|then|please|you (?:should|must|need to|have to|are to)|make sure (?:to|you|that you)|be sure to|i want you to|i expect you to)\s+){_FILLER}(?:always|never|do(?:n'?t| not) ever)\s+{_VERB}\b",
    re.IGNORECASE,
)
# What a program has to do is said of the program.
_OF_A_PROGRAM = deferred(
    r"(?<!you )(?<!we )\b(?:must|should|shall|needs? to|has to|have to)\b[^.;:!?\n]*\b(?:and|but|so|then)\s+(?:always|never)\b",
    re.IGNORECASE,
)
# What the file that agents are given is to say, or says already, for an occasion that comes again.
_RULED = deferred(
    r"\b(?:AGENTS|CLAUDE|GEMINI|CONVENTIONS|CONTRIBUTING|copilot-instructions)\.md\b.*\b(?:when(?:ever)?|before|after|every|each|always|never)\b",
    re.IGNORECASE | re.DOTALL,
)
# Asked whether a file says something, somebody wants no rule; asked to write one there, they do.
_WRITES = deferred(r"\b(?:add|put|write|note|include|update|document|mention|save|record|extend)\b", re.IGNORECASE)
_HABIT = deferred(
    rf"\b(?:we|i)\s+(?:always|never|usually|typically|generally|only ever)\s+(?:{_VERB}|want|expect|need)\b",
    re.IGNORECASE,
)
_WHENEVER = deferred(
    rf"^{_FILLER}(?:when(?:ever)?|any ?time|every time|each time|before|after)\s+(?:you(?:'re| are)?|we|committing|pushing|writing|adding|creating|editing|changing|running|reviewing|opening|releasing|fixing|making|working|implementing|finishing|you'?ve|i ask|i say)\b(?! (?:the|this|that|these|those|all|both|it)\b)[^,]{{0,80}},\s*(?:please\s+|always\s+|never\s+|you (?:should|must)\s+|make sure\b|do(?:n'?t| not)\s+)?(?:{_VERB}|make sure|always|never|don'?t|do not)\b|"
    r"\bwhenever\s+(?:you|we|new|an?|the|there)\b[^.]{3,200}\b(?:must|should|needs? to|has to|have to)\b",
    re.IGNORECASE,
)
_UNLESS = deferred(
    rf"\b(?:do(?:n'?t| not)|never|no)\s+(?:\w+\s+)?{_VERB}?\b.{{0,100}}\b(?:unless (?:i|we|you'?re|explicitly|asked|told|it)|without (?:asking|my|me|confirm|checking|approval|permission)|until i (?:say|ask|tell|confirm|approve))",
    re.IGNORECASE,
)
# How things are done here. In relative clauses and conditions, "we use" describes a thing or a plan.
_USAGE = deferred(
    r"(?:^|[(,;.]\s*|\b(?:anyway|since|because|as|but|and|that|btw|actually|remember|note)\s+)(?:here |in this (?:repo|project|codebase|team)[,:]? |for [\w\s/-]{3,40} )?(?:we|our (?:team|project|repo|codebase|ci|stack))\s+(?:currently |explicitly |intentionally |deliberately |now |already |only |also |just )?"
    r"(?:use|uses|don'?t use|do not use|never use|only use|always use|no longer use|stopped using|moved (?:away )?(?:to|from)|switched to|deploy(?:s)? (?:to|with|from|via)|run on|rely on|(?:don'?t|do not) (?:support|ship|commit|mock|allow|want (?!this|that|the|these|those|it\b))|follow|prefer|stick (?:to|with)|target|require)(?<!want)(?!\w)",
    re.IGNORECASE,
)
_CONDITION = deferred(
    r"^\W*(?:if|when|unless|once|where|while|given)\b|\bif (?:the|not|we|there|a|an|it)\b|\bwould\b", re.IGNORECASE
)
_RELATIVE = deferred(
    r"\b(?:that|which|what|where|whatever|how|why|the|these|those|functions?|colou?rs?|ids?|gradient|detection|branches|build|artifacts|way|thing|one|ones|values?|names?|format|logic|code|tests?)\s+we\s+(?:currently |already |also )?(?:use|need|have|follow|run)\b",
    re.IGNORECASE,
)
_CONVENTION = deferred(
    r"\b(?:our|my|the team'?s?|the project'?s?|this (?:repo|project)'?s)\s+(?:convention|policy|standard|style|rule|practice|preference|workflow|setup|branch naming|commit style)s?\b.{0,12}\b(?:is|are|says?|requires?|forbids?|prefers?)\b|"
    r"\bin this (?:repo|repository|project|codebase|monorepo),?\s+(?:we|you|always|never|use|don'?t|do not|all|every|only|please|tests?|commits?|branches)\b|\bthe (?:convention|rule|invariant) (?:here )?(?:is|that)\b",
    re.IGNORECASE,
)
# What must hold, for all things of a kind.
_MUST = deferred(
    r"^(?:[\w\s,]{0,40}?[,;:.]\s*)?(?:invalid|all|every|each|any|no|only|new|public|private|generated|external|internal|both|\w+s|\w+ \w+s|\w+ \w+ \w+s)\b[^.,]{0,90}?\b(?:must|should|shall|may|can|need to|has to|have to)\s+(?:NEVER|ALWAYS|not ever|never ever)\b|"
    r"\b(?:must|shall)\s+(?:NEVER|ALWAYS|never ever)\b",
)
_MUST_ANY = deferred(
    rf"^{_FILLER}(?:any|every|each|all|no)\s+(?:new |other |such )?[\w-]+(?:\s+[\w'-]+){{0,14}}?\s+(?:must|should|has to|have to|needs? to|shall)\s+(?:not |never |always |first |also |only )?\w+",
    re.IGNORECASE,
)
_INVARIANT = deferred(r"\binvariants?\b.{0,60}\b(?:that|is|:)\s", re.IGNORECASE)
_LIKING = deferred(
    r"\bi(?:'?d| would)? (?:(?:really |strongly |generally |usually |always |much )?(?:prefer|rather(?: not)?)|hate|dislike|can'?t stand|like (?:it )?(?:when|to (?:keep|have|see|use|be)|my|short|small|concise|simple))\b",
    re.IGNORECASE,
)
# A liking for a thing by its name, not for what was just offered.
_STATED = deferred(
    rf"^{_FILLER}(?:global(?:ly)?\s*[:,]\s*)?(?:i (?:always |really |strongly |generally |usually |much )?prefer (?:to (?!see|have|keep|not)|using )?|please avoid (?:using )?)"
    r"(?!(?:\w+ing )?(?:the|this|that|these|those|it|them|my|your|our|his|her|their|you|we|if|when|option|such|one|to|not)\b)\w",
    re.IGNORECASE,
)
_DISLIKE = deferred(
    r"\bi (?:don'?t|do not) (?:like (?:it )?when|like (?:\w+ing|having|seeing)|want you to|want your|ever want)\b",
    re.IGNORECASE,
)
_CHOICE = deferred(
    r"\b(?:option|direction|variant|version|approach|alternative|proposal|solution|choice|design|mockup|number|no\.?)\s*(?:#?\d|[A-D]\b)|\b(?:the (?:first|second|third|last|latter|former|other|new|current|old)|this one|that one|your (?:suggestion|proposal|recommendation))\b",
    re.IGNORECASE,
)
_STYLE = deferred(
    rf"(?:^|[,;]\s*){_FILLER}(?:no|don'?t|do not|stop|avoid|never|without|keep|use)\s+(?:\w+\s+){{0,4}}?(?:em[ -]?dash(?:es)?|emojis?|co-authored|attribution|comments?|boilerplate|abbreviations?|bullet points?|preamble|apologi\w+|filler|exclamation|semicolons?|jargon)\b",
    re.IGNORECASE,
)
_EVERYWHERE = deferred(
    r"\b(?:in|for|with|to|on|of) (?:the |our |my |your |all |any |every )?(?:commits?(?: messages?)?|commit messages|pull requests?|prs?(?: descriptions?)?|branch(?:es| names)?|tests|test files|comments|code|answers|replies|responses|docs|documentation|changelogs?|readmes?|messages|names|migrations|public apis?)\b",
    re.IGNORECASE,
)
_BAN = deferred(rf"^{_FILLER}(?:stop|quit|do(?:n'?t| not)|never|avoid)\s+(?:{_VERB}|\w+ing)\b", re.IGNORECASE)
_INSTEAD = deferred(
    rf"^{_FILLER}(?:use|run|call|write|go with|stick (?:to|with)|prefer)\b.{{2,80}}\b(?:instead of|rather than|over|not|never)\b",
    re.IGNORECASE,
)
_LONGEST_WORDS, _FEWEST_WORDS = 70, 3


@dataclass(frozen=True, slots=True)
class Lasting:
    """How surely a sentence is meant for later, and why."""

    score: float
    reasons: tuple[str, ...]

    @property
    def is_sure(self) -> bool:
        return self.score >= SURE

    @property
    def is_possible(self) -> bool:
        return self.score >= MAYBE


def judged(sentence: str, *, in_document: bool = False, is_correction: bool = False) -> Lasting:
    """A sentence that a person wrote. Within a pasted document only what says so by itself is taken for their own wish."""
    text = " ".join(sentence.split())
    words = len(text.split())
    if words < _FEWEST_WORDS or words > _LONGEST_WORDS:
        return Lasting(0.0, ("too short or too long to be one wish",))
    asks = text.endswith("?") or bool(_QUESTION.search(text))
    score, reasons = _for(text)
    if not score:
        return Lasting(0.0, ())
    if is_correction:
        score += 0.2
        reasons.append("corrects what was done")
    for weight, reason in _against(text, asks=asks, in_document=in_document):
        score -= weight
        reasons.append(reason)
    return Lasting(round(max(0.0, score), 2), tuple(reasons))


def _for(text: str) -> tuple[float, list[str]]:
    """The strongest shape that a sentence has, and a little for each other one."""
    shapes: Sequence[tuple[float, str, bool]] = (
        (1.3, "says that it is to be remembered", bool(_REMEMBER.search(text))),
        (1.2, "says that it holds from now on", bool(_STANDING.search(text))),
        (1.1, "an order for every time", bool(_ORDER.search(text)) and not _OF_A_PROGRAM.search(text)),
        (1.3, "a rule for the file that agents are given", bool(_RULED.search(text))),
        (1.1, "must hold for all of a kind", bool(_MUST.search(text) or _INVARIANT.search(text))),
        (1.1, "not without being asked", bool(_UNLESS.search(text))),
        (1.1, "a convention", bool(_CONVENTION.search(text))),
        (1.0, "how things are done here", bool(_USAGE.search(text)) and not _RELATIVE.search(text)),
        (1.0, "what to do whenever something happens", bool(_WHENEVER.search(text))),
        (1.0, "a habit", bool(_HABIT.search(text))),
        (1.0, "a liking for a thing by its name", bool(_STATED.search(text))),
        (0.9, "a liking", bool(_LIKING.search(text))),
        (0.8, "a dislike", bool(_DISLIKE.search(text))),
        (0.8, "a rule for all of a kind", bool(_MUST_ANY.search(text))),
        (0.7, "a matter of style", bool(_STYLE.search(text))),
        (0.55, "one thing rather than another", bool(_INSTEAD.search(text))),
        (0.5, "something to stop", bool(_BAN.search(text))),
    )
    found = [(weight, reason) for weight, reason, fits in shapes if fits]
    if not found:
        return 0.0, []
    found.sort(reverse=True)
    score = found[0][0] + 0.15 * (len(found) - 1)
    reasons = [reason for _, reason in found]
    if _EVERYWHERE.search(text):
        score += 0.25
        reasons.append("about all things of a kind")
    return score, reasons


def _against(text: str, *, asks: bool, in_document: bool) -> list[tuple[float, str]]:
    says_so = bool(_STANDING.search(text) or _REMEMBER.search(text) or _RULED.search(text))
    found: list[tuple[float, str]] = []
    if asks and not (_RULED.search(text) and _WRITES.search(text)):
        found.append((0.5 if says_so and not _RULED.search(text) else 1.0, "asks"))
    if _BORROWED.search(text):
        found.append((1.0, "somebody else's words"))
    if _STORY.search(text) and not (says_so or _ORDER.search(text) or _MUST.search(text)):
        found.append((1.0, "describes"))
    if _PASSING.search(text):
        found.append((0.6, "speaks of the moment"))
    if _WISH.search(text) and not says_so:
        found.append((0.6, "a wish for the task at hand"))
    if (_CONDITION.search(text) and not (says_so or _WHENEVER.search(text) or _ORDER.search(text))) or (
        re.match(r"^\W*if\b", text, re.IGNORECASE) and _ORDER.search(text)
    ):
        found.append((0.6, "a plan for one case"))
    if _CHOICE.search(text) and not says_so:
        found.append((0.6, "chooses between what was offered"))
    if in_document:
        # It may be theirs, or of whoever wrote the document: then somebody is asked.
        found.append((0.4 if says_so else 0.6, "part of a document"))
    return found


# What somebody wants gone. "Forget it" and "forget about this" are about the work at hand.
_FORGET = deferred(
    rf"^{_FILLER}(?:you can |you may |please )?forget\s+(?:(?:about|what (?:i|we) (?:said|told you)(?: about)?|that|the (?:rule|preference|memory|note|thing)(?: that| about)?|my (?:rule|preference)(?: that| about| for)?)\s+)+(?P<what>.{{4,200}}?)[.!]?$|"
    rf"^{_FILLER}(?:remove|delete|drop|erase) (?:this |that |it )?from (?:your |the )?memory:?\s+(?P<other>.{{4,200}}?)[.!]?$",
    re.IGNORECASE,
)
_NOTHING = frozenset("it this that these those everything all the last part thing things message one".split())


def unsaid(sentence: str) -> str:
    """What a sentence asks to forget; empty where it asks for no such thing."""
    found = _FORGET.match(" ".join(sentence.split()))
    what = (found["what"] or found["other"] or "").strip(" .!,") if found else ""
    return what if what and not set(what.casefold().split()) <= _NOTHING else ""


CORRECTION, APPROVAL, REFUSAL, ANSWER = "correction", "approval", "refusal", "answer"
_OPENS = re.compile(
    r"(?:no\b(?! (?:problem|worries|need))|nope\b|wait\b|stop\b|hold on|don'?t\b|do not\b|not (?:like that|quite|what)|that'?s (?:not|wrong|incorrect)|this is (?:not|wrong)|wrong\b|actually\b|please don'?t|revert\b|undo\b|"
    r"you (?:should(?:n'?t| not)|forgot|missed|didn'?t|broke|still)|why (?:did|are|do|don'?t|didn'?t|would) you|i (?:said|told|asked|meant|didn'?t ask|don'?t want|never)|we (?:don'?t|shouldn'?t|never|already)|it (?:still|doesn'?t|isn'?t)|still (?:not|failing|broken|wrong))\b",
    re.IGNORECASE,
)
# What somebody wants from now on: a correction of what was done, unless they praise that first.
_WANTS = re.compile(
    r"(?:from now on|next time|never (?:do|use|run|push|commit|add|touch)|always (?:use|run|do))\b", re.IGNORECASE
)
_INSIDE = re.compile(
    r"\b(?:not what i (?:asked|meant|want)|i already (?:said|told)|as i said|like i said|you should(?:n'?t| not) have|should have (?:been|used))\b|(?:^|[.!\n]\s*)(?:please )?use [^.?!\n]{1,40} instead\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?<=[.!?\n;])\s+|,\s+(?:but|and)\s+|^", re.MULTILINE)
_APPROVES = re.compile(
    r"(?:yes|yep|yeah|yup|ok(?:ay)?|sure|lgtm|perfect|great|nice|awesome|excellent|good|correct|exactly|works|approved?|ship it|go ahead|do it|proceed|sounds good|looks good(?: to me)?|thanks?(?: you)?|well done|that works|👍)(?:\b|(?<=👍))",
    re.IGNORECASE,
)
_REST = re.compile(
    r"(?:[,.! ]+(?:yes|yep|ok(?:ay)?|sure|perfect|great|nice|good|thanks?(?: you)?|please|go ahead|do it|proceed|continue|looks good|lgtm|that works|well done|job|work|now|so much|a lot|it))*[.! ]*$",
    re.IGNORECASE,
)
_PASTED = re.compile(r"```|^\s*(?:at |File \"|>|\||[+-]{3} )|https?://|\b\w+\.\w{1,4}:\d+", re.MULTILINE)
_DENIED = re.compile(
    r"\A\W{0,3}(?:The user (?:doesn'?t want to (?:proceed|take this action)|denied|rejected|declined|chose not)|User (?:rejected|denied|declined)|aborted by user|command rejected|Request rejected|rejected by user|Permission to use .{1,60} (?:has been )?denied|patch rejected by user|exec command rejected by user)",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"(?:the user said|user provided the following reason for the rejection|user feedback|with the following feedback|reason)\s*:\s*(.+)",
    re.IGNORECASE | re.DOTALL,
)
_BOILERPLATE = "The user wants to clarify these questions"
_ANSWERED = re.compile(
    r"\A(?:User has answered your questions?|Your questions have been answered|The user (?:answered|selected|responded)|User (?:has )?approved your plan|User has approved)",
    re.IGNORECASE,
)


def of_words(text: str, *, follows_work: bool) -> str | None:
    """What a person's message is, as a remark on what came before; most messages are none."""
    head = text.strip()[:600]
    if not follows_work or not head or len(text) > 4000:
        return None
    if (opened := _APPROVES.match(head)) and len(head) <= 80 and _REST.match(head, opened.end()):
        return APPROVAL
    plain = head[: found.start()] if (found := _PASTED.search(head)) else head
    if _INSIDE.search(plain):
        return CORRECTION
    praised = bool(_APPROVES.match(head)) and not re.match(r"(?:ok(?:ay)?|sure|yes|yeah|yep)\b", head, re.IGNORECASE)
    for clause in _CLAUSE.split(plain)[:12]:
        is_question = clause.rstrip().endswith("?") and not clause.lower().startswith("why")
        if is_question:
            continue
        if _OPENS.match(clause.strip()) or (_WANTS.match(clause.strip()) and not praised):
            return CORRECTION
    return APPROVAL if praised and any(_WANTS.match(clause.strip()) for clause in _CLAUSE.split(plain)[:12]) else None


def of_result(output: str) -> tuple[str, str] | None:
    """What a tool's result says about the person: the kind, and their words where they gave any."""
    head = output[:2000]
    if _DENIED.match(head):
        said = _SAID.search(head)
        words = said.group(1).strip() if said else ""
        return (REFUSAL, "" if words.startswith(_BOILERPLATE) else words)
    if _ANSWERED.match(head):
        return (APPROVAL if "approved" in head[:60].lower() else ANSWER, head.strip())
    return None
