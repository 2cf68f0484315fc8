"""One rule for where a memory goes: into the notebook that the person keeps, in its own form; where that is none or several, by kind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from byheart.domain.records import Request, Scope
from byheart.testing import Bench
from tests.conftest import Cli

RULES, PROFILE, JOURNAL = "triples", "yaml-block", "journal"


def kept(bench: Bench, name: str, text: str = "") -> Path:
    """A notebook that the user keeps in the repository."""
    place = Path(bench.project, name)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return place


def test_seeds_own_example_gives_a_global_triple(bench: Bench, cli: Cli) -> None:
    done = cli("remember", "global: add to memory that I prefer pnpm")
    assert done.code == 0
    rows = Path(bench.path(RULES, Scope.GLOBAL)).read_text().splitlines()
    assert [json.loads(row) for row in rows] == [
        {"k": "preference", "t": ["pnpm", "prefer", "general"], "w": 1, "n": "I prefer pnpm."}
    ]


def test_everything_goes_to_the_rules_where_they_are_what_somebody_keeps(bench: Bench, cli: Cli) -> None:
    place = kept(bench, "docs/memory/memories.ndjson")
    assert cli("trust", "--yes").code == 0
    for each in (
        ["I prefer emacs"],
        ["I prefer emacs"],
        ["--issue", "tests hang", "--fix", "raise the timeout"],
        ["global: I like tabs"],
    ):
        assert cli("remember", *each).code == 0
    rows = [json.loads(row) for row in place.read_text().splitlines() if row]
    assert [(row["t"], row["w"]) for row in rows] == [
        (["emacs", "prefer", "general"], 2),
        (["tests-hang", "fixed_by", "raise_the_timeout"], 1),
    ]
    # What holds for all projects is kept in the same kind of notebook.
    assert "I like tabs." in Path(bench.path(RULES, Scope.GLOBAL)).read_text()
    assert not os.path.exists(bench.path(PROFILE, Scope.GLOBAL))


def test_everything_goes_to_the_profile_where_that_is_what_somebody_keeps(bench: Bench, cli: Cli) -> None:
    assert cli("remember", "I prefer tabs").code == 0
    place = kept(bench, "memories.md", Path(bench.path(PROFILE)).read_text())
    assert cli("trust", "--yes").code == 0
    assert cli("remember", "never push to main").code == 0
    assert "push to main" in place.read_text()
    # A rule is then a part of the Active Profile, which shows no other notebook.
    assert "push to main" in cli("profile").out


def test_everything_goes_to_the_journal_where_that_is_what_somebody_keeps(bench: Bench, cli: Cli) -> None:
    line = '- {"id":"a1","sessionId":"main","category":"note","text":"Hello.","provenance":{"sourceChannel":"cli"}}\n'
    place = kept(bench, "MEMORY.md", line)
    assert cli("trust", "--yes").code == 0
    done = cli("remember", "I prefer tabs", "--category", "user-preference", "--sensitivity", "private-user")
    assert done.code == 0
    (record,) = [json.loads(row[2:]) for row in place.read_text().splitlines() if "tabs" in row]
    assert record["category"] == "user-preference"
    assert record["provenance"]["sensitivity"] == "private-user"
    (log,) = Path(bench.project, "memory").iterdir()
    assert json.dumps(record["id"]) in log.read_text()


def test_several_notebooks_share_by_kind(bench: Bench, cli: Cli) -> None:
    kept(bench, "docs/memory/memories.ndjson")
    kept(bench, "memories.md")
    assert cli("trust", "--yes").code == 0
    assert cli("remember", "I prefer tabs", "--json").json["dialect"] == PROFILE  # type: ignore[index]
    assert cli("remember", "never push to main", "--json").json["dialect"] == RULES  # type: ignore[index]


@pytest.mark.parametrize(("choice", "dialect"), [("profile", PROFILE), ("rules", RULES), ("journal", JOURNAL)])
def test_setting_decides_and_an_option_decides_more(cli: Cli, choice: str, dialect: str) -> None:
    chosen = ("--set", f"store.notebook={choice}")
    for text in ("I prefer tabs", "never push to main"):
        assert cli(*chosen, "remember", text, "--json").json["dialect"] == dialect  # type: ignore[index]
    assert cli(*chosen, "remember", "use vim", "--to", "rules", "--json").json["dialect"] == RULES  # type: ignore[index]


def test_file_of_a_clone_that_nobody_trusts_decides_nothing(bench: Bench, cli: Cli) -> None:
    place = kept(bench, "docs/memory/memories.ndjson")
    assert cli("remember", "I prefer tabs", "--json").json["dialect"] == PROFILE  # type: ignore[index]
    assert place.read_text() == ""


def test_unasked_memory_goes_the_same_way(bench: Bench, cli: Cli) -> None:
    place = kept(bench, "docs/memory/memories.ndjson")
    assert cli("trust", "--yes").code == 0
    assert cli("remember", "--auto", "--signal", "explicit", "I always prefer small commits").code == 0
    assert "small commits" in place.read_text()


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("in every project use pnpm", Scope.GLOBAL),
        ("for all my repos I prefer pnpm", Scope.GLOBAL),
        ("I prefer pnpm everywhere", Scope.GLOBAL),
        ("I prefer pnpm in all of my repositories.", Scope.GLOBAL),
        ("Everywhere use utc timestamps", Scope.GLOBAL),
        ("Wherever I work, use utc timestamps", Scope.GLOBAL),
        ("everywhere we go there are tabs", Scope.LOCAL),
        ("every project has a README", Scope.LOCAL),
        ("never deploy everywhere at once", Scope.LOCAL),
    ],
)
def test_every_project_is_said_in_many_ways(bench: Bench, text: str, scope: Scope) -> None:
    assert bench.memory.remember(Request(text=text)).scope is scope


def test_notebook_that_appears_hides_nothing_and_both_can_be_brought_together(bench: Bench, cli: Cli) -> None:
    for text in ("I prefer tabs", "I prefer short names", "never push to main"):
        assert cli("remember", text).code == 0
    home = Path(bench.path(PROFILE))
    kept(bench, "memories.md", home.read_text().replace("short names", "long names"))
    assert cli("trust", "--yes").code == 0
    brief = cli("brief").out
    assert brief.count("I prefer tabs") == 1, "told once, though both hold it"
    assert "push to main" in brief
    assert "byheart init --in-repo" in cli("doctor").out
    done = cli("init", "--in-repo", "--yes")
    assert done.code == 0, done.err
    assert not home.exists()
    theirs = Path(bench.project, "memories.md").read_text()
    assert "I prefer tabs" in theirs
    assert "push to main" in Path(bench.project, "docs/memory/memories.ndjson").read_text()
    assert cli("brief").out.count("I prefer tabs") == 1
    assert list((home.parent / ".byheart/backup").iterdir()), "a copy stays"
