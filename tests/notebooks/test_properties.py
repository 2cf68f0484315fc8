"""The five properties of a dialect, for both formats, on files as people write them."""

from __future__ import annotations

import re
import tempfile
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.domain.documents import Add, Drop, Replace, spliced
from byheart.domain.ports import Dialect
from byheart.domain.records import Record, Request
from byheart.domain.values import replace
from byheart.notebooks.formats.profile_yaml import YamlBlock
from byheart.notebooks.formats.rules_ndjson import Triples
from byheart.testing import Bench
from tests.notebooks.strategies import profile_files, profile_records, rule_files, rule_records, words

TODAY = date(2026, 3, 14)
YAML, RULES = YamlBlock(), Triples()


def after(dialect: Dialect, text: str, *changes: Add | Drop | Replace) -> str:
    return spliced(text, dialect.plan(dialect.parse(text), changes, TODAY))


def lines(text: str) -> list[str]:
    return [line.strip() for line in re.split(r"\r\n|\n", text.lstrip("\ufeff")) if line.strip()]


def is_subsequence(few: list[str], many: list[str]) -> bool:
    rest = iter(many)
    return all(any(line == other for other in rest) for line in few)


def undated(text: str) -> str:
    return re.sub(r"updated: (\"?)[0-9-]+\1", "updated: DAY", text)


# 1. no change, no bytes


@given(text=profile_files())
def test_profile_without_a_change_keeps_every_byte(text: str) -> None:
    """Guard seen to matter: with `if not changes: return []` taken out of plan, `updated` is rewritten and this fails."""
    document = YAML.parse(text)
    assert document.intact
    assert after(YAML, text) == text


@given(text=rule_files())
def test_rules_without_a_change_keep_every_byte(text: str) -> None:
    """Guard seen to matter: with `if fresh:` taken out of plan, files without a final newline gain one and this fails."""
    assert after(RULES, text) == text


# 2. add, then parse, gives the record


@given(text=profile_files(), record=profile_records())
def test_profile_gives_back_the_record_that_was_added(text: str, record: Record) -> None:
    """Guard seen to matter: with the escapes in yamlspans.quoted taken out (json.dumps instead), U+0085 fails this."""
    before = YAML.parse(text)
    found = YAML.parse(after(YAML, text, Add(record=record)))
    assert [each.record for each in found.placed] == [*(each.record for each in before.placed), record]


@given(text=rule_files(), record=rule_records())
def test_rules_give_back_the_record_that_was_added(text: str, record: Record) -> None:
    """Guard seen to matter: with _appended always writing `row + newline`, a file without a final newline glues two
    entries into one line and this fails."""
    before = RULES.parse(text)
    found = RULES.parse(after(RULES, text, Add(record=record)))
    kept = replace(record, key=RULES.key_of(record))
    assert [each.record for each in found.placed] == [*(each.record for each in before.placed), kept]


# 3. add, then drop, restores the file


@given(text=profile_files(), record=profile_records())
def test_profile_is_restored_when_an_added_record_is_dropped(text: str, record: Record) -> None:
    """But for `updated`. Guard seen to matter: with the `[]` splice taken out of drop_entries, empty lists end as null
    and this fails."""
    added = after(YAML, text, Add(record=record))
    dropped = after(YAML, added, Drop(old=YAML.parse(added).placed[-1], reason=None))
    assert undated(dropped) == undated(text)


@given(text=rule_files(), record=rule_records())
def test_rules_are_restored_when_an_added_record_is_dropped(text: str, record: Record) -> None:
    """Guard seen to matter: with _dropped cutting only to the end of its line, a newline is left over and this fails."""
    added = after(RULES, text, Add(record=record))
    assert after(RULES, added, Drop(old=RULES.parse(added).placed[-1], reason=None)) == text


# 4. every human line survives


@given(text=profile_files(), record=profile_records(), data=st.data())
def test_profile_keeps_every_human_line(text: str, record: Record, data: st.DataObject) -> None:
    """Guard seen to matter: with drop_entries cutting from the end of the entry before it, the comments above an entry
    go with it and this fails."""
    human = [line for line in lines(undated(text)) if "items:" not in line and "deletions:" not in line]
    if "items: [{" not in text:
        assert is_subsequence(human, lines(undated(after(YAML, text, Add(record=record)))))
    placed = YAML.parse(text).placed
    if not placed or "items: [{" in text:
        return
    gone = data.draw(st.sampled_from(placed))
    own = lines(text[gone.start : gone.end])
    dropped = lines(undated(after(YAML, text, Drop(old=gone, reason="asked"))))
    others = [line for line in human if line not in own and line.removeprefix("- ") not in own]
    assert is_subsequence([line for line in others if "because" not in line], dropped)


