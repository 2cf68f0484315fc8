"""The index as flows see it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from byheart.storage.index import queries, search, writing
from byheart.storage.index import vectors as vector_rows
from byheart.storage.index.schema import IndexConnection, answering, changing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
        Tally,
        Turn,
        Which,
    )


class SqliteIndex(IndexConnection):
    """Sessions in index.db."""

    def stamps(self) -> dict[str, Stamp]:
        """What every transcript looked like when it was read."""
        with answering(self.path):
            return writing.stamps(self._db)

    def mark_of(self, key: str) -> tuple[Mark | None, Tally]:
        """Where reading a transcript ended."""
        with answering(self.path):
            return writing.mark_of(self._db, key)

    @contextmanager
    def batch(self, found: Found) -> Iterator[writing.Batch]:
        """A transcript's own transaction."""
        with answering(self.path), writing.batch(self._db, found) as batch:
            yield batch

    def drop(self, keys: Sequence[str]) -> None:
        """Take transcripts out."""
        if keys:
            with answering(self.path), changing(self._db):
                for key in keys:
                    writing.drop(self._db, key)

    def saying(self, text: str, most: int) -> list[tuple[str, Session, int, str]]:
        """Turns that say something: the key of their file, their session and number, and all they say."""
        with answering(self.path):
            return queries.saying(self._db, text, most)

    def sessions(self, which: Which, most: int) -> list[Listed]:
        """Sessions, the newest first."""
        with answering(self.path):
            return queries.sessions(self._db, which, most)

    def named(self, name: str) -> list[Listed]:
        """Sessions by id, or by how it begins."""
        with answering(self.path):
            return queries.named(self._db, name)

    def turns(self, session: Session) -> list[Turn]:
        """A session's turns as they were kept."""
        with answering(self.path):
            return queries.turns(self._db, session)

    def candidates(self, asked: Question, which: Which, meaning: Meaning | None) -> list[Candidate]:
        """Turns that may answer a question."""
        with answering(self.path):
            return search.turns(self._db, asked, which, meaning, self._matrix(vector_rows.TURNS, meaning))

    def unembedded(self, model: str, most: int) -> list[tuple[int, str]]:
        """Turns that have no vector of this model yet, with the text that stands for each."""
        with answering(self.path):
            return vector_rows.due(self._db, model, most)

    def is_unembedded(self, model: str) -> bool:
        """Whether turns may be without a vector of this model."""
        with answering(self.path):
            return vector_rows.is_due(self._db, model)

    def all_embedded(self, model: str) -> None:
        """Note that every turn that is there has what it needs, unless one came meanwhile."""
        with answering(self.path), changing(self._db):
            if not vector_rows.due(self._db, model, 1):
                newest = self._db.execute("SELECT coalesce(max(n), 0) FROM turn").fetchone()[0]
                vector_rows.settled(self._db, model, newest)

    def embedded(self, model: str, width: int, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Keep vectors of turns. Those whose turn went away meanwhile are dropped."""
        with answering(self.path), changing(self._db):
            vector_rows.keep(self._db, vector_rows.TURNS, model, width, vectors)

    def uses(self, words: Sequence[str], kind: str | None, which: Which, most: int) -> list[CommandUse]:
        """Commands as they were run."""
        with answering(self.path):
            return queries.uses(self._db, words, kind, which, most)

    def known_fixes(self, words: str, which: Which, most: int) -> list[KnownFix]:
        """Errors and what helped."""
        with answering(self.path):
            return queries.known_fixes(self._db, words, which, most)

    def recent_fixes(self, which: Which, most: int) -> list[KnownFix]:
        """What was overcome, the last first."""
        with answering(self.path):
            return queries.recent_fixes(self._db, which, most)

    def visits(self, path: str, which: Which, most: int) -> list[FileVisit]:
        """Sessions that touched a file."""
        with answering(self.path):
            return queries.visits(self._db, path, which, most)

    def edited(self, session: Session) -> list[tuple[str, int]]:
        """The files that a session changed, as it named them, each with in how many turns."""
        with answering(self.path):
            return queries.edited(self._db, session)

    def paths(self, project: str, most: int) -> list[tuple[str, str]]:
        """The files that sessions of a project touched, each with the folder of the session."""
        with answering(self.path):
            return queries.paths(self._db, project, most)

    def counts(self, which: Which) -> list[AgentCount]:
        """Every agent's share."""
        with answering(self.path):
            return queries.counts(self._db, which)

    def days(self, which: Which) -> list[tuple[str, str, int]]:
        """Turns by day and agent."""
        with answering(self.path):
            return queries.days(self._db, which)

    def folders(self) -> list[str]:
        """Every folder that a session ran in."""
        with answering(self.path):
            return queries.folders(self._db)

    def projects(self) -> list[tuple[str, int]]:
        """Every project with how many sessions ran in it."""
        with answering(self.path):
            return queries.projects(self._db)

    def agents(self) -> list[str]:
        """Every agent that left a session."""
        with answering(self.path):
            return queries.agents(self._db)

    def place_of(self, session: Session) -> Found | None:
        """The transcript that a session was read from."""
        with answering(self.path):
            return queries.place_of(self._db, session)
