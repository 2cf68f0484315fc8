"""Opens the citation of every line that sessions taught and looks whether the cited turns hold what the line says.

    python scripts/citations.py --data FOLDER [--project NAME]

FOLDER holds streams of sessions (see `byheart bench replay --help`). Prints each line that says something its turns do not hold, then a
table, and last one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from byheart.agents.agent import FolderSource
from byheart.app.open import Surroundings, open_memory
from byheart.app.sessions import open_learning
from byheart.bench.streams import projects
from byheart.domain.handbook import Bullet, Extract
from byheart.domain.sessions import Caps, Turn
from byheart.handbook.raw import parsed_raw
from byheart.learning.learning import Learning, Wanted
from byheart.sessions.facts.commands import ANSI
from byheart.sessions.refresh import SessionTools
from byheart.sessions.sessions import Sessions
from byheart.storage.index.sqlite import SqliteIndex
from byheart.storage.scanners.scanner import RuleScanner

_PIECE = re.compile(r"`([^`]+)`|\"([^\"]{3,})\"")
_SPACE = re.compile(r"[\s`'\"\\…]+")
# What is counted over a session, and what is made of a line's own words.
_COUNTED = re.compile(r" here \(worked \d+ of \d+.*$|; last: .*$")
_SAID = re.compile(r" (?:said|asked|corrected): \"")
# How much of an agent's sentence its turn has to hold: emphasis and links are taken out of it.
_HELD = 0.85


def plain(text: str) -> str:
    """A text as it is compared: without how it is quoted, spaced, cut or written large."""
    return _SPACE.sub(" ", ANSI.sub("", text)).strip().casefold()


def held_by(turn: Turn) -> str:
    """Everything that a turn holds."""
    touched = " ".join(touch.path for touch in turn.touches)
    return plain(" ".join((turn.text or "", turn.command or "", turn.output or "", touched)))


def missing(line: Bullet, turns: Mapping[int, Turn]) -> list[str]:
    """The pieces of a line that its cited turns do not hold, nor any between the first and the last of them."""
    if not line.turns:
        return []
    first, last = min(line.turns), max(line.turns)
    whole = " ".join(held_by(turn) for number, turn in sorted(turns.items()) if first <= number <= last)
    text = _COUNTED.sub("", line.text)
    # The situation is named after the task, and what follows a quotation is made of it.
    said = _SAID.search(text)
    told = text[said.start() :].partition(" -> ")[0] if said else text
    pieces = [one or other for one, other in _PIECE.findall(told)]
    lost = [piece for piece in pieces if not _is_held(piece, whole)]
    if text.startswith("agent's finding: "):
        words = re.findall(r"\w{3,}", plain(text.partition(": ")[2]))
        if sum(word in whole for word in words) < _HELD * len(words):
            lost.append(text)
    return lost


def _is_held(piece: str, whole: str) -> bool:
    """Whether a text holds a piece: whole, or in its parts where it was cut or put together of several."""
    if plain(piece) in whole:
        return True
    # FILE and TEXT stand for what a command was given, and a mark for what was taken out.
    parts = [plain(part) for part in re.split(r"…|\s&&\s|\s;\s|\s->\s|FILE|TEXT|\[REDACTED[^\]]*\]", piece)]
    words = re.findall(r"\w{3,}", plain(piece))
    return all(part in whole for part in parts if part) or (len(words) > 2 and all(word in whole for word in words))


def wrong(extract: Extract, turns: Mapping[int, Turn]) -> Iterator[tuple[Bullet, list[str]]]:
    """The lines of an extract that say something their turns do not hold, each with that."""
    for task in extract.tasks:
        for line in (*task.preferences, *task.knowledge, *task.failures, *task.references):
            if lost := missing(line, turns):
                yield line, lost


def checked(learning: Learning, every: Sessions) -> tuple[int, list[tuple[str, Bullet, list[str]]]]:
    """How many cited lines the handbooks of a home rest on, and those whose citation does not hold them."""
    count = 0
    found: list[tuple[str, Bullet, list[str]]] = []
    for _, written in learning.taught():
        for each in written:
            extract = parsed_raw(each.raw_memory)
            turns = {turn.number: turn for turn in every.turns(every.find(each.thread.id).session)}
            lines = [line for task in extract.tasks for line in (*task.preferences, *task.knowledge, *task.failures, *task.references)]  # fmt: skip
            count += sum(bool(line.turns) for line in lines)
            found += [(each.thread.id, line, lost) for line, lost in wrong(extract, turns)]
    return count, found


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--project", action="append", default=[])
    given = parser.parse_args(arguments)
    rows: list[dict[str, object]] = []
    for repo, streams in projects(given.data, given.project):
        with tempfile.TemporaryDirectory() as folder:
            transcripts = os.path.join(folder, "sessions")
            os.makedirs(transcripts)
            os.makedirs(os.path.join(folder, "project"))
            for stream in streams:
                name = stream.file.replace("/events.jsonl", "-events.jsonl").rsplit("/", 1)[-1]
                with open(os.path.join(transcripts, name), "wb") as opened:
                    opened.write(stream.content)
            environment = {"HOME": folder, "BYHEART_HOME": os.path.join(folder, "home"), "BYHEART_CHILD": "1"}
            around = Surroundings(
                folder=os.path.join(folder, "project"),
                environment=environment,
                flags=("recall.embedder=none", "learning.workers=1"),
                clock=lambda: datetime(2026, 11, 1, tzinfo=UTC),
            )
            memory = open_memory(around)
            index = SqliteIndex(os.path.join(memory.home, "state", "index.db"))
            tools = SessionTools(
                sources=[FolderSource((transcripts,), Caps())],
                index=index,
                scanner=RuleScanner(),
                project_of=lambda *_, own=memory.project.id: own,
            )
            every = Sessions(tools, around.clock, None)
            every.refresh()
            learning = open_learning(memory, around, every)
            learning.learn(Wanted())
            count, found = checked(learning, every)
        for thread, line, lost in found:
            print(f"{repo} {thread[:8]} {line.turns}: {line.text[:300]}\n    not held: {lost}", file=sys.stderr)
        rows.append({"project": repo, "lines": count, "wrong": len(found)})
        print(f"{repo:40} {count:6} lines {len(found):4} wrong", flush=True)
    print(json.dumps({"rows": rows, "wrong": sum(int(str(row["wrong"])) for row in rows)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
