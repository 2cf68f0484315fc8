"""Texts that go into agents' folders: a skill, a command, a guide, and extensions in their own languages."""

from __future__ import annotations

import os


def text(name: str) -> str:
    """One of them, as it lies in its file."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as stream:
        return stream.read()
