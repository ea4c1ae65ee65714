"""Sliding windows on closed-form responses: exactness, streaming, singular windows, noise."""

from __future__ import annotations

import numpy as np
import pytest

from fmident_estimators.algebraic.estimator import AlgebraicStream, AlgebraicWindow, WindowDesign
from fmident_estimators.algebraic.kernels import Quadrature
from fmident_estimators.compiled import FILLING, MISSING, OK, SINGULAR
from fmident_estimators.linear_equation import LinearEquation

from .responses import response

MSD = {"a0": 400.0 / 3.0, "a1": 0.05 / 3.0}
STEP = 1e-3
TIMES = np.arange(2001) * STEP


def msd(start, omega=30.0, amplitude=333.333):
    return response([MSD["a0"], MSD["a1"], 1.0], [1.0], TIMES, omega, start, amplitude)


@pytest.mark.parametrize("start", [(0.0, 0.0), (0.3, 0.0), (0.0, -2.0), (-5.0, 40.0)])
def test_exact_whatever_the_initial_conditions(start: tuple[float, float]) -> None:
    y, u = msd(start)
    equation = LinearEquation(2, ("a0", "a1"), {"b0": 1.0})
    thetas, _, flags = AlgebraicWindow(
        equation, WindowDesign(300, STEP, quadrature="product-6")
    ).batch(y, u)
    good = flags == OK
    assert np.count_nonzero(good) == TIMES.size - 300
    truth = np.array([MSD["a0"], MSD["a1"]])
    assert np.max(np.abs(thetas[good] / truth - 1.0)) < 1e-6


@pytest.mark.parametrize(
    ("quadrature", "limit"), [("simpson", 5e-5), ("product-4", 2e-8), ("product-6", 1e-10)]
)
@pytest.mark.parametrize("intervals", [300, 480])
def test_the_error_from_rest_is_that_of_the_rule(
    quadrature: Quadrature, limit: float, intervals: int
) -> None:
    """The limits the documentation states, Z = 3; a rule of lower degree does not reach them."""
    omega = 3.0 * np.sqrt(MSD["a0"])
    equation = LinearEquation(2, ("a0", "a1"), {"b0": 1.0})
    design = WindowDesign(intervals, STEP, quadrature=quadrature)
    thetas, _, flags = AlgebraicWindow(equation, design).batch(*msd((0.0, 0.0), omega))
    error = np.max(np.abs(thetas[flags == OK, 1] / MSD["a1"] - 1.0))
    assert error < limit


ORDERS = [
    (1, {"a0": 2.5}, {"b0": 2.5}),
    (1, {"a0": 2.5, "b0": 4.0}, {}),
    (1, {"a0": 2.5, "b0": 4.0, "b1": 0.3}, {}),
    (2, {"a0": 40.0, "a1": 3.0, "b0": 7.0}, {}),
    (2, {"a1": 3.0, "b1": 0.5}, {"a0": 40.0, "b0": 7.0}),
    (3, {"a0": 60.0, "a1": 45.0, "a2": 6.0}, {"b0": 60.0}),
    (3, {"a0": 60.0, "a1": 45.0, "b1": 12.0}, {"a2": 6.0, "b0": 60.0}),
]


@pytest.mark.parametrize(("order", "unknown", "known"), ORDERS)
def test_any_order_and_any_unknowns(order, unknown, known) -> None:
    everything = {**unknown, **known}
    a = [everything.get(f"a{i}", 0.0) for i in range(order)] + [1.0]
    b = [everything.get(f"b{i}", 0.0) for i in range(order + 1)]
    y, u = response(a, b, TIMES, 8.0, [0.4, -1.0, 3.0][:order])
    equation = LinearEquation(order, tuple(unknown), known)
    thetas, _, flags = AlgebraicWindow(equation, WindowDesign(600, STEP)).batch(y, u)
    good = flags == OK
    assert good.sum() == TIMES.size - 600
    # From the first full window on, while the free motion is still there.
    error = np.abs(thetas[good][:400] / np.array(list(unknown.values())) - 1.0)
    assert np.max(error) < 1e-6


def test_the_error_falls_with_the_power_of_the_rule() -> None:
    equation = LinearEquation(2, ("a0", "a1"), {"b0": 1.0})
    errors = {}
    for rule in ("simpson", "product-4"):
        for step in (4e-3, 2e-3):
            times = np.arange(round(0.48 / step) + 1) * step
            y, u = response([133.0, 5.0, 1.0], [1.0], times, 30.0, [0.1, 1.0])
            window = AlgebraicWindow(equation, WindowDesign(times.size - 1, step, quadrature=rule))
            theta = window.batch(y, u)[0][-1]
            errors[rule, step] = abs(theta[0] / 133.0 - 1.0)
    assert errors["simpson", 4e-3] / errors["simpson", 2e-3] > 2.0**3.5
    assert errors["product-4", 4e-3] / errors["product-4", 2e-3] > 2.0**5.5


