"""The extended Kalman filter against closed forms, on Python models and on an FMU."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmident.data.experiment import Experiment, Measurement
from fmident.errors import Code, ProblemError, SimulationError
from fmident.estimation import run_estimation
from fmident.estimation.contract import Flag, TimeSeriesEstimate
from fmident.evaluation import (
    Evaluator,
    InProcessExecutor,
    PythonExecutor,
    python_problem,
    simulation_setups,
)
from fmident.fmu import Fmu, open_fmu
from fmident.problem.model import EstimatorSettings, EvaluationSettings, Parameter, Problem
from fmident_estimators.extended_kalman.estimator import (
    ExtendedKalman,
    ExtendedKalmanOptions,
    Propagation,
)

from ...refused import refused

ROOT = Path(__file__).parents[3]
TIMES = np.linspace(0.0, 2.0, 81)


def line(times, inputs, a, b):
    return {"y": a * inputs["u"] + b}


def decay(times, inputs, k, x_start=1.0):
    return {"x": x_start * np.exp(-k * (times - times[0]))}


def track(problem: Problem, model: Any, **options: Any) -> TimeSeriesEstimate:
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        return ExtendedKalman().track(
            problem, problem.experiments[0], evaluator, ExtendedKalmanOptions(**options)
        )


def static_problem(sigma: float = 0.1, seed: int = 0) -> Problem:
    u = np.sin(5.0 * TIMES)
    y = 2.0 * u - 0.7 + sigma * np.random.default_rng(seed).normal(size=u.size)
    parameters = [Parameter("a", 1.0, variable="a"), Parameter("b", 0.5, variable="b")]
    return python_problem({"y": y}, TIMES, parameters, sigma=sigma, inputs={"u": u})


def test_a_linear_static_model_is_bayesian_least_squares() -> None:
    problem = static_problem()
    series = track(problem, line, initial_error={"a": 3.0, "b": 2.0})
    u, y = problem.experiments[0].inputs["u"], problem.experiments[0].measurements[0].values
    rows = np.column_stack([u, np.ones_like(u)])
    prior = np.diag([1.0 / 9.0, 1.0 / 4.0])
    for k in (0, 10, 80):
        information = prior + rows[: k + 1].T @ rows[: k + 1] / 0.01
        right = prior @ problem.initial + rows[: k + 1].T @ y[: k + 1] / 0.01
        np.testing.assert_allclose(series.values[k], np.linalg.solve(information, right), rtol=1e-6)
        errors = np.sqrt(np.diag(np.linalg.inv(information)))
        np.testing.assert_allclose(series.standard_errors[k], errors, rtol=1e-6)


def decay_problem(seed: int, sigma: float = 0.01, scaling: str = "linear") -> Problem:
    rng = np.random.default_rng(seed)
    x = 1.0 * np.exp(-1.3 * TIMES) + sigma * rng.normal(size=TIMES.size)
    parameters = [Parameter("k", 1.0, 0.1, 5.0, variable="k", scaling=scaling)]
    problem = python_problem({"x": x}, TIMES, parameters, sigma=sigma)
    start = dataclasses.replace(problem.experiments[0], start_values={"x_start": 1.0})
    return dataclasses.replace(problem, experiments=(start,))


STATES = {"states": {"x_start": "x"}}


@pytest.mark.each_time("log")
@pytest.mark.parametrize("scaling", ["linear", "log"])
def test_state_and_parameter_are_found_with_honest_errors(scaling: str) -> None:
    distances = []
    for seed in range(40):
        problem = decay_problem(seed, scaling=scaling)
        series = track(problem, decay, **STATES, initial_error={"x": 0.1, "k": 0.4})
        distances.append((series.values[-1, 0] - 1.3) / series.standard_errors[-1, 0])
    # The mean square of 40 normal numbers lies within 0.4 .. 1.9 but for 1 in 10 000.
    assert 0.4 < np.mean(np.square(distances)) < 1.9
    assert abs(np.mean(distances)) < 4.0 / np.sqrt(40)


def test_a_wrong_start_value_is_corrected() -> None:
    problem = decay_problem(0)
    wrong = dataclasses.replace(problem.experiments[0], start_values={"x_start": 1.5})
    problem = dataclasses.replace(problem, experiments=(wrong,))
    free = track(problem, decay, **STATES, initial_error={"x": 1.0}).values[-1, 0]
    trusted = track(problem, decay, **STATES).values[-1, 0]
    assert free == pytest.approx(1.3, abs=0.06)
    assert abs(trusted - 1.3) > 0.1


def test_a_drifting_parameter_is_followed() -> None:
    rng = np.random.default_rng(2)
    u = np.ones(TIMES.size)
    truth = np.where(TIMES < 1.0, 1.0, 2.0)
    y = truth + 0.05 * rng.normal(size=u.size)
    parameters = [Parameter("a", 1.0, variable="a")]
    problem = python_problem({"y": y}, TIMES, parameters, sigma=0.05, inputs={"u": u})

    def gain(times, inputs, a):
        return {"y": a * inputs["u"]}

    rigid = track(problem, gain).values[-1, 0]
    moving = track(problem, gain, drift={"a": 1.0}).values[-1, 0]
    assert moving == pytest.approx(2.0, abs=0.1)
    assert abs(rigid - 2.0) > 0.3


def test_missing_samples_and_failing_simulations_are_survived() -> None:
    problem = decay_problem(1)
    values = problem.experiments[0].measurements[0].values.copy()
    values[20:30] = np.nan
    gap = dataclasses.replace(problem.experiments[0].measurements[0], values=values)
    experiment = dataclasses.replace(problem.experiments[0], measurements=(gap,))
    problem = dataclasses.replace(problem, experiments=(experiment,))

    def fragile(times, inputs, k, x_start=1.0):
        if 0.99 < times[0] < 1.01 and times.size > 1 and times[-1] < 1.09:
            raise SimulationError("solver gave up")
        return decay(times, inputs, k, x_start)

    series = track(problem, fragile, **STATES, initial_error={"x": 0.1})
    assert (series.flags[20:30] == Flag.MISSING).all()
    assert (series.flags == Flag.SINGULAR).any()
    assert series.flags[-1] == Flag.GOOD
    assert series.values[-1, 0] == pytest.approx(1.3, abs=0.06)


def test_every_other_sample() -> None:
    whole = static_problem()
    half = track(whole, line, every=2)
    assert (half.flags[::2] == Flag.GOOD).all()
    assert (half.flags[1::2] == Flag.SKIPPED).all()
    assert np.isnan(half.values[1::2]).all()
    # The same as if the samples between were not there: the model has no states.
    (experiment,) = whole.experiments
    (y,) = experiment.measurements
    thinned = dataclasses.replace(
        experiment,
        times=experiment.times[::2],
        inputs={"u": experiment.inputs["u"][::2]},
        measurements=(dataclasses.replace(y, values=y.values[::2]),),
    )
    few = track(dataclasses.replace(whole, experiments=(thinned,)), line)
    np.testing.assert_allclose(half.values[::2], few.values, rtol=1e-12)


def pushed(times, inputs, b, x_start=0.0):
    """dx/dt = b u, with u linear between the samples."""
    u = inputs["u"]
    steps = 0.5 * (u[1:] + u[:-1]) * np.diff(times)
    return {"x": x_start + b * np.concatenate([[0.0], np.cumsum(steps)])}


def test_inputs_of_skipped_samples_are_applied() -> None:
    """Every fourth sample sees the pulse train at zero: a ramp between them would be nothing."""
    u = np.where(np.arange(TIMES.size) % 4 == 2, 1.0, 0.0)
    x = pushed(TIMES, {"u": u}, 3.0)["x"]
    parameters = [Parameter("b", 1.0, variable="b")]
    problem = python_problem({"x": x}, TIMES, parameters, sigma=1e-3, inputs={"u": u})
    start = dataclasses.replace(problem.experiments[0], start_values={"x_start": 0.0})
    problem = dataclasses.replace(problem, experiments=(start,))
    series = track(problem, pushed, **STATES, every=4)
    assert series.values[-1, 0] == pytest.approx(3.0, rel=1e-4)
    assert series.good.sum() == 21


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"initial_error": {"c": 1.0}}, "'c' is neither a state nor a free parameter"),
        ({"drift": {"bb": 1.0}}, "'bb' is neither"),
    ],
)
def test_unknown_names_are_refused(options: dict[str, Any], message: str) -> None:
    with refused(Code.UNKNOWN_NAME, ProblemError, match=message):
        track(static_problem(), line, **options)


def test_a_parameter_that_sets_a_state_is_refused() -> None:
    """The filter's own state would have no effect: each interval would start from the parameter."""
    problem = decay_problem(0)
    bare = dataclasses.replace(problem.experiments[0], start_values={})
    for fixed in (True, False):
        start = Parameter("begin", 1.0, variable="x_start", fixed=fixed)
        both = dataclasses.replace(
            problem, parameters=(*problem.parameters, start), experiments=(bare,)
        )
        with refused(Code.INVALID_PROBLEM, ProblemError, match="'x_start'") as caught:
            track(both, decay, **STATES)
        assert "initial_error.x" in caught.value.hint


