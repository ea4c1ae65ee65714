from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from fmident.progress.course import BLOCKS, PLAIN_BLOCKS, Course, falling, spark

from ..properties import examples


def test_a_course_of_any_length_is_kept_short_and_ends_with_the_last_value() -> None:
    course = Course()
    for number in range(100_003):
        course.add(float(number))
    values = course.values()
    assert len(values) < 200
    assert (values[0], values[-1]) == (0.0, 100_002.0)
    assert values == sorted(values)
    assert course.values() == values  # to look at it changes nothing


def test_a_spark_rises_and_falls_with_its_values() -> None:
    assert spark([0, 1, 2, 3, 4, 5, 6, 7], 20) == BLOCKS
    assert spark([7, 0, 7], 20, PLAIN_BLOCKS) == "#_#"
    assert spark([3.0, 3.0], 20) == BLOCKS[0] * 2
    assert spark([], 20) == ""
    assert spark([1.0, math.inf, math.nan, 2.0], 20) == BLOCKS[0] + BLOCKS[-1]


@examples(100)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True)), st.integers(-3, 40))
def test_a_spark_of_anything_fits(values: list[float], width: int) -> None:
    assert len(spark(values, width)) <= max(width, 0)
    assert set(spark(falling(values), width)) <= set(BLOCKS)


def test_the_fall_of_a_cost_over_decades_is_seen() -> None:
    assert spark(falling([1e6, 1e4, 1e2, 1.0]), 4) == "█▆▃▁"
    assert falling([1.0, 0.0]) == [1.0, 0.0]
