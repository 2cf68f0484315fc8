"""What was found when the product was attacked once more, each as it was found."""

from __future__ import annotations

import os
import signal
from itertools import pairwise
from pathlib import Path

import pytest

from byheart.app import briefs, connecting, onboarding
from byheart.app.open import Surroundings
from byheart.handbook.lines import essence, handle
from byheart.language.sentences import is_handed_over, sentences
from byheart.sessions.clipping import EchoScanner
from byheart.storage.scanners.scanner import RuleScanner
from byheart.testing import Bench
from tests.conftest import Cli
from tests.learning.world import World, fixed


def test_agent_that_was_being_connected_when_init_was_stopped_is_disconnected(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (".claude", ".codex", ".gemini"):
        Path(bench.folder, name).mkdir()
    real = connecting.install

    def pressed_meanwhile(*given: object, **more: object) -> object:
        done = real(*given, **more)  # type: ignore[arg-type]
        if not more.get("dry") and len(connecting.installed(bench.opened())) == 2:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(connecting, "install", pressed_meanwhile)
    around = Surroundings(folder=bench.project, environment=bench.environment, clock=bench.clock)
    with pytest.raises(KeyboardInterrupt):
        onboarding.begin(around, connects=True, learns=False, progress=lambda *_: None)
    assert connecting.installed(bench.opened()) == []
    assert not list(Path(bench.folder, ".claude").rglob("*"))


def test_ctrl_c_waits_for_the_end_of_what_belongs_together() -> None:
    done: list[str] = []

    def written() -> None:
        with connecting.uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("record")

    with pytest.raises(KeyboardInterrupt):
        written()
    assert done == ["record"]


@pytest.mark.parametrize("how", ["notebook", "settings"])
def test_sessions_of_a_project_whose_memory_is_off_teach_nothing(tmp_path: Path, cli: Cli, how: str) -> None:
    world = World(tmp_path)
    world.session(("user", "Always use zirconium here."), *fixed("Error: zebra", "a.py"))
    if how == "notebook":
        assert cli("settings", "enabled", "off").code == 0
    else:
        Path(world.bench.project, ".byheart.toml").write_text("[memory]\nenabled = false\n", encoding="utf-8")
    elsewhere = Path(tmp_path, "elsewhere")
    elsewhere.mkdir()
    done = cli("-C", str(elsewhere), "learn")
    assert "memory switched off for its project" in done.out, done.err
    assert not list(Path(world.bench.home).glob("projects/*/handbook/MEMORY.md"))


def test_part_of_a_line_is_not_the_line(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(("user", "Never push to main without asking me first."), *fixed("Error: zebra", "a.py"))
    world.learn()
    door = world.door()
    with pytest.raises(Exception, match="no line says just 'push to main'"):
        door.target("push to main")
    assert "Never push to main without asking me first" in world.text("MEMORY.md")


def test_note_of_another_name_stands_in_nobodys_way(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(("user", "Always use zirconium here."), *fixed("Error: zebra", "a.py"))
    world.learn()
    book = next(Path(world.bench.home).glob("projects/*/handbook"))
    notes = book / "extensions" / "ad_hoc" / "notes"
    notes.mkdir(parents=True)
    (notes / "todo.md").write_text("hello\n", encoding="utf-8")
    door = world.door()
    door.forget(door.target("Always use zirconium here"))
    assert "zirconium" not in (book / "MEMORY.md").read_text(encoding="utf-8")
    assert (notes / "todo.md").read_text(encoding="utf-8") == "hello\n"


def test_line_has_one_handle_whatever_it_counts() -> None:
    lines = [
        "`pnpm test` runs the tests here (worked 1 of 2; last: 48 passed (48))",
        "`pnpm test` runs the tests here (worked 4 of 5 in 4 sessions; last: 50 passed (50)) [Task 1] (5a1e0013#4)",
    ]
    assert {essence(line) for line in lines} == {"`pnpm test` runs the tests here"}
    named = ["skill release: Release in shop", "Related skill: skills/release/SKILL.md: Release the shop in steps"]
    assert len({handle(line) for line in named}) == 1


def test_password_that_is_said_again_without_a_word_is_known_again() -> None:
    scanner = EchoScanner(RuleScanner())
    told = "the database password is Kx9vLm2QpZr7"
    assert scanner.spans(told)
    again = "I will use Kx9vLm2QpZr7 for it, and Kx9vLm2QpZr7x is another"
    [(first, last, _)] = scanner.spans(again)
    assert again[first:last] == "Kx9vLm2QpZr7"
    assert EchoScanner(RuleScanner()).spans(again) == []


def test_known_values_are_bounded_however_many_a_file_holds() -> None:
    scanner = EchoScanner(RuleScanner())
    text = "\n".join(f"the database password is Kx9vLm2QpZ{number:04d}" for number in range(1_000))
    found = scanner.spans(text)
    assert len(found) == 1_000 and all(one[1] <= other[0] for one, other in pairwise(found))
    # The first ones are known again, and no more than are kept.
    again = scanner.spans("\n".join(f"use Kx9vLm2QpZ{number:04d}" for number in range(1_000)))
    assert 0 < len(again) <= 200


def test_what_holds_here_excludes_what_holds_everywhere(cli: Cli) -> None:
    cli("remember", "global: I prefer tabs")
    cli("remember", "I prefer spaces")
    told = cli("brief").out
    assert "I prefer spaces" in told and "I prefer tabs" not in told
    assert "it excludes one that is told" in cli("brief", "--explain").out


@pytest.mark.parametrize(
    "text",
    [
        "Bob (PM): from now on always use X in copy\nMe: ok",
        "Review feedback from Jane. Always use X in services.",
        "Issue #231 opened by jdoe\n\nThe tool prints odd words. Never print beluga.",
        "Draft a reply to the following.\n\nDear developer, I prefer that you always use X.",
        "Translate this to German: The manual is short. Never use X without gloves.",
        "Add this to the prompt template in prompts/system.txt: You must always use X.",
    ],
)
def test_words_that_a_message_leads_to_are_somebody_elses(text: str) -> None:
    wishes = [each for each in sentences(text) if "always" in each.casefold() or "never" in each.casefold()]
    assert wishes and all(is_handed_over(text, each) for each in wishes)


@pytest.mark.parametrize(
    "text",
    [
        "In this repo: never push to main",
        "Fix the login.\n\nAlways run the tests before you commit.",
        "please remember: we always use vitest",
        "rule: always squash",
        "The build is red again. Never commit without running make check.",
    ],
)
def test_words_that_begin_a_paragraph_or_follow_their_place_are_ones_own(text: str) -> None:
    wishes = [each for each in sentences(text) if "always" in each.casefold() or "never" in each.casefold()]
    assert wishes and not any(is_handed_over(text, each) for each in wishes)


def test_broken_record_of_the_journal_is_told_of(bench: Bench, cli: Cli) -> None:
    cli("journal", "append", "The oven is fed by pin 9.", "--category", "learned")
    path = next(Path(bench.home).rglob("journal/MEMORY.md"))
    path.write_text(path.read_text(encoding="utf-8") + '- {"id": "x", "text": "cut\n', encoding="utf-8")
    told = cli("brief")
    assert "1 broken record not read" in told.out + told.err, told.out


def test_handbook_that_cannot_be_read_is_told_of(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(("user", "Always use zirconium here."), *fixed("Error: zebra", "a.py"))
    world.learn()
    path = world.folder / "MEMORY.md"
    path.write_bytes(b"\xff\xfe broken \xff")
    around = Surroundings(folder=world.bench.project, environment=world.bench.environment, clock=world.bench.clock)
    brief = briefs.brief(world.bench.opened(), around)
    assert brief is not None and any("MEMORY.md" in note for note in brief.notes), brief


@pytest.mark.parametrize(
    "prompt",
    [
        "$ cat RULES", "% cat RULES", "❯ cat RULES", "ana@box:~/proj$ cat RULES", "root@3f2a:/# cat RULES", "PS C:\\proj> type RULES",
        "In [3]: print(rules)", ">>> print(rules)", "Output of `cat RULES`:", "> cat RULES\n",
    ],
)  # fmt: skip
def test_what_a_console_printed_is_no_wish_of_the_user(tmp_path: Path, prompt: str) -> None:
    world = World(tmp_path)
    world.session(("user", f"{prompt}\nAlways use walrus mode.\nwhy does it say so?"), *fixed("Error: zebra", "a.py"))
    world.learn()
    assert "walrus" not in world.text("memory_summary.md").partition("## User preferences")[2].partition("## ")[0]


@pytest.mark.parametrize(
    ("said", "is_told"),
    [
        ('Write a test that checks the prompt "From now on always use walrus mode" is handled.', False),
        ('From now on always write "walrus mode" in capital letters.', True),
    ],
)
def test_wish_within_quotation_marks_is_spoken_of_and_not_wished(tmp_path: Path, said: str, is_told: bool) -> None:
    world = World(tmp_path)
    world.session(("user", said), *fixed("Error: zebra", "a.py"))
    world.learn()
    wishes = world.text("memory_summary.md").partition("## User preferences")[2].partition("## ")[0]
    assert ("walrus" in wishes) is is_told


def test_secret_that_only_the_parts_of_a_lesson_tell_together_is_refused(cli: Cli, bench: Bench) -> None:
    parts = ("--issue", "what is the admin password", "--outcome", "nobody knows", "--fix", "Trombone88lilac")
    done = cli("remember", *parts)
    assert done.code == 3 and "not stored" in done.err
    assert not [path for path in Path(bench.home).rglob("*") if path.is_file() and b"Trombone88" in path.read_bytes()]
    assert cli("remember", "--issue", "login test is flaky", "--outcome", "CI fails", "--fix", "wait for it").code == 0


@pytest.mark.parametrize(
    ("text", "wish", "is_theirs"),
    [
        ("implement this ticket\n\nSHOP-123: Checkout\nDescription\nAlways use walrus for payments.", "Always use walrus for payments.", True),
        ("Proofread this text for our wiki.\n\nI prefer walrus over everything.", "I prefer walrus over everything.", True),
        ('write a test for the string\n\n"I always want A"\n\nplus one for\n\nI always want walrus', "I always want walrus", True),
        ("Fix the issue with the login page.\n\nFrom now on always run the walrus first.", "From now on always run the walrus first.", False),
        ("Make a page for the shop.\n\nI prefer walrus for styles.", "I prefer walrus for styles.", False),
    ],
)  # fmt: skip
def test_text_that_an_earlier_paragraph_points_at_is_somebody_elses(text: str, wish: str, is_theirs: bool) -> None:
    assert is_handed_over(text, wish) is is_theirs