def test_a_state_that_is_not_named_is_refused() -> None:
    with refused(Code.INVALID_PROBLEM, ProblemError, match=r"1 s does not continue .* 'x' is 0\.9"):
        track(decay_problem(0), decay)


def test_errors_of_the_integrator_at_rest_are_no_missing_state() -> None:
    def resting(times, inputs, k, x_start=1.0):
        return {"x": x_start + 1e-6 * np.sin(1e3 * (times - times[0]))}

    for starts in ({"x_start": 1.0}, {"x_start": 0.0}):
        problem = decay_problem(0)
        experiment = dataclasses.replace(problem.experiments[0], start_values=starts)
        problem = dataclasses.replace(problem, experiments=(experiment,))
        assert track(problem, resting, **STATES).good.all()


def test_an_output_without_sigma_is_refused() -> None:
    problem = static_problem()
    bare = dataclasses.replace(problem.experiments[0].measurements[0], sigma=None)
    experiment = dataclasses.replace(problem.experiments[0], measurements=(bare,))
    with refused(Code.INVALID_PROBLEM, ProblemError, match="has no sigma"):
        track(dataclasses.replace(problem, experiments=(experiment,)), line)


@pytest.fixture(scope="module")
def fmu(build_fmu: Callable[[str], Path]) -> Iterator[Fmu]:
    with open_fmu(build_fmu("Mechanisms.FMUs.MassSpringDamper")) as opened:
        yield opened


