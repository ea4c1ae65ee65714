"""Estimates one after the other against closed forms of linear problems, to rounding."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fmident.statistics.local_model import LocalModel
from fmident.statistics.sequential import HeldValues, SequentialCovariance

from .held import held_at

RNG = np.random.default_rng(5)
M1, M2 = 30, 25
J1, J21, J2 = RNG.normal(size=(M1, 2)), RNG.normal(size=(M2, 2)), RNG.normal(size=(M2, 2))
R1, R2 = RNG.normal(size=M1), 0.3 * RNG.normal(size=M2)


def statistics(
    jacobian: np.ndarray, residuals: np.ndarray, known: bool = True, **options: object
) -> LocalModel:
    names = [f"p{j}" for j in range(jacobian.shape[1])]
    return LocalModel(names, np.ones(len(names)), jacobian, residuals, sigma_known=known, **options)


def held(names: tuple[str, ...], jacobian: np.ndarray) -> HeldValues:
    return HeldValues(names, jacobian, np.zeros(len(names)))


def inverse(jacobian: np.ndarray) -> np.ndarray:
    return np.linalg.inv(jacobian.T @ jacobian)


def answer(jacobian: np.ndarray) -> np.ndarray:
    return -inverse(jacobian) @ jacobian.T


def noise_alone(residuals: np.ndarray) -> float:
    """Return the variance of the second residuals that errors of a and b cannot have made.

    That is the residual variance of a fit in which all four are free.
    """
    every = np.column_stack([J2, J21])
    rest = J2 @ answer(J2) @ residuals + residuals  # those of the second fit
    rest = rest + every @ answer(every) @ rest
    return float(rest @ rest) / (M2 - 4)


@pytest.mark.parametrize("known", [True, False])
def test_one_estimate_alone_is_the_plain_one(known: bool) -> None:
    found = statistics(J1, R1, known)
    chain = SequentialCovariance()
    chain.add(["a", "b"], found)
    np.testing.assert_allclose(chain.covariance(["a", "b"]), found.covariance, rtol=1e-12)
    np.testing.assert_allclose(chain.intervals(["a", "b"], np.ones(2)), found.intervals, rtol=1e-12)
    expected = np.inf if known else found.degrees_of_freedom
    np.testing.assert_allclose(chain.freedoms(["a", "b"]), expected)


@pytest.mark.parametrize("known", [True, False])
def test_different_data_give_the_formula_of_murphy_and_topel(known: bool) -> None:
    second_fit = R2 + J2 @ answer(J2) @ R2
    first, second = statistics(J1, R1, known), statistics(J2, second_fit, known)
    chain = SequentialCovariance()
    chain.add(["a", "b"], first)
    chain.add(["c", "d"], second, held(("a", "b"), J21))
    v1 = inverse(J1) * (1.0 if known else R1 @ R1 / (M1 - 2))
    alone = inverse(J2) * (1.0 if known else noise_alone(R2))
    g = answer(J2) @ J21
    joint = chain.covariance(["a", "b", "c", "d"])
    np.testing.assert_allclose(joint[:2, :2], v1, rtol=1e-12)
    np.testing.assert_allclose(joint[2:, 2:], alone + g @ v1 @ g.T, rtol=1e-12)
    np.testing.assert_allclose(joint[2:, :2], g @ v1, rtol=1e-12)
    np.testing.assert_array_equal(joint, joint.T)
    # Welch and Satterthwaite, for independent variances.
    whole, own = np.diag(joint[2:, 2:]), np.diag(alone)
    expected = whole**2 / (own**2 / (M2 - 4) + (whole - own) ** 2 / (M1 - 2))
    nu = chain.freedoms(["c", "d"])
    np.testing.assert_allclose(nu, np.inf if known else expected, rtol=1e-12)
    half = stats.t.ppf(0.975, nu) * np.sqrt(whole)
    np.testing.assert_allclose(chain.intervals(["c", "d"], np.zeros(2))[:, 1], half, rtol=1e-12)


def test_the_same_data_give_the_exact_covariance_of_two_step_least_squares() -> None:
    # y = J21 p1 + J2 p2 + e, first p1 with p2 known to be right, then p2 with p1 held.
    first, second = statistics(J21, R2), statistics(J2, R2)
    samples = np.arange(M2)
    chain = SequentialCovariance()
    chain.add(["a", "b"], first, samples=samples)
    chain.add(["c", "d"], second, held(("a", "b"), J21), samples)
    whole = np.vstack([answer(J21), answer(J2) @ (np.eye(M2) + J21 @ answer(J21))])
    joint = chain.covariance(["a", "b", "c", "d"])
    np.testing.assert_allclose(joint, whole @ whole.T, rtol=1e-11, atol=1e-14)
    # Taken for independent, the covariance would be another.
    apart = SequentialCovariance()
    apart.add(["a", "b"], first)
    apart.add(["c", "d"], second, held(("a", "b"), J21))
    assert not np.allclose(apart.covariance(["c", "d"]), joint[2:, 2:], rtol=0.05)


def test_the_same_data_with_noise_of_unknown_size() -> None:
    """The second residuals are worth fewer degrees of freedom: the first step has used some up."""
    second_fit = R2 + J2 @ answer(J2) @ R2
    first, second = statistics(J21, R2, False), statistics(J2, second_fit, False)
    samples = np.arange(M2)
    chain = SequentialCovariance()
    chain.add(["a", "b"], first, samples=samples)
    chain.add(["c", "d"], second, held(("a", "b"), J21), samples)
    levels = np.sqrt([R2 @ R2 / (M2 - 2), noise_alone(R2)])
    own = levels[1] * answer(J2)
    inherited = levels[0] * answer(J2) @ J21 @ answer(J21)
    whole = own + inherited
    np.testing.assert_allclose(chain.covariance(["c", "d"]), whole @ whole.T, rtol=1e-11)
    np.testing.assert_allclose(chain.freedoms(["a", "b"]), M2 - 2, rtol=1e-12)
    # One and the same noise, estimated twice: both levels err together.
    shares = np.array([np.sum(part * whole, axis=1) for part in (own, inherited)])
    doubt = shares[0] / np.sqrt(M2 - 4) + shares[1] / np.sqrt(M2 - 2)
    np.testing.assert_allclose(
        chain.freedoms(["c", "d"]), np.sum(whole**2, axis=1) ** 2 / doubt**2, rtol=1e-9
    )


@pytest.mark.nightly
@pytest.mark.parametrize("shared", [True, False])
def test_the_level_of_the_noise_is_right_whatever_was_held(shared: bool) -> None:
    """The held values err ten times as much as the noise of the second data would have them."""
    rng = np.random.default_rng(3)
    left = np.eye(M2) + J2 @ answer(J2)
    ratios = []
    for _ in range(2000):
        noise = rng.normal(size=M2)
        wrong = answer(J21) @ noise if shared else rng.normal(size=2)
        first = statistics(J21, noise, False)
        second = statistics(J2, left @ (noise + J21 @ wrong), False)
        samples = np.arange(M2) if shared else None
        chain = SequentialCovariance()
        chain.add(["a", "b"], first, samples=samples)
        chain.add(["c", "d"], second, held(("a", "b"), J21), samples)
        ratios.append(chain.noise_level**2)
    # Standard deviation of the mean: sqrt(2 / 21 / 2000) = 0.007.
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.02)
    # Of a chi-squared with 21 degrees of freedom.
    assert np.var(ratios) == pytest.approx(2.0 / (M2 - 4), rel=0.15)


def test_few_residuals_tell_the_level_as_they_are() -> None:
    few = 6  # two are left beside two free and two held parameters
    second = statistics(J2[:few], R2[:few], False)
    chain = SequentialCovariance()
    chain.add(["a", "b"], statistics(J1, R1, False))
    chain.add(["c", "d"], second, held(("a", "b"), J21[:few]))
    assert chain.noise_level == pytest.approx(np.sqrt(R2[:few] @ R2[:few] / 4))
    # What cannot be seen takes nothing off.
    unseen = HeldValues(("a", "b"), 1e-9 * J21, np.full(2, 1e-7))
    chain.add(["c", "d"], statistics(J2, R2, False), unseen)
    assert chain.noise_level == pytest.approx(np.sqrt(R2 @ R2 / (M2 - 2)))


@pytest.mark.nightly
def test_intervals_cover_where_errors_of_other_data_are_most_of_the_residuals() -> None:
    rng = np.random.default_rng(4)
    inside, draws = np.zeros(2), 3000
    for _ in range(draws):
        before, noise = rng.normal(size=M1), 0.1 * rng.normal(size=M2)
        ab = answer(J1) @ before
        cd = answer(J2) @ (noise + J21 @ ab)
        chain = SequentialCovariance()
        chain.add(["a", "b"], statistics(J1, before + J1 @ ab, False))
        second = statistics(J2, noise + J21 @ ab + J2 @ cd, False)
        chain.add(["c", "d"], second, held(("a", "b"), J21))
        low, high = chain.intervals(["c", "d"], cd).T
        inside += (low <= 0.0) & (high >= 0.0)
    # Standard deviation of the share: 0.4 %.
    np.testing.assert_allclose(inside / draws, 0.95, atol=0.013)


def test_overlapping_samples_count_sample_by_sample() -> None:
    first, second = statistics(J1, R1), statistics(J2, R2)
    ids1, ids2 = np.arange(M1), np.arange(20, 20 + M2)
    chain = SequentialCovariance()
    chain.add(["a", "b"], first, samples=ids1)
    chain.add(["c", "d"], second, held(("a", "b"), J21), ids2)
    every = 20 + M2
    noise1, noise2 = np.eye(every)[ids1], np.eye(every)[ids2]
    a1 = answer(J1) @ noise1
    whole = np.vstack([a1, answer(J2) @ (noise2 + J21 @ a1)])
    np.testing.assert_allclose(
        chain.covariance(["a", "b", "c", "d"]), whole @ whole.T, rtol=1e-11, atol=1e-14
    )


def test_a_chain_of_three_and_a_parameter_estimated_again() -> None:
    j3, j31, j32 = (RNG.normal(size=(20, k)) for k in (2, 1, 2))
    first, second = statistics(J1, R1), statistics(J2, R2)
    third = statistics(j3, np.zeros(20))
    chain = SequentialCovariance()
    chain.add(["a", "b"], first)
    chain.add(["c", "d"], second, held(("a", "b"), J21))
    # The third searches b again and e; it holds a, c and d.
    chain.add(["b", "e"], third, held(("a", "c", "d"), np.column_stack([j31, j32])))
    blocks = [M1, M2, 20]
    zeros = [np.zeros((2, m)) for m in blocks]
    ab = np.hstack([answer(J1), zeros[1], zeros[2]])
    cd = np.hstack([zeros[0], answer(J2), zeros[2]]) + answer(J2) @ J21 @ ab
    be = np.hstack([zeros[0], zeros[1], answer(j3)])
    be = be + answer(j3) @ np.column_stack([j31, j32]) @ np.vstack([ab[:1], cd])
    whole = np.vstack([ab[:1], be[:1], cd, be[1:]])
    np.testing.assert_allclose(
        chain.covariance(["a", "b", "c", "d", "e"]), whole @ whole.T, rtol=1e-11, atol=1e-14
    )


def test_units_do_not_matter() -> None:
    scale1, scale2 = np.array([1e-9, 1e8]), np.array([1e6, 1e-12])
    chain, scaled = SequentialCovariance(), SequentialCovariance()
    chain.add(["a", "b"], statistics(J1, R1))
    chain.add(["c", "d"], statistics(J2, R2), held(("a", "b"), J21))
    scaled.add(["a", "b"], statistics(J1 / scale1, R1))
    scaled.add(["c", "d"], statistics(J2 / scale2, R2),
               held(("a", "b"), J21 / scale1))  # fmt: skip
    names = ["a", "b", "c", "d"]
    units = np.concatenate([scale1, scale2])
    np.testing.assert_allclose(
        scaled.covariance(names), chain.covariance(names) * np.outer(units, units), rtol=1e-9
    )


def only_the_sum() -> LocalModel:
    """Return an estimate whose data see a + 2 b only."""
    return statistics(np.outer(J1[:, 0], [1.0, 2.0]), R1)


def test_what_no_data_determine_makes_the_later_interval_infinite() -> None:
    chain = SequentialCovariance()
    chain.add(["a", "b"], only_the_sum())
    chain.add(["c", "d"], statistics(J2, R2), held(("a", "b"), J21))
    names = ["a", "b", "c", "d"]
    assert np.isnan(chain.covariance(names)).all()
    assert np.isinf(chain.intervals(names, np.ones(4))).all()
    assert chain.undetermined(names) == names


def test_a_combination_that_is_determined_is_enough_for_the_later_estimate() -> None:
    chain = SequentialCovariance()
    chain.add(["a", "b"], only_the_sum())
    seen = np.outer(J21[:, 0], [1.0, 2.0])
    chain.add(["c", "d"], statistics(J2, R2), held(("a", "b"), seen))
    assert chain.undetermined(["a", "b", "c", "d"]) == ["a", "b"]
    variance = 1.0 / (J1[:, 0] @ J1[:, 0])  # of a + 2 b
    g = answer(J2) @ J21[:, :1]
    np.testing.assert_allclose(
        chain.covariance(["c", "d"]), inverse(J2) + variance * g @ g.T, rtol=1e-11
    )


def test_an_undetermined_parameter_without_effect_does_not_matter() -> None:
    chain = SequentialCovariance()
    chain.add(["a", "b"], only_the_sum())
    chain.add(["c", "d"], statistics(J2, R2), held(("a", "b"), 0.0 * J21))
    np.testing.assert_allclose(chain.covariance(["c", "d"]), inverse(J2), rtol=1e-12, atol=1e-15)
    # An effect that is smaller than the error of the derivatives is none.
    noise = HeldValues(("a", "b"), 1e-9 * J21, np.full(2, 1e-7))
    chain.add(["c", "d"], statistics(J2, R2), noise)
    np.testing.assert_allclose(chain.covariance(["c", "d"]), inverse(J2), rtol=1e-12, atol=1e-15)


def test_a_parameter_on_a_bound_is_not_known_here() -> None:
    chain = SequentialCovariance()
    found = statistics(J1, R1, **held_at(1))
    chain.add(["a", "b"], found)
    assert chain.knows("a")
    assert not chain.knows("b")
    assert chain.covariance(["a"])[0, 0] == pytest.approx(1.0 / (J1[:, 0] @ J1[:, 0]))
    assert np.isnan(chain.intervals(["b"], np.ones(1))).all()
    chain.forget(["a"])
    assert not chain.knows("a")
    assert np.isnan(chain.covariance(["a"])).all()


def test_a_first_estimate_without_degrees_of_freedom_spoils_what_depends_on_it() -> None:
    square = statistics(np.eye(2), np.zeros(2), known=False)
    chain = SequentialCovariance()
    chain.add(["a", "b"], square)
    half_blind = np.column_stack([J21[:, 0], np.zeros(M2)])
    chain.add(["c", "d"], statistics(J2, R2), held(("a", "b"), half_blind))
    assert np.isnan(chain.covariance(["c", "d"])).all()
    assert np.isinf(chain.intervals(["a", "c"], np.ones(2))).all()
    chain.add(["c", "d"], statistics(J2, R2), held(("a", "b"), 0.0 * J21))
    np.testing.assert_allclose(chain.covariance(["c", "d"]), inverse(J2), rtol=1e-12, atol=1e-15)
