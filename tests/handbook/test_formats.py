"""The strict formats: whatever is put into the values, what is written keeps every rule and can be read back."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as some

from byheart.domain.handbook import Bullet, Extract, Outcome, Task, Thread, Written
from byheart.handbook import lines, memory, raw, summary
from byheart.handbook.checking_summary import check
from byheart.handbook.phrases import STEM, bullet_line, bullet_of, one_line, said, short_id, signal_of, stem
from byheart.learning.consolidation import consolidated

NOW = datetime(2026, 5, 1, 10, 30, tzinfo=UTC)
# Everything that has a meaning in one of the formats, and characters that break lines or hide.
NASTY = some.sampled_from(
    ["# Task Group: x", "## Task 9: y", "### keywords", "- a, b", "* c", "**bold**", "__so bold__", "[Task 7]", "---", "scope:", "\n", "\r\n",
     "\u2028", "\u0085", "\x00", "```", "v1", "## User Profile", "desc:", "  - learnings: z", "src/**/*.ts", "__init__.py", "(#12)", "(a#1)",
     "<oai-mem-citation>", '"', "->", ",", "thread_id=1", ")", "`", "${x}", "\u202e", "%2e%2e", "misc", "general", "...", "🦜", "日本語"]
)  # fmt: skip
text = some.lists(
    some.one_of(NASTY, some.text(max_size=12), some.sampled_from(["oven", "bell", "pnpm test", "src/a.py"])),
    min_size=1,
    max_size=8,
).map(" ".join)
solid = text.map(lambda each: f"mend {each} soon")
bullets = some.lists(
    some.builds(Bullet, solid.map(one_line), some.lists(some.integers(1, 999), max_size=3).map(tuple)), max_size=3
).map(tuple)
tasks = some.builds(
    Task, name=solid, group=solid, outcome=some.sampled_from(list(Outcome)), preferences=bullets, knowledge=bullets, failures=bullets,
    references=bullets, steps=bullets, keywords=some.lists(text, max_size=4).map(tuple),
)  # fmt: skip
extracts = some.builds(
    Extract, description=solid, task=solid, group=solid, outcome=some.sampled_from(list(Outcome)), cwd=text,
    keywords=some.lists(text, max_size=5).map(tuple), tasks=some.lists(tasks, min_size=1, max_size=3).map(tuple), slug=some.just("some_slug"),
)  # fmt: skip


def written(extract: Extract, number: int = 1, cwd: str = "/srv/bakery") -> Written:
    thread = Thread(
        id=f"5e55{number:04d}-4b7c-4d2e-9f10-0c0ffee0{number:04d}",
        agent="codex",
        project="bakery-1",
        cwd=cwd,
        path="/x/y.jsonl",
        updated=NOW,
    )
    return Written(
        thread=thread,
        raw_memory=raw.raw_memory(extract),
        rollout_summary=raw.rollout_summary(extract),
        slug=extract.slug,
    )


def files(every: list[Written], notes: list[tuple[str, str]] = ()) -> dict[str, str]:  # type: ignore[assignment]
    book = consolidated(every, "bakery", notes=list(notes))
    found = {
        "MEMORY.md": memory.rendered(book.groups),
        "memory_summary.md": summary.rendered(book.overview),
        "raw_memories.md": raw.merged(every),
    }
    found |= {raw.cite_of(each): raw.rollout_file(each) for each in every}
    for skill in book.skills:
        found[f"skills/{skill.name}/SKILL.md"] = summary.rendered_skill(skill)
        found |= {f"skills/{skill.name}/scripts/{name}": script for name, script in skill.scripts}
    return found


# Such large examples take too long to make small; the first that is found says enough.
@settings(max_examples=60, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(
    some.lists(extracts, max_size=4),
    some.lists(some.tuples(solid, some.just("extensions/ad_hoc/notes/n.md")), max_size=2),
)
def test_no_text_can_make_a_handbook_break_a_rule(every: list[Extract], notes: list[tuple[str, str]]) -> None:
    made = files([written(extract, number) for number, extract in enumerate(every, 1)], notes)
    assert [f"{each.place}:{each.line} {each.rule} {each.message}" for each in check(made)] == []


@settings(max_examples=100, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(extracts)
def test_raw_memory_says_the_same_when_it_is_read_back(extract: Extract) -> None:
    once = raw.raw_memory(extract)
    again = raw.parsed_raw(once)
    assert [task.name for task in again.tasks] == [one_line(task.name) for task in extract.tasks]
    assert [task.preferences for task in again.tasks] == [task.preferences for task in extract.tasks]
    assert [task.failures for task in again.tasks] == [task.failures for task in extract.tasks]
    assert [task.outcome for task in again.tasks] == [task.outcome for task in extract.tasks]
    assert raw.raw_memory(again).split("---\n", 2)[2] == once.split("---\n", 2)[2]


@settings(max_examples=60, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(some.lists(extracts, min_size=1, max_size=3))
def test_merged_raw_memories_come_apart_again(every: list[Extract]) -> None:
    told = [written(extract, number) for number, extract in enumerate(every, 1)]
    found = raw.parsed_merge(raw.merged(told))
    assert [each.id for each in found] == [each.thread.id for each in told]
    assert len({each.line for each in found}) == len(found)
    assert [each.raw_memory for each in found] == [each.raw_memory.strip() for each in told]
    assert [each.head["rollout_summary_file"] for each in found] == [raw.file_of(each) for each in told]


@given(text, some.lists(some.integers(1, 10_000), max_size=3))
def test_bullet_is_one_line_and_comes_back(words: str, turns: list[int]) -> None:
    bullet = Bullet(one_line(f"mend {words} soon"), tuple(turns))
    line = bullet_line(bullet)
    assert len(line.splitlines()) == 1
    assert bullet_of(line) == bullet


@given(solid, solid, solid)
def test_preference_signal_comes_apart_into_its_parts(situation: str, quote: str, default: str) -> None:
    parts = signal_of(said(situation, "said", quote, default, (3,)).text)
    assert parts is not None
    assert parts["manner"] == "said" or ", the user" in situation


def test_stems_are_those_of_codex() -> None:
    assert stem("0194f5a6-89ab-7cde-8123-456789abcdef", NOW, None) == "2025-02-11T15-35-19-jqmb"
    assert (
        stem("0194f5a6-89ab-7cde-8123-456789abcdef", NOW, "Fix: the Flaky/Test!")
        == "2025-02-11T15-35-19-jqmb-fix__the_flaky_test"
    )
    long = stem("0194f5a6-89ab-7cde-8123-456789abcdef", NOW, "a" * 200)
    assert long.endswith("-" + "a" * 60)
    other = stem("not a uuid", NOW, "x")
    assert other.startswith("2026-05-01T10-30-00-")
    assert STEM.match(other)


def test_ids_that_begin_with_the_time_are_shown_longer() -> None:
    assert short_id("0194f5a6-89ab-7cde-8123-456789abcdef") == "0194f5a6-89ab"
    assert short_id("5e550001-4b7c-4d2e-9f10-0c0ffee00001") == "5e550001"
    assert short_id("ses_5f1a") == "ses_5f1a"


def test_raw_memories_of_oh_my_pi_are_read_too() -> None:
    old = "# Raw Memories\n\n## 1f9d2a6b9c0d1234\nupdated_at: 1782500000\nBuild needs `make gen` first\n"
    found = raw.parsed_merge(old)
    assert [(each.id, each.head, each.raw_memory) for each in found] == [
        ("1f9d2a6b9c0d1234", {"updated_at": "1782500000"}, "Build needs `make gen` first")
    ]
    assert raw.parsed_merge(raw.NONE_YET) == []


def test_summary_of_either_era_is_read() -> None:
    new = "v1\n\n## User Profile\n\nx\n"
    assert summary.without_version(new) == "## User Profile\n\nx\n"
    assert summary.without_version("## User Profile\n") == "## User Profile\n"


def test_profile_is_cut_to_500_words() -> None:
    from byheart.domain.handbook import Overview

    rendered = summary.rendered(Overview(profile=("word " * 300, "more " * 300), preferences=(), tips=()))
    profile = rendered.split("## User preferences")[0]
    assert len(profile.split()) <= 500 + 3
    assert "word" in profile
    assert "more" not in profile


def test_skill_with_side_effects_may_not_be_started_by_a_model() -> None:
    from byheart.domain.handbook import Skill

    skill = Skill(
        name="release", description='say "go": and it goes', triggers=("a",), non_goals=(), inputs=("b",), steps=("Run `git push`.",),
        efficiency=("c",), pitfalls=(), checks=("d",), has_side_effects=True,
    )  # fmt: skip
    text = summary.rendered_skill(skill)
    fields, _ = summary.front_of(text) or ({}, 0)
    assert fields["disable-model-invocation"] == "true"
    assert summary.unquoted(fields["description"]) == 'say "go": and it goes'


BLOCK = """Done.

