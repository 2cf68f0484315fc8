"""What recall works with: meanings, candidates, and what speaks for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from byheart.domain.sessions import Session, Turn


class NoModel(Exception):
    """A model cannot be had; the text says why and what to do."""


class Embedder(Protocol):
    """Texts as vectors of length one, float32. `id` names the model and its weights."""

    @property
    def id(self) -> str: ...

    @property
    def width(self) -> int: ...

    def embed(self, texts: list[str]) -> list[bytes]: ...


class Reranker(Protocol):
    """Reads question and text together; the higher the better."""

    def scores(self, question: str, texts: list[str]) -> list[float]: ...


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for: terms of which any may be there, and wordings that count extra where they are there as a whole."""

    text: str
    terms: tuple[str, ...]
    exact: tuple[str, ...]
    of_me: bool
    of_you: bool

    @property
    def anything(self) -> str:
        """The question as FTS5 takes it."""
        return " OR ".join((*self.terms, *self.exact))


@dataclass(frozen=True, slots=True)
class Meaning:
    """A question as a vector, and of which model."""

    model: str
    vector: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A turn that may answer: how much of the question's words it holds (about 1 is all of them), how near its meaning is
    (None where it has no vector), and how much of the question its session holds."""

    session: Session
    turn: Turn
    words: float
    cosine: float | None
    meaning: float | None
    company: float
