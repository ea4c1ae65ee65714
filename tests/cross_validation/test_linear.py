"""Of a linear model, predictions without a fold follow from the fit of all samples.

Without sample i, its prediction error is ``e_i/(1 - h_ii)``; without a block,
``(1 - H_bb)^-1 e_b`` (R. D. Cook and S. Weisberg, Residuals and Influence in Regression, 1982).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fmident
from fmident.arrays import F64
from fmident.cross_validation import parameter_spreads, summarised, verdict
from fmident.errors import Code, ProblemError
from fmident.problem.model import Problem

from ..refused import refused

AXIS = "Mechanisms.FMUs.PositioningAxisInverse"
NAMES = ("m", "viscousFriction", "coulombForce", "offset")
COUNT = 12


@pytest.fixture
def data() -> pd.DataFrame:
    rng = np.random.default_rng(20)
    motion = rng.normal(size=(COUNT, 3)) * [0.1, 0.2, 1.0]
    table = pd.DataFrame(motion, columns=["q", "qd", "qdd"])
    table.insert(0, "time", 0.01 * np.arange(COUNT))
    table["force"] = regressor(table) @ [95.0, 200.0, 20.0, -3.0] + rng.normal(size=COUNT)
    return table


def regressor(data: pd.DataFrame) -> F64:
    speed = data["qd"].to_numpy()
    return np.column_stack([data["qdd"], speed, np.tanh(speed / 1e-9), np.ones(COUNT)])


@pytest.fixture
def make(build_fmu: Callable[[str], Path]) -> Callable[..., Problem]:
    def problem(data: pd.DataFrame, *, sigma: float | None = None, **held: float) -> Problem:
        return Problem.from_frames(
            build_fmu(AXIS),
            data,
            parameters={
                n: {"initial": held.get(n, 1.0), "fixed": n in held, "bounds": [-1e4, 1e4]}
                for n in NAMES
            },
            inputs={n: n for n in ("q", "qd", "qdd")},
            outputs={"force": {"column": "force", "sigma": sigma}},
            model={"start_values": {"speedWidth": 1e-9}},
            estimator="linear-regression",
        )

    return problem


def without(x: F64, y: F64, block: F64) -> F64:
    """Return the prediction errors of a block, from the hat matrix of all samples."""
    hat = x @ np.linalg.solve(x.T @ x, x.T)
    errors = (y - hat @ y)[block]
    found: F64 = np.linalg.solve(np.eye(block.size) - hat[np.ix_(block, block)], errors)
    return found


@pytest.mark.parametrize("folds", [COUNT, 4])
def test_prediction_errors_are_those_of_the_hat_matrix(
    make: Callable[..., Problem], data: pd.DataFrame, folds: int
) -> None:
    found = fmident.cross_validate(make(data, sigma=2.0), folds=folds)
    assert found.status == "complete"
    x, y = regressor(data), data["force"].to_numpy()
    table = found.predictions
    errors = (table["measured"] - table["predicted"]).to_numpy()
    blocks = np.array_split(np.arange(COUNT), folds)
    expected = np.concatenate([without(x, y, b) for b in blocks])
    np.testing.assert_allclose(errors, expected, rtol=1e-6)

    (model,) = found.models
    spread = np.std(y)
    for fold, block in zip(model.folds, blocks, strict=True):
        own = expected[block[0] : block[-1] + 1]
        assert fold.nrmse == pytest.approx(np.sqrt(np.mean(own**2)) / spread, rel=1e-6)
        density = -0.5 * (np.log(2.0 * np.pi * 4.0) + own**2 / 4.0)
        assert fold.log_likelihood == pytest.approx(np.mean(density), rel=1e-6)
        rest = np.setdiff1d(np.arange(COUNT), block)
        values = np.linalg.lstsq(x[rest], y[rest], rcond=None)[0]
        np.testing.assert_allclose([fold.values[n] for n in NAMES], values, rtol=1e-6)

    (summary,) = summarised(found)
    scores = [f.nrmse for f in model.folds]
    assert summary.nrmse == pytest.approx(np.mean(scores))
    assert summary.nrmse_error == pytest.approx(np.std(scores, ddof=1) / np.sqrt(folds))
    values = np.array([[f.values[n] for n in NAMES] for f in model.folds])
    around = np.sum((values - values.mean(axis=0)) ** 2, axis=0)
    jackknife = [p.jackknife for p in parameter_spreads(model)]
    np.testing.assert_allclose(jackknife, np.sqrt((folds - 1) / folds * around))


def test_models_are_compared_fold_by_fold(make: Callable[..., Problem], data: pd.DataFrame) -> None:
    models = {
        "without": make(data, sigma=1.0, viscousFriction=0.0),
        "right": make(data, sigma=1.0),
        "held": make(data, sigma=1.0, offset=-3.0),
    }
    found = fmident.cross_validate(models, folds=6)
    less, right, held = summarised(found)
    assert [m.searched for m in (less, right, held)] == [3, 4, 3]
    assert less.worse > 2.0 * less.worse_error
    assert not less.close
    scores = {m.name: np.array([f.log_likelihood for f in m.folds]) for m in found.models}
    best = max(scores, key=lambda n: float(scores[n].mean()))
    assert less.worse == pytest.approx(np.mean(scores[best] - scores["without"]))
    error = np.std(scores[best] - scores["without"], ddof=1) / np.sqrt(6)
    assert less.worse_error == pytest.approx(error)
    # The true value that is held costs nothing, and is a parameter less.
    assert held.close
    assert "'held'" in verdict(found)


def test_sigma_that_is_not_known_is_that_of_the_fit(
    make: Callable[..., Problem], data: pd.DataFrame
) -> None:
    found = fmident.cross_validate(make(data), folds=3)
    x, y = regressor(data), data["force"].to_numpy()
    for k, fold in enumerate(found.models[0].folds):
        rest = np.setdiff1d(np.arange(COUNT), np.arange(4 * k, 4 * k + 4))
        residuals = y[rest] - x[rest] @ np.linalg.lstsq(x[rest], y[rest], rcond=None)[0]
        sigma = np.sqrt(residuals @ residuals / (rest.size - 4))
        np.testing.assert_allclose(fold.scores[0].sigma, sigma, rtol=1e-5)


def test_other_samples_are_refused(make: Callable[..., Problem], data: pd.DataFrame) -> None:
    other = data.copy()
    other.loc[3, "force"] += 0.1
    with refused(Code.OTHER_PROBLEM, ProblemError, match="the samples of 'force' in experiment"):
        fmident.cross_validate({"one": make(data), "other": make(other)}, folds=3)
    other.loc[3, "force"] = np.nan
    with refused(Code.OTHER_PROBLEM, ProblemError, match="'other' cannot be compared with 'one'"):
        fmident.cross_validate({"one": make(data), "other": make(other)}, folds=3)


def test_what_a_fold_alone_determines_is_said(
    make: Callable[..., Problem], data: pd.DataFrame
) -> None:
    """The axis moves in one sample alone: without it nothing is known of the viscous friction."""
    still = data.assign(qd=np.where(np.arange(COUNT) == 5, 0.2, 0.0))
    found = fmident.cross_validate(make(still, sigma=1.0, coulombForce=20.0), folds=COUNT)
    said = [f.note for f in found.findings if f.code == "fold-undetermined"]
    assert [n.split(":")[0].split(" without ")[1] for n in said] == ["block 6"]
    assert "viscousFriction" in said[0]


def test_a_fold_that_cannot_be_fitted_does_not_cost_the_others(
    make: Callable[..., Problem], data: pd.DataFrame
) -> None:
    """The second block alone has as many samples as there are parameters: no residual."""
    found = fmident.cross_validate(make(data[:9], sigma=1.0), folds=2)
    first, second = found.models[0].folds
    assert first.failure
    assert not second.failure
    assert any("without block 1: nothing is predicted" in n for n in found.notes)
    assert summarised(found)[0].folds == 1
