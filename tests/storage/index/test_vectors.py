"""The matrix: what the tables say, whatever came and went; the same from a file as from the tables."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from byheart.domain.recall import Item, Meaning
from byheart.domain.records import Kind, Record
from byheart.storage.index import vectors
from byheart.storage.index.records import NotebookIndex
from byheart.text.questions import question

WIDTH = 64


def vector(seed: int) -> bytes:
    values = np.random.default_rng(seed).normal(size=WIDTH)
    return (values / np.linalg.norm(values)).astype(np.float32).tobytes()


def item(number: int) -> Item:
    text = f"thing number{number}"
    record = Record(text=text, kind=Kind.NOTE)
    return Item(handle=str(number), line=number, record=record, scope="local", dialect="journal", text=text)


def nearest(index: NotebookIndex, seed: int, pages: list[str]) -> str | None:
    found = index.recollected(question("unheardof"), pages, Meaning("m", vector(seed), (0.1, 0.5)))
    best = max(found, key=lambda each: each.cosine or 0.0, default=None)
    return best.text if best else None


def put(index: NotebookIndex, page: str, numbers: list[int]) -> None:
    index.put_page(page, f"{numbers}", [item(number) for number in numbers])
    due = index.unembedded_records("m", 10_000)
    index.embedded_records("m", WIDTH, [(row, vector(int(text.rsplit("number", 1)[1]))) for row, text in due])


@pytest.mark.parametrize("many", [10**9, 20])
def test_the_nearest_is_found_whatever_came_and_went(
    many: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_MANY", many)
    monkeypatch.setattr(vectors, "_WORTH_A_FILE", many)
    path = str(tmp_path / "index.db")
    index, dice = NotebookIndex(path), random.Random(1)
    pages = {"/a": list(range(1, 60)), "/b": list(range(100, 140))}
    for round_ in range(12):
        for page, numbers in pages.items():
            put(index, page, numbers)
        # Another process, which begins with the file where there is one.
        other = NotebookIndex(path)
        for each in (index, other):
            for number in (*pages["/a"][:5], *pages["/b"][-5:]):
                assert nearest(each, number, list(pages)) == f"thing number{number}"
            gone = 1_000 + round_
            assert nearest(each, gone, list(pages)) != f"thing number{gone}"
            assert nearest(each, pages["/a"][0], ["/b"]) != f"thing number{pages['/a'][0]}"
        for place, (page, numbers) in enumerate(pages.items()):
            dice.shuffle(numbers)
            pages[page] = [
                *numbers[dice.randrange(10) :],
                *(2_000 + 50 * round_ + 25 * place + n for n in range(dice.randrange(12))),
            ]
    assert (tmp_path / "index.db-vectors-2").exists() == (many == 20)
    index.purge()
    assert not (tmp_path / "index.db-vectors-2").exists()


def test_a_file_of_vectors_that_is_broken_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_MANY", 20)
    monkeypatch.setattr(vectors, "_WORTH_A_FILE", 20)
    path = str(tmp_path / "index.db")
    put(NotebookIndex(path), "/a", list(range(1, 60)))
    side = tmp_path / "index.db-vectors-2"
    for harm in (b"", b"BHVECTOR", b"BHVECTOR" + b"\xff" * 400, b"garbage" * 1000):
        assert nearest(NotebookIndex(path), 7, ["/a"]) == "thing number7"
        content = side.read_bytes()
        side.write_bytes(harm)
        assert nearest(NotebookIndex(path), 7, ["/a"]) == "thing number7"
        assert side.read_bytes() == content


def test_another_models_vectors_are_not_compared(tmp_path: Path) -> None:
    index = NotebookIndex(str(tmp_path / "index.db"))
    put(index, "/a", [1, 2, 3])
    assert index.recollected(question("unheardof"), ["/a"], Meaning("other", vector(1), (0.1, 0.5))) == []
    assert len(index.unembedded_records("other", 10)) == 3
    # A new model's vectors take the place of the old one's.
    index.embedded_records("other", WIDTH, [(row, vector(9)) for row, _ in index.unembedded_records("other", 10)])
    assert index.recollected(question("unheardof"), ["/a"], Meaning("m", vector(1), (0.1, 0.5))) == []
