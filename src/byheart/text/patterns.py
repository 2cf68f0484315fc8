"""Patterns that are compiled when they are first used: a command needs a few of the hundred that exist."""

from __future__ import annotations

import re
from typing import cast


class _Deferred:
    """Stands for a compiled pattern until somebody asks it for something."""

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> object:
        compiled = re.compile(self._source, self._flags)
        for each in ("search", "match", "fullmatch", "sub", "subn", "finditer", "findall", "split", "pattern"):
            self.__dict__[each] = getattr(compiled, each)
        return getattr(compiled, name)


def deferred(source: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, compiled at its first use and used like any other."""
    return cast(re.Pattern[str], _Deferred(source, flags))
