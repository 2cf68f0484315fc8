"""What a person's words say about the work: a correction, an approval, a refusal."""

from __future__ import annotations

import re

CORRECTION, APPROVAL, REFUSAL, ANSWER = "correction", "approval", "refusal", "answer"
_CORRECTS = re.compile(
    r"^(?:no\b|nope\b|wait\b|stop\b|hold on|don'?t\b|do not\b|not (?:like that|quite|what)|that'?s (?:not|wrong|incorrect)|this is (?:not|wrong)|wrong\b|actually\b|instead\b|please don'?t|revert\b|undo\b|you (?:should(?:n'?t| not)|forgot|missed|didn'?t|broke|still)|why (?:did|are|do|don'?t|didn'?t|would) you|i (?:said|told|asked|meant|didn'?t ask|don'?t want|never)|we (?:don'?t|shouldn'?t|never|already)|it (?:still|doesn'?t|isn'?t)|still (?:not|failing|broken|wrong))"
    r"|\b(?:not what i (?:asked|meant|want)|i already (?:said|told)|as i said|like i said|you should(?:n'?t| not) have|should have (?:been|used)|use .{1,40} instead|instead of|never (?:do|use|run|push|commit|add)|always (?:use|run|do)|from now on|next time|don'?t (?:do|use|add|run|touch|change|create|commit|push))\b",
    re.IGNORECASE,
)
_APPROVES = re.compile(
    r"^(?:yes|yep|yeah|yup|ok(?:ay)?|sure|lgtm|perfect|great|nice|awesome|excellent|good|correct|exactly|works|approved?|ship it|go ahead|do it|proceed|sounds good|looks good|thanks?|thank you|well done|continue|merge it|commit (?:it|and)?|that works|👍)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\A\W{0,3}(?:The user (?:doesn'?t want to (?:proceed|take this action)|denied|rejected|declined|chose not)|User (?:rejected|denied|declined)|aborted by user|command rejected|Request rejected|rejected by user|\[Request interrupted by user for tool use|Permission to use .{1,60} (?:has been )?denied|patch rejected by user|exec command rejected by user)",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"(?:the user said|user provided the following reason for the rejection|user feedback|with the following feedback|reason)\s*:\s*(.+)",
    re.IGNORECASE | re.DOTALL,
)
_ANSWERED = re.compile(
    r"\A(?:User has answered your questions?|The user (?:answered|selected|responded)|User (?:has )?approved your plan|User has approved)",
    re.IGNORECASE,
)


def of_words(text: str, *, follows_work: bool) -> str | None:
    """What a person's message is, as a remark on what came before; most messages are none."""
    head = text.strip()[:600]
    if not follows_work or not head:
        return None
    if _CORRECTS.search(head) and len(text) < 4000:
        return CORRECTION
    if len(head) <= 80 and _APPROVES.match(head):
        return APPROVAL
    return None


def of_result(output: str) -> tuple[str, str] | None:
    """What a tool's result says about the person: the kind, and their words where they gave any."""
    head = output[:2000]
    if _DENIED.match(head):
        said = _SAID.search(head)
        return (REFUSAL, said.group(1).strip() if said else "")
    if _ANSWERED.match(head):
        return (APPROVAL if "approved" in head[:60].lower() else ANSWER, head.strip())
    return None
