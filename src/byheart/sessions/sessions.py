"""The door to agents' sessions: bring the index up to date, look, search, ask; and those that somebody wants forgotten, whose
transcripts are their agents', but which nothing of ours looks at any more."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from byheart.domain.documents import Place
from byheart.domain.errors import BadInput, Discarded, NothingFound
from byheart.domain.recall import PossibleExperience
from byheart.domain.sessions import (
    AgentCount,
    Answered,
    Began,
    CommandUse,
    FileVisit,
    KnownFix,
    Listed,
    Reading,
    Refreshed,
    Said,
    Session,
    Turn,
    Which,
)
from byheart.domain.values import replace
from byheart.search.models import RecallModels
from byheart.sessions import search as searching
from byheart.sessions.refresh import Progress, SessionTools, joined_output, refresh, safe_name
from byheart.sessions.search import SessionHits
from byheart.workspace.ledger import FORGOTTEN, stones_in
from byheart.workspace.tombstones import pieces_with

if TYPE_CHECKING:
    from byheart.domain.ports import Files, Scanner
    from byheart.domain.sessions import Found, Mark, SessionSource
    from byheart.workspace.tombstones import Forgotten, Tombstone

# A session without a lock that was written to so lately is taken for one in use.
_LATELY = timedelta(minutes=10)
_LOCKS = timedelta(days=2)
# So often a broken index is made anew; another process may break it meanwhile.
_TRIES = 2
# Results that come late are waited for as long as this many turns.
_HELD = 500
# So many sessions like a request say which files it leads to.
_LIKE_IT = 5
_MOST_SAYING = 2_000


class Sessions:
    """Every agent's sessions on this machine."""

    def __init__(
        self, tools: SessionTools, clock: Callable[[], datetime], recall_models: RecallModels | None = None
    ) -> None:
        self._tools, self._clock = tools, clock
        self._recall_models = recall_models or RecallModels()

    def refresh(self, progress: Progress | None = None) -> Refreshed:
        """Read what is new, and what grew. An index that turns out to be broken is thrown away, so it is read into a new one."""
        for _ in range(_TRIES):
            with suppress(Discarded):
                return refresh(self._tools, progress)
        return refresh(self._tools, progress)

    def transcripts(self) -> dict[str, tuple[int, int]]:
        """How many transcripts there are of each agent, and their bytes; none is opened."""
        found: dict[str, tuple[int, int]] = {}
        for source in self._tools.sources:
            for each in source.found():
                count, size = found.get(source.agent, (0, 0))
                found[source.agent] = (count + 1, size + each.size)
        return found

    def list(self, which: Which, most: int) -> Sequence[Listed]:
        """Sessions, the newest first."""
        return [replace(each, active=self.is_active(each.session)) for each in self._tools.index.sessions(which, most)]

    def find(self, name: str) -> Listed:
        """One session by its id, or by how that begins."""
        if not name.strip():
            raise BadInput("name a session by its id or an id prefix")
        found = self._tools.index.named(name.strip())
        if not found:
            raise NothingFound(f"no session {name!r}; list them with: byheart sessions")
        if len({(each.session.agent, each.session.id) for each in found}) > 1:
            names = ", ".join(f"{each.session.agent}:{each.session.id}" for each in found[:6])
            raise BadInput(f"{name!r} matches {len(found)} sessions; name one: {names}")
        return replace(found[0], active=self.is_active(found[0].session))

    def project(self, name: str) -> str:
        """A project's id from its id or its name. Raises BadInput where none or several fit."""
        known = [each for each, _ in self._tools.index.projects()]
        if name in known:
            return name
        fitting = [each for each in known if each.rsplit("-", 1)[0] == name]
        if len(fitting) == 1:
            return fitting[0]
        choices = ", ".join((fitting or known)[:8]) or "none yet"
        raise BadInput(
            f"{name!r} {'is no project' if not fitting else 'fits several projects'} with sessions; known: {choices}"
        )

    def check_agent(self, name: str, known: Sequence[str]) -> None:
        """Refuse the name of an agent that nobody knows."""
        every = dict.fromkeys((*known, *self._tools.index.agents()))
        if name not in every:
            raise BadInput(f"{name!r} is not an agent that byheart reads; known: {', '.join(every)}")

    def turns(self, session: Session) -> Sequence[Turn]:
        """A session's turns as the index keeps them: clean, long texts shortened."""
        return self._tools.index.turns(session)

    def whole(self, session: Session) -> Iterator[Turn]:
        """A session's turns read from the transcript itself, in full; secrets are blanked out all the same."""
        place = self._tools.index.place_of(session)
        if place is None or not self._tools.sources:
            raise NothingFound(f"the transcript of {session.id} is gone; without --full the index shows what it kept")
        scanner = self._tools.scanner
        # What was taken back later in the file is known to the index alone while the file is read.
        standing = {turn.number: turn.standing for turn in self.turns(session)}
        clean = scanner.redacted
        for turn in _joined(
            self._tools.sources[0].read(place, None), lambda name: safe_name(name, scanner) == session.id
        ):
            yield replace(
                turn,
                standing=standing.get(turn.number, turn.standing),
                text=clean(turn.text),
                tool=clean(turn.tool) if turn.tool else turn.tool,
                side=clean(turn.side) if turn.side else turn.side,
                command=clean(turn.command) if turn.command else turn.command,
                arguments=clean(turn.arguments),
                output=clean(turn.output) if turn.output else turn.output,
                touches=tuple(replace(each, path=clean(each.path)) for each in turn.touches),
            )

    def search(self, words: str, which: Which, most: int, *, deep: bool = False) -> Sequence[SessionHits]:
        """Sessions that fit, each with its best turns."""
        return searching.search(self._tools, self._recall_models, words, which, most, self._clock(), deep=deep)

    def saying(self, text: str) -> Sequence[tuple[Session, int, str]]:
        """Turns that say something, by session and number, with the smallest parts of them that do."""
        found: builtins.list[tuple[Session, int, str]] = []
        for _, session, number, said in self._tools.index.saying(text, _MOST_SAYING):
            found += [(session, number, piece) for piece in pieces_with(said, text)]
        return found

    def drop_session(self, session: Session) -> None:
        """Take the transcript of a session out of the index; it is read anew, without what was forgotten."""
        place = self._tools.index.place_of(session)
        if place is not None:
            self._tools.index.drop([place.key])
            self._tools.index.purge()

    def unread(self, text: str) -> None:
        """Take the transcripts that say something out of the index; they are read anew, without what was forgotten."""
        keys = {key for key, *_ in self._tools.index.saying(text, _MOST_SAYING)}
        self._tools.index.drop(sorted(keys))
        if keys:
            self._tools.index.purge()

    def embed(self, seconds: float, progress: Progress | None = None) -> int:
        """Give turns that have none their vectors, for so long; how many are left."""
        return searching.embed(self._tools, self._recall_models, seconds, progress)

    def lacks_vectors(self, model: str) -> bool:
        """Whether turns may be without a vector of this model."""
        return self._tools.index.is_unembedded(model)

    @property
    def missing(self) -> str | None:
        """What a fuller search would have needed and could not be downloaded."""
        return self._recall_models.missing

    def stats(self, which: Which) -> Sequence[AgentCount]:
        """Every agent's share, and what reading came to."""
        return self._tools.index.counts(which)

    def days(self, which: Which) -> Sequence[tuple[str, str, int]]:
        """Turns by day and agent."""
        return self._tools.index.days(which)

    def how(self, question: str, which: Which, most: int) -> Sequence[CommandUse]:
        """How a thing is run, from commands that ran."""
        return searching.how(self._tools.index, question, which, most, self._clock())

    def fix(self, error: str, which: Which, most: int) -> Sequence[KnownFix]:
        """What helped against an error before."""
        return searching.fixes(self._tools.index, error, which, most)

    def leads_to(self, prompt: str, which: Which, most: int) -> Sequence[tuple[str, str]]:
        """The files that sessions like this request went on to change, seen from the project's folder, each with the id of a session
        that did; the likeliest first."""
        return searching.leads_to(self._tools, self.search(prompt, which, _LIKE_IT), most)

    def edited(self, session: Session) -> Sequence[tuple[str, int]]:
        """The files that a session changed, as it named them, each with in how many turns; most first."""
        return self._tools.index.edited(session)

    def paths(self, project: str, most: int) -> Sequence[tuple[str, str]]:
        """The files that a project's sessions worked on, as they named them, each with the folder that the session ran in; what most of
        them touched first."""
        return self._tools.index.paths(project, most)

    def learnt(self, which: Which, most: int) -> Sequence[PossibleExperience]:
        """What sessions showed that is worth telling again."""
        return searching.learnt(self._tools.index, which, most)

    def blame(self, path: str, which: Which, most: int, *, reads: bool = False) -> Sequence[FileVisit]:
        """Which sessions changed a file, and what had been asked for."""
        return searching.visits(self._tools.index, path, which, most, reads=reads)

    def is_active(self, session: Session) -> bool:
        """Whether an agent is at work in it: by its lock where it keeps one, else by how lately it was written to."""
        if session.closed:
            return False
        now = self._clock()
        if session.ended is None or now - session.ended > _LOCKS:
            return False
        for source in self._tools.sources:
            if source.agent == session.agent and (held := source.is_active(session)) is not None:
                return held
        return abs(now - session.ended) < _LATELY


