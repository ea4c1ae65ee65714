"""Samples, inputs, units and dynamics: every finding, and that sound data have none."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from fmident.checking import CheckReport
from fmident.checking.dynamics import time_constants
from fmident.checking.factors import confused_unit, unit_factor
from fmident.evaluation import python_problem
from fmident.fmu import ModelDescription, Variable
from fmident.problem.model import Parameter, Problem

from .rig import FORCE, TIMES, TRUE, oscillator, parameters, rules

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


def message(report: CheckReport, rule: str) -> str:
    found = [d for d in report.findings if d.rule == rule]
    assert len(found) == 1, report.findings
    return found[0].message


# ---------------------------------------------------------------- samples


def test_a_gap(check: Check) -> None:
    kept = (TIMES < 4.0) | (TIMES > 4.5)
    times = TIMES[kept]
    y = oscillator(TIMES, {"F": FORCE}, **TRUE)["x"][kept] + noise(times.size)

    def model(t: np.ndarray, inputs: Any, **values: float) -> Any:
        x = oscillator(TIMES, {"F": FORCE}, **values)["x"]
        return {"x": np.interp(t, TIMES, x)}

    problem = python_problem(
        {"x": y}, times, parameters(**TRUE), sigma=1e-3, inputs={"F": FORCE[kept]}
    )
    report = check(problem, model)
    assert "a gap of 0.54 s after 3.98 s" in message(report, "gap")
    assert report.can_be_estimated


def test_instants_that_are_nearly_the_same(check: Check) -> None:
    times = np.sort(np.append(TIMES, TIMES[100] + 1e-9))

    def line(t: np.ndarray, inputs: Any, a: float) -> Any:
        return {"y": a * t}

    problem = python_problem({"y": times + noise(times.size)}, times, parameters(a=1.1), sigma=1e-3)
    assert "only 1e-09 s apart" in message(check(problem, line), "instants-nearly-equal")


def test_irregular_samples_are_mentioned(check: Check) -> None:
    times = np.sort(np.random.default_rng(0).uniform(0.0, 10.0, 400))

    def line(t: np.ndarray, inputs: Any, a: float) -> Any:
        return {"y": a * t}

    problem = python_problem({"y": times + noise(400)}, times, parameters(a=1.1), sigma=1e-3)
    report = check(problem, line)
    assert "are not equidistant" in message(report, "irregular-sampling")
    assert report.headline == "Can be estimated."


def test_an_output_that_never_changes(check: Check) -> None:
    report = check(with_measurement(problem_with(), values=np.full(TIMES.size, 0.3)))
    assert "is 0.3 at all times" in message(report, "output-constant")


def test_coarse_steps_of_a_sensor(check: Check) -> None:
    exact = oscillator(TIMES, {"F": FORCE}, **TRUE)["x"]
    rounded = np.round(exact / 0.02) * 0.02
    problem = with_measurement(problem_with(), values=rounded)
    report = check(problem)
    assert "0.02 apart: its noise is at least 0.0058, not 0.001" in message(report, "quantised")
    honest = with_measurement(problem, sigma=np.array(0.006))
    assert "quantised" not in rules(check(honest))


def test_delays_below_a_sample_and_beyond_the_record(check: Check) -> None:
    short = check(with_measurement(problem_with(), delay=0.005))
    assert "below one sample (0.02 s)" in message(short, "delay-below-sample")
    long = check(with_measurement(problem_with(), delay=8.0))
    assert "more than half" in message(long, "delay-long")
    right = with_measurement(problem_with(), delay="shift")
    shift = Parameter("shift", 0.01, 0.0, 0.2)
    right = dataclasses.replace(right, parameters=(*right.parameters, shift))
    assert not {"delay-below-sample", "delay-long"} & rules(check(right))


# ---------------------------------------------------------------- inputs


def test_an_input_that_does_not_move(check: Check) -> None:
    still = problem_with(force=np.zeros(TIMES.size))
    report = check(still)
    assert "the input 'F' is constant: nothing drives the model" in message(
        report, "input-constant"
    )
    assert [d.severity for d in report.findings if d.rule == "input-constant"] == ["warning"]


def test_an_input_that_is_a_step_at_the_start_drives_the_model(check: Check) -> None:
    report = check(problem_with(force=np.ones(TIMES.size)))
    assert "only a step at the start" in message(report, "input-constant")
    assert [d.severity for d in report.findings if d.rule == "input-constant"] == ["note"]


def test_one_of_several_inputs_that_does_not_move(check: Check) -> None:
    problem = problem_with()
    experiment = problem.experiments[0]
    both = dataclasses.replace(experiment, inputs={**experiment.inputs, "G": np.zeros(TIMES.size)})
    report = check(dataclasses.replace(problem, experiments=(both,)))
    assert [d.severity for d in report.findings if d.rule == "input-constant"] == ["note"]


def test_inputs_that_repeat_each_other(check: Check) -> None:
    problem = problem_with()
    experiment = problem.experiments[0]
    both = dataclasses.replace(experiment, inputs={**experiment.inputs, "G": 2.0 * FORCE})
    report = check(dataclasses.replace(problem, experiments=(both,)))
    assert "proportional to each other" in message(report, "inputs-alike")


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
    ("factor", "words"),
    [(180.0 / np.pi, "deg for rad"), (60.0 / (2.0 * np.pi), "rpm for rad/s")],
)
def test_speed_that_is_not_the_derivative_of_the_position(
    check: Check, factor: float, words: str
) -> None:
    report = check(inverse(factor), torque, description=INVERSE)
    text = message(report, "units-of-inputs-differ")
    assert f"'w' of experiment 'data' is {str(factor)[:3]}" in text
    assert "times the derivative of 'q'" in text
    assert words in text


def test_speed_with_the_sign_reversed(check: Check) -> None:
    report = check(inverse(-1.0), torque, description=INVERSE)
    assert "with the sign reversed" in message(report, "signs-of-inputs-differ")


def test_speed_in_the_right_unit(check: Check) -> None:
    assert check(inverse(1.0), torque, description=INVERSE).findings == ()


def test_values_outside_of_the_models_range(check: Check) -> None:
    narrow = description(
        q=dataclasses.replace(INVERSE.by_name["q"], minimum=-0.5, maximum=0.5),
        J=dataclasses.replace(INVERSE.by_name["J"], maximum=0.55, start=1e-3),
    )
    report = check(inverse(1.0), torque, description=narrow)
    assert "runs from -1 to 1, while the model allows -0.5 to 0.5 rad" in message(
        report, "input-outside-range"
    )
    assert "'J' lies outside of the range 0 to 0.55 kg.m2" in message(
        report, "initial-outside-range"
    )
    wide = description(J=dataclasses.replace(INVERSE.by_name["J"], minimum=0.5, start=1e-3))
    report = check(inverse(1.0), torque, description=wide)
    assert "bounds of 'J' reach beyond the range 0.5 to inf" in message(
        report, "bounds-outside-range"
    )
    small = description(J=dataclasses.replace(INVERSE.by_name["J"], start=6e-4))
    report = check(inverse(1.0), torque, description=small)
    assert "1e+03 times the model's own value" in message(report, "initial-far-from-model")


# ---------------------------------------------------------------- units


def test_factors_between_units() -> None:
    assert unit_factor(1000.0).large.startswith("mm")
    assert unit_factor(1.0 / 1005.0).large.startswith("mm")
    assert unit_factor(57.3).large == "deg"
    assert unit_factor(6.2832).large.startswith("rad/s")
    assert unit_factor(9.5493).large == "rpm"
    assert unit_factor(2.0) is None
    assert unit_factor(0.0) is None
    assert unit_factor(float("nan")) is None


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
    text = message(report, "unit-suspicious")
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
    text = message(check(rpm), "unit-suspicious")
    assert text.endswith("but is 10.31 times as large: rpm instead of rad/s?")


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


def test_units_that_numbers_without_one_may_be_in() -> None:
    found = confused_unit(9.549 * 1.15, "rad/s")
    assert found is not None
    assert (found.small, found.large) == ("rad/s", "rpm")
    slower = confused_unit(-1.0 / 60.0, "rpm")
    assert slower is not None
    assert (slower.small, slower.large) == ("rev/s", "rpm")
    assert confused_unit(9.549 * 1.3, "rad/s") is None
    assert confused_unit(9.549, "no unit at all") is None
    assert confused_unit(float("nan"), "rad/s") is None


def test_a_sign(check: Check) -> None:
    report = check(problem_with(factor=-1.0))
    assert "is the sign reversed?" in message(report, "sign-suspicious")
    assert "?." not in report.headline


def test_a_huge_ratio_counts_without_the_same_shape(check: Check) -> None:
    start = {"m": 5.0, "c": 4.0, "k": 4.0}
    text = message(check(problem_with(factor=2000.0, start=start)), "magnitude-suspicious")
    assert "times as much as the simulated one: a unit (mm for m, N for kN)" in text


def test_degrees_celsius(check: Check) -> None:
    def heating(times: Any, inputs: Any, a: float) -> Any:
        return {"T": 293.15 + a * (1.0 - np.exp(-times))}

    celsius = 20.0 + 30.0 * (1.0 - np.exp(-TIMES)) + noise(TIMES.size, 0.1)
    problem = python_problem({"T": celsius}, TIMES, parameters(a=28.0), sigma=0.1)
    assert "kelvin and degC?" in message(check(problem, heating), "unit-suspicious")


@pytest.mark.parametrize("start", [{"m": 2.0, "c": 2.0, "k": 6.0}, {"m": 0.6, "c": 0.3, "k": 20.0}])
def test_wrong_initial_values_alone_raise_no_suspicion(
    check: Check, start: dict[str, float]
) -> None:
    report = check(problem_with(start=start))
    assert not {d.rule for d in report.findings if d.severity != "note"}


# ---------------------------------------------------------------- time


@pytest.mark.parametrize("lag", [0.06, -0.06])
def test_a_shift_in_time(check: Check, lag: float) -> None:
    x = oscillator(TIMES, {"F": FORCE}, **TRUE)["x"]
    shifted = np.interp(TIMES - lag, TIMES, x) + noise(TIMES.size)
    report = check(with_measurement(problem_with(), values=shifted))
    text = message(report, "time-shift")
    found = re.search(r"comes about (\S+) s \(\S+ samples\) (later|earlier)", text)
    assert found is not None
    assert float(found[1]) == pytest.approx(0.06, rel=0.1)
    assert found[2] == ("later" if lag > 0.0 else "earlier")


def test_a_shift_that_is_estimated_raises_no_suspicion(check: Check) -> None:
    x = oscillator(TIMES, {"F": FORCE}, **TRUE)["x"]
    shifted = np.interp(TIMES - 0.06, TIMES, x) + noise(TIMES.size)
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


def test_time_constants_of_linear_models() -> None:
    times = np.linspace(0.0, 10.0, 2001)
    force = np.interp(times, TIMES, FORCE)
    x = oscillator(times, {"F": force}, **TRUE)["x"]
    found = time_constants(times, x[:, np.newaxis], {"F": force})
    np.testing.assert_allclose(found, 1.0 / 3.0, rtol=0.01)
    two = 2.0 * np.exp(-times / 0.1) + np.exp(-times / 3.0)
    np.testing.assert_allclose(time_constants(times, two[:, np.newaxis], {}), [0.1, 3.0], rtol=0.01)


def test_time_constants_of_static_and_non_linear_models_are_not_invented() -> None:
    times = np.linspace(0.0, 10.0, 2001)
    q = np.sin(3.0 * times) + 0.3 * np.sin(7.1 * times)
    static = (q**2 * np.cos(q))[:, np.newaxis]
    assert time_constants(times, static, {"q": q}).size == 0
    assert time_constants(times, 3.0 * q[:, np.newaxis], {"q": q}).size == 0
    assert time_constants(times, np.ones((times.size, 1)), {"q": q}).size == 0


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
    assert "moves faster than it is sampled" in message(report, "aliasing")
    assert "above half the sampling rate (2.5 Hz)" in message(report, "aliasing")


def test_a_record_that_is_too_short(check: Check) -> None:
    def slow(times: Any, inputs: Any, a: float, tau: float) -> Any:
        return {"y": a * (1.0 - np.exp(-times / tau))}

    y = slow(TIMES, {}, 1.0, 60.0)["y"] + noise(TIMES.size)
    problem = python_problem({"y": y}, TIMES, parameters(a=1.1, tau=55.0), sigma=1e-3)
    text = message(check(problem, slow), "record-too-short")
    assert "lasts 9.98 s, while the slowest time constant of the model is about 55 s" in text


def test_fast_modes_between_the_samples(check: Check) -> None:
    def lag(times: Any, inputs: Any, a: float, tau: float) -> Any:
        return {"y": a * (1.0 - np.exp(-times / tau)) + np.exp(-times / 2.0)}

    times = np.arange(0.0, 10.0, 0.1)
    y = lag(times, {}, 1.0, 0.02)["y"] + noise(times.size)
    problem = python_problem({"y": y}, times, parameters(a=1.1, tau=0.03), sigma=1e-3)
    text = message(check(problem, lag), "sampling-slow")
    assert "about 0.03 s, but experiment 'data' is sampled every 0.1 s" in text


def test_an_input_that_is_too_slow(check: Check) -> None:
    times = np.arange(0.0, 200.0, 0.05)
    slow = problem_with(times=times, force=1.0 - np.cos(2.0 * np.pi * times / 100.0))
    assert "only what holds at rest is seen" in message(check(slow), "input-too-slow")
    assert "input-too-slow" not in rules(check(problem_with()))
