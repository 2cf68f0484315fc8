"""Every parser on mutated transcripts: no exception, no odd shape, nothing lost uncounted. `make fuzz` runs 20,000 each."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from byheart.agents.reading import passes as reading_module
from byheart.domain.sessions import Found, SessionSource, Turn
from byheart.language import lasting
from byheart.sessions.clipping import cleaned
from byheart.sessions.facts import commands, errors
from byheart.storage.scanners.scanner import RuleScanner
from tests.agents.homes import NAMES, every_transcript, home, taken

SCANNER = RuleScanner()
EXAMPLES = int(os.environ.get("EXAMPLES", "40"))
# Only in `make fuzz`: an input that takes this much of a processor is a fault.
SLOW = 2.0 if "FUZZ" in os.environ else None
Corpus = dict[str, list[tuple[SessionSource, Found, bytes]]]
ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**18,
    "",
    "x",
    "\u0000",
    "\ud83d",
    "<task>" * 50,
    "../../etc/passwd",
    [],
    [[]],
    {},
    {"type": {}},
    [None],
    {"text": []},
    "2026-13-45T99:99:99Z",
    "9" * 400,
]
TOKENS = [
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b"\n",
    b"\\",
    b"\\ud800",
    b"\xff\xfe",
    b"\x00",
    b"NaN",
    b"null",
    b'{"a":' * 300,
    b"[" * 2000,
    b"```\n",
    b"#### ",
    b"> ",
    b"_**User**_\n",
    b"<tool-use",
    b"# aider chat started at 2026-05-04 10:00:00\n",
    b"</details>",
    b"-----BEGIN RSA PRIVATE KEY-----\n",
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """All hand-written transcripts, found as a user's would be, with their bytes."""
    folder = tmp_path_factory.mktemp("corpus")
    found: Corpus = {}
    for name in NAMES:
        for source, each in every_transcript(home(name, folder)):
            found.setdefault(name, []).append((source, each, Path(each.path).read_bytes()))
    return found


def mutated(content: bytes, seed: int, times: int) -> bytes:
    """A transcript with a few things wrong: bytes, lines, or values inside its JSON."""
    dice = random.Random(seed)
    for _ in range(times):
        at, end = sorted(dice.randrange(len(content) + 1) for _ in range(2))
        end = min(end, at + 400)
        match dice.randrange(8):
            case 0:
                content = content[:at] + bytes([dice.randrange(256)]) + content[at + 1 :]
            case 1:
                content = content[:at] + content[end:]
            case 2:
                content = content[:end] + content[at:end] * dice.randrange(1, 4) + content[end:]
            case 3:
                content = content[:at] + dice.choice(TOKENS) + content[at:]
            case 4:
                content = content[:at]
            case 5:
                rows = content.split(b"\n")
                dice.shuffle(rows)
                content = b"\n".join(rows)
            case _:
                content = with_odd_value(content, dice)
    return content


def with_odd_value(content: bytes, dice: random.Random) -> bytes:
    """One value somewhere in the JSON replaced, taken away, or put where another was."""
    if content.startswith(b"SQLite format 3"):
        return with_odd_cell(content, dice)
    rows = (
        content.split(b"\n")
        if content.count(b"\n") > 2 and content[:1] == b"{" and content[1:2] != b"\n"
        else [content]
    )
    place = dice.randrange(len(rows))
    try:
        value = json.loads(rows[place])
    except (ValueError, RecursionError):
        return content
    spots: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, each in pairs:
            spots.append((node, key))
            walk(each)

    walk(value)
    if not spots:
        return content
    node, key = dice.choice(spots)
    if dice.randrange(4) == 0 and isinstance(node, dict):
        del node[key]
    else:
        node[key] = dice.choice(ODD)
    rows[place] = json.dumps(value).encode("utf-8", "surrogatepass")
    return b"\n".join(rows)


def checked(turn: Turn) -> None:
    """What is done with every turn must not raise either."""
    for text in (turn.text, turn.output or "", turn.arguments):
        text.encode("utf-8")
        cleaned([text], [(200, 100)], SCANNER)
        errors.errors_in(text)
        lasting.of_words(text, follows_work=True)
        lasting.of_result(text)
    if turn.command is not None:
        commands.form_of(turn.command)
        commands.judged(turn.command, None, turn.output or "")
        commands.judged(turn.command, True, turn.output or "")
        commands.program_of(turn.command)


def with_odd_cell(content: bytes, dice: random.Random) -> bytes:
    """A store in which a cell holds something else, JSON inside a cell is odd, or a column, a row or a table is missing."""
    store = sqlite3.connect(":memory:", isolation_level=None)
    try:
        store.deserialize(content)
        tables = [row[0] for row in store.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        table = dice.choice(tables)
        column = dice.choice([row[1] for row in store.execute(f'PRAGMA table_info("{table}")')])
        match dice.randrange(8):
            case 0:
                store.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO something_else')
            case 1:
                store.execute(f'DELETE FROM "{table}" WHERE rowid % 2 = ?', (dice.randrange(2),))
            case 2:
                store.execute(f'DROP TABLE "{table}"')
            case _:
                [(key, old)] = store.execute(
                    f'SELECT rowid, "{column}" FROM "{table}" ORDER BY random() LIMIT 1'
                ).fetchall()
                fresh: Any = dice.choice(
                    [None, 0, -1, 1.5, "", "x", b"\xff\x00", "{}", "[[]]", "null", 2**62, "9" * 400]
                )
                if isinstance(old, str) and old[:1] in ("{", "[") and dice.random() < 0.8:
                    fresh = with_odd_value(old.encode(), dice).decode("utf-8", "replace")
                store.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE rowid = ?', (fresh, key))
        return bytes(store.serialize())
    except (sqlite3.Error, IndexError, ValueError):
        return content
    finally:
        store.close()


@pytest.mark.parametrize("name", NAMES)
def test_mutated_transcripts_are_read_to_the_end(name: str, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    transcripts = corpus[name]

    @given(which=st.integers(0, len(transcripts) - 1), seed=st.integers(0, 2**32), times=st.integers(1, 6))
    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def attack(which: int, seed: int, times: int) -> None:
        source, found, content = transcripts[which]
        Path(found.path).write_bytes(mutated(content, seed, times))
        began = time.process_time()
        for read in taken(source.read(found, None)).values():
            for turn in read.turns.values():
                checked(turn)
        if SLOW:
            assert time.process_time() - began < SLOW

    # Without the net that catches odd shapes: here they are faults.
    monkeypatch.setattr(reading_module, "ODD", ())
    try:
        attack()
    finally:
        for _, found, content in transcripts:
            Path(found.path).write_bytes(content)
