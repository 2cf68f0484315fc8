"""Handbooks in step with those that agents keep themselves."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from byheart.app import connecting
from byheart.app.open import Surroundings, open_memory
from byheart.domain.errors import BadInput, NothingFound, Refused
from tests.learning.world import World, fixed

CODEX = """# Task Group: shop: the till
scope: work of this project
applies_to: cwd={here}; reuse_rule=this checkout

## Task 1: mend the till, success

### rollout_summary_files

- rollout_summaries/x.md (cwd={here}, rollout_path=/r, updated_at=2026-05-01T00:00:00+00:00, thread_id=1)

### keywords

- till, bell

## Reusable knowledge

- the till only rings after `make wind-up-the-clockwork` [Task 1]
"""
ELSEWHERE = CODEX.replace("{here}", "/somewhere/else").replace("wind-up-the-clockwork", "paint-the-giraffe")
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def linked(world: World, agent: str, *, writes: bool = False) -> tuple[list[str], list[str]]:
    around = Surroundings(folder=world.bench.project, environment=world.bench.environment, flags=world.bench.flags)
    return connecting.link(open_memory(around), around, agent, writes=writes)


def unlinked(world: World, agent: str) -> list[str]:
    return connecting.unlink(world.bench.opened(), agent)


def recalled(world: World, question: str) -> str:
    return "\n".join(hit.record.text for hit in world.bench.opened().memory.recall(question).hits)


def forgotten(world: World, address: str) -> None:
    door = world.door()
    door.forget(door.target(address))
    world.bench.opened().memory.caught_up()


def bytes_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def codex_folder(world: World) -> Path:
    folder = world.home / ".codex" / "memories"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text(ELSEWHERE + "\n" + CODEX.replace("{here}", world.bench.project))
    (folder / "memory_summary.md").write_text("v1\n\n## User Profile\n\nSomebody who sells giraffes.\n")
    return folder


def omp_folder(world: World) -> Path:
    name = "--" + world.bench.project.strip("/").replace("/", "-") + "--"
    folder = world.home / ".omp" / "agent" / "memories" / name
    (folder / "skills" / "wind-up").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Shop\n\n- the oven door sticks in the rain\n")
    (folder / "learned.md").write_text("- knock twice before the lighthouse _(context: fog)_\n")
    (folder / "skills" / "wind-up" / "SKILL.md").write_text("---\nname: wind-up\n---\nturn the brass key\n")
    return folder


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(tmp_path)
    found.session(("user", "Mend the bell. From now on always use zirconium here."), *fixed())
    found.learn()
    return found


def test_what_codex_wrote_of_this_project_is_evidence_here_and_of_others_is_not(world: World) -> None:
    before = bytes_below(folder := codex_folder(world))
    came, written = linked(world, "codex")
    assert came and not written
    assert "wind-up-the-clockwork" in recalled(world, "till clockwork")
    assert not world.holding("paint-the-giraffe") and not world.holding("sells giraffes")
    assert bytes_below(folder) == before
    assert world.findings() == []


def test_what_oh_my_pi_wrote_comes_over_whole(world: World) -> None:
    omp_folder(world)
    linked(world, "oh-my-pi")
    for question, words in (("oven door rain", "sticks"), ("lighthouse", "knock twice"), ("brass key", "turn the")):
        assert words in recalled(world, question)


def test_what_is_written_later_comes_in_with_the_next_learning_and_what_goes_leaves(world: World) -> None:
    folder = omp_folder(world)
    linked(world, "oh-my-pi")
    (folder / "MEMORY.md").write_text("- the lamp oil is in the cellar\n")
    (folder / "learned.md").unlink()
    world.learn()
    assert "cellar" in recalled(world, "lamp oil") and "knock" not in recalled(world, "lighthouse")
    assert not world.holding("knock twice")


def test_our_handbook_stands_in_its_place_and_every_byte_comes_back(world: World) -> None:
    for agent, folder in (("oh-my-pi", omp_folder(world)), ("codex", codex_folder(world))):
        before = bytes_below(folder)
        _, written = linked(world, agent, writes=True)
        assert written
        memory = (folder / "MEMORY.md").read_text()
        assert "zirconium" in memory
        if agent == "codex":
            assert "paint-the-giraffe" in memory and "wind-up-the-clockwork" not in memory
            assert (folder / "memory_summary.md").read_bytes() == before["memory_summary.md"]
        # What we wrote ourselves is no evidence, however often it is looked at.
        world.learn()
        resources = world.folder / "extensions" / agent / "resources"
        came = "".join(path.read_text() for path in resources.glob("*.md"))
        assert "zirconium" not in came and ("sticks in the rain" in came or "wind-up-the-clockwork" in came)
        unlinked(world, agent)
        assert bytes_below(folder) == before


def test_new_session_reaches_the_agents_handbook_and_what_the_agent_wrote_meanwhile_is_not_lost(world: World) -> None:
    folder = codex_folder(world)
    linked(world, "codex", writes=True)
    with (folder / "MEMORY.md").open("a") as stream:
        stream.write("\n" + ELSEWHERE.replace("the till", "the zoo").replace("paint-the-giraffe", "feed-the-okapi"))
    world.session(
        ("user", "Mend the lamp. From now on always use tungsten here."), *fixed("Error: lamp dark", "lamp.py")
    )
    world.learn()
    memory = (folder / "MEMORY.md").read_text()
    assert "tungsten" in memory and "feed-the-okapi" in memory and "paint-the-giraffe" in memory
    unlinked(world, "codex")
    memory = (folder / "MEMORY.md").read_text()
    assert "tungsten" not in memory and "feed-the-okapi" in memory and "wind-up-the-clockwork" in memory


def test_secret_of_theirs_is_blanked_out_and_stops_us_from_taking_its_place(world: World) -> None:
    folder = omp_folder(world)
    (folder / "MEMORY.md").write_text(f"- the token is {TOKEN}\n- the lamp oil is in the cellar\n")
    linked(world, "oh-my-pi")
    assert "cellar" in recalled(world, "lamp oil") and not world.holding(TOKEN)
    before = bytes_below(folder)
    with pytest.raises(Refused, match="holds a secret"):
        linked(world, "oh-my-pi", writes=True)
    assert bytes_below(folder) == before and not world.holding(TOKEN)


def test_what_is_forgotten_does_not_come_back_from_the_agent(world: World) -> None:
    omp_folder(world)
    linked(world, "oh-my-pi", writes=True)
    [found] = [hit for hit in world.bench.opened().memory.recall("oven door rain").hits if "sticks" in hit.record.text]
    forgotten(world, found.address)
    # Whoever still has the index open keeps its journal.
    gc.collect()
    assert not world.holding("sticks in the rain")
    world.session(
        ("user", "Mend the lamp. From now on always use tungsten here."), *fixed("Error: lamp dark", "lamp.py")
    )
    world.learn()
    assert not world.holding("sticks in the rain") and "sticks" not in recalled(world, "oven door rain")


def test_agent_without_a_handbook_of_its_own_is_named_with_those_that_have_one(world: World) -> None:
    with pytest.raises(BadInput, match="codex, oh-my-pi"):
        linked(world, "gemini-cli")
    with pytest.raises(NothingFound, match="byheart link"):
        unlinked(world, "codex")


def test_writing_is_taken_back_before_a_link_only_reads(world: World) -> None:
    omp_folder(world)
    linked(world, "oh-my-pi", writes=True)
    with pytest.raises(Refused, match="byheart unlink oh-my-pi"):
        linked(world, "oh-my-pi")


def test_state_that_somebody_broke_is_named_and_nothing_is_written(world: World) -> None:
    folder = omp_folder(world)
    linked(world, "oh-my-pi", writes=True)
    state = world.door().handbook().root.own("links.json")
    Path(str(state)).write_text("[{")
    before = bytes_below(folder)
    with pytest.raises(Refused, match=r"links\.json"):
        unlinked(world, "oh-my-pi")
    assert bytes_below(folder) == before
