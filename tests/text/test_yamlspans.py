"""YAML with places: spans, refusals, and quoting that reads back."""

from __future__ import annotations

from contextlib import suppress

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from byheart.domain.records import Value
from byheart.text.yamledit import BrokenYaml, Node, inline, quoted, tree, value_of
from tests.notebooks.strategies import texts, values


def spans(text: str, node: Node) -> list[str]:
    found = [text[node.start : node.end]]
    for part in node.parts or []:
        found += spans(text, part)
    for key, value in node.pairs or []:
        found += [*spans(text, key), *spans(text, value)]
    return found


def test_span_of_a_block_ends_before_trailing_comments_and_blank_lines() -> None:
    text = "a:\n  - x: |\n      one\n      two\n\n  # comment\nb: 'q'  # c\n"
    root = tree(text)
    assert root is not None
    item = root.get("a")
    assert item is not None
    assert item.parts is not None
    assert text[item.parts[0].start : item.parts[0].end] == "x: |\n      one\n      two"
    assert spans(text, root)[-1] == "'q'"


def test_empty_value_stands_behind_its_colon() -> None:
    text = "a:\nb:   # c\n"
    root = tree(text)
    assert root is not None
    for name in ("a", "b"):
        node = root.get(name)
        assert node is not None
        assert text[node.start - 1] == ":"


@pytest.mark.parametrize(
    "text",
    ["a: &x 1\nb: *x\n", "a: !!str 1\n", "a: !t 1\n", "? [a]\n: b\n", "[" * 40 + "]" * 40],
)
def test_references_tags_and_depth_are_refused(text: str) -> None:
    with pytest.raises(BrokenYaml) as caught:
        tree(text)
    assert caught.value.refused


@pytest.mark.parametrize("text", ["a: [", "a: b: c", "\t- a", "a: 'x", "---\na: 1\n---\nb: 2\n", "a: \x07"])
def test_broken_yaml_gives_a_line(text: str) -> None:
    with pytest.raises(BrokenYaml) as caught:
        tree(text)
    assert caught.value.line >= 1


def test_alias_bomb_is_refused_at_once() -> None:
    bomb = "a: &a [x,x,x,x]\n" + "".join(
        f"{b}: &{b} [*{a},*{a},*{a},*{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    with pytest.raises(BrokenYaml, match="anchor"):
        tree(bomb)


@given(text=texts)
def test_quoted_text_reads_back_here_and_in_pyyaml(text: str) -> None:
    for style in (None, "'", '"'):
        rendered = quoted(text, style)
        assert "\n" not in rendered
        root = tree(f"a: {rendered}\n")
        assert root is not None
        node = root.get("a")
        assert node is not None
        assert value_of(node) == text
        assert yaml.safe_load(f"a: {rendered}\n") == {"a": text}


@given(value=values)
def test_inline_value_reads_back(value: Value) -> None:
    root = tree(f"a: {inline(value)}\n")
    assert root is not None
    node = root.get("a")
    assert node is not None
    assert value_of(node) == value


@given(text=st.text(max_size=80))
def test_any_text_gives_a_tree_or_broken(text: str) -> None:
    with suppress(BrokenYaml):
        tree(text)
