"""A wording says no more than what was said: the same words, wanted or not as they were, said together."""

from __future__ import annotations

import pytest

from byheart.language.faithful import says_no_more, share_said, source

FAITHFUL = [
    ("use pnpm, not npm", "our team moved to pnpm, not npm", ""),
    ("use pnpm instead of npm", "our team moved to pnpm, not npm", ""),
    ("run the full oven test suite before each commit", "please run the full oven test suite before each commit", ""),
    ("never push to main without a review", "From now on never push to main without a review of the bell, please", ""),
    ("always run the formatter first before commit", "yes, before every commit", "Shall I run the formatter first?"),
    ("nie Tests überspringen", "bitte nie Tests überspringen, auch nicht lokal", ""),
]
MORE = [
    ("uses npm, not pnpm", "our team moved to pnpm, not npm", ""),
    ("skip the full oven test suite before each commit", "run the full oven test suite before each commit", ""),
    ("name branches after the pastry and delete backups", "name branches after the pastry they are for", ""),
    ("push to main without a review", "never push to main without a review of the bell, please", ""),
    ("delete migrations", "ask before migrations; delete temp files", ""),
    ("run the formatter before commit", "no, not before every commit", "Shall I run the formatter first?"),
    ("use `evil-oven`", "use the oven, it is not evil", ""),
    ("コミットする前にテストを実行しない", "コミットする前にテストを実行する", ""),
    ("Tests überspringen", "bitte nie Tests überspringen", ""),
    ("always", "always run the tests", ""),
]


@pytest.mark.parametrize(("wording", "said", "answering"), FAITHFUL)
def test_wording_made_of_what_was_said_is_faithful(wording: str, said: str, answering: str) -> None:
    assert says_no_more(wording, said, answering)


@pytest.mark.parametrize(("wording", "said", "answering"), MORE)
def test_wording_that_reverses_or_adds_is_not(wording: str, said: str, answering: str) -> None:
    assert not says_no_more(wording, said, answering)


def test_share_counts_only_words_with_the_same_yes_or_no() -> None:
    bell = source("The oven bell belongs on pin 9")
    assert share_said("The oven bell is on pin 9", bell) == 1.0
    assert share_said("Never wire the oven bell to pin 9", bell) == 0.0
