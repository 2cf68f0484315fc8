"""What turns show about the work, as the index keeps it. `turn` is the turn's row there."""

from __future__ import annotations

from byheart.domain.values import dataclass


@dataclass(frozen=True, slots=True)
class CommandFact:
    """A command that ran."""

    turn: int
    form: str
    program: str
    kind: str | None
    ok: bool | None
    result: str | None


@dataclass(frozen=True, slots=True)
class ErrorFact:
    """A line that said what went wrong."""

    turn: int
    signature: str
    text: str


@dataclass(frozen=True, slots=True)
class Remark:
    """A correction, an approval, a refusal or an answer by the person."""

    turn: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FixFact:
    """An error and what made it go away; the numbers are turn numbers."""

    signature: str
    error: str
    failed_at: int
    failed_command: str
    fixed_at: int
    proof: str
    passed: bool
    commands: tuple[str, ...]
    edited: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing an agent did: a command, or a change to files. `errors` are (signature, text)."""

    number: int
    form: str = ""
    command: str = ""
    ok: bool | None = None
    edited: tuple[str, ...] = ()
    errors: tuple[tuple[str, str], ...] = ()
