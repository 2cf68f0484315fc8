"""Which tasks a session was about, and how each ended."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

from byheart.domain.handbook import Outcome
from byheart.domain.sessions import Speaker, Turn
from byheart.domain.values import dataclass
from byheart.handbook.phrases import one_line, shortened
from byheart.language import lasting
from byheart.language.sentences import is_document, sentences
from byheart.text.similarity import STOP_WORDS, words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from byheart.learning.extract.evidence import Evidence, Ran

# What finishes a piece of work and begins none.
_FEW_WORDS = 6
_CHORE = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|yes|great|good|perfect|nice|now|then|and|please|can you|could you|let'?s|go ahead and|all good|lgtm)[,.! ]+)*"
    r"(?:(?:git )?(?:com+it+|commi|fold|fixup|push|merge|rebase|squash|amend|stage|tag|release|ship)\b|(?:create|open|make|update|write|raise|submit|draft) (?:a |the |an )?(?:new )?(?:pr|pull request|commit|draft pr|changelog|release|branch)\b|"
    r"update (?:the )?(?:changelog|readme|docs)|run (?:the )?(?:tests?|linter?|lint|build|ci)\b)",
    re.IGNORECASE,
)
_ONWARD = re.compile(
    r"^\W*(?:yes|yep|yeah|ok(?:ay)?|sure|go|continue|proceed|do it|no\b|nope|thanks?|lgtm|great|perfect|nice|good|stop|wait|resume|retry|again|\d+[.)]?$)",
    re.IGNORECASE,
)
# What asks for the next step of the same thing.
_CARRIES = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|yes|great|now|then|and|please|can you|could you|let'?s|so)[,.! ]+)*"
    r"(?:(?:create|make|write|draft) (?:a|the|up a) (?:detailed )?plan\b|(?:implement|do|fix|review|try|apply|revert|finish|rerun|execute|delegate|test) (?:it|this|that|them|these|both|all|everything|the (?:plan|fix|change|first|second))\b|"
    r"delegate\b|use (?:a |the )?sub-?agents?\b|go (?:ahead|on|with)\b|start (?:with|implementing)\b|make sure\b|(?:what|how) about\b|why (?:did|do|is|are|not)\b|check (?:it|that|if|again)\b)",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\b(?:it|that|this|these|those|them|still|again|instead|also|same|above|previous|earlier|the (?:fix|change|test|error|issue|bug|plan|comment|commit|pr))\b",
    re.IGNORECASE,
)
_ANEW = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|alright|great|now)[,. ]+)*(?:new (?:task|topic|feature|issue)|next (?:up|task|thing|issue|:)|another (?:thing|issue|task|bug|topic)|separate(?:ly)?|different (?:topic|thing)|unrelated|moving on)\b",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"^\W*(?:(?:please )?implement (?:the following|this) plan|here'?s the plan|plan)\s*:?\s*", re.IGNORECASE
)
_LEAD = re.compile(
    r"^\W*(?:(?:hi|hey|hello|ok(?:ay)?|alright|so|now|well|yes|yeah|no|great|thanks?|please|pls|and|but|also|then|can you|could you|would you|can we|could we|should we|will you|i'?d like (?:you )?to|i would like (?:you )?to|i want (?:you )?to|i need (?:you )?to|i need|we need to|let'?s|help me(?: to)?|please)\b[,.:! ]*)+",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"https?://(?:www\.)?(?:github\.com|gitlab\.com)/([\w.-]+)/([\w.-]+)/(?:-/)?(?:issues?|pull|pulls|merge_requests|actions/runs|commit|blob|tree|discussions)/([\w.-]+)\S*"
)
_URL = re.compile(r"https?://([\w.-]+)(/[^\s)>\]]*)?")
_TERMINAL = re.compile(r"[/~'\"<>^$|]|hint:|npm |node:|\w+@|\[|at async|\d+[.:]")
_ASKS = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|why|what|how|where|when|should|would|will|has|have)\b", re.IGNORECASE
)
_FOLLOWS, _GAP, _ALIKE = 6, 4 * 3600, 0.25
_LAST = 3
NAME = 96


@dataclass(slots=True)
class Stretch:
    """The turns of one task: what opened it, and everything up to the next one."""

    opening: list[Turn]
    turns: list[Turn]


def stretches(turns: Sequence[Turn]) -> list[Stretch]:
    """A session's turns, task by task."""
    found: list[Stretch] = []
    # Words of the last few requests with their work, and of the last answer: a long task has been about nearly everything.
    recent: deque[set[str]] = deque(maxlen=_LAST)
    answer: set[str] = set()
    last_at: datetime | None = None
    for turn in turns:
        if turn.speaker is Speaker.ASSISTANT and turn.tool is None and turn.text:
            answer = _words(turn.text[-600:])
        if _opens(turn):
            if not found or _is_new(turn, found[-1], answer.union(*recent), last_at):
                found.append(Stretch([turn], []))
                recent.clear()
            elif not _has_work(found[-1]):
                # Said again, or more of it, before anything was done.
                found[-1].opening.append(turn)
            recent.append(_words(turn.text[:1500]))
        elif turn.tool is not None and recent:
            recent[-1].update(word for touch in turn.touches[:8] for word in words(touch.path.rsplit("/", 1)[-1]))
        if found:
            found[-1].turns.append(turn)
        last_at = turn.at or last_at
    return found


