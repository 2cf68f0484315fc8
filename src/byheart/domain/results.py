"""What nearly every door gives back: receipts, hits, findings, the profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from byheart.domain.records import Record, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something wrong: which rule, where; never the matched value itself."""

    rule: str
    message: str
    place: str | None = None
    line: int | None = None
    column: int | None = None
    severity: str = "error"


# What an address calls the file of a format.
NOTEBOOKS = {"yaml-block": "profile", "triples": "rules", "journal": "journal", "handbook": "root"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A record that was found: its handle, its file and line, and how well it fits."""

    id: str
    record: Record
    scope: Scope
    dialect: str
    path: str
    line: int
    score: float = 0.0
    note: str | None = None
    # It came with somebody else's commit: it is told as the repository's word, never as the user's.
    is_repositorys: bool = False
    factors: Mapping[str, float] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """What names this line, and no other, wherever it is shown."""
        return f"memory://{NOTEBOOKS.get(self.dialect, 'root')}#{self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a write did, where, what the format could not keep, and how to undo it."""

    id: str
    action: str
    scope: Scope
    dialect: str
    path: str
    record: Record | None
    handle: str | None = None
    line: int | None = None
    lost: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    announce: bool = True
    remove_with: str | None = None
    undo_with: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Records found, and what was wrong with the files they came from."""

    hits: tuple[Hit, ...]
    problems: tuple[Finding, ...] = ()
    # Whether what was found surely has to do with what was asked for; a neighbour may be all there is.
    is_sure: bool = True
    # What a fuller answer would have needed and could not be downloaded.
    missing: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileView:
    """The Active Profile: what a session should know about its user, bounded."""

    enabled: bool
    bullets: tuple[Hit, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[Finding, ...] = ()
