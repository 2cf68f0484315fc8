"""What a session is told at its start, before it is cut to size."""

from __future__ import annotations

from byheart.domain.values import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefLine:
    """One thing that a session may be told: where it stands in memory, why it is told, and the files it speaks of. What holds for
    all projects is told whatever a project's own files say."""

    text: str
    address: str
    why: str
    files: tuple[str, ...] = ()
    is_global: bool = False


@dataclass(slots=True, kw_only=True)
class BriefSection:
    """One part of a brief. `share` is its part of the room; `sources` are the files it is made from."""

    name: str
    title: str
    share: float
    sources: list[str] = field(default_factory=list)
    lines: list[BriefLine] = field(default_factory=list)
    # (text, address, why) of what is not told.
    left_out: list[tuple[str, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefSettings:
    """What bounds a brief: characters for those who cut long ones, tokens for the others, and when it is told."""

    characters: int = 9500
    tokens: int = 5000
    seconds: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentSettings:
    """What sessions are told while they work."""

    enabled: bool = True
    failure: bool = True
    command: bool = True
    file: bool = True
    prompt: bool = True
    subagent: bool = True
    rules: str = "say"
    tokens: int = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldLine:
    """A line of a brief, as it is explained to a person."""

    section: str
    text: str
    address: str
    why: str
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """A brief: its text, what is in it and why, what is not and why."""

    text: str
    tokens: int
    characters: int
    told: tuple[ToldLine, ...] = ()
    left_out: tuple[ToldLine, ...] = ()
    notes: tuple[str, ...] = ()
