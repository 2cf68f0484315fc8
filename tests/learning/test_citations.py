"""Every line that sessions taught is in the turns that it cites."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from scripts.citations import checked, missing
from scripts.sample import make

from byheart.app.open import Surroundings, open_memory
from byheart.app.sessions import open_learning, open_sessions
from byheart.domain.handbook import Bullet
from byheart.domain.sessions import Speaker, Turn
from byheart.domain.values import replace
from byheart.learning.learning import Wanted
from byheart.testing import Bench


def test_citation_of_every_line_learnt_from_the_sample_holds_what_the_line_says(tmp_path: Path, bench: Bench) -> None:
    home = tmp_path / "sam"
    make(home)
    around = Surroundings(
        folder=bench.project,
        environment={**bench.environment, "HOME": str(home), "BYHEART_HOME": os.path.join(str(tmp_path), "home")},
        flags=("recall.embedder=none", "learning.workers=1"),
        clock=bench.clock,
    )
    opened = open_memory(around)
    every = open_sessions(opened, around)
    every.refresh()
    learning = open_learning(opened, around, every)
    learning.learn(Wanted())
    count, found = checked(learning, every)
    assert count > 40
    assert found == []


@pytest.mark.parametrize(
    ("line", "is_held"),
    [
        ("`make bell` failed with `Error: no bell` -> `make oven` passed", True),
        ("`make bell` failed with `Error: no door` -> `make oven` passed", False),
        ("`make roof` failed with `Error: no bell` -> `make oven` passed", False),
        ('when baking, the user said: "always ring the bell" -> ring it', True),
        ('when baking, the user said: "always ring the gong" -> ring it', False),
        ("agent's finding: The bell rings because the oven is hot", True),
        ("agent's finding: The gong rings because nobody wound the clock", False),
    ],
)
def test_line_that_its_turns_do_not_hold_is_found(line: str, *, is_held: bool) -> None:
    turn = Turn(
        number=1, role="tool", speaker=Speaker.TOOL, text="", tool="run", command="make bell", output="Error: no bell"
    )
    said = Turn(
        number=2,
        role="user",
        speaker=Speaker.USER,
        text="Always ring the bell. The bell rings because the oven is hot.",
    )
    turns = {1: turn, 2: said, 3: replace(turn, number=3, command="make oven", output="ok")}
    assert (missing(Bullet(line, (1, 3)), turns) == []) is is_held
