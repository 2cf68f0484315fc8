"""What a person's words say about the work: a correction, an approval, a refusal."""

from __future__ import annotations

import re

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
