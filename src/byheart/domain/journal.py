"""The journal's words: where a record came from, how far it may travel, and what its upkeep is told and tells."""

from __future__ import annotations

from datetime import UTC, date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

MAIN = "main"
TURN_SUMMARY, NOTE, HEARTBEAT, LEARNED = "turn-summary", "note", "heartbeat", "learned"
USER_PREFERENCE, DECISION, COMPACTION = "user-preference", "decision", "compaction"
# Where lines go that leave MEMORY.md, unless another file is chosen.
ARCHIVE = "journal-archive.md"


class Sensitivity(StrEnum):
    """How far a record may travel, from the freest to the strictest."""

    PUBLIC = "public"
    OPERATIONAL = "operational"
    PRIVATE = "private-user"
    SECRET = "secret"

    @property
    def rank(self) -> int:
        return tuple(Sensitivity).index(self)


def strictest(labels: list[Sensitivity]) -> Sensitivity:
    """The label that a record made of several others must have."""
    return max(labels, key=lambda each: each.rank, default=Sensitivity.PRIVATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What the journal says of a record beside its text. `timestamp` is spelled as the file has it."""

    id: str
    session: str = MAIN
    category: str = NOTE
    channel: str = "operator"
    certainty: float | None = None
    timestamp: str | None = None
    sensitivity: Sensitivity = Sensitivity.PRIVATE

    @property
    def is_secret(self) -> bool:
        return self.sensitivity is Sensitivity.SECRET

    @property
    def at(self) -> datetime | None:
        """The moment, in UTC; None where the timestamp is missing or says nothing."""
        return moment(self.timestamp)


def moment(stamp: str | None) -> datetime | None:
    """The moment that an ISO timestamp names; one without a zone is taken for UTC."""
    if not stamp:
        return None
    try:
        found = datetime.fromisoformat(stamp)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def stamped(now: datetime) -> str:
    """A moment as the journal spells it: UTC, milliseconds, Z."""
    return now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalSettings:
    """The [journal] table; 0 and the empty text mean "not set"."""

    session_memory_enabled: bool = True
    session_memory_cap: int = 32_000
    include_secrets_in_prompt: bool = False
    memory_max_records: int = 0
    memory_max_chars: int = 0
    memory_archive_path: str = ""
    memory_compaction_enabled: bool = False
    memory_compaction_threshold_records: int = 0
    memory_compaction_threshold_chars: int = 0
    memory_compaction_min_age_days: int = 7
    memory_compaction_schedule: str = ""
    memory_compaction_interval_ms: int = 86_400_000
    long_memory_path: str = "LONGMEMORY.md"
    include_long_memory_in_session: bool = True
    long_memory_max_chars: int = 16_000
    integrity_scan_every_ms: int = 3_600_000
    memory_size_warn_chars: int = 28_800
    memory_embeddings_enabled: bool = False
    memory_embeddings_max_records: int = 3_000
    experience_store_enabled: bool = False
    experience_store_path: str = ""
    experience_uniqueness_threshold: float = 0.85
    experience_max_count: int = 5_000
    inject_experience_context: bool = True
    stale_days: int = 120
    file_bytes: int = 256_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """Where a record went, under which id and handle, and what upkeep followed. `text` is empty for a secret one."""

    id: str
    handle: str
    text: str
    category: str
    receipt: str
    path: str
    daily: str
    trimmed: int = 0
    compaction: Compacted | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """How a compaction went. Where it did not run, `reason` says why; `stage` names the check that stopped it."""

    ran: bool
    reason: str = ""
    stage: str = ""
    path: str = ""
    records_before: int = 0
    records_after: int = 0
    records_compacted: int = 0
    characters_before: int = 0
    characters_after: int = 0
    long_memory_appended: bool = False
    archive: str | None = None
    receipt: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of a session's context, under its label."""

    label: str
    text: str
    path: str | None = None
    day: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext:
    """What a session is told from the journal, and what was left out of it and why."""

    text: str
    sections: tuple[Section, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    cap: int = 0
    # What each record that is told is called by, by the line that tells it.
    handles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """What a round of upkeep did for one root."""

    scope: str
    path: str
    compaction: Compacted | None = None
    findings: int | None = None
    experiences: int | None = None
    notes: tuple[str, ...] = field(default=())
