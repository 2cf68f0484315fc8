"""What tests of byheart and of adapters to it stand on: a bench with real files, and files that a person edits too."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from byheart.app.memory import Memory
from byheart.app.open import OpenMemory, Surroundings, open_memory
from byheart.domain.documents import Place
from byheart.domain.ports import Snapshot
from byheart.domain.records import Record, Request, Scope
from byheart.domain.values import dataclass, field
from byheart.storage.files.disk import DiskFiles


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, start: datetime = datetime(2026, 3, 14, 9, 26, tzinfo=UTC)) -> None:
        self.now = start

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        self.now += timedelta(**by)


class SharedFiles(DiskFiles):
    """Real files that a person may change at the worst moment: after our read, before our write."""

    def __init__(self) -> None:
        super().__init__()
        self.saves: list[Callable[[], object]] = []

    def before_next_write(self, save: Callable[[], object]) -> None:
        self.saves.append(save)

    def _interrupt(self, place: Place) -> None:
        if self.saves and "/.byheart/" not in str(place):
            self.saves.pop(0)()

    def write(self, place: Place, text: str, base: str) -> Snapshot:
        self._interrupt(place)
        return super().write(place, text, base)

    def append(self, place: Place, text: str, base: str | None) -> None:
        self._interrupt(place)
        super().append(place, text, base)


@dataclass
class Bench:
    """A project folder, a home and a memory over them, all real and all in one temporary folder."""

    folder: str
    clock: Clock = field(default_factory=Clock)
    files: SharedFiles = field(default_factory=SharedFiles)
    variables: dict[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        os.makedirs(os.path.join(self.project, ".git"), exist_ok=True)

    @property
    def project(self) -> str:
        return os.path.join(self.folder, "project")

    @property
    def home(self) -> str:
        return os.path.join(self.folder, "home")

    @property
    def environment(self) -> Mapping[str, str]:
        return {"HOME": self.folder, "BYHEART_HOME": self.home, **self.variables}

    def trust(self, folder: str | None = None) -> None:
        """Say that a checkout's files are the user's."""
        around = Surroundings(folder=folder or self.project, environment=self.environment, clock=self.clock)
        open_memory(around).memory.context.trust.accept()

    def opened(self) -> OpenMemory:
        around = Surroundings(folder=self.project, environment=self.environment, flags=self.flags, clock=self.clock)
        return open_memory(around, self.files)

    @property
    def memory(self) -> Memory:
        return self.opened().memory

    def path(self, name: str, scope: Scope = Scope.LOCAL) -> str:
        """Where a notebook lies now."""
        pages = {page.dialect: page.path for page in self.memory.show(scopes=(scope,))}
        return pages[name]

    def text(self, name: str, scope: Scope = Scope.LOCAL) -> str:
        with open(self.path(name, scope), encoding="utf-8", newline="") as stream:
            return stream.read()

    def put(self, path: str, text: str) -> str:
        """Write a file of the checkout as its user would, who trusts it, making its folders."""
        if not path.startswith(".git/"):
            self.trust()
        return self.bring(path, text)

    def bring(self, path: str, text: str) -> str:
        """Write a file of the checkout as a clone would bring it."""
        full = os.path.join(self.project, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        return full

    def remember(self, text: str, **more: object) -> Record:
        """Remember something and give back the record as it was stored."""
        receipt = self.memory.remember(Request(text=text, **more))  # type: ignore[arg-type]
        assert receipt.record is not None
        return receipt.record
