"""The order in which parameters are fixed, and what a wrong value does to the others."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fmident.statistics.identifiability import fixing_sentence, ranked_for_fixing

TIMES = np.linspace(0.0, 1.0, 200)


def test_nothing_is_fixed_where_all_can_be_told_apart() -> None:
    jacobian = np.column_stack([np.ones(200), TIMES - 0.5, np.sin(20.0 * TIMES)])
    assert ranked_for_fixing("abc", jacobian, np.ones(3)) == ()
    assert fixing_sentence(()) == ""


def test_fewer_samples_than_parameters_cannot_tell_them_apart() -> None:
    """Two samples, three parameters: the null space has a dimension, however the columns lie."""
    jacobian = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    (step,) = ranked_for_fixing("abc", jacobian, np.ones(3))
    assert step.before == np.inf
    assert step.after < 10.0


def test_of_a_product_one_factor_is_fixed() -> None:
    """``y = a b t + c``: of a and b either; c can be told from both."""
    a, b, c = 2.0, 5.0, 1.0
    jacobian = np.column_stack([b * TIMES, a * TIMES, np.ones(200)])
    (step,) = ranked_for_fixing("abc", jacobian, np.array([a, b, c]))
    assert step.name in "ab"
    assert step.before == np.inf
    assert step.after < 10.0
    other = "a" if step.name == "b" else "b"
    # Of a product, one factor that is 1 % too large makes the other 1 % too small.
    assert step.shifts[other] == pytest.approx(-1.0)
    assert step.shifts["c"] == pytest.approx(0.0, abs=1e-9)
    text = fixing_sentence([step])
    assert f"{step.name} (collinearity unbounded to " in text
    assert f"+10 % in it gives {other} -10 %" in text


def test_of_several_products_no_parameter_is_fixed_that_can_be_told_apart() -> None:
    """``y = a b t + c d sin(20 t) + e``: no single parameter makes all others known."""
    wave = np.sin(20.0 * TIMES)
    jacobian = np.column_stack([3.0 * TIMES, TIMES, 4.0 * wave, 2.0 * wave, np.ones(200)])
    steps = ranked_for_fixing("abcde", jacobian, np.array([1.0, 3.0, 2.0, 4.0, 1e-6]))
    assert {step.name for step in steps} in [{x, y} for x in "ab" for y in "cd"]
    assert [np.isinf(step.before) for step in steps] == [True, True]
    assert np.isinf(steps[0].after)
    assert steps[1].after < 10.0


def test_the_shift_is_that_of_a_fit_with_a_wrong_value() -> None:
    """Against the fit itself: a value is fixed 3 % off and the others are fitted again."""
    basis = np.column_stack([np.exp(-TIMES), np.exp(-1.1 * TIMES), np.exp(-1.25 * TIMES), TIMES])
    truth = np.array([1.0, 2.0, -1.5, 0.7])
    steps = ranked_for_fixing("wxyz", basis, np.abs(truth))
    assert steps
    first = "wxyz".index(steps[0].name)
    others = [k for k in range(4) if k != first]
    wrong = truth[first] + 0.03 * abs(truth[first])
    rest = basis @ truth - basis[:, first] * wrong
    fitted = np.linalg.lstsq(basis[:, others], rest, rcond=None)[0]
    moved = (fitted - truth[others]) / np.abs(truth[others])
    for k, change in zip(others, moved, strict=True):
        assert 0.03 * steps[0].shifts["wxyz"[k]] == pytest.approx(change, rel=1e-6)


def test_collinearity_falls_step_by_step_to_what_is_enough() -> None:
    jacobian = np.vander(TIMES, 7)
    steps = ranked_for_fixing("abcdefg", jacobian, np.ones(7))
    assert len(steps) > 1
    assert len({s.name for s in steps}) == len(steps)
    for earlier, later in itertools.pairwise(steps):
        assert later.before == earlier.after
    assert all(s.after < s.before for s in steps)
    assert steps[-1].after <= 10.0 < steps[-1].before


def test_the_greedy_step_is_the_best_of_all() -> None:
    jacobian = np.random.default_rng(3).standard_normal((50, 5))
    jacobian[:, 4] = jacobian[:, :3].sum(axis=1) + 0.02 * jacobian[:, 4]
    steps = ranked_for_fixing("abcde", jacobian, np.ones(5))

    def index(left: list[int]) -> float:
        columns = jacobian[:, left] / np.linalg.norm(jacobian[:, left], axis=0)
        return float(np.linalg.cond(columns, 2) / np.linalg.norm(columns, 2))

    every = {n: index([k for k in range(5) if k != j]) for j, n in enumerate("abcde")}
    assert steps[0].after == pytest.approx(min(every.values()))
    assert steps[0].name == min(every, key=every.__getitem__)


def test_what_has_no_influence_is_not_looked_at() -> None:
    jacobian = np.column_stack([np.ones(200), np.zeros(200)])
    assert ranked_for_fixing("ab", jacobian, np.ones(2)) == ()
