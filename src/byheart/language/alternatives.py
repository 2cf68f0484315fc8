"""Preferences of which only one can hold: the same choice, made twice and differently.

Which things exclude each other cannot be seen from a sentence, so the common choices are listed; of what is not listed, two
preferences exclude each other where one names the other as what it is not.
"""

from __future__ import annotations

import re

from byheart.text.similarity import content_words

# Choices that people make once: each line is one, and its parts exclude each other.
_CHOICES = [
    [frozenset(word for part in each.split("+") for word in content_words(part)[:1]) for each in row.split()]
    for row in """
    tabs spaces
    npm pnpm yarn bun
    pip uv poetry pipenv conda
    single+quotes double+quotes
    camelcase snake_case kebab-case pascalcase
    light dark
    vim emacs nano helix
    bash zsh fish
    jest vitest mocha
    pytest unittest
    rebase merge squash
    postgres mysql sqlite mariadb
    black ruff yapf
    eslint biome
    webpack vite rollup esbuild
    rest graphql grpc
    celsius fahrenheit
    metric imperial
    docker podman
    make just
    github gitlab bitbucket
    british american
    concise verbose detailed
    short long
    small large big
    german english french spanish portuguese russian chinese japanese italian
    oop functional
    typescript javascript
    """.strip().splitlines()
]
_OVER = re.compile(
    r"\b(?:over|instead of|rather than|not|never|and not|, not)\s+(?P<other>[\w.+#-]+(?:\s[\w.+#-]+)?)", re.IGNORECASE
)
_NEGATED = re.compile(r"\b(?:not|never|no|don'?t|avoid|without|stop|hate|dislike)\b", re.IGNORECASE)
_DENIED = frozenset(content_words("not never no don't avoid without stop hate dislike like"))
_SIZE = re.compile(r"\b(?:\d+|one|two|three|four|five|six|eight|ten)\b", re.IGNORECASE)
# Words that only say how it is meant.
_PLAIN = frozenset(content_words("prefer prefers preferred like likes love want wants rather favour favor strongly really generally usually always i we user code style mode theme"))  # fmt: skip


def exclude(first: str, second: str) -> bool:
    """Whether two preferences are two answers to one question."""
    one, two = _chosen(first), _chosen(second)
    if bool(_NEGATED.search(_OVER.sub("", first))) != bool(_NEGATED.search(_OVER.sub("", second))):
        # The same thing, wanted and not wanted.
        return one - _PLAIN - _DENIED == two - _PLAIN - _DENIED != frozenset()
    if _sizes(first) != _sizes(second) and _sizes(first) and _sizes(second):
        return _SIZE.sub("", " ".join(sorted(one - _PLAIN))) == _SIZE.sub("", " ".join(sorted(two - _PLAIN)))
    for choice in _CHOICES:
        mine = [part for part in choice if part <= one]
        theirs = [part for part in choice if part <= two]
        if len(mine) == len(theirs) == 1 and mine != theirs:
            # About the same thing: tabs in Python and spaces in YAML go together.
            return one - mine[0] - _PLAIN == two - theirs[0] - _PLAIN
    return _names_other(first, two) or _names_other(second, one)


def choice(text: str) -> tuple[tuple[int, frozenset[str]], str] | None:
    """The question that a text answers and its answer, where it makes one of the choices; None where it makes none, or says no."""
    if _NEGATED.search(_OVER.sub("", text)):
        return None
    chosen = _chosen(text)
    for number, every in enumerate(_CHOICES):
        mine = [part for part in every if part <= chosen]
        if len(mine) == 1:
            return (number, chosen - mine[0] - _PLAIN), " ".join(sorted(mine[0]))
    return None


def _sizes(text: str) -> frozenset[str]:
    return frozenset(each.casefold() for each in _SIZE.findall(text))


def _chosen(text: str) -> frozenset[str]:
    return frozenset(content_words(_OVER.sub("", text)))


def _names_other(text: str, other: frozenset[str]) -> bool:
    found = _OVER.search(text)
    return bool(found) and frozenset(content_words(found["other"])) == other - _PLAIN if found else False
