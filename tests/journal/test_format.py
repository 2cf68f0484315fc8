"""The journal's dialect: the five properties, and reading and being read by other programs."""

from __future__ import annotations

import json
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.domain.documents import Add, Drop, Replace, spliced
from byheart.domain.journal import Origin, Sensitivity
from byheart.domain.records import Record
from byheart.domain.values import replace
from byheart.journal.format import Journal, looks_like, row
from byheart.testing import Bench
from tests.notebooks.strategies import journal_files, journal_records, words
from tests.notebooks.test_properties import TODAY, is_subsequence, lines, save

JOURNAL = Journal()


def after(text: str, *changes: Add | Drop | Replace) -> str:
    return spliced(text, JOURNAL.plan(JOURNAL.parse(text), changes, TODAY))


def others_read(text: str) -> list[dict[str, object]]:
    """What the format's other implementation sees: a line counts if, trimmed, it is a dash, a blank and JSON."""
    found = []
    for line in text.split("\n"):
        trimmed = line.strip().strip("\ufeff")
        if trimmed.startswith("- "):
            try:
                entry = json.loads(trimmed[2:])
            except ValueError:
                continue
            if isinstance(entry, dict) and isinstance(entry.get("text"), str):
                found.append(entry)
    return found


@given(text=journal_files())
def test_journal_without_a_change_keeps_every_byte(text: str) -> None:
    assert after(text) == text


@given(text=journal_files(), record=journal_records())
def test_journal_gives_back_the_record_that_was_added(text: str, record: Record) -> None:
    """Guard seen to matter: with `whole` always True in plan, a file without a final newline glues two records together."""
    before = JOURNAL.parse(text)
    found = JOURNAL.parse(after(text, Add(record=record)))
    assert [each.record for each in found.placed] == [*(each.record for each in before.placed), record]
    assert len(found.problems) == len(before.problems)


@given(text=journal_files(), record=journal_records())
def test_journal_is_restored_when_an_added_record_is_dropped(text: str, record: Record) -> None:
    """Guard seen to matter: with _dropped cutting only to the end of its line, a newline is left over and this fails."""
    added = after(text, Add(record=record))
    assert after(added, Drop(old=JOURNAL.parse(added).placed[-1], reason=None)) == text


@given(text=journal_files(), record=journal_records(), data=st.data(), word=words)
def test_journal_keeps_every_human_line_and_every_unknown_field(
    text: str, record: Record, data: st.DataObject, word: str
) -> None:
    """Guard seen to matter: with _replaced writing `row(change.new)`, fields of a program's own vanish and this fails."""
    assert is_subsequence(lines(text), lines(after(text, Add(record=record))))
    placed = JOURNAL.parse(text).placed
    if not placed:
        return
    old = data.draw(st.sampled_from(placed))
    assert old.record.origin is not None
    new = replace(old.record, text=word, origin=replace(old.record.origin, sensitivity=Sensitivity.SECRET))
    changed = after(text, Replace(old=old, new=new))
    found = JOURNAL.parse(changed).placed
    assert [each.record for each in found] == [new if each.start == old.start else each.record for each in placed]
    assert changed.count('"mine"') == text.count('"mine"')
    assert len(changed.split("\n")) == len(text.split("\n"))


