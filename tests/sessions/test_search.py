"""Sessions found by what was meant in them, and by who said it when; vectors come later and go with their turns."""

from __future__ import annotations

import json
import sqlite3
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from byheart.domain.sessions import Which
from byheart.search import order
from byheart.search.models import RecallModels
from byheart.sessions import search
from byheart.sessions.refresh import SessionTools, refresh
from byheart.storage.embedders.local import BuiltinEmbedder
from byheart.testing import Bench
from tests.conftest import Cli
from tests.sessions.test_refresh import tools

NOW = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.fixture(scope="module")
def recall_models(tmp_path_factory: pytest.TempPathFactory) -> RecallModels:
    model = BuiltinEmbedder(str(tmp_path_factory.mktemp("models")))
    return RecallModels(lambda: model)


def said(number: int, role: str, text: str, day: str) -> str:
    message = {"role": role, "content": text}
    row = {
        "type": role,
        "uuid": f"{number:08x}-{zlib.crc32(text.encode()):08x}",
        "timestamp": f"{day}T10:00:00Z",
        "message": message,
    }
    return json.dumps(row) + "\n"


def write(folder: Path, name: str, *rows: str) -> Path:
    path = folder / ".claude" / "projects" / "p" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(rows), encoding="utf-8")
    return path


@pytest.fixture
def held(tmp_path: Path) -> SessionTools:
    write(
        tmp_path,
        "logins",
        said(1, "user", "People get thrown out of their accounts after a minute", "2026-03-02"),
        said(2, "assistant", "The session cookie expires too early; I will lengthen it.", "2026-03-02"),
    )
    write(
        tmp_path,
        "bread",
        said(1, "user", "The oven timer rings too late for the rye loaves", "2026-05-02"),
        said(2, "assistant", "I will start the clock when the door closes.", "2026-05-02"),
    )
    found = tools(tmp_path, tmp_path / "state" / "index.db")
    refresh(found)
    return found


def best(held: SessionTools, recall_models: RecallModels, asked: str) -> str | None:
    found = search.search(held, recall_models, asked, Which(), 5, NOW)
    return found[0].session.id if found else None


def test_other_words_find_the_session_once_it_has_vectors(held: SessionTools, recall_models: RecallModels) -> None:
    asked = "users are logged off unexpectedly"
    assert best(held, RecallModels(), asked) is None
    assert search.embed(held, recall_models, 60) == 0
    assert best(held, recall_models, asked) == "logins"
    assert best(held, recall_models, "baking alarm is delayed") == "bread"
    assert not held.index.is_unembedded(recall_models.embedder.id if recall_models.embedder else "")


def test_a_turn_that_goes_takes_its_vector_along(
    held: SessionTools, recall_models: RecallModels, tmp_path: Path
) -> None:
    search.embed(held, recall_models, 60)
    write(tmp_path, "logins", said(9, "user", "Nothing but the weather", "2026-03-03"))
    refresh(held)
    found = search.ranked(held, recall_models, "users are logged off unexpectedly", Which(), NOW)
    assert all("accounts" not in each.candidate.turn.text for each in found)
    assert search.embed(held, recall_models, 60) == 0
    assert best(held, recall_models, "is it raining outside") == "logins"


def test_time_and_speaker_are_hints(held: SessionTools, recall_models: RecallModels) -> None:
    search.embed(held, recall_models, 60)
    for asked, wanted in (("too early or too late in March", "logins"), ("too early or too late in May", "bread")):
        assert best(held, recall_models, asked) == wanted
    found = search.ranked(held, recall_models, "what did I say about the timer", Which(), NOW)
    assert found[0].candidate.turn.speaker == "user"


def test_the_command_makes_vectors_and_says_what_is_left(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "logins", said(1, "user", "People get thrown out of their accounts after a minute", "2026-03-02"))
    assert "logins" not in cli("sessions", "search", "users are logged off unexpectedly").out
    done = cli("sessions", "embed", "--json")
    assert (done.code, done.json) == (0, {"left": 0, "records": 0})
    shown = cli("sessions", "search", "--explain", "users are logged off unexpectedly").out
    assert "logins" in shown and "meaning" in shown


def test_without_a_model_the_command_says_so(cli: Cli) -> None:
    done = cli("--set", "recall.embedder=static", "sessions", "embed")
    assert done.code == 5 and "word vectors" in done.err


def test_a_close_reading_moves_sessions_too(held: SessionTools) -> None:
    found = search.ranked(held, RecallModels(), "too early or too late", Which(), NOW)
    before = order.grouped(found)
    assert len(before) == 2
    # A reader who likes just what came last.
    read = [float(place) for place in range(len(found))]
    after = order.grouped(order.reranked_turns(found, read, 1.0))
    assert after[0].turns[0].candidate.turn.text == found[-1].candidate.turn.text
    assert order.reranked_turns(found, read, 0.0)[0].score == pytest.approx(found[0].score)


def test_a_file_that_is_asked_for_brings_up_who_worked_on_it(tmp_path: Path) -> None:
    write(tmp_path, "other", said(1, "user", "what happened to the ticket machine in the hall", "2026-03-01"))
    edit = {
        "type": "tool_use",
        "id": "c1",
        "name": "Edit",
        "input": {"file_path": "/r/src/turnstile.py", "new_string": "x"},
    }
    row = {
        "type": "assistant",
        "uuid": "f00",
        "timestamp": "2026-03-02T10:00:00Z",
        "message": {"role": "assistant", "content": [edit]},
    }
    write(tmp_path, "gate", said(1, "user", "people cannot get in", "2026-03-02"), json.dumps(row) + "\n")
    held = tools(tmp_path, tmp_path / "index.db")
    refresh(held)
    for asked in ("what happened to src/turnstile.py", "turnstile.py:12", r"C:\r\src\turnstile.py"):
        found = search.search(held, RecallModels(), asked, Which(), 3, NOW)
        assert found[0].session.id == "gate", asked
        assert "file" in found[0].turns[0].factors


def test_another_model_makes_all_vectors_anew(cli: Cli, bench: Bench) -> None:
    bench.memory.journal().append({"text": "the harbour master is called Ines"})
    write(Path(bench.folder), "s", said(1, "user", "People get thrown out of their accounts", "2026-03-02"))
    for embedder, again in (("sha1", 1), ("builtin", 1), ("sha1", 1), ("sha1", 0)):
        assert cli("--set", "recall.embedder=none", "recall", "harbour").code == 0
        done = cli("--set", f"recall.embedder={embedder}", "sessions", "embed", "--json")
        assert done.json == {"left": 0, "records": again}, done.err
        with sqlite3.connect(Path(bench.home) / "state" / "index.db") as db:
            models = db.execute("SELECT DISTINCT m.name FROM vector v JOIN model m ON m.n = v.model").fetchall()
            assert len(models) == 1 and ("sha1" in models[0][0]) == (embedder == "sha1")
            assert db.execute("SELECT count(*) FROM vector").fetchone()[0] == 2
