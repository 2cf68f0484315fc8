"""VS Code: connected by MCP alone; its own chats are not read."""

from __future__ import annotations

import os

from byheart.agents.agent import Agent, Texts
from byheart.agents.installing.pieces import TOOLS, InstallTarget, Recipe, member, server


def recipe(target: InstallTarget, texts: Texts) -> Recipe:
    """VS Code: MCP alone."""
    del texts
    user = "Library/Application Support/Code/User" if target.system == "darwin" else ".config/Code/User"
    folder = os.path.join(target.home, user)
    path = f"{target.project}/.vscode/mcp.json" if target.project else f"{folder}/mcp.json"
    pieces = (member(path, ("servers", "byheart"), {"type": "stdio", **server(target)}, TOOLS),)
    return Recipe(agent="vscode", pieces=pieces, folders=(folder,), programs=("code",))


AGENTS = (Agent(name="vscode", recipe=recipe),)
