"""Sessions and turns: what agents' transcripts come to, whichever agent wrote them. Read-only evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from byheart.domain.values import dataclass, field


class Speaker(StrEnum):
    """Who really said it, whatever role the client filed it under."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class Standing(StrEnum):
    """Whether a turn counts: what was rolled back, or came along from another session, is no evidence."""

    LIVE = "live"
    ROLLED_BACK = "rolled-back"
    COPIED = "copied"


class How(StrEnum):
    """What was done to a file."""

    READ = "read"
    EDIT = "edit"
    CREATE = "create"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Touch:
    """A file that a turn read or changed."""

    path: str
    how: How


# Not frozen: there are tens of thousands of these in a first read, and setting a frozen value up takes three times as
# long. Whoever holds one leaves it as it is.
@dataclass(slots=True, kw_only=True)
class Turn:
    """One thing that was said or done.

    `role` is what the client wrote, `speaker` who it was. `synthetic` says why a text is not the person's own words.
    A tool call and its result are one turn; `failed` is the client's own word for a call that went wrong, `side` names
    the sub-agent that acted. Numbers count from 1, in the order of the file, and never change as a file grows. `origin`
    comes from the client's own id: the same in a copy of the turn in another file.
    """

    number: int
    role: str
    speaker: Speaker
    origin: int | None = None
    text: str = ""
    at: datetime | None = None
    synthetic: str | None = None
    side: str | None = None
    standing: Standing = Standing.LIVE
    tool: str | None = None
    call: str | None = None
    arguments: str = ""
    command: str | None = None
    touches: tuple[Touch, ...] = ()
    output: str | None = None
    exit: int | None = None
    failed: bool | None = None
    # Who spoke, where several people do.
    name: str | None = None

    @property
    def is_evidence(self) -> bool:
        return self.standing is Standing.LIVE

    @property
    def is_own_words(self) -> bool:
        """Whether a person typed this."""
        return self.speaker is Speaker.USER and self.synthetic is None and self.standing is Standing.LIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session's own facts. `path` is the file it was read from, `project` the identity memory is kept under."""

    id: str
    agent: str
    path: str = ""
    version: str | None = None
    cwd: str | None = None
    project: str | None = None
    branch: str | None = None
    commit: str | None = None
    remote: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    parent: str | None = None
    title: str | None = None
    model: str | None = None
    memory_mode: str | None = None
    closed: bool | None = None


# What a reader tells, in order.


@dataclass(frozen=True, slots=True)
class Began:
    """From here on everything belongs to this session. Told again when its facts become better known."""

    session: Session


@dataclass(frozen=True, slots=True)
class Said:
    """A new turn."""

    turn: Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The result of a call that was told before; with `more` it goes on from what was told already."""

    number: int
    output: str | None
    exit: int | None = None
    failed: bool | None = None
    at: datetime | None = None
    touches: tuple[Touch, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class Restood:
    """Turns that count no longer, or count again."""

    numbers: Sequence[int]
    standing: Standing


Event = Began | Said | Answered | Restood


@dataclass(slots=True)
class Tally:
    """What reading a file came to: nothing is dropped without being counted."""

    lines: int = 0
    bytes: int = 0
    known_lines: int = 0
    known_bytes: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    mended: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        self.lines += other.lines
        self.bytes += other.bytes
        self.known_lines += other.known_lines
        self.known_bytes += other.known_bytes
        self.skipped += other.skipped
        self.unknown += other.unknown
        self.mended += other.mended


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A transcript on this machine, with what tells whether it changed. `part` names one session in a shared store."""

    agent: str
    path: str
    size: int
    modified: int
    inode: int = 0
    part: str = ""

    @property
    def key(self) -> str:
        return f"{self.path}#{self.part}" if self.part else self.path


@dataclass(frozen=True, slots=True)
class Mark:
    """Where reading ended: how far, the digest of all before it, and what the reader has to remember. `texts` are those in
    the state, for looking through before it is kept."""

    offset: int
    digest: str
    state: bytes
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """Bounds that hold whatever a file is."""

    line_bytes: int = 16_000_000
    file_bytes: int = 4_000_000_000
    document_bytes: int = 64_000_000
    unpacked_bytes: int = 512_000_000
    rows: int = 500_000


