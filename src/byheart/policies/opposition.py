"""When two rules oppose each other, and which of them stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.records import Kind, Placed, Record, Triple
from byheart.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

_NEGATIVE = (
    "avoid",
    "never",
    "no",
    "not",
    "dont",
    "don't",
    "do_not",
    "must_not",
    "forbid",
    "disallow",
    "disable",
    "without",
    "stop",
    "skip",
)
_POSITIVE = ("always", "use", "prefer", "must", "require", "allow", "enable", "do", "should")
# Predicates that hold for several objects at once, so that another object is no contradiction.
_PLURAL = frozenset(
    "applies_to noted fixed_by include includes require requires contain contains has have support supports depends_on "
    "related_to works_with prefer_over see run noted_as must should".split()
)
_SEPARATORS = str.maketrans("-_", "  ")
_ANY = frozenset({"general", "", "*", "any", "all", "true", "yes"})


@dataclass(frozen=True, slots=True)
class Standing:
    """Positions of records that are overruled, with the one that overrules them, and pairs nobody can decide."""

    overruled: dict[int, int]
    undecided: tuple[tuple[int, int], ...]


def opposes(first: Triple, second: Triple) -> str | None:
    """'clear' or 'unclear' when the triples oppose each other, else None."""
    subject, predicate, thing = (_folded(part) for part in first)
    other_subject, other_predicate, other_thing = (_folded(part) for part in second)
    if predicate == other_predicate == "prefer_over":
        return "clear" if subject == other_thing and thing == other_subject else None
    if subject != other_subject:
        return None
    sign, base = _polarity(predicate)
    other_sign, other_base = _polarity(other_predicate)
    if sign != other_sign and base == other_base:
        return "clear" if thing == other_thing or thing in _ANY or other_thing in _ANY else "unclear"
    if predicate != other_predicate or thing == other_thing:
        return None
    if sign < 0 or predicate in _PLURAL or predicate.startswith("always_") or thing in _ANY or other_thing in _ANY:
        return None
    return "clear"


def winner(older: Record, newer: Record, how: str) -> int | None:
    """0 when the older stands, 1 when the newer does, None when nobody can say."""
    if how != "clear":
        return None
    strict, strict_too = older.kind is Kind.CONSTRAINT, newer.kind is Kind.CONSTRAINT
    if strict and strict_too:
        return None
    return 0 if strict else 1


def standing(placed: Sequence[Placed]) -> Standing:
    """Who overrules whom among entries in file order."""
    overruled: dict[int, int] = {}
    undecided = []
    groups: dict[str, list[int]] = {}
    for index, each in enumerate(placed):
        triple = each.record.triple
        if triple is None:
            continue
        names = about(each.record)
        rivals = sorted({rival for name in names for rival in groups.get(name, ())})
        for rival in rivals:
            older = placed[rival].record
            how = opposes(older.triple, triple) if older.triple else None
            if how is None:
                continue
            won = winner(older, each.record, how)
            if won is None:
                undecided.append((rival, index))
            elif won == 0:
                overruled[index] = rival
            else:
                overruled[rival] = index
        for name in names:
            groups.setdefault(name, []).append(index)
    return Standing(overruled, tuple(undecided))


def about(record: Record) -> set[str]:
    """What a record's entry is about, folded: only entries with something in common can oppose each other."""
    if record.triple is None:
        return set()
    names = {_folded(record.triple[0])}
    if _folded(record.triple[1]) == "prefer_over":
        names.add(_folded(record.triple[2]))
    return names


def _folded(part: str) -> str:
    return "_".join(part.casefold().translate(_SEPARATORS).split())


def _polarity(predicate: str) -> tuple[int, str]:
    for sign, words in ((-1, _NEGATIVE), (1, _POSITIVE)):
        for word in words:
            if predicate == word:
                return sign, ""
            if predicate.startswith(word + "_"):
                rest = predicate[len(word) + 1 :]
                return sign, "" if rest == "use" else rest
    return 1, predicate
