from __future__ import annotations

import doctest
import math

import pytest

from fmident import words
from fmident.words import duration, interval, plain, with_error


def test_examples_in_the_docstrings() -> None:
    assert doctest.testmod(words).failed == 0


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (95.10893, 0.10852, ("95.11", "0.11")),
        (203.5034, 1.146, ("203.5", "1.1")),
        (1.44e-4, 2.34e-6, ("1.440e-04", "0.023e-04")),
        (1.44e-7, 2.34e-9, ("1.440e-07", "0.023e-07")),
        (123456.7, 4321.0, ("123457", "4321")),
        (0.1, 0.0996, ("0.10", "0.10")),
        (0.0, 0.03, ("0.000", "0.030")),
        (9.81, math.nan, ("9.81", "n/a")),
        (9.81, math.inf, ("9.81", "infinite")),
        (9.81, 0.0, ("9.81", "0")),
    ],
)
def test_value_and_error_share_their_last_digit(
    value: float, error: float, expected: tuple[str, str]
) -> None:
    assert with_error(value, error) == expected


def test_open_intervals_are_words() -> None:
    assert interval((-math.inf, math.inf), math.nan) == "unbounded"
    assert interval((math.nan, math.nan), math.nan) == "n/a"
    assert interval((0.0, math.inf), 0.1) == "above 0.00"


def test_zero_is_zero() -> None:
    assert plain(0.0) == "0"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0123, "12.3 ms"), (119.0, "119 s"), (120.0, "2 min"), (205.0, "3 min 25 s"),
        (7199.6, "2 h"), (7500.0, "2 h 5 min"), (172800.0, "2 d"), (1.2e6, "13 d 21 h"),
        (float("nan"), "n/a"),
    ],
)  # fmt: skip
def test_durations_have_the_unit_that_suits_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
