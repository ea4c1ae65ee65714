"""Selection and mutation as published."""

from __future__ import annotations

import numpy as np
import pytest

from fmident_estimators.special_genetic.estimator import distances, offspring, survivors_of


def test_distances_follow_equation_23() -> None:
    r = np.array([0.5, 0.25, 0.75, 0.0, 1.0, 0.1])
    expected = [0.0, np.log(0.5), -np.log(0.5), 0.0, 0.0, np.log(0.8)]
    np.testing.assert_allclose(distances(r), expected, atol=1e-15)
    assert np.all(np.isfinite(distances(np.nextafter(0.5, [0.0, 1.0]))))


def test_distances_of_uniform_numbers_are_laplace() -> None:
    s = distances(np.random.default_rng(0).random(200_000))
    assert s.mean() == pytest.approx(0.0, abs=0.01)
    assert s.std() == pytest.approx(np.sqrt(2.0), rel=0.01)
    assert np.mean(np.abs(s) > 1.0) == pytest.approx(np.exp(-1.0), rel=0.02)


def test_children_stand_beside_their_parents_and_inside_the_box() -> None:
    parents = np.array([[0.2, 0.8], [0.9, 0.1]])
    children = offspring(parents, 500, 1e-3, np.random.default_rng(1))
    assert children.shape == (1000, 2)
    np.testing.assert_allclose(children[:500].mean(axis=0), parents[0], atol=3e-4)
    np.testing.assert_allclose(children[500:].mean(axis=0), parents[1], atol=3e-4)
    far = offspring(parents, 500, 1.0, np.random.default_rng(1))
    assert far.min() == 0.0
    assert far.max() == 1.0


def test_the_reach_scales_the_same_random_numbers() -> None:
    parent = np.array([[0.5, 0.5]])
    near = offspring(parent, 10, 1e-3, np.random.default_rng(2)) - parent
    nearer = offspring(parent, 10, 1e-4, np.random.default_rng(2)) - parent
    np.testing.assert_allclose(near, 10.0 * nearer, rtol=1e-9)


def test_the_best_of_all_survive_once_each_and_failures_last() -> None:
    points = np.array([[1.0], [2.0], [3.0], [2.0], [4.0]])
    costs = np.array([5.0, 1.0, np.inf, 1.0, 1.0])
    best, found = survivors_of(points, costs, 3)
    np.testing.assert_array_equal(best, [[2.0], [4.0], [1.0]])
    np.testing.assert_array_equal(found, [1.0, 1.0, 5.0])
    best, found = survivors_of(points, costs, 10)
    np.testing.assert_array_equal(found, [1.0, 1.0, 5.0, np.inf])
