"""Order: which rules come first, and which records fit a query."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.records import Kind, Placed
from byheart.domain.values import replace
from byheart.text.similarity import content_words, normalised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.domain.results import Hit

_MANY = 2_000
_PRIORITY = {Kind.CONSTRAINT: 3, Kind.RULE: 2, Kind.PREFERENCE: 1, Kind.LESSON: 0, Kind.NOTE: -1}


def rule_order(placed: Placed) -> tuple[int, int, int]:
    """Sort key, best first: constraint over rule over preference, then weight, then the newer line."""
    return (-_PRIORITY[placed.record.kind], -placed.record.weight, -placed.line)


def found(query: str, hits: Sequence[Hit], most: int) -> list[Hit]:
    """The hits that share words with the query, best first; none where nothing fits."""
    wanted = list(dict.fromkeys(content_words(query)))
    if not wanted:
        return []
    total = len(hits)
    if total > _MANY:
        # Most of many records share no word with a query; a look for its letters is far cheaper than taking them apart.
        letters = parts_of(query)
        hits = [hit for hit in hits if any(each in searched(hit).casefold() for each in letters)]
    bags = [Counter(content_words(searched(hit))) for hit in hits]
    frequency = Counter(word for bag in bags for word in set(bag) if word in wanted)
    average = sum(sum(bag.values()) for bag in bags) / max(1, len(bags)) or 1.0
    scored = []
    for hit, bag in zip(hits, bags, strict=True):
        length = sum(bag.values())
        score = 0.0
        for word in wanted:
            count = bag.get(word, 0)
            if count:
                rarity = math.log(1 + (total - frequency[word] + 0.5) / (frequency[word] + 0.5))
                score += rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / average))
        if hit.record.key and normalised(query) == hit.record.key.casefold():
            score += 10.0
        if score > 0:
            covered = sum(1 for word in wanted if word in bag) / len(wanted)
            scored.append(replace(hit, score=round(score * (0.5 + 0.5 * covered), 4)))
    return sorted(scored, key=lambda hit: (-hit.score, hit.path, hit.line))[:most]


def parts_of(query: str) -> set[str]:
    """Letters that every text which shares a word with the query must have: its words without what stemming may change."""
    return {word[:-1] if len(word) > 4 and word.isascii() else word for word in content_words(query)}


def searched(hit: Hit) -> str:
    """All the words by which a record can be found."""
    record = hit.record
    parts = [
        record.text,
        (record.key or "").replace("|", " ").replace(".", " "),
        " ".join(record.tags),
        record.kind.value,
    ]
    return " ".join(parts)
