"""Lessons are spelled as a line and read back from it."""

from __future__ import annotations

import pytest

from byheart.handbook.lessons import Lesson, lesson_line, lesson_of


@pytest.mark.parametrize(
    "lesson",
    [
        Lesson(command="make test", error="Error: no oven"),
        Lesson(command="make test", error="Error: no oven", is_last=True),
        Lesson(command="make test", error="Error: no oven", proof="make test"),
        Lesson(command="make test", error="Error: no oven", proof="make test", is_asked=True),
        Lesson(command="make test", error="Error: no oven", proof="make check", passed=False),
        Lesson(command="make test", error="Error -> x", changed=("a.py", "b.py"), ran=("make fix",), proof="make test"),
        Lesson(command="git push", error="rejected", ran=("git push --force",), proof="git push", is_workaround=True),
    ],
)
def test_lesson_is_read_back_as_it_was_spelled(lesson: Lesson) -> None:
    assert lesson_of(lesson_line(lesson)) == lesson


@pytest.mark.parametrize("line", ["", "the user corrected: no -> never", "`a` failed with `b`", "`a` failed with `b` -> somehow"])  # fmt: skip
def test_line_that_spells_no_lesson_is_none(line: str) -> None:
    assert lesson_of(line) is None
