"""Verified derivatives: their errors are what they say, whatever the noise is like."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.evaluation.derivatives.differences import Neighbourhood
from fmident.evaluation.derivatives.verification import Judgement, Ladder
from fmident.problem.model import EvaluationSettings, Parameter

from ...models import decay

WIDE = np.full(2, np.inf)


def climbed(
    evaluate: Callable[[np.ndarray], np.ndarray],
    z: np.ndarray,
    directions: np.ndarray,
    reach: list[float],
    noise: float,
    lower: np.ndarray = -WIDE,
    upper: np.ndarray = WIDE,
    rounds: int = 4,
) -> tuple[np.ndarray, np.ndarray]:
    base = evaluate(z[None])[0]
    expected = np.ones(directions.shape[1])
    around = Neighbourhood(evaluate, base, z, lower, upper)
    ladder = Ladder(around, directions, np.array(reach), expected, noise)
    for _ in range(rounds):
        if not ladder.refine(range(directions.shape[1])):
            break
    return ladder.derivatives()


def test_a_combination_that_nearly_cancels_stands_out_of_the_noise() -> None:
    rng = np.random.default_rng(1)
    x = np.linspace(0.0, 1.0, 500)
    noise = 1e-4

    def evaluate(points: np.ndarray) -> np.ndarray:
        clean = np.sin(5.0 * (points[:, :1] + points[:, 1:]) * x) + 4e-3 * points[:, :1] * x**2
        return clean + noise * rng.normal(size=clean.shape)

    z = np.array([1.0, 2.0])
    directions = np.array([[1.0, 1.0], [1.0, -1.0]])
    values, differences = climbed(evaluate, z, directions, [0.02, 0.4], noise)
    exact = np.column_stack([10.0 * x * np.cos(15.0 * x) + 4e-3 * x**2, 4e-3 * x**2])
    missed, told = np.linalg.norm(values - exact, axis=0), np.linalg.norm(differences, axis=0)
    assert np.all(missed < 2.0 * told)
    assert missed[1] < 0.4 * np.linalg.norm(exact[:, 1])


def test_too_long_a_step_is_corrected() -> None:
    z, way = np.array([1.0, 0.0]), np.array([[1.0], [0.0]])
    values, _ = climbed(
        lambda points: np.tile(np.sin(20.0 * points[:, :1]), 10), z, way, [0.5], 1e-12
    )
    np.testing.assert_allclose(values[:, 0], 20.0 * np.cos(20.0), rtol=1e-5)


@pytest.mark.parametrize(("lower", "upper"), [(0.9999, 3.0), (-3.0, 1.0001)])
def test_one_sided_near_a_bound(lower: float, upper: float) -> None:
    seen = []

    def evaluate(points: np.ndarray) -> np.ndarray:
        seen.extend(points[:, 0])
        return np.tile(np.exp(points[:, :1]), 4)

    values, differences = climbed(
        evaluate,
        np.array([1.0]),
        np.array([[1.0]]),
        [0.1],
        1e-12,
        np.array([lower]),
        np.array([upper]),
    )
    assert abs(values[0, 0] - np.e) <= max(abs(differences[0, 0]), 1e-9) < 0.02
    assert lower <= min(seen)
    assert max(seen) <= upper


def test_failures_shorten_the_step_and_are_told_when_nothing_works() -> None:
    def evaluate(points: np.ndarray) -> np.ndarray:
        far = np.abs(points[:, :1] - 1.0) > 0.02
        return np.tile(np.where(far, np.nan, points[:, :1] ** 2), 4)

    z, way = np.array([1.0]), np.array([[1.0]])
    bounds = (np.array([-9.0]), np.array([9.0]))
    values, _ = climbed(evaluate, z, way, [0.4], 1e-2, *bounds)
    np.testing.assert_allclose(values, 2.0, rtol=1e-6)

    def broken(points: np.ndarray) -> np.ndarray:
        return np.where(points[:, :1] == 1.0, 1.0, np.nan) * np.ones((1, 4))

    values, _ = climbed(broken, z, way, [0.4], 1e-9, *bounds)
    assert np.isnan(values).all()


def test_jumps_of_the_step_sequence_do_not_pass_for_a_slope() -> None:
    """An integrator's error that is constant between places where its steps change."""
    x = np.linspace(0.5, 1.0, 300)

    def evaluate(points: np.ndarray) -> np.ndarray:
        jumps = np.sin(12.9898 * np.floor(points[:, :1] * 3e4) + 40.0 * x)
        return points[:, :1] * x + 1e-4 * jumps

    for shift in np.linspace(0.0, 1e-4, 7):
        z, way = np.array([1.0 + shift]), np.array([[1.0]])
        values, differences = climbed(
            evaluate, z, way, [0.2], 1e-14, -np.ones(1) * 9, np.ones(1) * 9, rounds=5
        )
        missed = np.linalg.norm(values[:, 0] - x)
        assert missed < 2.0 * np.linalg.norm(differences) + 1e-9
        assert missed < 0.01 * np.linalg.norm(x)


