"""Fixtures: a bench with real files, and the command line as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from byheart.testing import Bench

settings.register_profile(
    "byheart",
    max_examples=int(os.environ.get("EXAMPLES", "300")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=False,
)
settings.load_profile("byheart")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(str(tmp_path))


@dataclass(frozen=True)
class Outcome:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> object:
        return json.loads(self.out)


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(bench: Bench) -> Cli:
    """Run `byheart` in a process of its own, in the bench's project and home."""

    def run(
        *arguments: str, given: str = "", folder: str | None = None, under: Sequence[str] = (), **variables: str
    ) -> Outcome:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("BYHEART_")},
            **bench.environment,
            # Upkeep in the background would write while a test looks; tests of it take this out.
            "BYHEART_CHILD": "1",
            **variables,
        }
        done = subprocess.run(
            [*under, sys.executable, "-m", "byheart", *arguments],
            cwd=folder or bench.project,
            env=environment,
            input=given,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


def as_shown(bench: Bench, text: object) -> str:
    """A text as the command line shows it: with ~ for the bench's home."""
    return str(text).replace(bench.folder, "~")