@given(text=profile_files(), data=st.data(), word=words)
def test_profile_changes_one_field_and_no_other_line(text: str, data: st.DataObject, word: str) -> None:
    """Comments, quoting and unknown fields inside the item stay. Guard seen to matter: with _replaced rendering the whole
    item anew, the `mood` field and the comments vanish and this fails."""
    placed = YAML.parse(text).placed
    if not placed:
        return
    old = data.draw(st.sampled_from(placed))
    changed = after(YAML, text, Replace(old=old, new=replace(old.record, source=f"said {word}")))
    found = {each.record.key: each.record for each in YAML.parse(changed).placed}
    assert found[old.record.key] == replace(old.record, source=f"said {word}")
    source = [line for line in lines(undated(text)) if "source:" not in line and "{" not in line]
    assert is_subsequence(source, lines(undated(changed)))


@given(text=rule_files(), record=rule_records(), data=st.data())
def test_rules_keep_every_human_line(text: str, record: Record, data: st.DataObject) -> None:
    """Guard seen to matter: with _replaced writing `_row(change.new)`, fields of a person's own vanish and this fails."""
    assert is_subsequence(lines(text), lines(after(RULES, text, Add(record=record))))
    placed = RULES.parse(text).placed
    if not placed:
        return
    old = data.draw(st.sampled_from(placed))
    heavier = replace(old.record, weight=old.record.weight + 1)
    changed = after(RULES, text, Replace(old=old, new=heavier))
    line = text[old.start : old.end]
    assert line.replace(f'"w":{old.record.weight}', "") not in ("", line) or '"w": ' in line
    assert [each.record for each in RULES.parse(changed).placed] == [
        heavier if each.start == old.start else each.record for each in placed
    ]
    assert ("mine" in line) == ("mine" in changed[old.start : old.end])
    assert len(lines(changed)) == len(lines(text))


@given(text=rule_files(), record=rule_records(), data=st.data())
def test_rules_parsed_again_after_a_change_are_as_if_parsed_afresh(
    text: str, record: Record, data: st.DataObject
) -> None:
    document = RULES.parse(text)
    change: Add | Drop = Add(record=record)
    if len(document.placed) and data.draw(st.booleans()):
        change = Drop(old=data.draw(st.sampled_from(document.placed)), reason=None)
    splices = RULES.plan(document, [change], TODAY)
    changed = spliced(text, splices)
    assert RULES.reparse(document, changed, min(each.start for each in splices)) == RULES.parse(changed)


# 5. a person who saves between our read and our write loses nothing


@pytest.mark.parametrize("editor", ["in-place", "rename"])
@given(text=profile_files(), added=st.lists(words, min_size=1, max_size=2))
def test_profile_saved_by_a_person_in_between_loses_nothing(editor: str, text: str, added: list[str]) -> None:
    """Guard seen to matter: with `_expect` taken out of DiskFiles.write, the person's line is lost and this fails."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        path = bench.put("memories.md", text)
        mine = text.rstrip("\r\n") + "\n\nmine: " + " ".join(added) + "\n"
        bench.files.before_next_write(lambda: save(path, mine, editor))
        bench.remember("concise", key="zz.tone")
        with open(path, encoding="utf-8", newline="") as stream:
            result = stream.read()
        found = YAML.parse(result)
        assert "mine: " + " ".join(added) in result
        assert found.placed[-1].record.key == "zz.tone"
        assert len(found.placed) == len(YAML.parse(text).placed) + 1


@pytest.mark.parametrize("editor", ["in-place", "rename"])
@given(text=rule_files())
def test_rules_saved_by_a_person_in_between_lose_nothing(editor: str, text: str) -> None:
    """Guard seen to matter: with `base` not checked in DiskFiles.append, our line goes to the file the editor has
    replaced, or is glued to the person's last line, and this fails."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        path = bench.put("docs/memory/memories.ndjson", text)
        mine = '{"k":"rule","t":["mine","use","own"],"w":1,"n":"Mine."}'
        joint = "" if not text.strip("\ufeff") or text.endswith("\n") else "\n"
        bench.files.before_next_write(lambda: save(path, text + joint + mine, editor))
        bench.memory.remember(Request(text="Never guess.", triple=("zz", "avoid", "guess")))
        with open(path, encoding="utf-8", newline="") as stream:
            result = stream.read()
        found = [each.record.text for each in RULES.parse(result).placed]
        assert found == [*(each.record.text for each in RULES.parse(text).placed), "Mine.", "Never guess."]


def save(path: str, text: str, editor: str) -> None:
    """Save as editors do: some write into the file, some write beside it and rename."""
    import os

    target = path if editor == "in-place" else path + "~"
    with open(target, "w", encoding="utf-8", newline="") as stream:
        stream.write(text)
    if target != path:
        os.replace(target, path)
