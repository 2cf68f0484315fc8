"""Learning as work: threads, jobs and their leases, what was chosen and why not, and what a run came to."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from byheart.domain.errors import ByheartError
from byheart.domain.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from byheart.domain.handbook import Thread, Written
    from byheart.domain.results import Receipt

EXTRACT, CONSOLIDATE = "extract", "consolidate"
# What a judge may say of something that a person typed.
KEEP, TASK, UNSURE = "keep", "task", "unsure"
# What is said of a job whose workers died with all of its attempts.
DIED = "its worker died"


class Skip(StrEnum):
    """Why a session was not learnt from."""

    TOO_RECENT = "too recent"
    TOO_OLD = "too old"
    ACTIVE = "in use"
    UNCHANGED = "unchanged"
    MODE = "memory switched off in it"
    OFF = "memory switched off for its project"
    PROJECT = "project excluded"
    NO_PROJECT = "without a project"
    SUBAGENT = "a sub-agent's"
    EMPTY = "empty"
    UNDATED = "no date"
    FORGOTTEN = "forgotten"
    WAITING = "waits for another try"
    DEAD = "failed too often"
    ELSEWHERE = "being learnt from by another process"
    OVER_CAP = "over the cap, stays pending"
    OWN = "byheart's own"
    BEYOND = "not looked at (learning.scanned_sessions is the limit)"


class JobState(StrEnum):
    """Where a job stands. `dead` is one that failed too often: it waits for a person."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningSettings:
    """What bounds learning. Ages, idleness and the cap bound what runs by itself."""

    enabled: bool = False
    max_session_age_days: float = 30
    min_idle_hours: float = 12
    quiet_minutes: float = 5
    sessions_per_start: int = 64
    summary_tokens: int = 5000
    scanned_sessions: int = 5000
    exclude: str = ""
    workers: int = 2
    extract_lease_seconds: float = 600
    consolidate_lease_seconds: float = 600
    retries: int = 3
    retry_seconds: float = 120
    retry_most_seconds: float = 21_600
    extracts: int = 256
    new_share: float = 0.25
    unused_days: float = 90
    session_characters: int = 4_000_000
    backups: int = 3
    ask_agent: bool = True
    model: str = "none"
    model_agent: str = ""
    model_api: str = "chat"
    model_endpoint: str = ""
    model_command: str = ""
    extract_model: str = ""
    consolidate_model: str = ""
    model_seconds: float = 180
    model_input_tokens: int = 60_000
    model_retries: int = 2
    model_price_input: float = 0
    model_price_output: float = 0
    model_run_requests: int = 100
    model_run_tokens: int = 2_000_000
    model_run_seconds: float = 1_800
    model_day_requests: int = 300
    model_day_tokens: int = 6_000_000
    model_day_cost: float = 0

    @property
    def asks(self) -> bool:
        """Whether agents are asked which of a person's words are to last."""
        return self.enabled and self.ask_agent


