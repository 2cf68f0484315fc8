"""Every number and switch that a flow may be told to keep to."""

from __future__ import annotations

from byheart.domain.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds a user can lower; the field comments in defaults.toml say what each is for."""

    enabled: bool = True
    profile_bullets: int = 15
    rules_shown: int = 7
    recall_results: int = 10
    record_characters: int = 600
    file_bytes: int = 16_000_000
    log_entries: int = 2_000
    stale_days: int = 120
    lock_seconds: float = 20.0
