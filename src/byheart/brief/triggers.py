"""Rules of the user that are about calls and files: which words such a call holds, which files they name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from byheart.handbook.phrases import one_line
from byheart.language.programs import CALLED
from byheart.text.similarity import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_AGAINST = re.compile(
    r"\b(?:never|don'?t|do not|avoid|stop|must not|mustn'?t|shouldn'?t|should not|not|no|instead of|rather than|over|without (?:asking|my (?:ok|yes))|forbidden|banned|off[- ]limits|prohibited"
    r"|(?:ask|check with|confirm|tell|warn|wait for)\b[^.;]{0,30}\bbefore)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"`([^`\n]{2,80})`")
_CLAUSE = re.compile(
    r"\b(?:never|don'?t ever|don'?t|do not|avoid|must not|mustn'?t|shouldn'?t|should not|instead of|rather than|(?<=prefer )\w+ over|, not|no)\s+(?:(?:to|ever|use|using|run|running|call|calling|do|doing|the|a|any|with)\s+)*(?P<what>(?:[^,.;:()]|\.(?=\w)){2,60})",
    re.IGNORECASE,
)
_OVER = re.compile(r"\bprefer \S+ (?:over|to) (?P<what>[\w.@/-]+)", re.IGNORECASE)
_BEFORE = re.compile(
    r"\b(?:ask|check with|confirm|tell|warn|wait for)\b[^.;]{0,30}\bbefore\s+(?:(?:running|doing|you|we|any|a|the|each|every)\s+)*(?P<what>(?:[^,.;:()]|\.(?=\w)){2,50})",
    re.IGNORECASE,
)
_FORBIDDEN = re.compile(
    r"(?P<what>[\w.@/ -]{2,40}?)\s+(?:is|are)\s+(?:strictly\s+)?(?:forbidden|banned|off[- ]limits|prohibited|not allowed)\b",
    re.IGNORECASE,
)
_STOP = re.compile(r"\b(?:without|unless|until|before|because|since|when|if|for|in|on|to)\b.*$", re.IGNORECASE)
# What people call what a program is told to do: an action by itself, whatever program does it. Others count where they stand in code.
_ACTIONS = {
    "push": "push", "pushing": "push", "commit": "commit", "committing": "commit", "merge": "merge", "merging": "merge", "rebase": "rebase",
    "rebasing": "rebase", "deploy": "deploy*", "deploying": "deploy*", "publish": "publish", "publishing": "publish", "migrate": "migrat*",
    "migration": "migrat*", "migrations": "migrat*", "reset": "reset", "stash": "stash", "install": "install", "installing": "install", "amend": "--amend", "squash": "squash*",
    "release": "release*", "releasing": "release*", "force-push": "--force*", "force-pushes": "--force*", "pushes": "push", "commits": "commit",
    "merges": "merge", "deploys": "deploy*", "deployments": "deploy*",
}  # fmt: skip
# What stands in a call for a word that ends in a star.
_SPELLED = {"migrat*": ("migrate", "migration", "migrations", "migrating"), "deploy*": ("deploy", "deployment", "deploys"), "release*": ("release", "releases"), "squash*": ("squash",)}  # fmt: skip
# What every system has, and people forbid by name.
_UTILITIES = frozenset(
    "rm sudo doas curl wget chmod chown dd kill killall pkill mv cp sed tee crontab systemctl service ssh scp rsync nc shutdown reboot mkfs eval".split()
)
# Programs that change a schema do it without saying so by this word.
_MIGRATES = {
    "alembic": "upgrade",
    "flyway": "migrate",
    "liquibase": "update",
    "goose": "up",
    "dbmate": "up",
    "sqitch": "deploy",
    "umzug": "up",
}
# A record's key, as it is told before what it says.
_KEY = re.compile(r"^[\w-]+(?:\.[\w-]+)+: ")
_PATHLIKE = re.compile(r"(?=[^\s]*[/.])(?!https?:)[\w@.+*-]+(?:/[\w@.+*-]+)*/?")
# What of a path stands in a call by itself, also where the path is a pattern.
_NAMES = re.compile(r"[\w@+-][\w@.+-]*\w")
_EDGES = re.compile(r"^[\"'`(\[]+|[\"'`)\],;:!?]+$|(?<=\w)\.$")
# Words behind a program that say how or when, not what.
_MANNERS = frozenset(
    "here again ever anymore anywhere at all in this project repo repository directly commands command scripts".split()
)
# What an action is done to, whatever it is.
_OF_ANY = frozenset(
    "anything something changes change code work branch branches commits packages package dependencies dependency deps migrations migration release releases version versions directly straight yourself".split()
)
_REFINES = frozenset("main master origin production prod staging --force --no-verify --amend --hard".split())


def triggers(lines: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Rules of the user that forbid a call or want to be asked before it: the words that such a call holds, the rule, its address.
    `lines` are what a session is told. A program that everybody knows counts without code marks."""
    found: list[list[Any]] = []
    for text, address, *_ in lines:
        if not _AGAINST.search(text):
            continue
        for pattern in (_OVER, _BEFORE, _FORBIDDEN, _CLAUSE):
            for match in pattern.finditer(_KEY.sub("", text)):
                words = _call_words(match["what"])
                every = [words, *([f"={name}", act] for name, act in _MIGRATES.items() if words == ["migrat*"])]
                for each in every:
                    told = [each, one_line(_KEY.sub("", text), 200), address]
                    if each and told not in found:
                        found.append(told)
    return found


