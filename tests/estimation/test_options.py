"""The ``[estimator]`` table: what is accepted, what is refused and in which words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pytest

from fmident.errors import Code, Location, PluginError, ProblemError
from fmident.estimation import Estimate, Estimator, build_options

from ..refused import refused


@dataclass(frozen=True)
class Options:
    solver: Literal["scipy", "ceres"] = "scipy"
    tolerance: float = 1e-8
    count: int = 3
    verbose: bool = False
    radius: float | None = None
    weights: tuple[float, ...] = ()
    limits: tuple[float, float] = (0.0, 1.0)
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.tolerance <= 0.0:
            raise ValueError("tolerance must be positive")


class Example(Estimator[Options]):
    name: ClassVar[str] = "example"
    options_type: ClassVar[type[Options]] = Options

    def estimate(self, problem, evaluator, options, monitor) -> Estimate:
        raise AssertionError


def test_defaults() -> None:
    assert build_options(Example, {}) == Options()


def test_values_are_taken_and_integers_are_numbers() -> None:
    built = build_options(
        Example(),
        {
            "solver": "ceres",
            "tolerance": 1,
            "count": 5,
            "verbose": True,
            "radius": 2,
            "weights": [1, 2.5],
            "limits": [1, 2],
            "names": ["a"],
        },
    )
    assert built == Options("ceres", 1.0, 5, True, 2.0, (1.0, 2.5), (1.0, 2.0), ["a"])
    assert isinstance(built.tolerance, float)
    assert isinstance(built.radius, float)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"solvr": "scipy"}, ["no option 'solvr'", "nearest option: 'solver'"]),
        ({"solver": "cerez"}, ["'scipy' or 'ceres'", "not 'cerez'", "nearest choice: 'ceres'"]),
        ({"solver": 1}, ["'scipy' or 'ceres'", "not 1"]),
        ({"tolerance": "small"}, ["'tolerance'", "a number", "not 'small'"]),
        ({"tolerance": True}, ["a number", "not true"]),
        ({"count": 2.5}, ["'count'", "an integer", "not 2.5"]),
        ({"count": True}, ["an integer", "not true"]),
        ({"verbose": 1}, ["true or false", "not 1"]),
        ({"radius": "x"}, ["'radius' of 'example' must be a number, not 'x'"]),
        ({"weights": 3}, ["a list of numbers"]),
        ({"weights": ["x"]}, ["a list of numbers"]),
        ({"limits": [1.0]}, ["'limits'", "a list of 2 numbers, not [1.0]"]),
        ({"tolerance": -1.0}, ["'example': tolerance must be positive"]),
    ],
)
def test_refused_with_these_words(raw: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ProblemError) as caught:
        build_options(Example, raw, Location("problem.toml"))
    text = str(caught.value)
    assert text.startswith("problem.toml: [estimator]")
    for word in words:
        assert word in text


def test_a_required_option_is_asked_for() -> None:
    @dataclass(frozen=True)
    class Strict:
        method: Literal["a", "b"]

    class NeedsIt(Example):
        options_type: ClassVar[type[Any]] = Strict

    # The annotation is local, so it is given as a type rather than as a text.
    Strict.__annotations__["method"] = Literal["a", "b"]
    with pytest.raises(ProblemError, check=lambda e: e.code == Code.MISSING_KEY):
        build_options(NeedsIt, {})


def test_options_type_must_be_a_dataclass() -> None:
    class Wrong(Example):
        options_type: ClassVar[type[Any]] = dict

    with refused(Code.PLUGIN_FAILED, PluginError, match="frozen dataclass"):
        build_options(Wrong, {})
