"""Upkeep without a resident process: due checks, the schedule, check --fix, settings carried over, and the commands."""

from __future__ import annotations

import json
import os
import stat
import time
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from byheart.domain.errors import BadSetting
from byheart.journal.schedule import cron, is_due, next_after
from byheart.testing import Bench
from tests.conftest import Cli
from tests.journal.test_compaction import aged
from tests.journeys.test_seed_004 import CANARY, add, journal, texts, with_settings

ON = {"memory_compaction_enabled": "true"}
# Commands have the real clock, by which the bench's records are old.
FRESH = {"BYHEART_CHECK_STALE_DAYS": "3650"}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


# When something is due


@pytest.mark.parametrize(
    ("expression", "zone", "after", "expected"),
    [
        ("0 3 * * *", "UTC", "2026-03-14T03:00:00+00:00", "2026-03-15T03:00:00+00:00"),
        ("0 3 * * *", "Asia/Kolkata", "2026-03-14T00:00:00+00:00", "2026-03-14T21:30:00+00:00"),
        ("*/15 9-17 * * mon-fri", "UTC", "2026-03-14T12:00:00+00:00", "2026-03-16T09:00:00+00:00"),
        ("0 0 29 2 *", "UTC", "2026-03-14T12:00:00+00:00", "2028-02-29T00:00:00+00:00"),
        ("@weekly", "UTC", "2026-03-14T12:00:00+00:00", "2026-03-15T00:00:00+00:00"),
        ("0 0 1 * 0", "UTC", "2026-03-14T12:00:00+00:00", "2026-03-15T00:00:00+00:00"),
        ("5,35 4 * jan,jul 7", "UTC", "2026-03-14T12:00:00+00:00", "2026-07-05T04:05:00+00:00"),
        # 02:30 does not exist on this night in Los Angeles, and comes twice on the other one.
        ("30 2 * * *", "America/Los_Angeles", "2026-03-08T09:00:00+00:00", "2026-03-08T10:30:00+00:00"),
        ("30 1 * * *", "America/Los_Angeles", "2026-11-01T08:31:00+00:00", "2026-11-02T09:30:00+00:00"),
    ],
)
def test_cron_expression_names_its_next_moment(expression: str, zone: str, after: str, expected: str) -> None:
    when = cron(expression)
    assert when is not None
    assert next_after(when, at(after), ZoneInfo(zone)) == at(expected)


@pytest.mark.parametrize(
    "expression", ["", "daily", "* * * *", "60 * * * *", "* 24 * * *", "0 0 31 2 *", "*/0 * * * *", "5-1 * * * *"]
)
def test_what_is_no_cron_expression_is_refused_as_a_setting(bench: Bench, expression: str) -> None:
    assert cron(expression) is None
    if expression:
        with pytest.raises(BadSetting, match="memory_compaction_schedule"):
            with_settings(bench, memory_compaction_schedule=expression).opened()


def test_interval_and_clock_decide_what_is_due() -> None:
    now = at("2026-03-14T12:00:00+00:00")
    day = 86_400_000
    assert is_due(None, now, "", day, None)
    assert not is_due(now - timedelta(hours=23), now, "", day, None)
    assert is_due(now - timedelta(hours=24), now, "", day, None)
    # A clock that was set back must not put upkeep off for years.
    assert is_due(now + timedelta(days=400), now, "", day, None)
    assert is_due(now - timedelta(hours=13), now, "0 3 * * *", day, UTC)
    assert not is_due(now - timedelta(hours=8), now, "0 3 * * *", day, UTC)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "Europe"])
def test_zone_that_does_not_exist_is_refused_as_a_setting(bench: Bench, zone: str) -> None:
    with pytest.raises(BadSetting, match="timezone"):
        with_settings(bench, timezone=zone).opened()


