"""Labelled sets for measuring recall, read from a folder that the user names. Each becomes sessions like any others."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from typing import Any

from byheart.domain.errors import BadInput
from byheart.domain.sessions import Began, Event, Found, Mark, Said, Session, Speaker, Tally, Turn
from byheart.domain.values import dataclass

_MONTHS = "january february march april may june july august september october november december".split()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, with the turns or sessions that answer it. A turn is named `session#number`."""

    text: str
    kind: str
    today: date | None
    turns: frozenset[str]
    sessions: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """What is searched at once, and what is asked of it."""

    name: str
    sessions: Sequence[tuple[Session, Sequence[Turn]]]
    questions: Sequence[Asked]
    # Where the sessions are not given in the set itself, the transcripts they are read from.
    files: Sequence[str] = ()


class Given:
    """A source of sessions that are in memory already."""

    agent = "bench"

    def __init__(self, sessions: Sequence[tuple[Session, Sequence[Turn]]]) -> None:
        self._sessions = {session.id: (session, turns) for session, turns in sessions}

    def found(self) -> Iterator[Found]:
        for name in self._sessions:
            yield Found(agent=self.agent, path=f"/bench/{name}", size=1, modified=1)

    def read(self, found: Found, mark: Mark | None) -> Told:  # noqa: ARG002 - as the port has it
        return Told(*self._sessions[found.path.removeprefix("/bench/")])

    def is_active(self, session: Session) -> bool | None:  # noqa: ARG002
        return False


class Told:
    """A session as a reader would tell it."""

    fresh = True
    mark: Mark | None = None

    def __init__(self, session: Session, turns: Sequence[Turn]) -> None:
        self._session, self._turns, self.tally = session, turns, Tally()

    def __iter__(self) -> Iterator[Event]:
        yield Began(self._session)
        for turn in self._turns:
            yield Said(turn)


def locomo(folder: str) -> list[Corpus]:
    """LoCoMo: long conversations of two people. Each is searched by itself."""
    found = []
    for place, sample in enumerate(_document(folder, "locomo_dev.json.gz")):
        talk = sample["conversation"]
        sessions, known = [], set()
        number = 1
        while f"session_{number}_date_time" in talk:
            at = _spoken_date(talk[f"session_{number}_date_time"])
            turns = []
            for said in talk.get(f"session_{number}", ()):
                turn = int(said["dia_id"].split(":")[1])
                caption = f" [image: {said['blip_caption']}]" if said.get("blip_caption") else ""
                turns.append(_turn(turn, said["text"] + caption, at, name=said["speaker"]))
                known.add(f"{number}#{turn}")
            sessions.append((Session(id=str(number), agent="bench", started=at), turns))
            number += 1
        questions = []
        for asked in sample["qa"]:
            cited = re.findall(r"D:?(\d+):(\d+)", " ".join(asked.get("evidence", ())))
            gold = frozenset(name for a, b in cited if (name := f"{a}#{b}") in known)
            if gold:
                questions.append(
                    Asked(
                        text=asked["question"],
                        kind=f"category {asked['category']}",
                        today=sessions[-1][0].started.date() if sessions[-1][0].started else None,
                        turns=gold,
                        sessions=frozenset(name.split("#")[0] for name in gold),
                    )
                )
        found.append(Corpus(name=f"locomo {place + 1}", sessions=sessions, questions=questions))
    return found


def longmemeval(folder: str) -> list[Corpus]:
    """LongMemEval: chats with an assistant, all of them in one pool."""
    sessions = []
    for row in _rows(folder, "longmemeval_sessions.jsonl.gz"):
        at = _written_date(row["date"])
        turns = [
            _turn(place + 1, said["content"], at, speaker="user" if said["role"] == "user" else "assistant")
            for place, said in enumerate(row["turns"])
        ]
        sessions.append((Session(id=row["session_id"], agent="bench", started=at), turns))
    questions = [
        Asked(
            text=row["question"],
            kind=row["type"],
            today=_written_date(row["date"]).date(),
            turns=frozenset(),
            sessions=frozenset(row["gold_sessions"]),
        )
        for row in _rows(folder, "longmemeval_queries_dev.jsonl.gz")
        if row["gold_sessions"]
    ]
    return [Corpus(name="longmemeval", sessions=sessions, questions=questions)]


def agent_sessions(folder: str, transcripts: Sequence[str]) -> list[Corpus]:
    """Statements about real coding sessions, to be found in the sessions' own transcripts."""
    rows = list(_rows(folder, "agent_sessions_queries_dev.jsonl.gz"))
    project = {row["repo"].replace("/", "+") for row in rows}
    files = [path for path in transcripts if any(name in os.path.basename(path) for name in project)]
    questions = [
        Asked(
            text=row["query"],
            kind=row["kind"],
            today=None,
            turns=frozenset(),
            sessions=frozenset({row["gold_session"]}),
        )
        for row in rows
    ]
    return [Corpus(name="agent sessions", sessions=(), questions=questions, files=files)]


def _turn(number: int, text: str, at: datetime, *, speaker: str = "user", name: str | None = None) -> Turn:
    return Turn(number=number, role=speaker, speaker=Speaker(speaker), text=text, at=at, name=name)


def _spoken_date(text: str) -> datetime:
    match = re.search(r"(\d{1,2}) (\w+), (\d{4})", text)
    if match is None:
        raise BadInput(f"{text!r} is no date of this set")
    return datetime(int(match[3]), _MONTHS.index(match[2].lower()) + 1, int(match[1]), 12, tzinfo=UTC)


def _written_date(text: str) -> datetime:
    year, month, day = text.split(" ")[0].split("/")
    return datetime(int(year), int(month), int(day), 12, tzinfo=UTC)


def _rows(folder: str, name: str) -> Iterator[dict[str, Any]]:
    path = os.path.join(folder, name)
    try:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            for line in stream:
                yield json.loads(line)
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read: {error}") from None


def _document(folder: str, name: str) -> Any:
    path = os.path.join(folder, name)
    try:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read: {error}") from None
