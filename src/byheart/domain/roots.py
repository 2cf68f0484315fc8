"""Roots and places: which folder a scope's memory lives in, and which files it has there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from byheart.domain.records import Scope


@dataclass(frozen=True, slots=True)
class Place:
    """A file: a base folder that the user chose, and a relative path that may not leave it."""

    base: str
    path: str

    def __str__(self) -> str:
        return f"{self.base.rstrip('/')}/{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project's identity: the same for every worktree of a repository, and for clones of one remote."""

    id: str
    name: str
    folder: str
    remote: str | None = None
    common_folder: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """One scope's memory: its own folder for lock, log and backups, and its documents by dialect name. `rivals` are
    places that take over once the user has moved a document there; `kept` are documents at home that are read beside the
    repository's own."""

    scope: Scope
    folder: Place
    documents: Mapping[str, Place]
    rivals: Mapping[str, Place] = field(default_factory=dict)
    kept: Mapping[str, Place] = field(default_factory=dict)

    def places(self, name: str) -> tuple[Place, ...]:
        """Every file of a format that this scope reads; the last one is written to, and of two that say different things it
        counts."""
        return (self.kept[name], self.documents[name]) if name in self.kept else (self.documents[name],)

    def every(self) -> list[tuple[str, Place]]:
        """Every file that this scope reads, with its format."""
        return [(name, place) for name in self.documents for place in self.places(name)]

    def own(self, name: str) -> Place:
        """A file of our own (lock, log, tombstones) in this root's `.byheart` folder."""
        return Place(self.folder.base, f"{self.folder.path}/.byheart/{name}".lstrip("/"))
