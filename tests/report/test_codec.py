"""Dataclasses as JSON, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.report.codec import Codec, Layout


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Leaf:
    name: str
    size: float
    colour: Colour = Colour.RED


@dataclass(frozen=True, eq=False)
class Tree:
    kind: Literal["oak", "elm"]
    low: float
    high: float
    cost: float
    matrix: F64
    leaves: tuple[Leaf, ...]
    pair: tuple[int, str | None] = (1, None)
    ages: Mapping[str, float] = field(default_factory=dict)
    trace: tuple[float, ...] = ()


CODEC = Codec(
    {
        Tree: Layout(
            keys={"low": "bounds.0", "high": "bounds.1", "cost": "end.cost"},
            omitted={"trace": ()},
            by_name={"leaves": "name"},
            missing={"cost": 7.0},
            null={"low": -math.inf, "high": math.inf, "ages": math.inf},
            computed={"count": lambda tree: len(tree.leaves)},
        )
    }
)
dump, load = CODEC.dump, CODEC.load


def tree() -> Tree:
    leaves = (Leaf("a", 1.0), Leaf("b", math.nan))
    matrix = np.array([[1.0, math.nan], [0.5, 2.0]])
    return Tree("oak", -math.inf, 3.0, 0.25, matrix, leaves, ages={"x": math.inf, "y": 1.0},
                trace=(1.0, 2.0))  # fmt: skip


def test_names_places_and_nulls_are_those_of_the_layout() -> None:
    assert dump(tree()) == {
        "kind": "oak",
        "bounds": [None, 3.0],
        "end": {"cost": 0.25},
        "matrix": [[1.0, None], [0.5, 2.0]],
        "leaves": {"a": {"size": 1.0, "colour": "red"}, "b": {"size": None, "colour": "red"}},
        "pair": [1, None],
        "ages": {"x": None, "y": 1.0},
        "count": 2,
    }


def test_what_was_written_is_read() -> None:
    first, again = tree(), load(Tree, dump(tree()))
    assert dump(again) == dump(first)
    assert (again.low, again.trace, again.ages) == (-math.inf, (), {"x": math.inf, "y": 1.0})
    assert again.leaves[0] == first.leaves[0]
    np.testing.assert_array_equal(again.matrix, first.matrix)


def test_what_is_missing_has_the_value_for_it() -> None:
    content = dump(tree())
    del content["end"], content["pair"]
    again = load(Tree, content)
    assert (again.cost, again.pair) == (7.0, (1, None))


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("kind", "ash", "kind"),
        ("leaves", {"a": {"size": "x"}}, "leaves.a.size"),
        ("leaves", {"a": {}}, "leaves.a.size"),
        ("leaves", [], "leaves"),
        ("pair", [-1, None], r"pair\[0\]"),
        ("pair", [1], "pair"),
        ("matrix", [[1.0], "x"], "matrix"),
        ("ages", {"x": True}, "ages.x"),
        ("bounds", {}, "bounds.0"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(key: str, value: Any, place: str) -> None:
    with pytest.raises(ValueError, match=f"^'{place}'"):
        load(Tree, {**dump(tree()), key: value})
