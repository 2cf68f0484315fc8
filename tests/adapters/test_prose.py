"""Secrets told in sentences, in eight languages. The sentences were written before the rules, by somebody who did not know them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byheart.storage.scanners.scanner import RuleScanner

FOLDER = Path(__file__).with_name("prose")
SCANNER = RuleScanner()


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def test_sentences_that_tell_a_secret_are_recognised() -> None:
    told = rows("secret.jsonl")
    missed = [row["text"] for row in told if row["secret"] in SCANNER.redacted(row["text"])]
    assert len(told) == 60 and len(missed) <= 6, missed


def test_sentences_about_secrets_that_tell_none_are_left_alone() -> None:
    harmless = rows("harmless.jsonl")
    wrong = [row["text"] for row in harmless if SCANNER.secrets(row["text"])]
    assert len(harmless) == 200 and len(wrong) <= 2, wrong


@pytest.mark.parametrize("lang", ["en", "de", "fr", "es", "pt", "ru", "zh", "ja"])
def test_most_of_every_language_is_recognised(lang: str) -> None:
    told = [row for row in rows("secret.jsonl") if row["lang"] == lang]
    found = [row for row in told if row["secret"] not in SCANNER.redacted(row["text"])]
    assert len(found) >= 0.6 * len(told)


@pytest.mark.parametrize("mark", [".", ",", ";", "!", "?", ":"])
def test_sentence_goes_on_after_a_redaction(mark: str) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert SCANNER.redacted(f"The token is {token}{mark} Always use tabs.").endswith(f"]{mark} Always use tabs.")
