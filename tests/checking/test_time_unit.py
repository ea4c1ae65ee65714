"""Time columns that are in another unit than the one that is assumed."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fmident.checking import CheckReport, start_findings
from fmident.checking.samples import time_column_findings, unit_in_name
from fmident.checking.subject import Subject
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter, Problem

from .rig import FORCE, TIMES, TRUE, figures, only, oscillator, parameters, rules

Check = Callable[..., CheckReport]
START = {"m": 1.2, "c": 0.7, "k": 8.0}


def recorded(
    factor: float, column: str = "time", unit: str | None = None, gain: float = 1.0
) -> Problem:
    """Return the oscillator with times that are larger by a factor than they were in s."""
    x = gain * oscillator(TIMES, {"F": FORCE}, **TRUE)["x"]
    x = x + 1e-3 * np.random.default_rng(0).normal(size=TIMES.size)
    problem = python_problem({"x": x}, TIMES * factor, parameters(**START), inputs={"F": FORCE})
    (experiment,) = problem.experiments
    changed = dataclasses.replace(experiment, time_column=column, time_unit=unit)
    return dataclasses.replace(problem, experiments=(changed,))


def suspected(report: CheckReport) -> str:
    """Return the unit that the hint proposes."""
    found = re.search(r"\w+ \[(\w+)\]", only(report, "time-unit-suspicious").hint or "")
    assert found is not None
    return found[1]


@pytest.mark.parametrize(("factor", "unit"), [(1e3, "ms"), (1e6, "us")])
def test_times_that_seconds_do_not_explain(factor: float, unit: str, check: Check) -> None:
    assert suspected(check(recorded(factor))) == unit


def swing(times: np.ndarray, inputs: Any, length: float, d: float) -> dict[str, np.ndarray]:
    return {"phi": np.exp(-d * times) * np.cos(np.sqrt(9.81 / length) * times)}


def swinging(length: float, factor: float) -> Problem:
    """Return ten periods of a pendulum of 9 m, by times that are larger by a factor than in s."""
    times = np.arange(0.0, 60.0, 0.5)
    measured = swing(times, {}, 9.0, 0.01)["phi"]
    free = [Parameter("length", length, 0.5, 200.0, variable="length"), *parameters(d=0.02)]
    problem = python_problem({"phi": measured}, factor * times, free)
    named = dataclasses.replace(problem.experiments[0], time_column="time")
    return dataclasses.replace(problem, experiments=(named,))


@pytest.mark.parametrize("length", [8.0, 9.0, 11.0])
def test_milliseconds_of_an_oscillation_that_the_start_has_out_of_phase(
    length: float, check: Check
) -> None:
    assert suspected(check(swinging(length, 1e3), swing)) == "ms"


@pytest.mark.parametrize("length", [1.0, 3.0, 8.0, 11.0, 30.0, 90.0])
def test_an_oscillation_in_seconds_is_not_suspected(length: float, check: Check) -> None:
    assert "time-unit-suspicious" not in rules(check(swinging(length, 1.0), swing))


def test_a_header_that_says_seconds_is_believed(check: Check) -> None:
    assert "time-unit-suspicious" not in rules(check(recorded(1e3, unit="s")))


def test_estimate_sees_it_before_the_search() -> None:
    problem = recorded(1e3)
    with Evaluator(problem, PythonExecutor(problem, oscillator)) as evaluator:
        found = start_findings(problem, evaluator)
        assert "time-unit-suspicious" in {d.code for d in found}
        assert evaluator.simulations < 400


@pytest.mark.parametrize("start", [START, {"m": 4.0, "c": 0.2, "k": 3.0}])
def test_times_in_seconds_are_not_suspected(start: dict[str, float], check: Check) -> None:
    problem = recorded(1.0)
    chosen = tuple(parameters(**start))
    assert "time-unit-suspicious" not in rules(
        check(dataclasses.replace(problem, parameters=chosen))
    )


def heating(times: np.ndarray, inputs: Any, a: float, tau: float) -> dict[str, np.ndarray]:
    return {"T": a * (1.0 - np.exp(-times / tau))}


def heated(start: float, factor: float = 1.0, widest: float = 1e4) -> Problem:
    """Return an hour of heating, by times that are larger by a factor than in s."""
    times = np.arange(0.0, 3600.0, 10.0)
    measured = heating(times, {}, 5.0, 900.0)["T"]
    tau = Parameter("tau", start, start / widest, start * widest, variable="tau")
    problem = python_problem({"T": measured}, factor * times, [*parameters(a=6.0), tau])
    named = dataclasses.replace(problem.experiments[0], time_column="time")
    return dataclasses.replace(problem, experiments=(named,))


@pytest.mark.parametrize("off", [5.0, 30.0, 300.0, 400.0, 1000.0])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_no_wrong_start_is_suspected(off: float, side: float, check: Check) -> None:
    assert "time-unit-suspicious" not in rules(check(heated(900.0 * off**side), heating))


def test_milliseconds_that_the_bounds_tell_from_a_wrong_start(check: Check) -> None:
    assert "time-unit-suspicious" in rules(check(heated(700.0, 1e3, widest=50.0), heating))
    found = only(check(heated(700.0, 1e3), heating), "time-unit-open")
    assert found.severity == "note"
    assert "'tau' = " in found.text


@pytest.mark.parametrize(
    ("column", "unit"),
    [("Date", "d"), ("time_ms", "ms"),
     ("ms", "ms"), ("tMs", "ms"), ("Time ms", "ms"), ("t_us", "us"),
     ("time", None), ("t", None), ("timestamp", None), ("items", None), ("terms", None)],
)  # fmt: skip
def test_units_in_names(column: str, unit: str | None) -> None:
    assert unit_in_name(column) == unit


def test_a_name_that_says_milliseconds_is_a_warning(check: Check) -> None:
    assert suspected(check(recorded(1e3, column="time_ms"))) == "ms"
    assert "time-unit-suspicious" not in rules(check(recorded(1.0, column="time_ms", unit="s")))


def test_milliseconds_since_1970_are_suspected() -> None:
    problem = recorded(1e3)
    (experiment,) = problem.experiments
    late = dataclasses.replace(experiment, times=experiment.times + 1.7e12)
    (found,) = time_column_findings(
        Subject(dataclasses.replace(problem, experiments=(late,)), None, inert_allowed=False)
    )
    assert figures(found.text) == [1.7e12, 1970.0]
    assert "'time [ms]'" in (found.hint or "")
    seconds = dataclasses.replace(experiment, times=experiment.times / 1e3 + 1.7e9)
    subject = Subject(
        dataclasses.replace(problem, experiments=(seconds,)), None, inert_allowed=False
    )
    assert not list(time_column_findings(subject))
