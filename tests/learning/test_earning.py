"""What sessions are told of what went wrong: counted, compared, and only while it may still be met."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.learning.world import Event, World


def tips(world: World) -> list[str]:
    return [line.removeprefix("- ") for line in world.text("memory_summary.md").split("\n") if line.startswith("- Met ")]  # fmt: skip


def failed(command: str, output: str) -> Event:
    return ("run", command, output, 1)


def worked(command: str, output: str = "done") -> Event:
    return ("run", command, output, 0)


def several(world: World, *events: Event, times: int = 2) -> None:
    for number in range(times):
        world.session(("user", f"Mend part {number} of the oven."), *events)


def test_wrapper_that_a_program_needs_is_told_and_one_that_it_does_not_take_too(tmp_path: Path) -> None:
    world = World(tmp_path)
    several(world, failed("knead --all", "sh: knead: command not found"), worked("oven x knead -- knead --all"))
    several(world, failed("rtk bake run rye", "error: unrecognized subcommand 'bake'"), worked("bake run rye"))
    world.learn()
    told = "\n".join(tips(world))
    assert "`knead --all` failed with `sh: knead: command not found`; works as `oven x knead -- knead --all`" in told
    assert "works without `rtk`: `bake run rye`" in told


def test_what_the_failed_call_itself_asks_for_is_the_cure_and_not_what_came_last(tmp_path: Path) -> None:
    world = World(tmp_path)
    asks = "Missing generated shapes. Run this first:\n  bake shapes --all"
    several(
        world,
        failed("bake push", asks),
        worked("bake shapes --all"),
        worked("oven warm"),
        worked("bake push", "pushed"),
    )
    world.learn()
    [line] = tips(world)
    assert line.endswith("; run `bake shapes --all` first")


def test_where_only_the_user_could_help_the_user_is_to_be_asked(tmp_path: Path) -> None:
    world = World(tmp_path)
    locked = "error: 1Vault: failed to fill the whole buffer"
    several(
        world,
        failed("bake sign rye", locked),
        failed("bake sign rye", locked),
        ("user", "ok it's unlocked now"),
        worked("bake sign rye", "signed"),
    )
    world.learn()
    [line] = tips(world)
    assert line.endswith("; ask the user first, then run it again")


def test_trying_again_that_had_failed_before_is_no_cure(tmp_path: Path) -> None:
    world = World(tmp_path)
    wrong = "error: the oven door is stuck"
    several(world, failed("bake rye", wrong), failed("bake rye", wrong), worked("bake rye", "baked"), times=2)
    world.learn()
    assert not [line for line in tips(world) if "run again" in line]


def test_folder_that_a_call_works_in_is_told_and_no_difference_besides(tmp_path: Path) -> None:
    world = World(tmp_path)
    several(world, failed("knead dough --filter web", "error: no dough here"), worked("cd apps/web && knead dough"))
    world.learn()
    [line] = tips(world)
    assert line.endswith("; works in `apps/web`")


@pytest.mark.parametrize(("quiet", "is_told"), [(4, True), (24, False)])
def test_trouble_that_nobody_met_for_long_is_told_no_more(tmp_path: Path, quiet: int, *, is_told: bool) -> None:
    world = World(tmp_path)
    several(world, failed("knead --form", "error: no such shape: form"), worked("knead --shape"))
    for number in range(quiet):
        world.session(
            ("user", f"Mend part {number} of the bell."),
            ("edit", f"bell/part{number}.py"),
            ("run", "make test", "48 passed in 2.10s", 0),
            began=f"2026-05-{5 + number // 2:02d}T{10 + number % 2}:00:00",
        )
    world.learn()
    assert bool(tips(world)) is is_told


def test_error_that_each_session_got_over_in_its_own_way_is_not_told_at_the_start(tmp_path: Path) -> None:
    world = World(tmp_path)
    for number, way in enumerate(f"bake {name}.rye" for name in "abcde"):
        world.session(
            ("user", f"Mend part {number} of the oven."),
            failed("serve oven", "Error: the oven did not answer in time"),
            ("edit", f"oven/{way[5:]}"),
            worked("serve oven", "serving"),
        )
    world.learn()
    assert tips(world) == []
    # Whoever meets it can ask.
    assert world.door() and "did not answer in time" in world.text("MEMORY.md")


def test_commands_that_several_sessions_run_are_told_and_scripts_come_before_tools(tmp_path: Path) -> None:
    world = World(tmp_path)
    for number in range(5):
        world.session(
            ("user", f"Mend part {number} of the oven."),
            ("edit", f"oven/part{number}.rs"),
            ("run", "cargo clippy", "Finished `dev` profile target(s)", 0),
            *([("run", "oven run lint", "ok", 0)] if number > 1 else []),
            ("run", "oven shapes", "written", 0),
        )
    world.learn()
    summary = world.text("memory_summary.md")
    assert "- Checks: `oven run lint`\n" in summary
    assert "- Also run here: `oven shapes` (5 sessions)\n" in summary


def test_address_that_a_person_typed_and_that_worked_is_told_in_their_words(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(
        ("user", "Mend the oven."),
        failed("bake start", "Error: connect ECONNREFUSED localhost"),
        ("user", "the database runs on the host at 192.168.7.20. version 1.2.3.4 is fine too"),
        worked("DB_HOST=192.168.7.20 bake start", "started"),
    )
    world.learn()
    assert '- The user said: "the database runs on the host at 192.168.7.20."\n' in world.text("memory_summary.md")


def test_requests_that_share_a_few_words_in_a_row_are_one_habit(tmp_path: Path) -> None:
    world = World(tmp_path)
    asked = (
        "can you look at the comments from hopper on the door",
        "there are new comments from hopper, answer them",
        "go through all comments from hopper before lunch",
        "comments from hopper again, same as yesterday",
    )
    for number, request in enumerate(asked):
        world.session(
            ("user", f"Mend part {number} of the oven."),
            ("edit", f"oven/part{number}.py"),
            ("run", "make test", "48 passed in 2.10s", 0),
            ("user", request),
            ("run", "gh pr view 3", "none", 0),
        )
    world.learn()
    wishes = world.text("memory_summary.md").partition("## User preferences")[2].partition("## ")[0]
    assert 'the user asked in 4 sessions: "' in wishes and "comments from hopper" in wishes


@pytest.mark.parametrize(
    ("said", "is_wish"),
    [
        ("the loader must take an id and always check that each session has the same one", False),
        ("you must always check the loader before you push", True),
        ("didn't we have a hint in AGENTS.md to write a note whenever we open a pull request?", True),
        ("what does AGENTS.md say about the oven?", False),
    ],
)
def test_what_a_program_has_to_do_is_no_wish_and_what_the_agents_file_is_to_say_is_one(
    tmp_path: Path, said: str, *, is_wish: bool
) -> None:
    world = World(tmp_path)
    world.session(
        ("user", f"Mend the oven. {said}"), ("edit", "oven/a.py"), ("run", "make test", "48 passed in 2.10s", 0)
    )
    world.learn()
    wishes = world.text("memory_summary.md").partition("## User preferences")[2].partition("\n## ")[0]
    assert bool([line for line in wishes.split("\n") if line.startswith("- when")]) is is_wish


def test_wish_that_begins_with_what_another_session_cannot_know_waits_in_the_inbox(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(
        ("user", "Mend the oven. The bell you found is right, but it needs to be checked by hand from now on."),
        ("edit", "oven/a.py"),
        ("run", "make test", "48 passed in 2.10s", 0),
    )
    world.learn()
    wishes = world.text("memory_summary.md").partition("## User preferences")[2].partition("\n## ")[0]
    assert "checked by hand" not in wishes
    assert any("checked by hand" in each.text for each in world.door().inbox())


def test_request_that_says_more_than_how_work_is_ended_is_told_beside_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    for number in range(4):
        world.session(
            ("user", f"Mend part {number} of the oven."),
            ("edit", f"oven/part{number}.py"),
            ("run", "make test", "48 passed in 2.10s", 0),
            ("user", "open a pr, answer the discussion" if number else "ok let's get a pr up"),
            ("run", "gh pr create --fill", "https://example.com/3", 0),
            ("user", "push it"),
            ("run", "git push", "main -> main", 0),
        )
    world.learn()
    wishes = world.text("memory_summary.md").partition("## User preferences")[2].partition("\n## ")[0]
    assert "-> offer to push and open a pull request as the last step" in wishes
    assert 'the user asked in 3 sessions: "open a pr, answer the discussion"' in wishes
