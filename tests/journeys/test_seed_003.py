"""memories.ndjson: every rule of the rules notebook, through the door a user goes through."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from byheart.domain.errors import Refused, Unsafe
from byheart.domain.records import Kind, Request, Scope, Signal
from byheart.language import wording
from byheart.testing import Bench
from tests.conftest import Cli

RULES = "triples"


def rows(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def line(kind: str, triple: tuple[str, str, str], text: str, weight: int = 1) -> str:
    return json.dumps({"k": kind, "t": list(triple), "w": weight, "n": text}) + "\n"


def rule(bench: Bench, text: str, triple: tuple[str, str, str], kind: Kind = Kind.RULE) -> tuple[str, ...]:
    return bench.memory.remember(Request(text=text, kind=kind, triple=triple, to=RULES)).notes


# scope


def test_default_scope_is_local(bench: Bench) -> None:
    receipt = bench.memory.remember(Request(text="never run build repeatedly"))
    assert receipt.scope is Scope.LOCAL
    assert not os.path.exists(bench.path(RULES, Scope.GLOBAL))


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("global: add to memory that I prefer pnpm", Scope.GLOBAL),
        ("add to global memory that never push on Fridays", Scope.GLOBAL),
        ("remember globally that always squash", Scope.GLOBAL),
        ("never push on Fridays (global)", Scope.GLOBAL),
        ("in every project, never push on Fridays", Scope.GLOBAL),
        ("avoid global variables", Scope.LOCAL),
        ("never mutate global state", Scope.LOCAL),
        ("add to memory that globals are forbidden", Scope.LOCAL),
        ("never deploy everywhere at once", Scope.LOCAL),
    ],
)
def test_global_only_when_the_user_says_so_outright(text: str, scope: Scope) -> None:
    assert wording.parse(text).scope is scope


def test_no_scope_question_is_ever_asked(cli: Cli) -> None:
    done = cli("remember", "never guess versions", given="")
    assert (done.code, "?" in done.out + done.err) == (0, False)
    assert "(local constraint" in done.out


def test_local_and_global_files_are_used_where_they_exist(bench: Bench) -> None:
    local = bench.put("docs/memory/memories.ndjson", "")
    shared = Path(bench.folder, ".skill_master", "memory", "memories.ndjson")
    shared.parent.mkdir(parents=True)
    shared.write_text(line("rule", ("a", "use", "b"), "Use b."), encoding="utf-8")
    bench.remember("never guess")
    bench.remember("global: never lie")
    assert [row["n"] for row in rows(Path(local).read_text(encoding="utf-8"))] == ["Never guess."]
    assert [row["n"] for row in rows(shared.read_text(encoding="utf-8"))] == ["Use b.", "Never lie."]


def test_files_are_used_where_they_are_configured(bench: Bench) -> None:
    target = Path(bench.folder, "elsewhere", "mine.ndjson")
    bench.flags = (f"paths.global_rules={target}", "paths.rules=notes/rules.ndjson")
    bench.remember("global: never lie")
    bench.remember("never guess")
    assert rows(target.read_text(encoding="utf-8"))[0]["n"] == "Never lie."
    assert Path(bench.project, "notes", "rules.ndjson").exists()


# format


def test_entry_is_one_compact_line_with_k_t_w_n(bench: Bench) -> None:
    bench.remember("add to memory that never run build repeatedly because it is heavy")
    assert bench.text(RULES) == (
        '{"k":"constraint","t":["build","avoid_repeated_runs","heavy"],"w":1,'
        '"n":"Never run build repeatedly because it is heavy."}\n'
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("never run build repeatedly", Kind.CONSTRAINT),
        ("you must not push to main", Kind.CONSTRAINT),
        ("must not push to main", Kind.CONSTRAINT),
        ("don't commit secrets", Kind.CONSTRAINT),
        ("always run the tests first", Kind.RULE),
        ("use ruff for linting", Kind.RULE),
        ("I prefer pnpm", Kind.PREFERENCE),
        ("please avoid emojis", Kind.PREFERENCE),
    ],
)
def test_kind_is_found_in_the_sentence(text: str, kind: Kind) -> None:
    assert wording.parse(text).kind is kind


def test_free_text_gives_the_same_triple_every_time() -> None:
    first = wording.parse("add to memory that never run build repeatedly because it is heavy")
    again = wording.parse("Remember: never run the build repeatedly since it's heavy!")
    assert first.triple == again.triple == ("build", "avoid_repeated_runs", "heavy")


def test_kind_and_triple_can_be_given(cli: Cli, bench: Bench) -> None:
    done = cli("remember", "Builds are slow", "--kind", "rule", "--triple", "build", "is", "slow", "--to", "rules")
    assert done.code == 0
    assert rows(bench.text(RULES)) == [{"k": "rule", "t": ["build", "is", "slow"], "w": 1, "n": "Builds are slow."}]


def test_file_is_append_only_and_new_entries_come_last(bench: Bench) -> None:
    bench.remember("never a one")
    first = bench.text(RULES)
    bench.remember("never b two")
    assert bench.text(RULES).startswith(first)


def test_memory_is_atomic_one_entry_a_line(bench: Bench) -> None:
    bench.remember("never   run\nthe build\nrepeatedly")
    assert bench.text(RULES).count("\n") == 1
    assert rows(bench.text(RULES))[0]["n"] == "Never run the build repeatedly."


# dedupe


def test_same_triple_raises_the_weight_in_place_and_adds_no_line(bench: Bench) -> None:
    for text in ("never run build repeatedly", "Never run builds repeatedly!", "never run build  repeatedly."):
        bench.remember(text, triple=("Build", "avoid repeated-runs", "general"))
    assert [(row["t"], row["w"]) for row in rows(bench.text(RULES))] == [
        (["Build", "avoid repeated-runs", "general"], 3)
    ]


def test_weight_starts_at_one(bench: Bench) -> None:
    bench.remember("never guess")
    assert rows(bench.text(RULES))[0]["w"] == 1


def test_reinforcing_touches_nothing_but_the_weight(bench: Bench) -> None:
    odd = '{ "n": "Never guess.", "mine": [1, {"w": 5}], "w": 9 ,"t":["a","avoid","b"], "k":"constraint"}\n# note\n'
    path = bench.put("docs/memory/memories.ndjson", odd)
    bench.remember("never a", triple=("a", "avoid", "b"))
    assert Path(path).read_text(encoding="utf-8") == odd.replace('"w": 9', '"w": 10')


def test_confirmation_is_one_line_with_scope_and_normalised_memory(cli: Cli) -> None:
    done = cli("remember", "global: add to memory that never   lie")
    assert done.out.count("\n") == 1
    assert done.out.startswith("Saved: Never lie. (global constraint, ")


# retrieval


def test_rules_are_ranked_by_kind_then_weight_then_recency(bench: Bench) -> None:
    text = (
        line("preference", ("p", "x", "1"), "p9", 9)
        + line("rule", ("r1", "x", "1"), "r1-old", 1)
        + line("rule", ("r2", "x", "1"), "r2-new", 1)
        + line("rule", ("r3", "x", "1"), "r3-heavy", 4)
        + line("constraint", ("c", "x", "1"), "c1", 1)
    )
    bench.put("docs/memory/memories.ndjson", text)
    assert [hit.record.text for hit in bench.memory.rules().hits] == ["c1", "r3-heavy", "r2-new", "r1-old", "p9"]


@pytest.mark.parametrize(("shown", "expected"), [(3, 3), (5, 5), (7, 7)])
def test_three_to_seven_rules_are_injected(bench: Bench, shown: int, expected: int) -> None:
    bench.put("docs/memory/memories.ndjson", "".join(line("rule", (f"s{n}", "x", "y"), f"r{n}") for n in range(20)))
    bench.flags = (f"rules.shown={shown}",)
    assert len(bench.memory.rules().hits) == expected


def test_number_of_injected_rules_cannot_leave_three_to_seven(cli: Cli) -> None:
    for number in ("2", "8"):
        done = cli("--set", f"rules.shown={number}", "rules")
        assert done.code == 2
        assert "from 3 to 7" in done.err


def test_rules_come_from_the_selected_scope_only(bench: Bench) -> None:
    bench.remember("never local")
    bench.remember("global: never global-one")
    assert [hit.record.text for hit in bench.memory.rules().hits] == ["Never local."]
    assert [hit.record.text for hit in bench.memory.rules(scopes=(Scope.GLOBAL,)).hits] == ["Never global-one."]


def test_missing_files_never_block(cli: Cli) -> None:
    done = cli("rules")
    assert (done.code, done.out) == (0, "")


# conflicts


def test_opposing_rules_the_newest_line_wins(bench: Bench) -> None:
    rule(bench, "Use npm for installs.", ("installs", "use", "npm"))
    notes = rule(bench, "Use pnpm for installs.", ("installs", "use", "pnpm"))
    assert "overrules line 1" in notes[0]
    assert [hit.record.text for hit in bench.memory.rules().hits] == ["Use pnpm for installs."]
    assert len(rows(bench.text(RULES))) == 2


def test_opposing_rules_a_constraint_wins_even_when_older(bench: Bench) -> None:
    rule(bench, "Never run the build.", ("build", "avoid_run", "general"), Kind.CONSTRAINT)
    notes = rule(bench, "Always run the build.", ("build", "always_run", "general"))
    assert "is a constraint and overrules it" in notes[0]
    assert [hit.record.text for hit in bench.memory.rules().hits] == ["Never run the build."]


def test_opposing_rules_from_free_text_are_noticed(bench: Bench) -> None:
    bench.remember("never use docker")
    receipt = bench.memory.remember(Request(text="use docker"))
    assert "constraint" in receipt.notes[0]


def test_ambiguous_conflict_keeps_both_and_tags_them(bench: Bench) -> None:
    rule(bench, "Never use docker for tests.", ("docker", "avoid", "tests"), Kind.CONSTRAINT)
    notes = rule(bench, "Use docker for builds.", ("docker", "use", "builds"))
    assert "may contradict line 1" in notes[0]
    assert [row.get("tags") for row in rows(bench.text(RULES))] == [["conflict"], ["conflict"]]
    assert len(bench.memory.rules().hits) == 2
    assert [finding.rule for finding in bench.memory.check()] == ["conflict"]


def test_two_constraints_that_oppose_each_other_are_both_kept_and_tagged(bench: Bench) -> None:
    rule(bench, "Tabs only.", ("indent", "style", "tabs"), Kind.CONSTRAINT)
    rule(bench, "Spaces only.", ("indent", "style", "spaces"), Kind.CONSTRAINT)
    assert [row.get("tags") for row in rows(bench.text(RULES))] == [["conflict"], ["conflict"]]


def test_several_things_to_avoid_are_no_conflict(bench: Bench) -> None:
    assert rule(bench, "Never a.", ("tests", "avoid", "sleep"), Kind.CONSTRAINT) == ()
    assert rule(bench, "Never b.", ("tests", "avoid", "network"), Kind.CONSTRAINT) == ()


# safety


@pytest.mark.parametrize(
    "secret",
    ["password = hunter2hunter2", "-----BEGIN PRIVATE " + "KEY-----\nabc", "sk_" + "live_" + "a1B2c3D4e5F6g7H8"],
)
def test_secrets_tokens_passwords_and_keys_are_not_stored(bench: Bench, secret: str) -> None:
    with pytest.raises(Unsafe):
        bench.remember(f"never share {secret}")
    assert not os.path.exists(bench.path(RULES))


def test_entries_are_kept_short(bench: Bench) -> None:
    with pytest.raises(Refused, match="too long"):
        bench.remember("never " + "do it " * 200)


def test_passing_context_is_not_stored_unasked(bench: Bench) -> None:
    with pytest.raises(Refused, match="durable"):
        bench.remember("use the staging server today", asked=False, signal=Signal.EXPLICIT)


# the other generations


def test_verbose_generation_is_importable(bench: Bench, tmp_path: Path, cli: Cli) -> None:
    old = tmp_path / "old.ndjson"
    entry = {
        "id": "m1", "ts": "2026-02-13T00:42:00Z", "scope": "local", "kind": "constraint",
        "triple": {"subject": "build", "predicate": "avoid", "object": "repeat"}, "canonical": "Never repeat the build.",
        "strength": 3, "source": "user_direct", "tags": ["ci"], "dedupe_key": "build|avoid|repeat",
    }  # fmt: skip
    old.write_text(json.dumps(entry) + "\nbroken\n", encoding="utf-8")
    done = cli("import", str(old))
    assert done.code == 0
    assert "1 stored, 0 skipped, 1 unreadable" in done.err
    assert rows(bench.text(RULES)) == [
        {"k": "constraint", "t": ["build", "avoid", "repeat"], "w": 3, "n": "Never repeat the build.", "tags": ["ci"]}
    ]


def test_sentence_generation_is_importable(bench: Bench, tmp_path: Path, cli: Cli) -> None:
    old = tmp_path / "memory.md"
    old.write_text("# Memory\n\nNever run build repeatedly because it is heavy.\n- I prefer pnpm.\n", encoding="utf-8")
    assert cli("import", str(old)).code == 0
    assert rows(bench.text(RULES))[0]["t"] == ["build", "avoid_repeated_runs", "heavy"]
    assert [hit.record.text for hit in bench.memory.profile().bullets] == ["I prefer pnpm."]


def test_compact_generation_is_importable(bench: Bench, tmp_path: Path, cli: Cli) -> None:
    old = tmp_path / "memories.ndjson"
    old.write_text(line("rule", ("a", "use", "b"), "Use b.", 4), encoding="utf-8")
    assert cli("import", str(old)).code == 0
    assert bench.text(RULES) == '{"k":"rule","t":["a","use","b"],"w":4,"n":"Use b."}\n'
