"""Samples, inputs, units and times: every finding, and that sound data have none."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from fmident.checking import CheckReport
from fmident.checking.magnitudes import confused_unit, unit_factor
from fmident.errors import Severity
from fmident.evaluation import python_problem
from fmident.fmu import ModelDescription, Variable
from fmident.problem.model import Parameter, Problem

from .rig import FORCE, TIMES, TRUE, figures, only, oscillator, parameters, rules

Check = Callable[..., CheckReport]


def noise(count: int, scale: float = 1e-3) -> np.ndarray:
    return scale * np.random.default_rng(2).normal(size=count)


def problem_with(
    times: np.ndarray = TIMES,
    force: np.ndarray | None = None,
    start: Mapping[str, float] | None = None,
    factor: float = 1.0,
    **options: Any,
) -> Problem:
    f = np.interp(times, TIMES, FORCE) if force is None else force
    x = factor * oscillator(times, {"F": f}, **TRUE)["x"]
    chosen = parameters(**(start or {"m": 1.05, "c": 0.85, "k": 8.7}))
    options = {"sigma": 1e-3 * abs(factor), **options}
    measured = x + noise(times.size, 1e-3 * abs(factor))
    return python_problem({"x": measured}, times, chosen, inputs={"F": f}, **options)


def with_measurement(problem: Problem, **changes: Any) -> Problem:
    experiment = problem.experiments[0]
    measurement = dataclasses.replace(experiment.measurements[0], **changes)
    changed = dataclasses.replace(experiment, measurements=(measurement,))
    return dataclasses.replace(problem, experiments=(changed,))


def with_input(**inputs: np.ndarray) -> Problem:
    problem = problem_with()
    experiment = problem.experiments[0]
    both = dataclasses.replace(experiment, inputs={**experiment.inputs, **inputs})
    return dataclasses.replace(problem, experiments=(both,))


def line(t: np.ndarray, inputs: Any, a: float) -> Any:
    return {"y": a * t}


def line_at(times: np.ndarray) -> Problem:
    return python_problem({"y": times + noise(times.size)}, times, parameters(a=1.1), sigma=1e-3)


EXACT = oscillator(TIMES, {"F": FORCE}, **TRUE)["x"]


@pytest.mark.parametrize(
    ("problem", "model", "rule", "severity", "numbers"),
    [
        (
            line_at(np.sort(np.append(TIMES, TIMES[100] + 1e-9))),
            line,
            "instants-nearly-equal",
            "warning",
            [2.0, 1e-9, 1.0],
        ),
        (
            line_at(np.sort(np.random.default_rng(0).uniform(0.0, 10.0, 400))),
            line,
            "irregular-sampling",
            "note",
            [],
        ),
        (
            with_measurement(problem_with(), values=np.full(TIMES.size, 0.3)),
            oscillator,
            "output-constant",
            "warning",
            [0.3],
        ),
        (
            with_measurement(problem_with(), values=np.round(EXACT / 0.02) * 0.02),
            oscillator,
            "quantised",
            "warning",
            [0.02, 0.0058, 0.001],
        ),
        (
            with_measurement(problem_with(), delay=0.005),
            oscillator,
            "delay-below-sample",
            "note",
            [0.005, 0.02],
        ),
        (with_measurement(problem_with(), delay=8.0), oscillator, "delay-long", "warning", [9.98]),
        (problem_with(force=np.zeros(TIMES.size)), oscillator, "input-constant", "warning", []),
        # A step at the start drives the model; one of several inputs may be held on purpose.
        (problem_with(force=np.ones(TIMES.size)), oscillator, "input-constant", "note", []),
        (with_input(G=np.zeros(TIMES.size)), oscillator, "input-constant", "note", []),
        (with_input(G=2.0 * FORCE), oscillator, "inputs-alike", "note", []),
        (problem_with(factor=-1.0), oscillator, "sign-suspicious", "warning", []),
        (
            problem_with(factor=2000.0, start={"m": 5.0, "c": 4.0, "k": 4.0}),
            oscillator,
            "magnitude-suspicious",
            "warning",
            [],
        ),
    ],
)
def test_what_is_found_in_data(
    problem: Problem,
    model: Any,
    rule: str,
    severity: Severity,
    numbers: list[float],
    check: Check,
) -> None:
    report = check(problem, model)
    found = only(report, rule)
    assert found.severity == severity
    assert {*numbers} <= {*figures(found.text)}
    assert "?." not in report.headline


def test_a_gap(check: Check) -> None:
    kept = (TIMES < 4.0) | (TIMES > 4.5)
    times = TIMES[kept]

    def model(t: np.ndarray, inputs: Any, **values: float) -> Any:
        x = oscillator(TIMES, {"F": FORCE}, **values)["x"]
        return {"x": np.interp(t, TIMES, x)}

    problem = python_problem(
        {"x": EXACT[kept] + noise(times.size)},
        times,
        parameters(**TRUE),
        sigma=1e-3,
        inputs={"F": FORCE[kept]},
    )
    report = check(problem, model)
    assert figures(only(report, "gap").text)[:2] == [0.54, 3.98]
    assert report.can_be_estimated


def test_what_is_right_is_not_reported(check: Check) -> None:
    rounded = with_measurement(
        problem_with(), values=np.round(EXACT / 0.02) * 0.02, sigma=np.array(0.006)
    )
    assert "quantised" not in rules(check(rounded))
    right = with_measurement(problem_with(), delay="shift")
    shift = Parameter("shift", 0.01, 0.0, 0.2)
    right = dataclasses.replace(right, parameters=(*right.parameters, shift))
    assert not {"delay-below-sample", "delay-long"} & rules(check(right))


# ---------------------------------------------------------------- inputs and the model's ranges


def description(**variables: Variable) -> ModelDescription:
    return ModelDescription("model", "guid", "2.0", "model", tuple(variables.values()))


INVERSE = description(
    q=Variable("q", 1, causality="input", unit="rad"),
    w=Variable("w", 2, causality="input", unit="rad/s"),
    tau=Variable("tau", 3, causality="output", unit="N.m"),
    J=Variable("J", 4, causality="parameter", unit="kg.m2", start=0.5, minimum=0.0),
)


def inverse(factor: float) -> Problem:
    q, w = np.sin(3.0 * TIMES), factor * 3.0 * np.cos(3.0 * TIMES)
    tau = 0.5 * q + 0.2 * w + noise(TIMES.size)
    chosen = [*parameters(J=0.6), Parameter("d", 0.15, 0.0, 1.0, variable="d")]
    return python_problem({"tau": tau}, TIMES, chosen, sigma=1e-3, inputs={"q": q, "w": w})


def torque(times: Any, inputs: Any, J: float, d: float) -> Any:
    return {"tau": J * inputs["q"] + d * inputs["w"]}


@pytest.mark.parametrize(
    ("factor", "rule", "words"),
    [
        (180.0 / np.pi, "units-of-inputs-differ", "deg for rad"),
        (60.0 / (2.0 * np.pi), "units-of-inputs-differ", "rpm for rad/s"),
        (-1.0, "signs-of-inputs-differ", "'q'"),
    ],
)
def test_speed_that_is_not_the_derivative_of_the_position(
    check: Check, factor: float, rule: str, words: str
) -> None:
    found = only(check(inverse(factor), torque, description=INVERSE), rule)
    assert "'w'" in found.text
    assert words in found.text
    assert figures(found.text) == ([] if factor < 0.0 else [pytest.approx(factor, rel=0.01)])


def test_speed_in_the_right_unit(check: Check) -> None:
    assert check(inverse(1.0), torque, description=INVERSE).findings == ()


Q, J = INVERSE.by_name["q"], INVERSE.by_name["J"]


@pytest.mark.parametrize(
    ("variables", "rule", "numbers"),
    [
        (
            {"q": dataclasses.replace(Q, minimum=-0.5, maximum=0.5)},
            "input-outside-range",
            [-1.0, 1.0, -0.5, 0.5],
        ),
        (
            {"J": dataclasses.replace(J, maximum=0.55, start=1e-3)},
            "initial-outside-range",
            [0.6, 0.0, 0.55],
        ),
        (
            {"J": dataclasses.replace(J, minimum=0.5, start=1e-3)},
            "bounds-outside-range",
            [0.5],
        ),
        ({"J": dataclasses.replace(J, start=6e-4)}, "initial-far-from-model", [0.6, 1e3, 6e-4]),
    ],
)
def test_values_outside_of_the_models_range(
    variables: dict[str, Variable], rule: str, numbers: list[float], check: Check
) -> None:
    report = check(inverse(1.0), torque, description=description(**variables))
    assert figures(only(report, rule).text) == numbers


# ---------------------------------------------------------------- units


@pytest.mark.parametrize(
    ("ratio", "large"),
    [
        (1000.0, "mm or N"),
        (1.0 / 1005.0, "mm or N"),
        (57.3, "deg"),
        (6.2832, "rad/s or rad"),
        (9.5493, "rpm"),
        (2.0, None),
        (0.0, None),
        (float("nan"), None),
    ],
)
def test_factors_between_units(ratio: float, large: str | None) -> None:
    found = unit_factor(ratio)
    assert (None if found is None else found.large) == large


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1000.0, "mm or N instead of m or kN?"),
        (1e-3, "mm or N instead of m or kN?"),
        (180.0 / np.pi, "deg instead of rad?"),
        (60.0 / (2.0 * np.pi), "rpm instead of rad/s?"),
        (2.0 * np.pi, "rad/s or rad instead of Hz or turns?"),
    ],
)
def test_measured_in_another_unit(check: Check, factor: float, words: str) -> None:
    report = check(problem_with(factor=factor))
    text = only(report, "unit-suspicious").text
    assert f"the {'measured' if factor > 1.0 else 'simulated'} 'x'" in text
    assert words in text
    assert report.can_be_estimated


_OFF = {"m": 1.08, "c": 0.87, "k": 9.7}
"""Initial values that are 8 % away: the motion has the same shape and is 8 % smaller."""


def test_numbers_without_a_unit_are_suspected_though_initial_values_are_off(
    check: Check,
) -> None:
    rpm = with_measurement(
        problem_with(factor=60.0 / (2.0 * np.pi), start=_OFF), unit="rad/s", unit_given=False
    )
    text = only(check(rpm), "unit-suspicious").text
    assert figures(text) == [10.31]
    assert text.endswith("rpm instead of rad/s?")


@pytest.mark.parametrize(
    ("factor", "changes"),
    [
        (60.0 / (2.0 * np.pi), {"unit": "rad/s"}),  # the column says that it is in rad/s
        (60.0 / (2.0 * np.pi), {"unit": "m", "unit_given": False}),  # no length in rpm
        (2.0 * np.pi / 60.0, {"unit": "rad/s", "unit_given": False}),  # nor the wrong way round
        (2.0, {"unit": "rad/s", "unit_given": False}),
    ],
)
def test_initial_values_that_are_off_are_no_unit(
    check: Check, factor: float, changes: dict[str, Any]
) -> None:
    report = check(with_measurement(problem_with(factor=factor, start=_OFF), **changes))
    assert "unit-suspicious" not in rules(report), report.findings


@pytest.mark.parametrize(
    ("ratio", "unit", "pair"),
    [
        (9.549 * 1.15, "rad/s", ("rad/s", "rpm")),
        (-1.0 / 60.0, "rpm", ("rev/s", "rpm")),
        (9.549 * 1.3, "rad/s", None),
        (9.549, "no unit at all", None),
        (float("nan"), "rad/s", None),
    ],
)
def test_units_that_numbers_without_one_may_be_in(
    ratio: float, unit: str, pair: tuple[str, str] | None
) -> None:
    found = confused_unit(ratio, unit)
    assert (None if found is None else (found.small, found.large)) == pair


def test_degrees_celsius(check: Check) -> None:
    def heating(times: Any, inputs: Any, a: float) -> Any:
        return {"T": 293.15 + a * (1.0 - np.exp(-times))}

    celsius = 20.0 + 30.0 * (1.0 - np.exp(-TIMES)) + noise(TIMES.size, 0.1)
    problem = python_problem({"T": celsius}, TIMES, parameters(a=28.0), sigma=0.1)
    found = only(check(problem, heating), "unit-suspicious")
    assert figures(found.text) == pytest.approx([273.15], abs=5.0)


@pytest.mark.parametrize("start", [{"m": 2.0, "c": 2.0, "k": 6.0}, {"m": 0.6, "c": 0.3, "k": 20.0}])
def test_wrong_initial_values_alone_raise_no_suspicion(
    check: Check, start: dict[str, float]
) -> None:
    report = check(problem_with(start=start))
    assert not {d.code for d in report.findings if d.severity != "note"}


# ---------------------------------------------------------------- time


@pytest.mark.parametrize("lag", [0.06, -0.06])
def test_a_shift_in_time(check: Check, lag: float) -> None:
    shifted = np.interp(TIMES - lag, TIMES, EXACT) + noise(TIMES.size)
    report = check(with_measurement(problem_with(), values=shifted))
    found = only(report, "time-shift")
    seconds, samples = figures(found.text)
    assert seconds == pytest.approx(0.06, rel=0.1)
    assert samples == pytest.approx(3.0, rel=0.1)
    assert figures(found.hint) == [pytest.approx(lag, rel=0.1)]


def test_a_shift_that_is_estimated_raises_no_suspicion(check: Check) -> None:
    shifted = np.interp(TIMES - 0.06, TIMES, EXACT) + noise(TIMES.size)
    problem = with_measurement(problem_with(), values=shifted, delay="shift")
    shift = Parameter("shift", 0.01, 0.0, 0.2)
    problem = dataclasses.replace(problem, parameters=(*problem.parameters, shift))
    assert "time-shift" not in rules(check(problem))


def test_events_at_other_times_are_no_shift(check: Check) -> None:
    def break_away(times: Any, inputs: Any, load: float, speed: float) -> Any:
        """Return a force that builds up until it breaks away, again and again."""
        phase = np.mod(times * speed, load)
        return {"f": np.where(phase < 0.8 * load, phase, 0.2 * load)}

    measured = break_away(TIMES, {}, 1.0, 1.3)["f"] + noise(TIMES.size)
    problem = python_problem({"f": measured}, TIMES, parameters(load=1.1, speed=1.2), sigma=1e-3)
    assert "time-shift" not in rules(check(problem, break_away))


def test_samples_too_far_apart(check: Check) -> None:
    def ringing(times: Any, inputs: Any, w: float, d: float) -> Any:
        return {"y": np.exp(-d * times) * np.cos(w * times)}

    times = np.arange(0.0, 20.0, 0.2)
    y = ringing(times, {}, 2.0 * np.pi * 4.1, 0.1)["y"] + noise(times.size)
    chosen = [
        Parameter("w", 25.5, 20.0, 30.0, variable="w"),
        Parameter("d", 0.1, 0.01, 1.0, variable="d"),
    ]
    problem = python_problem({"y": y}, times, chosen, sigma=1e-3)
    report = check(problem, ringing)
    assert figures(only(report, "aliasing").text)[1] == 2.5  # half the sampling rate, Hz
    assert report.experiments[0].bandwidth == pytest.approx(25.5 / (2.0 * np.pi), rel=0.1)
