"""What excludes an earlier word of the user's in the other notebook takes its place, is told once, and can be brought back."""

from __future__ import annotations

from pathlib import Path

import pytest

from byheart.domain.records import Request
from byheart.language.opposition import exclude
from byheart.testing import Bench
from tests.conftest import Cli


def texts(bench: Bench) -> list[str]:
    return [hit.record.text for hit in bench.memory.list().hits]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I prefer spaces", "use tabs"),
        ("use tabs", "I prefer spaces"),
        ("I prefer spaces", "never use spaces"),
        ("I prefer npm", "always use pnpm"),
    ],
)
def test_newer_word_takes_the_place_of_the_older_one_in_the_other_notebook(
    bench: Bench, older: str, newer: str
) -> None:
    bench.remember(older)
    receipt = bench.memory.remember(Request(text=newer))
    assert len(texts(bench)) == 1 and newer.split()[-1] in texts(bench)[0]
    assert any("replaces" in note for note in receipt.notes)
    back = next(note for note in receipt.notes if "byheart undo" in note).rpartition(" ")[2]
    bench.memory.undo(back)
    assert len(texts(bench)) == 2


def test_rule_that_must_hold_stays_and_is_named(bench: Bench) -> None:
    bench.remember("never use tabs")
    receipt = bench.memory.remember(Request(text="I prefer tabs"))
    assert len(texts(bench)) == 2
    assert any("excludes the rule" in note for note in receipt.notes)


def test_check_names_preferences_and_rules_that_exclude_each_other(bench: Bench, cli: Cli) -> None:
    bench.remember("I prefer spaces")
    rules = Path(bench.path("triples"))
    rules.parent.mkdir(parents=True, exist_ok=True)
    rules.write_text('{"k":"rule","t":["tabs","use","general"],"w":1,"n":"Use tabs."}\n', encoding="utf-8")
    done = cli("check")
    assert "exclude each other" in done.out
    brief = cli("brief").out
    assert ("Use tabs" in brief) != ("prefer spaces" in brief), "one of them is told"


def told_now(bench: Bench) -> list[str]:
    """What a session is told of profile and rules."""
    return [hit.record.text for hit in (*bench.memory.profile().bullets, *bench.memory.rules().hits)]


@pytest.mark.parametrize("notebook", ["yaml-block", "triples"])
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("commits are squashed", "commits are not squashed"),
        ("deploy on Fridays", "do not deploy on Fridays"),
        ("indent with 2 spaces", "indent with 4 spaces"),
        ("answer in German", "reply in English"),
        ("antworte auf Deutsch", "antworte auf Englisch"),
        ("call me Ana", "call me Bea"),
        ("write tests first", "write tests last"),
        ("commit with a body", "commit without a body"),
    ],
)
def test_what_opposes_is_the_same_in_every_notebook(bench: Bench, notebook: str, older: str, newer: str) -> None:
    bench.remember(older, to=notebook)
    bench.remember(newer, to=notebook)
    told = told_now(bench)
    assert len(told) == 1 and told[0].casefold().rstrip(".") == newer.casefold()


@pytest.mark.parametrize("notebook", ["yaml-block", "triples"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("use docker for the database", "don't use docker on CI"),
        ("use tabs in Makefiles", "use spaces in Python"),
        ("use 2 spaces in YAML", "use 4 spaces in Python"),
        ("always run lint before commit", "never commit without running lint"),
        ("write tests in pytest", "write docs in German"),
        ("merge after approval", "merge hotfixes before approval"),
        ("prefer async functions", "prefer sync functions in scripts"),
        ("explain your changes", "don't explain trivial changes"),
        ("avoid classes", "use classes for models"),
        ("standup is at 9:30 on Mondays", "standup is at 10:00 on Thursdays"),
        ("always write tests", "don't write tests for prototypes"),
        ("use single quotes", "use double quotes in JSX"),
        ("don't use print", "use print for CLI output"),
        ("never use root", "use root in the container build"),
        ("never delete files", "delete build files"),
    ],
)
def test_what_goes_together_is_kept_in_every_notebook(bench: Bench, notebook: str, one: str, other: str) -> None:
    bench.remember(one, to=notebook)
    bench.remember(other, to=notebook)
    assert len(told_now(bench)) == 2