def _joined(reading: Reading, is_own: Callable[[str], bool]) -> Iterator[Turn]:
    """Turns with their results, in order."""
    held: dict[int, Turn] = {}
    ours = False
    for event in reading:
        if isinstance(event, Began):
            ours = is_own(event.session.id)
        elif not ours:
            continue
        elif isinstance(event, Said):
            held[event.turn.number] = event.turn
            if len(held) > _HELD:
                yield held.pop(next(iter(held)))
        elif isinstance(event, Answered) and event.number in held:
            turn = held[event.number]
            held[event.number] = replace(
                turn,
                output=joined_output(turn.output, event),
                exit=event.exit if event.exit is not None else turn.exit,
                failed=event.failed if event.failed is not None else turn.failed,
                touches=tuple(dict.fromkeys((*turn.touches, *event.touches))),
            )
    yield from held.values()


_ODD = re.compile(r"[^0-9A-Za-z_.:-]+")


def place(home: str) -> Place:
    """Where it is kept which sessions are forgotten: a thread a line, and the file it was read from."""
    return Place(home, "global/.byheart/forgotten-sessions.txt")


def forgotten_threads(files: Files, home: str) -> dict[str, str]:
    """The threads that are forgotten, with their files."""
    found = {}
    for line in (files.read(place(home)).text or "").split("\n"):
        thread, _, path = line.partition("\t")
        if thread:
            found[thread] = path
    return found