def test_upkeep_compacts_and_scans_what_is_due_and_nothing_twice(bench: Bench) -> None:
    aged(bench)
    busy = with_settings(bench, **ON)
    assert busy.memory.is_upkeep_due()
    done = busy.memory.journal().upkeep()
    assert [(each.scope, each.compaction is not None and each.compaction.ran, each.findings) for each in done] == [
        ("local", True, 0)
    ]
    assert not busy.memory.is_upkeep_due()
    assert busy.memory.journal().upkeep() == []
    bench.clock.move(hours=1)
    assert [each.compaction for each in busy.memory.journal().upkeep()] == [None]
    bench.clock.move(days=1)
    assert busy.memory.is_upkeep_due()


def test_upkeep_is_not_due_where_there_is_no_journal(bench: Bench) -> None:
    assert not with_settings(bench, **ON).memory.is_upkeep_due()


def test_upkeep_by_cron_runs_once_its_hour_has_come(bench: Bench) -> None:
    aged(bench)
    nightly = with_settings(
        bench, **ON, memory_compaction_schedule="0 3 * * *", timezone="UTC", integrity_scan_every_ms=0
    )
    nightly.memory.journal().upkeep()
    bench.clock.now = at("2026-03-15T02:59:00+00:00")
    assert not nightly.memory.is_upkeep_due()
    bench.clock.now = at("2026-03-15T03:00:00+00:00")
    assert nightly.memory.is_upkeep_due()


def test_failure_in_one_journal_is_noted_and_the_other_is_kept_up(bench: Bench) -> None:
    from byheart.domain.records import Scope

    bench.memory.journal(Scope.GLOBAL).append({"text": "Fine"})
    path = journal(bench)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\xff\xfe not text")
    done = {each.scope: each for each in bench.memory.journal().upkeep(force=True)}
    assert done["local"].notes
    assert done["global"].findings == 0


def test_command_starts_what_is_due_in_the_background_once(bench: Bench, cli: Cli) -> None:
    # The command has the real clock, so the records are old by that one.
    bench.clock.now = datetime.now(UTC)
    aged(bench)
    lines = len(journal(bench).read_text(encoding="utf-8").splitlines())
    assert cli("profile", BYHEART_CHILD="", BYHEART_JOURNAL_MEMORY_COMPACTION_ENABLED="true").code in (0, 1)
    until = time.monotonic() + 30
    while len(journal(bench).read_text(encoding="utf-8").splitlines()) == lines:
        assert time.monotonic() < until, "nothing was compacted"
        time.sleep(0.02)
    state = next(Path(bench.home).rglob("journal.json"))
    while "scanned_at" not in state.read_text(encoding="utf-8"):
        assert time.monotonic() < until, "nothing was scanned"
        time.sleep(0.02)


def test_upkeep_of_all_projects_finds_every_journal(bench: Bench, cli: Cli) -> None:
    other = Path(bench.folder) / "elsewhere"
    (other / ".git").mkdir(parents=True)
    assert cli("journal", "append", "Here").code == 0
    assert cli("journal", "append", "There", folder=str(other)).code == 0
    outcome = cli("journal", "upkeep", "--all", "--force", "--json")
    assert outcome.code == 0
    rows = outcome.json
    assert isinstance(rows, list)
    assert len({row["path"] for row in rows}) == 2


# The machine's schedulers


@pytest.fixture
def programs(bench: Bench) -> Path:
    """A folder with a crontab and a systemctl that only note what they are told."""
    folder = Path(bench.folder) / "bin"
    folder.mkdir()
    table = folder / "table"
    scripts = {
        "crontab": f'if [ "$1" = -l ]; then cat {table} 2>/dev/null || {{ echo "no crontab for you" >&2; exit 1; }}; else cat > {table}; fi',
        "systemctl": f'echo "$@" >> {folder}/calls',
    }
    for name, body in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (folder / name).chmod(stat.S_IRWXU)
    return folder


