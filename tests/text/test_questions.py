"""Questions taken apart: nothing in them is an operator, and every script finds its own words."""

from __future__ import annotations

import sqlite3
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.storage.index.schema import TOKENS
from byheart.text.questions import humps, question, spelled
from byheart.text.timewords import hint

TODAY = date(2026, 11, 16)


def is_found(text: str, asked: str) -> bool:
    with sqlite3.connect(":memory:") as connection:
        connection.execute(f'CREATE VIRTUAL TABLE words USING fts5(text, meta, tokenize="{TOKENS}")')
        connection.execute("INSERT INTO words VALUES(?, ?)", (spelled(text), spelled(humps(text))))
        wanted = question(asked).anything
        found = wanted and connection.execute("SELECT 1 FROM words WHERE words MATCH ?", (wanted,)).fetchall()
    connection.close()
    return bool(found)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("部署在星期五是不允许的", "星期五"),
        ("部署在星期五是不允许的", "可以在星期五上线吗"),
        ("テストはmakeで実行する", "テストの実行方法"),
        ("테스트는 매일 실행한다", "테스트를 실행하려면"),
        ("Тесты запускаются ночью", "когда запускать тест"),
        ("Развёртывание по пятницам запрещено", "развёртывания"),
        ("الاختبارات تُشغَّل كل ليلة", "الاختبارات تشغل"),
        ("آزمون‌ها هر شب اجرا می‌شوند", "آزمون"),
        ("परीक्षण हर रात चलते हैं", "परीक्षण"),
        ("Δοκιμές κάθε βράδυ", "δοκιμές"),
        ("release is done 🎉 today", "🎉"),
        ("ทดสอบทุกคืน", "ทดสอบ"),
        ("call getUserById first", "get user"),
        ("call getUserById first", "getUserById"),
        ("set max_retry_count to 3", "retry count"),
        ("see src/app/main.py", "src/app/main.py"),
        ("id 3f2a9c1e-1111-4222-8333-abcdefabcdef", "3f2a9c1e-1111-4222-8333-abcdefabcdef"),
        ("TypeError: cannot read properties of undefined", "cannot read properties of undefined"),
        ("Café au lait", "cafe"),
        ("running tests", "run test"),
    ],
)
def test_a_text_is_found_by_its_own_words(text: str, asked: str) -> None:
    assert is_found(text, asked)
    assert not is_found("something else altogether", asked)


@given(st.text(max_size=200))
def test_no_question_is_an_error(text: str) -> None:
    is_found("some text", text)


@pytest.mark.parametrize("text", ['a" OR b', "NEAR(a b)", "text:foo", "* ^ - + { }", "''\"\"", "a AND NOT b", "\x00"])
def test_operators_are_words(text: str) -> None:
    is_found("some text", text)


def test_quoted_words_count_extra_as_a_whole() -> None:
    assert question('where is "made with love" said').exact == ('"made with love"',)
    assert question("look at src/app/main.py").exact == ('"src app main py"',)


@pytest.mark.parametrize(
    ("asked", "inside", "outside"),
    [
        ("what did we decide last week", date(2026, 11, 12), date(2026, 9, 1)),
        ("the bug two months ago", date(2026, 9, 17), date(2026, 11, 10)),
        ("what changed in March", date(2026, 3, 15), date(2026, 7, 1)),
        ("what changed in December", date(2025, 12, 15), date(2026, 11, 1)),
        ("on 5 June 2026", date(2026, 6, 5), date(2026, 5, 1)),
        ("on June 5th, 2026", date(2026, 6, 5), date(2026, 5, 1)),
        ("on 2026-06-05", date(2026, 6, 5), date(2026, 5, 1)),
        ("yesterday", date(2026, 11, 15), date(2026, 10, 1)),
        ("last Friday", date(2026, 11, 13), date(2026, 11, 2)),
        ("before 2026-03-01", date(2025, 1, 1), date(2026, 6, 1)),
        ("since May", date(2026, 8, 1), date(2026, 1, 1)),
        ("in 2024", date(2024, 5, 5), date(2026, 1, 1)),
        ("in the past three months", date(2026, 9, 1), date(2026, 2, 1)),
        ("last year", date(2025, 6, 6), date(2026, 6, 6)),
        ("this month", date(2026, 11, 3), date(2026, 9, 3)),
    ],
)
def test_time_words_are_understood(asked: str, inside: date, outside: date) -> None:
    found = hint(asked, TODAY)
    assert found.closeness(inside) == 1.0
    assert found.closeness(outside) < 0.2


@pytest.mark.parametrize("asked", ["may I use tabs", "march on", "the second try", "in 20 steps", "30 February 2026"])
def test_words_that_only_look_like_time_are_not(asked: str) -> None:
    assert not hint(asked, TODAY).spells


@given(st.text(max_size=100))
def test_no_time_is_an_error(text: str) -> None:
    hint(text, TODAY).closeness(TODAY)
