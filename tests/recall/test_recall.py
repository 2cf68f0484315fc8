"""Recall as a user meets it: other words, other scripts, exact names, nothing at all; and what must never be found."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from byheart.app.memory import Memory
from byheart.app.sessions import embedded_records
from byheart.domain.records import Scope
from byheart.search.models import KEYWORDS
from byheart.testing import Bench
from tests.conftest import Cli

HERE = Path(__file__).parent
PAIRS = [line.split(" | ") for line in (HERE / "paraphrases.txt").read_text(encoding="utf-8").splitlines()]
NOTHING = (HERE / "nothing.txt").read_text(encoding="utf-8").splitlines()


def journal_line(number: int, text: str, **more: object) -> str:
    return f"- {json.dumps({'id': f'r{number}', 'sessionId': 'main', 'category': 'note', 'text': text, **more})}\n"


@pytest.fixture(scope="module")
def hundred(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """A memory of a hundred things about coding."""
    bench = Bench(str(tmp_path_factory.mktemp("hundred")))
    bench.put("MEMORY.md", "".join(journal_line(number, text) for number, (text, _) in enumerate(PAIRS)))
    opened = bench.opened()
    assert opened.memory.recall("so that they are in the index").missing == KEYWORDS
    assert embedded_records(opened) == len(PAIRS)
    return opened.memory


def test_first_answer_goes_by_words_and_says_so_until_all_records_have_vectors(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path))
    bench.put("MEMORY.md", "".join(journal_line(number, f"fact {number} about the oven") for number in range(40)))
    opened = bench.opened()
    before = opened.memory.recall("the oven")
    assert before.hits and before.missing == KEYWORDS
    embedded_records(opened)
    assert opened.memory.recall("the oven").missing != KEYWORDS


def test_other_words_find_what_is_meant(hundred: Memory) -> None:
    hits = sum(text in [hit.record.text for hit in hundred.recall(asked).hits] for text, asked in PAIRS)
    assert hits >= 60, hits


def test_own_words_find_it_first(hundred: Memory) -> None:
    for text, _ in PAIRS:
        found = hundred.recall(text)
        assert found.hits[0].record.text == text and found.is_sure


def test_a_question_about_nothing_that_is_stored_is_told_so(hundred: Memory) -> None:
    told = [found for asked in NOTHING if not (found := hundred.recall(asked)).hits or not found.is_sure]
    assert len(told) >= 0.95 * len(NOTHING)


def test_reading_closely_finds_at_least_as_much(hundred: Memory) -> None:
    found = hundred.recall("which tool is for linting our code", deep=True)
    assert found.hits[0].record.text == "Use ruff for formatting and linting, not black or flake8."
    assert "read" in found.hits[0].factors


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("用户喜欢在终端使用深色主题", "深色主题"),
        ("テストは毎晩サーバーで実行される", "テストの実行"),
        ("배포는 금요일에 하지 않는다", "금요일 배포"),
        ("Развёртывание по пятницам запрещено", "развёртывания в пятницу"),
        ("لا يسمح بالنشر يوم الجمعة", "النشر الجمعة"),
        ("استقرار در روز جمعه ممنوع است", "استقرار جمعه"),
        ("ship only with 🚀 in the title", "🚀"),
        ("the handler is called onUserSignedIn", "onUserSignedIn"),
        ("the handler is called onUserSignedIn", "user signed in handler"),
        ("it fails with ERR_MODULE_NOT_FOUND in tsx", "ERR_MODULE_NOT_FOUND"),
        ("config lives in deploy/k8s/values-prod.yaml", "deploy/k8s/values-prod.yaml"),
        ("tenant 7c9e6679-7425-40de-944b-e07fc1f90ae7 is the demo one", "7c9e6679-7425-40de-944b-e07fc1f90ae7"),
    ],
)
def test_every_script_and_every_name_is_found_by_itself(text: str, asked: str, tmp_path: Path) -> None:
    bench = Bench(str(tmp_path))
    others = ["Deploys need a ticket.", "Tests run in CI.", "User names are unique.", "Never push to main."]
    bench.put("MEMORY.md", "".join(journal_line(place, each) for place, each in enumerate([*others, text])))
    found = bench.memory.recall(asked)
    assert found.hits[0].record.text == text


def test_quoted_words_win_over_the_same_words_apart(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path))
    texts = ["Build the docker image, then run the release.", "The command is release build, nothing else."]
    bench.put("MEMORY.md", "".join(journal_line(place, each) for place, each in enumerate(texts)))
    assert bench.memory.recall('"release build"').hits[0].record.text == texts[1]


def test_what_was_just_written_is_found_and_what_was_edited_is_not_found_as_it_was(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path))
    bench.remember("I prefer tabs over spaces in Go files")
    memory = bench.memory
    assert memory.recall("indentation in Go").hits
    page = bench.path("yaml-block")
    text = Path(page).read_text(encoding="utf-8")
    Path(page).write_text(text.replace("tabs over spaces in Go", "oatmeal over porridge in winter"), encoding="utf-8")
    # The same door, still open: what a person saved in an editor counts at once.
    assert "oatmeal" in memory.recall("breakfast oatmeal").hits[0].record.text
    assert not any("tabs" in hit.record.text for hit in memory.recall("tabs over spaces in Go files").hits)


def state_bytes(bench: Bench) -> bytes:
    folder = Path(bench.home) / "state"
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_forgotten_and_secret_records_are_nowhere_in_the_index(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path))
    bench.remember("I prefer zanzibar themes everywhere")
    provenance = {"sourceChannel": "operator", "confidence": 1, "sensitivity": "secret"}
    bench.put(
        "MEMORY.md", journal_line(1, "The quixotic launch code word", provenance=provenance) + journal_line(2, "Plain")
    )
    memory = bench.memory
    assert memory.recall("zanzibar").hits
    assert b"zanzibar" in state_bytes(bench) and b"quixotic" not in state_bytes(bench)
    for asked in ("quixotic", "launch code", '"quixotic launch code word"', "r1"):
        assert not any("quixotic" in hit.record.text for hit in memory.recall(asked).hits)
    memory.forget(memory.recall("zanzibar").hits[0].id)
    assert b"zanzibar" not in state_bytes(bench)
    assert not memory.recall("zanzibar themes").hits


def test_a_secret_that_a_person_wrote_by_hand_does_not_reach_the_index(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    bench = Bench(str(tmp_path))
    bench.put("MEMORY.md", journal_line(1, f"the deploy token is {token} for now"))
    found = bench.memory.recall("deploy token")
    assert found.hits and token not in found.hits[0].record.text
    assert token.encode() not in state_bytes(bench)


def test_deleting_the_index_loses_nothing(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path))
    bench.remember("I prefer pnpm over npm")
    before = bench.memory.recall("package manager").hits
    for name in os.listdir(os.path.join(bench.home, "state")):
        os.unlink(os.path.join(bench.home, "state", name))
    after = bench.memory.recall("package manager").hits
    assert [(hit.id, hit.record) for hit in after] == [(hit.id, hit.record) for hit in before]


def test_an_index_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path))
    bench.remember("I prefer pnpm over npm")
    Path(bench.home, "state").write_text("in the way")
    assert bench.memory.recall("pnpm").hits


def test_while_memory_is_switched_off_no_index_is_kept(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path))
    bench.remember("I prefer pnpm over npm")
    off = Bench(str(tmp_path), flags=("memory.enabled=false",))
    assert off.memory.recall("pnpm").hits
    assert not Path(bench.home, "state").exists()


def test_another_projects_records_are_not_found(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path))
    bench.remember("I prefer pnpm over npm")
    assert bench.memory.recall("pnpm").hits
    other = Bench(str(tmp_path))
    other.clock.move(days=1)
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".git").mkdir(parents=True)
    from byheart.app.open import Surroundings, open_memory

    around = Surroundings(folder=str(elsewhere), environment=bench.environment, clock=bench.clock)
    assert not open_memory(around).memory.recall("pnpm").hits
    assert open_memory(around).memory.recall("pnpm", scopes=(Scope.GLOBAL,)).hits == ()


def test_without_the_weights_words_still_find_and_it_is_said_once(cli: Cli, tmp_path: Path) -> None:
    cli("remember", "I prefer pnpm over npm")
    missing = {"--set": "recall.embedder=static"}
    first = cli(*(part for pair in missing.items() for part in pair), "recall", "pnpm")
    again = cli(*(part for pair in missing.items() for part in pair), "recall", "pnpm")
    assert first.code == again.code == 0
    assert "pnpm" in first.out and "word vectors" in first.err
    assert "pnpm" in again.out and "word vectors" not in again.err


def test_explaining_shows_every_factor(cli: Cli) -> None:
    cli("remember", "I prefer pnpm over npm")
    shown = cli("recall", "--explain", "pnpm").out
    assert all(name in shown for name in ("words", "meaning", "confidence", "recency", "project"))


def test_what_was_asked_for_before_ranks_a_little_higher(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=("recall.embedder=none",))
    memory = bench.memory
    memory.journal().append({"text": "the lantern of the north pier is green"})
    first = memory.recall("north pier lantern").hits[0]
    assert first.factors["use"] == 0
    for _ in range(4):
        bench.memory.recall("lantern north pier green")
    used = bench.memory.recall("lantern of the north pier").hits[0].factors["use"]
    assert 0.01 <= used <= 0.015
    # Only handles are noted, and not for ever.
    noted = next(Path(bench.home).rglob("uses.txt"))
    assert set(noted.read_text(encoding="utf-8").split()) == {bench.clock().date().isoformat(), first.id}
    noted.write_text("2026-01-01 abcdef01\n" * 4_000, encoding="utf-8")
    bench.memory.recall("pier lantern")
    assert noted.stat().st_size < 60_000 and first.id in noted.read_text(encoding="utf-8")


def test_nothing_is_noted_while_memory_is_off(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=("recall.embedder=none",))
    bench.memory.journal().append({"text": "the lantern of the north pier is green"})
    off = Bench(str(tmp_path), flags=(*bench.flags, "memory.enabled=false"))
    assert off.memory.recall("north pier lantern").hits
    assert not list(Path(bench.home).rglob("uses.txt"))
