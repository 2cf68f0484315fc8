"""The folder that a project begins at. Used where every import counts."""

from __future__ import annotations

import os

MARKER = ".byheart.toml"


def top_of(start: str) -> str | None:
    """The nearest folder upwards that holds a `.git`, or a project file of ours."""
    current = start
    while True:
        if os.path.lexists(os.path.join(current, ".git")):
            return current
        if os.path.isfile(os.path.join(current, MARKER)) and not _inside_git(current):
            return current
        parent = os.path.dirname(current)
        if parent == current:
            return None
        current = parent


def _inside_git(folder: str) -> bool:
    current = os.path.dirname(folder)
    while True:
        if os.path.lexists(os.path.join(current, ".git")):
            return True
        parent = os.path.dirname(current)
        if parent == current:
            return False
        current = parent
