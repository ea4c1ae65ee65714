"""The measurement model and the whitened residuals."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from fmident.data import Decimation, Experiment, Measurement, kept_samples
from fmident.data.prepare import low_pass_for
from fmident.problem import (
    EstimatorSettings,
    Parameter,
    Problem,
    measurement_values,
    parameter_values,
    parameter_values_for,
    predict,
    predict_measurement,
    residual_layout,
    whitened_residuals,
)

TIMES = np.linspace(0.0, 1.0, 5)


def measured(values: object, **settings: object) -> Measurement:
    settings = {"name": "y", "variable": "y", "column": "c", **settings}
    return Measurement(values=np.asarray(values, dtype=np.float64), **settings)


def problem_of(*experiments: Experiment, parameters: tuple[Parameter, ...] = ()) -> Problem:
    return Problem(Path("m.fmu"), parameters, experiments, EstimatorSettings("none"))


def experiment(name: str, *measurements: Measurement, times: np.ndarray = TIMES) -> Experiment:
    return Experiment(name, times, {}, measurements)


def test_sign_sigma_weight_and_missing_samples() -> None:
    y = measured([1.0, 2.0, np.nan, 4.0, 5.0], sigma=np.array(0.5), weight=3.0)
    problem = problem_of(experiment("e", y))
    residuals = whitened_residuals(problem, [np.full((5, 1), 0.5)], np.empty(0))
    np.testing.assert_allclose(residuals, [3.0, 9.0, 21.0, 27.0])


def test_sigma_of_every_sample_and_unknown_sigma() -> None:
    y = measured([1.0, np.nan, 3.0], sigma=np.array([1.0, 2.0, 4.0]))
    z = measured([1.0, 2.0, 3.0], name="z", variable="z", weight=10.0)
    times = np.arange(3.0)
    problem = problem_of(experiment("e", y, z, times=times))
    residuals = whitened_residuals(problem, [np.zeros((3, 2))], np.empty(0))
    np.testing.assert_allclose(residuals, [1.0, 0.75, 10.0, 20.0, 30.0])
    assert not problem.sigma_known
    known = dataclasses.replace(z, sigma=np.array(1.0))
    assert problem_of(experiment("e", y, known, times=times)).sigma_known


def test_layout() -> None:
    y = measured([1.0, np.nan, 3.0, 4.0, np.nan])
    z = measured([np.nan, 2.0, np.nan, np.nan, 5.0], name="z", variable="z")
    problem = problem_of(experiment("a", y), experiment("b", z, y))
    layout = residual_layout(problem)
    assert layout.size == 3 + 2 + 3
    np.testing.assert_array_equal(layout.experiment, [0, 0, 0, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(layout.measurement, [0, 0, 0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(layout.sample, [0, 2, 3, 1, 4, 0, 2, 3])
    np.testing.assert_array_equal(layout.time, TIMES[layout.sample])
    np.testing.assert_array_equal(layout.rows_of(1, 0), [3, 4])
    # Each residual stands where the layout says.
    outputs = [np.zeros((5, 1)), np.zeros((5, 2))]
    residuals = whitened_residuals(problem, outputs, np.empty(0))
    for r, e, m, s in zip(
        residuals, layout.experiment, layout.measurement, layout.sample, strict=True
    ):
        assert r == problem.experiments[e].measurements[m].values[s]


def test_two_measurements_of_one_variable_share_its_column() -> None:
    a = measured([0.0] * 5, name="a")
    b = measured([0.0] * 5, name="b", gain=2.0)
    z = measured([0.0] * 5, name="z", variable="z")
    e = experiment("e", a, z, b)
    assert e.output_variables == ("y", "z")
    outputs = np.column_stack([np.arange(5.0), np.full(5, 9.0)])
    ((pa, pz, pb),) = predict(problem_of(e), [outputs], np.empty(0))
    np.testing.assert_array_equal(pa, np.arange(5.0))
    np.testing.assert_array_equal(pz, 9.0)
    np.testing.assert_array_equal(pb, 2.0 * np.arange(5.0))


def test_gain_offset_and_delay_from_parameters() -> None:
    y = measured([0.0] * 5, gain="g", offset="b", delay="d")
    ramp = 3.0 * TIMES
    found = predict_measurement(y, TIMES, ramp, {"g": 2.0, "b": -1.0, "d": 0.1})
    np.testing.assert_allclose(found[1:], 2.0 * 3.0 * (TIMES[1:] - 0.1) - 1.0, atol=1e-14)
    assert found[0] == -1.0  # before the first instant the first value holds
    assert y.references == ("g", "b", "d")


def test_values_of_parameters() -> None:
    parameters = (
        Parameter("m", 1.0, variable="mass"),
        Parameter("k", 5.0, variable="stiffness", fixed=True),
        Parameter("c1", 2.0, variable="c", experiments=("one",)),
        Parameter("c2", 3.0, variable="c", experiments=("two",)),
        Parameter("g", 1.0),
        Parameter("unused", 4.0),
    )
    one = experiment("one", measured([0.0] * 5, gain="g"))
    two = experiment("two", measured([0.0] * 5))
    problem = problem_of(one, two, parameters=parameters)
    p = np.array([10.0, 20.0, 30.0, 40.0, 50.0])
    assert parameter_values(problem, p) == {
        "m": 10.0, "k": 5.0, "c1": 20.0, "c2": 30.0, "g": 40.0, "unused": 50.0,
    }  # fmt: skip
    assert parameter_values_for(problem, one, p) == {"mass": 10.0, "stiffness": 5.0, "c": 20.0}
    assert parameter_values_for(problem, two, p) == {"mass": 10.0, "stiffness": 5.0, "c": 30.0}
    assert measurement_values(problem, p) == {"g": 40.0}
    with pytest.raises(ValueError, match="zip"):
        parameter_values(problem, p[:-1])


def test_decimation_treats_measured_and_simulated_alike() -> None:
    rng = np.random.default_rng(0)
    times = np.linspace(0.0, 1.0, 300)
    values, simulated = rng.normal(size=(2, 300))
    decimation = Decimation(7, order=4)
    y = measured(values, decimation=decimation, sigma=np.array(0.1), offset=0.3)
    problem = problem_of(experiment("e", y, times=times))
    residuals = whitened_residuals(problem, [simulated[:, None]], np.empty(0))
    filtered = low_pass_for(values - simulated - 0.3, decimation)
    expected = filtered[kept_samples(values.size, decimation.factor)] / 0.1
    np.testing.assert_allclose(residuals, expected, atol=1e-10)
    layout = residual_layout(problem)
    np.testing.assert_array_equal(layout.sample, kept_samples(300, 7))
    np.testing.assert_array_equal(layout.time, times[kept_samples(300, 7)])
    ((predicted,),) = predict(problem, [simulated[:, None]], np.empty(0))
    assert predicted.shape == residuals.shape


def test_derivative_of_the_residuals_with_respect_to_the_delay() -> None:
    times = np.linspace(0.0, 2.0, 401)
    y = measured(np.zeros(401), delay="d")
    problem = problem_of(experiment("e", y, times=times), parameters=(Parameter("d", 0.0),))
    signal = np.sin(5.0 * times)[:, None]

    def residuals(d: float) -> np.ndarray:
        return whitened_residuals(problem, [signal], np.array([d]))

    # Delays between samples and exactly at a sample: no kink there.
    for d in (0.0123, 0.05, 0.1):
        for h in (1e-4, -1e-4):
            slope = (residuals(d + h) - residuals(d)) / h
            expected = 5.0 * np.cos(5.0 * (times - d))
            inside = times > d + 0.02
            np.testing.assert_allclose(slope[inside], expected[inside], atol=5e-3)
