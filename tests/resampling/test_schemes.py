"""Each way to make noise has the mean and the covariance that its formula says."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.resampling.schemes import (
    Blocks,
    Modelled,
    Panel,
    Parametric,
    Residual,
    Scheme,
    Wild,
    block_length,
    panels_of,
    runs_of,
)
from fmident.statistics.noise.processes import FittedAutoregression, NoiseModel, NoisyOutput
from fmident.statistics.noise.series import series_of

from .rig import TIMES, autoregressive, straight, with_experiments

RNG = np.random.default_rng(5)
ROWS = np.arange(120).reshape(60, 2)
PANEL = Panel(ROWS, ((0, 25), (25, 60)), (("e", "y"), ("e", "z")))
RESIDUALS = 0.4 + RNG.standard_gamma(2.0, 120) - 2.0
ANSWERS = RNG.standard_normal((3, 120))
SERIES = tuple(series_of(ROWS[:, k], np.arange(60.0)) for k in range(2))
MODEL = NoiseModel(
    (NoisyOutput("y", SERIES[:1]), NoisyOutput("z", SERIES[1:])),
    (
        FittedAutoregression(np.array([0.8]), 0.7, np.eye(2), 58, 0.0),
        FittedAutoregression(np.empty(0), 1.5, np.eye(1), 58, 0.0),
    ),
)
SCHEMES = {
    "residual": Residual([PANEL], RESIDUALS),
    "rademacher": Wild([PANEL], RESIDUALS),
    "mammen": Wild([PANEL], RESIDUALS, "mammen"),
    "block": Blocks([PANEL], RESIDUALS, 7),
    "modelled": Modelled([PANEL], RESIDUALS, MODEL),
    "parametric": Parametric([PANEL], RESIDUALS, np.linspace(0.5, 2.0, 120)),
}


@pytest.mark.parametrize("name", list(SCHEMES))
def test_draws_have_mean_zero_and_the_covariance_of_the_formula(name: str) -> None:
    scheme: Scheme = SCHEMES[name]
    generator = np.random.default_rng(1)
    moved = np.array([ANSWERS @ scheme.draw(generator) for _ in range(6000)])
    covariance = scheme.covariance(ANSWERS)
    errors = np.sqrt(np.diag(covariance))
    # Of 6000 draws the mean is known to 1.3 %, a covariance to 1.8 % of the errors: four times.
    np.testing.assert_allclose(moved.mean(axis=0) / errors, 0.0, atol=0.052)
    np.testing.assert_allclose(
        np.cov(moved.T) / np.outer(errors, errors), covariance / np.outer(errors, errors), atol=0.08
    )


def test_residuals_of_one_instant_stay_together() -> None:
    drawn = SCHEMES["residual"].draw(np.random.default_rng(2))[ROWS]
    own = RESIDUALS[ROWS] - RESIDUALS[ROWS].mean(axis=0)
    for pair in drawn:
        assert np.abs(own - pair).sum(axis=1).min() < 1e-12


def test_the_wild_bootstrap_keeps_size_and_skewness() -> None:
    signs = SCHEMES["rademacher"].draw(np.random.default_rng(2)) / RESIDUALS
    assert set(np.round(signs, 12)) == {-1.0, 1.0}
    generator = np.random.default_rng(3)
    factors = np.array([SCHEMES["mammen"].draw(generator) / RESIDUALS for _ in range(400)])
    np.testing.assert_allclose([np.mean(factors**k) for k in (1, 2, 3)], [0, 1, 1], atol=0.04)


def test_blocks_are_pieces_of_runs_and_never_reach_across_a_gap() -> None:
    scheme = SCHEMES["block"]
    assert isinstance(scheme, Blocks)
    starts, means = scheme._blocks[0]
    assert set(starts) == {*range(19), *range(25, 54)}
    own = RESIDUALS[ROWS]
    drawn = scheme.draw(np.random.default_rng(4))[ROWS]
    for begin, end in PANEL.runs:
        for first in range(begin, end, 7):
            size = min(7, end - first)
            piece = drawn[first : first + size] + means[:size]
            assert min(np.abs(own[s : s + size] - piece).max() for s in starts) < 1e-12


def test_blocks_of_one_sample_are_single_residuals() -> None:
    one = Blocks([PANEL], RESIDUALS, 1)
    np.testing.assert_allclose(one.covariance(ANSWERS), SCHEMES["residual"].covariance(ANSWERS))


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_blocks_find_the_variance_of_a_mean_of_correlated_noise(phi: float) -> None:
    """The variance of a mean of AR(1) noise is (1 + phi)/(1 - phi)/n; in the mean over signals."""
    count = 2000
    panel = Panel(np.arange(count)[:, np.newaxis], ((0, count),), (("e", "y"),))
    mean = np.full((1, count), 1.0 / count)
    generator = np.random.default_rng(8)
    found = []
    for _ in range(40):
        scheme = Blocks([panel], autoregressive(generator, count, phi))
        found.append(scheme.covariance(mean)[0, 0] * count * (1.0 - phi) / (1.0 + phi))
    # A block of length b misses what is correlated beyond: a part of about 1/b, never gained.
    assert 0.8 < np.mean(found) < 1.05


def test_the_block_length_is_that_of_politis_and_white() -> None:
    """Of an AR(1) process G and D are known: b^3 = 3/2 n (2 phi / (1 - phi^2))^2."""
    generator, count, phi = np.random.default_rng(3), 20_000, 0.7
    expected = (1.5 * count * (2.0 * phi / (1.0 - phi**2)) ** 2) ** (1.0 / 3.0)
    found = [block_length([autoregressive(generator, count, phi)]) for _ in range(15)]
    assert np.median(found) == pytest.approx(expected, rel=0.12)
    white = [block_length([generator.standard_normal(2000)]) for _ in range(15)]
    assert np.median(white) < 5.0


def test_the_block_length_does_not_look_across_gaps() -> None:
    signal = autoregressive(np.random.default_rng(6), 4000, 0.8)
    pieces = np.split(signal, 10)
    whole, cut = block_length([signal]), block_length(pieces)
    assert cut == pytest.approx(whole, rel=0.3)
    assert block_length(pieces[::-1]) == pytest.approx(cut)
    assert block_length([np.zeros(50)]) == 1.0
    assert block_length([]) == 1.0


def test_missing_samples_end_a_run() -> None:
    measured = np.sin(TIMES)
    measured[[10, 11, 40]] = np.nan
    panels = panels_of(with_experiments(straight(measured), [measured, np.cos(TIMES)]))
    assert [p.runs for p in panels] == [((0, 10), (10, 38), (38, 57)), ((0, 60),)]
    assert panels[1].rows[0, 0] == 57


def test_times_that_are_not_equidistant_at_all_are_one_run() -> None:
    times = np.cumsum(np.random.default_rng(1).exponential(1.0, 50))
    assert runs_of(times) == ((0, 50),)
    assert runs_of(np.array([0.0, 1.0])) == ((0, 2),)
    assert runs_of(np.empty(0)) == ()
