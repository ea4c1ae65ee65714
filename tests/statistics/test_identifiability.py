"""Rank and verdict on Jacobians whose null space is known."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.statistics.identifiability import format_combination
from fmident.statistics.local_model import LocalModel
from fmident.statistics.rank import analyse_rank

from .held import held_at


@pytest.fixture
def basis() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(200, 4))


def statistics(jacobian: np.ndarray, names: list[str], **kwargs: object):
    residuals = np.random.default_rng(5).normal(size=jacobian.shape[0])
    values = np.arange(1.0, jacobian.shape[1] + 1)
    return LocalModel(names, values, jacobian, residuals, sigma_known=True, **kwargs)


def test_full_rank_says_so(basis: np.ndarray) -> None:
    found = statistics(basis, ["a", "b", "c", "d"])
    assert found.identifiability.rank == 4
    assert found.identifiability.verdict == "All 4 parameters are identifiable."
    assert np.isfinite(found.intervals).all()


def test_sum_of_two_parameters_is_named(basis: np.ndarray) -> None:
    # Only mA + 2*mB acts; k is determined by itself.
    jacobian = np.column_stack([basis[:, 0], 2.0 * basis[:, 0], basis[:, 1]])
    found = statistics(jacobian, ["mA", "mB", "k"])
    verdict = found.identifiability.verdict
    assert found.identifiability.rank == 2
    assert "mA and mB cannot be told apart; only mA + 2*mB is determined" in verdict
    assert "k is identifiable" in verdict
    assert np.isinf(found.intervals[:2]).all()
    assert np.isfinite(found.intervals[2]).all()
    assert np.isnan(found.standard_errors[:2]).all()
    np.testing.assert_allclose(
        found.identifiability.determined[0].sums, [[1.0, 2.0, 0.0]], rtol=1e-9
    )


def test_the_verdict_does_not_depend_on_units(basis: np.ndarray) -> None:
    jacobian = np.column_stack([1e6 * basis[:, 0], 2e-6 * basis[:, 0], basis[:, 1]])
    found = statistics(jacobian, ["big", "small", "k"])
    assert found.identifiability.rank == 2
    assert "only big + 2e-12*small is determined" in found.identifiability.verdict


def test_interval_of_the_identifiable_parameter_is_that_without_the_others(
    basis: np.ndarray,
) -> None:
    deficient = np.column_stack([basis[:, 0], -basis[:, 0], basis[:, 1]])
    reduced = np.column_stack([basis[:, 0], basis[:, 1]])
    a = statistics(deficient, ["a", "b", "c"])
    b = statistics(reduced, ["a", "c"])
    assert a.standard_errors[2] == pytest.approx(b.standard_errors[1], rel=1e-10)
    assert "only a - b is determined" in a.identifiability.verdict


def test_two_separate_pairs_are_kept_apart(basis: np.ndarray) -> None:
    jacobian = np.column_stack([basis[:, 0], basis[:, 0], basis[:, 1], 3.0 * basis[:, 1]])
    verdict = statistics(jacobian, ["a", "b", "c", "d"]).identifiability.verdict
    assert "only a + b and c + 3*d are determined" in verdict


def test_three_parameters_in_two_combinations(basis: np.ndarray) -> None:
    # a + c and b + 2c act.
    jacobian = np.column_stack([basis[:, 0], basis[:, 1], basis[:, 0] + 2.0 * basis[:, 1]])
    verdict = statistics(jacobian, ["a", "b", "c"]).identifiability.verdict
    assert "only a + c and b + 2*c are determined" in verdict


def test_zero_column_is_a_parameter_without_influence(basis: np.ndarray) -> None:
    jacobian = np.column_stack([basis[:, 0], np.zeros(200)])
    found = statistics(jacobian, ["a", "idle"])
    assert "idle has no visible influence on the measured outputs" in found.identifiability.verdict
    assert np.isinf(found.intervals[1]).all()
    assert np.isfinite(found.intervals[0]).all()


def test_a_dependence_within_the_error_of_the_jacobian_counts(basis: np.ndarray) -> None:
    noise = 1e-5 * np.random.default_rng(8).normal(size=200)
    jacobian = np.column_stack([basis[:, 0], 2.0 * basis[:, 0] + noise])
    errors = np.full(2, 1e-5 * np.sqrt(200))
    assert statistics(jacobian, ["a", "b"]).identifiability.rank == 2
    found = statistics(jacobian, ["a", "b"], column_errors=errors)
    assert found.identifiability.rank == 1
    assert "only a + 2*b is determined" in found.identifiability.verdict


def test_parameter_on_a_bound_is_left_out(basis: np.ndarray) -> None:
    found = statistics(basis[:, :3], ["a", "b", "c"], **held_at(1, count=3))
    reduced = statistics(basis[:, [0, 2]], ["a", "c"])
    assert found.identifiability.verdict == "Both parameters are identifiable."
    assert np.isnan(found.standard_errors[1])
    assert found.intervals[1, 0] == 2.0  # it begins there
    np.testing.assert_allclose(found.standard_errors[[0, 2]], reduced.standard_errors)


def test_fewer_residuals_than_parameters() -> None:
    jacobian = np.array([[1.0, 2.0, 0.5]])
    analysis = analyse_rank(jacobian)
    assert analysis.rank == 1
    assert analysis.singular_values.shape == (3,)
    assert analysis.involved.all()


@pytest.mark.parametrize(
    ("coefficients", "text"),
    [
        ([1.0, 2.0], "x + 2*y"),
        ([1.0, -1.0], "x - y"),
        ([-0.5, 1.0], "-0.5*x + y"),
        ([0.0, 1.0], "y"),
        ([1.0, 0.0064], "x + 0.0064*y"),
    ],
)
def test_combinations_read_like_algebra(coefficients: list[float], text: str) -> None:
    assert format_combination(np.array(coefficients), ["x", "y"]) == text


def test_a_column_that_is_mostly_error_takes_no_part_in_combinations() -> None:
    """Scaled to the length of the others it would mix with one that is known to nine digits."""
    for seed in range(20):
        generator = np.random.default_rng(seed)
        known, noise = generator.normal(size=(2, 800)) * [[1.0], [1e-9]]
        other = 1e-9 * generator.normal(size=800)
        found = analyse_rank(
            np.column_stack([known, noise]), spread=np.column_stack([other, 0.98 * noise])
        )
        assert found.rank == 1
        assert found.without_influence.tolist() == [False, True]


def test_the_weakest_direction_of_two_similar_columns_is_their_difference(
    basis: np.ndarray,
) -> None:
    first, second, other = np.linalg.qr(basis)[0][:, :3].T
    angle = 1e-3
    jacobian = np.column_stack(
        [5.0 * first, 0.2 * (np.cos(angle) * first + np.sin(angle) * second), 3.0 * other]
    )
    weakest, *rest = statistics(jacobian, ["a", "b", "c"]).identifiability.weakest
    assert [d.determined for d in (weakest, *rest)] == [True, True, True]
    # Two unit vectors with an angle between them: sqrt(1 - cos) and sqrt(1 + cos).
    assert weakest.singular_value == pytest.approx(np.sqrt(1.0 - np.cos(angle)), rel=1e-6)
    half = np.sqrt(0.5)
    assert abs(weakest.shares["a"]) == pytest.approx(half)
    assert weakest.shares["b"] == pytest.approx(-weakest.shares["a"])
    assert weakest.shares["c"] == pytest.approx(0.0, abs=1e-9)
    assert max(weakest.shares.values()) == pytest.approx(half)
    assert [d.singular_value for d in rest] == sorted(d.singular_value for d in rest)


def test_of_what_is_not_determined_each_pair_has_a_direction_of_its_own(
    basis: np.ndarray,
) -> None:
    a, c = basis[:, 0], basis[:, 1]
    jacobian = np.column_stack([a, 2.0 * a, c, -4.0 * c, basis[:, 2], np.zeros(200)])
    judged = statistics(jacobian, ["a", "b", "c", "d", "e", "f"]).identifiability
    assert judged.rank == 3
    nulls = [d for d in judged.weakest if not d.determined]
    involved = {frozenset(n for n, s in d.shares.items() if abs(s) > 1e-6) for d in nulls}
    assert involved == {frozenset("ab"), frozenset("cd"), frozenset("f")}
    for d in nulls:
        assert sum(s**2 for s in d.shares.values()) == pytest.approx(1.0)
        assert d.singular_value == pytest.approx(0.0, abs=1e-12)
        # In units of 1 over the lengths of the columns, the step changes nothing.
        lengths = np.linalg.norm(jacobian, axis=0)
        step = np.array(list(d.shares.values())) / np.where(lengths > 0.0, lengths, 1.0)
        np.testing.assert_allclose(jacobian @ step, 0.0, atol=1e-12)


def test_parameters_on_a_bound_have_no_share(basis: np.ndarray) -> None:
    judged = statistics(basis, ["a", "b", "c", "d"], **held_at(1, count=4)).identifiability
    assert {frozenset(d.shares) for d in judged.weakest} == {frozenset("acd")}
