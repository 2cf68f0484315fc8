"""Whether what a line of memory speaks of is still there, and whether somebody else says it already."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.text.likeness import content_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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


class SaidAlready:
    """What instruction files tell every session anyway."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._lines = [
            (name, words)
            for name, text in texts.items()
            for line in text.split("\n")
            if len(words := frozenset(content_words(line))) >= _WORDS
        ]

    def where(self, parts: Iterable[str]) -> str | None:
        """The file that says one of these already; None where none does."""
        for part in parts:
            wanted = frozenset(content_words(part))
            if len(wanted) < _WORDS:
                continue
            for name, words in self._lines:
                if len(wanted & words) / len(wanted) >= _SAID:
                    return name
        return None
