"""Whole files before and after a few steps, as a person would see them. `make golden` rewrites the expected ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byheart.domain.records import Kind, Request
from byheart.testing import Bench

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
CASES = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())


def take(bench: Bench, step: list[object]) -> None:
    match step:
        case ["remember", str(text), dict(more)]:
            kind = Kind(more.pop("kind")) if "kind" in more else None
            triple = tuple(more.pop("triple")) if "triple" in more else None
            bench.memory.remember(Request(text=text, kind=kind, triple=triple, **more))
        case ["forget", str(selector)]:
            bench.memory.forget(selector)
        case ["confirm", str(selector)]:
            bench.memory.confirm(selector)
        case ["switch", str(name), bool(on)]:
            bench.memory.switch(name, on=on)
        case ["profile"]:
            bench.memory.profile()
        case _:
            raise ValueError(step)


@pytest.mark.parametrize("case", CASES)
def test_file_after_the_steps_is_as_expected(bench: Bench, case: str, request: pytest.FixtureRequest) -> None:
    folder = GOLDEN / case
    [before] = folder.glob("before.*")
    name = "memories.md" if before.suffix == ".md" else "docs/memory/memories.ndjson"
    path = Path(bench.put(name, ""))
    path.write_bytes(before.read_bytes())
    for step in json.loads((folder / "steps.json").read_text(encoding="utf-8")):
        take(bench, step)
    after = folder / f"after{before.suffix}"
    if request.config.getoption("--update-golden"):
        after.write_bytes(path.read_bytes())
    assert path.read_bytes() == after.read_bytes()
