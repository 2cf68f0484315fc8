"""memories.md has one yaml block after a write, whatever it had before."""

from __future__ import annotations

from pathlib import Path

from byheart.domain.records import Request
from byheart.testing import Bench

PROFILE = "yaml-block"
OTHERS = ("```yaml\nsaved_memory:\n  items: []\n```\n", "~~~yml\nport: 3000\n~~~\n")


def crowded(bench: Bench) -> Path:
    bench.memory.remember(Request(text="I prefer tabs"))
    place = Path(bench.path(PROFILE))
    place.write_text(f"{place.read_text()}\nMy words.\n\n{OTHERS[0]}\nMore of them.\n\n{OTHERS[1]}The end.\n")
    return place


def fences(text: str) -> int:
    """Opening yaml fences, outside any other fence."""
    count, inside = 0, ""
    for line in text.split("\n"):
        mark = line[: len(line) - len(line.lstrip("`~"))]
        if inside:
            inside = "" if line.strip() == inside else inside
        elif len(mark) >= 3:
            inside = mark
            count += line[len(mark) :].strip() in ("yaml", "yml")
    return count


def test_write_leaves_exactly_one_yaml_block_and_everything_else_as_it_was(bench: Bench) -> None:
    place = crowded(bench)
    before = place.read_text()
    assert fences(before) == 3
    receipt = bench.memory.remember(Request(text="I prefer short names"))
    text = place.read_text()
    assert fences(text) == 1
    assert "## Non-authoritative notes" in text
    for words in ("My words.", "More of them.", "The end.", *OTHERS):
        assert words in text
    assert any("other yaml blocks" in note for note in receipt.notes)
    backups = list((Path(bench.home) / "projects").rglob(".byheart/backup/*"))
    assert any(before == each.read_text() for each in backups), "a backup first"
    bench.memory.undo()
    assert place.read_text() == before


def test_second_write_moves_nothing_again(bench: Bench) -> None:
    place = crowded(bench)
    bench.memory.remember(Request(text="I prefer short names"))
    tail = place.read_text().partition("My words.")[2]
    bench.memory.remember(Request(text="I prefer long lines"))
    assert place.read_text().partition("My words.")[2] == tail


def test_looking_moves_nothing(bench: Bench) -> None:
    place = crowded(bench)
    before = place.read_text()
    bench.memory.profile()
    bench.memory.remember(Request(text="I prefer tabs"))
    assert place.read_text() == before, "known already, so nothing is written"
