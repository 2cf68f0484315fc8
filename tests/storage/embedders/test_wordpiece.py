"""Tokens as BERT's own tokenizer makes them; the expected ones were read off the original once, and are kept here."""

from __future__ import annotations

import pytest

from byheart.storage.embedders.bert import WordPiece

WORDS = ["[UNK]", "[CLS]", "[SEP]", "run", "##ning", "##s", "test", "the", ".", "日", "cafe", "_", "foo", "##x"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Running the tests.", ["run", "##ning", "the", "test", "##s", "."]),
        ("CAFÉ", ["cafe"]),
        ("cafe\u0301", ["cafe"]),
        ("日foo", ["日", "foo"]),
        ("foo_run", ["foo", "_", "run"]),
        ("fo\u200bo\x00", ["foo"]),
        ("zzz foo", ["[UNK]", "foo"]),
        ("foo" * 40, ["[UNK]"]),
        ("", []),
        ("\u3000foo\t", ["foo"]),
    ],
)
def test_texts_come_apart(text: str, tokens: list[str]) -> None:
    assert [WORDS[number] for number in WordPiece(WORDS).ids(text, 100)] == tokens


def test_a_long_text_gives_no_more_than_was_asked_for() -> None:
    assert len(WordPiece(WORDS).ids("run " * 100_000, 254)) == 254