def oscillator(fmu: Fmu) -> Problem:
    times = np.arange(401) * 5e-3
    force = 100.0 * np.sin(9.0 * times)
    measurement = Measurement("x", "x", "x", np.zeros(times.size), np.array(1e-3))
    experiment = Experiment(
        "sine", times, {"F": force}, (measurement,), start_values={"x_start": 0.05}
    )
    parameters = (
        Parameter("k", 300.0, 1.0, 1e4, variable="k"),
        Parameter("d", 1.0, 0.0, 100.0, variable="d"),
    )
    problem = Problem(
        fmu.path,
        parameters,
        (experiment,),
        EstimatorSettings("extended-kalman"),
        EvaluationSettings(tolerance=1e-9),
    )
    with fmu.simulator() as simulator:
        x = simulator.simulate(simulation_setups(problem)[0], {"k": 400.0, "d": 2.0})[:, 0]
    x = x + 1e-3 * np.random.default_rng(0).normal(size=x.size)
    measured = dataclasses.replace(measurement, values=x)
    return dataclasses.replace(
        problem, experiments=(dataclasses.replace(experiment, measurements=(measured,)),)
    )


@pytest.mark.slow
def test_an_fmu_whole_run(fmu: Fmu) -> None:
    problem = oscillator(fmu)
    options = {
        "states": {"x_start": "x", "v_start": "v"},
        "initial_error": {"x": 0.02, "v": 0.1},
    }
    with Evaluator(problem, InProcessExecutor(problem, fmu)) as evaluator:
        result = run_estimation(problem, evaluator, ExtendedKalman(), options)
    assert result.converged()
    (series,) = result.series
    last = series.last
    assert last is not None
    distance = np.abs(last.values - [400.0, 2.0]) / last.standard_errors
    assert np.all(distance < 4.0)
    assert np.all(last.standard_errors < [1.0, 0.1])
    # The FMU with these parameters explains the data, as with any other estimate.
    assert result.fits[0].rms == pytest.approx(1e-3, rel=0.2)