def test_one_sample_on_a_sharp_bend_has_a_shorter_step_than_the_others() -> None:
    x = np.linspace(0.1, 1.0, 200)
    rng = np.random.default_rng(0)

    def evaluate(points: np.ndarray) -> np.ndarray:
        clean = np.exp(-points[:, :1] * x)
        clean[:, 100] = 0.02 * np.tanh((points[:, 0] - 1.0) / 2e-3)
        return clean + 1e-6 * rng.normal(size=clean.shape)

    z, way = np.array([1.0]), np.array([[1.0]])
    bounds = (np.array([-9.0]), np.array([9.0]))
    values, _ = climbed(evaluate, z, way, [0.2], 1e-6, *bounds, rounds=6)
    exact = -x * np.exp(-x)
    others = np.arange(200) != 100
    np.testing.assert_allclose(values[100, 0], 10.0, rtol=0.05)
    assert np.sqrt(np.mean((values[others, 0] - exact[others]) ** 2)) < 2e-4


def test_outputs_that_are_rounded_are_not_differenced_with_steps_that_they_do_not_notice() -> None:
    x = np.linspace(0.1, 1.0, 200)

    def evaluate(points: np.ndarray) -> np.ndarray:
        return 1e-4 * np.round(np.exp(-points[:, :1] * x) / 1e-4)

    z, way = np.array([1.0]), np.array([[1.0]])
    bounds = (np.array([-9.0]), np.array([9.0]))
    values, differences = climbed(evaluate, z, way, [0.2], 1e-16, *bounds, rounds=6)
    missed = np.linalg.norm(values[:, 0] + x * np.exp(-x))
    assert missed < max(np.linalg.norm(differences), 0.02 * np.linalg.norm(x * np.exp(-x)))


TIMES = np.linspace(0.0, 2.0, 101)


def judging(enough: Callable[[int], bool], noise: float = 1.0) -> Callable[..., Judgement]:
    """Return a judge that asks `enough` with the number of Jacobians before."""
    before: list[np.ndarray] = []

    def judge(jacobian: np.ndarray, errors: np.ndarray) -> Judgement:
        before.append(jacobian)
        assert jacobian.shape == errors.shape
        return Judgement(enough(len(before) - 1), (-len(before),), True, noise, jacobian)

    return judge


def evaluator_of(model: Callable[..., dict], derivatives: dict | None = None) -> Evaluator:
    problem = python_problem(
        {"y": model(TIMES, {}, 2.0, 1.5)["y"]},
        TIMES,
        [Parameter("a", 2.0, variable="a"), Parameter("k", 1.5, 0.1, 10.0, variable="k")],
        sigma=1.0,
        evaluation=EvaluationSettings(check=False, tolerance=1e-6 if derivatives else None),
    )
    return Evaluator(problem, PythonExecutor(problem, model, derivatives or {}))


P = np.array([2.0, 1.5])
EXACT = -np.column_stack([np.exp(-1.5 * TIMES), -2.0 * TIMES * np.exp(-1.5 * TIMES)])


def test_differences_that_suffice_cost_a_simulation_each_and_know_their_error() -> None:
    evaluator = evaluator_of(decay)
    evaluator.jacobian(P)
    before = evaluator.simulations
    verified = evaluator.verified_jacobian(P, judging(lambda _: True))
    assert evaluator.simulations == before + 2
    np.testing.assert_array_equal(verified.jacobian, evaluator.jacobian(P))
    missed = np.linalg.norm(verified.jacobian - EXACT, axis=0)
    assert np.all(missed < 2.0 * np.linalg.norm(verified.errors, axis=0))
    assert np.all(np.linalg.norm(verified.errors, axis=0) < 1e-2 * np.linalg.norm(EXACT, axis=0))
    assert verified.tolerance is None
    assert evaluator.notes == ()


