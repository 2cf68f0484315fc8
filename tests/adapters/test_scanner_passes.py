"""Asking for common rules together finds what asking for each alone finds."""

from __future__ import annotations

import random

from byheart.adapters.scanners import engine
from byheart.adapters.scanners.scanner import RuleScanner

# Put together at run time: none was ever valid.
SECRETS = [
    "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "AKIA" + "Q7R2X9M4T6W1Z8P3",
    "password = 'hunter2-" + "x9Kq4mZp'",
    "api_key: '" + "9f8e7d6c5b4a39281706f5e4d3c2b1a0'",
    "postgres://ana:" + "s3cr3tPw0rd@db.example.com/x",
    "4111 1111 1111 " + "1111",
    "SK" + "0123456789abcdef" * 2,
]


def long_text(dice: random.Random, size: int) -> str:
    words = "the key of a token is in path/to/file.py:12 pass -> run | tail s.x 0/1 pat://x re_ 2026-05-04 - secret = None".split()
    rows = [" ".join(dice.choice(words) for _ in range(12)) for _ in range(size // 60)]
    for secret in SECRETS:
        if dice.random() < 0.7:
            rows.insert(dice.randrange(len(rows)), f"note {secret} end")
    return "\n".join(rows)


def test_one_pass_for_common_rules_loses_nothing() -> None:
    dice = random.Random(7)
    quick, plain = RuleScanner(), RuleScanner()
    plain._secrets._common, plain._secrets._common_names = [], frozenset()
    for _ in range(40):
        text = long_text(dice, dice.choice((30_000, 90_000)))
        assert quick.redacted(text) == plain.redacted(text)
    assert quick._secrets._patterns is not None


def test_where_the_pass_gives_up_every_rule_runs_by_itself() -> None:
    """A set with no room for its states finds nothing, not even the mark that is always there."""
    import re2

    dice = random.Random(8)
    scanner, plain = RuleScanner(), RuleScanner()
    plain._secrets._common, plain._secrets._common_names = [], frozenset()
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    empty = re2.Set.SearchSet(options)
    empty.Add(b"this stands nowhere in any text")
    empty.Compile()
    scanner._secrets._patterns = empty
    text = long_text(dice, 60_000)
    assert scanner.redacted(text) == plain.redacted(text) != text
    assert engine._SENTINEL.decode() not in scanner.redacted(text)
