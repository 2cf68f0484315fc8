"""Fences as CommonMark finds them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from byheart.text import lines


def contents(text: str) -> list[str]:
    return [text[fence.start : fence.end] for fence in lines.yaml_fences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```yaml\na: 1\n```\n", ["a: 1\n"]),
        ("~~~yml\na: 1\n~~~\n", ["a: 1\n"]),
        ("````YAML extra\na: ```\n```\n````\n", ["a: ```\n```\n"]),
        ("text\n\n  ```yaml\n  a: 1\n  ```\n", ["  a: 1\n"]),
        ("    ```yaml\n    a: 1\n    ```\n", []),
        ("- item\n\n  ```yaml\n  a: 1\n  ```\n", []),
        ("> ```yaml\n> a: 1\n> ```\n", []),
        ("<!--\n```yaml\na: 1\n```\n-->\n", []),
        ("~~~md\n```yaml\na: 1\n```\n~~~\n", []),
        ("```\na: 1\n```\n", []),
        ("```json\n{}\n```\n```yaml\nb: 2\n```\n", ["b: 2\n"]),
        ("```yaml\na: 1\n", ["a: 1\n"]),
        ("```yaml\n```\n", [""]),
        ("```yaml", [""]),
        ("\ufeff```yaml\r\na: 1\r\n```\r\n", ["a: 1\r\n"]),
        ("```yaml\na: 1\n``` not closed\nb: 2\n```\n", ["a: 1\n``` not closed\nb: 2\n"]),
        ("`````yaml\na\n```\n`````\n", ["a\n```\n"]),
        ("para ```yaml\na\n```\n", []),
        ("```yaml\na: 1\n```\n\n```yaml\nb: 2\n```\n", ["a: 1\n", "b: 2\n"]),
    ],
)
def test_yaml_fences_are_found_as_commonmark_finds_them(text: str, expected: list[str]) -> None:
    assert contents(text) == expected


@given(
    rows=st.lists(
        st.sampled_from(
            [
                "```yaml",
                "```",
                "~~~",
                "~~~yml",
                "````",
                "a: 1",
                "",
                "  ```",
                "    ```yaml",
                "- x",
                "> q",
                "<!--",
                "-->",
                "text",
            ]
        ),
        max_size=9,
    ),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_agrees_with_a_commonmark_parser_on_any_mix_of_lines(rows: list[str], newline: str) -> None:
    text = newline.join(rows)
    expected = [
        token.content
        for token in MarkdownIt("commonmark").parse(text)
        if token.type == "fence"
        and token.level == 0
        and token.info.split()[:1]
        and token.info.split()[0] in ("yaml", "yml")
    ]
    found = [content.replace("\r\n", "\n") for content in contents(text)]
    unindented = ["".join(line.lstrip(" ") for line in content.splitlines(keepends=True)) for content in found]
    assert [each.rstrip("\n") for each in unindented] == [
        "".join(line.lstrip(" ") for line in content.splitlines(keepends=True)).rstrip("\n") for content in expected
    ]


@given(text=st.text(alphabet="~`a\n ", max_size=40))
def test_safe_marker_cannot_be_closed_by_the_text(text: str) -> None:
    marker = lines.safe_marker(text)
    whole = f"{marker}text\n{text}\n{marker}\n"
    tokens = MarkdownIt("commonmark").parse(whole)
    assert [token.type for token in tokens] == ["fence"]
