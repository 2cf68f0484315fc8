"""What a session is told: the Active Profile, and the few rules that matter most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.records import Confidence, Kind, Placed
from byheart.language import opposition
from byheart.workspace import ranking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.domain.results import Hit

LEAST_RULES, MOST_RULES = 3, 7
MOST_BULLETS = 15


def active_profile(hits: Sequence[Hit], most: int) -> tuple[list[Hit], list[tuple[str, str]]]:
    """At most `most` entries that may be applied, and for each one left out, why.

    Hits come with the project's own before the global ones; of one key the project's own, and in a file the later, counts.
    """
    chosen: dict[str, Hit] = {}
    left_out: list[tuple[str, str]] = []
    for hit in hits:
        name = hit.record.key or hit.id
        rival = chosen.get(name)
        if hit.record.needs_confirmation:
            left_out.append((name, "it waits for confirmation"))
        elif not hit.record.text.strip():
            left_out.append((name, "it has no value"))
        elif rival is None:
            chosen[name] = hit
        elif rival.scope == hit.scope:
            chosen[name] = hit
            left_out.append((name, "a later entry has the same key"))
        else:
            left_out.append((name, "the project's own entry counts"))
    most = min(most, MOST_BULLETS)
    ordered = sorted(chosen.values(), key=_profile_order)
    left_out += [(hit.record.key or hit.id, f"only {most} entries are shown") for hit in ordered[most:]]
    return ordered[:most], left_out


def _profile_order(hit: Hit) -> tuple[int, int, int, str]:
    record = hit.record
    confidence = (record.confidence or Confidence.MEDIUM).rank
    age = -(record.added.toordinal() if record.added else 0)
    return (record.kind is Kind.LESSON, -confidence, age, record.key or "")


def standing_rules(placed: Sequence[Placed]) -> list[Placed]:
    """The entries that no other overrules, best first."""
    overruled = opposition.standing(placed).overruled
    standing = [each for index, each in enumerate(placed) if index not in overruled]
    return sorted(standing, key=ranking.rule_order)
