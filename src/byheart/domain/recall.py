"""What recall works with: meanings, candidates, and why each was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from byheart.domain.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from byheart.domain.records import Record
    from byheart.domain.sessions import Session, Turn


class NoModel(Exception):
    """A model cannot be had; the text says why and what to do."""


class Embedder(Protocol):
    """Texts as vectors of length one, float32. `id` names the model and its weights; `scale` says which cosine two texts have
    that have nothing to do with each other, and from which on they do."""

    @property
    def id(self) -> str: ...

    @property
    def width(self) -> int: ...

    @property
    def scale(self) -> tuple[float, float]: ...

    def embed(self, texts: list[str]) -> list[bytes]: ...


class Reranker(Protocol):
    """Reads question and text together; the higher the better."""

    def scores(self, question: str, texts: list[str]) -> list[float]: ...


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for: terms of which any may be there, wordings that count extra where they are there as a whole, wordings in
    quotes, and names of files. A vague question has only words in it that every text has."""

    text: str
    terms: tuple[str, ...]
    exact: tuple[str, ...]
    of_me: bool
    of_you: bool
    files: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()
    is_vague: bool = False

    @property
    def anything(self) -> str:
        """The question as FTS5 takes it."""
        return " OR ".join((*self.terms, *self.exact))


@dataclass(frozen=True, slots=True)
class Meaning:
    """A question as a vector, of which model, and how that model's cosines are to be taken."""

    model: str
    vector: bytes
    scale: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A turn that may answer: how much of the question's words it holds (about 1 is all of them), how near its meaning is
    (None where it has no vector), how much of the question its session holds, and whether it read or changed a file that is
    asked for."""

    session: Session
    turn: Turn
    words: float
    cosine: float | None
    meaning: float | None
    company: float
    has_file: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A record on its way into the index: what is shown of it, and by which words and in which company it is found."""

    handle: str
    line: int
    record: Record
    scope: str
    dialect: str
    note: str | None = None
    at: date | None = None
    text: str = ""
    before: str = ""
    meta: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """A record that may answer: what its worth is judged by, and as with turns its words, its nearness, its meaning. `row` is
    its place in the index, where the rest of it is. `has_phrase` says whether it holds what is asked for in quotes, None
    where no record does or nothing is."""

    row: int
    handle: str
    path: str
    line: int
    text: str
    kind: str
    key: str | None
    weight: int
    confidence: int | None
    is_unsure: bool
    is_local: bool
    day: date | None
    words: float
    cosine: float | None
    meaning: float | None
    has_phrase: bool | None = None


# The sorts of journal records that are no experience: signs of life, and what sums up others.
FLEETING = frozenset({"heartbeat", "heartbeat-continuity", "compaction"})
SHORTEST, LONGEST = 20, 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleExperience:
    """Something that may become an experience: a record, or what a session showed."""

    text: str
    category: str
    session: str = ""
    record: str = ""
    timestamp: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """One entry of the store. `more` are fields of other programs, which stay as they are."""

    id: str
    text: str
    category: str
    session: str = ""
    record: str = ""
    timestamp: str = ""
    score: float = 0.0
    more: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What a round of gathering came to."""

    path: str
    added: tuple[Experience, ...]
    known: int
    dropped: int
    count: int
