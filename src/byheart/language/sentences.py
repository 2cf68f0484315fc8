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
    r"\W*(?:(?:also|and|one more thing|another thing|note|notes|fyi|btw|by the way|important|reminder|hint|tip|ps|p\.s\.|nb|heads up|global(?:ly)?|everywhere|ok(?:ay)?|yes|no|so|style|for (?:this|the) \w+|"
    r"(?:a few|two|three|several|\d) (?:things|notes|points)|some (?:things|notes)|things to (?:know|keep in mind)|keep in mind)\W*)+$",
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
# What a shell or another console shows before what somebody typed there, and what announces what it printed; all behind it is a program's.
_TERMINAL = re.compile(
    r"\s*(?:[$%❯➜»]\s+\S|>\s(?:cat|ls|cd|git|npm|type|echo|python3?|\./)\b|[\w.-]{1,40}@[\w.-]{1,60}[:\s][^\s$#%]{0,120}[$#%](?:\s|$)|PS [A-Za-z]:[^>\n]{0,200}>|[A-Za-z]:\\[^>\n]{0,200}>|"
    r"In \[\d+\]:|Out\[\d+\]:|>>>\s|(?:the )?output (?:of|from)\b)",
    re.IGNORECASE,
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


# Marks of mails and letters: where one stands, nothing of the message is told apart from it.
_MAIL = re.compile(
    r"^(?:from|to|cc|subject|date|sent|title|body|author|reply-to|von|an|betreff|gesendet|de|objet|para|asunto|assunto)\s?:\s|"
    r"^\W*(?:original message|forwarded message|begin forwarded|end of )|^\[?pasted text|^on .{4,60} wrote:|^\^+\s|"
    r"^(?:(?:best|kind|warm)(?: regards| wishes)?|regards|sincerely|cheers|yours(?: \w+)?|(?:mit )?(?:viele|freundlichen|liebe) grü(?:ß|ss)en?|cordialement|saludos)\s?,?\n+\W*\w+(?: \w+)?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
# What stands at the beginning of something that was pasted: a line, a heading, a row of a table, an address, who said it and when.
_PASTED = re.compile(
    r"^(?:[-=_*~]\s?){3,}|^#{1,6}\s\S|^https?://\S+$|^\||"
    r"^\S+(?: \S+)?\s+(?:at\s+)?\d{1,2}:\d\d(?:\s?[ap]m)?\W*$|^\W*\d{1,2}:\d\d(?::\d\d)?\W+\w+\W?:|^@?(?!(?:i|we|you)\b)\w+ (?:commented|wrote|replied|asked|said)\b|"
    r"\b(?:\d+|an?|yesterday|last) (?:minute|hour|day|week|month|year)s? ago\W*$|^(?:dear|hi|hello|hey|hallo|liebe[rs]?|bonjour|hola) (?:all|team|everyone|folks|both|[A-Z]\w+)\s?,\s*$",
    re.IGNORECASE | re.MULTILINE,
)
# A command line without the sign of a shell in front of it: a program, then a path, an option or what such programs are told.
_COMMAND = re.compile(
    r"\s*(?:(?:cat|head|tail|less|more|type|bat|grep|egrep|rg|ls|tree|sed|awk|find|diff|curl|wget|man|echo|jq|git|gh|npm|pnpm|yarn|bun|npx|make|cargo|go|docker|kubectl|python3?|pip|uv|node|deno|just|task)"
    r"\s(?=\S*[./:_-]|(?:\S+ )*\S*[/:]\S|(?:\S+ )*-|(?:show|log|diff|run|test|status|blame|exec|logs|install)\b)\S[^.!?]{0,120}?(?:\S\.\w{1,8})?[^.!?]*|diff --git .*|@@ .*|(?:\+\+\+|---) \S.*|(?:std(?:out|err)|console|terminal)\b.*)\s*$",
    re.IGNORECASE,
)
# A line of a search or of a listing: where it was found, or its number, before what it says.
_NUMBERED = re.compile(r"\s*(?:\S+\.\w{1,5}:(?:\d+:)?|[\w.-]+/[\w./-]+:|\d{1,4}[:|\t ]\s*(?=[a-z]))\S*")
# A line that says whose words follow, or of what: it is no sentence.
_NAMES_TEXT = re.compile(
    r"\s*(?:from|this is|this was|that'?s|here(?:'s| is| are)|below|see)\b[^.!?:]{0,80}\b(?:chat|ticket|issue|e-?mails?|mails?|thread|logs?|docs?|page|message|channel|meeting|notes?|review|specs?|transcript|post|article|template|letter|story|request|report|forum|discord|slack|jira|paste|file)\b[^.!?:]{0,40}$",
    re.IGNORECASE,
)
# What introduces somebody's own rules, as a list or behind a colon.
_OWN_RULES = re.compile(
    r"\b(?:remember|rules?|preferences?|conventions?|guidelines?|from now on|always|never|keep in mind|i (?:want|prefer|like|need)|we (?:use|want|agreed|decided)|(?:please )?(?:follow|stick to|note|keep))\b|^\W*(?:please|also|and)\W*$",
    re.IGNORECASE,
)
_ABOUT_A_TEXT = re.compile(
    r"^\s*(?:\w+ ){0,3}(?:tweets?|e-?mails?|mails?|messages?|posts?|letters?|quotes?|feedback|reviews?|comments?|notes?|minutes|tasks|todos?|prompt|template|criteria|summary|description)\b(?:(?: (?:from|by|of|for|on)\b)|\s*[:：]|\s+\d|\W*$)|^\s*[\w-]+\.(?:md|txt|rst)\s*$|^\s*[A-Z]{2,10}-\d+\b",
    re.IGNORECASE,
)
# A prompt that somebody wrote for another model.
_PROMPT = re.compile(r"\s*you are (?:an? (?:\w+ ){0,4}\w+|(?-i:[A-Z]\w+))[.,;:]", re.IGNORECASE)
_SAID_BEHIND = re.compile(r",\s*\w+ (?:said|says|wrote|suggested|thinks)\W*$", re.IGNORECASE)
# What some text is to say, or a template of one: it speaks to its readers.
_TO_READ = re.compile(
    r"\b(?!(?:i|we|you)\b)\w+ (?:should|must|needs? to|has to|have to|shall|will|can)\s+(?:\w+\s+)?(?:say|read|greet|show|display|print|contain|state|tell|answer|begin|start|open|close|end|look)\b[^.!?:]{0,60}:|"
    r"\b(?:template|wording|copy|text|draft|caption|slogan|script|prompt)\b[^.!?:]{0,60}:",
    re.IGNORECASE,
)
# Work on a text, which follows: it is not what its worker should do.
_ABOUT_TEXT = re.compile(
    r"\b(?:following|translate|summari[sz]e|explain|parse|proofread|rephrase|reword|what does (?:this|it) mean|address|respond to)\b[^.!?]*[:：]\s*$",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(
    r"\b(?<!\bi )(?<!\bwe )(?:got|received|says?|said|wrote|writes|sent|forwarded|copied|pasted|posted|commented|replied|asked|told (?:me|us))\b[^.!?:]*$|"
    r"^\W*(?:(?:can|could|would) you |please )?(?:translate|summari[sz]e|explain|proofread|rephrase|reword|review|check|read|look at|respond to|reply to|answer)\b[^.!?:]*[.!]?$|[?？]\s*$",
    re.IGNORECASE,
)
# A text that a paragraph points at, and that stands below it.
_POINTS_AT_TEXT = re.compile(
    r"(?:\b(?:this|these|following|below|attached)\s+(?:\w+\s+){0,2}?"
    r"(?:tickets?|issues?|stor(?:y|ies)|specs?|specifications?|requirements?|descriptions?|documents?|articles?|pages?|templates?|examples?|inputs?|outputs?|e-?mails?|mails?|messages?|posts?|letters?|"
    r"logs?|transcripts?|feature requests?|bug reports?|texts?|strings?|sentences?|paragraphs?|prompts?|quotes?|snippets?)\b"
    r"|\b(?:the|an?)\s+(?:strings?|sentences?|paragraphs?|prompts?|quotes?)\b)[^.!?:]*[.!:]?\s*$",
    re.IGNORECASE,
)
# A text that somebody has written for them: what it says is for its readers.
_WRITING = re.compile(
    r"\b(?:draft|write|compose|add|put|insert|append|post|send|reply|paste|print|display|show|rename|change|set|say)\b[^.!?\n]{0,80}"
    r"\b(?:lines?|texts?|e-?mails?|mails?|messages?|comments?|sections?|paragraphs?|sentences?|banners?|labels?|titles?|headings?|strings?|tweets?|posts?|announcements?|tooltips?|placeholders?|descriptions?|readme\S*|changelog\S*|docs?|\S+\.(?:md|txt|rst|html|json|ya?ml))\b"
    r"[^.!?\n]{0,60}(?:\b(?:saying|that says|which says|that reads|reading|stating|telling \w+(?: that)?)\b|[:：]|\n)\s*[\"'“„«]?\s*$",
    re.IGNORECASE,
)
# Somebody else's words in the same sentence, or in the one that follows it.
_REPORTED = re.compile(
    r"\b(?!(?:i|we|you|that|this|it|which)\b)[\w'-]+ (?:says?|said|told (?:me|us)|writes|wrote|wants|types|typed|asks|asked|suggests?|recommends?)\b[^.!?]*$|"
    r"\b(?:title|headline|subject|named|called|titled|entitled|types|typed)\s+[\"'“]?$",
    re.IGNORECASE,
)
_SAID_SO = re.compile(
    r"^[\W_]*(?:that|this|it)(?:'s| is| was) what\b[^.!?\n]*\b(?:says?|said|wrote|writes|claims?|recommends?)\b",
    re.IGNORECASE,
)
_QUESTIONED = re.compile(r"\b(?:following|this|below)\b[^.!?]*[?？]\s*$", re.IGNORECASE)
_ABOUT_RULES = re.compile(r"\b(?:remember|rules?|preferences?|conventions?|from now on|always|never)\b", re.IGNORECASE)
_COLON = re.compile(r"[:：]\s*[\"'“„«]?\s*$")


def is_handed_over(text: str, sentence: str) -> bool:
    """Whether a sentence of a message may be somebody else's, whom the message only quotes: it stands behind what people paste,
    behind a colon that is not about rules, within quotation marks or brackets, in a text to be written, or indented like code."""
    whole = _TAGGED.sub("\n", text)
    at = whole.find(sentence)
    if at < 0:
        # Lines were put together, so it is nobody's quotation in one piece.
        at = whole.find(sentence[:40])
    # A block in a fence ends what was handed over with it.
    before, behind = _without_blocks(whole[: max(at, 0)]), whole[max(at, 0) + len(sentence) :]
    line = before.rpartition("\n")[2]
    rows = before.split("\n")
    if _PROMPT.match(whole) or _SAID_BEHIND.search(sentence) or _is_listed(rows, line):
        return True
    if ":" in line and _WRITING.search(line.partition(":")[0] + ":"):
        return True
    if any(_TERMINAL.match(row) or _COMMAND.match(row) or _NAMES_TEXT.match(row) for row in rows):
        return True
    if (
        _TO_READ.search(before)
        or _TO_READ.search(_head_of(sentence))
        or (_NUMBERED.match(line + sentence) and line + sentence != sentence.lstrip("0123456789. "))
    ):
        return True
    if _MAIL.search(text) or _PASTED.search(before) or _PASTED.match(sentence) or any(_hands_over(row) for row in rows):
        return True
    # In another paragraph than the one that speaks of somebody or of some text.
    if _follows_a_pointer(before) or any(
        _OF_OTHERS.search(row) and not _ABOUT_RULES.search(row) for row in rows[:-1] if row.strip()
    ):
        return True
    if _is_led_to(line, sentence) or _is_deep_in(before, line) or (before.strip() and _GREETS.match(sentence)):
        return True
    if _REPORTED.search(_head_of(sentence)) or _SAID_SO.match(behind) or _QUESTIONED.search(line):
        return True
    if _WRITING.search(before) or _WRITING.search(_head_of(sentence)):
        return True
    head, colon, _ = sentence.partition(": ")
    if "{" in sentence or (colon and _hands_over(f"{head}:")):
        return True
    if len(line) - len(line.lstrip()) >= 4 and not line.strip():
        return True
    if (
        _is_open(line)
        or (sentence[:1] in "\"“„«'" and sentence.rstrip(" .!")[-1:] in "\"”“»'")
        or behind[:1] in ('"', "”", "»")
    ):
        return True
    lead = line if line.strip() else before.rstrip()
    last = lead.rpartition("\n")[2]
    return bool(_COLON.search(last)) and not _OWN_WORD.search(last) and not _OWN_LEAD.match(last)


def _follows_a_pointer(before: str) -> bool:
    """Whether an earlier paragraph points at a text that stands below it."""
    earlier = re.split(r"\n\s*\n", before)[:-1]
    return any(_POINTS_AT_TEXT.search(each) and not _ABOUT_RULES.search(each) for each in earlier)


def _is_listed(rows: list[str], line: str) -> bool:
    """Whether a sentence stands in a list, a quotation or a text that something else of the message is about: what introduces it speaks of a
    text or asks for work, and of no rules."""
    paragraph: list[str] = []
    for row in reversed(rows[:-1]):
        if not row.strip():
            break
        paragraph.insert(0, row)
    if paragraph and paragraph[-1].lstrip().startswith(">"):
        # A line that goes on with a quotation.
        return True
    above = [row for row in rows[:-1] if row.strip()]
    intro = next((row for row in reversed(above) if not _MARK.match(row)), "")
    if intro and _MARK.match(line):
        return not _OWN_RULES.search(intro) and not _OWN_LEAD.match(intro.strip())
    if any(_COLON.search(row) and not _OWN_RULES.search(row) and not _OWN_LEAD.match(row.strip()) for row in paragraph):
        return True
    return bool(above) and bool(_ABOUT_A_TEXT.match(above[0])) and not _OWN_RULES.search(above[0])


# Where or when something holds, before what holds there.
_SCOPE = re.compile(r"\W*(?:in|on|for|with|when|whenever|if|while|before|after|during|until|as)\b", re.IGNORECASE)
_GREETS = re.compile(
    r"(?:dear|hi|hello|hallo|liebe[rs]?|sehr geehrte[rs]?|bonjour|cher|chère|hola|estimad[oa]|ol[aá])\s+\w+\s?,",
    re.IGNORECASE,
)
_HEADED = re.compile(r"\b(?:from|by|of)\s+(?-i:[A-Z])\w+[^.!?]*[.!]\s*$", re.IGNORECASE)


def _is_led_to(line: str, sentence: str) -> bool:
    """Whether what a line says before a sentence, or a sentence before its colon, only leads to somebody's words: a name, or what is
    to be done with them. "In this repo: …" says where, and "Rule: …" that it is one."""
    head, colon, _ = f"{line}{sentence}".partition(": ")
    if _HEADED.search(line) and not _OWN_WORD.search(line):
        return True
    head = head.rpartition(". ")[2]
    return bool(colon) and not (
        _OWN_WORD.search(head) or _OWN_LEAD.match(head) or _SCOPE.match(head) or _SAID_MYSELF.match(head)
    )


def _is_deep_in(before: str, line: str) -> bool:
    """Whether a sentence stands in a later paragraph, and not at its beginning: people begin a paragraph with what they want to be
    kept to; further in, it is what the paragraph is about."""
    return bool(re.search(r"\n\s*\n", before.strip("\n"))) and bool(line.strip(" -*+•0123456789.)"))


def _without_blocks(text: str) -> str:
    """A text without its fenced blocks, and without the colon that leads to each."""
    return re.sub(r"[:：]?[ \t]*\n+(?=\x00)|\x00", "\n", _FENCE.sub("\x00", text))


def _head_of(sentence: str) -> str:
    """A sentence up to the words that say from when on something holds."""
    found = re.search(r"\b(?:from now on|always|never|in future|going forward)\b", sentence, re.IGNORECASE)
    return sentence[: found.start()] if found else ""


def _is_open(line: str) -> bool:
    """Whether a quotation or a bracket is open at a line's end."""
    return (
        line.count('"') % 2 == 1
        or line.count("“") + line.count("„") > line.count("”") + (line.count("“") if "„" in line else 0)
        or line.count("«") > line.count("»")
        or line.count("{") > line.count("}")
    )


def _hands_over(line: str) -> bool:
    is_about_text = _HANDS_OVER.search(line.strip()) or _ABOUT_TEXT.search(line.strip())
    return bool(is_about_text) and not _OWN_WORD.search(line) and not _SAID_MYSELF.match(line)


_SAID_MYSELF = re.compile(
    r"\W*(?:as |like )?(?:i|we) (?:already |just )?(?:said|told you|wrote|asked)\b", re.IGNORECASE
)


def is_document(text: str) -> bool:
    """Whether a message is mostly a document: a plan, an issue, a page that was pasted, rather than somebody speaking."""
    if len(text) < 900:
        return False
    lines = [line for line in text.split("\n") if line.strip()]
    marked = sum(bool(_MARK.match(line)) or line.lstrip().startswith(("#", "|", "```", "**")) for line in lines)
    return len(text) > 4000 or marked >= 6 or (marked >= 3 and any(line.startswith("#") for line in lines))