class Reading(Protocol):
    """One pass over a transcript. After the last event `tally` and `mark` stand; `mark` is None where a later pass has
    to begin anew, and `fresh` is False where this one went on from an earlier mark."""

    fresh: bool
    tally: Tally
    mark: Mark | None

    def __iter__(self) -> Iterator[Event]: ...


class SessionSource(Protocol):
    """One agent's transcripts: where they are, and what they say. Nothing in them is ever written."""

    @property
    def agent(self) -> str: ...

    def found(self) -> Iterator[Found]: ...

    def read(self, found: Found, mark: Mark | None) -> Reading: ...

    def is_active(self, session: Session) -> bool | None: ...


# What the index is asked for and gives back.


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What a transcript looked like when it was last read, and what reading it came to."""

    size: int
    modified: int
    inode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Which sessions are meant; what is None does not matter."""

    agent: str | None = None
    project: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str | None = None
    subagents: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A session in a list: its facts, and what it holds."""

    session: Session
    turns: int
    prompts: int
    commands: int
    failures: int
    first: str
    active: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTurn:
    """A turn that fits a question, with where it stands."""

    session: Session
    turn: Turn
    score: float
    snippet: str
    factors: Mapping[str, float] = field(default_factory=dict)

    @property
    def cite(self) -> str:
        return cite(self.session, self.turn.number)


def cite(session: Session, number: int) -> str:
    """How a turn is named: agent, session, number. `byheart sessions show` takes the part before the #."""
    return f"{session.agent}:{session.id}#{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandUse:
    """A command as it was run here: how often, how it ended, and where to look."""

    form: str
    example: str
    kind: str | None
    runs: int
    succeeded: int
    failed: int
    last: datetime | None
    project: str | None
    cwd: str | None
    cites: tuple[str, ...]
    result: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFix:
    """An error that was seen, and what was done before the same thing worked."""

    error: str
    failed_command: str
    proof: str
    passed: bool
    commands: tuple[str, ...]
    edited: tuple[str, ...]
    at: datetime | None
    project: str | None
    failed_cite: str
    fixed_cite: str
    score: float = 0.0
    seen: int = 1
    # A check was skipped, or something forced.
    is_workaround: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVisit:
    """A session that read or changed a file, with what the person had asked for."""

    session: Session
    path: str
    how: How
    times: int
    first: int
    last: int
    at: datetime | None
    asked: str
    said: str

    @property
    def cite(self) -> str:
        return cite(self.session, self.first)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCount:
    """One agent's share: files, sessions, turns by who said them, and what reading came to."""

    agent: str
    files: int
    sessions: int
    turns: dict[str, int]
    synthetic: int
    abandoned: int
    commands: int
    errors: int
    fixes: int
    tally: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """What bringing the index up to date came to."""

    files: int
    read: int
    grown: int
    gone: int
    sessions: int
    turns: int
    bytes: int
    skipped: dict[str, int]
    is_busy: bool = False


@dataclass(frozen=True, slots=True)
class CommandFact:
    """A command that ran."""

    turn: int
    form: str
    program: str
    kind: str | None
    ok: bool | None
    result: str | None


@dataclass(frozen=True, slots=True)
class ErrorFact:
    """A line that said what went wrong."""

    turn: int
    signature: str
    text: str


@dataclass(frozen=True, slots=True)
class Remark:
    """A correction, an approval, a refusal or an answer by the person."""

    turn: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FixFact:
    """An error and what made it go away; the numbers are turn numbers."""

    signature: str
    error: str
    failed_at: int
    failed_command: str
    fixed_at: int
    proof: str
    passed: bool
    commands: tuple[str, ...]
    edited: tuple[str, ...]
    # How often the same error was met before, in this session.
    attempts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing an agent did: a command, or a change to files. `errors` are (signature, text); `said` is what a failed call printed last,
    and `is_silent` tells that a call printed nothing."""

    number: int
    form: str = ""
    command: str = ""
    ok: bool | None = None
    edited: tuple[str, ...] = ()
    errors: tuple[tuple[str, str], ...] = ()
    said: str = ""
    is_silent: bool = False
