"""What was lived through and is worth telling again, whichever note or session it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

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
