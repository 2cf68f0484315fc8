"""A record: one atomic memory, where it stands in a file; and what somebody wants remembered."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass, field

if TYPE_CHECKING:
    from byheart.domain.journal import Origin

Value = str | int | float | bool | None | list["Value"] | dict[str, "Value"]
Triple = tuple[str, str, str]

NEEDS_CONFIRMATION = "needs-confirmation"
CONFLICT = "conflict"


class Kind(StrEnum):
    """What sort of memory a record is; the order of rules in a brief follows the last three."""

    NOTE = "note"
    LESSON = "lesson"
    PREFERENCE = "preference"
    RULE = "rule"
    CONSTRAINT = "constraint"


class Confidence(StrEnum):
    """How strong the support is for applying a record across sessions."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    @property
    def rank(self) -> int:
        return ("low", "medium", "high").index(self.value)

    def raised(self) -> Confidence:
        return Confidence.MEDIUM if self is Confidence.LOW else Confidence.HIGH

    def lowered(self) -> Confidence:
        return Confidence.MEDIUM if self is Confidence.HIGH else Confidence.LOW


class Signal(StrEnum):
    """How a candidate came to us: said outright, repeated, or inferred."""

    EXPLICIT = "explicit user preference"
    CONFIRMED = "confirmed by the user"
    REPEATED = "repeated signal"
    INFERRED = "inferred"


class Scope(StrEnum):
    """Where a record belongs: this project, or everywhere."""

    LOCAL = "local"
    GLOBAL = "global"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One atomic memory. A field that a format cannot spell is None, empty or 1 there."""

    text: str
    kind: Kind = Kind.PREFERENCE
    key: str | None = None
    value: Value = None
    triple: Triple | None = None
    weight: int = 1
    confidence: Confidence | None = None
    tags: tuple[str, ...] = ()
    source: str | None = None
    added: date | None = None
    origin: Origin | None = None

    @property
    def needs_confirmation(self) -> bool:
        return self.confidence is Confidence.LOW or NEEDS_CONFIRMATION in self.tags

    @property
    def is_secret(self) -> bool:
        """Whether its label keeps it in the store unless it is asked for by name."""
        return self.origin is not None and self.origin.is_secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A record with its place: 1-based line, and the character span that holds it."""

    record: Record
    line: int
    start: int
    end: int


def spoken(value: Value) -> str:
    """A value as a person would read it on one line."""
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return ""
        case dict():
            return "; ".join(f"{name}: {spoken(part)}" for name, part in value.items())
        case list():
            return ", ".join(spoken(part) for part in value)
        case _:
            return str(value)


def leaves(value: Value, *, names: bool = False) -> list[str]:
    """Every text inside a value, with or without the names that maps give them."""
    match value:
        case str():
            return [value]
        case list():
            return [text for part in value for text in leaves(part, names=names)]
        case dict():
            inner = [text for part in value.values() for text in leaves(part, names=names)]
            return [*value, *inner] if names else inner
        case _:
            return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What somebody wants remembered. `asked` is True when the user said so outright; a `verbatim` text is stored as it is;
    a `copied` record comes from another notebook, so seeing it again says nothing new."""

    text: str
    kind: Kind | None = None
    key: str | None = None
    value: Value = None
    triple: Triple | None = None
    to: str | None = None
    scope: Scope | None = None
    signal: Signal = Signal.EXPLICIT
    asked: bool = True
    tags: tuple[str, ...] = ()
    source: str | None = None
    confidence: Confidence | None = None
    added: date | None = None
    weight: int = 1
    verbatim: bool = False
    copied: bool = False
    # The words that it was said in, where the text is made of them: they may say that it lasts.
    evidence: str = ""
    # The user was told that it is about a person's private life, and wants it all the same.
    is_private_wanted: bool = False
    # How a journal files it.
    category: str | None = None
    sensitivity: str | None = None
    given: frozenset[str] = field(default_factory=frozenset)
