"""How far an estimation is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fmident_app.progress import Progress, progress_of, remaining

START = {"event": "start", "parameters": {"one": ["a", "b"], "two": ["b"]}}


def iteration(stage: str, number: int, values: list[float], simulations: int) -> dict[str, Any]:
    effort = {"simulations": simulations, "seconds": 0.5 * simulations}
    state = {"stage": stage, "number": number, "values": values, "cost": 8.0 / simulations}
    return {"event": "iteration", **state, **effort}


def test_before_the_first_iteration_there_is_none() -> None:
    assert progress_of([]) is None
    assert progress_of([START]) is None


def test_values_of_earlier_stages_stay() -> None:
    progress = progress_of(
        [START, iteration("one", 0, [1.0, 2.0], 1), iteration("one", 1, [3.0, 4.0], 2),
         iteration("two", 0, [5.0], 4), iteration("two", 1, [6.0], 8)]
    )  # fmt: skip
    assert progress is not None
    assert (progress.stage, progress.names) == ("two", ["b"])
    assert progress.best == {"a": 3.0, "b": 6.0}
    assert np.array_equal(progress.paths, [[5.0], [6.0]])
    assert np.array_equal(progress.costs, [2.0, 1.0])
    assert progress.text == "stage two, iteration 1, cost 1, 8 simulations in 4 s"


@pytest.mark.parametrize(
    ("forecast", "told"),
    [
        ({}, ""),
        ({"simulations": None, "seconds": None, "workers": 1}, ""),
        ({"simulations": 28, "workers": 1}, "about 10 s left, one simulation at a time"),
        ({"simulations": 1208, "workers": 4}, "about 10 min left, 4 simulations at a time"),
        ({"simulations": 28, "most": 48, "workers": 2},
         "about 10 s to 20 s left, 2 simulations at a time"),
        ({"simulations": 8, "most": 48, "workers": 2},
         "at most about 20 s left, 2 simulations at a time"),
        ({"simulations": 4, "workers": 2},
         "longer than the check expected, 2 simulations at a time"),
    ],
)  # fmt: skip
def test_the_time_left_follows_the_forecast_and_the_rate(
    forecast: dict[str, Any], told: str
) -> None:
    progress = progress_of([{**START, "parameters": {"": ["a"]}}, iteration("", 0, [1.0], 8)])
    assert isinstance(progress, Progress)
    assert remaining(progress, forecast) == told
