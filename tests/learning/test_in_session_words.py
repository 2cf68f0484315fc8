"""What people say inside a session when they mean memory: found by learning where no tool was called."""

from __future__ import annotations

from pathlib import Path

import pytest

from byheart.domain.errors import Ambiguous, NothingFound
from byheart.language import lasting
from tests.learning.world import World, fixed


@pytest.mark.parametrize(
    ("sentence", "what"),
    [
        ("Forget that we use npm here.", "we use npm here"),
        ("please forget what I said about tabs", "tabs"),
        ("forget about the rule that tests are slow", "tests are slow"),
        ("Please forget the preference for pnpm lock files", "for pnpm lock files"),
        ("remove this from memory: deploys on Fridays", "deploys on Fridays"),
        ("forget it", ""),
        ("Forget about it.", ""),
        ("forget that", ""),
        ("don't forget to update the changelog", ""),
        ("I forget how this works", ""),
        ("never forget that users come first", ""),
    ],
)
def test_what_is_asked_to_be_forgotten(sentence: str, what: str) -> None:
    assert lasting.unsaid(sentence) == what


def test_remember_and_from_now_on_are_learnt(tmp_path: Path) -> None:
    home = World(tmp_path)
    home.session(("user", "Mend the bell. Remember that the staging database is read-only."), *fixed())
    home.session(("user", "From now on always weigh the flour in grams."), *fixed(by="b.py"))
    home.learn()
    text = home.text("memory_summary.md")
    assert "the staging database is read-only" in text and "weigh the flour in grams" in text


def test_forget_in_a_session_waits_for_a_yes_and_then_is_done(tmp_path: Path) -> None:
    home = World(tmp_path)
    home.bench.remember("never deploy on Fridays because support is away")
    home.session(("user", "Mend the bell. Please forget that we never deploy on Fridays."), *fixed())
    home.learn()
    question = home.door().inbox()[0]
    assert question.text == "forget: we never deploy on Fridays" and question.reasons == ("asks to forget",)
    assert home.holding("support is away")
    receipt = home.door().accept(question.id)
    assert receipt.action == "forgotten"
    assert not home.holding("support is away")
    assert home.door().inbox() == []


def test_forget_takes_a_learnt_line(tmp_path: Path) -> None:
    home = World(tmp_path)
    home.session(("user", "Mend it. From now on always use zirconium bolts in the oven door."), *fixed())
    home.learn()
    home.session(
        ("user", "Forget that you always use zirconium bolts in the oven door."),
        *fixed(by="x.py"),
        began="2026-05-09T10:00:00",
    )
    home.learn()
    question = next(each for each in home.door().inbox() if each.text.startswith("forget: "))
    home.door().accept(question.id)
    assert "zirconium" not in home.text("memory_summary.md")
    assert "From now on always use zirconium" not in home.text("MEMORY.md")


def test_forget_that_fits_nothing_or_several_changes_nothing(tmp_path: Path) -> None:
    home = World(tmp_path)
    home.bench.remember("never deploy the shop on Fridays because support is away")
    home.bench.remember("never deploy the blog on Fridays because support is away")
    home.session(
        ("user", "Forget that we deploy on Fridays."), ("user", "Forget about the purple walrus of Doom."), *fixed()
    )
    home.learn()
    asked = {each.text: each.id for each in home.door().inbox()}
    with pytest.raises(Ambiguous):
        home.door().accept(asked["forget: we deploy on Fridays"])
    with pytest.raises(NothingFound):
        home.door().accept(asked["forget: the purple walrus of Doom"])
    assert home.holding("support is away") and len(home.door().inbox()) == 2
    home.door().reject(asked["forget: the purple walrus of Doom"])
    assert len(home.door().inbox()) == 1


def test_forget_said_in_several_sessions_does_not_become_a_wish(tmp_path: Path) -> None:
    home = World(tmp_path)
    for number in range(4):
        home.session(
            ("user", "Forget that we use the purple walrus."),
            *fixed(by=f"{number}.py"),
            began=f"2026-05-0{number + 1}T10:00:00",
        )
    home.learn()
    assert "walrus" not in home.text("memory_summary.md").split("## General Tips")[0]