@pytest.mark.parametrize("editor", ["in-place", "rename"])
@given(text=journal_files())
def test_journal_saved_by_a_person_in_between_loses_nothing(editor: str, text: str) -> None:
    """Guard seen to matter: with `_continuing` taken out of DiskFiles.append, our line is glued to a person's last one."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, flags=("paths.journal=MEMORY.md",))
        path = bench.put("MEMORY.md", text or "\n")
        joint = "" if not text.strip("\ufeff") or text.endswith("\n") else "\n"
        bench.files.before_next_write(lambda: save(path, text + joint + "Mine, by hand.", editor))
        bench.memory.journal().append({"text": "Ours."})
        with open(path, encoding="utf-8", newline="") as stream:
            result = stream.read()
        assert "Mine, by hand." in result
        found = [each.record.text for each in JOURNAL.parse(result).placed]
        assert found == [*(each.record.text for each in JOURNAL.parse(text).placed), "Ours."]


@given(text=journal_files(), record=journal_records(), data=st.data())
def test_journal_parsed_again_after_a_change_is_as_if_parsed_afresh(
    text: str, record: Record, data: st.DataObject
) -> None:
    document = JOURNAL.parse(text)
    change: Add | Drop = Add(record=record)
    if len(document.placed) and data.draw(st.booleans()):
        change = Drop(old=data.draw(st.sampled_from(document.placed)), reason=None)
    splices = JOURNAL.plan(document, [change], TODAY)
    changed = spliced(text, splices)
    assert JOURNAL.reparse(document, changed, min(each.start for each in splices)) == JOURNAL.parse(changed)


@given(text=journal_files(), record=journal_records())
def test_other_programs_read_what_we_write_and_we_read_what_they_write(text: str, record: Record) -> None:
    written = after(text, Add(record=record))
    assert [entry["text"] for entry in others_read(written)] == [
        each.record.text for each in JOURNAL.parse(written).placed
    ]


def test_line_has_the_fields_in_the_order_that_others_write() -> None:
    origin = Origin(
        id="7d0f",
        session="main",
        category="note",
        channel="operator",
        certainty=1,
        timestamp="2026-02-16T10:00:00.000Z",
    )
    assert row(Record(text="Prefers pnpm", origin=origin)) == (
        '- {"id":"7d0f","sessionId":"main","category":"note","text":"Prefers pnpm","provenance":{"sourceChannel":"operator",'
        '"confidence":1,"timestamp":"2026-02-16T10:00:00.000Z","sensitivity":"private-user"}}'
    )


@pytest.mark.parametrize(
    "line",
    [
        "- 12",
        "- null",
        "- [1, 2]",
        '- "text"',
        "- item",
        "  - nested",
        "- {placeholder}",
        "- - - -",
        "-{}",
        '* {"text":"x"}',
    ],
)
def test_line_that_is_no_record_is_left_alone_and_no_trouble(line: str) -> None:
    document = JOURNAL.parse(f"# M\n\n{line}\n")
    assert (document.placed, document.problems) == ((), ())


@pytest.mark.parametrize(
    "line", ['- {"id":', '- {"id":"x"}', '- {"text":12}', '- {"text":"a"} and more', '- {"text":"\\ud800"}']
)
def test_line_that_begins_like_a_record_and_is_none_is_a_problem_with_its_line(line: str) -> None:
    document = JOURNAL.parse(f"# M\n\n{line}\n")
    assert document.placed == ()
    assert [(each.line, each.rule) for each in document.problems] == [(3, "broken-line")]


@pytest.mark.parametrize(
    ("label", "meant"),
    [
        ('"public"', "public"), ('"operational"', "operational"), ('"private-user"', "private-user"), ('"secret"', "secret"),
        ('"SECRET "', "secret"), ('"top secret"', "secret"), ("3", "secret"), ("null", "private-user"),
    ],
)  # fmt: skip
def test_label_that_nobody_knows_is_the_strictest(label: str, meant: str) -> None:
    line = f'- {{"id":"a","text":"x","provenance":{{"sensitivity":{label}}}}}\n'
    origin = JOURNAL.parse(line).placed[0].record.origin
    assert origin is not None
    assert origin.sensitivity.value == meant


@pytest.mark.parametrize(
    "line",
    [
        '- {"text":"bare"}',
        '  - {"text":"bare"}  ',
        '-   {"text":"bare"}',
        '- {"text":"bare","provenance":"odd","id":7}',
    ],
)
def test_record_with_missing_or_odd_fields_is_still_read(line: str) -> None:
    assert [each.record.text for each in JOURNAL.parse(line).placed] == ["bare"]


def test_memory_file_of_another_kind_is_not_taken_for_a_journal() -> None:
    assert not looks_like("# Task Group: shop\n\n- something learnt\n- 12\n")
    assert looks_like(JOURNAL.blank())
    assert looks_like('# X\n- {"id":"a","sessionId":"main","text":"x"}\n')