def test_what_does_not_suffice_is_taken_again_along_directions() -> None:
    rng = np.random.default_rng(3)

    def noisy(times: np.ndarray, inputs: object, a: float, k: float) -> dict[str, np.ndarray]:
        return {"y": decay(times, inputs, a, k)["y"] + 1e-5 * rng.normal(size=times.size)}

    evaluator = evaluator_of(noisy)
    crude = np.linalg.norm(evaluator.jacobian(P) - EXACT)
    verified = evaluator.verified_jacobian(P, judging(lambda n: n > 3))
    missed = np.linalg.norm(verified.jacobian - EXACT)
    assert missed < 0.5 * crude
    assert missed < 2.0 * np.linalg.norm(verified.errors)
    # Along a direction, of weighted samples only.
    weights = (TIMES < 1.0).astype(float)
    way = np.array([[1.0], [-2.0]])
    verified = evaluator.verified_jacobian(P, judging(lambda n: n > 3), way, weights)
    assert verified.jacobian.shape == verified.errors.shape == (101, 1)
    missed = np.linalg.norm(verified.jacobian - EXACT @ way)
    assert missed < 2.0 * np.linalg.norm(verified.errors) < 0.02 * np.linalg.norm(EXACT @ way)


@pytest.mark.parametrize(("rounds", "tolerance"), [(0, None), (1, 1e-8), (2, 1e-10)])
def test_sensitivities_are_compared_with_those_at_tighter_tolerances(
    rounds: int, tolerance: float | None
) -> None:
    def at_tolerance(column: Callable[..., np.ndarray]) -> Callable[..., dict]:
        return lambda times, inputs, a, k, tolerance: {
            "y": column(times, a, k) * (1.0 + 30.0 * tolerance)
        }

    derivatives = {
        "a": at_tolerance(lambda t, a, k: np.exp(-k * t)),
        "k": at_tolerance(lambda t, a, k: -a * t * np.exp(-k * t)),
    }

    def simulated(times, inputs, a, k, tolerance=0.0):  # type: ignore[no-untyped-def]
        return {"y": decay(times, inputs, a, k)["y"] * (1.0 + 30.0 * tolerance)}

    evaluator = evaluator_of(simulated, derivatives)
    verified = evaluator.verified_jacobian(P, judging(lambda n: n >= rounds))
    left = 30.0 * (tolerance or 1e-6)
    np.testing.assert_allclose(verified.jacobian, EXACT * (1.0 + left), rtol=1e-12, atol=1e-15)
    # The error shows up to a part of it.
    np.testing.assert_allclose(verified.errors, -EXACT * left, rtol=0.011, atol=1e-9)
    assert verified.tolerance == pytest.approx(tolerance)


def test_only_the_column_that_is_wrong_at_a_sample_has_an_infinite_error_there() -> None:
    def jumping(times: np.ndarray, inputs: object, a: float, k: float) -> dict[str, np.ndarray]:
        y = decay(times, inputs, a, k)["y"]
        y[40] += 0.1 * (k != 1.5)
        return {"y": y}

    evaluator = evaluator_of(jumping)
    verified = evaluator.verified_jacobian(P, judging(lambda n: n > 2))
    assert np.argwhere(np.isinf(verified.errors)).tolist() == [[40, 1]]
    rest = np.arange(TIMES.size) != 40
    np.testing.assert_allclose(verified.jacobian[rest], EXACT[rest], atol=1e-4)
    (note,) = evaluator.notes
    assert "'k' moves an event across 1 sample" in note
    one = evaluator.verified_jacobian(P, judging(lambda n: n > 2), np.array([[1.0], [0.0]]))
    assert np.isfinite(one.errors).all()


def test_a_jacobian_of_the_estimator_has_the_errors_that_it_says() -> None:
    evaluator = evaluator_of(decay)
    evaluator.remember_jacobian(P, EXACT, np.array([0.0, 1e-3]))
    verified = evaluator.verified_jacobian(P, judging(lambda _: False))
    assert evaluator.simulations == 0
    np.testing.assert_array_equal(verified.jacobian, EXACT)
    np.testing.assert_allclose(np.linalg.norm(verified.errors, axis=0), [0.0, 1e-3])
    assert verified.tolerance is None
