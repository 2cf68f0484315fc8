"""Which rules stand, told for many at once as for each pair."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from byheart.domain.records import Kind, Placed, Record
from byheart.language import opposition

TRIPLES = st.tuples(
    st.sampled_from(["user", "tests", "npm", "pnpm"]),
    st.sampled_from(
        ["use", "avoid", "never_use", "runs_with", "prefers", "prefer_over", "must", "always_run", "no", "not_over"]
    ),
    st.sampled_from(["npm", "pnpm", "general", "jest", "user"]),
)
RULES = st.lists(st.tuples(TRIPLES, st.sampled_from([Kind.CONSTRAINT, Kind.PREFERENCE])), max_size=14)


def by_pairs(placed: list[Placed]) -> opposition.Overruled:
    """The same, by comparing each with each."""
    overruled: dict[int, int] = {}
    undecided = []
    for index, each in enumerate(placed):
        for rival in range(index):
            older = placed[rival].record
            how = next((how for _, how in opposition.rivals([placed[rival]], each.record)), None)
            if how is None:
                continue
            won = opposition.winner(older, each.record, how)
            if won is None:
                undecided.append((rival, index))
            elif won == 0:
                overruled[index] = rival
            else:
                overruled[rival] = index
    return opposition.Overruled(overruled, tuple(undecided))


@given(RULES)
def test_many_rules_stand_as_each_pair_says(rules: list[tuple[tuple[str, str, str], Kind]]) -> None:
    placed = [
        Placed(record=Record(text=" ".join(triple), triple=triple, kind=kind), line=n, start=0, end=0)
        for n, (triple, kind) in enumerate(rules, 1)
    ]
    found, wanted = opposition.standing(placed), by_pairs(placed)
    assert found.overruled == wanted.overruled
    assert set(found.undecided) == set(wanted.undecided)


def test_thousands_of_rules_about_one_thing_are_no_trouble() -> None:
    placed = [
        Placed(record=Record(text=f"colour {n}", triple=("user", "prefers", f"colour {n}"), kind=Kind.PREFERENCE), line=n, start=0, end=0)
        for n in range(30_000)
    ]  # fmt: skip
    assert len(opposition.standing(placed).overruled) == 29_999
