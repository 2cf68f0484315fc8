"""What somebody wants remembered."""

from __future__ import annotations

from datetime import date

from byheart.domain.records import Confidence, Kind, Scope, Signal, Triple, Value
from byheart.domain.values import dataclass, field


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
    given: frozenset[str] = field(default_factory=frozenset)
