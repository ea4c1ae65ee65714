"""Certified nonlinear regression problems of the NIST Statistical Reference Datasets.

https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml: certified values, standard
deviations of the estimates and residual sums of squares. Start 1 lies far away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from fmident.estimation import EstimationResult
from fmident.evaluation import python_problem
from fmident.problem.model import Parameter
from fmident_estimators.least_squares.estimator import LeastSquares


@dataclass(frozen=True)
class Certified:
    """One dataset."""

    name: str
    model: Callable[..., np.ndarray]
    x: tuple[float, ...]
    y: tuple[float, ...]
    starts: tuple[tuple[float, ...], tuple[float, ...]]
    values: tuple[float, ...]
    deviations: tuple[float, ...]
    squares: float


def misra1a(x: np.ndarray, b1: float, b2: float) -> np.ndarray:
    return b1 * (1.0 - np.exp(-b2 * x))


def thurber(x: np.ndarray, *b: float) -> np.ndarray:
    top = b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3
    return top / (1.0 + b[4] * x + b[5] * x**2 + b[6] * x**3)


def rat43(x: np.ndarray, b1: float, b2: float, b3: float, b4: float) -> np.ndarray:
    return b1 / (1.0 + np.exp(b2 - b3 * x)) ** (1.0 / b4)


MISRA1A = Certified(
    "Misra1a",
    misra1a,
    (
        77.6,
        114.9,
        141.1,
        190.8,
        239.9,
        289.0,
        332.8,
        378.4,
        434.8,
        477.3,
        536.8,
        593.1,
        689.1,
        760.0,
    ),
    (
        10.07,
        14.73,
        17.94,
        23.93,
        29.61,
        35.18,
        40.02,
        44.82,
        50.76,
        55.05,
        61.01,
        66.40,
        75.47,
        81.78,
    ),
    ((500.0, 0.0001), (250.0, 0.0005)),
    (2.3894212918e02, 5.5015643181e-04),
    (2.7070075241e00, 7.2668688436e-06),
    1.2455138894e-01,
)
THURBER = Certified(
    "Thurber",
    thurber,
    (
        -3.067,
        -2.981,
        -2.921,
        -2.912,
        -2.840,
        -2.797,
        -2.702,
        -2.699,
        -2.633,
        -2.481,
        -2.363,
        -2.322,
        -1.501,
        -1.460,
        -1.274,
        -1.212,
        -1.100,
        -1.046,
        -0.915,
        -0.714,
        -0.566,
        -0.545,
        -0.400,
        -0.309,
        -0.109,
        -0.103,
        0.010,
        0.119,
        0.377,
        0.790,
        0.963,
        1.006,
        1.115,
        1.572,
        1.841,
        2.047,
        2.200,
    ),
    (
        80.574,
        84.248,
        87.264,
        87.195,
        89.076,
        89.608,
        89.868,
        90.101,
        92.405,
        95.854,
        100.696,
        101.060,
        401.672,
        390.724,
        567.534,
        635.316,
        733.054,
        759.087,
        894.206,
        990.785,
        1090.109,
        1080.914,
        1122.643,
        1178.351,
        1260.531,
        1273.514,
        1288.339,
        1327.543,
        1353.863,
        1414.509,
        1425.208,
        1421.384,
        1442.962,
        1464.350,
        1468.705,
        1447.894,
        1457.628,
    ),
    ((1000.0, 1000.0, 400.0, 40.0, 0.7, 0.3, 0.03), (1300.0, 1500.0, 500.0, 75.0, 1.0, 0.4, 0.05)),
    (
        1.2881396800e03,
        1.4910792535e03,
        5.8323836877e02,
        7.5416644291e01,
        9.6629502864e-01,
        3.9797285797e-01,
        4.9727297349e-02,
    ),
    (
        4.6647963344e00,
        3.9571156086e01,
        2.8698696102e01,
        5.5675370270e00,
        3.1333340687e-02,
        1.4984928198e-02,
        6.5842344623e-03,
    ),
    5.6427082397e03,
)
RAT43 = Certified(
    "Rat43",
    rat43,
    tuple(float(i) for i in range(1, 16)),
    (
        16.08,
        33.83,
        65.80,
        97.20,
        191.55,
        326.20,
        386.87,
        520.53,
        590.03,
        651.92,
        724.93,
        699.56,
        689.96,
        637.56,
        717.41,
    ),
    ((100.0, 10.0, 1.0, 1.0), (700.0, 5.0, 0.75, 1.3)),
    (6.9964151270e02, 5.2771253025e00, 7.5962938329e-01, 1.2792483859e00),
    (1.6302297817e01, 2.0828735829e00, 1.9566123451e-01, 6.8761936385e-01),
    8.7864049080e03,
)


MGH09 = Certified(
    "MGH09",
    lambda x, b1, b2, b3, b4: b1 * (x**2 + x * b2) / (x**2 + x * b3 + b4),
    (4.0, 2.0, 1.0, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625),
    (0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246),
    ((25.0, 39.0, 41.5, 39.0), (0.25, 0.39, 0.415, 0.39)),
    (1.9280693458e-01, 1.9128232873e-01, 1.2305650693e-01, 1.3606233068e-01),
    (1.1435312227e-02, 1.9633220911e-01, 8.0842031232e-02, 9.0025542308e-02),
    3.0750560385e-04,
)
BOXBOD = Certified(
    "BoxBOD",
    misra1a,
    (1.0, 2.0, 3.0, 5.0, 7.0, 10.0),
    (109.0, 149.0, 149.0, 191.0, 213.0, 224.0),
    ((1.0, 1.0), (100.0, 0.75)),
    (2.1380940889e02, 5.4723748542e-01),
    (1.2354515176e01, 1.0455993237e-01),
    1.1680088766e03,
)


def fit(
    case: Certified,
    start: int,
    run: Callable[..., EstimationResult],
    options: Mapping[str, object],
    unit: float = 1.0,
    reach: float = np.inf,
) -> EstimationResult:
    names = [f"b{i + 1}" for i in range(len(case.values))]
    wide = [
        reach * max(abs(v), abs(s)) for v, s in zip(case.values, case.starts[start], strict=True)
    ]
    parameters = [
        Parameter(n, v, v - w, v + w, variable=n, scale=abs(v))
        for n, v, w in zip(names, case.starts[start], wide, strict=True)
    ]
    x = np.array(case.x)
    # Some predictors fall, times may not.
    times = np.arange(x.size, dtype=np.float64)
    problem = python_problem({"y": unit * np.array(case.y)}, times, parameters, inputs={"x": x})

    def model(times: np.ndarray, inputs: Mapping[str, np.ndarray], **b: float) -> object:
        with np.errstate(all="ignore"):
            return {"y": unit * case.model(inputs["x"], *(b[n] for n in names))}

    return run(problem, model, LeastSquares(), options)


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("case", [MISRA1A, THURBER, RAT43, MGH09, BOXBOD], ids=lambda c: c.name)
def test_default_options_reach_the_certified_values_and_deviations(
    case: Certified, start: int, run: Callable[..., EstimationResult]
) -> None:
    result = fit(case, start, run, {})
    assert result.status == "converged"
    found = list(result.values.values())
    np.testing.assert_allclose(found, case.values, rtol=1e-6)
    assert 2.0 * result.cost_final == pytest.approx(case.squares, rel=1e-9)
    np.testing.assert_allclose(result.parameters["standard_error"], case.deviations, rtol=1e-5)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_unit_of_the_data_does_not_decide_when_a_search_ends(
    unit: float, run: Callable[..., EstimationResult]
) -> None:
    result = fit(MISRA1A, 1, run, {}, unit)
    assert result.status == "converged"
    np.testing.assert_allclose(list(result.values.values()), MISRA1A.values, rtol=1e-6)


def test_within_bounds_a_search_that_leaps_onto_a_plateau_begins_again(
    run: Callable[..., EstimationResult],
) -> None:
    # The first step of the dogleg leaps to where the exponential is gone.
    result = fit(RAT43, 0, run, {}, reach=50.0)
    assert result.status == "converged"
    np.testing.assert_allclose(list(result.values.values()), RAT43.values, rtol=1e-6)


def test_a_loose_tolerance_ends_early_and_says_what_is_left(
    run: Callable[..., EstimationResult],
) -> None:
    result = fit(MGH09, 0, run, {"cost_tolerance": 1e-2})
    assert result.status == "limit"
    assert "cost_tolerance, but a step of" in result.message
