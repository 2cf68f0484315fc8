"""What careful users and attackers found once, and must not find again."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from byheart.app.open import Surroundings, open_memory
from byheart.domain.errors import ByheartError
from byheart.domain.records import Request
from byheart.domain.results import Finding
from byheart.storage.scanners.scanner import RuleScanner
from byheart.testing import Bench
from byheart.text.questions import question
from tests.conftest import Cli

WORDS = ("recall.embedder=none",)
ON = (*WORDS, "journal.experience_store_enabled=true")
TOKEN = "ghp_" + "Zk3Lr9Qw7Xc1Vb5Nm2Tp8Yd4Hf6Jg0Sa2Xy9"


def everything(bench: Bench) -> bytes:
    return b"".join(path.read_bytes() for path in Path(bench.home).rglob("*") if path.is_file())


def indexed(bench: Bench) -> bytes:
    """Every byte of the index, its log and the files beside it."""
    return b"".join(path.read_bytes() for path in Path(bench.home, "state").glob("index.db*"))


def texts(bench: Bench, asked: str) -> list[str]:
    return [hit.record.text for hit in bench.memory.recall(asked).hits]


def put_line(bench: Bench, **record: object) -> None:
    with open(bench.path("journal"), "a", encoding="utf-8") as stream:
        stream.write(f"- {json.dumps(record)}\n")


def test_an_opposite_decision_in_the_same_words_is_shown_too(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=WORDS)
    journal = bench.memory.journal()
    for text in ("Chose Postgres over SQLite for the queue", "Chose SQLite over Postgres for the queue"):
        journal.append({"text": text})
    assert len(texts(bench, "Postgres or SQLite for the queue")) == 2
    for text in ("Always squash commits before the merge", "Never squash commits before the merge"):
        journal.append({"text": text})
    assert len(texts(bench, "squash commits before merge")) == 2


def test_the_same_thing_twice_is_shown_once_as_it_was_said_last(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=WORDS)
    bench.memory.journal().append({"id": "a", "text": "The crane in the north harbour is green"})
    bench.clock.move(days=3)
    bench.memory.journal().append({"id": "b", "text": "The crane in the north harbour is green."})
    found = bench.memory.recall("crane north harbour").hits
    assert [hit.record.origin.id for hit in found if hit.record.origin] == ["b"]


@pytest.mark.parametrize("text", ["x" * 200_000, "x." * 100_000, "a/b " * 40_000, '"' * 50_000, "9-" * 80_000])
def test_no_question_takes_long_to_read(text: str) -> None:
    start = time.process_time()
    question(text)
    # It took minutes once; what is held here is that it is not a matter of its length.
    assert time.process_time() - start < 2


def test_what_was_said_before_does_not_outrank_what_is_said(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=WORDS)
    for text in ("The flaky test is test_upload", "Dropped support for old browsers", "Deploys go through staging"):
        bench.memory.journal().append({"text": text})
    found = bench.memory.recall("flaky").hits
    assert found[0].record.text == "The flaky test is test_upload"
    assert all(hit.score < found[0].score / 2 for hit in found[1:])


def test_quotes_are_looked_for_as_they_stand(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=WORDS)
    journal = bench.memory.journal()
    journal.append({"text": "You should never push to the main branch", "sessionId": "a"})
    journal.append({"text": "Push notifications are sent by the relay, never by mail", "sessionId": "b"})
    assert texts(bench, '"never push"') == ["You should never push to the main branch"]
    found = bench.memory.recall('"push never main"')
    assert not found.hits or not found.is_sure


def test_a_record_is_found_by_its_handle(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=WORDS)
    for number in range(30):
        bench.memory.journal().append({"text": f"something happened, number {number}"})
    handle = bench.memory.recall("number 7").hits[0].id
    assert bench.memory.recall(handle).hits[0].id == handle


def test_a_time_alone_finds_what_is_from_then(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=WORDS)
    journal = bench.memory.journal()
    journal.append({"text": "the boiler was replaced", "category": "decision"})
    bench.clock.move(days=1)
    journal.append({"text": "the roof was painted", "category": "note"})
    assert texts(bench, "yesterday")[0] == "the boiler was replaced"
    assert texts(bench, "what happened yesterday")[0] == "the boiler was replaced"
    assert texts(bench, "what did we decide last week")[0] == "the boiler was replaced"


def test_a_script_that_the_model_cannot_read_is_found_by_words_alone(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path))
    journal = bench.memory.journal()
    for text in ("我们决定用缓存层来减少延迟", "部署之前必须先备份数据库", "Перед выкладкой остановить задачи"):
        journal.append({"text": text})
    assert texts(bench, "备份数据库")[0] == "部署之前必须先备份数据库"
    for nothing in ("今天天气怎么样", "명절 선물", "طقس اليوم"):
        found = bench.memory.recall(nothing)
        assert not found.hits or not found.is_sure


def test_words_that_every_text_has_are_no_sure_answer(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=WORDS)
    bench.memory.journal().append({"text": "the crane of the harbour"})
    assert not bench.memory.recall("the").is_sure


def test_what_was_gathered_leaves_the_index_when_it_is_forgotten(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=ON)
    memory = bench.memory
    memory.journal().append({"text": "the sprocketbird sings at the north gate"})
    memory.journal().gather_experiences()
    assert memory.journal().query_experiences("sprocketbird north gate")
    memory.forget("the sprocketbird sings at the north gate")
    assert b"sprocketbird" not in everything(bench)


def test_an_earlier_wording_of_an_entry_leaves_the_store_too(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=ON)
    memory = bench.memory
    memory.remember(Request(text="the rrfirstword cluster in the north hall", key="deploy.host"))
    memory.journal().gather_experiences()
    memory.remember(Request(text="the second cluster in the south hall", key="deploy.host"))
    memory.forget("deploy.host")
    assert b"rrfirstword" not in everything(bench)


def test_a_label_that_comes_after_gathering_counts(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=ON)
    memory = bench.memory
    memory.journal().append({"text": "the vault stands behind the boiler room"})
    memory.journal().gather_experiences()
    assert memory.journal().query_experiences("vault boiler room")
    path = Path(bench.path("journal"))
    path.write_text(path.read_text(encoding="utf-8").replace("private-user", "secret"), encoding="utf-8")
    journal = memory.journal()
    assert journal.query_experiences("vault boiler room") == [] and journal.experiences() == []
    assert "boiler" not in journal.session_context(last_message="the vault behind the boiler room").text
    journal.gather_experiences()
    stores = Path(bench.home).rglob("experience-store.json")
    assert not any("boiler" in store.read_text(encoding="utf-8") for store in stores)
    assert b"boiler" not in indexed(bench)


def test_a_credential_in_a_name_goes_nowhere(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=ON)
    bench.memory.journal().append({"text": "something to begin with, and long enough"})
    put_line(bench, id=f"id-{TOKEN}", sessionId=TOKEN, category="learned", text="the sprocket needs oil every week")
    journal = bench.memory.journal()
    assert any("sprocket" in each.text for each in journal.gather_experiences().added)
    found = journal.query_experiences("sprocket oil")
    assert found and TOKEN not in repr(found)
    for path in Path(bench.home).rglob("*"):
        if path.is_file() and path.name != "MEMORY.md":
            assert TOKEN.encode() not in path.read_bytes(), path


def test_a_hidden_record_keeps_its_name(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=WORDS)
    bench.memory.journal().append({"text": "the seed of all"})
    put_line(bench, id="dup1", text="first hidden thing", provenance={"sensitivity": "secret"})
    bench.memory.recall("seed")
    put_line(bench, id="dup1", text="second open thing", provenance={"sensitivity": "public"})
    grown = bench.memory.recall("second open thing").hits[0].id
    shutil.rmtree(Path(bench.home) / "state")
    assert bench.memory.recall("second open thing").hits[0].id == grown
    assert bench.memory.find(grown).record.text == "second open thing"


def test_forgetting_is_told_as_done_whatever_becomes_of_the_index(cli: Cli, bench: Bench) -> None:
    bench.memory.remember(Request(text="never use lantern oil indoors"))
    state = Path(bench.home) / "state"
    (state / "index.db").mkdir(parents=True)
    assert cli("recall", "lantern").code == 0
    done = cli("forget", "--yes", "never use lantern oil indoors")
    assert done.code == 0 and done.out.startswith("Forgotten"), done.err


def test_one_odd_line_does_not_cost_the_others(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=(*WORDS, "journal.memory_max_records=1"))
    bench.memory.remember(Request(text="never use lantern oil indoors"))
    path = Path(bench.path("triples"))
    heavy = {"k": "rule", "t": ["build", "avoid", "x"], "w": 2**63, "n": "never build it"}
    path.write_text(path.read_text(encoding="utf-8") + json.dumps(heavy) + "\n", encoding="utf-8")
    assert texts(bench, "lantern oil")
    for number in range(3):
        bench.memory.journal().append({"text": f"number {number} of the journal"})
    with open(bench.path("journal"), "ab") as stream:
        stream.write(b"\xff\n")
    found = bench.memory.recall("lantern oil")
    assert found.hits and found.problems


def test_half_a_character_in_a_store_is_no_trouble(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=(*ON, "journal.experience_store_path=store.json"))
    journal = bench.memory.journal()
    journal.append({"text": "something to begin with, and long enough"})
    store = Path(bench.path("journal")).parent / "store.json"
    store.write_text(
        '{"version": 2, "owner": "somebody", "experiences": [{"id": "e1", "text": "lanterns \\ud800 are here again"}]}',
        encoding="utf-8",
    )
    assert "lanterns" in journal.query_experiences("lanterns here again")[0].text
    assert "lanterns" in journal.session_context(last_message="lanterns here again").text
    journal.gather_experiences()
    kept = json.loads(store.read_text(encoding="utf-8"))
    assert (kept["version"], kept["owner"], len(kept["experiences"])) == (2, "somebody", 2)


def test_a_line_more_does_not_hide_a_change_above_it(tmp_path: Path) -> None:
    """Fails where the known part of a journal is taken for unchanged because it is as long as it was."""
    bench = Bench(str(tmp_path), flags=WORDS)
    memory = bench.memory
    memory.journal().append({"text": "the crane is green"})
    assert memory.recall("crane").hits
    path = Path(bench.path("journal"))
    path.write_text(path.read_text(encoding="utf-8").replace("green", "white"), encoding="utf-8")
    put_line(bench, id="more", text="a line more")
    assert [hit.record.text for hit in memory.recall("crane").hits] == ["the crane is white"]
    assert b"green" not in indexed(bench)


def test_a_time_that_was_set_back_hides_no_change(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=WORDS)
    memory = bench.memory
    memory.journal().append({"text": "the crane is green"})
    assert memory.recall("crane").hits
    path = bench.path("journal")
    before = os.stat(path)
    text = Path(path).read_text(encoding="utf-8")
    with open(path, "r+", encoding="utf-8") as stream:
        stream.write(text.replace("green", "white"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert memory.recall("crane").hits[0].record.text == "the crane is white"


def test_what_a_vanished_project_had_leaves_the_index(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=WORDS)
    bench.memory.journal().append({"text": "the sprocketbird sings at the north gate"})
    assert texts(bench, "sprocketbird")
    shutil.rmtree(Path(bench.home) / "projects")
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    around = Surroundings(folder=str(other), environment=bench.environment, flags=bench.flags)
    another = open_memory(around).memory
    another.journal().append({"text": "another beginning"})
    assert another.recall("beginning").hits
    assert b"sprocketbird" not in indexed(bench)


def test_an_index_without_its_tables_is_made_anew(tmp_path: Path) -> None:
    import sqlite3

    bench = Bench(str(tmp_path), flags=WORDS)
    bench.memory.journal().append({"text": "the crane is green"})
    assert texts(bench, "crane")
    with sqlite3.connect(Path(bench.home) / "state" / "index.db") as db:
        db.execute("DROP TABLE record")
    try:
        first = texts(bench, "crane")
    except ByheartError:
        first = []
    assert first or texts(bench, "crane")


def test_a_full_disk_behind_the_output_is_said_so(cli: Cli, bench: Bench) -> None:
    bench.memory.journal().append({"text": "the crane is green"})
    done = cli("recall", "crane", under=("sh", "-c", 'exec "$@" > /dev/full', "sh"))
    assert done.code == 5 and "internal error" not in done.err


class Lenient(RuleScanner):
    """The scanner of an earlier version, which did not know this sort of credential."""

    fingerprint = "earlier"

    def spans(self, text: str) -> list[tuple[int, int, str]]:  # noqa: ARG002
        return []

    def secrets(self, text: str) -> list[Finding]:  # noqa: ARG002
        return []


def test_what_earlier_rules_let_in_is_looked_through_again(tmp_path: Path) -> None:
    """Fails where the stamp of a notebook in the index does not say by which rules it was cleaned."""
    bench = Bench(str(tmp_path), flags=WORDS)
    bench.memory.journal().append({"text": "something to begin with"})
    put_line(bench, id="a", text=f"the crane opens with {TOKEN} in the morning")
    around = Surroundings(folder=bench.project, environment=bench.environment, flags=bench.flags)
    earlier = open_memory(around, scanner=Lenient()).memory
    assert TOKEN in earlier.recall("crane morning").hits[0].record.text
    found = bench.memory.recall("crane morning").hits
    assert found and TOKEN not in repr(found)
    assert TOKEN.encode() not in indexed(bench)
