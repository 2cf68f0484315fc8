"""Cached answers: bounded in number, size and age, and never stale."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path

from byheart.app.memory import Memory
from byheart.domain.records import Scope
from byheart.search.models import Cache
from byheart.testing import Bench
from tests.conftest import Cli


class Ticking:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_least_lately_used_goes_first() -> None:
    cache: Cache[int] = Cache(2, 1_000, 60, Ticking())
    made: list[int] = []

    def ask(number: int) -> int:
        return cache.get(number, lambda: made.append(number) or number, lambda _: 1)  # type: ignore[func-returns-value]

    for number in (1, 2, 1, 3, 1, 2):
        assert ask(number) == number
    assert made == [1, 2, 3, 2]
    assert (cache.use.hits, cache.use.misses, cache.use.dropped, cache.use.entries) == (2, 4, 2, 2)


def test_size_and_age_are_bounded() -> None:
    clock = Ticking()
    cache: Cache[str] = Cache(100, 10, 60, clock)
    for name in ("aaaa", "bbbb", "cccc", "d" * 11):
        cache.get(name, lambda name=name: name, len)  # type: ignore[misc]
        assert cache.use.size <= 10
    assert cache.use.entries == 2
    clock.now = 61
    made: list[str] = []
    cache.get("cccc", lambda: made.append("again") or "cccc", len)  # type: ignore[func-returns-value]
    assert made == ["again"]
    cache.clear()
    assert (cache.use.entries, cache.use.size) == (0, 0)


def test_many_threads_agree() -> None:
    cache: Cache[int] = Cache(20, 1_000, 60, Ticking())
    wrong: list[int] = []

    def work(seed: int) -> None:
        dice = random.Random(seed)
        for _ in range(2_000):
            number = dice.randrange(40)
            if cache.get(number, lambda number=number: number, lambda _: 10) != number:  # type: ignore[misc]
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and cache.use.entries <= 20 and cache.use.size == 10 * cache.use.entries


def asked(memory: Memory, query: str) -> list[str]:
    return [hit.record.text for hit in memory.recall(query).hits]


def test_no_change_is_answered_with_the_past(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path))
    bench.remember("I prefer pnpm over npm")
    memory = bench.memory
    first = asked(memory, "package manager")
    assert asked(memory, "package manager") == first
    assert memory.recall_use.hits == 1
    # Another process writes.
    bench.remember("I prefer uv as a package manager for Python")
    assert any("uv" in text for text in asked(memory, "package manager"))
    # A person edits.
    page = Path(bench.path("yaml-block"))
    page.write_text(page.read_text(encoding="utf-8").replace("pnpm over npm", "yarn over npm"), encoding="utf-8")
    assert any("yarn" in text for text in asked(memory, "yarn or npm"))
    # Something is forgotten, through this door and through another.
    memory.forget(memory.recall("uv Python").hits[0].id)
    assert not any("uv" in text for text in asked(memory, "package manager"))
    bench.memory.forget(memory.recall("yarn").hits[0].id)
    assert asked(memory, "yarn or npm") == []


def test_a_session_is_never_told_the_past(tmp_path: Path) -> None:
    """Fails where the key of a kept context lacks one of the files that it is made from."""
    bench = Bench(str(tmp_path), flags=("journal.memory_max_records=3",))
    memory = bench.memory
    journal = memory.journal()
    journal.append({"text": "the first thing that happened"})
    before = journal.session_context().text
    assert journal.session_context().text == before
    assert memory.search_tools.contexts.use.hits == 1
    folder = Path(bench.path("journal")).parent
    day = next(folder.glob("memory/*.md")).name

    def write(name: str, text: str) -> None:
        (folder / name).write_text(text, encoding="utf-8")

    changes: tuple[tuple[Callable[[], object], str], ...]
    # Through this door, through another, by a person in each of the files, by the window, by forgetting, by the clock.
    changes = (
        (lambda: journal.append({"text": "the second thing"}), "the second thing"),
        (lambda: bench.memory.journal().append({"text": "the third thing"}), "the third thing"),
        (lambda: write("USER.md", "The user is called Ines."), "Ines"),
        (lambda: write("LONGMEMORY.md", "## Summary (2026-03-01)\n\n- it was a long winter\n"), "long winter"),
        (lambda: write(f"memory/{day}", "a line of a person\n"), "a line of a person"),
        (lambda: bench.memory.journal(Scope.GLOBAL).append({"text": "everywhere it rains"}), "everywhere it rains"),
        (lambda: [journal.append({"text": f"filling number {each}"}) for each in range(3)], "filling number 2"),
    )
    for change, text in changes:
        assert text not in journal.session_context().text
        change()
        assert text in journal.session_context().text
    assert "the second thing" not in journal.session_context().text
    memory.forget("filling number 1")
    assert "filling number 1" not in journal.session_context().text
    bench.clock.move(days=2)
    assert "a line of a person" not in journal.session_context().text
    memory.switch("enabled", on=False)
    assert journal.session_context().text == ""


def test_doctor_tells_how_the_caches_of_another_process_are_doing(cli: Cli, bench: Bench) -> None:
    memory = bench.memory
    memory.journal().append({"text": "the harbour master is called Ines"})
    for _ in range(5):
        memory.recall("harbour master")
    told = cli("doctor", "--json")
    found = {each["subject"]: each["detail"] for each in told.json}  # type: ignore[attr-defined]
    assert "2 hits, 1 misses" in found["recall cache"], found
    assert "1 records" in found["index"]
