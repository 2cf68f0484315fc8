"""What models may cost: a run and a day end cleanly at their limits, and what is left waits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from byheart.domain.errors import BadSetting
from tests.learning.test_with_a_model import Model, answer, baking, raw, serving, world


@pytest.fixture
def model() -> Iterator[Model]:
    with serving() as found:
        found.session = lambda _: answer(raw(knowledge="- The oven bell belongs on pin 9"))
        yield found


def three(tmp_path: Path, model: Model, *flags: str):  # type: ignore[no-untyped-def]
    home = world(tmp_path, model, *flags)
    for number in range(3):
        baking(home, began=f"2026-05-0{number + 4}T10:00:00")
    return home


@pytest.mark.parametrize(
    "limit", ["model_run_requests=1", "model_run_tokens=10", "model_day_requests=1", "model_day_tokens=10"]
)
def test_a_limit_stops_asking_and_the_rest_waits_for_the_next_run(tmp_path: Path, model: Model, limit: str) -> None:
    home = three(tmp_path, model, f"learning.{limit}")
    report = home.learn()
    assert len(model.prompts("big")) == 1
    assert f"learning.{limit.partition('=')[0]}" in report.model and "asked again the next time" in report.model
    assert len(report.learnt) == 3, "what the model was not asked about is learnt without it"
    assert home.findings() == []
    home.bench.flags = tuple(each for each in home.bench.flags if limit not in each)
    again = home.learn()
    assert again.model == "" and len(model.prompts("big")) == 3, "each session is paid once"


def test_a_day_is_counted_over_runs_and_starts_anew(tmp_path: Path, model: Model) -> None:
    home = three(tmp_path, model, "learning.model_day_requests=2")
    home.learn()
    home.learn()
    assert len(model.asked) == 2
    home.bench.clock.move(days=1)
    home.learn()
    assert len(model.asked) == 4
    told = json.loads(Path(home.bench.home, "state", "spent.json").read_text())
    assert told["requests"] == 2 and told["input_tokens"] > 0


def test_money_is_counted_by_the_users_prices(tmp_path: Path, model: Model) -> None:
    home = three(tmp_path, model, "learning.model_price_input=100000", "learning.model_day_cost=5")
    assert "learning.model_day_cost (5) is reached" in home.learn().model
    assert len(model.asked) == 1


def test_a_dry_run_tells_what_would_be_asked_and_asks_nothing(tmp_path: Path, model: Model) -> None:
    home = three(tmp_path, model)
    report = home.learn(dry=True)
    assert model.asked == [] and report.asked == 3 and report.tokens > 1000


def test_a_users_own_prompt_takes_the_place_of_ours(tmp_path: Path, model: Model) -> None:
    home = three(tmp_path, model)
    place = Path(home.bench.home, "prompts")
    place.mkdir(parents=True)
    (place / "stage_one_system.md").write_text("Only ever speak of ovens.")
    home.learn()
    assert all("Only ever speak of ovens." in each for each in model.prompts("big"))


@pytest.mark.parametrize("text", ["no place for the session", "{{thread_id}} {{response_items_json}} {{surprise}}"])
def test_a_prompt_without_its_variables_is_refused_by_name(tmp_path: Path, model: Model, text: str) -> None:
    home = three(tmp_path, model)
    place = Path(home.bench.home, "prompts")
    place.mkdir(parents=True)
    (place / "stage_one_input.md").write_text(text)
    with pytest.raises(BadSetting, match=r"stage_one_input\.md"):
        home.learn()
    assert model.asked == []


def test_the_second_phase_is_told_the_summary_and_what_is_new(tmp_path: Path, model: Model) -> None:
    home = three(tmp_path, model)
    home.learn()
    baking(home, began="2026-05-09T10:00:00")
    home.learn()
    last = [each for each in model.prompts() if "# Raw memories" in each][-1]
    before = last.partition("# Raw memories")[0]
    assert "## User Profile" in before.partition("# The summary as it is now")[2]
    assert "added: 1" in before or "1 added" in before or "[added]" in before, before[-900:]
