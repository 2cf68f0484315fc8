"""What is asked of memory itself from within a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from byheart.domain.errors import BadInput, ByheartError, NothingFound
from byheart.interfaces.mcp.tools import MemoryTools
from byheart.testing import Bench
from tests.conftest import Cli
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


def test_what_is_forgotten_elsewhere_does_not_come_back_through_a_server_that_runs(tmp_path: Path, cli: Cli) -> None:
    world = World(tmp_path)
    world.session(("user", "Mend the oven. From now on never touch the zirconium folder."), *fixed())
    world.learn()
    given = tools(world.bench)
    assert "zirconium" in given.call("session_search", {"query": "zirconium folder"})
    assert cli("forget", "never touch the zirconium folder", "--yes").code == 0
    for _ in range(2):
        with pytest.raises(NothingFound):
            given.call("session_search", {"query": "zirconium"})
    assert "zirconium" not in cli("sessions", "search", "zirconium").out
    assert b"zirconium" not in b"".join(path.read_bytes() for path in Path(world.bench.home).rglob("index.db*"))


def test_settings_that_change_while_a_server_runs_count_at_once(bench: Bench) -> None:
    bench.remember("I prefer pnpm")
    given = tools(bench)
    assert "pnpm" in given.call("recall_memory", {"query": "pnpm"})
    Path(bench.home, "config.toml").write_text("[memory]\nenabled = false\n", encoding="utf-8")
    assert "memory is off" in given.call("recall_memory", {"query": "pnpm"})
