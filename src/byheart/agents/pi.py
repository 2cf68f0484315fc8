"""pi and oh-my-pi: sessions as trees of entries, connected by an extension of ours."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial

from byheart.agents.agent import Agent, MemoryFolder, OwnHandbook, Texts
from byheart.agents.installing.pieces import (
    COMMAND,
    HOOKS,
    SKILL,
    TOOLS,
    InstallTarget,
    Recipe,
    base,
    member,
    own_file,
    script,
    server,
    with_command,
)
from byheart.agents.reading import memory_files
from byheart.agents.reading.entry_tree import PiReader, is_entry_of
from byheart.agents.reading.folders import Machine, files_in, names_in
from byheart.domain.records import Scope
from byheart.domain.sessions import Found


def pi_transcripts(machine: Machine) -> Iterator[Found]:
    """~/.pi/agent/sessions, or PI_CODING_AGENT_DIR/sessions."""
    yield from files_in("pi", os.path.join(machine.variable("PI_CODING_AGENT_DIR", ".pi/agent"), "sessions"), ".jsonl")


def oh_my_pi_transcripts(machine: Machine) -> Iterator[Found]:
    """~/.omp/agent/sessions, profiles, and the XDG folders."""
    own = (
        machine.variable("PI_CONFIG_DIR", ".omp")
        if os.path.isabs(machine.environment.get("PI_CONFIG_DIR", ""))
        else os.path.join(machine.home, machine.environment.get("PI_CONFIG_DIR", "") or ".omp")
    )
    folders = [os.path.join(own, "agent"), os.path.join(machine.data, "omp")]
    folders += [os.path.join(own, "profiles", name, "agent") for name in names_in(os.path.join(own, "profiles"))]
    for folder in folders:
        yield from files_in("oh-my-pi", os.path.join(folder, "sessions"), ".jsonl")


def oh_my_pi_handbook(machine: Machine, folder: str) -> OwnHandbook:
    """A folder named after the project's."""
    home = machine.environment.get("PI_CODING_AGENT_DIR") or os.path.join(machine.home, ".omp", "agent")
    return OwnHandbook(folder=f"{home}/memories/--" + re.sub(r"[/\\:]", "-", folder.strip("/")) + "--")


def oh_my_pi_memories(machine: Machine, folder: str) -> list[MemoryFolder]:
    """Lessons and a summary."""
    place = oh_my_pi_handbook(machine, folder).folder
    return [
        MemoryFolder(scope=Scope.LOCAL, folder=place, names=r"learned\.md", read=memory_files.lessons),
        MemoryFolder(scope=Scope.LOCAL, folder=place, names=r"memory_summary\.md", read=memory_files.prose),
    ]


def pi_recipe(target: InstallTarget, texts: Texts) -> Recipe:
    """pi: an extension, which also brings the tools that others get by MCP."""
    folder = base(target, "PI_CODING_AGENT_DIR", ".pi/agent")
    place = f"{target.project}/.pi" if target.project else folder
    text = script(texts("pi.ts"), target).replace("{{client}}", "pi")
    pieces = (
        own_file(f"{place}/extensions/byheart.ts", text, "tells a session what memory holds, offers memory as tools, and learns when it ends"),
        own_file(f"{place}/prompts/memory.md", with_command(texts("command.md"), target), COMMAND),
    )  # fmt: skip
    return Recipe(agent="pi", pieces=pieces, folders=(folder,), programs=("pi",))


def oh_my_pi_recipe(target: InstallTarget, texts: Texts) -> Recipe:
    """oh-my-pi: an extension, and MCP in a file of its own."""
    folder = base(target, "PI_CODING_AGENT_DIR", ".omp/agent")
    place = f"{target.project}/.omp" if target.project else folder
    text = script(texts("pi.ts"), target).replace("{{client}}", "oh-my-pi")
    pieces = [
        own_file(f"{place}/extensions/byheart.ts", text, HOOKS),
        member(f"{place}/mcp.json", ("mcpServers", "byheart"), {"type": "stdio", **server(target)}, TOOLS),
        own_file(f"{place}/skills/byheart/SKILL.md", with_command(texts("skill.md"), target), SKILL),
        # Its own /memory is about its own memory.
        own_file(f"{place}/commands/byheart-memory.md", with_command(texts("command.md"), target), COMMAND),
    ]
    return Recipe(agent="oh-my-pi", pieces=tuple(pieces), folders=(folder,), programs=("omp",))


AGENTS = (
    Agent(
        name="oh-my-pi",
        transcripts=oh_my_pi_transcripts,
        lines=partial(PiReader, agent="oh-my-pi"),
        is_line=partial(is_entry_of, "oh-my-pi"),
        recipe=oh_my_pi_recipe,
        memories=oh_my_pi_memories,
        handbook=oh_my_pi_handbook,
    ),
    Agent(name="pi", transcripts=pi_transcripts, lines=PiReader, is_line=partial(is_entry_of, "pi"), recipe=pi_recipe),
)
