"""Bit strings, roulette, crossover, mutation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fmident.evaluation import python_problem
from fmident.problem.model import Parameter
from fmident_estimators.binary_genetic.estimator import (
    BinaryGenetic,
    crossover,
    decode,
    fitness,
    mutate,
    roulette,
)


def encode(points: np.ndarray, bits: int, *, gray: bool) -> np.ndarray:
    """Return the bit strings nearest to points of the unit cube, (k, n) -> (k, n * bits)."""
    whole = np.rint(points * (2.0**bits - 1.0)).astype(np.int64)
    words = (whole[..., np.newaxis] >> np.arange(bits - 1, -1, -1)) & 1 == 1
    if gray:
        words = np.concatenate([words[..., :1], words[..., 1:] ^ words[..., :-1]], axis=-1)
    return words.reshape(len(points), -1)


@pytest.mark.parametrize("gray", [False, True])
@pytest.mark.parametrize("bits", [1, 5, 16, 40, 52])
def test_code_and_back(bits: int, gray: bool) -> None:
    generator = np.random.default_rng(bits)
    strings = generator.random((40, 3 * bits)) < 0.5
    points = decode(strings, bits, gray=gray)
    assert points.shape == (40, 3)
    assert points.min() >= 0.0
    assert points.max() <= 1.0
    np.testing.assert_array_equal(encode(points, bits, gray=gray), strings)


def test_the_code_has_equal_steps_and_the_highest_bit_first() -> None:
    strings = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=bool)
    np.testing.assert_allclose(decode(strings, 2, gray=False)[:, 0], [0.0, 1 / 3, 2 / 3, 1.0])


def test_neighbours_in_gray_code_differ_in_one_bit() -> None:
    steps = np.arange(64)[:, np.newaxis] / 63.0
    strings = encode(steps, 6, gray=True)
    assert np.all(np.sum(strings[1:] != strings[:-1], axis=1) == 1)
    plain = encode(steps, 6, gray=False)
    assert np.max(np.sum(plain[1:] != plain[:-1], axis=1)) == 6


def test_fitness_is_distance_to_the_worst() -> None:
    np.testing.assert_array_equal(fitness(np.array([1.0, 4.0, np.inf])), [3.0, 0.0, 0.0])
    np.testing.assert_array_equal(fitness(np.array([np.inf, np.inf])), [0.0, 0.0])


def test_the_roulette_draws_in_proportion() -> None:
    costs = np.array([1.0, 3.0, 4.0, np.inf])  # shares 3 : 1 : 0 : 0
    drawn = roulette(costs, 40_000, np.random.default_rng(0))
    shares = np.bincount(drawn, minlength=4) / drawn.size
    np.testing.assert_allclose(shares, [0.75, 0.25, 0.0, 0.0], atol=0.01)


def test_equal_costs_have_equal_chances_and_failures_none() -> None:
    drawn = roulette(np.array([2.0, np.inf, 2.0]), 10_000, np.random.default_rng(0))
    shares = np.bincount(drawn, minlength=3) / drawn.size
    np.testing.assert_allclose(shares, [0.5, 0.0, 0.5], atol=0.02)
    drawn = roulette(np.full(3, np.inf), 9_000, np.random.default_rng(0))
    assert np.bincount(drawn).min() > 2_700


def test_crossover_exchanges_half_of_the_bits_of_a_pair() -> None:
    parents = np.zeros((2000, 50), dtype=bool)
    parents[1::2] = True
    children = crossover(parents, 0.9, np.random.default_rng(0))
    # Whatever was exchanged: at each place a pair still has one of each.
    assert np.all(children[0::2] ^ children[1::2])
    crossed = np.any(children[0::2], axis=1)
    assert crossed.mean() == pytest.approx(0.9, abs=0.03)
    assert children[0::2][crossed].mean() == pytest.approx(0.5, abs=0.02)
    np.testing.assert_array_equal(crossover(parents, 0.0, np.random.default_rng(0)), parents)


def test_mutation_turns_bits_over_at_its_rate() -> None:
    strings = np.random.default_rng(1).random((500, 100)) < 0.5
    mutants = mutate(strings, 0.05, np.random.default_rng(0))
    assert np.mean(mutants != strings) == pytest.approx(0.05, abs=0.003)


def cubic(times, inputs, a):
    return {"y": (a - 0.5) * times}


def run_it(run: Callable[..., Any], **options: Any) -> Any:
    times = np.linspace(0.0, 1.0, 5)
    problem = python_problem(
        {"y": 0.2 * times}, times, [Parameter("a", 0.1, 0.0, 1.0, variable="a")], sigma=0.1
    )
    return run(problem, cubic, BinaryGenetic(), options)


def test_a_bit_string_is_simulated_once(run: Callable[..., Any]) -> None:
    result = run_it(run, bits=4, generations=50)
    points = np.concatenate([g.points[:, 0] for g in result.generations[1:]])
    assert len(points) == len(set(points.tolist())) <= 16
    assert len(result.history) == 51
    assert result.history[-1].details["simulated"] == 0.0


def test_with_an_elite_the_best_stays_in_the_generation(run: Callable[..., Any]) -> None:
    kept = run_it(run, bits=20, generations=60, elites=1)
    bests = [s.details["generation_best"] for s in kept.history[1:]]
    assert bests == sorted(bests, reverse=True)
    lost = run_it(run, bits=20, generations=60, elites=0)
    bests = [s.details["generation_best"] for s in lost.history[1:]]
    assert bests != sorted(bests, reverse=True)


def test_patience_ends_a_run_that_finds_nothing_better(run: Callable[..., Any]) -> None:
    result = run_it(run, bits=4, generations=500, patience=10)
    assert result.status == "limit"
    assert "no better vector in 10 generations" in result.message
    assert len(result.history) < 100
