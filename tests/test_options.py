"""Options that say in their declaration what they may be."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
import pytest

from fmident.cli import main
from fmident.errors import Code, Location, ProblemError
from fmident.options import (
    FINITE,
    FRACTION,
    INSIDE_UNIT,
    NOT_NEGATIVE,
    POSITIVE,
    OptionError,
    Options,
    Range,
    Requires,
)
from fmident.plugins import load_plugins
from fmident.toml_file.options import OptionRow, option_rows
from fmident.toml_file.section import build_dataclass

from .refused import refused


@dataclass(frozen=True)
class Search(Options):
    """Searches.

    Parameters
    ----------
    steps
        At most.
    radius, ends
        Of :class:`~some.module.box`,
        in sizes.

    Raises
    ------
    OptionError
        Out of range.
    """

    steps: Annotated[int, Range(least=1)] = 10
    radius: Annotated[float | None, POSITIVE, Requires("solver", "ceres")] = None
    solver: Literal["scipy", "ceres"] = "scipy"
    ends: tuple[Annotated[float, FRACTION], ...] = ()
    limits: dict[str, Annotated[float, FINITE]] = field(default_factory=dict)
    size: Annotated[float, POSITIVE] | None = None
    parts: tuple[Annotated[int, Range(least=1)], ...] | None = None
    span: tuple[Annotated[float, NOT_NEGATIVE], Annotated[float, Range(above=10.0)]] = (0.0, 20.0)


@dataclass(frozen=True)
class Wider(Search):
    """Searches more.

    Parameters
    ----------
    more
        Than others.
    """

    more: Annotated[float, POSITIVE] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.more < self.steps:
            raise ValueError("more must not be less than steps")


@pytest.mark.parametrize(
    ("limits", "words", "inside", "outside"),
    [
        (POSITIVE, "positive", 1e-300, 0.0),
        (NOT_NEGATIVE, "zero or positive", 0.0, -1e-300),
        (FRACTION, "from 0 to 1", 1.0, 1.0 + 1e-15),
        (INSIDE_UNIT, "between 0 and 1", 0.5, 1.0),
        (FINITE, "zero or positive and finite", 1e300, math.inf),
        (Range(least=1), "at least 1", 1, 0),
        (Range(above=0.0, most=1.0), "above 0 and at most 1", 1.0, 0.0),
        (Range(least=2, below=5), "at least 2 and below 5", 2, 5),
    ],
    ids=str,
)
def test_ranges(limits: Range, words: str, inside: float, outside: float) -> None:
    assert str(limits) == words
    assert inside in limits
    assert outside not in limits
    assert math.nan not in limits


def test_what_is_allowed() -> None:
    chosen = Wider(1, 2.5, "ceres", (0.0, 1.0), {"x": 0.0}, more=3.0)
    assert (chosen.radius, chosen.more) == (2.5, 3.0)


@pytest.mark.parametrize(
    ("given", "option", "message"),
    [
        ({"steps": 0}, "steps", "steps must be at least 1, not 0"),
        ({"radius": -1.0, "solver": "ceres"}, "radius", "radius must be positive, not -1.0"),
        ({"radius": 1.0}, "radius", "radius requires solver = 'ceres'"),
        ({"ends": (0.5, 2.0)}, "ends", "ends must be from 0 to 1, not 2.0"),
        (
            {"limits": {"x": 1.0, "y": math.inf}},
            "limits",
            "limits.y must be zero or positive and finite, not inf",
        ),
        ({"limits": {"y": "1"}}, "limits", "limits.y must be a number, not '1'"),
        ({"limits": {"y": True}}, "limits", "limits.y must be a number, not True"),
        ({"size": -1.0}, "size", "size must be positive, not -1.0"),
        ({"parts": (1, 0)}, "parts", "parts must be at least 1, not 0"),
        ({"span": (1.0, 5.0)}, "span", "span must be above 10, not 5.0"),
        ({"span": (-1.0, 20.0)}, "span", "span must be zero or positive, not -1.0"),
        ({"steps": 1.5}, "steps", "steps must be a whole number, not 1.5"),
    ],
)
def test_what_is_refused(given: dict[str, object], option: str, message: str) -> None:
    for kind in (Search, Wider):
        with pytest.raises(OptionError) as caught:
            kind(**given)  # type: ignore[arg-type]
        assert str(caught.value) == message
        assert caught.value.option == option


def test_numbers_of_numpy_are_numbers() -> None:
    chosen = Search(steps=np.int64(3), size=np.float32(0.5))  # type: ignore[arg-type]
    assert (chosen.steps, chosen.size) == (3, 0.5)
    with refused(Code.OUT_OF_RANGE, OptionError, match="steps must be at least 1"):
        Search(steps=np.int64(0))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Plain:
    samples: Annotated[int, Range(least=1)] = 10


def test_a_class_of_its_own_is_checked_when_it_is_read() -> None:
    with refused(Code.OUT_OF_RANGE, ProblemError, match="samples .* -5"):
        build_dataclass(Plain, {"samples": -5}, table="[estimator]", name="mine")


def test_a_derived_class_adds_to_the_checks() -> None:
    with pytest.raises(ValueError, match="more must not be less"):
        Wider(steps=5)


def test_in_a_file_the_line_of_the_option_is_reported() -> None:
    def where(key: str | None) -> Location:
        return Location("problem.toml", {"steps": 3, "radius": 4}.get(key or "", 1))

    given = {"steps": 7, "radius": 1.0}
    with pytest.raises(ProblemError) as caught:
        build_dataclass(Search, given, table="[estimator]", name="mine", where=where)
    assert caught.value.location == Location("problem.toml", 4)
    assert caught.value.message == (
        "[estimator]: options of 'mine': radius requires solver = 'ceres'"
    )


def test_a_table_of_the_options() -> None:
    assert option_rows(Wider) == (
        OptionRow("steps", "10", "an integer, at least 1", "At most."),
        OptionRow(
            "radius", "", "a number, positive, requires solver = 'ceres'", "Of `box`, in sizes."
        ),
        OptionRow("solver", "'scipy'", "'scipy' or 'ceres'", ""),
        OptionRow("ends", "", "a list of numbers, each from 0 to 1", "Of `box`, in sizes."),
        OptionRow(
            "limits", "", "a table, each value a number, each zero or positive and finite", ""
        ),
        OptionRow("size", "", "a number, positive", ""),
        OptionRow("parts", "", "a list of integers, each at least 1", ""),
        OptionRow(
            "span",
            "[0.0, 20.0]",
            "a list of 2 numbers, each zero or positive, each above 10",
            "",
        ),
        OptionRow("more", "1.0", "a number, positive", "Than others."),
    )


@pytest.mark.parametrize("registry", ["estimators", "costs"])
def test_every_option_is_described(registry: str) -> None:
    missing = [
        f"{r.name}: {row.name}"
        for r in getattr(load_plugins(), registry)
        for row in option_rows(getattr(r.item, "options_type", r.item))
        if not row.meaning
    ]
    assert not missing


def test_options_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "cma-es"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert '[estimator] name = "cma-es"' in said
    assert "population an integer, at least 4" in said
    assert main(["plugins", "cma"]) == 2
    assert "nearest name: 'cma-es'" in capsys.readouterr().err
