"""Every cost with every kind of optimiser, and what a broken one is told."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fmident.errors import Code, PluginError, ProblemError
from fmident.estimation import run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem import Cost, Parameter, Problem, TimeDomain
from fmident_costs import (
    Correlation,
    FrequencyDomain,
    SeparateSpectra,
    SmoothedSpectrum,
    SquaresAndMaxima,
)

from ..refused import refused

TIMES = np.linspace(0.0, 6.0, 301)
TRUTH = {"k": 9.0, "d": 0.5}

COSTS = [
    TimeDomain(),
    TimeDomain("mean-square"),
    FrequencyDomain(),
    FrequencyDomain((0.0, 3.0)),
    SmoothedSpectrum(smoothing=5),
    SmoothedSpectrum((0.0, 3.0), 5),
    SeparateSpectra(),
    SeparateSpectra((0.0, 3.0), 2),
    SquaresAndMaxima(1.0, 0.1),
    Correlation(),
]


def oscillator(times, inputs, k: float, d: float) -> dict[str, np.ndarray]:
    w = np.sqrt(k - 0.25 * d**2)
    return {"y": np.exp(-0.5 * d * times) * np.sin(w * times)}


def problem(cost: Cost) -> Problem:
    parameters = [
        Parameter("k", 8.0, 1.0, 30.0, variable="k", scale=8.0),
        Parameter("d", 0.8, 0.05, 2.0, variable="d", scale=0.8),
    ]
    measured = oscillator(TIMES, {}, **TRUTH)
    return dataclasses.replace(python_problem(measured, TIMES, parameters), cost=cost)


@pytest.mark.parametrize("cost", COSTS, ids=str)
@pytest.mark.parametrize("name", ["least-squares", "cma-es"])
def test_the_truth_is_found(name: str, cost: Cost) -> None:
    asked = problem(cost)
    estimator = load_plugins().estimators.get(name)()
    with Evaluator(asked, PythonExecutor(asked, oscillator)) as evaluator:
        found = run_estimation(asked, evaluator, estimator)
    assert found.values == pytest.approx(TRUTH, rel=1e-3)
    assert found.cost == cost.name
    assert found.cost_options == cost.options()
    assert found.cost_final < 1e-5 * found.cost_initial
    assert found.fits[0].relative_error < 1e-3


OPTIMISERS = {
    "special-genetic": {"seed": 1, "generations": 12},
    "binary-genetic": {"seed": 1, "generations": 25},
    "differential-evolution": {"seed": 1, "generations": 15},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMISERS)
def test_every_optimiser_can_use_every_cost(name: str) -> None:
    """One of each kind: `test_the_truth_is_found` has their options, of cma-es, too."""
    estimator = load_plugins().estimators.get(name)
    for cost in {type(cost): cost for cost in COSTS}.values():
        asked = problem(cost)
        with Evaluator(asked, PythonExecutor(asked, oscillator)) as evaluator:
            found = run_estimation(asked, evaluator, estimator(), OPTIMISERS[name])
        assert found.status in ("converged", "limit"), cost
        assert found.cost_final < 0.1 * found.cost_initial, cost


def test_a_parameter_that_the_cost_does_not_see_is_told() -> None:
    parameters = [
        Parameter("gain", 2.0, 0.1, 10.0, variable="gain"),
        Parameter("k", 8.0, 1.0, 30.0, variable="k"),
    ]

    def model(times, inputs, gain: float, k: float) -> dict[str, np.ndarray]:
        found = oscillator(times, inputs, k, 0.5)["y"]
        return {"y": found, "z": gain * found}

    asked = dataclasses.replace(
        python_problem(model(TIMES, {}, 3.0, 9.0), TIMES, parameters),
        cost=SquaresAndMaxima({"y": 1.0}, 0.0),
    )
    estimator = load_plugins().estimators.get("least-squares")()
    with (
        Evaluator(asked, PythonExecutor(asked, model)) as evaluator,
        refused("parameter-without-influence", ProblemError, match="'squares-and-maxima'.*'gain'"),
    ):
        run_estimation(asked, evaluator, estimator)


@pytest.mark.parametrize("blind", ["gain", "offset"])
def test_a_cost_that_is_blind_but_for_rounding_is_told(blind: str) -> None:
    # The normalised signal changes in its last bits when the gain does.
    asked = problem(Correlation())
    (e,) = asked.experiments
    changed = dataclasses.replace(e.measurements[0], **{blind: "free"})
    asked = dataclasses.replace(
        asked,
        parameters=(*asked.parameters, Parameter("free", 1.0, 0.5, 2.0)),
        experiments=(dataclasses.replace(e, measurements=(changed,)),),
    )
    estimator = load_plugins().estimators.get("least-squares")()
    with (
        Evaluator(asked, PythonExecutor(asked, oscillator)) as evaluator,
        pytest.raises(ProblemError, match="'correlation' does not change with 'free'") as caught,
    ):
        run_estimation(asked, evaluator, estimator)
    assert "time-domain" in (caught.value.hint or "")


def test_standard_errors_only_where_they_follow_from_the_cost() -> None:
    estimator = load_plugins().estimators.get("least-squares")
    for cost in COSTS:
        asked = problem(cost)
        with Evaluator(asked, PythonExecutor(asked, oscillator)) as evaluator:
            found = run_estimation(asked, evaluator, estimator())
        errors = found.parameters["standard_error"]
        assert np.isfinite(errors).all() == (cost == TimeDomain()), cost
        notes = [n for n in found.notes if "standard errors" in n]
        assert len(notes) == (cost != TimeDomain())
        if cost == TimeDomain("mean-square"):
            assert "with normalisation = 'mean-square'" in notes[0]
            assert "the time-domain cost as it is by default" in notes[0]


def test_a_cost_that_the_data_do_not_allow_is_refused() -> None:
    asked = problem(FrequencyDomain((1000.0, 2000.0)))
    estimator = load_plugins().estimators.get("least-squares")()
    with (
        Evaluator(asked, PythonExecutor(asked, oscillator)) as evaluator,
        refused(
            Code.INVALID_PROBLEM,
            ProblemError,
            match="'frequency-domain' cannot be used here: no line",
        ),
    ):
        run_estimation(asked, evaluator, estimator)


def test_an_estimator_with_equations_of_its_own_refuses_other_costs() -> None:
    asked = problem(SmoothedSpectrum())
    estimator = load_plugins().estimators.get("linear-regression")()
    with (
        Evaluator(asked, PythonExecutor(asked, oscillator)) as evaluator,
        refused(
            Code.INVALID_PROBLEM,
            ProblemError,
            match="does not minimise the cost 'smoothed-spectrum'",
        ),
    ):
        run_estimation(asked, evaluator, estimator)


class Raises(TimeDomain):
    name = "raises"

    def residuals(self, signals, predicted):
        raise IndexError("oops")


class WrongShape(TimeDomain):
    name = "wrong-shape"

    def residuals(self, signals, predicted):
        return np.zeros((2, 2))


@pytest.mark.parametrize(
    ("cost", "fragment"),
    [(Raises(), "'raises'.*IndexError: oops"), (WrongShape(), r"'wrong-shape'.*shape \(2, 2\)")],
)
def test_a_broken_cost_is_named(cost: Cost, fragment: str) -> None:
    asked = problem(cost)
    with (
        Evaluator(asked, PythonExecutor(asked, oscillator)) as evaluator,
        refused(Code.PLUGIN_FAILED, PluginError, match=fragment),
    ):
        evaluator.cost(asked.initial)