def test_schedule_by_cron_adds_one_line_keeps_the_others_and_can_be_taken_back(
    bench: Bench, cli: Cli, programs: Path
) -> None:
    path = f"{programs}:{os.environ['PATH']}"
    table = programs / "table"
    table.write_text("MAILTO=me\n5 4 * * * backup # mine", encoding="utf-8")
    assert cli("schedule", "show", PATH=path).code == 0
    for _ in range(2):
        assert cli("schedule", "install", "--cron", PATH=path).code == 0
    lines = table.read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["MAILTO=me", "5 4 * * * backup # mine"]
    assert len(lines) == 3
    assert "journal upkeep --all" in lines[2]
    assert f"BYHEART_HOME={bench.home}" in lines[2]
    assert "journal upkeep" in cli("schedule", "show", PATH=path).out
    assert cli("schedule", "remove", PATH=path).code == 0
    assert table.read_text(encoding="utf-8") == "MAILTO=me\n5 4 * * * backup # mine\n"
    assert cli("schedule", "remove", PATH=path).code == 0


def test_schedule_by_systemd_writes_two_units_starts_the_timer_and_can_be_taken_back(
    bench: Bench, cli: Cli, programs: Path
) -> None:
    path = f"{programs}:{os.environ['PATH']}"
    units = Path(bench.folder) / ".config" / "systemd" / "user"
    assert cli("schedule", "install", PATH=path).code == 0
    service = (units / "byheart-upkeep.service").read_text(encoding="utf-8")
    assert '"journal" "upkeep" "--all"' in service
    assert "OnCalendar=hourly" in (units / "byheart-upkeep.timer").read_text(encoding="utf-8")
    assert "--user enable --now byheart-upkeep.timer" in (programs / "calls").read_text(encoding="utf-8")
    assert cli("schedule", "show", PATH=path).code == 0
    assert cli("schedule", "remove", PATH=path).code == 0
    assert list(units.iterdir()) == []


def test_unit_of_the_same_name_that_is_not_ours_is_left_alone(bench: Bench, cli: Cli, programs: Path) -> None:
    units = Path(bench.folder) / ".config" / "systemd" / "user"
    units.mkdir(parents=True)
    (units / "byheart-upkeep.service").write_text("[Unit]\n", encoding="utf-8")
    path = f"{programs}:{os.environ['PATH']}"
    assert cli("schedule", "install", "--systemd", PATH=path).code == 3
    assert cli("schedule", "remove", PATH=path).code == 0
    assert (units / "byheart-upkeep.service").read_text(encoding="utf-8") == "[Unit]\n"


def test_crontab_that_cannot_be_read_is_not_overwritten(cli: Cli, programs: Path) -> None:
    (programs / "crontab").write_text(
        f'#!/bin/sh\nif [ "$1" = -l ]; then echo "you are not allowed" >&2; exit 1; fi\ncat > {programs}/table\n',
        encoding="utf-8",
    )
    outcome = cli("schedule", "install", "--cron", PATH=f"{programs}:{os.environ['PATH']}")
    assert (outcome.code, "not allowed" in outcome.err) == (5, True)
    assert not (programs / "table").exists()


def test_machine_without_schedulers_is_told_what_to_set_up_by_hand(bench: Bench, cli: Cli) -> None:
    empty = Path(bench.folder) / "empty"
    empty.mkdir()
    assert cli("schedule", "install", PATH=str(empty)).code == 5
    printed = cli("schedule", "install", "--print", PATH=str(empty))
    assert printed.code == 0
    assert "OnCalendar" in printed.out
    assert "17 * * * *" in printed.out


# check --fix


def test_check_fix_proposes_one_edit_at_a_time_and_makes_only_those_one_says_yes_to(bench: Bench, cli: Cli) -> None:
    for text in ("Use tabs", "Never use tabs", "Twice", "Twice", "Alone"):
        add(bench, text)
    outcome = cli("check", "--fix", given="y\nn\n", **FRESH)
    assert outcome.code == 3
    assert texts(bench.memory.journal().read_all()) == ["Never use tabs", "Twice", "Twice", "Alone"]
    assert cli("check", "--fix", given="y\n", **FRESH).code == 0
    assert texts(bench.memory.journal().read_all()) == ["Never use tabs", "Twice", "Alone"]
    assert cli("check", "--fix", **FRESH).code == 0
    assert cli("undo").code == 0
    assert len(bench.memory.journal().read_all()) == 4


