"""Folders of agents: where the user keeps them, and the files in them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from byheart.domain.sessions import Found
from byheart.domain.values import dataclass

_SKIPPED = frozenset({"memory", "tool-results", "node_modules", ".git"})
# How deep a folder tree is followed; agents nest a handful of levels.
_DEEPEST = 12
_LARGEST_SETTINGS = 1_048_576


@dataclass(frozen=True, slots=True)
class Machine:
    """The user's home, the environment, and the project folders that may hold transcripts of their own."""

    home: str
    environment: Mapping[str, str]
    projects: tuple[str, ...] = ()

    def variable(self, name: str, default: str) -> str:
        """A folder that a variable may move; a blank one counts as unset."""
        chosen = self.environment.get(name, "").strip()
        return os.path.expanduser(chosen) if chosen else os.path.join(self.home, default)

    @property
    def data(self) -> str:
        return self.variable("XDG_DATA_HOME", ".local/share")


def file_of(agent: str, path: str) -> Found | None:
    """A file as something to read; None where it cannot be looked at."""
    try:
        path.encode("utf-8")
        status = os.stat(path)
    except (OSError, ValueError):
        # A name that is no text cannot be kept, and is no agent's.
        return None
    return Found(agent=agent, path=path, size=status.st_size, modified=status.st_mtime_ns, inode=status.st_ino)


def walked(folder: str, depth: int = _DEEPEST) -> Iterator[str]:
    """All ordinary files below a folder. Links to folders are not followed, so no circle can hold us."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                if depth > 0 and entry.name not in _SKIPPED:
                    yield from walked(entry.path, depth - 1)
            elif entry.is_file():
                yield entry.path
        except OSError:
            continue


def files_in(agent: str, folder: str, *endings: str, depth: int = _DEEPEST) -> Iterator[Found]:
    """The files below a folder that end so, as an agent's."""
    for path in walked(folder, depth):
        if path.endswith(endings) and (found := file_of(agent, path)):
            yield found


def names_in(folder: str) -> list[str]:
    """What a folder holds, sorted; nothing where it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def setting_of(path: str, *keys: str) -> Any:
    """A setting in another program's JSON file; None where it cannot be told."""
    try:
        with open(path, encoding="utf-8") as stream:
            found: Any = json.loads(stream.read(_LARGEST_SETTINGS))
    except (OSError, ValueError):
        return None
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def is_running(pid: object) -> bool:
    """Whether a process is there."""
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
