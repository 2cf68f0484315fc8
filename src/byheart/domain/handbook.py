"""What sessions taught: a session's extract, and the handbook that all extracts of a project come to.

Texts in these values are single lines; the dialect makes them so and writes the strict formats from them, so that a file with
a heading too many or a reference to nothing cannot come about.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass, field

if TYPE_CHECKING:
    from datetime import datetime

REDACTED = "[REDACTED_SECRET]"
MEMORY, SUMMARY, RAW = "MEMORY.md", "memory_summary.md", "raw_memories.md"
ROLLOUTS, SKILLS, EXTENSIONS = "rollout_summaries", "skills", "extensions"
# The profile of a project in which nothing was learnt yet.
NOTHING_YET = "Nothing is known yet: no session has taught anything so far."
NOTES = f"{EXTENSIONS}/ad_hoc/notes"


class Outcome(StrEnum):
    """How a task ended, as far as the evidence says."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAIL = "fail"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True)
class Bullet:
    """One line that was learnt, and the turns it rests on."""

    text: str
    turns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A session as memory names it. `updated` is when something was last said in it."""

    id: str
    agent: str
    project: str
    cwd: str
    path: str
    updated: datetime
    branch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One thing that a session was about."""

    name: str
    group: str
    outcome: Outcome
    preferences: tuple[Bullet, ...] = ()
    knowledge: tuple[Bullet, ...] = ()
    failures: tuple[Bullet, ...] = ()
    references: tuple[Bullet, ...] = ()
    steps: tuple[Bullet, ...] = ()
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """What one session taught: the front matter of its raw memory, and its tasks."""

    description: str
    task: str
    group: str
    outcome: Outcome
    cwd: str
    keywords: tuple[str, ...]
    tasks: tuple[Task, ...]
    slug: str = ""
    headline: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """An extract as it is kept: exactly what phase 1 hands over, for one state of one thread."""

    thread: Thread
    raw_memory: str
    rollout_summary: str
    slug: str | None
    uses: int = 0
    last_use: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A rollout summary that a task of the handbook rests on."""

    file: str
    cwd: str
    path: str
    updated: str
    thread: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Where a line of a handbook comes from: the tasks of its block, and turns of sessions."""

    tasks: tuple[int, ...] = ()
    cites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """A line of a block's shared sections."""

    text: str
    support: Support = field(default_factory=Support)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTask:
    """A task of a block: what it was and how it ended, its sessions, words to find it by, and skills that help with it."""

    title: str
    outcome: Outcome
    sources: tuple[Source, ...]
    keywords: tuple[str, ...]
    skills: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A block of MEMORY.md."""

    name: str
    scope: str
    cwd: str
    reuse: str
    tasks: tuple[GroupTask, ...]
    preferences: tuple[Guidance, ...] = ()
    knowledge: tuple[Guidance, ...] = ()
    failures: tuple[Guidance, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A line of the index in memory_summary.md. Without learnings it is one of the older, compact ones."""

    label: str
    keywords: tuple[str, ...]
    description: str
    learnings: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """memory_summary.md. `recent` is scope → day → topics, `older` scope → topics, both in the order they are shown."""

    profile: tuple[str, ...]
    preferences: tuple[str, ...]
    tips: tuple[str, ...]
    recent: tuple[tuple[str, tuple[tuple[str, tuple[Topic, ...]], ...]], ...] = ()
    older: tuple[tuple[str, tuple[Topic, ...]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pitfall:
    """What goes wrong, why, and what helps."""

    symptom: str
    cause: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A procedure that repeats. `scripts` are (name, text) of files below scripts/."""

    name: str
    description: str
    triggers: tuple[str, ...]
    non_goals: tuple[str, ...]
    inputs: tuple[str, ...]
    steps: tuple[str, ...]
    efficiency: tuple[str, ...]
    pitfalls: tuple[Pitfall, ...]
    checks: tuple[str, ...]
    has_side_effects: bool
    tools: tuple[str, ...] = ()
    scripts: tuple[tuple[str, str], ...] = ()
    threads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Handbook:
    """Everything that consolidation writes but the mechanical merge of raw memories."""

    groups: tuple[Group, ...]
    overview: Overview
    skills: tuple[Skill, ...] = ()
