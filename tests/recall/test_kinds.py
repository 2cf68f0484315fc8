"""Questions about the kind of a thing that somebody told by its name: "which package manager?", "npm or something else?". The pairs in
kinds.tsv were written by people who knew neither the table of programs nor how recall works; the second half after the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from byheart.domain.records import Request
from byheart.testing import Bench
from tests.conftest import Cli

PAIRS = [line.split("\t") for line in (Path(__file__).parent / "kinds.tsv").read_text(encoding="utf-8").splitlines()]


def found_at(bench: Bench, question: str, text: str) -> int:
    """The place of a record among the answers; 99 where it is not there."""
    hits = bench.memory.recall(question, most=10).hits
    return next((at for at, hit in enumerate(hits, 1) if text in str(hit.record.value or hit.record.text)), 99)


def test_a_preference_is_found_by_its_kind_in_a_store_of_many(tmp_path: Path) -> None:
    missed = []
    for half in (PAIRS[:60], PAIRS[60:]):
        bench = Bench(str(tmp_path / half[0][0]), flags=("recall.embedder=none",))
        texts = []
        for text, _ in half:
            receipt = bench.memory.remember(Request(text=text, to="triples"))
            assert receipt.record is not None
            texts.append(receipt.record.text)
        places = [found_at(bench, question, text) for (_, question), text in zip(half, texts, strict=True)]
        missed += [pair for pair, place in zip(half, places, strict=True) if place > 3]
    assert len(missed) <= 0.15 * len(PAIRS), missed


def test_a_preference_is_found_by_its_kind_in_a_store_of_three(tmp_path: Path) -> None:
    missed = []
    for number, (text, question) in enumerate(PAIRS):
        bench = Bench(str(tmp_path / str(number)), flags=("recall.embedder=none",))
        receipt = bench.memory.remember(Request(text=text, to="triples"))
        for other in ("never run build repeatedly because it is heavy", "we release on Thursdays"):
            bench.memory.remember(Request(text=other))
        assert receipt.record is not None
        if found_at(bench, question, receipt.record.text) > 3:
            missed.append((text, question))
    assert len(missed) <= 0.15 * len(PAIRS), missed


@pytest.mark.parametrize("question", ["package manager", "which package manager", "npm or something else?"])
def test_readmes_own_example_works_on_the_command_line(cli: Cli, question: str) -> None:
    for text in ("I prefer pnpm", "never run build repeatedly because it is heavy", "we deploy on Fridays"):
        assert cli("remember", text).code == 0
    done = cli("recall", question)
    assert done.code == 0
    assert "pnpm" in done.out.splitlines()[0]


def test_nothing_is_found_for_another_kind(cli: Cli) -> None:
    cli("remember", "I prefer pnpm")
    assert cli("recall", "which code formatter").code == 1
