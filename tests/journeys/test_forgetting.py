"""One address for one line: whatever is shown can be forgotten by its address, its handle and its words, and nothing else goes."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from byheart.brief import collect
from byheart.domain.errors import NothingFound
from byheart.handbook import lines
from byheart.testing import Bench
from byheart.text.similarity import normalised
from tests.conftest import Cli
from tests.learning.world import World, fixed

WISHES = (
    "From now on always use zirconium bolts in the oven door.",
    "Always run the smoke tests before you push to main.",
    "Never commit generated recipes to the repository.",
    "We use pnpm for everything in the kitchen front end.",
    "Please remember that deploys only happen on Tuesdays.",
    "From now on write commit messages in the imperative mood.",
)


def told(world: World) -> list[tuple[str, str]]:
    """Every line that a brief could show, with its address."""
    own = world.door().handbook()
    sections = [
        collect.profile(own.context),
        collect.rules(own.context),
        *collect.handbook(own),
        collect.journal(own.context),
    ]
    return [(line.text, line.address) for section in sections for line in section.lines]


def filled(folder: Path) -> World:
    world = World(folder)
    for number, wish in enumerate(WISHES[:4]):
        world.session(("user", f"Mend the oven part {number}. {wish}"), *fixed(f"Error: bell {number} broken"))
    world.learn()
    world.bench.remember("I prefer tabs")
    world.bench.remember("never push on Fridays")
    world.bench.memory.journal().append({"category": "decision", "text": "Chose Postgres over SQLite for the queue"})
    return world


@pytest.mark.parametrize("by", ["address", "handle", "words", "line"])
def test_every_line_of_a_brief_is_forgotten_by_what_it_shows(tmp_path: Path, by: str) -> None:
    world = filled(tmp_path)
    for text, address in told(world):
        before = dict(told(world))
        if text not in before:
            continue
        selector = {
            "address": address,
            "handle": address.rpartition("#")[2],
            "words": text,
            "line": f"- {text} [{address}]",
        }[by]
        door = world.door()
        door.forget(door.target(selector))
        after = told(world)
        assert address not in [each for _, each in after], (by, text)
        # What a session taught may stand in the handbook and in the notebook in use: the same words go from both.
        others = {each for line, each in before.items() if normalised(line) != normalised(text)}
        lost = others - {each for _, each in after}
        assert not lost, (by, text, [line for line, each in before.items() if each in lost])


def test_address_names_its_line_or_none_after_more_was_learnt(tmp_path: Path) -> None:
    world = filled(tmp_path)
    before = told(world)
    for number, wish in enumerate(WISHES[4:], 50):
        world.session(
            ("user", f"Another thing. {wish}"),
            *fixed("Error: lamp broken"),
            began=f"2026-05-1{number - 50}T10:00:00",
            number=number,
        )
    world.learn()
    own = world.door().handbook()
    for text, address in before:
        if "memory://root#" not in address:
            continue
        named = [hit for hit in lines.learnt(own.context, own.root) if f"#{hit.id}" in address]
        for hit in named:
            words = set(re.findall(r"\w{4,}", hit.record.text.casefold()))
            assert words & set(re.findall(r"\w{4,}", text.casefold())), (text, hit.record.text)


def test_unknown_name_changes_nothing_and_tells_the_nearest(tmp_path: Path, cli: Cli) -> None:
    world = filled(tmp_path)
    before = world.text("memory_summary.md")
    for selector in (
        "memory://root#h0000000",
        "memory://root#9",
        "h1234567",
        "always use zirconium nuts",
        "memory://profile#deadbeef",
    ):
        with pytest.raises(NothingFound) as error:
            world.door().target(selector)
        assert "nothing was changed" in str(error.value)
    with pytest.raises(NothingFound, match="zirconium bolts"):
        world.door().target("always use zirconium nuts")
    assert world.text("memory_summary.md") == before


def test_forgotten_wish_is_in_no_answer_and_the_transcript_is_named(tmp_path: Path) -> None:
    world = filled(tmp_path)
    door = world.door()
    address = next(address for text, address in told(world) if "zirconium" in text)
    receipt = door.forget(door.target(address))
    said = " ".join(receipt.notes)
    assert "transcript still has the words" in said and ".jsonl" in said and "neither recall nor session search" in said
    assert world.holding("zirconium") == []
    world.learn()
    assert world.holding("zirconium") == []
    # An index that is made anew reads the transcript again, and still does not show it.
    for path in Path(world.bench.home, "state").glob("index.db*"):
        path.unlink()
    world.learn()
    assert world.holding("zirconium") == []


def test_preference_of_the_notebook_leaves_session_search_too(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(("user", "Mend it. Remember that I prefer quagga striped tests."), *fixed())
    world.learn()
    world.bench.remember("I prefer quagga striped tests.")
    door = world.door()
    door.forget(door.target("I prefer quagga striped tests"))
    world.door()
    assert world.holding("quagga") == []


def test_inbox_item_note_and_prose_can_be_forgotten(tmp_path: Path) -> None:
    world = filled(tmp_path)
    notes = world.folder / "extensions/ad_hoc/notes"
    notes.mkdir(parents=True, exist_ok=True)
    (notes / "2026-05-24T10-00-00-mine.md").write_text(
        "- The staging kitchen is called Alpha.\n- The second note stays here.\n", encoding="utf-8"
    )
    journal = Path(world.bench.path("journal"))
    (journal.parent / "USER.md").write_text("Likes rye bread.\nLikes strong coffee.\n", encoding="utf-8")
    world.learn()
    door = world.door()
    door.forget(door.target(next(address for text, address in told(world) if "Alpha" in text)))
    assert "Alpha" not in (notes / "2026-05-24T10-00-00-mine.md").read_text(encoding="utf-8")
    assert "second note stays" in (notes / "2026-05-24T10-00-00-mine.md").read_text(encoding="utf-8")
    door.forget(door.target(next(address for text, address in told(world) if "rye bread" in text)))
    assert (journal.parent / "USER.md").read_text(encoding="utf-8") == "Likes strong coffee.\n"
    assert world.holding("rye bread") == []


def test_session_turn_is_forgotten_by_its_address(tmp_path: Path) -> None:
    world = World(tmp_path)
    name = world.session(("user", "The walrus plan is in the attic.\nMend the oven."), *fixed())
    world.learn()
    door = world.door()
    door.forget(door.target(f"claude-code:{name}#1"))
    world.door()
    assert b"walrus" not in b"".join(
        path.read_bytes() for path in Path(world.bench.home, "state").rglob("*") if path.is_file()
    )


def test_forgetting_a_turn_keeps_what_the_rest_of_its_session_taught(tmp_path: Path) -> None:
    world = World(tmp_path)
    name = world.session(
        ("user", "Mend the oven. From now on always use zirconium bolts in the oven door."),
        *fixed(),
        ("user", "My phone is on the walrus table."),
        *fixed("Error: phone"),
    )
    world.learn()
    door = world.door()
    turn = next(number for number in range(1, 30) if "walrus" in str(said_in(world, name, number)))
    door.forget(door.target(f"claude-code:{name}#{turn}"))
    assert any("zirconium" in text for text, _ in told(world))
    assert world.holding("walrus table") == []


def said_in(world: World, name: str, number: int) -> str:
    """What a turn of a session says; empty where there is none."""
    sessions = world.door()._sessions
    listed = sessions.find(name).session
    return next((each.text for each in sessions.turns(listed) if each.number == number), "")


def test_forgotten_wish_is_in_no_name_and_no_keyword(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(("user", "From now on, always use clcontrol bolts."), *fixed())
    world.learn()
    door = world.door()
    door.forget(door.target(next(address for text, address in told(world) if "clcontrol" in text)))
    world.learn()
    assert world.holding("clcontrol") == []
    names = [str(path) for path in Path(world.bench.home).rglob("*")]
    assert not [name for name in names if "clcontrol" in name]


def test_name_that_was_forgotten_is_no_other_lines(bench: Bench, cli: Cli) -> None:
    path = bench.put("memories.md", "")
    entries = "".join(f"    - {{key: tool.pnpm, value: {text}}}\n" for text in ("first one", "second one", "third one"))
    Path(path).write_text(f"```yaml\nsaved_memory:\n  items:\n{entries}```\n", encoding="utf-8")
    rows = {line.split("  ")[1]: line.split()[0] for line in cli("list").out.splitlines() if "tool.pnpm" in line}
    assert len(set(rows.values())) == 3
    first, second = rows["tool.pnpm: first one"], rows["tool.pnpm: second one"]
    assert cli("forget", "--yes", first).code == 0
    assert cli("forget", "--yes", first).code == 1
    assert cli("forget", "--yes", f"memory://profile#{second}").code == 0
    left = cli("list").out
    assert "third one" in left and "second one" not in left and "first one" not in left
    assert cli("forget", "--yes", second).code == 1


def bare(line: str) -> str:
    """What a line says, without its key and without when it was said."""
    return normalised(re.sub(r"^[\w-]+\.[\w.-]+: | \(said when [^()]*\)$", "", line))


@pytest.mark.parametrize("seed", range(6))
def test_learning_showing_and_forgetting_at_random_loses_nothing_else(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    world = World(tmp_path)
    left = list(WISHES)
    dice.shuffle(left)
    gone: set[str] = set()
    for step in range(7):
        if left and dice.random() < 0.6:
            wish = left.pop()
            world.session(
                ("user", f"Task {step}. {wish}"),
                *fixed(f"Error: part {step} broken"),
                began=f"2026-05-0{step + 1}T10:00:00",
            )
            world.learn()
        elif dice.random() < 0.4:
            world.bench.remember(f"I prefer flavour{step} over everything")
        shown = told(world)
        if not shown or dice.random() < 0.4:
            continue
        text, address = dice.choice(shown)
        selector = dice.choice((address, address.rpartition("#")[2], text))
        door = world.door()
        door.forget(door.target(selector))
        gone.add(address)
        after = {each for _, each in told(world)}
        # What a session taught may stand in the handbook and in the notebook in use: the same words go from both.
        same = {each for line, each in shown if bare(line) == bare(text)}
        assert address not in after
        assert {each for _, each in shown} - same <= after, (
            text,
            [line for line, each in shown if each not in after],
        )
    assert not gone & {each for _, each in told(world)}


@pytest.mark.parametrize("command", [["brief"], ["list"], ["recall", "tabs"]])
def test_command_line_forgets_what_it_shows(tmp_path: Path, cli: Cli, command: list[str]) -> None:
    assert cli("remember", "I prefer tabs").code == 0
    shown = next(line for line in cli(*command).out.splitlines() if "tabs" in line)
    done = cli("forget", "I prefer tabs", "--yes")
    assert done.code == 0 and shown
    assert "tabs" not in cli(*command).out


@pytest.mark.parametrize(
    "command", [["list"], ["journal", "list"], ["recall", "Fridays"], ["recall", "zirconium"], ["inbox"]]
)
def test_row_as_it_is_printed_names_what_it_shows(tmp_path: Path, cli: Cli, command: list[str]) -> None:
    world = filled(tmp_path)
    world.session(("user", "Mend it. Use quagga paint rather than zebra paint for the oven."), *fixed())
    world.learn()
    row = next(line for line in cli(*command).out.split("\n") if re.match(r"[0-9a-z]{8}  ", line))
    changed = row[:8] + "  something that nobody said"
    assert cli("forget", "--yes", changed).code == 1
    done = cli("forget", "--yes", row)
    assert done.code == 0, done.err
    assert row not in cli(*command).out


def test_session_is_no_line_and_where_to_go_is_said(tmp_path: Path, cli: Cli) -> None:
    filled(tmp_path)
    row = cli("sessions").out.split("\n")[0]
    for name in (row, row.split()[3], f"{row.split()[2]}:{row.split()[3]}"):
        done = cli("forget", "--yes", name)
        assert done.code == 2 and "byheart memory forget" in done.err, (name, done.err)


def test_forget_works_while_memory_is_switched_off(cli: Cli) -> None:
    cli("remember", "I prefer tabs")
    cli("settings", "enabled", "off")
    assert cli("forget", "I prefer tabs", "--yes").code == 0
    assert cli("--set", "memory.enabled=false", "forget", "nothing like it", "--yes").code == 1


def test_inbox_item_leaves_every_byte_when_it_is_forgotten(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(("user", "Mend it. Use quagga paint rather than zebra paint for the oven."), *fixed())
    world.learn()
    door = world.door()
    waiting = door.inbox()
    assert waiting
    for each in waiting:
        door.forget(door.target(each.id))
    world.learn()
    assert world.holding("zebra paint") == []


def test_words_that_only_a_session_says_can_be_forgotten(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(("user", "Mend the oven.\nThe walrus plan is in the attic."), *fixed())
    world.learn()
    door = world.door()
    door.forget(door.target("The walrus plan is in the attic."))
    world.learn()
    assert world.holding("walrus plan is in the attic") == []


def test_longer_sentence_of_another_session_stays(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(("user", "Mend the lamp please."), *fixed(), ("user", "I prefer quagga tabs"), *fixed())
    world.session(
        ("user", "Paint the door. I prefer quagga tabs and also always run gopher checks from now on."),
        *fixed("Error: door"),
    )
    world.learn()
    door = world.door()
    assert any("gopher" in text for text, _ in told(world))
    notes = door.forget(door.target("I prefer quagga tabs")).notes
    assert any("say more" in note and "#" in note for note in notes)
    world.learn()
    assert any("gopher checks" in text for text, _ in told(world))
    assert any("index" in name for name in world.holding("quagga tabs and also always run gopher"))


def test_mistyped_handle_names_the_nearest(tmp_path: Path) -> None:
    world = filled(tmp_path)
    address = next(address for text, address in told(world) if "Fridays" in text)
    wrong = address[:-1] + ("0" if address[-1] != "0" else "1")
    with pytest.raises(NothingFound, match=re.escape(address)):
        world.door().target(wrong)


def test_unreadable_notebook_is_not_said_to_be_forgotten_from(bench: Bench, cli: Cli) -> None:
    bench.remember("never push on Fridays")
    handle = bench.memory.list().hits[0].id
    Path(bench.path("triples")).write_bytes(b"\xff\xfe")
    assert cli("forget", handle, "--yes").code == 5


def test_what_waited_for_a_yes_stands_in_no_other_item_once_it_is_forgotten(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(
        ("user", "I like quagga functions, keep them below 30 lines"), *fixed(), ("user", "stop adding jokes to answers"), *fixed()
    )  # fmt: skip
    world.learn()
    assert any("quagga" in each.situation for each in world.door().inbox())
    door = world.door()
    door.forget(door.target("I like quagga functions, keep them below 30 lines"))
    world.learn()
    assert world.holding("quagga") == []