@pytest.mark.parametrize("given", ["", "q\n", "n\nn\nn\n", "what\n"])
def test_check_fix_changes_nothing_without_a_yes(bench: Bench, cli: Cli, given: str) -> None:
    for text in ("Use tabs", "Never use tabs", "Twice", "Twice"):
        add(bench, text)
    before = journal(bench).read_bytes()
    assert cli("check", "--fix", given=given, **FRESH).code == 3
    assert cli("check", "--fix", "--json", given="y\n", **FRESH).code == 3
    assert journal(bench).read_bytes() == before


def test_check_fix_covers_the_other_notebooks_as_well(bench: Bench, cli: Cli) -> None:
    rows = [["npm", "use", "general"], ["npm", "avoid", "general"]]
    bench.put(
        "docs/memory/memories.ndjson",
        "".join(json.dumps({"k": "rule", "t": row, "w": 1, "n": " ".join(row)}) + "\n" for row in rows),
    )
    bench.remember("concise", key="writing.tone")
    path = Path(bench.path("yaml-block"))
    path.write_text(path.read_text(encoding="utf-8").replace("confidence: high", "confidence: low"), encoding="utf-8")
    assert cli("check", "--fix", given="y\ny\n", **FRESH).code == 0
    assert [hit.record.text for hit in bench.memory.rules().hits] == ["npm avoid general"]
    assert "needs-confirmation" in path.read_text(encoding="utf-8")


# Settings of another program


def test_configuration_of_another_program_is_carried_over_by_its_own_names(bench: Bench, cli: Cli) -> None:
    given = {
        "continuity": {
            "sessionMemoryCap": 16000, "memoryMaxRecords": 500, "memoryArchivePath": "memory/MEMORY-archive.md",
            "memoryCompactionEnabled": True, "memoryCompactionMaxRecords": 300, "memoryCompactionScheduleCron": "0 3 * * *",
            "longMemoryMaxChars": 9000, "experienceUniquenessThreshold": 0.8, "memoryMaxChars": None, "bootEnabled": True,
        },
        "memory": {"includeSecretsInPrompt": False, "integrityScanEveryMs": 60000},
        "session": {"maxMessageChars": 8000},
    }  # fmt: skip
    bench.put("openclaw.json", json.dumps(given))
    outcome = cli("journal", "settings", "--from", "openclaw.json")
    assert tomllib.loads(outcome.out)["journal"] == {
        "session_memory_cap": 16000, "memory_max_records": 500, "memory_archive_path": "memory/MEMORY-archive.md",
        "memory_compaction_enabled": True, "memory_compaction_threshold_records": 300,
        "memory_compaction_schedule": "0 3 * * *", "long_memory_max_chars": 9000, "experience_uniqueness_threshold": 0.8,
        "include_secrets_in_prompt": False, "integrity_scan_every_ms": 60000, "timezone": "UTC",
    }  # fmt: skip
    assert "continuity.bootEnabled" in outcome.err
    assert "session" in outcome.err