def _words(text: str) -> set[str]:
    return {word for word in words(text) if word not in STOP_WORDS}


def _opens(turn: Turn) -> bool:
    return turn.is_evidence and turn.side is None and (turn.is_own_words or turn.synthetic == "plan")


def _has_work(stretch: Stretch) -> bool:
    return any(turn.tool is not None or turn.speaker is Speaker.ASSISTANT for turn in stretch.turns)


def _is_new(turn: Turn, current: Stretch, known: set[str], last_at: datetime | None) -> bool:
    """Whether a request begins another task rather than carrying the current one on."""
    text = turn.text.strip()
    if not _has_work(current):
        return False
    if turn.synthetic == "plan" or _ANEW.match(text):
        return True
    if _CHORE.match(text) and len(text) < 200:
        return False
    if _CARRIES.match(text) and len(text) < 300:
        return False
    told = [word for word in dict.fromkeys(words(text[:1500])) if word not in STOP_WORDS]
    if len(told) < _FOLLOWS or (_ONWARD.match(text) and len(text) < 120):
        return False
    if lasting.of_words(text, follows_work=True) == lasting.CORRECTION:
        return False
    shared = sum(word in known for word in told) / len(told)
    waited = turn.at is not None and last_at is not None and (turn.at - last_at).total_seconds() > _GAP
    backward = len(_BACK.findall(text[:300]))
    needed = _ALIKE + (0.14 if waited else 0.0) - 0.05 * min(backward, 2)
    return shared < max(needed, 0.05)


def is_chore(text: str) -> bool:
    """Whether a request only finishes what was done: commit it, push it, note it down."""
    return len(text) < 160 and bool(_CHORE.match(text.strip()))


def is_onward(text: str) -> bool:
    """Whether a few words only carry on or end what was being done."""
    plain = text.strip()
    is_short = len(plain.split()) <= _FEW_WORDS and not lasting.judged(plain).is_possible
    return is_short and bool(is_chore(plain) or _ONWARD.match(plain) or _CARRIES.match(plain))


def name_of(opening: Sequence[Turn], title: str | None) -> str:
    """A task's name in the words of whoever asked for it."""
    best = max(opening, key=lambda turn: (turn.synthetic == "plan", min(len(turn.text), 200)))
    text = best.text.replace("[image]", " ").strip()
    planned = _PLAN.sub("", text, count=1)
    heading = re.search(r"^#+\s+(.+)$", planned, re.MULTILINE)
    if heading and (best.synthetic == "plan" or planned != text or is_document(text)):
        name = re.sub(r"^(?:implementation )?plan\s*(?:[:\u2013\u2014-]|for)\s*", "", heading[1], flags=re.IGNORECASE)
        return shortened(one_line(name), NAME)
    name = ""
    every = list(sentences(text))
    # What is wanted from now on is no name for what was wanted then.
    passing = [sentence for sentence in every if not lasting.judged(sentence).is_possible]
    for sentence in passing or every:
        plain = _tidy(sentence)
        name = f"{name}; {plain}" if name else plain
        if len(name.split()) >= 5 or len(name) > NAME:
            break
    if len(name.split()) < 3 and title:
        name = title
    return shortened(one_line(name or text.split("\n", 1)[0]), NAME) or "untitled"


def is_vague(name: str) -> bool:
    """Whether a name says nothing to somebody who was not there: a short question, a path, a line of a terminal."""
    words_in = name.split()
    if _TERMINAL.match(name) or not telling_words(name):
        return True
    return len(words_in) < 8 and bool(_ASKS.match(name))


def _tidy(sentence: str) -> str:
    plain = _LINK.sub(
        lambda link: f"{link[2]}#{link[3]}" if link[3].isdigit() else f"{link[2]} {link[3][:10]}", sentence
    )
    plain = _URL.sub(lambda link: (link[1] + (link[2] or ""))[:60].rstrip("/"), plain)
    shorter = _LEAD.sub("", plain, count=1).strip(" ,.:;!-?")
    return shorter if len(shorter.split()) >= 2 else plain.strip(" ,.:;!-?")


_PLAIN = frozenset(
    """able about after again also analyse analyze analysis another anything around back based because been before being best both build case change
    changes check come could create current currently does doing done down each else even every everything feature find first fix following from full
    getting give going good have here implement improve instead investigate issue issues just keep know last like look looks make making many maybe
    more most much need needs next only other over part place please point possible problem provide really report request review right same see seem
    seems should show since solve some something still such support sure take task than that their them then there these thing things think this those
    through time too try under update using very want what when where which while with without work working would write your yours""".split()
)


def telling_words(name: str) -> list[str]:
    """The words of a task's name that somebody would look for."""
    plain = (word.strip(".,:;()[]'\"…`?!") for word in name.split())
    return [
        word
        for word in plain
        if word.casefold() not in _PLAIN and word.casefold() not in STOP_WORDS and word[:1].isalnum()
    ]


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
        kind = lasting.of_words(text, follows_work=True)
        if kind == lasting.APPROVAL and not worked:
            return Outcome.SUCCESS, f"approved by the user (#{turn.number})"
        if kind == lasting.CORRECTION:
            return None if worked else (Outcome.PARTIAL, f"corrected by the user at the end (#{turn.number})")
    return None


def _commits(each: Ran) -> bool:
    return each.kind == "commit"
