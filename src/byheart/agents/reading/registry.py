"""All agents that can be read: how each one's files are found, read, and told to be in use."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from functools import partial

from byheart.agents.reading import detect_agent, locations
from byheart.agents.reading.lines import Broken, document
from byheart.agents.reading.locations import Machine
from byheart.agents.reading.source import LineReading, Reader, WholeReading
from byheart.agents.transcripts import (
    aider,
    cline,
    codex,
    copilot,
    cursor,
    gemini,
    goose,
    openclaw,
    opencode,
    specstory,
    trajectories,
)
from byheart.agents.transcripts.claude_code import ClaudeReader
from byheart.agents.transcripts.generic import GenericReader
from byheart.agents.transcripts.pi import PiReader
from byheart.agents.transcripts.qwen import QwenReader
from byheart.domain.sessions import Caps, Event, Found, Mark, Reading, Session, Tally

_SMALL = Caps(document_bytes=65_536)
Whole = Callable[[Found, Caps, Tally], Iterator[Event]]
_LINES: dict[str, Callable[[Found], Reader]] = {
    "claude-code": ClaudeReader,
    "codex": codex.CodexReader,
    "pi": PiReader,
    "oh-my-pi": partial(PiReader, agent="oh-my-pi"),
    "openclaw": partial(PiReader, agent="openclaw"),
    "qwen": QwenReader,
    "copilot": copilot.CopilotReader,
    "cursor": cursor.CursorReader,
    "goose": goose.GooseReader,
    "generic": GenericReader,
}
_WHOLE: dict[str, Whole] = {
    "aider": aider.read,
    "cline": cline.read,
    "roo": cline.read,
    "kilo-code": cline.read,
    "codex": codex.document,
    "continue": trajectories.continue_session,
    "copilot": copilot.document,
    "cursor": cursor.plain,
    "gemini": gemini.read,
    "kilo": opencode.from_folder,
    "opencode": opencode.from_folder,
    "openhands": trajectories.openhands,
    "specstory": specstory.read,
    "swe-agent": trajectories.sweagent,
    "vibe": trajectories.vibe,
}
_STORES: dict[str, Whole] = {
    "goose": goose.from_store,
    "kilo": opencode.from_store,
    "opencode": opencode.from_store,
    "openclaw": openclaw.from_store,
}
_FOUND: dict[str, Callable[[Machine], Iterator[Found]]] = {
    "claude-code": locations.claude_code,
    "codex": locations.codex,
    "pi": locations.pi,
    "oh-my-pi": locations.oh_my_pi,
    "openclaw": locations.open_claw,
    "gemini": locations.gemini,
    "opencode": locations.open_code,
    "kilo": locations.kilo,
    "copilot": locations.copilot,
    "qwen": locations.qwen,
    "cursor": locations.cursor,
    "aider": locations.aider,
    "goose": locations.goose_sessions,
    "cline": locations.cline,
    "specstory": locations.specstory,
    "swe-agent": locations.swe_agent,
    "openhands": locations.openhands,
    "continue": locations.continue_sessions,
    "vibe": locations.vibe,
}
# What each agent's sessions may be called under; Cline's module reads three extensions.
AGENTS = (*_FOUND, "roo", "kilo-code", "generic")


class Source:
    """One agent's transcripts on this machine."""

    def __init__(self, agent: str, machine: Machine, caps: Caps) -> None:
        self.agent, self._machine, self._caps = agent, machine, caps

    def found(self) -> Iterator[Found]:
        """Every transcript there is, with what tells whether it changed."""
        return _FOUND[self.agent](self._machine)

    def read(self, found: Found, mark: Mark | None) -> Reading:
        """A pass over one of them."""
        return reading(found, mark, self._caps)

    def is_active(self, session: Session) -> bool | None:
        """Whether the agent holds the session open right now; None where it leaves no sign."""
        if self.agent == "claude-code":
            return _claude_is_active(self._machine, session)
        if self.agent == "codex":
            lock = os.path.join(
                locations.codex_home(self._machine), "thread-writer-locks", f"{os.path.basename(session.id)}.lock"
            )
            return _is_held(lock)
        if self.agent == "copilot":
            return _copilot_is_active(session)
        return None


class FolderSource:
    """Transcripts in folders that the user named; which agent wrote each is told by its beginning."""

    agent = "folder"

    def __init__(self, folders: tuple[str, ...], caps: Caps) -> None:
        self._folders, self._caps = folders, caps

    def found(self) -> Iterator[Found]:
        """Every file that may be one."""
        return locations.any_folder(self._folders)

    def read(self, found: Found, mark: Mark | None) -> Reading:
        """A pass over one of them; a file that is no transcript is counted as such."""
        agent = found.agent if found.part else detect_agent.agent_of(found.path, self._caps)
        if agent is None:
            return WholeReading(found, self._caps, _nothing)
        named = Found(
            agent=agent, path=found.path, size=found.size, modified=found.modified, inode=found.inode, part=found.part
        )
        return reading(named, mark, self._caps)

    def is_active(self, session: Session) -> bool | None:
        """Copies are not in use."""
        del session
        return False


def _nothing(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    del caps
    del found
    tally.skipped["no transcript"] += 1
    yield from ()


def sources(machine: Machine, folders: tuple[str, ...], caps: Caps) -> list[Source | FolderSource]:
    """All agents, and the user's own folders."""
    every: list[Source | FolderSource] = [Source(agent, machine, caps) for agent in _FOUND]
    return [*every, FolderSource(folders, caps)] if folders else every


def reading(found: Found, mark: Mark | None, caps: Caps) -> Reading:
    """The right pass for a file: lines that grow, a document, or one session of a store."""
    if found.part or found.path.endswith((".db", ".sqlite")):
        return WholeReading(found, caps, _STORES.get(found.agent, opencode.from_store))
    if found.agent in _LINES and not found.path.endswith((".json", ".txt", ".md")):
        return LineReading(found, mark, caps, _LINES[found.agent])
    return WholeReading(found, caps, _WHOLE.get(found.agent, _nothing))


def _is_held(lock: str) -> bool | None:
    """Whether another process holds a lock file; False where there is none."""
    try:
        opened = os.open(lock, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(opened)
    return False


def _is_running(pid: object) -> bool:
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _claude_is_active(machine: Machine, session: Session) -> bool:
    folder = os.path.join(machine.variable("CLAUDE_CONFIG_DIR", ".claude"), "sessions")
    own = session.parent or session.id
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    for name in names[:1000]:
        try:
            told = document(os.path.join(folder, name), _SMALL, Tally())
        except Broken:
            continue
        if isinstance(told, dict) and told.get("sessionId") == own and _is_running(told.get("pid")):
            return True
    return False


def _copilot_is_active(session: Session) -> bool:
    try:
        names = os.listdir(os.path.dirname(session.path))
    except OSError:
        return False
    pids = [name.split(".")[1] for name in names if name.startswith("inuse.") and name.endswith(".lock")]
    return any(_is_running(int(pid)) for pid in pids if pid.isdigit() and len(pid) < 10)
