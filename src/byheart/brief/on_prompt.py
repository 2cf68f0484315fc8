"""What memory knows about a prompt, a file or a command, and only where it fits very well: most prompts need no word of it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from byheart.domain.brief import BriefLine
from byheart.domain.records import Scope
from byheart.recall import recall
from byheart.text.client_text import defused
from byheart.text.similarity import STOP_WORDS, content_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from byheart.domain.results import Hit
    from byheart.workspace.context import Context

_BOTH = (Scope.LOCAL, Scope.GLOBAL)
_PROMPT, _LONGEST, _LOOKED_AT = 1_500, 300, 8
# How much of a record's own words a prompt has to name, and how many of them.
_SHARE, _WORDS = 0.5, 3
_COMMON = (
    frozenset("file test run make code change fix add new line name error work project function".split()) | STOP_WORDS
)


def of_prompt(context: Context, prompt: str) -> list[BriefLine]:
    """Records that a prompt is about: at least three telling words in common, and half of the record's."""
    wanted = set(content_words(prompt[:_PROMPT])) - _COMMON
    if len(wanted) < _WORDS:
        return []
    found = recall.recall(context, prompt[:_PROMPT], _BOTH, _LOOKED_AT).hits
    return [_line(hit, "fits the prompt") for hit in found if _fits(hit, wanted) and _is_safe(context, hit)]


def _fits(hit: Hit, wanted: set[str]) -> bool:
    own = set(content_words(f"{hit.record.key or ''} {hit.record.text}")) - _COMMON
    common = len(own & wanted)
    return common >= _WORDS and common / max(1, len(own)) >= _SHARE


def of_tool(context: Context, folder: str, target: str) -> list[BriefLine]:
    """What is known about the file or the command that a tool is about to touch."""
    target = target[:_PROMPT]
    names = set(_names(target, folder))
    if not names:
        return []
    found = recall.recall(context, " ".join(sorted(names)), _BOTH, _LOOKED_AT).hits
    lines = []
    for hit in found:
        said = {code.strip() for code in re.findall(r"`([^`\n]+)`", hit.record.text)} | set(hit.record.text.split())
        if names & said and _is_safe(context, hit):
            lines.append(_line(hit, f"speaks of {next(iter(names & said))}"))
    return lines


def _names(target: str, folder: str) -> Iterable[str]:
    """What a line would call it by: the path in the project, the command's first words."""
    if "\n" in target or not target.strip():
        return
    if os.path.isabs(target):
        inside = os.path.relpath(target, folder)
        if not inside.startswith(".."):
            yield inside
    else:
        words = target.split()
        yield " ".join(words)
        # One word is no command to know something about.
        yield from (" ".join(words[:count]) for count in (2, 3) if len(words) >= count)


def _is_safe(context: Context, hit: Hit) -> bool:
    return (
        not hit.record.is_secret
        and not hit.is_repositorys
        and not hit.record.needs_confirmation
        and not context.scanner.unsafe_lines(hit.record.text)
    )


def _line(hit: Hit, why: str) -> BriefLine:
    return BriefLine(text=defused(hit.record.text, _LONGEST), address=f"memory://record#{hit.id}", why=why)
