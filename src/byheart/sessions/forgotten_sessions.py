"""Sessions that somebody wants forgotten: their transcripts are their agents', but nothing of ours looks at them any more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.domain.roots import Place
from byheart.workspace.ledger import FORGOTTEN, stones_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from byheart.domain.ports import Files, Scanner
    from byheart.domain.sessions import Found, Mark, Reading, Session, SessionSource
    from byheart.workspace.tombstones import Forgotten, Tombstone

_ODD = re.compile(r"[^0-9A-Za-z_.:-]+")


def place(home: str) -> Place:
    """Where it is kept which sessions are forgotten: a thread a line, and the file it was read from."""
    return Place(home, "global/.byheart/forgotten-sessions.txt")


def forgotten(files: Files, home: str) -> dict[str, str]:
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