<oai-mem-citation>
<citation_entries>
MEMORY.md:3-9|note=[which tool]
rollout_summaries/2026-05-01T10-30-00-abcd-oven.md:1-2|note=[why: it broke]
MEMORY.md:5|note=[one line]
broken line
</citation_entries>
<rollout_ids>
5E550001-4b7c-4d2e-9f10-0c0ffee00001
not an id
5e550001-4b7c-4d2e-9f10-0c0ffee00001
</rollout_ids>
</oai-mem-citation>"""


def test_citation_block_is_read_as_codex_writes_it() -> None:
    assert [(each.path, each.first, each.last, each.note) for each in lines.entries(BLOCK)] == [
        ("MEMORY.md", 3, 9, "which tool"),
        ("rollout_summaries/2026-05-01T10-30-00-abcd-oven.md", 1, 2, "why: it broke"),
        ("MEMORY.md", 5, 5, "one line"),
    ]
    assert list(lines.citations(BLOCK)) == ["5e550001-4b7c-4d2e-9f10-0c0ffee00001", "2026-05-01T10-30-00-abcd-oven"]
    assert lines.without_blocks(BLOCK) == "Done."


@pytest.mark.parametrize("tag", ["rollout_ids", "thread_ids"])
def test_older_and_cut_off_citation_blocks_are_read_too(tag: str) -> None:
    cut = f"x <oai-mem-citation><{tag}>\n5e550001-4b7c-4d2e-9f10-0c0ffee00001\n"
    assert list(lines.citations(cut)) == ["5e550001-4b7c-4d2e-9f10-0c0ffee00001"]
    assert lines.without_blocks(cut) == "x"
    link = "as memory://root/rollout_summaries/2026-05-01T10-30-00-abcd.md says"
    assert list(lines.citations(link)) == ["2026-05-01T10-30-00-abcd"]
    assert list(lines.citations("no memory here")) == []
