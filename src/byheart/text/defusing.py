"""Texts of memory as a model may read them: in one line, with nothing hidden, and nothing that looks like the frame around them."""

from __future__ import annotations

import re

from byheart.text.injected import BLOCKS
from byheart.text.unicode import visible

# What clients and models take for a change of speaker, or for a frame of their own.
_TAGS = re.compile(
    r"<(?=\s*/?\s*(?:"
    + "|".join(re.escape(name) for name in BLOCKS)
    + r"|system|assistant|user|human|developer|tool|tool_result|tool_use|function_calls?|function_results?|invoke|antml:\w+|instructions?|memory|context|s|sys)\b)",
    re.IGNORECASE,
)
_TOKENS = re.compile(
    r"<(?=\|)|(?<=\|)>|<<\s*/?\s*SYS\s*>>|\[(?=/?INST\])|<(?=(?:start|end)_of_turn>|/?s>|eos>|bos>)", re.IGNORECASE
)
_END = re.compile(r"\[(?=\s*end\b)", re.IGNORECASE)
_SPEAKER = re.compile(r"^(\W*)(system|assistant|human|user|developer|tool)\s*:", re.IGNORECASE)
_ADDRESS = re.compile(r"memory://(?!root(?:[/#\s).,;\]]|$))", re.IGNORECASE)
_LONGEST = 4_000


def defused(text: str, most: int) -> str:
    """A text that is nothing but text, in one line of no more than so many characters."""
    plain = " ".join(visible(text[:_LONGEST]).split())
    plain = _TAGS.sub("‹", plain)
    plain = _TOKENS.sub(lambda found: "(" if found[0].startswith("[") else "‹", plain)
    plain = _END.sub("(", plain)
    plain = _SPEAKER.sub(r"\1\2 -", plain)
    # Another project's memory has no address here.
    plain = _ADDRESS.sub("memory:", plain)
    if len(plain) <= most:
        return plain
    cut = plain[: most - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > most * 2 // 3 else cut).rstrip(" ,;:.-") + "…"
