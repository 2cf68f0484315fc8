"""The seams: what flows ask of the outside world and of file formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Protocol

from byheart.domain.changes import Change, Splice
from byheart.domain.documents import Document
from byheart.domain.records import Record
from byheart.domain.results import Finding
from byheart.domain.roots import Place, Root

if TYPE_CHECKING:
    # Most commands have nothing to do with sessions, and need not wait for their values.
    from byheart.domain.recall import Candidate, Meaning, Question
    from byheart.domain.sessions import (
        AgentCount,
        CommandUse,
        FileVisit,
        Found,
        KnownFix,
        Listed,
        Mark,
        Session,
        Stamp,
        Standing,
        Tally,
        Turn,
        Which,
    )
    from byheart.domain.work import CommandFact, ErrorFact, FixFact, Remark, Step


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file as it was read, with the SHA-256 of its bytes; `text` is None and `digest` empty where there was none."""

    text: str | None
    digest: str


class Files(Protocol):
    """Text files under chosen folders.

    A write names the digest it was planned against and fails with Conflict when the file differs by then. A reader
    sees the old text or the new one, never a mix. An append without a digest starts on a line of its own, follows the
    file's line breaks and takes the same time however large the file is. Nothing outside a place's base is read or
    written, and no link is followed below it.
    """

    def read(self, place: Place, most: int | None = None) -> Snapshot: ...

    def size(self, place: Place) -> int | None: ...

    def write(self, place: Place, text: str, base: str) -> Snapshot: ...

    def append(self, place: Place, text: str, base: str | None) -> None: ...

    def remove(self, place: Place, base: str) -> None: ...

    def names(self, folder: Place) -> list[str]: ...

    def locked(self, root: Root) -> AbstractContextManager[None]: ...

    def claimed(self, root: Root, task: str) -> AbstractContextManager[bool]: ...


class Scanner(Protocol):
    """Finds what must not be stored, and blanks it out of texts that leave the store."""

    def findings(self, text: str) -> list[Finding]: ...

    def secrets(self, text: str) -> list[Finding]: ...

    def spans(self, text: str) -> list[tuple[int, int, str]]: ...

    def redacted(self, text: str) -> str: ...

    def unsafe_lines(self, text: str) -> dict[int, bool]: ...


class Dialect(Protocol):
    """A file format. Pure: no clock, no disk, no other dialect. Parsing never raises on content."""

    @property
    def name(self) -> str: ...

    @property
    def keeps(self) -> frozenset[str]: ...

    def blank(self) -> str: ...

    def parse(self, text: str) -> Document: ...

    def reparse(self, before: Document, text: str, first: int) -> Document: ...

    def plan(self, document: Document, changes: Sequence[Change], today: date) -> list[Splice]: ...

    def recovered(self, text: str) -> str: ...

    def key_of(self, record: Record) -> str | None: ...


class IndexBatch(Protocol):
    """What one transcript came to, on its way into the index; all of it gets there, or nothing."""

    def drop(self) -> None: ...

    def session(self, session: Session) -> int: ...

    def belongs(self, project_of: Callable[[str | None, str | None], str | None]) -> None: ...

    def turn(self, turn: Turn) -> int: ...

    def copies(self, origins: Sequence[int]) -> set[int]: ...

    def turn_at(self, number: int) -> tuple[int, Turn] | None: ...

    def amend(self, row: int, turn: Turn) -> None: ...

    def is_at_work(self) -> bool: ...

    def restand(self, numbers: Sequence[int], standing: Standing) -> None: ...

    def facts(
        self,
        commands: Iterable[CommandFact],
        touches: Iterable[tuple[int, str, str]],
        errors: Iterable[ErrorFact],
        remarks: Iterable[Remark],
    ) -> None: ...

    def steps(self) -> list[Step]: ...

    def fixes(self, fixes: Iterable[FixFact]) -> None: ...

    def counted(self) -> None: ...

    def done(self, modified: int, mark: Mark | None, tally: Tally) -> None: ...


class SessionIndex(Protocol):
    """Sessions and what they show, for searching. Derived: it may be deleted at any time."""

    def stamps(self) -> dict[str, Stamp]: ...

    def mark_of(self, key: str) -> tuple[Mark | None, Tally]: ...

    def batch(self, found: Found) -> AbstractContextManager[IndexBatch]: ...

    def drop(self, keys: Sequence[str]) -> None: ...

    def purge(self) -> None: ...

    def sessions(self, which: Which, most: int) -> list[Listed]: ...

    def named(self, name: str) -> list[Listed]: ...

    def turns(self, session: Session) -> list[Turn]: ...

    def candidates(self, asked: Question, which: Which, meaning: Meaning | None) -> list[Candidate]: ...

    def unembedded(self, model: str, most: int) -> list[tuple[int, str]]: ...

    def embedded(self, model: str, width: int, vectors: Sequence[tuple[int, bytes]]) -> None: ...

    def uses(self, words: Sequence[str], kind: str | None, which: Which, most: int) -> list[CommandUse]: ...

    def known_fixes(self, words: str, which: Which, most: int) -> list[KnownFix]: ...

    def visits(self, path: str, which: Which, most: int) -> list[FileVisit]: ...

    def counts(self, which: Which) -> list[AgentCount]: ...

    def days(self, which: Which) -> list[tuple[str, str, int]]: ...

    def folders(self) -> list[str]: ...

    def projects(self) -> list[tuple[str, int]]: ...

    def agents(self) -> list[str]: ...

    def place_of(self, session: Session) -> Found | None: ...
