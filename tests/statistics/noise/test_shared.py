"""Noise that outputs have in common at the same instants."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import signal, stats

from fmident.statistics.local_model import LocalModel
from fmident.statistics.noise.covariance import noise_found, score_sums, whitened_finding
from fmident.statistics.noise.processes import outputs_of
from fmident.statistics.noise.series import Shared

SIZE = 200
TIMES = np.arange(SIZE) * 0.01
TRUTH = np.array([1.0, -0.5])
SHAPES = np.column_stack([np.ones(SIZE), np.sign(np.sin(7.0 * TIMES))])
COLUMNS = np.vstack([SHAPES, 2.0 * SHAPES])
ROWS = np.arange(2 * SIZE).reshape(2, SIZE).T.copy()
OUTPUTS = outputs_of([("a", ROWS[:, 0], TIMES), ("b", ROWS[:, 1], TIMES)])
CORRELATION = np.array([[1.0, 0.9], [0.9, 1.0]])


def noise(generator: np.random.Generator, colour: float) -> np.ndarray:
    """Return stationary noise of both outputs, with sizes of 1 and 2."""
    innovations = np.linalg.cholesky(CORRELATION) @ generator.standard_normal((2, SIZE + 200))
    found = signal.lfilter([1.0], [1.0, -colour], innovations)[:, 200:]
    return np.concatenate([found[0], 2.0 * found[1]])


def left_of(e: np.ndarray) -> np.ndarray:
    return e - COLUMNS @ np.linalg.lstsq(COLUMNS, e)[0]


@pytest.mark.parametrize("colour", [0.0, 0.8])
def test_covariance_is_that_of_noise_in_common(colour: float) -> None:
    left = left_of(noise(np.random.default_rng(4), colour))
    found = noise_found(OUTPUTS, left, COLUMNS, sigma_known=False, together=[ROWS])
    assert found is not None
    assert found.coloured == (colour > 0.0)
    (shared,) = found.model.shared
    assert shared.pairs == ((0, 1),)
    assert shared.correlation[0, 1] == pytest.approx(0.9, abs=0.06)
    answers = np.linalg.pinv(COLUMNS)
    # The dense covariance: each output's own by itself, what is between them by its roots.
    own = dataclasses.replace(found.model, shared=())
    root = own.colour(np.eye(2 * SIZE))
    exact = answers @ root @ np.kron(shared.correlation, np.eye(SIZE)) @ root.T @ answers.T
    moved = found.answers_to_innovations(answers)
    np.testing.assert_allclose(moved @ moved.T, exact, rtol=1e-9)
    drawn = found.model.simulate(np.random.default_rng(5), 4000) @ answers.T
    np.testing.assert_allclose(np.var(drawn, axis=0), np.diag(exact), rtol=0.12)


def test_degrees_of_freedom_of_equal_noise_are_those_of_one_output() -> None:
    # Two outputs that differ by little but rounding tell no more than one.
    rows = np.arange(2 * SIZE).reshape(2, SIZE).T.copy()
    shared = Shared(rows, np.array([[1.0, 1.0], [1.0, 1.0]]), ((0, 1),))
    answers = np.random.default_rng(6).standard_normal((1, SIZE))
    both = np.hstack([answers, answers])
    alone = 2.0 * 2.0 * float(answers[0] @ answers[0]) ** 2 / SIZE
    variance = 4.0 * float(answers[0] @ answers[0])
    freedom = 2.0 * variance**2 / (alone + float(shared.doubt(both)[0]))
    assert freedom == pytest.approx(SIZE)


@pytest.mark.nightly
@pytest.mark.parametrize("whitened", [False, True])
def test_intervals_hold_the_truth_as_often_as_they_say(whitened: bool) -> None:
    generator, draws = np.random.default_rng(7), 300
    held, plain = np.zeros(2), np.zeros(2)
    for _ in range(draws):
        y = COLUMNS @ TRUTH + noise(generator, 0.0)
        p = np.linalg.lstsq(COLUMNS, y)[0]
        residuals = COLUMNS @ p - y
        jacobian = COLUMNS
        found = noise_found(OUTPUTS, residuals, COLUMNS, sigma_known=False, together=[ROWS])
        assert found is not None
        if whitened:
            model = dataclasses.replace(found.model, shared=(), scales=None)
            jacobian, target = model.whiten(COLUMNS), model.whiten(y)
            p = np.linalg.lstsq(jacobian, target)[0]
            residuals = jacobian @ p - target
            found = whitened_finding(model, residuals, jacobian, [ROWS])
        for counts, total in ((found, held), (None, plain)):
            ends = LocalModel(
                ["k", "d"], p, jacobian, residuals, sigma_known=False, coloured=counts
            ).intervals
            total += (ends[:, 0] <= TRUTH) & (ends[:, 1] >= TRUTH)
    low, high = stats.binom.ppf([5e-4, 1.0 - 5e-4], draws, 0.95)
    assert ((held >= low) & (held <= high)).all()
    if whitened:  # both tell the same, and were counted as two
        assert (plain < low).all()


def test_independent_outputs_have_nothing_in_common() -> None:
    generator = np.random.default_rng(8)
    none = 0
    for _ in range(60):
        e = generator.standard_normal(2 * SIZE)
        found = noise_found(OUTPUTS, left_of(e), COLUMNS, sigma_known=False, together=[ROWS])
        none += found is None or not found.model.shared
    assert none >= 59


def test_a_loud_output_that_moves_the_parameters_is_no_noise_of_a_quiet_one() -> None:
    e = np.random.default_rng(9).standard_normal(2 * SIZE)
    e[:SIZE] *= 100.0
    found = noise_found(OUTPUTS, left_of(e), COLUMNS, sigma_known=False, together=[ROWS])
    assert found is not None
    assert found.unequal
    assert not found.model.shared


def test_slow_sums_count_what_outputs_have_in_common() -> None:
    series = [s for o in OUTPUTS for s in o.series]
    e = np.random.default_rng(10).standard_normal(SIZE)
    residuals, answers = np.r_[e, e], np.linalg.pinv(COLUMNS)
    apart = score_sums(series, residuals, answers)
    together = score_sums(series, residuals, answers, [ROWS])
    assert len(together.counts) == 1
    one = answers[:, :SIZE] + answers[:, SIZE:]
    exact = np.sum((one @ together.weights[:SIZE]) ** 2, axis=1)
    np.testing.assert_allclose(np.sum((answers @ together.weights) ** 2, axis=1), exact)
    assert (np.sum((answers @ apart.weights) ** 2, axis=1) < 0.9 * exact).all()
