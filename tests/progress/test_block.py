from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmident.progress.block import (
    BLOCKS,
    PLAIN,
    PLAIN_BLOCKS,
    Letters,
    block,
    closing_line,
    falling,
    spark,
)
from fmident.progress.state import RunState

from ..properties import examples
from .screens import NAMES, Clock, iteration, plan


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def state(clock: Clock) -> RunState:
    found = RunState(clock)
    found.planned(plan(stage="coarse", number=1, stages=2))
    for number in range(11):
        found.rate()
        clock.now += 0.5
        found.iteration(iteration(number, "coarse"))
    found.generation = (20, 7)
    found.activity("simulations", 4, 10)
    return found


def test_a_block_tells_what_is_done_how_fast_and_what_is_left(state: RunState) -> None:
    lines = block(state, 79, 24, Letters())
    assert lines[0].startswith("stage 'coarse' (1 of 2)  cma-es  iteration 10  101 simulations")
    # 101 simulations in 5.5 s; 299 are left.
    assert "25 %  101 of about 400 simulations" in lines[1]
    assert "18.4/s" in block(state, 120, 24, Letters())[0]
    assert lines[1].endswith("about 16.3 s left")
    assert len(lines[1]) <= 79
    assert lines[2] == f"generation  {'━' * 9}{'─' * 15}  4 of 10 simulations"
    assert lines[3].startswith("7 of 20 vectors near the best")
    cost, first, second, still = lines[4:]
    assert cost.split() == ["best", "cost", "0.909091", "█▆▅▄▃▃▂▂▂▁▁", "from", "10"]
    assert first.split() == [NAMES[0], "3", "▁▂▂▃▄▅▅▆▇▇█", "from", "2"]
    assert second.split() == [NAMES[1], "3", "█▇▇▆▅▅▄▃▂▂▁", "from", "4"]
    assert still.split() == [NAMES[2], "0.0001", "▁" * 11, "from", "0.0001"]


@pytest.mark.parametrize("letters", [Letters(), PLAIN])
def test_no_line_is_too_long_and_no_word_is_cut(state: RunState, letters: Letters) -> None:
    drawn = re.escape(letters.all)
    whole = set(re.findall(rf"[^\s{drawn}]+", "\n".join(block(state, 200, 99, letters))))
    for width in range(1, 130):
        lines = block(state, width, 99, letters)
        assert all(len(line) <= width for line in lines)
        words = set(re.findall(rf"[^\s{drawn}]+", "\n".join(lines)))
        if width >= 33:
            assert words <= whole
    assert all(line.isascii() for line in block(state, 80, 24, PLAIN))


def test_work_that_is_no_simulation(clock: Clock) -> None:
    state = RunState(clock)
    state.work = ("building Tiny.Decay", 0, 4)
    first = block(state, 79, 24, Letters())
    assert first[0].startswith("building Tiny.Decay  ")
    assert first[1] == f"{'─' * 24}  0 of 4"
    clock.now += 6.0
    state.work = ("building Tiny.Other", 3, 4)
    assert block(state, 79, 24, Letters()) == [
        "building Tiny.Other  6 s",
        f"{'━' * 18}{'─' * 6}  3 of 4  about 2 s left",
    ]
    assert closing_line(state) == ""


def test_parameters_that_have_no_room_are_counted(state: RunState) -> None:
    for height in range(1, 12):
        assert len(block(state, 79, height, Letters())) <= height
    assert block(state, 79, 7, Letters())[-1] == "and 2 more parameters"


def test_starts_tell_how_many_agree(clock: Clock) -> None:
    state = RunState(clock)
    state.planned(plan(simulations=None))
    state.iteration(iteration(3, start=2.0, starts=4.0, local_cost=7.0))
    assert "0 of 4 ended" in block(state, 79, 24, PLAIN)[1]
    clock.now += 6.0
    for cost in (5.0, 2.0, 2.001):  # the third is within a thousandth of the second
        state.search_ended(cost)
    line = block(state, 79, 24, PLAIN)[1]
    assert line.endswith("3 of 4 ended  2 in the best minimum  about 2 s left")


def test_more_simulations_than_expected_promise_nothing(clock: Clock) -> None:
    state = RunState(clock)
    state.planned(plan(simulations=20))
    state.iteration(iteration(5))
    assert "left" not in "".join(block(state, 79, 24, PLAIN))
    assert "%" not in "".join(block(state, 79, 24, PLAIN))


def test_what_stays_of_a_stage_is_its_own(state: RunState, clock: Clock) -> None:
    assert closing_line(state) == (
        "stage 'coarse': 10 iterations, 101 simulations, 5.5 s; cost 10 -> 0.909091"
    )
    state.planned(plan(stage="fine", number=2, stages=2))
    state.iteration(iteration(11, "fine"))
    clock.now += 1.0
    state.iteration(iteration(13, "fine"))
    assert closing_line(state).startswith("stage 'fine': 2 iterations, 29 simulations, 1 s;")
    assert closing_line(RunState(clock)) == ""


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