def test_what_a_dry_run_says_is_what_happens(bench: Bench, cli: Cli) -> None:
    bench.remember("I prefer tabs")
    told = cli("remember", "--dry-run", "always use spaces").out
    assert "memories.ndjson" in told and "it replaces 'I prefer tabs.' in memories.md" in told
    assert len(texts(bench)) == 1
    done = cli("remember", "always use spaces")
    assert "it replaces 'I prefer tabs.' in memories.md" in done.err and texts(bench) == ["Always use spaces."]


def test_two_of_one_profile_that_exclude_each_other_are_named_and_the_newer_is_told(bench: Bench, cli: Cli) -> None:
    bench.put(
        "memories.md",
        "```yaml\nsaved_memory:\n  items:\n"
        "    - {key: tooling.bun, value: I prefer bun., added: 2026-05-02, confidence: high}\n"
        "    - {key: tooling.yarn, value: I prefer yarn., added: 2026-05-01, confidence: high}\n```\n",
    )
    assert "exclude each other" in cli("check").out
    brief = cli("brief").out
    assert "prefer bun" in brief and "prefer yarn" not in brief


def test_newer_word_takes_the_place_of_all_that_it_excludes_and_undo_brings_them_back(bench: Bench) -> None:
    bench.put(
        "memories.md",
        "```yaml\nsaved_memory:\n  items:\n"
        "    - {key: code.tabs, value: I prefer tabs., confidence: high}\n"
        "    - {key: code.more, value: Prefer tabs in code., confidence: high}\n"
        "    - {key: writing.tone, value: concise, confidence: high}\n```\n",
    )
    receipt = bench.memory.remember(Request(text="I prefer spaces"))
    assert texts(bench) == ["I prefer spaces.", "concise"] or texts(bench) == ["concise", "I prefer spaces."]
    bench.memory.undo(receipt.id)
    assert sorted(texts(bench)) == ["I prefer tabs.", "Prefer tabs in code.", "concise"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We use pnpm in this project, never npm.", "I prefer npm."),
        ("We use pnpm in this project, never npm.", "Use npm for everything."),
        ("I prefer tabs", "I prefer 2 spaces"),
        ("I like short answers", "I like long detailed answers"),
        ("we use Postgres", "we use MySQL"),
        ("prefer snake_case", "prefer camelCase"),
        ("I prefer functional code", "I prefer object-oriented code"),
        ("Ich bevorzuge Tabs", "Ich bevorzuge Leerzeichen"),
    ],
)
def test_two_answers_to_one_question_exclude_each_other(one: str, other: str) -> None:
    assert exclude(one, other) and exclude(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("use tabs in Makefiles", "use spaces"),
        ("use pnpm here", "use npm in legacy/"),
        ("prefer short names", "prefer long timeouts"),
        ("prefer small pull requests", "prefer large test fixtures"),
        ("we use Postgres for orders", "we use MySQL for billing"),
    ],
)
def test_two_answers_to_two_questions_go_together(one: str, other: str) -> None:
    assert not exclude(one, other) and not exclude(other, one)


def test_check_quotes_both_that_oppose_each_other(bench: Bench, cli: Cli) -> None:
    rules = Path(bench.path("triples"))
    rules.parent.mkdir(parents=True, exist_ok=True)
    rules.write_text(
        '{"k":"rule","t":["tabs","use","general"],"w":1,"n":"Always use tabs."}\n{"k":"rule","t":["tabs","avoid","general"],"w":1,"n":"Never use tabs."}\n',
        encoding="utf-8",
    )
    out = cli("check").out
    assert "Always use tabs." in out and "Never use tabs." in out and "byheart check --fix" in out


def test_change_in_another_project_is_the_last_one_too(bench: Bench, cli: Cli, tmp_path: Path) -> None:
    cli("remember", "always greet the zebra")
    bench.clock.move(days=1)
    other = tmp_path / "elsewhere"
    other.mkdir()
    cli("-C", str(other), "remember", "never feed the llama")
    done = cli("undo")
    assert done.code == 0 and "llama" in done.out and "elsewhere" in done.out
    assert "zebra" in cli("list").out
    assert "zebra" in cli("undo").out


def test_file_never_grows_beyond_what_is_read_of_it(bench: Bench, cli: Cli) -> None:
    cli("settings", "store.file_bytes", "10000")
    filler = " ".join(f"word{number}" for number in range(75))
    codes = [
        cli("remember", "--key", f"tool.k{number}", "--value", f"value {number} {filler}").code for number in range(20)
    ]
    assert 3 in codes, "it is refused before it is written"
    assert cli("recall", "value 3").code == 0
    assert cli("forget", "tool.k3", "--yes").code == 0
    assert cli("undo").code in (0, 3)
