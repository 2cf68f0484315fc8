"""Rules of the user that are about calls: which words such a call holds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from byheart.handbook.phrases import one_line
from byheart.language.programs import CALLED
from byheart.text.similarity import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_AGAINST = re.compile(
    r"\b(?:never|don'?t|do not|avoid|stop|must not|mustn'?t|shouldn'?t|should not|not|no|instead of|rather than|over|ask (?:me |us |first )?before|without (?:asking|my (?:ok|yes)))\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"`([^`\n]{2,80})`")
_CLAUSE = re.compile(
    r"\b(?:never|don'?t ever|don'?t|do not|avoid|must not|mustn'?t|shouldn'?t|should not|instead of|rather than|(?<=prefer )\w+ over|, not|no)\s+(?:(?:to|ever|use|using|run|running|call|calling|do|doing|the|a|any|with)\s+)*(?P<what>[^,.;:()]{2,60})",
    re.IGNORECASE,
)
_OVER = re.compile(r"\bprefer \S+ (?:over|to) (?P<what>[\w.@/-]+)", re.IGNORECASE)
_BEFORE = re.compile(
    r"\bask\b[^.;]{0,24}\bbefore\s+(?:(?:running|doing|you|any|a|the)\s+)*(?P<what>[^,.;:()]{2,50})", re.IGNORECASE
)
_STOP = re.compile(r"\b(?:without|unless|until|before|because|since|when|if|for|in|on|to)\b.*$", re.IGNORECASE)
# What people call what a program is told to do: an action by itself, whatever program does it. Others count where they stand in code.
_ACTIONS = {
    "push": "push", "pushing": "push", "commit": "commit", "committing": "commit", "merge": "merge", "merging": "merge", "rebase": "rebase",
    "rebasing": "rebase", "deploy": "deploy*", "deploying": "deploy*", "publish": "publish", "publishing": "publish", "migrate": "migrat*",
    "migration": "migrat*", "migrations": "migrat*", "reset": "reset", "stash": "stash", "amend": "--amend", "squash": "squash*",
    "release": "release*", "releasing": "release*", "force-push": "--force*", "force push": "--force*",
}  # fmt: skip
# A record's key, as it is told before what it says.
_KEY = re.compile(r"^[\w-]+(?:\.[\w-]+)+: ")
_REFINES = frozenset("main master origin production prod staging --force --no-verify --amend --hard".split())


def triggers(lines: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Rules of the user that forbid a call or want to be asked before it: the words that such a call holds, the rule, its address.
    `lines` are what a session is told. A program that everybody knows counts without code marks."""
    found: list[list[Any]] = []
    for text, address, *_ in lines:
        if not _AGAINST.search(text):
            continue
        for pattern in (_OVER, _BEFORE, _CLAUSE):
            for match in pattern.finditer(text):
                words = _call_words(match["what"])
                told = [words, one_line(_KEY.sub("", text), 200), address]
                if words and told not in found:
                    found.append(told)
    return found


def _call_words(what: str) -> list[str]:
    """The words that a call holds which somebody spoke of, a program behind a sign of equality; none where they spoke of something
    else."""
    if code := _CODE.search(what):
        first, *others = code[1].split()[:3]
        return [f"={first}", *others]
    bare = (
        _STOP.sub("", what) if not re.search(r"\bto (?:main|master|production|prod|staging|origin)\b", what) else what
    )
    words = [word.strip(".,!?\"'").casefold() for word in bare.split()]
    if not words:
        return []
    told: list[str] = []
    first = next((word for word in words[:3] if word in CALLED or word in _ACTIONS), "")
    if not first or words.index(first) > 1:
        return []
    told.append(_ACTIONS.get(first) or f"={first}")
    behind = words[words.index(first) + 1 :][:4]
    told += [_ACTIONS.get(word, word) for word in behind if word in _REFINES or word in _ACTIONS]
    if first == "push" and words[0] in ("force", "force-push"):
        told.append("--force*")
    if first in CALLED and first not in _ACTIONS and behind and not told[1:]:
        # "never docker compose down": the words right behind a program are what it is told.
        told += [word for word in behind[:2] if re.fullmatch(r"[a-z][a-z-]*", word) and word not in STOP_WORDS]
    return told[:3]
