"""What single doors give back: verdicts, the log, conversions, imports, checkups. Apart from the results that every command
needs, since each class costs a millisecond at start-up."""

from __future__ import annotations

from byheart.domain.records import Confidence
from byheart.domain.results import Finding, Receipt
from byheart.domain.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One test of the capture policy and what it said."""

    test: str
    passed: bool
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a candidate may be stored without being asked for, and with what confidence."""

    stored: bool
    confidence: Confidence
    tags: tuple[str, ...]
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One line of a root's history."""

    id: str
    at: str
    action: str
    dialect: str
    path: str
    handle: str | None
    undoable: bool
    undone: bool
    summary: str
    # What it said before, where it said something else.
    was: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """A text in another format, and the fields that did not survive."""

    text: str
    records: int
    lost: tuple[tuple[str, tuple[str, ...]], ...]
    problems: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """How an import went, row by row."""

    receipts: tuple[Receipt, ...]
    skipped: tuple[tuple[int, str], ...]
    problems: tuple[Finding, ...] = ()
    passed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """One line of `doctor`: what was looked at and how it stands (ok, warning, failure)."""

    subject: str
    state: str
    detail: str
