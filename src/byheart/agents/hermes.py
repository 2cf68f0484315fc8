"""Hermes: only its own memory is known."""

from __future__ import annotations

from byheart.agents.agent import Agent, MemoryFolder
from byheart.agents.reading import memory_files
from byheart.agents.reading.folders import Machine
from byheart.domain.records import Scope


def memories(machine: Machine, folder: str) -> list[MemoryFolder]:
    """MEMORY.md and USER.md, for all projects."""
    del folder
    names = r"(?:MEMORY|USER)\.md"
    return [MemoryFolder(scope=Scope.GLOBAL, folder=f"{machine.home}/.hermes/memories", names=names, read=memory_files.sections)]  # fmt: skip


AGENTS = (Agent(name="hermes", memories=memories),)