def _call_words(what: str) -> list[str]:
    """The words that a call holds which somebody spoke of, a program behind a sign of equality; none where they spoke of something
    else."""
    if code := _CODE.search(what):
        first, *others = code[1].split()[:3]
        return [f"={first}", *others]
    what = re.sub(r"\b(?:without|unless|until)\b.*$", "", what, flags=re.IGNORECASE)
    bare = (
        _STOP.sub("", what) if not re.search(r"\bto (?:main|master|production|prod|staging|origin)\b", what) else what
    )
    # Options are told apart by their case.
    words = [word if word.startswith("-") else word.strip(",!?\"'").rstrip(".").casefold() for word in bare.split()]
    if words[:1] == ["force"] and words[1:2] and words[1].startswith("push"):
        words = ["push", "--force", *words[2:]]
    first = next((word for word in words[:3] if word in CALLED or word in _ACTIONS or word in _UTILITIES), "")
    if not first or words.index(first) > 1:
        return []
    behind = words[words.index(first) + 1 :][:4]
    if first in _ACTIONS:
        # An action done to one thing is no rule about all of them: "never commit .env files".
        others = [
            word
            for word in behind
            if word not in _REFINES
            and word not in _ACTIONS
            and not word.startswith("-")
            and word not in STOP_WORDS
            and word not in _MANNERS
            and word not in _OF_ANY
            and word not in CALLED
            and word not in ("with", "by")
        ]
        if others:
            return []
        # "install with pip": the program that does it is what counts.
        with_ = [f"={word}" for word in behind if word in CALLED]
        if with_:
            return [*with_[:1], _ACTIONS[first]]
    told = [_ACTIONS.get(first) or f"={first}"]
    told += [
        _ACTIONS.get(word, "--force*" if word == "--force" else word)
        for word in behind
        if word in _REFINES or word in _ACTIONS or word.startswith("-")
    ]
    if first not in _ACTIONS and behind and not told[1:]:
        # "never docker compose down": the words right behind a program are what it is told.
        told += [
            word
            for word in behind[:2]
            if re.fullmatch(r"[a-z][a-z-]*", word)
            and word not in STOP_WORDS
            and word not in _MANNERS
            and not word.endswith("ly")
        ]
    return told[:3]


def files_named(lines: Iterable[Sequence[Any]], is_there: Callable[[str], bool]) -> list[list[Any]]:
    """What the user said of files and folders: the paths, what they said, its address. A word counts as a path where it stands in code, or
    where the project has it."""
    found: list[list[Any]] = []
    for text, address, *_ in lines:
        coded = [each.strip() for each in _CODE.findall(text)]
        paths = [each for each in coded if _PATHLIKE.fullmatch(each)]
        paths += [
            word
            for word in (_EDGES.sub("", word) for word in text.split())
            if word not in paths and _PATHLIKE.fullmatch(word) and is_there(word.split("*", 1)[0] or word)
        ]
        if paths:
            found.append([[path.removeprefix("./") for path in dict.fromkeys(paths)], text, address])
    return found


def words_of(card: Mapping[str, Any]) -> set[str]:
    """The words that a call or an edit has to hold for a rule of a card to be told before it."""
    found: set[str] = set()
    for words, _, _ in card["triggers"]:
        # The last word says most, if it can be looked for by itself.
        told = [word for word in words if len(word.lstrip("=-")) > 1 and word != "--force*"]
        # Options are spelled in more ways than one.
        last = next((word for word in reversed(told) if not word.startswith("-")), told[-1] if told else "")
        found |= set(_SPELLED.get(last, (last.lstrip("=-").rstrip("*"),)))
    for paths, _, _ in card["files"]:
        for path in paths:
            found |= set(_NAMES.findall(path)[-1:])
    return found
