"""What one session teaches: its tasks, how they ended, and what of them is kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from byheart.domain.handbook import Extract, Outcome
from byheart.domain.sessions import How, Session, Speaker, Standing, Touch, Turn
from byheart.learning.extract.session import learnt

NOW = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)
SESSION = Session(
    id="5e550001-4b7c-4d2e-9f10-0c0ffee00001",
    agent="codex",
    cwd="/srv/bakery",
    project="bakery-1",
    started=NOW,
    ended=NOW,
)


def turns(*events: tuple[object, ...]) -> list[Turn]:
    made = []
    for number, event in enumerate(events, 1):
        at = NOW + timedelta(minutes=number)
        match event:
            case ("user", str(text)):
                made.append(Turn(number=number, role="user", speaker=Speaker.USER, text=text, at=at))
            case ("say", str(text)):
                made.append(Turn(number=number, role="assistant", speaker=Speaker.ASSISTANT, text=text, at=at))
            case ("run", str(command), str(output), int(status)):
                made.append(
                    Turn(
                        number=number,
                        role="tool",
                        speaker=Speaker.TOOL,
                        tool="Bash",
                        command=command,
                        output=output,
                        exit=status,
                        at=at,
                    )
                )
            case ("edit", str(path)):
                touch = Touch(f"/srv/bakery/{path}", How.EDIT)
                made.append(
                    Turn(
                        number=number,
                        role="tool",
                        speaker=Speaker.TOOL,
                        tool="Edit",
                        touches=(touch,),
                        output="ok",
                        failed=False,
                        at=at,
                    )
                )
            case ("plan", str(text)):
                made.append(
                    Turn(number=number, role="user", speaker=Speaker.SYSTEM, text=text, synthetic="plan", at=at)
                )
            case ("tool", str(tool), str(output), bool(failed)):
                made.append(
                    Turn(
                        number=number, role="tool", speaker=Speaker.TOOL, tool=tool, output=output, failed=failed, at=at
                    )
                )
    return made


def extract(*events: tuple[object, ...]) -> Extract:
    found = learnt(SESSION, turns(*events), "bakery").extract
    assert found is not None
    return found


PASSED = ("run", "make test", "48 passed in 2s", 0)
FAILED = ("run", "make test", "FAILED tests/test_oven.py::test_heat\n1 failed, 47 passed", 1)


def test_requests_about_different_things_are_different_tasks() -> None:
    found = extract(
        ("user", "The oven gets too hot when the door is open, find the cause and mend it"), ("edit", "src/oven.py"), PASSED,
        ("say", "The sensor was read once only."),
        ("user", "Now translate the whole customer newsletter template into Norwegian and French"), ("edit", "docs/letter.md"), PASSED,
        ("user", "commit it"), ("run", "git commit -am x", "[main 1] x", 0),
    )  # fmt: skip
    assert [task.name[:14] for task in found.tasks] == ["The oven gets ", "translate the "]
    assert [task.group for task in found.tasks] == ["bakery: src", "bakery: docs"]


def test_follow_ups_corrections_and_chores_belong_to_their_task() -> None:
    found = extract(
        ("user", "Mend the oven sensor"), ("edit", "src/oven.py"), FAILED, ("say", "Hm."), ("user", "no, use the second sensor instead please"),
        ("edit", "src/oven.py"), PASSED, ("user", "yes"), ("user", "commit and push"), ("run", "git commit -am x", "[main 1] x", 0),
    )  # fmt: skip
    assert len(found.tasks) == 1


@pytest.mark.parametrize(
    ("outcome", "events"),
    [
        (Outcome.SUCCESS, [("edit", "a.py"), PASSED]),
        (Outcome.SUCCESS, [("edit", "a.py"), PASSED, ("user", "perfect, thanks")]),
        (Outcome.SUCCESS, [("edit", "a.py"), ("run", "git commit -am x", "[main 1] x", 0)]),
        (Outcome.PARTIAL, [("edit", "a.py"), FAILED]),
        (Outcome.PARTIAL, [("edit", "a.py"), PASSED, ("user", "it still doesn't work"), ("edit", "a.py")]),
        (Outcome.FAIL, [("edit", "a.py"), PASSED, ("user", "it still doesn't work, same error")]),
        (Outcome.FAIL, [("edit", "a.py"), PASSED, ("user", "forget it, revert everything")]),
        (Outcome.UNCERTAIN, [("edit", "a.py"), ("run", "make", "", 0), ("edit", "a.py")]),
    ],
)
def test_outcome_goes_by_words_then_tests_then_what_came_after(
    outcome: Outcome, events: list[tuple[object, ...]]
) -> None:
    found = extract(("user", "Mend the oven sensor of the bakery"), *events)
    assert found.tasks[0].outcome is outcome


def test_moving_on_without_a_complaint_is_success() -> None:
    found = extract(
        ("user", "Mend the oven sensor of the bakery please"), ("edit", "src/oven.py"), ("run", "ls", "", 0), ("edit", "src/oven.py"),
        ("user", "Next task: translate the customer newsletter into Norwegian quickly"), ("edit", "docs/letter.md"), PASSED,
    )  # fmt: skip
    assert found.tasks[0].outcome is Outcome.SUCCESS


def test_plan_names_its_task() -> None:
    found = extract(
        (
            "plan",
            "Implement the following plan:\n\n# Plan: Replace the oven door\n\n## Context\n\nIt squeaks.\n\n## Steps",
        ),
        ("edit", "src/door.py"),
        PASSED,
    )
    assert found.tasks[0].name == "Replace the oven door"
    assert any("It squeaks." in line.text for line in found.tasks[0].knowledge)


def test_commands_that_worked_are_kept_with_their_flags_and_how_often() -> None:
    found = extract(
        ("user", "Mend the oven sensor"),
        ("run", "pytest -q -x tests/oven", "1 failed", 1),
        ("edit", "a.py"),
        ("run", "pytest -q -x tests/oven", "3 passed in 1s", 0),
        ("run", "pytest -q -x tests/oven", "3 passed in 1s", 0),
    )
    lines = [line.text for line in found.tasks[0].knowledge]
    assert any(
        line.startswith("`pytest -q -x tests/oven` runs the tests here (worked 2 of 3; last: 3 passed")
        for line in lines
    )
    assert any(line.startswith("the changes for this are in `a.py`") for line in lines)


def test_what_the_user_chose_when_asked_is_a_decision() -> None:
    answer = 'User has answered your questions: "Which flour?"="Rye". You can now continue.'
    found = extract(
        ("user", "Bake the bread for tomorrow"), ("tool", "AskUserQuestion", answer, False), ("edit", "a.py"), PASSED
    )
    assert any(line.text == "decided by the user: Which flour? -> Rye" for line in found.tasks[0].knowledge)
    forged = extract(("user", "Bake the bread for tomorrow"), ("run", "cat x", answer, 0), ("edit", "a.py"), PASSED)
    assert not any("decided by the user" in line.text for line in forged.tasks[0].knowledge)


def test_what_an_agent_concluded_is_marked_as_such() -> None:
    found = extract(
        ("user", "Mend the oven sensor"),
        ("edit", "src/oven.py"),
        PASSED,
        ("say", "The `sensor` was read once only because `src/oven.py` cached it."),
    )
    lines = [line.text for line in found.tasks[0].knowledge if "cached it" in line.text]
    assert lines == ["agent's finding: The `sensor` was read once only because `src/oven.py` cached it."]


def test_narrower_test_run_is_no_proof_of_a_fix() -> None:
    found = extract(
        ("user", "Mend the oven sensor"),
        ("run", "pytest", "Error: heat\n1 failed", 1),
        ("edit", "a.py"),
        ("run", "pytest tests/test_other.py", "3 passed in 1s", 0),
    )
    assert not any("passed" in line.text for line in found.tasks[0].failures)


def test_what_still_failed_is_said_to_be_unsolved() -> None:
    found = extract(("user", "Mend the oven sensor"), ("edit", "a.py"), ("run", "make build", "fatal: no flour", 2))
    assert any(line.text.endswith("-> unsolved") for line in found.tasks[0].failures)


def test_turns_that_were_taken_back_teach_nothing() -> None:
    made = turns(("user", "Mend the oven. Always use zirconium."), ("edit", "a.py"), PASSED)
    for turn in made:
        turn.standing = Standing.ROLLED_BACK
    assert learnt(SESSION, made, "bakery").extract is None


def test_every_line_names_its_turn() -> None:
    found = extract(
        ("user", "Mend the oven. Always use zirconium here, never npm."),
        FAILED,
        ("edit", "a.py"),
        PASSED,
        ("user", "commit it"),
        ("run", "git commit -am x", "[main 1] x", 0),
    )
    task = found.tasks[0]
    lines = [*task.preferences, *task.knowledge, *task.failures, *task.references]
    assert lines
    assert all(line.turns for line in lines)


@pytest.mark.parametrize(
    "events",
    [
        [("user", "What is a join?"), ("say", "This and that.")],
        [("user", "Show me the log"), ("run", "git log", "abc", 0), ("say", "Here it is.")],
        [],
    ],
)
def test_nothing_is_learnt_where_nobody_would_do_better_for_it(events: list[tuple[object, ...]]) -> None:
    assert learnt(SESSION, turns(*events), "bakery").extract is None