@pytest.mark.parametrize(
    "own", ["", "[profile]\nbullets = 5", '# mine\n[journal]\nsession_memory_cap = 900\n\n[output]\ncolor = "never"\n']
)
def test_carried_settings_are_written_beside_ones_own(bench: Bench, cli: Cli, own: str) -> None:
    home = Path(bench.home)
    home.mkdir()
    (home / "config.toml").write_text(own, encoding="utf-8")
    bench.put("openclaw.json", '{"continuity": {"sessionMemoryCap": 16000, "memoryMaxRecords": 7}}')
    assert cli("journal", "settings", "--from", "openclaw.json", "--write").code == 0
    text = (home / "config.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    assert table["journal"]["memory_max_records"] == 7
    assert table["journal"]["session_memory_cap"] == (900 if "900" in own else 16000)
    for line in own.splitlines():
        assert line in text
    assert "memory_max_records = 7" in cli("journal", "settings").out


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("not json", "not valid JSON"), ("[1]", "not a JSON object"),
        ('{"continuity": {"sessionMemoryCap": "many"}}', "session_memory_cap"),
        ('{"continuity": {"memoryMaxRecords": -1}}', "memory_max_records"),
        ('{"continuity": {"memoryCompactionScheduleCron": "sometimes"}}', "memory_compaction_schedule"),
        ('{"continuity": {"memoryMaxChars": [1]}}', "memoryMaxChars"),
    ],
)  # fmt: skip
def test_configuration_that_cannot_be_carried_over_is_refused_with_its_name(
    bench: Bench, cli: Cli, content: str, named: str
) -> None:
    bench.put("other.json", content)
    outcome = cli("journal", "settings", "--from", "other.json", "--write")
    assert (outcome.code, named in outcome.err) == (2, True)
    assert not (Path(bench.home) / "config.toml").exists()


@pytest.mark.parametrize(
    "setting",
    [
        "memory_max_records = 1",
        "memory_max_chars = 10",
        'memory_archive_path = "x.md"',
        "include_secrets_in_prompt = true",
    ],
)
def test_clone_cannot_trim_a_journal_nor_have_secrets_handed_out(bench: Bench, setting: str) -> None:
    add(bench, "One")
    add(bench, "The vault is behind the picture", sensitivity="secret")
    bench.put(".byheart.toml", f"[journal]\n{setting}\n")
    if "secrets" in setting:
        assert "vault" not in bench.memory.journal().session_context().text
        return
    assert "may not be set by a project" in bench.opened().ignored
    add(bench, "Two")
    texts = [each.record.text for each in bench.memory.journal().listing()]
    assert {"One", "Two"} <= set(texts)


# The commands


def test_journal_commands_print_json_and_their_exit_codes(bench: Bench, cli: Cli) -> None:
    assert cli("journal", "list").code == 0
    saved = cli("journal", "append", "Chose", "Postgres", "--category", "decision", "--json")
    assert saved.code == 0
    assert isinstance(saved.json, dict)
    assert cli("journal", "append", "-", given="From a pipe\n").code == 0
    record = {"text": "Whole", "sessionId": "s1", "provenance": {"sensitivity": "public"}}
    assert cli("journal", "append", "--record", "-", given=json.dumps(record)).code == 0
    listed = cli("journal", "list", "--json").json
    assert isinstance(listed, list)
    assert [row["record"]["text"] for row in listed] == ["Chose Postgres", "From a pipe", "Whole"]
    assert cli("journal", "list", "--session", "s1", "-n", "5").out.count("\n") == 1
    assert cli("journal", "list", "--category", "decision").out.count("\n") == 1
    assert isinstance(cli("journal", "context", "--json").json, dict)
    assert cli("journal", "context", "--shared").code == 0
    assert cli("journal", "scan").code == 0
    assert cli("journal", "compact").code == 1
    assert isinstance(cli("journal", "compact", "--force", "--json").json, dict)
    assert cli("journal", "flush", "--session", "s1").code == 0
    assert isinstance(cli("journal", "upkeep", "--json").json, list)
    assert cli("forget", "--yes", str(saved.json["id"])).code == 0
    assert cli("journal", "append", "Use tabs").code == cli("journal", "append", "Never use tabs").code == 0
    assert cli("journal", "scan").code == 3


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("journal", "append"), 2),
        (("journal", "append", "--record", "{"), 2),
        (("journal", "append", "--record", "[]"), 2),
        (("journal", "append", "--record", '{"provenance": 7, "text": "x"}'), 2),
        (("journal", "append", "x", "--confidence", "7"), 2),
        (("journal", "append", "x", "--sensitivity", "odd"), 2),
        (("journal", "append", f"key {CANARY}"), 3),
        (("journal", "list", "-n", "0"), 2),
        (("journal", "nothing"), 2),
        (("journal", "settings", "--write"), 2),
        (("journal", "settings", "--from", "missing.json"), 2),
        (("check", "--fix", "memories.md"), 2),
    ],
)
def test_bad_input_to_journal_commands_gets_a_clear_error(cli: Cli, arguments: tuple[str, ...], code: int) -> None:
    outcome = cli(*arguments)
    assert outcome.code == code
    assert outcome.err.strip()
    assert "Traceback" not in outcome.err
    assert CANARY not in outcome.err