@pytest.mark.parametrize("length", [1000, 1600])
def test_long_windows_stay_stable(length: int) -> None:
    y, u = msd((0.2, 1.0))
    equation = LinearEquation(2, ("a0", "a1"), {"b0": 1.0})
    window = AlgebraicWindow(equation, WindowDesign(length, STEP, mu=6, rows=4))
    theta = window.batch(y, u)[0][-1]
    assert theta == pytest.approx([MSD["a0"], MSD["a1"]], rel=1e-6)


@pytest.mark.parametrize("rows", [0, 4])
def test_streaming_is_the_batch_to_rounding(rows: int) -> None:
    y, u = msd((0.2, 1.0))
    y = y + 1e-3 * np.random.default_rng(0).normal(size=y.size)
    equation = LinearEquation(2, ("a0", "a1"), {"b0": 1.0})
    window = AlgebraicWindow(equation, WindowDesign(200, STEP, rows=rows), sigma=1e-3)
    thetas, covariances, flags = window.batch(y, u)
    stream = AlgebraicStream(window)
    for k in range(y.size):
        flag = stream.update(y[k], u[k])
        assert flag == flags[k]
        if flag == OK:
            np.testing.assert_allclose(stream.coefficients, thetas[k], rtol=1e-9)
            np.testing.assert_allclose(stream.covariance, covariances[k], rtol=1e-7)


def test_rest_is_singular_and_the_estimate_before_is_kept() -> None:
    equation = LinearEquation(2, ("a0", "a1"), {"b0": 1.0})
    window = AlgebraicWindow(equation, WindowDesign(40, STEP))
    stream = AlgebraicStream(window)
    flags = [stream.update(0.0, 0.0) for _ in range(60)]
    assert flags == [FILLING] * 40 + [SINGULAR] * 20
    assert np.isnan(stream.coefficients).all()
    y, u = msd((0.2, 1.0))
    for k in range(100):
        stream.update(y[k], u[k])
    kept = stream.coefficients.copy()
    assert np.isfinite(kept).all()
    for _ in range(41):
        last = stream.update(0.0, 0.0)
    assert last == SINGULAR


@pytest.mark.parametrize("value", [1.0, -3e5])
def test_a_constant_deflection_does_not_determine_the_damping(value: float) -> None:
    equation = LinearEquation(2, ("a0", "a1"), {"b0": 1.0})
    y, u = np.full(200, value), np.full(200, value * MSD["a0"])
    _, _, flags = AlgebraicWindow(equation, WindowDesign(40, STEP)).batch(y, u)
    assert (flags[40:] == SINGULAR).all()
    only = LinearEquation(2, ("a0",), {"b0": 1.0, "a1": MSD["a1"]})
    thetas, _, flags = AlgebraicWindow(only, WindowDesign(40, STEP)).batch(y, u)
    assert (flags[40:] == OK).all()
    np.testing.assert_allclose(thetas[40:, 0], MSD["a0"], rtol=1e-9)


def test_a_missing_sample_spoils_its_windows_only() -> None:
    y, u = msd((0.2, 1.0))
    y[500] = np.nan
    equation = LinearEquation(2, ("a0", "a1"), {"b0": 1.0})
    _, _, flags = AlgebraicWindow(equation, WindowDesign(200, STEP)).batch(y, u)
    assert (flags[500:701] == MISSING).all()
    assert (flags[200:500] == OK).all()
    assert (flags[701:] == OK).all()


@pytest.mark.parametrize("rows", [2, 4])
def test_the_predicted_covariance_is_that_of_a_monte_carlo(rows: int) -> None:
    y, u = msd((0.0, 0.0))
    sigma = 2e-5
    equation = LinearEquation(2, ("a0", "a1"), {"b0": 1.0})
    window = AlgebraicWindow(equation, WindowDesign(200, STEP, rows=rows), sigma=sigma)
    part = slice(600, 801)
    _, predicted, _ = window.batch(y[part], u[part])
    rng = np.random.default_rng(3)
    draws = np.array(
        [window.batch(y[part] + sigma * rng.normal(size=201), u[part])[0][-1] for _ in range(1500)]
    )
    found = np.cov(draws.T)
    # 1500 draws know a variance to 3.7 %; four of these.
    np.testing.assert_allclose(np.diag(found), np.diag(predicted[-1]), rtol=0.15)
    correlation = found[0, 1] / np.sqrt(found[0, 0] * found[1, 1])
    expected = predicted[-1][0, 1] / np.sqrt(predicted[-1][0, 0] * predicted[-1][1, 1])
    assert correlation == pytest.approx(expected, abs=0.1)


def test_refusals() -> None:
    equation = LinearEquation(2, ("a0", "a1"), {"b0": 1.0})
    with pytest.raises(ValueError, match="larger than the order"):
        AlgebraicWindow(equation, WindowDesign(40, STEP, mu=2))
    with pytest.raises(ValueError, match="1 rows for 2 unknown"):
        AlgebraicWindow(equation, WindowDesign(40, STEP, rows=1))
