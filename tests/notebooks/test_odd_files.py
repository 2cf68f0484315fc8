"""Cases that have gone wrong, or nearly: odd files, hostile files, and what must survive them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from byheart.app.open import place_of
from byheart.domain.errors import BadInput, Conflict, NotUndoable, Refused, Unsafe, Unwanted
from byheart.domain.records import Confidence, Kind, Request, Scope, Signal
from byheart.testing import Bench
from tests.conftest import Cli
from tests.journeys.test_shared_behaviour import bytes_under

PROFILE, RULES = "yaml-block", "triples"
TOKEN = "ghp_" + "aB3dE5fG7h" * 4


def block(items: str, tail: str = "") -> str:
    return f"```yaml\nsaved_memory:\n  items:\n{items}{tail}```\n"


# undo


def test_undo_of_an_add_that_tagged_a_rival_takes_back_both(bench: Bench) -> None:
    bench.remember("Use npm.", kind=Kind.CONSTRAINT, triple=("pkg", "use", "npm"))
    second = bench.memory.remember(Request(text="Use pnpm.", kind=Kind.CONSTRAINT, triple=("pkg", "use", "pnpm")))
    bench.remember("Other.", triple=("o", "do", "t"), to=RULES)
    bench.memory.undo(second.id)
    rows = [json.loads(row) for row in bench.text(RULES).splitlines()]
    assert [(row["n"], row.get("tags", [])) for row in rows] == [("Use npm.", []), ("Other.", [])]


def test_undo_after_a_move_into_the_repository_is_refused(bench: Bench, cli: Cli) -> None:
    receipt = bench.memory.switch("enabled", on=False)
    cli("init", "--in-repo", "--yes", "--no-learn")
    with pytest.raises(Conflict, match="not the notebook in use here"):
        bench.memory.undo(receipt.id)
    assert not list(Path(bench.home).rglob("memories.md"))


def test_undo_takes_the_newest_change_of_any_scope(bench: Bench) -> None:
    bench.remember("I prefer tabs")
    bench.clock.move(seconds=1)
    bench.remember("global: I prefer pnpm")
    bench.memory.undo()
    assert [hit.record.text for hit in bench.memory.list().hits] == ["I prefer tabs."]


def test_undo_of_a_recovery_gives_the_old_bytes_or_nothing(bench: Bench) -> None:
    text = "# Notes\nOur services: Use python for all tooling. Keep it.\n"
    path = bench.put("memories.md", text)
    bench.memory.profile()
    recovery = bench.memory.log()[0].id
    bench.remember("Use python for all tooling", triple=("a", "use", "python"))
    bench.memory.forget("Use python for all tooling.")
    with pytest.raises((NotUndoable, Conflict)):
        bench.memory.undo(recovery)
    assert text in Path(path).read_text(encoding="utf-8")


def test_empty_file_can_be_given_back(bench: Bench) -> None:
    path = bench.put("memories.md", "")
    bench.remember("x", key="a.b")
    bench.memory.undo()
    assert Path(path).read_text(encoding="utf-8") == ""


def test_person_who_saves_right_after_an_append_does_not_confuse_undo(bench: Bench) -> None:
    bench.remember("never a")
    receipt = bench.memory.remember(Request(text="never b"))
    path = Path(bench.path(RULES))
    path.write_text(
        '{"k":"rule","t":["x","use","y"],"w":1,"n":"A person\'s own."}\n' + path.read_text(encoding="utf-8"),
        encoding="utf-8",
    )
    bench.memory.undo(receipt.id)
    assert [json.loads(row)["n"] for row in path.read_text(encoding="utf-8").splitlines()] == [
        "A person's own.",
        "Never a.",
    ]


def test_write_that_waited_for_a_move_into_the_repository_is_refused_and_not_hidden(bench: Bench, cli: Cli) -> None:
    bench.remember("x", key="a.b")
    before = bench.memory
    cli("init", "--in-repo", "--yes", "--no-learn")
    for text in ("never guess", "I prefer tabs"):
        with pytest.raises(Conflict, match="moved to"):
            before.remember(Request(text=text))
    assert not list(Path(bench.home).rglob("memories.*"))


# secrets


def test_secret_typed_by_hand_stays_out_of_log_receipts_and_every_output(bench: Bench, cli: Cli) -> None:
    bench.put(
        "memories.md",
        block(
            f"    - {{key: ops.a, value: {TOKEN}, confidence: low}}\n    - {{key: ops.b, value: {{deep: [{TOKEN}]}}, tags: [{TOKEN}]}}\n"
            f"    - {{key: db.password, value: hunter2Xy77zz, source: '{TOKEN}'}}\n"
        ),
    )
    bench.put(
        "docs/memory/memories.ndjson",
        json.dumps({"k": "rule", "t": ["a", "is", TOKEN], "w": 1, "n": "innocent", "tags": [TOKEN]}) + "\n",
    )
    commands = (
        ["confirm", "ops.a"], ["list"], ["show"], ["recall", "ops"], ["show", "ops.b"], ["profile"], ["rules"], ["export"],
        ["convert", "memories.md", "--to", "rules"], ["check"], ["remember", "--key", "ops.b", "none"], ["log"], ["doctor"],
    )  # fmt: skip
    for arguments in commands:
        for more in ([], ["--json"]):
            done = cli(*arguments, *more)
            assert TOKEN not in done.out + done.err, arguments
            assert TOKEN.lower() not in done.out + done.err, arguments
            if arguments[0] in ("list", "recall", "export", "profile"):
                assert "hunter2" not in done.out, arguments
    assert TOKEN.encode() not in bytes_under(bench.home)


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "never do x", "triple": ("db", "password", "hunter2Xy77zz")},
        {"text": "", "key": "db.password", "value": {"v": "hunter2Xy77zz"}},
        {"text": "the password is hunter2Xy77zz", "key": "a.b"},
        {"text": "hunter2Xy77zz", "key": "smtp.pass"},
        {"text": "always log in as admin with password Tr0ub4dor3x"},
        {"text": "never share the vault passphrase which is Tr0ub4dor-3x"},
        {"text": "ssh pass is s3cr3tP4ss99"},
        {"text": "password for staging: correct-horse-battery"},
        {"text": "I prefer tabs", "tags": (TOKEN,)},
        {"text": "I prefer tabs", "source": f"chat {TOKEN}"},
        {"text": "I prefer tabs", "key": f"a.{TOKEN}"},
    ],
    ids=str,
)
def test_secret_is_refused_in_whichever_field_it_comes(bench: Bench, arguments: dict[str, object]) -> None:
    with pytest.raises(Unsafe):
        bench.remember(**arguments)  # type: ignore[arg-type]
    assert not Path(bench.home).exists() or b"hunter2" not in bytes_under(bench.home)


def test_reason_of_a_forget_is_scanned(bench: Bench) -> None:
    bench.remember("x", key="a.b")
    with pytest.raises(Unsafe, match="the reason"):
        bench.memory.forget("a.b", reason=f"it was {TOKEN}")
    assert bench.memory.find("a.b").record.text == "x"


def test_broken_file_with_a_secret_is_recovered_without_a_second_copy(bench: Bench) -> None:
    path = bench.put("memories.md", f"prose {TOKEN}\n")
    view = bench.memory.profile()
    assert TOKEN in Path(path).read_text(encoding="utf-8")
    assert TOKEN.encode() not in bytes_under(bench.home)
    assert "undo" not in view.notes[0]


# forgetting


@pytest.mark.parametrize(
    "spelling",
    ["zebra canary quilt", '"zebra \\\n  canary quilt"', ">-\n  zebra canary\n  quilt", '"zebra c\\u0061nary quilt"'],
)
def test_forget_finds_its_text_in_backups_however_it_is_spelled(bench: Bench, spelling: str) -> None:
    bench.put("memories.md", f"broken\nvalue: {spelling}\n")
    bench.memory.profile()
    assert list(Path(bench.home).rglob("backup/*"))
    bench.remember("zebra canary quilt", key="a.b")
    bench.memory.forget("a.b")
    assert not list(Path(bench.home).rglob("backup/*"))


def test_forget_reaches_what_only_the_history_holds(bench: Bench) -> None:
    bench.remember("embarrassing rumor text", key="a.b")
    bench.memory.undo()
    receipt = bench.memory.forget("a.b")
    assert "only in the history" in receipt.notes[0]
    assert b"rumor" not in bytes_under(bench.home)
    with pytest.raises(Unwanted):
        bench.remember("embarrassing rumor text", key="x.y", asked=False, signal=Signal.REPEATED)


def test_tombstone_does_not_repeat_a_text_through_a_derived_key(bench: Bench) -> None:
    bench.remember("never mention the merger with Umbrella Corp")
    bench.remember("I like the surprise party for Alice")
    bench.memory.forget("Never mention the merger with Umbrella Corp.")
    bench.memory.forget("I like the surprise party for Alice.")
    bench.remember("Bob burnt the cake -> smoke alarm -> buy one")
    bench.memory.forget("lessons.bob-burnt-the-cake")
    left = bytes_under(bench.home).lower()
    assert b"umbrella" not in left
    assert b"alice" not in left
    assert b"burnt" not in left
    for text in ("never mention the merger with Umbrella Corp", "I like the surprise party for Alice"):
        with pytest.raises(Unwanted):
            bench.remember(text, asked=False, signal=Signal.EXPLICIT)


def test_forget_of_a_common_word_leaves_other_history_alone(bench: Bench) -> None:
    bench.remember("python", key="a.lang")
    other = bench.memory.remember(Request(text="use python 3.12 in CI"))
    bench.memory.forget("a.lang")
    bench.memory.undo(other.id)
    assert bench.memory.list().hits == ()


def test_forgotten_anywhere_is_forgotten_everywhere(bench: Bench) -> None:
    bench.remember("I prefer tabs")
    bench.memory.forget("I prefer tabs.")
    with pytest.raises(Unwanted):
        bench.remember("global: I prefer tabs", asked=False, signal=Signal.EXPLICIT)


def test_deletion_by_value_in_the_file_is_honoured_by_capture_and_import(bench: Bench) -> None:
    text = "```yaml\nsaved_memory: {items: [{key: c.d, value: I prefer tabs.}]}\ndeletions: [{value: I prefer tabs.}]\n```\n"
    path = bench.put("old.md", text)
    bench.put("memories.md", "```yaml\nsaved_memory: {items: []}\ndeletions: [{value: I prefer tabs.}]\n```\n")
    with pytest.raises(Unwanted):
        bench.remember("I prefer tabs", asked=False, signal=Signal.EXPLICIT)
    assert len(bench.memory.import_(place_of(path, "/")).skipped) == 1


def test_torn_last_tombstone_does_not_swallow_the_next(bench: Bench) -> None:
    bench.remember("I prefer tabs")
    bench.memory.forget("I prefer tabs.")
    [path] = Path(bench.home).rglob("forgotten.ndjson")
    path.write_bytes(path.read_bytes() + b'{"key": "half')
    bench.remember("I prefer pnpm")
    bench.memory.forget("I prefer pnpm.", reason="odd\u0085reason"[:3])
    with pytest.raises(Unwanted):
        bench.remember("I prefer pnpm", asked=False, signal=Signal.EXPLICIT)


def test_forget_that_cannot_read_another_notebook_still_succeeds(bench: Bench, cli: Cli) -> None:
    bench.remember("I prefer tabs")
    other = Path(bench.home, "global", "memories.ndjson")
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_bytes(b"\xff\n")
    assert cli("forget", "--yes", "I prefer tabs.").code == 0


# odd YAML


def test_forget_works_in_a_file_without_updated_and_deletions(bench: Bench) -> None:
    path = bench.put("memories.md", block("    - key: a.x\n      value: hello\n"))
    bench.memory.forget("a.x")
    text = Path(path).read_text(encoding="utf-8")
    assert text.startswith("```yaml\nsaved_memory:\n  updated: 2026-03-14\n  items: []\n")
    assert text.endswith("deletions:\n  - key: a.x\n    removed: 2026-03-14\n    reason: user asked\n```\n")


def test_forget_works_where_deletions_are_misplaced_and_last(bench: Bench) -> None:
    path = bench.put("memories.md", block("    - key: a.x\n      value: hello\n", tail="  deletions:\n  - {key: q}\n"))
    bench.memory.forget("a.x")
    bench.remember("x", key="b.y")
    assert "  - {key: q}\n  - key: a.x\n" in Path(path).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "memory",
    [
        "{}",
        "{items: [{key: a.x, value: one},]}",
        "{items: [ {key: a.x, value: one}, ]}",
        "{items: , updated: }",
        "{version: 1}",
    ],
)
def test_maps_and_lists_in_brackets_take_every_change(bench: Bench, memory: str) -> None:
    path = bench.put("memories.md", f"```yaml\nsaved_memory: {memory}\n```\n")
    if "a.x" in memory:
        bench.memory.forget("a.x")
    bench.remember("two", key="b.y")
    bench.memory.switch("enabled", on=False)
    bench.memory.forget("b.y")
    assert "enabled: false" in Path(path).read_text(encoding="utf-8")


def test_value_that_keeps_its_blank_lines_is_not_changed_by_a_neighbour(bench: Bench) -> None:
    bench.put("memories.md", block("    - key: a.x\n      value: |+\n        two\n        lines\n\n\n"))
    before = bench.memory.find("a.x").record.value
    bench.remember("x", key="n.new")
    assert bench.memory.find("a.x").record.value == before
    bench.memory.forget("n.new")
    assert bench.memory.find("a.x").record.value == before


def test_comments_inside_an_item_survive_a_change_of_it(bench: Bench) -> None:
    comments = ["# about the tags", "# why", "# header", "# first", "# cc"]
    path = bench.put(
        "memories.md",
        block(
            "    - key: a.x\n      value: # why\n        one\n      confidence: # cc\n        low\n      # about the tags\n"
            "      tags:\n        - style # first\n        - needs-confirmation\n    - key: b.y\n      value: | # header\n        text\n"
        ),
    )
    bench.memory.confirm("a.x")
    bench.remember("two", key="a.x")
    bench.remember("new", key="b.y")
    text = Path(path).read_text(encoding="utf-8")
    assert [comment for comment in comments if comment not in text] == []
    assert bench.memory.find("a.x").record.tags == ("style",)


def test_comments_in_lists_in_brackets_survive(bench: Bench) -> None:
    path = bench.put(
        "memories.md",
        "```yaml\nsaved_memory:\n  items: [\n    # one\n    {key: a.x, value: 1}, # after one\n    # two\n    {key: b.y, value: 2}\n  ]\ndeletions: [\n  # none yet\n]\n```\n",
    )
    bench.memory.forget("a.x")
    bench.memory.forget("b.y")
    text = Path(path).read_text(encoding="utf-8")
    assert all(comment in text for comment in ("# one", "# after one", "# two", "# none yet"))


def test_broken_first_block_does_not_hide_a_good_second_one(bench: Bench) -> None:
    bench.put(
        "memories.md",
        "```yaml\n# not saved_memory: yet\na: [\n```\n\n" + block("    - {key: a.x, value: one, confidence: high}\n"),
    )
    assert [hit.record.key for hit in bench.memory.profile().bullets] == ["a.x"]


def test_broken_block_that_says_off_stays_off(bench: Bench) -> None:
    bench.put("memories.md", "```yaml\nsaved_memory:\n  settings:\n    enabled: false\n  items: [\n```\n")
    with pytest.raises(Unwanted):
        bench.remember("I always prefer tabs", asked=False, signal=Signal.EXPLICIT)
    assert bench.memory.profile().enabled is False
    assert "enabled: false" in bench.text(PROFILE)


# meaning


def test_version_numbers_and_spellings_are_kept_as_typed(bench: Bench) -> None:
    assert bench.remember("3.10", key="python.version").value == "3.10"
    assert bench.remember("our ruby version is 3.10").value == "3.10"
    bench.remember("github", key="org.host")
    assert bench.remember("GitHub", key="org.host").value == "GitHub"
    assert bench.memory.find("org.host").record.value == "GitHub"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "Never edit the generated protobuf files located under services/billing/api",
            "Never edit the generated protobuf files located under services/shipping/api",
        ),
        ("Tests should be next to the source files", "Tests should be fast"),
        ("The bug was fixed with a mutex", "The bug was fixed by retrying"),
        ("C++ is banned", "C# is allowed"),
        ("the API is public", "the API is slow on Mondays"),
        ("commits must be signed", "commits must be small"),
        ("use type hints in python", "use f-strings in python"),
        (
            "I prefer small focused functions in the billing service code",
            "I prefer small focused functions in the billing service tests",
        ),
    ],
)
def test_different_statements_stay_different_memories(bench: Bench, first: str, second: str) -> None:
    bench.remember(first)
    bench.remember(second)
    assert len(bench.memory.list().hits) == 2
    assert all(hit.note is None for hit in bench.memory.list().hits)


def test_stronger_kind_of_the_same_rule_is_kept(bench: Bench) -> None:
    bench.remember("please avoid mocks in tests", to=RULES)
    assert bench.remember("never mocks in tests").kind is Kind.CONSTRAINT


def test_key_of_the_users_own_is_never_rewritten(bench: Bench) -> None:
    record = bench.remember("deploy -> wait -> verify", key="workflow.deploy")
    assert (record.key, record.value) == ("workflow.deploy", "deploy -> wait -> verify")


def test_value_without_a_key_is_a_usage_error(bench: Bench, cli: Cli) -> None:
    assert cli("remember", "--value", "hello").code == 2
    bench.put("memories.md", block("    - value: by hand\n"))
    bench.remember("x", key="a.b")
    assert len(bench.memory.list().hits) == 2


def test_needs_confirmation_is_kept_until_somebody_confirms(bench: Bench) -> None:
    path = bench.put(
        "old.md",
        block(
            "    - {key: a.x, value: one, confidence: medium, tags: needs-confirmation}\n    - {key: b.y, value: two}\n"
        ),
    )
    bench.memory.import_(place_of(path, "/"))
    assert bench.memory.find("a.x").record.tags == ("needs-confirmation",)
    assert bench.memory.find("b.y").record.confidence is Confidence.MEDIUM
    assert [hit.record.key for hit in bench.memory.profile().bullets] == ["b.y"]


def test_inferred_rule_waits_for_confirmation_too(bench: Bench) -> None:
    bench.remember("always use tabs here", asked=False, signal=Signal.INFERRED)
    assert bench.memory.rules().hits == ()
    bench.memory.confirm(bench.memory.list().hits[0].id)
    assert len(bench.memory.rules().hits) == 1


def test_switched_off_global_notebook_lends_no_rules(bench: Bench) -> None:
    bench.remember("global: always use xx")
    bench.memory.switch("enabled", on=False, scope=Scope.GLOBAL)
    assert bench.memory.rules(scopes=(Scope.GLOBAL,)).hits == ()


def test_replacing_a_value_keeps_a_persons_own_tags(bench: Bench) -> None:
    bench.put("memories.md", block("    - {key: a.x, value: one, tags: [mine]}\n"))
    assert bench.remember("two", key="a.x").tags == ("mine",)


# hostile or broken surroundings


@pytest.mark.parametrize("text", [", " * 10_000, "\n" * 20_000 + "x", "; ;" * 20_000, "a" * 50_000])
def test_long_text_is_refused_before_anything_reads_it(bench: Bench, text: str) -> None:
    with pytest.raises(Refused):
        bench.remember(text)


def test_terminal_tricks_in_a_file_are_not_printed(bench: Bench, cli: Cli) -> None:
    bench.put(
        "docs/memory/memories.ndjson", '{"k":"rule","t":["a","b","c"],"w":1,"n":"hi \\u001b[2J\\u001b]0;pwn\\u0007"}\n'
    )
    bench.put("memories.md", "\x1b[2J" + block('    - {key: a.b, value: "x\\e[2J"}\n'))
    for arguments in (["list"], ["recall", "hi"], ["show"], ["show", "a|b|c"], ["log"], ["rules"]):
        assert "\x1b" not in cli(*arguments).out


def test_linked_notebook_does_not_hide_the_global_one(bench: Bench, cli: Cli) -> None:
    bench.remember("global: I prefer tabs")
    bench.trust()
    os.symlink("/etc/hostname", os.path.join(bench.project, "memories.md"))
    done = cli("list")
    assert done.code == 0
    assert "I prefer tabs" in done.out
    assert "symbolic link" in done.err


def test_notebook_that_appears_in_the_repository_hides_nothing(bench: Bench, cli: Cli) -> None:
    bench.remember("mine", key="a.b")
    bench.remember("never push on Fridays")
    bench.put("memories.md", block("    - {key: c.d, value: ours}\n"))
    bench.put("docs/memory/memories.ndjson", "")
    for command in (["list"], ["profile"], ["brief"]):
        assert "mine" in cli(*command).out and "ours" in cli(*command).out, command
    assert "push on Fridays" in cli("rules").out and "push on Fridays" in cli("brief").out
    assert "mine" in cli("recall", "mine").out


def test_of_two_entries_with_one_key_the_repositorys_counts_and_both_can_be_forgotten(bench: Bench, cli: Cli) -> None:
    bench.remember("from home", key="a.b")
    bench.put("memories.md", block("    - {key: a.b, value: from here}\n"))
    assert cli("profile").out == "- a.b: from here\n"
    found = {hit.record.text: hit.id for hit in bench.memory.list().hits}
    assert len(set(found.values())) == 2
    assert cli("forget", found["from home"], "--yes").code == 0
    assert [hit.record.text for hit in bench.memory.list().hits] == ["from here"]


def test_log_that_cannot_be_written_does_not_deny_what_was_stored(bench: Bench) -> None:
    bench.remember("never a")
    [log] = Path(bench.home).rglob("log.ndjson")
    log.unlink()
    log.mkdir()
    receipt = bench.memory.remember(Request(text="never b"))
    assert "stored, but the log could not be written" in receipt.notes[0]
    assert len(bench.memory.list().hits) == 2


@pytest.mark.parametrize(
    "content",
    [
        '{"records":[1]}', '{"records":{"a":1}}', '{"records":[{"text":"x","key":5}]}', '{"records":[{"text":"x","source":5}]}',
        '{"records":' + "[" * 50_000, '{"records":[{"text":"x","weight":0}]}', '{"records":[{"text":"x","value":NaN}]}',
    ],
)  # fmt: skip
def test_export_that_is_none_is_refused_by_name(bench: Bench, cli: Cli, content: str) -> None:
    path = bench.put("bad.json", content)
    for command in (["import", path], ["convert", path, "--to", "rules"], ["check", path]):
        done = cli(*command)
        assert done.code in (2, 3), done
        assert "internal error" not in done.err


@pytest.mark.parametrize(
    "row",
    [
        '{"triple":{"subject":"a","predicate":"b","object":"c"},"strength":1e400}',
        '{"k":"rule","t":["a","b","c"],"w":1,"n":"x\\ud800"}',
    ],
)
def test_row_that_cannot_be_used_is_a_problem_and_no_crash(bench: Bench, cli: Cli, row: str) -> None:
    path = bench.put("bad.ndjson", row + "\n")
    for command in (["import", path], ["convert", path, "--to", "json"]):
        assert "internal error" not in cli(*command).err


def test_deep_value_and_vanished_folder_are_usage_errors(bench: Bench, cli: Cli, tmp_path: Path) -> None:
    assert cli("remember", "--key", "a.b", "--value", "[" * 30_000).code == 2
    gone = tmp_path / "gone"
    gone.mkdir()
    done = cli("list", under=["sh", "-c", f'rmdir "{gone}"; exec "$@"', "sh"], folder=str(gone))
    assert done.code == 2
    assert "no longer exists" in done.err


def test_folder_whose_name_is_not_utf8_works(bench: Bench, tmp_path: Path) -> None:
    odd = os.fsencode(str(tmp_path)) + b"/caf\xe9"
    os.makedirs(odd + b"/.git")
    folder = os.fsdecode(odd)
    bench.trust(folder)
    with open(os.path.join(folder, "memories.md"), "w", encoding="utf-8") as stream:
        stream.write(block("    - {key: a.b, value: x}\n"))
    from byheart.app.open import Surroundings, open_memory

    memory = open_memory(Surroundings(folder=folder, environment=bench.environment, clock=bench.clock)).memory
    memory.remember(Request(text="y", key="c.d"))
    memory.undo()
    assert [hit.record.key for hit in memory.list().hits] == ["a.b"]


def test_dry_run_of_an_import_says_what_a_real_one_would_do(bench: Bench, cli: Cli) -> None:
    path = bench.put(
        "old.ndjson",
        json.dumps({"k": "rule", "t": ["a", "is", "b"], "w": 1, "n": "x", "tags": [TOKEN]})
        + "\n"
        + json.dumps({"k": "rule", "t": ["c", "is", "d"], "w": 1, "n": "y" * 700})
        + "\n"
        + json.dumps({"k": "rule", "t": ["e", "is", "f"], "w": 1, "n": "Notebooks: clear outputs"})
        + "\n",
    )
    dry = cli("import", path, "--dry-run")
    assert "1 would be stored, 2 skipped" in dry.err
    real = cli("import", path)
    assert "1 stored, 2 skipped" in real.err
    assert "Notebooks: clear outputs" in bench.text(RULES)


def test_importing_twice_changes_nothing_the_second_time(bench: Bench) -> None:
    path = bench.put("old.ndjson", json.dumps({"k": "rule", "t": ["a", "use", "b"], "w": 4, "n": "Use b."}) + "\n")
    other = bench.put("old.md", block("    - {key: a.x, value: one, confidence: medium}\n"))
    for _ in range(2):
        bench.memory.import_(place_of(path, "/"))
        bench.memory.import_(place_of(other, "/"))
    rule, preference = bench.memory.find("a|use|b").record, bench.memory.find("a.x").record
    assert (rule.weight, preference.confidence) == (4, Confidence.MEDIUM)
    assert len(bench.memory.log()) == 2


def test_convert_tells_of_settings_and_deletions_it_leaves_behind(bench: Bench, cli: Cli) -> None:
    path = bench.put(
        "old.md",
        "```yaml\nsaved_memory: {settings: {enabled: false}, items: [{key: a.b, value: x}]}\ndeletions: [{key: c.d}]\n```\n",
    )
    done = cli("convert", path, "--to", "profile")
    assert "lost: the file: settings" in done.err
    assert "1 deletions" in done.err


@pytest.mark.parametrize(
    "request_",
    [
        {"triple": ("", "use", "x")}, {"triple": ("a" * 500, "use", "x")}, {"tags": ("t" * 100,)}, {"source": "s" * 500}, {"tags": ("",)},
    ],
    ids=str,
)  # fmt: skip
def test_fields_that_are_empty_or_too_long_are_refused(bench: Bench, request_: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        bench.remember("never x", **request_)


def test_noncharacters_are_written_so_that_they_read_back(bench: Bench) -> None:
    bench.remember("a\ufffe\uffffb", key="a.b")
    assert bench.memory.find("a.b").record.value == "a\ufffe\uffffb"


def test_change_that_would_harm_a_neighbour_is_refused(bench: Bench) -> None:
    """The last guard: whatever a dialect plans, a text in which another record differs is not written."""
    from byheart.domain.documents import Add, Place
    from byheart.domain.errors import Unwritable
    from byheart.domain.records import Record
    from byheart.notebooks.commit import verify
    from byheart.notebooks.formats.profile_yaml import YamlBlock

    dialect = YamlBlock()
    before = dialect.parse(block("    - {key: a.b, value: x}\n"))
    after = dialect.parse(block("    - {key: a.b, value: y}\n    - {key: c.d, value: z}\n"))
    with pytest.raises(Unwritable, match="harming other entries"):
        verify(Place("/", "m"), before, after, [Add(record=Record(text="z", key="c.d", value="z"))])


# what a second look found


def test_command_line_forgets_what_only_the_history_holds(bench: Bench, cli: Cli) -> None:
    bench.remember("embarrassing rumor text", key="a.b")
    bench.memory.undo()
    assert cli("forget", "--yes", "a.b").code == 0
    assert b"rumor" not in bytes_under(bench.home)
    assert cli("forget", "--yes", "a.b").code == 1


def test_forget_reaches_the_history_of_every_scope(bench: Bench) -> None:
    bench.remember("global: I prefer zanzibar unicorns a lot")
    bench.memory.undo()
    bench.remember("I prefer zanzibar unicorns a lot")
    bench.memory.forget("I prefer zanzibar unicorns a lot.")
    assert b"zanzibar" not in bytes_under(bench.home)


def test_forget_of_a_short_value_leaves_the_history_of_others(bench: Bench) -> None:
    bench.remember("I prefer pnpm")
    other = bench.memory.remember(Request(text="high", key="other.level"))
    bench.remember("high", key="prio.level")
    bench.memory.forget("prio.level")
    assert [entry.undoable for entry in bench.memory.log()] == [False, False, True, True]
    bench.memory.undo(other.id)


@pytest.mark.parametrize(
    "arguments",
    [
        ["remember", "--key", TOKEN + "x" * 100, "v"],
        ["remember", "v", "--tag", TOKEN + "y" * 60],
        ["remember", "never v", "--triple", "a", "b", TOKEN + "z" * 100],
        ["remember", "--key", "a.b", "--value", '{"t": "' + TOKEN + '"'],
        ["remember", "--key", "a.b", "--value", '{"' + TOKEN + '": 1}'],
        ["forget", TOKEN],
        ["--set", f"profile.bullets={TOKEN}", "profile"],
        ["import", "export.json"],
        ["list"],
        ["check"],
        ["export"],
        ["remember", "--key", "pro.se", "short"],
        ["remember", "--dry-run", "never do x", "--triple", "db", "password", TOKEN],
    ],
    ids=lambda arguments: " ".join(arguments)[:30],
)
def test_no_message_repeats_a_secret(bench: Bench, cli: Cli, arguments: list[str]) -> None:
    bench.put("export.json", json.dumps({"records": [{"text": "x", "kind": TOKEN}]}))
    bench.put(
        "memories.md",
        block(
            f"    - {{key: {TOKEN}, value: x, confidence: low}}\n    - {{key: {TOKEN}, value: {{{TOKEN}: 1, {TOKEN}: 2}}}}\n"
            f"    - key: pro.se\n      value: {'a long sentence that goes before '}{TOKEN}\n"
        ),
    )
    for more in ([], ["--json"]):
        done = cli(*arguments, *more)
        assert TOKEN[:20] not in done.out + done.err


@pytest.mark.parametrize("text", ["note\rmore\nplain\n", "a\rb\r", "```yaml\rsaved_memory:\r  items: []\r```\r"])
def test_lone_carriage_returns_are_recovered_like_any_text(bench: Bench, text: str) -> None:
    path = bench.put("memories.md", text)
    bench.memory.profile()
    bench.remember("x", key="a.b")
    assert bench.memory.find("a.b").record.text == "x"
    with open(path, encoding="utf-8", newline="") as stream:
        assert text in stream.read()


@pytest.mark.parametrize("variables", [{"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}])
def test_stream_that_cannot_show_a_character_is_no_failure(bench: Bench, cli: Cli, variables: dict[str, str]) -> None:
    done = cli("remember", "--json", "never use \u4e2d\u6587", **variables)
    assert done.code == 0
    assert json.loads(done.out)["record"]["text"] == "Never use \u4e2d\u6587"
    assert cli("list", **variables).code == 0


def test_configured_notebook_is_not_moved_out_of_sight(bench: Bench, cli: Cli) -> None:
    bench.put(".byheart.toml", '[paths]\nprofile = "sub/memories.md"\n')
    bench.remember("c", key="a.b")
    done = cli("init", "--in-repo")
    assert (done.code, "paths.profile" in done.err) == (3, True)
    assert bench.memory.find("a.b").record.text == "c"


def test_item_without_a_value_can_be_confirmed(bench: Bench) -> None:
    bench.put("memories.md", block("    - key: a.x\n      value:\n"))
    bench.memory.confirm("a.x")
    assert bench.memory.find("a.x").record.confidence is Confidence.HIGH


def test_backtick_behind_the_language_makes_it_no_fence(bench: Bench) -> None:
    bench.put("memories.md", "```yaml `x`\nsaved_memory: {items: []}\n```\n")
    assert [finding.rule for finding in bench.memory.check()] == ["no-block"]


def test_byte_order_mark_on_standard_input_is_dropped(bench: Bench, cli: Cli) -> None:
    assert cli("remember", "-", given="\ufeffI prefer bom\n").code == 0
    assert bench.memory.profile().bullets[0].record.text == "I prefer bom."
