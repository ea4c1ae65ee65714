"""Time columns that are in another unit than the one that is assumed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fmident.checking import CheckReport, start_findings
from fmident.checking.subject import Subject
from fmident.checking.time_unit import named_time_findings, unit_in_name
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Problem

from .rig import FORCE, TIMES, TRUE, oscillator, parameters, rules

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


def suspicion(report: CheckReport) -> str:
    found = [d for d in report.findings if d.rule == "time-unit-suspicious"]
    assert len(found) == 1, report.findings
    return f"{found[0].message} {found[0].hint}"


@pytest.mark.parametrize(("factor", "unit"), [(1e3, "ms"), (1e6, "us")])
def test_times_that_seconds_do_not_explain(factor: float, unit: str, check: Check) -> None:
    text = suspicion(check(recorded(factor)))
    assert f"seems to be in {unit}: with samples every" in text
    assert f"'time [{unit}]'" in text
    assert "no unit is in its header" in text


def test_a_header_that_says_seconds_is_suspected_too(check: Check) -> None:
    assert "its header says s" in suspicion(check(recorded(1e3, unit="s")))


def test_what_estimate_looks_at_for_free_sees_it() -> None:
    problem = recorded(1e3)
    with Evaluator(problem, PythonExecutor(problem, oscillator)) as evaluator:
        found = start_findings(problem, evaluator)
        assert "time-unit-suspicious" in {d.rule for d in found}
        assert evaluator.simulations <= 3


@pytest.mark.parametrize("start", [START, {"m": 4.0, "c": 0.2, "k": 3.0}])
def test_times_in_seconds_are_not_suspected(start: dict[str, float], check: Check) -> None:
    problem = recorded(1.0)
    chosen = tuple(parameters(**start))
    assert "time-unit-suspicious" not in rules(
        check(dataclasses.replace(problem, parameters=chosen))
    )


def test_slow_models_whose_start_is_wrong_are_not_suspected(check: Check) -> None:
    def heating(times: np.ndarray, inputs: Any, a: float, tau: float) -> dict[str, np.ndarray]:
        return {"T": a * (1.0 - np.exp(-times / tau))}

    times = np.arange(0.0, 3600.0, 10.0)
    measured = heating(times, {}, 5.0, 900.0)["T"]
    problem = python_problem({"T": measured}, times, parameters(a=8.0, tau=100.0))
    (experiment,) = problem.experiments
    named = dataclasses.replace(experiment, time_column="time")
    report = check(dataclasses.replace(problem, experiments=(named,)), heating)
    assert "time-unit-suspicious" not in rules(report)


@pytest.mark.parametrize(
    ("column", "unit"),
    [("Date", "d"), ("time_ms", "ms"),
     ("ms", "ms"), ("tMs", "ms"), ("Time ms", "ms"), ("t_us", "us"),
     ("time", None), ("t", None), ("timestamp", None), ("items", None), ("terms", None)],
)  # fmt: skip
def test_units_in_names(column: str, unit: str | None) -> None:
    assert unit_in_name(column) == unit


def test_a_name_that_says_milliseconds_is_a_warning(check: Check) -> None:
    text = suspicion(check(recorded(1e3, column="time_ms")))
    assert "named as if it were in ms" in text
    assert "'time_ms [ms]'" in text
    assert "time-unit-suspicious" not in rules(check(recorded(1.0, column="time_ms", unit="s")))


def test_milliseconds_since_1970_are_suspected() -> None:
    problem = recorded(1e3)
    (experiment,) = problem.experiments
    late = dataclasses.replace(experiment, times=experiment.times + 1.7e12)
    (found,) = named_time_findings(Subject(dataclasses.replace(problem, experiments=(late,))))
    assert "begins at 1.7e+12, as if it counted from 1970 in ms" in found.message
    assert "'time [ms]'" in (found.hint or "")
    seconds = dataclasses.replace(experiment, times=experiment.times / 1e3 + 1.7e9)
    assert not named_time_findings(Subject(dataclasses.replace(problem, experiments=(seconds,))))
