"""Texts of memory as a model may read them: in one line, with nothing hidden, and nothing that looks like the frame around them."""

from __future__ import annotations

import re
import unicodedata

from byheart.text.client_text import BLOCKS
from byheart.text.unicode import visible

# What clients and models take for a change of speaker, or for a frame of their own.
_TAGS = re.compile(
    r"<(?=\s*/?\s*(?:"
    + "|".join(re.escape(name) for name in BLOCKS)
    + r"|system|assistant|user|human|developer|tool|tool_result|tool_use|function_calls?|function_results?|invoke|antml:\w+|instructions?|memory|context|s|sys|tool_calls?|tool_responses?|think(?:ing)?|reasoning|scratchpad|turn)\b)",
    re.IGNORECASE,
)
_TOKENS = re.compile(
    r"<(?=\|)|(?<=\|)>|<<\s*/?\s*SYS\s*>>|\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS)\])|<?[\uff5c](?=\w)|<(?=(?:start|end)_of_turn>|/?s>|eos>|bos>)",
    re.IGNORECASE,
)
_ROLES = re.compile(r"\b(Human|Assistant|System)\s*:")
_END = re.compile(r"\[(?=\s*end\b)", re.IGNORECASE)
_SPEAKER = re.compile(r"^(\W*)(system|assistant|human|user|developer|tool)\s*:", re.IGNORECASE)
_ADDRESS = re.compile(r"memory://(?!root(?:[/#\s).,;\]]|$))", re.IGNORECASE)
_LONGEST = 4_000
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def _bare(text: str) -> str:
    """A text without anything that has no shape of its own: soft hyphens, marks of direction, selectors of variants."""
    if text.isascii():
        return text
    return "".join(
        each for each in text if not _UNSEEN.match(each) and unicodedata.category(each) not in ("Cf", "Co", "Cs")
    )


def defused(text: str, most: int) -> str:
    """A text that is nothing but text, in one line of no more than so many characters."""
    plain = " ".join(_bare(visible(text[:_LONGEST])).split())
    plain = _TAGS.sub("‹", plain)
    plain = _TOKENS.sub(lambda found: "(" if found[0].startswith("[") else "‹", plain)
    plain = _END.sub("(", plain)
    plain = _ROLES.sub(r"\1 -", _SPEAKER.sub(r"\1\2 -", plain))
    # Another project's memory has no address here.
    plain = _ADDRESS.sub("memory:", plain)
    if len(plain) <= most:
        return plain
    cut = plain[: most - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > most * 2 // 3 else cut).rstrip(" ,;:.-") + "…"
