"""What a run of learning is to do."""

from __future__ import annotations

from byheart.domain.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a run is to do: by itself or for somebody who asked, for which projects, and whether only to show it."""

    is_automatic: bool = False
    projects: tuple[str, ...] = ()
    most: int | None = None
    dry: bool = False
    forgets_gone: bool = False
    # Only extract, as one of several that do; whoever started it does the rest.
    is_hand: bool = False
    # Sessions that their agent said have ended, by id or by file: nobody need wait to see whether they go on.
    ended: frozenset[str] = frozenset()
