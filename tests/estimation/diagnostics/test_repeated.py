"""Residuals that come back in other experiments are what a model lacks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem.model import Parameter
from fmident.report.verdict import verdict
from fmident.statistics.noise.covariance import repetitions
from fmident.statistics.noise.processes import fit_noise, outputs_of

TIMES = 0.05 * np.arange(100)


def coloured(generator: np.random.Generator, correlation: float, size: int = 100) -> F64:
    found = generator.standard_normal(size)
    for i in range(1, size):
        found[i] = correlation * found[i - 1] + np.sqrt(1.0 - correlation**2) * found[i]
    return found


def estimated(disturbances: Sequence[F64]) -> EstimationResult:
    """Fit a line to records with disturbances."""

    def line(times, inputs, a, b):
        return {"y": a + b * times}

    parameters = [Parameter("a", 1.2, variable="a"), Parameter("b", 0.9, variable="b")]
    single = python_problem({"y": 1.0 + 2.0 * TIMES}, TIMES, parameters)
    (experiment,) = single.experiments
    (y,) = experiment.measurements
    experiments = tuple(
        dataclasses.replace(
            experiment,
            name=f"run{k}",
            measurements=(dataclasses.replace(y, values=y.values + d),),
        )
        for k, d in enumerate(disturbances)
    )
    problem = dataclasses.replace(single, experiments=experiments)
    with Evaluator(problem, PythonExecutor(problem, line)) as evaluator:
        estimator = load_plugins().estimators.get("least-squares")()
        return run_estimation(problem, evaluator, estimator, {})


@pytest.mark.parametrize("signs", [(1, 1, 1, 1, 1), (1, -1)])
def test_what_comes_back_is_the_headline(signs: tuple[int, ...]) -> None:
    generator = np.random.default_rng(2)
    same = 0.1 * coloured(generator, 0.8)
    result = estimated([s * same + 0.01 * generator.standard_normal(100) for s in signs])
    assert result.residuals is not None
    (repeated,) = result.residuals.repeated
    assert repeated.output == "y"
    assert repeated.experiments == tuple(f"run{k}" for k in range(len(signs)))
    assert np.sign(repeated.correlation) == np.prod(signs)
    assert abs(repeated.correlation) > 0.8
    assert "the residuals of 'y' repeat in several experiments" in verdict(result).headline
    assert "residuals-repeat" in {f.code for f in result.findings}


def test_only_experiments_that_repeat_are_named() -> None:
    generator = np.random.default_rng(4)
    same = 0.1 * coloured(generator, 0.8)
    own = [0.1 * coloured(generator, 0.8) for _ in range(2)]
    result = estimated([same, own[0], same + 0.01 * generator.standard_normal(100), own[1]])
    assert result.residuals is not None
    assert [r.experiments for r in result.residuals.repeated] == [("run0", "run2")]


def test_a_record_that_is_given_twice() -> None:
    noise = 0.1 * np.random.default_rng(1).standard_normal(100)
    result = estimated([noise, noise])
    assert result.residuals is not None
    assert result.residuals.repeated[0].correlation == pytest.approx(1.0)
    assert "residuals-repeat" in {f.code for f in result.findings}


def test_other_noise_of_the_same_motion_does_not_repeat() -> None:
    generator = np.random.default_rng(6)
    for correlation in (0.0, 0.9):
        result = estimated([0.1 * coloured(generator, correlation) for _ in range(4)])
        assert result.residuals is not None
        assert result.residuals.repeated == ()
        assert "residuals-repeat" not in {f.code for f in result.findings}


def test_many_weak_correlations_of_one_sign_are_found() -> None:
    """No pair of short records tells; all of them do."""
    generator = np.random.default_rng(3)
    same = generator.standard_normal(40)
    values = np.concatenate([0.8 * same + generator.standard_normal(40) for _ in range(8)])
    outputs = outputs_of(("y", np.arange(40 * k, 40 * k + 40), TIMES[:40]) for k in range(8))
    ((output, series, correlation),) = repetitions(outputs, values)
    assert (output.measurement, len(series)) == ("y", 8)
    common = 0.64 * float(np.mean(same**2))
    # The standard deviation of the mean over 28 pairs of 40 samples is about 0.03.
    assert correlation == pytest.approx(common / (1.0 + common), abs=0.09)


def test_too_few_samples_in_common_are_not_compared() -> None:
    values = np.tile(np.random.default_rng(3).standard_normal(29), 2)
    outputs = outputs_of(("y", np.arange(29 * k, 29 * k + 29), TIMES[:29]) for k in range(2))
    assert repetitions(outputs, values) == []


@pytest.mark.slow
def test_independent_slow_noise_hardly_ever_repeats() -> None:
    outputs = outputs_of(("y", np.arange(60 * k, 60 * k + 60), TIMES[:60]) for k in range(3))
    jacobian = np.tile(np.column_stack([np.ones(60), TIMES[:60]]), (3, 1))
    basis = np.linalg.qr(jacobian)[0]
    alarms = 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        noise = np.concatenate([coloured(generator, 0.9, 60) for _ in range(3)])
        left = noise - basis @ (basis.T @ noise)
        model = fit_noise(outputs, left, jacobian, ["auto"])
        alarms += bool(repetitions(outputs, model.whiten(left)))
    assert alarms <= 2
