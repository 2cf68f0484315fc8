"""Sensitive personal data: told by people of people, and kept only where somebody asks for it after a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from byheart.domain.errors import Refused
from byheart.domain.records import Request, Signal
from byheart.language.personal import kind_of
from byheart.testing import Bench
from tests.conftest import Cli
from tests.learning.world import World

PRIVATE = {
    "health": ["I have diabetes, so remind me to take breaks", "My mother has cancer", "Ich bin schwanger", "tengo diabetes"],
    "sexual orientation or gender identity": ["I'm gay", "She is transgender"],
    "belief": ["I am a practicing Muslim", "my church meets on Sundays"],
    "political opinion": ["I voted for Labour", "I'm a registered Democrat"],
    "income": ["my salary is 80k", "I earn $90,000 a year", "Je gagne 3000 euros"],
    "phone number": ["My phone number is +49 151 2345 6789", "call me at 555-123-4567"],
    "e-mail address": ["my email is jane.doe@gmail.com"],
    "home address": ["I live at 12 Oak Street"],
    "identity document": ["my passport number is C01X00T47", "my SSN is 078-05-1120"],
    "bank account": ["pay to DE89 3704 0044 0532 0130 00"],
    "date of birth": ["I was born on 3 May 1988"],
}  # fmt: skip
HARMLESS = [
    "never log user e-mail addresses", "use git@github.com:a/b.git as remote", "commit as noreply@example.com",
    "the health check endpoint must return 200", "I prefer strict mode", "use conservative timeouts",
    "always run the tests in isolation", "we use bi weekly releases", "the passport.js strategy is local",
    "phone screens should be responsive", "orientation must be landscape", "I vote for tabs", "my dev server is on port 3000",
    "we make 3 attempts", "I make 2 commits per PR", "straight quotes only", "IDs look like AB12 3456",
    "allergy service tests live in apps/allergy", "call me by my first name",
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in PRIVATE.items() for text in texts])
def test_private_life_is_seen(kind: str, text: str) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize("text", HARMLESS)
def test_what_programs_are_about_is_not_private(text: str) -> None:
    assert kind_of(text) == ""


def test_sensitive_personal_data_is_never_stored_unasked(bench: Bench) -> None:
    with pytest.raises(Refused, match="private life"):
        bench.memory.remember(Request(text="I always take insulin at noon", asked=False, signal=Signal.EXPLICIT))
    assert not bench.memory.list().hits


def test_sensitive_personal_data_is_stored_only_after_a_plain_warning(cli: Cli) -> None:
    first = cli("remember", "my phone number is +49 151 2345 6789")
    assert first.code == 3
    assert "phone number" in first.err and "--private" in first.err
    assert cli("remember", "--private", "my phone number is +49 151 2345 6789").code == 0
    assert "+49 151" in cli("list").out


def test_sessions_teach_nothing_of_private_life(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(("user", "From now on remind me of breaks, always: I have diabetes."), ("assistant", "Yes."))
    world.learn()
    assert "diabetes" not in "".join(
        path.read_text() for path in world.folder.rglob("*.md") if "memory" in path.name.casefold()
    )
    assert not world.door().inbox()
