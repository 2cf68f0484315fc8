"""JSON that a person wrote keeps every byte that is not about the change."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.text import jsonedit

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "hooks", "x y"]), VALUES, max_size=4)
COMMENTED = """// mine
{
    /* keep */
    "model": "opus", // the big one
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "say done"}]}, // mine too
        ],
    },
    // the end
}
"""


def spelled(value: object, style: int) -> str:
    return json.dumps(value, indent=[None, 2, "\t", 4][style]) + ("\n" if style else "")


@given(OBJECTS, st.integers(0, 3), VALUES)
def test_member_that_is_added_and_taken_away_leaves_no_trace(value: dict[str, object], style: int, new: object) -> None:
    text = spelled(value, style)
    more = jsonedit.with_member(text, ("byheart",), new)
    assert json.loads(more) == {**value, "byheart": new}
    assert jsonedit.without_member(more, ("byheart",)) == text


@given(OBJECTS, st.integers(0, 3), VALUES)
def test_element_that_is_added_and_taken_away_leaves_no_trace(
    value: dict[str, object], style: int, new: object
) -> None:
    value = {**value, "list": [1, {"a": 2}]}
    text = spelled(value, style)
    more = jsonedit.with_element(text, ("list",), new)
    assert json.loads(more)["list"] == [1, {"a": 2}, new]
    assert jsonedit.without_element(more, ("list",), 2) == text


def test_comments_and_trailing_commas_stay() -> None:
    more = jsonedit.with_element(COMMENTED, ("hooks", "Stop"), {"hooks": []})
    more = jsonedit.with_member(more, ("hooks", "SessionStart"), [1])
    more = jsonedit.with_member(more, ("mcpServers", "byheart"), {"command": "x"})
    for line in COMMENTED.split("\n"):
        assert line in more.split("\n") or line.rstrip(",") in more
    found = jsonedit.parsed(more)
    assert found["mcpServers"] == {"byheart": {"command": "x"}}
    assert found["hooks"]["SessionStart"] == [1] and len(found["hooks"]["Stop"]) == 2
    less = jsonedit.without_member(more, ("mcpServers",))
    less = jsonedit.without_member(less, ("hooks", "SessionStart"))
    less = jsonedit.without_element(less, ("hooks", "Stop"), 1)
    assert less == COMMENTED


@pytest.mark.parametrize("text", ["", "  \n", "{}", "{ }", "{\n}\n", "{\n  // nothing yet\n}\n", "[]"])
def test_from_nothing(text: str) -> None:
    if text == "[]":
        with pytest.raises(jsonedit.NotJson):
            jsonedit.with_member(text, ("a", "b"), 1)
        return
    more = jsonedit.with_member(text, ("a", "b"), 1)
    assert jsonedit.parsed(more) == {"a": {"b": 1}}
    assert "// nothing yet" in more or "nothing" not in text


@pytest.mark.parametrize(
    "text", ["{", '{"a" 1}', "{a: 1}", '{"a": 1 "b": 2}', "{} {}", "/* x", '{"a": [1, }', "nul", "[" * 5000]
)
def test_what_is_no_json_is_told_with_its_line(text: str) -> None:
    with pytest.raises(jsonedit.NotJson, match="line"):
        jsonedit.parsed(text)


def test_known_member_is_replaced_in_place() -> None:
    text = '{\n  "a": {"x": 1}, // one\n  "b": 2\n}\n'
    more = jsonedit.with_member(text, ("a", "x"), 3)
    assert more == '{\n  "a": {"x": 3}, // one\n  "b": 2\n}\n'


def test_first_of_several_goes() -> None:
    assert jsonedit.without_element("[1, 2, 3]", (), 0) == "[2, 3]"
    assert jsonedit.without_member('{\n  "a": 1,\n  "b": 2\n}', ("a",)) == '{\n  "b": 2\n}'
