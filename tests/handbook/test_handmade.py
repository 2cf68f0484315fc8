"""What people write into a handbook: it stays, whatever is learnt, or nothing is written."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from byheart.handbook.handmade import merged
from tests.learning.world import World, fixed


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.session(
        ("user", "Mend the oven. Always use zirconium here, never npm."),
        *fixed("Error: zebra", "oven/a.py"),
        began="2026-05-01T10:00:00",
    )
    world.session(("user", "Mend the bell."), *fixed("Error: quagga", "bell/b.py"), began="2026-05-02T10:00:00")
    world.learn()
    return world


def save(world: World, name: str, text: str) -> None:
    (world.folder / name).write_text(text, encoding="utf-8")


def more(world: World) -> None:
    """Something new to learn, in the part of the project that is known and in another one."""
    world.session(("user", "Mend the oven door."), *fixed("Error: tapir", "oven/c.py"), began="2026-05-05T10:00:00")
    world.session(("user", "Mend the scale."), *fixed("Error: okapi", "scale/d.py"), began="2026-05-06T10:00:00")


def test_line_that_was_added_stays_where_it_was_put(world: World) -> None:
    text = world.text("MEMORY.md")
    at = text.index("## Reusable knowledge\n\n") + len("## Reusable knowledge\n\n")
    save(world, "MEMORY.md", text[:at] + "- the oven is older than the house\n" + text[at:])
    more(world)
    report = world.learn()
    assert report.projects[0].kept_lines == 1
    for _ in range(3):
        after = world.text("MEMORY.md")
        assert "\n- the oven is older than the house\n" in after
        assert "tapir" in after
        more(world)
        world.learn()
    assert world.findings() == []


def test_line_that_was_changed_stays_changed(world: World) -> None:
    text = world.text("MEMORY.md")
    old = next(line for line in text.split("\n") if "zirconium" in line and line.startswith("- when"))
    save(world, "MEMORY.md", text.replace(old, "- zirconium is for the front door only [Task 1]"))
    more(world)
    world.learn()
    after = world.text("MEMORY.md")
    assert "- zirconium is for the front door only [Task 1]" in after
    assert "Always use zirconium here" not in after.split("### keywords")[-1]
    assert old not in after


def test_line_that_was_taken_out_stays_out_of_both_files(world: World) -> None:
    text = world.text("MEMORY.md")
    old = next(line for line in text.split("\n") if "zirconium" in line and line.startswith("- when"))
    save(world, "MEMORY.md", text.replace(old + "\n", ""))
    more(world)
    world.learn()
    assert 'the user said: "Always use zirconium' not in world.text("MEMORY.md")
    assert 'the user said: "Always use zirconium' not in world.text("memory_summary.md")


def test_line_in_the_summary_stays(world: World) -> None:
    text = world.text("memory_summary.md")
    save(world, "memory_summary.md", text.replace("## General Tips\n\n", "## General Tips\n\n- feed the cat first\n"))
    more(world)
    world.learn()
    assert "- feed the cat first" in world.text("memory_summary.md")


def test_block_that_a_person_wrote_stays(world: World) -> None:
    own = "\n# Task Group: bakery: the cat\nscope: the cat\napplies_to: cwd=/; reuse_rule=always\n\nThe cat sleeps in the oven.\n"
    save(world, "MEMORY.md", world.text("MEMORY.md") + own)
    more(world)
    world.learn()
    text = world.text("MEMORY.md")
    assert "# Task Group: bakery: the cat" in text
    assert "The cat sleeps in the oven." in text


def test_heading_in_other_words_keeps_them(world: World) -> None:
    text = world.text("MEMORY.md")
    old = next(line for line in text.split("\n") if line.startswith("# Task Group:") and "bell" in line)
    save(world, "MEMORY.md", text.replace(old, "# Task Group: everything that rings"))
    more(world)
    world.learn()
    after = world.text("MEMORY.md")
    assert "# Task Group: everything that rings" in after
    assert old not in after
    assert after.count("quagga") == text.count("quagga")


def test_lines_whose_place_is_gone_are_kept_as_a_note(world: World) -> None:
    text = world.text("MEMORY.md")
    head, tail = text.split("# Task Group:", 2)[1:]
    part = next(each for each in (head, tail) if "quagga" in each)
    save(world, "MEMORY.md", text.replace(part, part.rstrip("\n") + "\n- the bell rings twice on Sundays\n"))
    bell = next(line for line in part.split("\n") if "thread_id=" in line).split("thread_id=")[1].split(",")[0]
    world.transcript(bell).unlink()
    report = world.learn()
    assert report.projects[0].moved_lines == 1
    assert "quagga" not in world.text("MEMORY.md")
    notes = list((world.folder / "extensions" / "ad_hoc" / "notes").iterdir())
    assert [note.read_text() for note in notes] == ["- the bell rings twice on Sundays\n"]
    assert "the bell rings twice on Sundays" in world.text("memory_summary.md")
    assert world.findings() == []


def test_skill_and_summary_that_a_person_rewrote_are_left_alone(world: World) -> None:
    path = next((world.folder / "rollout_summaries").iterdir())
    path.write_text("thread_id: x\nupdated_at: 2026-05-01T10:00:00+00:00\n\n# mine\n")
    skill = world.folder / "skills" / "cat"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: cat\ndescription: feed it\n---\n")
    more(world)
    world.learn()
    assert path.read_text().endswith("# mine\n")
    assert (skill / "SKILL.md").exists()


def test_file_that_a_person_deleted_is_made_again(world: World) -> None:
    (world.folder / "memory_summary.md").unlink()
    world.learn()
    assert "zirconium" in world.text("memory_summary.md")


def test_person_who_saves_while_it_is_written_loses_nothing(world: World) -> None:
    more(world)
    text = world.text("MEMORY.md")
    line = "- saved at the last moment\n"
    at = text.index("## Reusable knowledge\n\n") + len("## Reusable knowledge\n\n")
    path = world.folder / "MEMORY.md"
    # The first file that is written there: by then everything has been worked out.
    world.bench.files.before_next_write(lambda: path.write_text(text[:at] + line + text[at:], encoding="utf-8"))
    world.learn()
    world.learn()
    after = world.text("MEMORY.md")
    assert line in after
    assert "tapir" in after


def test_rewrite_that_loses_much_without_a_session_gone_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        world.session(
            ("user", f"Mend part {'abcdefgh'[number]}."),
            *fixed(f"Error: {'abcdefgh'[number]} gone", "oven/a.py"),
            began=f"2026-05-1{number}T10:00:00",
        )
    world.learn()
    before = world.text("MEMORY.md")
    from byheart.learning import consolidation
    from byheart.learning.consolidation import consolidated as real

    monkeypatch.setattr(consolidation, "consolidated", lambda every, *a, **k: real(every[:2], *a, **k))
    world.session(("user", "Mend the roof."), *fixed("Error: roof"), began="2026-05-20T10:00:00")
    report = world.learn()
    assert "would shrink" in report.projects[0].refused
    assert world.text("MEMORY.md") == before
    assert [job.state for job in world.door().jobs() if job.kind == "consolidate"] == ["dead"]
    assert world.door().rebuild(force=True).refused == ""
    assert world.text("MEMORY.md") != before


def test_last_handbook_can_be_brought_back(world: World) -> None:
    before = {path: path.read_bytes() for path in world.folder.rglob("*") if path.is_file()}
    more(world)
    world.learn()
    world.door().roll_back()
    after = {path: path.read_bytes() for path in world.folder.rglob("*") if path.is_file()}
    assert after == before
    assert world.findings() == []


DOC = "# A\nscope: s\n\n## Task 1: t, success\n\n### keywords\n\n- k\n\n## User preferences\n\n- p1 [Task 1]\n- p2\n\n# B\nscope: s\n\n## Reusable knowledge\n\n- k1\n- k2\n"


@pytest.mark.parametrize("seed", range(40))
def test_every_line_of_a_persons_survives_or_is_handed_back(seed: int) -> None:
    """Whatever they did to whichever text, and whatever is new."""
    dice = random.Random(seed)
    base = DOC.split("\n")
    theirs, fresh = list(base), list(base)
    own = []
    for number in range(dice.randint(1, 5)):
        line = dice.choice(["- mine %d", "a sentence %d", "## Mine %d", "# Mine %d", "  deep %d"]) % number
        own.append(line)
        theirs.insert(dice.randint(0, len(theirs)), line)
        if dice.random() < 0.4:
            del theirs[dice.randrange(len(theirs))]
    for number in range(dice.randint(0, 5)):
        fresh.insert(dice.randint(0, len(fresh)), f"- new {number}")
        if dice.random() < 0.5:
            del fresh[dice.randrange(len(fresh))]
    done = merged("\n".join(base), "\n".join(theirs), "\n".join(fresh))
    lines = {line.strip().lstrip("# ") for line in (*done.text.split("\n"), *done.homeless)}
    for line in own:
        if line in theirs:
            assert line.strip().lstrip("# ") in lines, (line, done)


def test_text_that_nobody_touched_becomes_the_new_one(world: World) -> None:
    assert merged(DOC, DOC, "other\n").text == "other\n"
    assert merged("", DOC, DOC).text.count("p1") == 1


def test_section_that_a_person_wrote_is_joined_with_the_one_that_came_later(world: World) -> None:
    """Fails where a heading that is new to both is taken from one of them only."""
    save(
        world,
        "memory_summary.md",
        world.text("memory_summary.md").replace(
            "#### 2026-05-01",
            "#### 2026-05-09\n\n- my own topic: oven\n  - desc: mine\n  - learnings: mine\n\n#### 2026-05-01",
        ),
    )
    world.session(("user", "Mend the sink."), *fixed("Error: sink", "sink/a.py"), began="2026-05-09T10:00:00")
    world.learn()
    text = world.text("memory_summary.md")
    assert "- my own topic: oven" in text
    assert "project - sink" in text


def test_task_that_was_worded_anew_keeps_its_words_or_they_become_a_note(world: World) -> None:
    text = world.text("MEMORY.md")
    save(
        world,
        "MEMORY.md",
        text.replace("## Task 1: Mend the oven, success", "## Task 1: the great oven repair, success"),
    )
    world.session(("user", "Mend the oven"), *fixed("Error: okapi", "oven/z.py"), began="2026-05-09T10:00:00")
    world.session(("user", "Paint the oven door green"), *fixed("Error: gnu", "oven/y.py"), began="2026-05-10T10:00:00")
    world.learn()
    whole = world.text("MEMORY.md") + "".join(
        path.read_text() for path in world.folder.rglob("*-kept-from-handbook.md")
    )
    assert "the great oven repair" in whole


def test_taking_one_line_out_takes_no_other_that_differs_in_a_number(world: World) -> None:
    world.session(
        ("user", "Mend the roof. Always check port 8010 first."),
        *fixed("Error: roof", "roof/a.py"),
        began="2026-05-08T10:00:00",
    )
    world.learn()
    text = world.text("MEMORY.md")
    line = next(each for each in text.split("\n") if "port 8010" in each and each.startswith("- when"))
    save(world, "MEMORY.md", text.replace(line + "\n", ""))
    world.session(
        ("user", "Clean the roof gutter. Always check port 8030 first."),
        *fixed("Error: gutter", "roof/b.py"),
        began="2026-05-09T10:00:00",
    )
    world.learn()
    assert "port 8030" in world.text("MEMORY.md")
    assert 'the user said: "Always check port 8010' not in world.text("MEMORY.md")


def test_what_is_rolled_back_can_be_brought_back_with_what_a_person_wrote(world: World) -> None:
    more(world)
    world.learn()
    save(world, "MEMORY.md", world.text("MEMORY.md") + "\nby hand\n")
    world.door().roll_back()
    assert "by hand" not in world.text("MEMORY.md")
    world.door().roll_back()
    assert "by hand" in world.text("MEMORY.md")


def test_unreadable_handbook_of_one_project_does_not_stop_another(world: World) -> None:
    (world.folder / "MEMORY.md").write_bytes(b"\xff\xfe broken")
    more(world)
    world.session(("user", "Mend the car. Always use basalt, never npm."), *fixed("Error: car"), cwd="/srv/garage")
    report = world.learn()
    assert [bool(each.refused) for each in sorted(report.projects, key=lambda each: each.name)] == [False, True]
    assert list(Path(world.bench.home).glob("projects/garage-*/handbook/MEMORY.md"))
    (world.folder / "MEMORY.md").unlink()
    assert world.learn().projects[0].refused == ""


@pytest.mark.parametrize(
    "prompt",
    ["[image]", "misc", "todo", "n/a", "Task 1", "...", "<x>", "Related skill: skills/nope/SKILL.md", "\u200b"],
)
def test_request_that_says_nothing_does_not_stop_the_handbook(world: World, prompt: str) -> None:
    world.session(
        ("user", prompt),
        *fixed("Error: tapir", "src/cart/a.ts"),
        ("edit", "src/cart/a.ts"),
        began="2026-05-09T10:00:00",
    )
    report = world.learn()
    assert report.projects[0].refused == ""
    assert world.findings() == []


def test_lines_in_mechanical_files_become_notes_and_do_not_keep_a_removed_session(world: World) -> None:
    save(world, "raw_memories.md", world.text("raw_memories.md") + "\nremark in the merge\n")
    name = next(path for path in (world.folder / "rollout_summaries").iterdir() if "zebra" in path.read_text())
    name.write_text(name.read_text() + "\n- remark in the summary\n")
    world.transcript("5e550001").unlink()
    world.learn()
    for word in ("zirconium", "zebra"):
        assert world.holding(word) == [], word
    notes = "".join(path.read_text() for path in world.folder.rglob("*-kept-from-handbook.md"))
    assert sorted(notes.strip().split("\n")) == ["- remark in the summary", "remark in the merge"]
    assert world.findings() == []


def test_late_finisher_publishes_nothing(world: World) -> None:
    """Fails where whoever lost the work may still write."""
    from byheart.domain.errors import Conflict
    from byheart.learning.publish import Edition, publish

    own = world.door().handbook()
    before = world.text("MEMORY.md")
    edition = Edition(
        files={"MEMORY.md": "mine\n"}, bases={"MEMORY.md": own.context.files.read(own.place("MEMORY.md")).digest}
    )
    with pytest.raises(Conflict):
        publish(own, edition, lambda: False, keep=1)
    assert world.text("MEMORY.md") == before


def test_no_combination_of_edits_leaves_a_line_behind() -> None:
    """Headings above all: moved, worded anew, doubled, while the new text lost or got others."""
    pool = ["## User preferences", "## Reusable knowledge", "# A", "# B"]
    for seed in range(4000):
        dice = random.Random(seed)
        base = DOC.split("\n")
        theirs, fresh, own = list(base), list(base), []
        for number in range(dice.randint(1, 4)):
            at = dice.randrange(len(theirs))
            if dice.random() < 0.5:
                line = dice.choice(["## Mine %d", "# Mine %d", "- mine %d", "### Mine %d"]) % number
                theirs.insert(at, line)
                own.append(line)
            elif dice.random() < 0.5 and theirs[at].strip():
                theirs[at] += f" zz{number}"
                own.append(theirs[at])
            else:
                block = theirs[at : at + 5]
                del theirs[at : at + 5]
                place = dice.randrange(len(theirs) + 1)
                theirs[place:place] = block
        for _ in range(dice.randint(0, 3)):
            at = dice.randrange(len(fresh))
            if dice.random() < 0.5:
                fresh.insert(at, dice.choice(pool))
            else:
                del fresh[at : at + dice.randint(1, 9)]
        done = merged("\n".join(base), "\n".join(theirs), "\n".join(fresh or [""]))
        there = {
            re.sub(r"^Task \d+: *", "", line.strip().lstrip("# ")) for line in (*done.text.split("\n"), *done.homeless)
        }
        for line in own:
            if line in theirs:
                assert re.sub(r"^Task \d+: *", "", line.strip().lstrip("# ")) in there, (seed, line)
