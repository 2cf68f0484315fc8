"""Amp, Kiro and Crush: connected by MCP, and by instructions that have them ask memory first; their sessions are not read."""

from __future__ import annotations

import os

from byheart.agents.agent import Agent, Texts
from byheart.agents.installing.pieces import SKILL, TOOLS, InstallTarget, Recipe, block, member, own_file, server


def amp(target: InstallTarget, texts: Texts) -> Recipe:
    """Amp: MCP in its settings, and a block in the AGENTS.md that it reads in every project."""
    folder = os.path.join(target.home, ".config", "amp")
    path = f"{target.project}/.amp/settings.json" if target.project else f"{folder}/settings.json"
    pieces = [member(path, ("amp.mcpServers", "byheart"), server(target), TOOLS)]
    if not target.project:
        pieces.append(block(f"{folder}/AGENTS.md", texts("guide.md").strip(), SKILL))
    return Recipe(agent="amp", pieces=tuple(pieces), folders=(folder,), programs=("amp",))


def kiro(target: InstallTarget, texts: Texts) -> Recipe:
    """Kiro: MCP in its settings, and a steering file of ours."""
    own = os.path.join(target.home, ".kiro")
    folder = f"{target.project}/.kiro" if target.project else own
    pieces = (
        member(f"{folder}/settings/mcp.json", ("mcpServers", "byheart"), server(target), TOOLS),
        own_file(f"{folder}/steering/byheart.md", texts("guide.md"), SKILL),
    )
    return Recipe(agent="kiro", pieces=pieces, folders=(own,), programs=("kiro", "kiro-cli"))


def crush(target: InstallTarget, texts: Texts) -> Recipe:
    """Crush: MCP in its JSON configuration."""
    del texts
    folder = os.path.join(target.home, ".config", "crush")
    path = f"{target.project}/.crush.json" if target.project else f"{folder}/crush.json"
    pieces = (member(path, ("mcp", "byheart"), {"type": "stdio", **server(target)}, TOOLS),)
    return Recipe(agent="crush", pieces=pieces, folders=(folder,), programs=("crush",))


AGENTS = (Agent(name="amp", recipe=amp), Agent(name="kiro", recipe=kiro), Agent(name="crush", recipe=crush))
