"""A person's message as sentences: what was pasted into it is left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = re.compile(r"^\s*(?:```|~~~).*?(?:^\s*(?:```|~~~)\s*$|\Z)", re.MULTILINE | re.DOTALL)
# Somebody else's text between tags, as clients and people paste pages, mails and files.
_TAGGED = re.compile(r"<([A-Za-z][\w:-]*)(?:\s[^<>]*)?>.*?(?:</\1\s*>|\Z)", re.DOTALL)
# A line that hands the word to somebody else; what follows it, up to an empty line, is theirs.
_HANDS_OVER = re.compile(
    r"\b(?:here(?:'s| is| are)|this is|below is|see|got|received|from|says?|said|wrote|writes|sent|quote|quoting|reads|paste[ds]?|copied|(?:e-?)?mails?|message|letter|page|article|post|tweet|ticket|issue|comment|review(?:er)?|readme|docs?|document|log|output|error|response|reply|answer|transcript|chat|slack|website|site)\b[^.!?]*[:：]\s*$",
    re.IGNORECASE,
)
_OWN_WORD = re.compile(
    r"\b(?:remember|rules?|preferences?|conventions?|from now on|always|never|please|want|must|should)\b", re.IGNORECASE
)
# What somebody says before they say what they want.
_OWN_LEAD = re.compile(
    r"\W*(?:(?:also|and|one more thing|another thing|note|notes|fyi|btw|by the way|important|reminder|hint|tip|ps|p\.s\.|nb|heads up|ok(?:ay)?|yes|no|so|style|for (?:this|the) \w+|"
    r"a few (?:things|notes)|some (?:things|notes)|things to (?:know|keep in mind)|keep in mind)\W*)+$",
    re.IGNORECASE,
)
_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)]|[a-z][.)])\s+")
_ENDS = re.compile(r"(?<=[.!?。！？])[\"')\]]*\s+(?=[\"'(\[]?[^\s])|(?<=[。！？])")
# Dots that end no sentence.
_SHORT = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|nr|fig|mr|ms|dr|st|al)|\b(?-i:[A-Z]))\.$|^\d{1,2}\.$", re.IGNORECASE
)
# Lines that a program printed: places in code, stamps, frames, prompts of shells, tables, diffs, paths, progress.
_PRINTED = re.compile(
    r"^\s*(?:[>|$❯➜#%]\s|[+-]{1,3}(?:\s{2,}|[^\s-])|@@|at\s+\S+\s*\(|File \"|Traceback|\[[\d:/., -]{6,}|\d{4}-\d\d-\d\d[T ]\d\d:|"
    r"(?:\w*[Ee]rror|ERROR|[Ww]arning|WARN|INFO|DEBUG|fatal|panic|npm ERR!?|npm error)(?:\[\w+\])?:|npm (?:ERR!|error) |(?:FAIL|PASS|---)\s|(?:not )?ok(?:\s+\d|\s{2}|\t)|"
    r"\S+\.\w{1,5}:\d+|[/~][\w./-]+:?\d*\s*$|https?://\S+\s*$|\d+(?:\.\d+)? \S+ error\b|[\w.-]+@[\w.-]+[:$~]|import \w|from \S+ import|def \w+\(|class \w+[:(]|func \w|"
    r"const \w+ =|let \w+ =|var \w+ =|return\b.*;|\}|\{|//|/\*|<\w+|</)"
)
# Marks of code that a sentence has few of.
_CODE = re.compile(r"[{}<>=;|\\]|\w\(|\)\.|::|->|=>")
_LONGEST = 700


def sentences(text: str) -> Iterator[str]:
    """The sentences that a person wrote, in order; code, logs and other pasted things are passed over."""
    for line in paragraphs(text):
        start = 0
        for end in _ENDS.finditer(line):
            piece = line[start : end.start()].strip()
            if _SHORT.search(piece):
                continue
            if piece:
                yield piece
            start = end.end()
        if rest := line[start:].strip():
            yield rest


def paragraphs(text: str) -> Iterator[str]:
    """The lines that a person wrote, those that were only wrapped put together again."""
    held = ""
    is_theirs = False
    for line in _TAGGED.sub("\n", _FENCE.sub("\n", text)).split("\n"):
        plain = line.strip()
        if is_theirs and plain:
            continue
        is_theirs = bool(plain) and bool(_HANDS_OVER.search(plain)) and not _OWN_WORD.search(plain)
        begins = bool(_MARK.match(line)) or plain.startswith("#")
        if not plain or begins or is_printed(line) or plain[:1] in "-*+":
            if held:
                yield held
            held = ""
        if plain and not is_printed(line):
            held = f"{held} {_MARK.sub('', line).strip(' #')}".strip()
        # Typed lines end where they end; wrapped ones are long.
        if held and len(plain) < 60:
            yield held
            held = ""
    if held:
        yield held


def is_printed(line: str) -> bool:
    """Whether a line looks like a program's output or code."""
    if len(line) > _LONGEST * 3 or _PRINTED.match(line):
        return True
    marks = len(_CODE.findall(line))
    return marks >= 3 and marks * 12 > len(line)


