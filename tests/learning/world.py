"""A home with sessions in it, and learning from them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from scripts.transcripts import Story, write

from byheart.app.open import Surroundings
from byheart.app.sessions import open_learning, open_sessions
from byheart.domain.learning import LearnReport
from byheart.learning.learning import Learning, Wanted
from byheart.testing import Bench

PASSED = "48 passed in 2.10s"
Event = tuple[object, ...]


class World:
    """One person's machine: a bench, the stories on it, and the project that most of them are about."""

    def __init__(self, folder: Path, *flags: str, now: datetime | None = None) -> None:
        self.bench = Bench(str(folder), flags=("recall.embedder=none", *flags))
        self.bench.clock.now = now or datetime(2026, 5, 25, 12, 0, tzinfo=UTC)
        self.home = folder
        self.count = 0

    def session(
        self,
        *events: Event,
        agent: str = "claude-code",
        began: str = "2026-05-04T10:00:00",
        cwd: str | None = None,
        number: int | None = None,
        **extra: object,
    ) -> str:
        """Write one session; its id."""
        self.count += 1
        own = number or self.count
        name = f"5e55{own:04d}-4b7c-4d2e-9f10-0c0ffee0{own:04d}"
        write(Story(agent, name, cwd or self.bench.project, began, list(events), extra=dict(extra)), self.home)
        return name

    def transcript(self, name: str) -> Path:
        """The file of a session."""
        return next(path for path in self.home.rglob(f"*{name}*") if path.suffix in (".jsonl", ".json"))

    def door(self) -> Learning:
        """Learning, opened anew, with the index brought up to date."""
        opened = self.bench.opened()
        around = Surroundings(
            folder=self.bench.project,
            environment=self.bench.environment,
            flags=self.bench.flags,
            clock=self.bench.clock,
        )
        every = open_sessions(opened, around)
        every.refresh()
        return open_learning(opened, around, every)

    def learn(self, **wanted: object) -> LearnReport:
        """One run."""
        return self.door().learn(Wanted(**wanted))  # type: ignore[arg-type]

    @property
    def folder(self) -> Path:
        """Where this project's handbook lies."""
        return Path(self.door().handbook().folder.base) / self.door().handbook().folder.path

    def text(self, name: str) -> str:
        """A file of the handbook."""
        return (self.folder / name).read_text(encoding="utf-8")

    def findings(self) -> list[str]:
        """What is wrong with the handbook."""
        return [f"{each.place}:{each.line}: {each.message} [{each.rule}]" for each in self.door().check()]

    def holding(self, text: str) -> list[str]:
        """Every file below byheart's home that holds these bytes."""
        wanted = text.encode()
        return [
            str(path.relative_to(self.bench.home))
            for path in Path(self.bench.home).rglob("*")
            if path.is_file() and wanted in path.read_bytes()
        ]


def fixed(error: str = "Error: bell broken", by: str = "bake/oven.py") -> list[Event]:
    """A failure and what helped."""
    return [("run", "make test", f"{error}\n1 failed", 2), ("edit", by), ("run", "make test", PASSED, 0)]