@dataclass(frozen=True, slots=True, kw_only=True)
class DueSession:
    """A session that should be learnt from. `revision` is another when more was said in it, or the learner changed."""

    thread: Thread
    revision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A piece of work that somebody has claimed. `token` is theirs alone: without it nothing is published."""

    kind: str
    key: str
    project: str
    token: str
    attempt: int
    revision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job as people see it."""

    kind: str
    key: str
    project: str
    state: JobState
    attempts: int
    revision: str
    done_revision: str
    worker: str
    error: str
    is_transient: bool
    started: str
    finished: str
    waits_seconds: float
    lease_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An extract as the queue keeps it: with what it was made from, when, and whether the last handbook held it."""

    written: Written
    revision: str
    made: datetime
    selected: str
    archived: bool = False
    candidates: str = "[]"


class JobClaim(StrEnum):
    """How an attempt to claim a job ended."""

    CLAIMED = "claimed"
    UP_TO_DATE = "up to date"
    RUNNING = "running elsewhere"
    WAITING = "waits for another try"
    DEAD = "failed too often"
    GONE = "no such job"


class LearningQueue(Protocol):
    """Threads, extracts and jobs. What it knows can be found again from files, but for how often an extract was used.

    A claim counts the attempt, so that a worker that dies takes one of them with it. Leases are told by a clock that nobody
    sets and by whether their holder lives; a live one is never taken over. Whoever finishes without holding the job is
    refused.
    """

    def enqueue(self, due: Iterable[DueSession]) -> int: ...

    def touch(self, project: str, revision: str) -> None: ...

    def claim(self, kind: str, key: str, lease_seconds: float, retries: int) -> tuple[JobClaim, Job | None]: ...

    def beat(self, job: Job, lease_seconds: float) -> bool: ...

    def holds(self, job: Job) -> bool: ...

    def learnt(self, job: Job, kept: Kept | None) -> bool: ...

    def done(self, job: Job, selected: Mapping[str, str], archived: Sequence[str]) -> bool: ...

    def failed(self, job: Job, error: str, wait_seconds: float, retries: int, *, is_transient: bool) -> bool: ...

    def release(self, job: Job) -> None: ...

    def jobs(self, project: str | None = None) -> list[JobView]: ...

    def retry(self, kind: str, key: str) -> bool: ...

    def drop(self, kind: str, key: str) -> bool: ...

    def extracts(self, project: str) -> list[Kept]: ...

    def fingerprints(self, project: str) -> list[str]: ...

    def threads(self, project: str) -> list[str]: ...

    def revisions(self) -> dict[str, str]: ...

    def restore(self, project: str, kept: Iterable[Kept]) -> None: ...

    def rewrite(
        self, thread: str, raw_memory: str, rollout_summary: str, candidates: str, slug: str | None
    ) -> None: ...

    def remove(self, threads: Sequence[str]) -> list[str]: ...

    def used(self, counts: Mapping[str, int], at: datetime) -> None: ...

    def cited(self, source: str, names: Mapping[str, int], at: datetime) -> None: ...

    def citations(self) -> dict[str, tuple[int, datetime]]: ...

    def projects(self) -> list[str]: ...

    def clear(self, project: str) -> int: ...

    def working(self) -> AbstractContextManager[None]: ...


@dataclass(slots=True, kw_only=True)
class Consolidated:
    """What consolidating one project came to."""

    project: str
    name: str
    folder: str
    mode: str = ""
    added: list[str] = field(default_factory=list)
    retained: int = 0
    removed: list[str] = field(default_factory=list)
    archived: int = 0
    groups: int = 0
    tasks: int = 0
    preferences: list[str] = field(default_factory=list)
    skills: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    kept_lines: int = 0
    moved_lines: int = 0
    findings: list[str] = field(default_factory=list)
    inbox: int = 0
    refused: str = ""
    diff: str = ""
    selection: str = ""
    # What the notebook in use holds now.
    saved: list[Receipt] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class LearnReport:
    """What a run came to: nothing is left out without being counted."""

    sessions: int = 0
    learnt: list[str] = field(default_factory=list)
    nothing: int = 0
    # Which they were that had nothing to learn.
    empty: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    failed: list[tuple[str, str]] = field(default_factory=list)
    redacted: int = 0
    # Questions to a model, lines of it that nothing spoke for, and what became of it.
    asked: int = 0
    tokens: int = 0
    unproved: int = 0
    model: str = ""
    projects: list[Consolidated] = field(default_factory=list)
    seconds: float = 0.0

    def skip(self, reason: Skip, times: int = 1) -> None:
        """Count sessions that were passed over."""
        self.skipped[reason.value] = self.skipped.get(reason.value, 0) + times


class NoAnswer(ByheartError):
    """The model gave no answer."""

    def __init__(self, message: str, *, for_this_alone: bool = False) -> None:
        # Whether only this question is to blame: the next one may well be answered.
        self.for_this_alone = for_this_alone
        super().__init__(message)


@dataclass(slots=True)
class Spent:
    """What a model has cost so far: requests, tokens, and money where it says so."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    def add(self, sent: int, got: int, cost: float) -> None:
        """Count one answer, by the model's own word."""
        self.requests += 1
        self.input_tokens += sent
        self.output_tokens += got
        self.cost += cost

    def count(self, sent: int, got: int) -> None:
        """Count one answer by its characters: some four are a token."""
        self.add(-(-sent // 4), -(-got // 4), 0.0)


class ChatModel(Protocol):
    """A model that answers in words. `id` is another for another model."""

    id: str
    spent: Spent

    def answer(self, system: str, prompt: str, schema: Mapping[str, Any] | None = None) -> str:
        """What it says, as JSON of this schema where it can be held to one. Raises NoAnswer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Headless:
    """How an agent is asked a question without a session: its words, those that name a model, and those that come last; {out} stands for a
    file where `writes` says that it puts its answer there; `field` is the key of the answer where it prints JSON. `leaves` says what it
    cannot be kept from leaving behind, `more` the words that this user's settings of it ask for."""

    command: tuple[str, ...]
    model: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    writes: bool = False
    field: str = ""
    leaves: str = ""
    more: Callable[[Mapping[str, str]], tuple[str, ...]] = lambda _: ()


class Prompts(Protocol):
    """The texts that models are given: our own, or what the user put in their place."""

    def template(self, name: str) -> str: ...

    def filled(self, name: str, **values: str) -> str: ...


class SpendLimit(Protocol):
    """What a run and a day may cost."""

    def reached(self) -> str:
        """Which limit is reached, in words; empty where there is room."""
        ...

    def note(self, spent: Spent) -> None:
        """Count what a model used since it was last told of."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models of both phases, and how many characters a question may have."""

    extracting: ChatModel
    consolidating: ChatModel
    characters: int
    prompts: Prompts
    budget: SpendLimit
