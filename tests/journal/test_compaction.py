"""Compaction, rule by rule: when it runs, what it takes, what it leaves, what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from byheart.domain.documents import Place, Root
from byheart.domain.errors import ByheartError, Unreadable, Unwritable
from byheart.domain.journal import Compacted, Sensitivity
from byheart.domain.ports import Snapshot
from byheart.domain.records import Scope
from byheart.domain.values import replace
from byheart.journal import compact as flow
from byheart.testing import Bench, SharedFiles
from tests.conftest import Cli
from tests.journeys.test_seed_004 import CANARY, add, daily, journal, texts, with_settings


def aged(bench: Bench, count: int = 6, category: str = "turn-summary") -> None:
    """Records old enough to be compacted, then today."""
    bench.clock.move(days=-30)
    for number in range(count):
        add(bench, f"Fixed the crash number {number} in part_{number}.py because the cache was cold.", category)
    bench.clock.move(days=30)


def compact(bench: Bench, *, force: bool = True, **settings: object) -> Compacted:
    return with_settings(bench, **settings).memory.journal().compact(force=force)


def archive(bench: Bench) -> str:
    return next(Path(bench.home).rglob("journal-archive.md")).read_text(encoding="utf-8")


# When it runs


def test_checks_come_in_order_enabled_then_threshold_then_scope_then_lock(bench: Bench) -> None:
    on = {"memory_compaction_enabled": "true"}
    assert compact(bench, force=False).reason == "no memory file"
    add(bench, "New")
    add(bench, "Newer")
    assert compact(bench, force=False).stage == "enabled"
    assert compact(bench, force=False, **on, memory_compaction_threshold_records=2).stage == "threshold"
    assert compact(bench, force=False, **on, memory_compaction_threshold_chars=5_000).stage == "threshold"
    assert compact(bench, force=False, **on, memory_compaction_threshold_records=1).stage == "scope"
    aged(bench)
    with bench.files.claimed(_root(bench), flow.LOCK) as ours:
        assert ours
        assert compact(bench, force=False, **on).stage == "lock"
    assert compact(bench, force=False, **on).ran


def _root(bench: Bench) -> Root:
    return bench.memory._context.roots[Scope.LOCAL]


def test_run_that_finds_the_lock_held_is_skipped_and_logged(bench: Bench) -> None:
    aged(bench)
    with bench.files.claimed(_root(bench), flow.LOCK):
        assert compact(bench) == Compacted(ran=False, stage="lock", reason="lock held", path=str(journal(bench)))
    assert bench.memory.log()[0].summary == "compaction skipped: another one holds the lock"


def test_lock_that_a_killed_process_held_is_free(bench: Bench) -> None:
    aged(bench)
    script = (
        "import os, signal, sys\n"
        "from byheart.testing import Bench\n"
        "from byheart.domain.records import Scope\n"
        "bench = Bench(sys.argv[1])\n"
        "with bench.files.claimed(bench.memory._context.roots[Scope.LOCAL], 'compaction') as ours:\n"
        "    assert ours\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, bench.folder]).returncode == -9
    assert compact(bench).ran


def test_append_that_passes_a_threshold_compacts_at_once(bench: Bench) -> None:
    aged(bench, 6)
    eager = with_settings(bench, memory_compaction_enabled="true", memory_compaction_threshold_records=8)
    assert eager.memory.journal().append({"text": "Seventh"}).compaction == Compacted(
        ran=False, stage="threshold", reason="under threshold", path=str(journal(bench))
    )
    eager.memory.journal().append({"text": "Eighth"})
    done = eager.memory.journal().append({"text": "Ninth"}).compaction
    assert done is not None
    assert (done.ran, done.records_before, done.records_after) == (True, 9, 4)


def test_append_does_not_look_again_before_something_can_be_in_scope(bench: Bench) -> None:
    eager = with_settings(bench, memory_compaction_enabled="true", memory_compaction_threshold_records=1)
    outcomes = [eager.memory.journal().append({"text": f"New {number}"}).compaction for number in range(4)]
    assert [each.stage if each else None for each in outcomes] == ["threshold", "scope", None, None]
    bench.clock.move(days=8)
    done = eager.memory.journal().append({"text": "A week later"}).compaction
    assert done is not None and done.ran


def test_compaction_is_off_by_default_and_an_append_never_starts_it(bench: Bench) -> None:
    aged(bench, 30)
    assert bench.memory.journal().append({"text": "One more"}).compaction is None
    assert len(bench.memory.journal().read_all()) == 31


# What it takes and what it leaves


@pytest.mark.parametrize("category", ["turn-summary", "note", "heartbeat"])
def test_old_fleeting_records_are_merged(bench: Bench, category: str) -> None:
    aged(bench, 5, category)
    assert compact(bench).records_after == 1
    assert [each.origin.category for each in bench.memory.journal().read_all() if each.origin] == ["compaction"]


@pytest.mark.parametrize("category", ["learned", "user-preference", "decision", "compaction", "my-own"])
def test_records_of_lasting_categories_stay(bench: Bench, category: str) -> None:
    aged(bench, 5, category)
    aged(bench, 5)
    before = [each for each in bench.memory.journal().read_all() if each.origin and each.origin.category == category]
    compact(bench)
    assert [each for each in bench.memory.journal().read_all() if each in before] == before


def test_recent_records_stay_by_their_own_timestamp(bench: Bench) -> None:
    aged(bench, 3)
    bench.clock.move(days=-6)
    add(bench, "Six days old")
    bench.clock.move(days=6)
    compact(bench)
    assert "Six days old" in texts(bench.memory.journal().read_all())
    assert compact(bench, memory_compaction_min_age_days=60).stage == "scope"


def test_record_without_a_time_stays(bench: Bench) -> None:
    aged(bench, 3)
    with journal(bench).open("a", encoding="utf-8") as stream:
        stream.write('- {"id":"t","sessionId":"main","category":"note","text":"Timeless"}\n')
    compact(bench)
    assert "Timeless" in texts(bench.memory.journal().read_all())


def test_secret_records_are_never_merged_nor_summed_up(bench: Bench) -> None:
    bench.clock.move(days=-30)
    add(bench, "Decided that the vault code changes on Mondays.", "note", sensitivity="secret")
    bench.clock.move(days=30)
    aged(bench, 4, "note")
    compact(bench)
    assert "vault" not in (journal(bench).parent / "LONGMEMORY.md").read_text(encoding="utf-8")
    assert sum("vault" in line for line in journal(bench).read_text(encoding="utf-8").splitlines()) == 1
    assert "vault" not in archive(bench)
    assert bench.memory.recall("vault").hits == ()


def test_summary_takes_the_strictest_label_and_the_least_certainty_of_its_parts(bench: Bench) -> None:
    bench.clock.move(days=-30)
    for label, certainty in (("public", 1), ("private-user", 0.8), ("operational", 0.4)):
        add(bench, f"Always check the {label} thing first.", "note", sensitivity=label, confidence=certainty)
    bench.clock.move(days=30)
    compact(bench)
    origin = bench.memory.journal().read_all()[0].origin
    assert origin is not None
    assert (origin.sensitivity, origin.certainty) == (Sensitivity.PRIVATE, 0.4)


def test_summary_keeps_where_its_parts_came_from(bench: Bench) -> None:
    bench.clock.move(days=-30)
    for number in range(3):
        add(bench, f"Never skip step {number}.", "note", sourceChannel="web")
        bench.clock.move(days=1)
    bench.clock.move(days=27)
    compact(bench)
    line = journal(bench).read_text(encoding="utf-8").splitlines()[-1]
    entry = json.loads(line[2:])
    assert entry["provenance"]["sourceChannel"] == "web"
    assert entry["provenance"]["timestamp"] == "2026-02-14T09:26:00.000Z"
    assert entry["compacted"] == {
        "category": "note",
        "records": 3,
        "from": "2026-02-12T09:26:00.000Z",
        "until": "2026-02-14T09:26:00.000Z",
        "sessions": 1,
        "sourceChannels": ["web"],
        "at": "2026-03-14T09:26:00.000Z",
    }


def test_sessions_that_live_on_keep_their_own_summary_and_finished_ones_share_one(bench: Bench) -> None:
    store = bench.memory.journal()
    bench.clock.move(days=-30)
    for number in range(3):
        store.append({"sessionId": "alive", "text": f"Always do {number} here."})
        store.append({"sessionId": f"gone-{number}", "text": f"Never do {number} there."})
    bench.clock.move(days=30)
    store.append({"sessionId": "alive", "text": "Still here"})
    compact(bench)
    mine = texts(bench.memory.journal().retrieve_for_session("alive"))
    assert mine[0].startswith("Summary of 3 note records")
    assert "there" not in mine[0]
    assert len(bench.memory.journal().read_all()) == 3


def test_single_record_is_not_worth_a_summary(bench: Bench) -> None:
    aged(bench, 1)
    assert compact(bench).stage == "scope"


def test_prose_between_records_stays_where_it_is(bench: Bench) -> None:
    aged(bench, 2)
    with journal(bench).open("a", encoding="utf-8") as stream:
        stream.write("Mine.\n\n- 12\n")
    aged(bench, 2)
    add(bench, "New")
    compact(bench)
    lines = journal(bench).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines[4:] if not line.startswith("- {")] == ["Mine.", "", "- 12"]


def test_daily_logs_are_not_modified(bench: Bench) -> None:
    aged(bench)
    before = daily(bench, "2026-02-12").read_bytes()
    compact(bench)
    assert daily(bench, "2026-02-12").read_bytes() == before


def test_old_checkpoints_go_and_the_new_one_of_a_session_is_written_first(bench: Bench) -> None:
    bench.clock.move(days=-30)
    bench.memory.journal().flush_pre_compaction("main")
    bench.clock.move(days=30)
    aged(bench, 3)
    done = bench.memory.journal().compact(force=True, session_id="main")
    found = bench.memory.journal().read_all()
    assert done.records_compacted == 4
    assert [each.origin.timestamp[:10] for each in found if each.origin and each.origin.timestamp] == [
        "2026-02-12",
        "2026-03-14",
    ]


def test_summary_is_made_of_sentences_that_carry_something_each_once_and_always_the_same(bench: Bench) -> None:
    said = [
        "Looked around a bit. Decided to use Postgres for the queue.",
        "Decided to use Postgres for the queue. Had lunch.",
        "The import failed because LANG was unset; exporting LANG=C.UTF-8 fixed it.",
        "User prefers short commit messages.",
        "Hmm.",
    ]
    bench.clock.move(days=-30)
    for text in said:
        add(bench, text, "turn-summary")
    bench.clock.move(days=30)
    compact(bench)
    summary = bench.memory.journal().read_all()[0].text.splitlines()
    assert summary == [
        "Summary of 5 turn-summary records, 2026-02-12:",
        "- Decided to use Postgres for the queue.",
        "- The import failed because LANG was unset; exporting LANG=C.UTF-8 fixed it.",
        "- User prefers short commit messages.",
    ]


# LONGMEMORY.md


def test_long_memory_gets_a_dated_block_at_its_end_and_keeps_what_a_person_wrote(bench: Bench) -> None:
    aged(bench, 3)
    path = journal(bench).parent / "LONGMEMORY.md"
    path.write_text(
        "# Mine\n\nBy hand.\n\n## Summary (2026-01-01)\n\n- Before.\n\n## Mine too\n\nAlso.\n", encoding="utf-8"
    )
    assert compact(bench, timezone="UTC").long_memory_appended
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Mine\n\nBy hand.\n\n## Summary (2026-01-01)\n\n- Before.\n\n## Mine too\n\nAlso.\n\n")
    assert text.count("## Summary (2026-03-14)") == 1
    assert text.index("2026-01-01") < text.index("2026-03-14")


def test_long_memory_stays_under_its_cap_oldest_blocks_first_into_the_archive(bench: Bench) -> None:
    path = journal(bench).parent / "LONGMEMORY.md"
    for round_ in range(6):
        bench.clock.move(days=-20)
        for number in range(8):
            add(bench, f"Decided in round {round_} that part_{round_}_{number} must never be touched again.", "note")
        bench.clock.move(days=21)
        compact(bench, long_memory_max_chars=600)
        assert len(path.read_text(encoding="utf-8")) <= 600
    text = path.read_text(encoding="utf-8")
    found = [line for line in text.splitlines() if line.startswith("## Summary")]
    assert found == sorted(found)
    assert "round 5" in text
    assert "round 0" not in text
    assert "## Summary" in archive(bench)


def test_long_memory_without_room_is_left_alone_and_the_summary_stands_in_memory_md(bench: Bench) -> None:
    aged(bench, 3)
    path = journal(bench).parent / "LONGMEMORY.md"
    path.write_text("By hand, long.\n" * 100, encoding="utf-8")
    done = compact(bench, long_memory_max_chars=1_000)
    assert (done.ran, done.long_memory_appended) == (True, False)
    assert path.read_text(encoding="utf-8") == "By hand, long.\n" * 100


def test_long_memory_may_lie_elsewhere(bench: Bench) -> None:
    aged(bench, 3)
    compact(bench, long_memory_path="summaries/LONG.md")
    assert (journal(bench).parent / "summaries" / "LONG.md").exists()


@pytest.mark.parametrize("setting", ["long_memory_path", "memory_archive_path"])
def test_path_that_has_another_use_is_refused(bench: Bench, setting: str) -> None:
    aged(bench, 3)
    bench.flags = (f"journal.{setting}=MEMORY.md",)
    with pytest.raises(ByheartError, match=setting):
        compact(bench)


# Safety and traces


def test_every_line_that_leaves_is_in_the_archive(bench: Bench) -> None:
    aged(bench, 12)
    before = [line for line in journal(bench).read_text(encoding="utf-8").splitlines() if line.startswith("- {")]
    compact(bench)
    assert archive(bench).splitlines() == before


def test_statistics_are_in_the_log_and_the_run_can_be_undone(bench: Bench, cli: Cli) -> None:
    aged(bench, 12)
    before = journal(bench).read_bytes()
    done = compact(bench)
    assert bench.memory.log()[0].summary == "12 records became 1; 12 before, 1 after"
    assert cli("undo", done.receipt or "").code == 0
    assert journal(bench).read_bytes() == before


def test_only_the_last_backup_is_kept(bench: Bench) -> None:
    for _ in range(3):
        aged(bench, 4)
        compact(bench)
        bench.clock.move(days=40)
    backups = next(Path(bench.home).rglob("backup"))
    assert len({path.name.removesuffix(".along") for path in backups.iterdir()}) == 1


def test_record_with_a_credential_typed_by_hand_stays_and_no_copy_of_it_is_made(bench: Bench) -> None:
    aged(bench, 4)
    path = journal(bench)
    line = path.read_text(encoding="utf-8").splitlines()[-1].replace("cache was cold", f"key was {CANARY}")
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    done = compact(bench)
    assert (done.ran, done.receipt) == (True, None)
    holders = [
        each for each in Path(bench.folder).rglob("*") if each.is_file() and CANARY.encode() in each.read_bytes()
    ]
    assert holders == [path]


class Torn(SharedFiles):
    """A disk that tears the rewrite of MEMORY.md in half, once, and says so."""

    def write(self, place: Place, text: str, base: str) -> Snapshot:
        if str(place).endswith("journal/MEMORY.md") and "compacted" in text and not self.torn:
            self.torn = True
            Path(str(place)).write_text(text[: len(text) // 2], encoding="utf-8")
            raise Unwritable(str(place), "the disk is full; the old file is unchanged", "free some space")
        return super().write(place, text, base)

    torn = False


def test_write_that_fails_half_way_is_rolled_back_from_the_backup_and_logged(bench: Bench) -> None:
    aged(bench)
    before = journal(bench).read_bytes()
    long_before = journal(bench).parent / "LONGMEMORY.md"
    bench.files = Torn()
    with pytest.raises(Unreadable, match="disk is full"):
        compact(bench)
    assert journal(bench).read_bytes() == before
    assert not long_before.exists()
    assert "compaction failed" in bench.memory.log()[0].summary
    assert compact(bench).ran


class Hurried(SharedFiles):
    """Files on which somebody acts just before we take the lock for the given time."""

    def __init__(self, when: int, act: Callable[[], object]) -> None:
        super().__init__()
        self.when, self.act = when, act

    @contextmanager
    def locked(self, root: Root) -> Iterator[None]:
        self.when -= 1
        if self.when == 0:
            self.act()
        with super().locked(root):
            yield


def test_append_during_a_compaction_is_kept(bench: Bench) -> None:
    aged(bench)
    other = Bench(bench.folder, clock=bench.clock)
    # The first lock is for what an earlier run may have left; then the file is read and the plan made.
    bench.files = Hurried(2, lambda: add(other, "Came in between"))
    done = compact(bench)
    assert done.ran
    assert texts(bench.memory.journal().read_all())[-1] == "Came in between"
    assert bench.memory.undo(done.receipt).action == "undone"
    assert len(bench.memory.journal().read_all()) == 7


def test_forget_during_a_compaction_leaves_nothing_behind(bench: Bench) -> None:
    aged(bench)
    id_ = add(bench, "Decided that the marmalade stays.", timestamp="2026-01-01T00:00:00Z")
    other = Bench(bench.folder, clock=bench.clock)
    bench.files = Hurried(2, lambda: other.memory.forget(id_))
    assert compact(bench).ran
    for path in Path(bench.folder).rglob("*"):
        assert not path.is_file() or b"marmalade" not in path.read_bytes(), path


def test_edit_by_a_person_during_a_compaction_is_kept(bench: Bench) -> None:
    aged(bench)
    path = journal(bench)
    edited = path.read_text(encoding="utf-8").replace("# MEMORY", "# My MEMORY")
    bench.files.before_next_write(lambda: path.write_text(edited, encoding="utf-8"))
    assert compact(bench).ran
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# My MEMORY")
    assert len(bench.memory.journal().read_all()) == 1
    assert len(archive(bench).splitlines()) == 6


def test_plan_that_is_not_sound_is_refused_before_anything_is_written(bench: Bench) -> None:
    """Each guard on its own: a record too few, a line of prose changed, a label loosened."""
    aged(bench, 4)
    add(bench, "New")
    context = bench.memory._context
    place = context.roots[Scope.LOCAL].documents["journal"]
    plan = flow._planned(context, context.files.read(place))
    assert plan is not None
    flow.refuse_unsound(context, plan, place)
    lines = plan.text.splitlines(keepends=True)
    strict = plan.summaries[0].record
    assert strict.origin is not None
    loose = replace(strict, origin=replace(strict.origin, sensitivity=Sensitivity.PUBLIC))
    for spoiled, why in (
        (replace(plan, text="".join(lines[:-1])), "number of records"),
        (replace(plan, text="".join(["# Other\n", *lines[1:]])), "not a record"),
        (replace(plan, text=plan.text.replace("New", "Old")), "should stay"),
        (replace(plan, summaries=(replace(plan.summaries[0], record=loose),)), "looser label"),
    ):
        with pytest.raises(Unwritable, match=why):
            flow.refuse_unsound(context, spoiled, place)


def test_scan_finds_nothing_new_after_a_compaction(bench: Bench) -> None:
    aged(bench, 5)
    add(bench, "Always run migrations before deploys", "learned")
    add(bench, "Never run migrations before deploys", "learned")
    before = {each.rule for each in bench.memory.journal().integrity_scan()}
    compact(bench)
    assert {each.rule for each in bench.memory.journal().integrity_scan()} == before == {"contradiction"}


def test_many_rounds_lose_nothing_and_stay_small(bench: Bench) -> None:
    """A month of work with a window, thresholds and a person's notes: all records are in the file or in the archive."""
    busy = with_settings(
        bench,
        memory_compaction_enabled="true",
        memory_compaction_threshold_records=40,
        memory_compaction_min_age_days=2,
        memory_max_records=80,
    )
    ids = []
    for step in range(300):
        category = ("turn-summary", "note", "decision")[step % 3 if step % 7 else 2]
        ids.append(busy.memory.journal().append({"category": category, "text": f"Step {step}: chose way {step}."}).id)
        bench.clock.now += timedelta(hours=3)
    text = journal(bench).read_text(encoding="utf-8")
    kept = text + archive(bench)
    assert [id_ for id_ in ids if id_ not in kept] == []
    assert len(bench.memory.journal().read_all()) <= 80