def bury(files: Files, home: str, thread: str, path: str) -> None:
    """Note that a session is forgotten."""
    clean = path.replace("\n", " ").replace("\t", " ")
    files.append(place(home), f"{thread}\t{clean}\n", None)


def everything_forgotten(files: Files, home: str) -> list[Tombstone]:
    """The tombstones of all projects, and of all of them together: what is wanted gone is found in no session."""
    folders = [f"projects/{name}" for name in files.names(Place(home, "projects"))]
    texts = (files.read(Place(home, f"{folder}/.byheart/{FORGOTTEN}")).text or "" for folder in (*folders, "global"))
    return [stone for text in texts if text for stone in stones_in(text)]


class ForgettingScanner:
    """A scanner that also blanks out what somebody wants forgotten."""

    def __init__(self, scanner: Scanner, forgotten: Forgotten) -> None:
        self._scanner, self._forgotten = scanner, forgotten
        self.findings, self.secrets, self.unsafe_lines = scanner.findings, scanner.secrets, scanner.unsafe_lines

    @property
    def fingerprint(self) -> str:
        return self._scanner.fingerprint

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Where secrets and forgotten things stand, in order and not overlapping."""
        found = [*self._scanner.spans(text), *((start, end, "forgotten") for start, end in self._forgotten.spans(text))]
        merged: list[tuple[int, int, str]] = []
        for start, end, name in sorted(found):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end), merged[-1][2])
            else:
                merged.append((start, end, name))
        return merged

    def redacted(self, text: str) -> str:
        """The text without them."""
        parts: list[str] = []
        last = 0
        for start, end, name in self.spans(text):
            parts += (text[last:start], f"[REDACTED:{name}]")
            last = end
        return "".join((*parts, text[last:]))


class Seen:
    """A source without the transcripts of forgotten sessions."""

    def __init__(self, source: SessionSource, is_hidden: Callable[[Found], bool]) -> None:
        self._source, self._is_hidden = source, is_hidden

    @property
    def agent(self) -> str:
        return self._source.agent

    def found(self) -> Iterator[Found]:
        """Every transcript that may be looked at."""
        return (each for each in self._source.found() if not self._is_hidden(each))

    def read(self, found: Found, mark: Mark | None) -> Reading:
        """One transcript."""
        return self._source.read(found, mark)

    def is_active(self, session: Session) -> bool | None:
        """Whether a session goes on."""
        return self._source.is_active(session)


def without_forgotten(sources: Sequence[SessionSource], known: dict[str, str]) -> list[SessionSource]:
    """Sources that do not show forgotten sessions."""
    if not any(known.values()):
        return list(sources)
    by_path: dict[str, list[str]] = {}
    for thread, path in known.items():
        by_path.setdefault(path, []).append(thread)

    def is_hidden(found: Found) -> bool:
        threads = by_path.get(found.path, [])
        # Of a store that holds many sessions, only the one that is meant.
        return bool(threads) and (not found.part or any(each.startswith(_ODD.sub("_", found.part)) for each in threads))

    return [Seen(each, is_hidden) for each in sources]
