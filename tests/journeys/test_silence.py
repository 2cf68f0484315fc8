"""Memory that cannot be read, is broken or switched off says so: in the hook, over MCP and in the brief, whatever the file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.brief.kit import context, hook
from tests.conftest import Cli
from tests.interfaces.mcp.test_protocol import ask, spoken
from tests.learning.world import World, fixed

FILES = {
    "profile": "projects/*/memories.md",
    "rules": "projects/*/memories.ndjson",
    "journal": "projects/*/journal/MEMORY.md",
    "user": "projects/*/journal/USER.md",
    "long memory": "projects/*/journal/LONGMEMORY.md",
    "summary": "projects/*/handbook/memory_summary.md",
    "global profile": "global/memories.md",
    "global rules": "global/memories.ndjson",
    "global journal": "global/journal/MEMORY.md",
}


def no_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe caf\xe9 \xff")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


BREAKS: dict[str, Callable[[Path], None]] = {"no UTF-8": no_text, "a folder": folder, "a link": link, "a pipe": pipe}


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.session(("user", "Mend it. From now on always use zirconium bolts in the oven door."), *fixed())
    made.learn()
    for text in ("I prefer tabs", "never push on Fridays", "global: I prefer rye", "global: never eat glass"):
        made.bench.remember(text)
    for scope in ("local", "global"):
        from byheart.domain.records import Scope

        made.bench.memory.journal(Scope(scope)).append({"category": "note", "text": f"a {scope} note about muffins"})
    journal = next(Path(made.bench.home).glob(FILES["journal"]))
    (journal.parent / "USER.md").write_text("Likes coffee.\n", encoding="utf-8")
    (journal.parent / "LONGMEMORY.md").write_text(
        "# LONGMEMORY\n\n## Summary (2026-05-01)\n\n- Earlier.\n", encoding="utf-8"
    )
    return made


def recalled(world: World, query: str) -> str:
    answer = spoken(world.bench, ask("tools/call", name="recall_memory", arguments={"query": query}))[0]
    return str(answer["result"]["content"][0]["text"])


@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize("name", FILES)
def test_file_that_cannot_be_read_is_told_of(world: World, cli: Cli, name: str, how: str) -> None:
    path = next(Path(world.bench.home).glob(FILES[name]))
    BREAKS[how](path)
    told = context(hook(world.bench, "session-start", source="startup")[1])
    assert told.count("could not be read") == 1, told
    brief = cli("brief")
    assert "could not be read" in brief.out
    if name not in ("user", "long memory", "summary"):
        assert "could not be read" in recalled(world, "muffins tabs rye")


LINES = ("tabs", "Fridays", "rye", "glass", "zirconium", "muffins")


@pytest.mark.parametrize("name", ["profile", "rules", "summary", "global profile", "global rules"])
def test_file_that_cannot_be_read_takes_nothing_else_along_and_is_told_again_once_mended(
    world: World, name: str
) -> None:
    path = next(Path(world.bench.home).glob(FILES[name]))
    whole = context(hook(world.bench, "session-start", source="startup", session_id="a")[1])
    assert all(word in whole for word in LINES)
    before = path.read_bytes()
    no_text(path)
    broken = context(hook(world.bench, "session-start", source="startup", session_id="b")[1])
    own = {
        "profile": "tabs",
        "rules": "Fridays",
        "summary": "zirconium",
        "global profile": "rye",
        "global rules": "glass",
    }
    # What a session taught stands in the handbook and in the profile: it takes both to lose it.
    assert {word for word in LINES if word not in broken} == {own[name]} - {"zirconium"}
    path.write_bytes(before)
    mended = context(hook(world.bench, "session-start", source="startup", session_id="c")[1])
    assert all(word in mended for word in LINES) and "could not be read" not in mended


def test_broken_line_is_told_of(world: World, cli: Cli) -> None:
    path = next(Path(world.bench.home).glob(FILES["rules"]))
    path.write_text(path.read_text(encoding="utf-8") + "{broken\n", encoding="utf-8")
    assert "could not be read" in context(hook(world.bench, "session-start", source="startup")[1])
    assert "could not be read" in recalled(world, "push")


@pytest.mark.parametrize("way", ["notebook", "config"])
def test_switched_off_memory_says_so_in_one_line(world: World, cli: Cli, way: str) -> None:
    if way == "notebook":
        assert cli("settings", "enabled", "off").code == 0
    else:
        Path(world.bench.home, "config.toml").write_text("[memory]\nenabled = false\n", encoding="utf-8")
    told = context(hook(world.bench, "session-start", source="startup")[1])
    assert told.count("\n") == 1 and "memory is off" in told
    brief = cli("brief")
    assert "memory is off" in brief.out and "tabs" not in brief.out
    assert "memory is off" in recalled(world, "tabs")
    view = cli("memory", "view")
    assert "memory is off" in view.out + view.err


def test_settings_that_cannot_be_read_are_told_of(world: World) -> None:
    Path(world.bench.home, "config.toml").write_text("[learning\nenabled =", encoding="utf-8")
    assert "could not be read" in context(hook(world.bench, "session-start", source="startup")[1])
