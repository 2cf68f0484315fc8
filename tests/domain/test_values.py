"""Value classes behave as the standard library's do, whose names they carry."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from byheart.domain import values


def classes(maker: Any) -> dict[str, Any]:
    """The same classes, made by one of the two."""
    make, field = maker.dataclass, maker.field

    @make(frozen=True, slots=True, kw_only=True)
    class Frozen:
        name: str
        size: int = 3
        parts: tuple[int, ...] = field(default_factory=lambda: (1, 2))
        layout: object = field(default=None, repr=False, compare=False)

        @property
        def double(self) -> int:
            return self.size * 2

    @make(frozen=True, slots=True)
    class Placed:
        first: int
        second: str = "b"

    @make(slots=True)
    class Loose:
        items: list[int] = field(default_factory=list)
        count: int = 0

    @make
    class Open:
        kept: int
        note: str = "-"

        def __post_init__(self) -> None:
            self.seen = self.kept + 1

    return {"Frozen": Frozen, "Placed": Placed, "Loose": Loose, "Open": Open}


OURS, THEIRS = classes(values), classes(dataclasses)


def outcome(function: Any) -> Any:
    """What a call gives, or the kind of its error."""
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - the kind is what is compared
        return next(
            name
            for kind in type(error).__mro__
            if (name := kind.__name__) in ("TypeError", "AttributeError", "ValueError")
        )


CALLS: list[Any] = [
    lambda c: repr(c["Frozen"](name="a")).rsplit(".", 1)[-1],
    lambda c: c["Frozen"](name="a") == c["Frozen"](name="a", layout=5),
    lambda c: c["Frozen"](name="a") == c["Frozen"](name="b"),
    lambda c: c["Frozen"](name="a") == "a",
    lambda c: c["Placed"](1) == c["Placed"](1, "b"),
    lambda c: hash(c["Placed"](1)) == hash(c["Placed"](1)),
    lambda c: len({c["Frozen"](name="a"), c["Frozen"](name="a")}),
    lambda c: hash(c["Loose"]()),
    lambda c: c["Frozen"]("a"),
    lambda c: c["Frozen"](),
    lambda c: c["Frozen"](name="a", other=1),
    lambda c: c["Placed"](),
    lambda c: c["Placed"](1, 2, 3),
    lambda c: setattr(c["Frozen"](name="a"), "name", "b"),
    lambda c: delattr(c["Placed"](1), "first"),
    lambda c: setattr(c["Loose"](), "other", 1),
    lambda c: c["Loose"]().items is c["Loose"]().items,
    lambda c: c["Open"](4).seen,
    lambda c: c["Open"].note,
    lambda c: c["Frozen"](name="a", size=5).double,
    lambda c: c["Placed"].__match_args__,
    lambda c: c["Frozen"].__match_args__,
    lambda c: copy.copy(c["Placed"](1, "z")) == c["Placed"](1, "z"),
    lambda c: copy.deepcopy(c["Frozen"](name="x")) == c["Frozen"](name="x"),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_calls_end_as_with_the_standard_library(number: int) -> None:
    ours, theirs = (outcome(lambda each=each: CALLS[number](each)) for each in (OURS, THEIRS))
    assert ours == theirs


def test_replace_fields_and_dicts() -> None:
    for maker, made in ((values, OURS), (dataclasses, THEIRS)):
        value = made["Frozen"](name="a", parts=(made["Placed"](1),))
        assert maker.replace(value, size=9).size == 9
        assert [each.name for each in maker.fields(value)] == ["name", "size", "parts", "layout"]
        assert maker.asdict(value) == {
            "name": "a",
            "size": 3,
            "parts": ({"first": 1, "second": "b"},),
            "layout": None,
        }
        assert maker.is_dataclass(value)
        assert maker.is_dataclass(made["Placed"])
        assert not maker.is_dataclass(3)
        with pytest.raises(TypeError):
            maker.replace(value, other=1)


def test_fields_of_a_class_above_come_first() -> None:
    for maker in (values, dataclasses):

        @maker.dataclass(frozen=True, slots=True)
        class Below(OURS["Placed"] if maker is values else THEIRS["Placed"]):  # type: ignore[misc]
            third: int = 7

        assert [each.name for each in maker.fields(Below)] == ["first", "second", "third"]
        assert Below(1, "x", 3).third == 3
        assert Below(1) == Below(1)


def test_values_can_be_pickled() -> None:
    from byheart.domain.recall import Meaning

    value = Meaning("m", b"\x01\x02", (0.5, 0.2))
    assert pickle.loads(pickle.dumps(value)) == value
