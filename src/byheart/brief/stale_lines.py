"""What a line of a brief rests on: files and commands that it names, and what a checkout says already."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.text.similarity import content_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_CODE = re.compile(r"`([^`\n]{2,200})`")
_PATH = re.compile(r"(?:\./)?[\w@.+-]+(?:/[\w@.+-]+)+|[\w@+-]+\.(?:py|ts|tsx|js|mjs|cjs|jsx|go|rs|java|kt|rb|php|c|h|cpp|cs|md|mdx|toml|json|ya?ml|sh|sql|html|css|lock|cfg|ini|txt)")  # fmt: skip
_LINE = re.compile(r":\d+(?::\d+)?$")
_MAKE = re.compile(r"^(?:make|gmake)\s+([A-Za-z][\w.-]*)(?:\s|$)")
_RUN = re.compile(r"^(?:npm|pnpm|yarn|bun)\s+run\s+([\w:.-]+)(?:\s|$)")
_JUST = re.compile(r"^just\s+([A-Za-z][\w-]*)(?:\s|$)")
# How much of a line another text has to say for it to be said already, and how many words make a line.
_SAID, _WORDS = 0.8, 3
# Folders and files that come and go with a build say nothing about a line.
_PASSING = ("node_modules/", "dist/", "build/", "target/", ".venv/", "venv/", "coverage/", "tmp/")


def files_in(text: str) -> tuple[str, ...]:
    """The files that a line speaks of in code, as a project would have them."""
    found: dict[str, None] = {}
    for code in _CODE.findall(text):
        path = _LINE.sub("", code.strip())
        if _PATH.fullmatch(path) and "://" not in path and not path.startswith("@") and not path.startswith(_PASSING):
            found[path.removeprefix("./")] = None
    return tuple(found)


def folders_in(text: str) -> tuple[str, ...]:
    """Folders that a command of a line is run in."""
    return tuple(dict.fromkeys(re.findall(r" in `([^`\n]+)`", text)))


def lost_command(text: str, targets: Mapping[str, frozenset[str]]) -> str | None:
    """A command of a line that the project no longer has. `targets` are what its make, just and package files name; a kind
    that is missing there is not known, and nothing is said of it."""
    for code in _CODE.findall(text):
        for kind, pattern in (("make", _MAKE), ("run", _RUN), ("just", _JUST)):
            found = pattern.match(code.strip())
            if found and kind in targets and found[1] not in targets[kind]:
                return f"`{found[0].strip()}` is no longer defined"
    return None


def targets_of(
    makefile: str | None, package: Mapping[str, object] | None, justfile: str | None
) -> dict[str, frozenset[str]]:
    """The commands that a project's own files define, by kind."""
    found: dict[str, frozenset[str]] = {}
    if makefile is not None:
        rules = re.findall(r"^([A-Za-z][\w.%/ -]*?)\s*::?(?!=)", makefile, re.MULTILINE)
        # Patterns and includes may define anything.
        if "%" not in "".join(rules) and not re.search(r"^-?include\b", makefile, re.MULTILINE):
            found["make"] = frozenset(name for rule in rules for name in rule.split())
    if package is not None:
        scripts = package.get("scripts")
        found["run"] = frozenset(scripts) if isinstance(scripts, dict) else frozenset()
    if justfile is not None and not re.search(r"^(?:import|mod)\b", justfile, re.MULTILINE):
        found["just"] = frozenset(re.findall(r"^@?([A-Za-z][\w-]*)[^:=\n]*:(?!=)", justfile, re.MULTILINE))
    return found


_FENCE = re.compile(r"^\s*(?:```|~~~)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NEGATED = frozenset("not no never dont don't without avoid stop neither nor cannot can't won't shouldn't mustn't doesn't isn't".split())  # fmt: skip


class SaidAlready:
    """What instruction files tell every session anyway. It hides only what was worked out from sessions: whether a file means a line
    or takes it back a line further on is nobody's to tell, so nothing that the user said is hidden by it."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._lines = [
            (name, words, _is_negated(line))
            for name, text in texts.items()
            for line in _plain_lines(_COMMENT.sub("", text))
            if len(words := frozenset(content_words(line))) >= _WORDS
        ]

    def where(self, parts: Iterable[str]) -> str | None:
        """The file that says one of these, and no more than that, already; None where none does."""
        for part in parts:
            wanted = frozenset(content_words(part))
            if len(wanted) < _WORDS:
                continue
            for name, words, negated in self._lines:
                common = len(wanted & words)
                is_same = common / len(wanted) >= _SAID and common / len(words) >= _SAID
                if is_same and negated == _is_negated(part):
                    return name
        return None


def _is_negated(text: str) -> bool:
    """Whether a sentence says no; twice no is not yes here, it is only said otherwise."""
    return bool(_NEGATED & set(re.findall(r"[\w']+", text.casefold().replace("’", "'"))))


def _plain_lines(text: str) -> Iterator[str]:
    fenced = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and line.strip():
            yield line