class NotedFiles(SharedFiles):
    """Files that remember what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []

    def write(self, place: Place, text: str, base: str) -> Snapshot:
        self.written.append(str(place))
        return super().write(place, text, base)


@pytest.mark.parametrize("left", ["", "byheart 2026-01-01T00:00:00+00:00\n"])
def test_compaction_of_a_journal_in_a_workspace_holds_the_lock_that_other_programs_know(
    tmp_path: Path, left: str
) -> None:
    bench = Bench(str(tmp_path), flags=("paths.journal=MEMORY.md",))
    bench.files = NotedFiles()
    lock = Path(bench.project, "tmp", "memory-compaction.lock")
    aged(bench)
    if left:
        # Of a run of ours that was killed.
        lock.parent.mkdir()
        lock.write_text(left, encoding="utf-8")
    assert bench.memory.journal().compact(force=True).ran
    assert str(lock) in bench.files.written and not lock.exists()


def test_journal_that_begins_in_a_repository_is_kept_out_of_git_with_a_word(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path), flags=("paths.journal=MEMORY.md",))
    exclude = Path(bench.project, ".git", "info", "exclude")
    exclude.parent.mkdir(parents=True, exist_ok=True)
    exclude.write_text("*.swp\n", encoding="utf-8")
    notes = bench.memory.journal().append({"text": "Hello"}).notes
    assert any("kept out of git" in note for note in notes)
    assert exclude.read_text().split("\n") == ["*.swp", "/MEMORY.md", "/LONGMEMORY.md", "/memory/", ""]
    assert bench.memory.journal().append({"text": "Again"}).notes == ()
