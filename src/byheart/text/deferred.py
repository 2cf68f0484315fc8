"""What is made when it is first used: patterns, of which a command needs a few of the hundred that exist, and modules, whose import is
what a short command takes its time for."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
    return _Deferred(source, flags)  # type: ignore[return-value]


class _Module:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        from importlib import import_module

        return getattr(import_module(self._name), attribute)


def module(name: str) -> Any:
    """The module of that name, imported when something of it is first used. Stands in the `else` of the type checker's own import, so
    that types and contracts see what is used."""
    return _Module(name)