DECAY_SLOPES = {
    "k": lambda times, inputs, k, x_start=1.0: {
        "x": -x_start * (times - times[0]) * np.exp(-k * (times - times[0]))
    },
    "x_start": lambda times, inputs, k, x_start=1.0: {"x": np.exp(-k * (times - times[0]))},
}


@pytest.mark.parametrize("scaling", ["linear", "log"])
def test_transitions_come_from_sensitivities_with_one_simulation_per_sample(scaling: str) -> None:
    problem = decay_problem(3, scaling=scaling)
    (experiment,) = problem.experiments
    (measured,) = experiment.measurements
    measured = dataclasses.replace(measured, gain="gain", offset="offset")
    problem = dataclasses.replace(
        problem,
        parameters=(*problem.parameters, Parameter("gain", 1.1), Parameter("offset", 0.02)),
        experiments=(dataclasses.replace(experiment, measurements=(measured,)),),
    )
    found = []
    for slopes in (DECAY_SLOPES, {}, {"k": DECAY_SLOPES["k"]}):
        with Evaluator(problem, PythonExecutor(problem, decay, slopes)) as evaluator:
            options = ExtendedKalmanOptions(**STATES, initial_error={"k": 0.3, "x": 0.1})
            before = evaluator.simulations
            series = ExtendedKalman().track(problem, problem.experiments[0], evaluator, options)
            found.append((series, evaluator.simulations - before))
    (exact, few), (differenced, many), (partly, _) = found
    assert few <= TIMES.size + 3  # the start value, and whether the states are all
    assert many > 3 * few
    # Differences over 10 % are coarse at the start.
    assert np.abs(exact.values[-1] - differenced.values[-1]).max() <= 2e-3
    np.testing.assert_array_equal(partly.values, differenced.values)


def test_a_sample_without_derivatives_takes_differences() -> None:
    def refused(times, inputs, k, x_start=1.0):
        raise SimulationError("only touched", code=Code.NOT_DIFFERENTIABLE)

    problem = decay_problem(3)
    slopes = {**DECAY_SLOPES, "k": refused}
    series = []
    for known in (slopes, {}):
        with Evaluator(problem, PythonExecutor(problem, decay, known)) as evaluator:
            options = ExtendedKalmanOptions(**STATES)
            series.append(
                ExtendedKalman().track(problem, problem.experiments[0], evaluator, options)
            )
            assert evaluator.failures == 0
            assert bool(evaluator.notes) == bool(known)
    np.testing.assert_array_equal(series[0].values, series[1].values)


@pytest.mark.parametrize("scaling", ["linear", "log"])
def test_predicted_derivatives_are_those_of_the_simulation(scaling: str) -> None:
    problem = decay_problem(3, scaling=scaling)
    (experiment,) = problem.experiments
    (measured,) = experiment.measurements
    measured = dataclasses.replace(measured, gain="gain", offset="offset")
    problem = dataclasses.replace(
        problem,
        parameters=(Parameter("gain", 1.1), *problem.parameters, Parameter("offset", 0.02)),
        experiments=(dataclasses.replace(experiment, measurements=(measured,)),),
    )
    times, inputs, floor = np.array([0.1, 0.15, 0.3]), np.zeros((3, 0)), np.array([0.1])
    with Evaluator(problem, PythonExecutor(problem, decay, DECAY_SLOPES)) as evaluator:
        step = Propagation(problem, problem.experiments[0], evaluator, ["x_start"], ["x"], floor)
        joint = np.concatenate([[0.8], evaluator.space.from_physical(problem.initial)])

        def at(point: np.ndarray) -> np.ndarray:
            return step._simulate(times, inputs, point[:1], point[np.newaxis, 1:])[0]

        found = step.predict(times, inputs, joint[:1], joint[1:], np.full(joint.size, 0.1))
        assert found is not None
        np.testing.assert_array_equal(found.values, at(joint))
        slopes = found.jacobian
        for k in range(joint.size):
            h = 1e-5 * np.eye(joint.size)[k]
            np.testing.assert_allclose(
                slopes[:, k], (at(joint + h) - at(joint - h)) / 2e-5, rtol=1e-8, atol=1e-9
            )
