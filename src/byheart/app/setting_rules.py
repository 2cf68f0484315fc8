"""Every setting, with what it may hold and how a project may narrow it."""

from __future__ import annotations

from byheart.domain.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRule:
    """What one key may hold, and how a project may narrow it (None: not at all). `form` names a text's own grammar."""

    kind: type
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    narrow: str | None = None
    form: str = "a path"

    def allowed(self) -> str:
        if self.kind is bool:
            return "true or false"
        if self.choices:
            return ", ".join(self.choices)
        if self.kind is str:
            return f"{self.form}, or empty"
        return f"a number from {self.least:g} to {self.most:g}"


NOTEBOOK_CHOICES = ("by-kind", "profile", "rules", "journal")
CRON, ZONE = "a cron expression such as '0 3 * * *'", "a time zone such as Europe/Berlin"
_MANY, _LONG = 10_000_000, 1_000_000_000
KEYS: dict[str, SettingRule] = {
    "memory.enabled": SettingRule(kind=bool, narrow="off"),
    "profile.bullets": SettingRule(kind=int, least=1, most=15, narrow="lower"),
    "rules.shown": SettingRule(kind=int, least=3, most=7, narrow="lower"),
    "recall.results": SettingRule(kind=int, least=1, most=100, narrow="lower"),
    "recall.cache_entries": SettingRule(kind=int, least=0, most=100_000),
    "recall.cache_bytes": SettingRule(kind=int, least=0, most=_LONG),
    "recall.cache_seconds": SettingRule(kind=float, least=0, most=86_400),
    "recall.embedder": SettingRule(kind=str, choices=("builtin", "onnx", "endpoint", "static", "sha1", "none")),
    "recall.turn_vectors": SettingRule(kind=bool),
    "recall.model_folder": SettingRule(kind=str),
    "recall.endpoint": SettingRule(kind=str, form="an address such as http://127.0.0.1:11434/v1"),
    "recall.endpoint_model": SettingRule(kind=str, form="a model's name"),
    "store.in_repo": SettingRule(kind=bool, narrow="any"),
    "store.notebook": SettingRule(kind=str, choices=NOTEBOOK_CHOICES),
    "store.record_characters": SettingRule(kind=int, least=40, most=4000, narrow="lower"),
    # A lower limit would make the user's own files unreadable, so a clone has no say in it.
    "store.file_bytes": SettingRule(kind=int, least=10_000, most=1_000_000_000),
    "store.lock_seconds": SettingRule(kind=float, least=0.1, most=600),
    "store.log_entries": SettingRule(kind=int, least=10, most=1_000_000),
    "paths.profile": SettingRule(kind=str, narrow="inside"),
    "paths.rules": SettingRule(kind=str, narrow="inside"),
    "paths.journal": SettingRule(kind=str, narrow="inside"),
    "paths.global_profile": SettingRule(kind=str),
    "paths.global_rules": SettingRule(kind=str),
    "paths.global_journal": SettingRule(kind=str),
    "check.stale_days": SettingRule(kind=int, least=1, most=3650, narrow="lower"),
    "journal.timezone": SettingRule(kind=str, form=ZONE),
    "journal.session_memory_enabled": SettingRule(kind=bool, narrow="off"),
    "journal.session_memory_cap": SettingRule(kind=int, least=200, most=1_000_000, narrow="lower"),
    "journal.include_secrets_in_prompt": SettingRule(kind=bool, narrow="off"),
    # A window throws lines out of a file, so a clone has no say in it.
    "journal.memory_max_records": SettingRule(kind=int, least=0, most=_MANY),
    "journal.memory_max_chars": SettingRule(kind=int, least=0, most=_LONG),
    "journal.memory_archive_path": SettingRule(kind=str),
    "journal.memory_compaction_enabled": SettingRule(kind=bool, narrow="off"),
    "journal.memory_compaction_threshold_records": SettingRule(kind=int, least=0, most=_MANY),
    "journal.memory_compaction_threshold_chars": SettingRule(kind=int, least=0, most=_LONG),
    "journal.memory_compaction_min_age_days": SettingRule(kind=int, least=0, most=3650),
    "journal.memory_compaction_schedule": SettingRule(kind=str, form=CRON),
    "journal.memory_compaction_interval_ms": SettingRule(kind=int, least=60_000, most=31_536_000_000),
    "journal.long_memory_path": SettingRule(kind=str),
    "journal.include_long_memory_in_session": SettingRule(kind=bool, narrow="off"),
    "journal.long_memory_max_chars": SettingRule(kind=int, least=500, most=1_000_000),
    "journal.integrity_scan_every_ms": SettingRule(kind=int, least=0, most=31_536_000_000),
    "journal.memory_size_warn_chars": SettingRule(kind=int, least=0, most=_LONG),
    "journal.memory_embeddings_enabled": SettingRule(kind=bool),
    "journal.memory_embeddings_max_records": SettingRule(kind=int, least=1, most=_MANY),
    "journal.experience_store_enabled": SettingRule(kind=bool),
    "journal.experience_store_path": SettingRule(kind=str),
    "journal.experience_uniqueness_threshold": SettingRule(kind=float, least=0, most=1),
    "journal.experience_max_count": SettingRule(kind=int, least=1, most=_MANY),
    "journal.inject_experience_context": SettingRule(kind=bool, narrow="off"),
    "journal.file_bytes": SettingRule(kind=int, least=10_000, most=1_000_000_000),
    "sessions.agents": SettingRule(kind=str, form="agents' names, separated by commas"),
    "sessions.folders": SettingRule(kind=str, form="folders, separated by colons"),
    "sessions.line_bytes": SettingRule(kind=int, least=1_000, most=_LONG),
    "sessions.file_bytes": SettingRule(kind=int, least=1_000, most=1_000_000_000_000),
    "sessions.document_bytes": SettingRule(kind=int, least=1_000, most=_LONG),
    "sessions.unpacked_bytes": SettingRule(kind=int, least=1_000, most=10 * _LONG),
    "sync.target": SettingRule(kind=str, form="a folder, or the address of a git repository"),
    # A clone may keep sessions from being learnt from, and never have them learnt from.
    "learning.enabled": SettingRule(kind=bool, narrow="off"),
    "learning.max_session_age_days": SettingRule(kind=float, least=0, most=36_500, narrow="lower"),
    "learning.min_idle_hours": SettingRule(kind=float, least=0, most=8_760),
    "learning.quiet_minutes": SettingRule(kind=float, least=0, most=100_000),
    "learning.sessions_per_start": SettingRule(kind=int, least=1, most=100_000, narrow="lower"),
    "learning.summary_tokens": SettingRule(kind=int, least=200, most=200_000, narrow="lower"),
    "learning.scanned_sessions": SettingRule(kind=int, least=1, most=_MANY),
    "learning.exclude": SettingRule(kind=str, form="projects' names or folders, separated by commas"),
    "learning.workers": SettingRule(kind=int, least=1, most=64, narrow="lower"),
    "learning.extract_lease_seconds": SettingRule(kind=float, least=5, most=86_400),
    "learning.consolidate_lease_seconds": SettingRule(kind=float, least=5, most=86_400),
    "learning.retries": SettingRule(kind=int, least=1, most=100),
    "learning.retry_seconds": SettingRule(kind=float, least=0, most=86_400),
    "learning.retry_most_seconds": SettingRule(kind=float, least=0, most=604_800),
    "learning.extracts": SettingRule(kind=int, least=1, most=4_096),
    "learning.new_share": SettingRule(kind=float, least=0, most=1),
    "learning.unused_days": SettingRule(kind=float, least=0, most=36_500),
    "learning.session_characters": SettingRule(kind=int, least=10_000, most=_LONG),
    "learning.backups": SettingRule(kind=int, least=1, most=100),
    # Where transcripts are sent is the user's to say alone.
    "learning.ask_agent": SettingRule(kind=bool, narrow="off"),
    "learning.model": SettingRule(kind=str, choices=("none", "endpoint", "command", "agent")),
    "learning.model_agent": SettingRule(kind=str, form="claude-code, codex, gemini-cli, opencode"),
    "learning.model_api": SettingRule(kind=str, choices=("chat", "responses", "anthropic")),
    "learning.model_endpoint": SettingRule(kind=str, form="an address such as http://127.0.0.1:11434/v1"),
    "learning.model_command": SettingRule(kind=str, form="a command that reads a question and prints an answer"),
    "learning.extract_model": SettingRule(kind=str, form="a model's name"),
    "learning.consolidate_model": SettingRule(kind=str, form="a model's name"),
    "learning.model_seconds": SettingRule(kind=float, least=1, most=3_600),
    "learning.model_input_tokens": SettingRule(kind=int, least=4_000, most=2_000_000),
    "learning.model_retries": SettingRule(kind=int, least=0, most=10),
    "learning.model_price_input": SettingRule(kind=float, least=0, most=100_000),
    "learning.model_price_output": SettingRule(kind=float, least=0, most=100_000),
    "learning.model_run_requests": SettingRule(kind=int, least=0, most=_MANY),
    "learning.model_run_tokens": SettingRule(kind=int, least=0, most=_LONG),
    "learning.model_run_seconds": SettingRule(kind=float, least=0, most=604_800),
    "learning.model_day_requests": SettingRule(kind=int, least=0, most=_MANY),
    "learning.model_day_tokens": SettingRule(kind=int, least=0, most=_LONG),
    "learning.model_day_cost": SettingRule(kind=float, least=0, most=1_000_000),
    "brief.characters": SettingRule(kind=int, least=1_000, most=1_000_000, narrow="lower"),
    "brief.tokens": SettingRule(kind=int, least=200, most=200_000, narrow="lower"),
    "brief.seconds": SettingRule(kind=float, least=0.1, most=30),
    "moments.enabled": SettingRule(kind=bool, narrow="off"),
    "moments.failure": SettingRule(kind=bool, narrow="off"),
    "moments.command": SettingRule(kind=bool, narrow="off"),
    "moments.file": SettingRule(kind=bool, narrow="off"),
    "moments.prompt": SettingRule(kind=bool, narrow="off"),
    "moments.subagent": SettingRule(kind=bool, narrow="off"),
    "moments.rules": SettingRule(kind=str, choices=("say", "ask")),
    "moments.tokens": SettingRule(kind=int, least=0, most=100_000, narrow="lower"),
    "output.color": SettingRule(kind=str, choices=("auto", "always", "never")),
}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


_JOURNAL_NAMES = {
    "memoryCompactionMaxRecords": "memory_compaction_threshold_records",
    "memoryCompactionMaxChars": "memory_compaction_threshold_chars",
    "memoryCompactionScheduleCron": "memory_compaction_schedule",
}
# By which names oh-my-pi and CursorClaw call the same.
ALIASES = {
    "memories.enabled": "learning.enabled",
    "memories.maxRolloutAgeDays": "learning.max_session_age_days",
    "memories.minRolloutIdleHours": "learning.min_idle_hours",
    "memories.maxRolloutsPerStartup": "learning.sessions_per_start",
    "memories.summaryInjectionTokenLimit": "learning.summary_tokens",
    **{f"continuity.{_camel(key.removeprefix('journal.'))}": key for key in KEYS if key.startswith("journal.")},
    **{f"continuity.{theirs}": f"journal.{ours}" for theirs, ours in _JOURNAL_NAMES.items()},
    **{f"memory.{_camel(name)}": f"journal.{name}" for name in ("include_secrets_in_prompt", "integrity_scan_every_ms") if f"journal.{name}" in KEYS},
}  # fmt: skip


def named(key: str) -> str:
    """A setting's own name, by whichever name it was called."""
    return ALIASES.get(key, key)
