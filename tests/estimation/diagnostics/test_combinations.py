"""Combinations of parameters, named as what they are after an estimation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from fmident.estimation import run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter
from fmident.statistics.identifiability import Identifiability
from fmident_estimators.least_squares.estimator import LeastSquares

TIMES = np.linspace(0.0, 4.0, 41)
Model = Callable[..., Mapping[str, np.ndarray]]


def judged(
    model: Model, truth: Mapping[str, float], units: Mapping[str, str] | None = None
) -> Identifiability:
    measured = model(TIMES, {}, **truth)["y"] + 1e-3 * np.sin(37.0 * TIMES)
    units = units or {}
    parameters = [
        Parameter(n, 1.2 * v, variable=n, scale=abs(v) or 1.0, unit=units.get(n))
        for n, v in truth.items()
    ]
    problem = python_problem({"y": measured}, TIMES, parameters)
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        found = run_estimation(problem, evaluator, LeastSquares()).identifiability
    assert found is not None
    return found


def two_walls(times: np.ndarray, inputs: object, R1: float, R2: float, C: float) -> object:
    rate = 1.0 / (R1 * C) + 1.0 / (R2 * C)
    level = (20.0 / (R1 * C) + 5.0 / (R2 * C)) / rate
    return {"y": level * (1.0 - np.exp(-rate * times))}


def test_products_are_named_as_products() -> None:
    found = judged(two_walls, {"R1": 2.0, "R2": 3.0, "C": 0.7})
    assert found.rank == 2
    assert found.verdict == (
        "Rank 2 of 3. R1, R2 and C cannot be told apart; only R1*C and R2*C are determined."
    )
    assert [c.text for c in found.determined] == ["R1*C", "R2*C"]


def motor(times, inputs, K, R, J, b):
    """Speed after a step of the voltage: gain K/(R*J), rate (R*b + K^2)/(R*J)."""
    rate = (R * b + K**2) / (R * J)
    return {"y": 12.0 * K / (R * J) / rate * (1.0 - np.exp(-rate * times))}


MOTOR = {"K": 0.05, "R": 1.0, "J": 0.01, "b": 0.002}


def test_a_ratio_is_named_beside_a_combination_that_has_no_formula() -> None:
    units = {"K": "N.m/A", "R": "Ohm", "J": "kg.m2", "b": "N.m.s/rad"}
    found = judged(motor, MOTOR, units)
    assert found.rank == 2
    assert [(c.text, c.everywhere) for c in found.determined] == [("K/(R*J)", True)]
    assert found.determined[0].powers == (1, -1, -1)
    assert found.verdict == (
        "Rank 2 of 4. K, R, J and b cannot be told apart; only K/(R*J) and one combination of them"
        " are determined."
    )


def test_only_the_sum_beside_a_ratio_holds_nearby_only() -> None:
    found = judged(motor, MOTOR)
    ratio, other = found.determined
    assert (ratio.text, ratio.everywhere, other.everywhere) == ("K/(R*J)", True, False)
    assert other.sums[0][0] == 0.0  # K leads the ratio
    assert found.verdict.endswith(
        f" {other.text}: holds near these values only: farther away other combinations are"
        " determined."
    )


def test_the_standard_error_of_a_ratio_is_that_of_a_model_in_terms_of_it() -> None:
    def plain(times, inputs, gain, rate):
        return {"y": 12.0 * gain / rate * (1.0 - np.exp(-rate * times))}

    noise = 1e-2 * np.random.default_rng(1).standard_normal(TIMES.size)
    measured = {"y": motor(TIMES, {}, **MOTOR)["y"] + noise}
    errors = []
    for model, truth in ((motor, MOTOR), (plain, {"gain": 5.0, "rate": 0.45})):
        parameters = [Parameter(n, 1.2 * v, variable=n, scale=v) for n, v in truth.items()]
        problem = python_problem(measured, TIMES, parameters)
        with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
            result = run_estimation(problem, evaluator, LeastSquares())
        row = (*result.base_parameters, *result.estimates)[0]
        assert row.value == pytest.approx(5.0, abs=3.0 * row.standard_error)
        errors.append(row.standard_error)
    assert errors[0] == pytest.approx(errors[1], rel=1e-3)


def test_sums_are_named_as_sums() -> None:
    def model(times, inputs, a, b, k):
        return {"y": (a + 2.0 * b) * np.exp(-k * times)}

    found = judged(model, {"a": 1.0, "b": 0.5, "k": 0.4})
    assert "only a + 2*b is determined" in found.verdict
    assert "near these values" not in found.verdict


def test_a_combination_that_is_neither_is_claimed_nearby_only() -> None:
    def model(times, inputs, a, b, k):
        return {"y": (a**2 + np.exp(b)) * np.exp(-k * times)}

    found = judged(model, {"a": 1.0, "b": 1.3, "k": 0.4})
    assert found.rank == 2
    assert found.verdict.endswith(
        "This holds near these values only: farther away other combinations are determined."
    )


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_do_not_turn_a_product_into_something_else(unit: float) -> None:
    def model(times, inputs, k, m):
        return {"y": np.cos(np.sqrt(k / m) * times)}

    found = judged(model, {"k": 4.0 * unit, "m": 3.0 * unit})
    assert [c.text for c in found.determined] == ["k/m"]


def texts(model: Model, truth: Mapping[str, float], **units: str) -> list[str]:
    return [c.text for c in judged(model, truth, units).determined]


@pytest.mark.parametrize(("a", "b"), [(-2.0, 3.0), (2.0, -3.0), (-2.0, -3e-6)])
def test_products_of_negative_parameters(a: float, b: float) -> None:
    def model(times, inputs, a, b, k):
        return {"y": a * b * 1e3 * np.exp(-k * times)}

    assert texts(model, {"a": a, "b": b, "k": 0.4}) == ["a*b"]

    size = abs(b)

    def ratio(times, inputs, a, b, k):
        return {"y": np.exp(-k * times) * np.sin(a / b * size * times) + times}

    assert texts(ratio, {"a": a, "b": b, "k": 0.4}) == ["a/b"]


def test_powers_of_negative_parameters_next_to_one_that_is_zero() -> None:
    def model(times, inputs, a, b, zero, k):
        return {"y": a**2 * b * np.exp(-k * times) + zero * times}

    found = judged(model, {"a": -1.5, "b": -0.7, "zero": 0.0, "k": 0.4})
    assert [c.text for c in found.determined] == ["a^2*b"]
    assert found.verdict.endswith("zero and k are identifiable.")


def test_a_product_beside_a_sum() -> None:
    """Each group of parameters is named as what it is."""

    def model(times, inputs, R, C, a, b):
        return {"y": np.exp(-times / (R * C)) + (a - 3.0 * b) * times}

    truth = {"R": 2.0, "C": 0.8, "a": 1.0, "b": -0.5}
    found = judged(model, truth)
    assert [c.text for c in found.determined] == ["R*C", "a - 3*b"]
    assert found.verdict == (
        "Rank 2 of 4. R, C, a and b cannot be told apart; only R*C and a - 3*b are determined."
    )
    np.testing.assert_allclose(found.determined[1].sums, [[0.0, 0.0, 1.0, -3.0]], rtol=1e-3)


def ladder(times, inputs, R1, R2, C1, C2):
    """Step response of two RC sections in a row: two coefficients of four parameters."""
    square, plain = R1 * C1 * R2 * C2, R1 * C1 + R1 * C2 + R2 * C2
    fast, slow = np.roots([square, plain, 1.0])
    return {"y": (slow * np.exp(fast * times) - fast * np.exp(slow * times)) / (slow - fast)}


LADDER = {"R1": 1.5, "R2": 1.0, "C1": 0.8, "C2": 0.5}


def test_different_units_are_not_added_where_the_sum_holds_nearby_only() -> None:
    found = judged(ladder, LADDER, {"R1": "Ohm", "R2": "kOhm", "C1": "F", "C2": "uF"})
    assert [(c.text, c.everywhere) for c in found.determined] == [("R1*R2*C1*C2", True)]
    assert found.verdict == (
        "Rank 2 of 4. R1, R2, C1 and C2 cannot be told apart; only R1*R2*C1*C2 and one combination"
        " of them are determined."
    )


def test_sums_that_hold_everywhere_are_named_whatever_the_units() -> None:
    def model(times, inputs, a, b, c, k):
        return {"y": (a + 2.0 * b) * np.exp(-k * times) + c * times}

    truth = {"a": 1.0, "b": 0.5, "c": 2.0, "k": 0.4}
    assert texts(model, truth, a="m", b="mm", c="kg", k="1/s") == ["a + 2*b"]
    assert texts(model, truth, a="m") == ["a + 2*b"]
    assert texts(model, truth, a="kg.m2", b="kg") == ["a + 2*b"]  # 2 m2


def test_products_of_different_units_are_named() -> None:
    units = {"R1": "Ohm", "R2": "Ohm", "C": "F"}
    assert texts(two_walls, {"R1": 2.0, "R2": 3.0, "C": 0.7}, **units) == ["R1*C", "R2*C"]


def test_combinations_are_named_beside_a_parameter_that_acts_elsewhere_only() -> None:
    def model(times, inputs, R, C, silent, k):
        return {"y": k * np.exp(-times / (R * C)) + silent * max(0.0, k - 0.45) ** 2}

    found = judged(model, {"R": 2.0, "C": 0.8, "silent": 3.0, "k": 0.4})
    assert [c.text for c in found.determined] == ["R*C"]
    assert found.determined[0].members == (0, 1)
    assert found.verdict == (
        "Rank 2 of 4. silent has no visible influence on the measured outputs. R and C cannot be"
        " told apart; only R*C is determined. k is identifiable."
    )