# What nobody types into a message of their own, but what stands in mails, threads, issues, pages and files.
_PASTED = re.compile(
    r"^(?:from|to|cc|subject|date|sent|title|body|author|reply-to|von|an|betreff|gesendet|de|objet|para|asunto|assunto)\s?:\s|"
    r"^(?:[-=_*~]\s?){3,}|^\W*(?:original message|forwarded message|begin forwarded|end of )|^\[?pasted text|^on .{4,60} wrote:|^#{1,6}\s\S|"
    r"^\S+(?: \S+)?\s+(?:at\s+)?\d{1,2}:\d\d(?:\s?[ap]m)?\W*$|^https?://\S+$|^\^+\s|^\|",
    re.IGNORECASE | re.MULTILINE,
)
_ABOUT_TEXT = re.compile(
    r"\b(?:following|translate|summari[sz]e|explain|parse|proofread|rephrase|what does (?:this|it) mean|address|respond to)\b[^.!?]*[:：]\s*$",
    re.IGNORECASE,
)
_COLON = re.compile(r"[:：]\s*[\"'“„«]?\s*$")
_QUOTED = re.compile(r"[\"“”„«»{}]")


def is_handed_over(text: str, sentence: str) -> bool:
    """Whether a sentence of a message may be somebody else's, whom the message only quotes: it stands in or behind what people paste,
    behind a colon that is not about rules, in quotation marks or brackets, or indented like code."""
    at = text.find(sentence)
    if at < 0:
        # Lines were put together, so it is nobody's quotation in one piece.
        at = text.find(sentence[:40])
    before, behind = text[: max(at, 0)], text[max(at, 0) + len(sentence) :]
    line = before.rpartition("\n")[2]
    if _PASTED.search(text) or any(_hands_over(row) for row in before.split("\n")):
        return True
    head, colon, _ = sentence.partition(": ")
    if "{" in sentence or (colon and _hands_over(f"{head}:")):
        return True
    if len(line) - len(line.lstrip()) >= 4 and not line.strip():
        return True
    if (
        _QUOTED.search(line)
        or (sentence[:1] in "\"“„«'" and sentence.rstrip(" .!")[-1:] in "\"”“»'")
        or behind[:1] in ('"', "”", "»")
    ):
        return True
    lead = line if line.strip() else before.rstrip()
    last = lead.rpartition("\n")[2]
    return bool(_COLON.search(last)) and not _OWN_WORD.search(last) and not _OWN_LEAD.match(last)


def _hands_over(line: str) -> bool:
    is_about_text = _HANDS_OVER.search(line.strip()) or _ABOUT_TEXT.search(line.strip())
    return bool(is_about_text) and not _OWN_WORD.search(line)


def is_document(text: str) -> bool:
    """Whether a message is mostly a document: a plan, an issue, a page that was pasted, rather than somebody speaking."""
    if len(text) < 900:
        return False
    lines = [line for line in text.split("\n") if line.strip()]
    marked = sum(bool(_MARK.match(line)) or line.lstrip().startswith(("#", "|", "```", "**")) for line in lines)
    return len(text) > 4000 or marked >= 6 or (marked >= 3 and any(line.startswith("#") for line in lines))