def test_control_characters_in_a_file_do_not_reach_the_terminal(bench: Bench, cli: Cli) -> None:
    add(bench, "Fine")
    with journal(bench).open("a", encoding="utf-8") as stream:
        stream.write(
            '- {"id":"\\u001b[31mid","sessionId":"\\u001b]0;x\\u0007","category":"\\u001b[2J","text":"\\u001b[1mloud"}\n'
        )
    for command in (
        ("journal", "list"),
        ("journal", "context"),
        ("journal", "scan"),
        ("show",),
        ("recall", "loud"),
        ("check",),
    ):
        assert "\x1b" not in cli(*command).out


def test_import_brings_a_journal_over_once_and_says_what_it_skips(bench: Bench, cli: Cli) -> None:
    rows = [
        {"id": "a", "sessionId": "main", "category": "note", "text": "From there", "provenance": {"timestamp": "2026-01-02T03:04:05.000Z"}},
        {"id": "b", "sessionId": "main", "category": "decision", "text": "Chose it", "provenance": {"sensitivity": "public"}},
        {"id": "c", "sessionId": "main", "category": "note", "text": f"key {CANARY}"},
    ]  # fmt: skip
    bench.put("other/MEMORY.md", "# M\n\n" + "".join(f"- {json.dumps(row)}\n" for row in rows) + '- {"broken\n')
    dry = cli("import", "other/MEMORY.md", "--dry-run")
    assert "2 would be stored, 1 skipped, 1 unreadable" in dry.err
    assert not journal(bench).exists()
    assert "2 stored, 1 skipped" in cli("import", "other/MEMORY.md").err
    assert cli("import", "other/MEMORY.md").code == 0
    found = bench.memory.journal().read_all()
    assert [(each.text, each.origin.id if each.origin else "") for each in found] == [
        ("From there", "a"),
        ("Chose it", "b"),
    ]
    assert found[0].origin is not None and found[0].origin.timestamp == "2026-01-02T03:04:05.000Z"
    assert not (journal(bench).parent / "memory").exists()


def test_export_and_import_as_a_journal_give_the_same_records(bench: Bench, cli: Cli, tmp_path: Path) -> None:
    add(bench, "One", "decision", confidence=0.5, sourceChannel="web")
    bench.remember("concise", key="writing.tone")
    out = tmp_path / "out.md"
    assert cli("export", "--format", "journal", "--out", str(out)).code == 0
    other = Bench(str(tmp_path / "other"))
    assert cli("import", str(out), folder=other.project, BYHEART_HOME=other.home).code == 0
    assert texts(other.memory.journal().read_all()) == ["writing.tone: concise", "One"]
    mine = bench.memory.journal().read_all()[0]
    assert other.memory.journal().read_all()[1].origin == mine.origin


def test_doctor_tells_of_upkeep_and_of_settings_that_defeat_each_other(bench: Bench, cli: Cli) -> None:
    add(bench, "Use tabs")
    add(bench, "Never use tabs")
    bench.memory.journal().upkeep()
    assert "1 findings" in cli("doctor").out
    flags = [("enabled", "true"), ("threshold_records", "100")]
    settings = [word for name, value in flags for word in ("--set", f"journal.memory_compaction_{name}={value}")]
    outcome = cli(*settings, "--set", "journal.memory_max_records=50", "doctor")
    assert "never reaches the compaction threshold" in outcome.out


def test_doctor_warns_of_a_large_memory_md(bench: Bench, cli: Cli) -> None:
    for number in range(10):
        add(bench, f"{number} " + "long " * 700)
    assert "memory_size_warn_chars" in cli("doctor").out
