"""What is asked of memory itself from within a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from byheart.domain.errors import BadInput, ByheartError
from byheart.interfaces.mcp.tools import MemoryTools
from byheart.testing import Bench
from tests.learning.world import World, fixed


def tools(bench: Bench) -> MemoryTools:
    return MemoryTools(bench.project, {**bench.environment, "BYHEART_RECALL_EMBEDDER": "none"})


def test_memory_is_shown_where_there_are_only_notebooks(bench: Bench) -> None:
    bench.remember("I prefer pnpm")
    assert "pnpm" in tools(bench).call("manage_memory", {"action": "show"})
    handle = bench.memory.list().hits[0].address
    assert "pnpm" in tools(bench).call("manage_memory", {"action": "show", "item": handle})


def test_memory_is_switched_off_and_on_and_tells_nothing_between(bench: Bench) -> None:
    bench.remember("I prefer pnpm")
    assert "off" in tools(bench).call("manage_memory", {"action": "off"})
    assert not bench.memory.settings().enabled
    assert "pnpm" not in tools(bench).call("manage_memory", {"action": "show"})
    tools(bench).call("manage_memory", {"action": "on"})
    assert "pnpm" in tools(bench).call("manage_memory", {"action": "show"})


def test_announcements_are_switched(bench: Bench) -> None:
    bench.remember("I prefer pnpm")
    tools(bench).call("manage_memory", {"action": "quiet"})
    assert not bench.memory.settings().announce_writes
    tools(bench).call("manage_memory", {"action": "announce"})
    assert bench.memory.settings().announce_writes


def test_uncertain_items_are_listed_accepted_and_rejected(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(
        ("user", "Use the red oven instead of the blue one."), *fixed(), ("user", "stop adding jokes to answers"), *fixed()
    )  # fmt: skip
    world.learn()
    given = tools(world.bench)
    listed = given.call("manage_memory", {"action": "inbox"})
    items = [each.id for each in world.door().inbox()]
    assert items and all(each in listed for each in items)
    assert "Saved" in given.call("manage_memory", {"action": "accept", "item": items[0], "text": "use the red oven"})
    for each in items[1:]:
        assert "not learnt again" in given.call("manage_memory", {"action": "reject", "item": each})
    assert "empty" in given.call("manage_memory", {"action": "inbox"})
    with pytest.raises(ByheartError):
        given.call("manage_memory", {"action": "accept", "item": "none"})


def test_unknown_action_names_those_there_are(bench: Bench) -> None:
    with pytest.raises(BadInput, match="announce"):
        tools(bench).call("manage_memory", {"action": "explode"})
