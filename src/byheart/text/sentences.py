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


def is_document(text: str) -> bool:
    """Whether a message is mostly a document: a plan, an issue, a page that was pasted, rather than somebody speaking."""
    if len(text) < 900:
        return False
    lines = [line for line in text.split("\n") if line.strip()]
    marked = sum(bool(_MARK.match(line)) or line.lstrip().startswith(("#", "|", "```", "**")) for line in lines)
    return len(text) > 4000 or marked >= 6 or (marked >= 3 and any(line.startswith("#") for line in lines))
