"""Everything that can go wrong, as one tree.

ByheartError
├── NothingFound        exit 1
├── BadInput            exit 2
│   └── BadSetting
├── Refused             exit 3
│   ├── Unsafe              a secret, hidden characters, instruction-like text
│   ├── Unwanted            memory is off, or the thing was forgotten
│   ├── Unnatural           a path or a file that byheart will not touch
│   └── NotUndoable
├── Conflict            exit 4
│   ├── Ambiguous
│   └── Busy
└── Environment         exit 5
    ├── Unreadable
    └── Unwritable
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from byheart.domain.results import Finding, Hit


class ByheartError(Exception):
    """Something went wrong."""

    exit_code = 5

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (self.__doc__ or "").strip().splitlines()[0])


class NothingFound(ByheartError):
    """Nothing matches."""

    exit_code = 1


class BadInput(ByheartError):
    """The input cannot be used as it is."""

    exit_code = 2


class BadSetting(BadInput):
    """A setting has a name or a value that is not allowed."""

    def __init__(self, origin: str, key: str, problem: str, allowed: str) -> None:
        self.origin, self.key, self.problem, self.allowed = origin, key, problem, allowed
        super().__init__(f"{origin}: {key!r} {problem}; allowed: {allowed}")


class Refused(ByheartError):
    """The request is understood and will not be done."""

    exit_code = 3


class Unsafe(Refused):
    """The text holds something that must not be stored."""

    def __init__(self, findings: Sequence[Finding], what: str = "the text") -> None:
        self.findings = tuple(findings)
        first = self.findings[0]
        where = f" at line {first.line}, column {first.column}" if first.line else ""
        more = f" (and {len(self.findings) - 1} more)" if len(self.findings) > 1 else ""
        super().__init__(f"not stored: {what} {first.message} [{first.rule}]{where}{more}; remove it and try again")


class Unwanted(Refused):
    """Memory is off, or this was forgotten on request."""


class Unnatural(Refused):
    """The path or file is of a kind that byheart does not touch."""

    def __init__(self, path: str, problem: str, remedy: str) -> None:
        self.path, self.problem, self.remedy = path, problem, remedy
        super().__init__(f"{path}: {problem}; {remedy}")


class NotUndoable(Refused):
    """That change cannot be undone."""


class Conflict(ByheartError):
    """The file changed in the meantime; nothing was written."""

    exit_code = 4


class Ambiguous(Conflict):
    """More than one memory matches; nothing was changed."""

    def __init__(self, selector: str, matches: Sequence[Hit]) -> None:
        self.selector, self.matches = selector, tuple(matches)
        names = ", ".join(hit.id for hit in self.matches)
        super().__init__(f"{selector!r} matches {len(self.matches)} memories, nothing was changed; name one: {names}")


class Busy(Conflict):
    """Another process holds the lock."""


class Environment(ByheartError):
    """The machine did not allow it."""


class Unreadable(Environment):
    """A file cannot be read."""

    def __init__(self, path: str, problem: str, remedy: str) -> None:
        self.path, self.problem, self.remedy = path, problem, remedy
        super().__init__(f"{path}: {problem}; {remedy}")


class Discarded(Unreadable):
    """A derived file was broken and is gone; whoever asks again finds it made anew."""


class Unwritable(Unreadable):
    """A file cannot be written; the old one stands."""
