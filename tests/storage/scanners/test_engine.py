"""The scanner's shortcuts: asking for several rules at once, and only around telling words, loses nothing."""

from __future__ import annotations

import random

from byheart.storage.scanners import disguises
from byheart.storage.scanners.scanner import RuleScanner
from tests.storage.scanners.test_scanner import TOKENS

SECRETS = list(TOKENS.values())


def long_text(dice: random.Random, size: int) -> str:
    words = "the key of a token is in path/to/file.py:12 pass -> run | tail s.x 0/1 pat://x re_ 2026-05-04 - secret = None".split()
    rows = [" ".join(dice.choice(words) for _ in range(12)) for _ in range(size // 60)]
    for secret in SECRETS:
        if dice.random() < 0.7:
            rows.insert(dice.randrange(len(rows)), f"note {secret} end")
    return "\n".join(rows)


def test_shortcuts_lose_nothing() -> None:
    dice = random.Random(7)
    quick = RuleScanner()._secrets._engine
    rules = [rule for rule in quick._all if rule.name not in (disguises.ESCAPED, disguises.PARTED)]
    for _ in range(30):
        content = long_text(dice, dice.choice((30_000, 90_000))).encode()
        found = {(begin, stop) for rule, begin, stop in quick.matches(content) if rule in rules}
        # Each rule by itself over the whole text, as if there were no shortcut.
        wanted = {(begin, stop) for _, begin, stop in quick._run(rules, content, 0)}
        # Where two rules see the same secret, which of them says so does not matter; that somebody does, does.
        assert covered(content, found) == covered(content, wanted)


def covered(content: bytes, spans: set[tuple[int, int]]) -> bytes:
    marked = bytearray(len(content))
    for begin, stop in spans:
        marked[begin:stop] = b"x" * (stop - begin)
    return bytes(marked)
