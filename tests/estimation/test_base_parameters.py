"""Combinations that the data determine where they do not determine their members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmident.errors import Code, EstimationError
from fmident.estimation import run_estimation
from fmident.estimation.result import EstimationResult, ParameterEstimate
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter
from fmident.report.comparison import parameter_names
from fmident.report.estimate import ESTIMATE, CsvReporter, JsonReporter, remark
from fmident.report.figures.uncertainty import forest_chart
from fmident.report.information_criteria import Compared
from fmident.report.result_json import read_result
from fmident.report.verdict import verdict
from fmident.statistics.model_selection import Criteria
from fmident_estimators.least_squares.estimator import LeastSquares

from ..refused import refused

TIMES = np.linspace(0.0, 4.0, 81)
SIGMA = 1e-3
Model = Callable[..., Mapping[str, np.ndarray]]


def solve(
    model: Model,
    truth: Mapping[str, float],
    units: Mapping[str, str] | None = None,
    fixed: Sequence[str] = (),
    **bounds: tuple[float, float],
) -> EstimationResult:
    measured = model(TIMES, {}, **truth)["y"]
    measured = measured + SIGMA * np.random.default_rng(3).normal(size=TIMES.size)
    parameters = [
        Parameter(
            n, v if n in fixed else 1.2 * v, *bounds.get(n, (-np.inf, np.inf)), variable=n,
            scale=abs(v), unit=(units or {}).get(n), fixed=n in fixed,
        )
        for n, v in truth.items()
    ]  # fmt: skip
    problem = python_problem({"y": measured}, TIMES, parameters, sigma=SIGMA)
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        return run_estimation(problem, evaluator, LeastSquares())


def springs(times, inputs, k1, k2, m1, m2, d):
    """Return the decay of a mass of two parts on two springs: k over m, and d over m."""
    mass = m1 + m2
    root = np.sqrt(max((k1 + k2) / mass - (0.5 * d / mass) ** 2, 0.01))
    return {"y": np.exp(-0.5 * d / mass * times) * np.cos(root * times)}


SPRINGS = {"k1": 10.0, "k2": 6.0, "m1": 1.5, "m2": 0.5, "d": 0.4}


def parallel(times, inputs, k1, k2, c):
    return {"y": (k1 + k2) * times + c * times**2}


PARALLEL = {"k1": 2.0, "k2": 3.0, "c": 0.5}


def row_of(result: EstimationResult, name: str) -> ParameterEstimate:
    (row,) = [e for e in result.base_parameters if e.name == name]
    return row


def test_a_sum_is_a_row_with_value_interval_and_formula() -> None:
    result = solve(parallel, PARALLEL, {"k1": "N/m", "k2": "N/m"})
    row = row_of(result, "k1_base")
    assert (row.expression, row.unit) == ("k1 + k2", "N/m")
    assert row.factors == ((1, pytest.approx({"k1": 1.0, "k2": 1.0}, rel=1e-6)),)
    # The same as with one of the springs known.
    known = solve(parallel, PARALLEL, fixed=["k2"]).parameters.loc["k1"]
    assert row.value == pytest.approx(known["value"] + PARALLEL["k2"], rel=1e-9)
    assert row.standard_error == pytest.approx(known["standard_error"], rel=1e-4)
    low, high = row.interval_95
    assert high - low == pytest.approx(2.0 * 1.959964 * row.standard_error, rel=1e-6)
    for name in ("k1", "k2"):
        (member,) = [e for e in result.estimates if e.name == name]
        assert member.base == ("k1_base",)
        assert np.isnan([member.standard_error, *member.interval_95]).all()
        assert remark(member, result.identifiability) == "in k1_base"


@pytest.mark.parametrize("units", [{}, {"k1": "N/m", "k2": "N/m", "m1": "kg", "m2": "kg"}])
def test_a_product_of_sums_is_a_row(units: dict[str, str]) -> None:
    result = solve(springs, SPRINGS, {**units, "d": "N.s/m"} if units else {})
    first, second = result.base_parameters
    assert {first.expression, second.expression} == {"(k1 + k2)/d", "(m1 + m2)/d"}
    assert first.value == pytest.approx(16.0 / 0.4, rel=0.02)
    assert first.factors[1] == (-1, {"d": 1.0})
    assert (first.unit, second.unit) == (("1/s", "s") if units else (None, None))
    for row, truth in ((first, 40.0), (second, 5.0)):
        assert abs(row.value - truth) < 4.0 * row.standard_error < 0.1 * truth


@pytest.mark.parametrize(
    ("held", "formula"), [("d", None), ("m1", "(k1 + k2)/d"), ("k2", "k1 + k2")]
)
def test_prior_knowledge_makes_other_base_parameters(held: str, formula: str | None) -> None:
    result = solve(springs, SPRINGS, fixed=[held])
    formulas = [e.expression for e in result.base_parameters]
    if held == "d":
        assert formulas == ["k1 + k2", "m1 + m2"]
    else:  # sums with a known part and products with others: what acts has no simple form
        assert all(e.base == () for e in result.estimates if e.name not in "".join(formulas))


def test_standard_errors_of_products_are_those_of_one_factor_known() -> None:
    def model(times, inputs, R1, R2, C):
        return {"y": np.exp(-times / (R1 * C)) + 0.2 * np.sin(R2 * C * times)}

    truth = {"R1": 2.0, "R2": 3.0, "C": 0.7}
    result = solve(model, truth, {"R1": "Ohm", "R2": "Ohm", "C": "F"})
    known = solve(model, truth, fixed=["C"]).parameters
    for name in ("R1", "R2"):
        row = row_of(result, f"{name}_base")
        assert (row.expression, row.unit) == (f"{name}*C", "s")
        error = truth["C"] * known.loc[name, "standard_error"]
        assert row.standard_error == pytest.approx(error, rel=1e-3)


def test_what_holds_near_the_estimate_only_is_no_base_parameter() -> None:
    def model(times, inputs, a, b, k):
        return {"y": (a**2 + np.exp(b)) * np.exp(-k * times)}

    result = solve(model, {"a": 1.0, "b": 1.3, "k": 0.4})
    assert result.base_parameters == ()
    assert all(e.base == () for e in result.estimates)


def test_members_beside_a_parameter_on_its_bound() -> None:
    """The base parameter is that of what is left, the one on its bound held there."""
    result = solve(parallel, PARALLEL, c=(0.6, 10.0))
    assert next(e.at_bound for e in result.estimates if e.name == "c")
    assert [e.expression for e in result.base_parameters] == ["k1 + k2"]


def test_names_do_not_collide_with_parameters() -> None:
    def model(times, inputs, k, k2, k_base):
        return parallel(times, inputs, k, k2, k_base)

    result = solve(model, {"k": 2.0, "k2": 3.0, "k_base": 0.5})
    assert [e.name for e in result.base_parameters] == ["k_base_"]


def test_the_verdict_says_where_members_act() -> None:
    result = solve(parallel, PARALLEL)
    judged = verdict(result)
    assert judged.grade == "doubtful"
    assert "k1 and k2 act only in k1 + k2" in judged.headline
    assert "not determine" not in judged.headline
    assert result.identifiability is not None
    by_choice = replace(result.identifiability, by_choice=True)
    assert verdict(replace(result, identifiability=by_choice)).grade == "good"


def test_all_that_is_stored_is_read_back(tmp_path: Path) -> None:
    result = solve(springs, SPRINGS, {"k1": "N/m"})
    JsonReporter().write(result, None, tmp_path)  # type: ignore[arg-type]
    read = read_result(tmp_path).result
    assert read.base_parameters == result.base_parameters
    assert [e.base for e in read.estimates] == [e.base for e in result.estimates]
    assert ESTIMATE.text(read).count("(k1 + k2)/d") >= 1
    CsvReporter().write(result, None, tmp_path)  # type: ignore[arg-type]
    lines = (tmp_path / "parameters.csv").read_text().splitlines()
    assert sum(",base parameter," in line for line in lines) == 2
    assert list(result.parameters.index[-2:]) == [e.name for e in result.base_parameters]


def test_everything_that_shows_parameters_shows_them() -> None:
    result = solve(parallel, PARALLEL)
    for shown in (ESTIMATE.view(result), str(result), ESTIMATE.text(result)):
        assert "k1_base" in shown
    forest = forest_chart(result)
    assert forest is not None
    assert [name for _, name in forest.panels[0].y.ticks or ()] == ["c", "k1_base"]


def test_results_are_compared_by_base_parameters_of_the_same_formula() -> None:
    result = solve(parallel, PARALLEL)
    (row,) = result.base_parameters
    other = replace(result, base_parameters=(replace(row, expression="k1 + 2*k2"),))

    def rows(*results: EstimationResult) -> list[str]:
        compared = [Compared("one", r, Criteria(), Criteria()) for r in results]
        return [name for name in parameter_names(compared) if "base" in name]

    assert rows(result, result) == ["k1_base = k1 + k2"]
    assert rows(result, other) == ["k1_base = k1 + k2", "k1_base = k1 + 2*k2"]


def test_chosen_members_move_the_one_that_a_base_parameter_is_named_after() -> None:
    """Equation 10 of the paper on closed-loop multibody systems."""
    result = solve(parallel, PARALLEL)
    moved = result.with_members({"k2": 1.0})
    total = result.base_parameters[0].value
    assert moved.values["k2"] == 1.0
    assert moved.values["k1"] == pytest.approx(total - 1.0, rel=1e-12)
    assert moved.values["c"] == result.values["c"]
    assert result.with_members({"k1": 1.0}).values["k2"] == pytest.approx(total - 1.0, rel=1e-12)


def test_chosen_members_of_products() -> None:
    result = solve(springs, SPRINGS)
    moved = result.with_members({"d": 0.8, "k2": 1.0}).values
    for row in result.base_parameters:
        top = moved["k1"] + moved["k2"] if "k1" in row.members else moved["m1"] + moved["m2"]
        assert top / moved["d"] == pytest.approx(row.value, rel=1e-10)
    assert (moved["d"], moved["k2"]) == (0.8, 1.0)


def test_members_that_cannot_be_chosen() -> None:
    result = solve(parallel, PARALLEL)
    with refused(Code.UNKNOWN_NAME, EstimationError):
        result.with_members({"c": 1.0})
    with pytest.raises(EstimationError):
        result.with_members({"k1": 1.0, "k2": 1.0})
