"""The cost over pairs of parameters, and its minima."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fmident.errors import ProblemError, SimulationError
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.evaluation.cost_map import CostMap, cost_map, local_minima, pairs_of
from fmident.problem.model import Parameter, Problem
from fmident.report.figures.cost_map import draw_cost_maps

pytestmark = pytest.mark.slow  # many builds or whole runs

TIMES = np.linspace(0.0, 1.0, 21)


def waves(times, inputs, a, b, c):
    if a > 4.4:
        raise SimulationError("gave up")
    return {"y": np.cos(2.0 * np.pi * a) * times + c * np.log10(b)}


def problem() -> Problem:
    return python_problem(
        {"y": TIMES + 1.0},
        TIMES,
        [
            Parameter("a", 0.3, 0.0, 5.0, variable="a", unit="m"),
            Parameter("b", 1.0, 0.1, 1000.0, variable="b", scaling="log"),
            Parameter("c", 1.0, -2.0, 2.0, variable="c"),
        ],
        sigma=0.1,
    )


@pytest.fixture
def evaluator():
    chosen = problem()
    with Evaluator(chosen, PythonExecutor(chosen, waves)) as opened:
        yield opened


def test_the_costs_stand_where_they_belong(evaluator: Evaluator) -> None:
    found = cost_map(evaluator, ("a", "b"), grid=11)
    assert found.costs.shape == (11, 11)
    np.testing.assert_allclose(found.first.values, np.linspace(0.0, 5.0, 11))
    np.testing.assert_allclose(found.second.values, np.geomspace(0.1, 1000.0, 11))
    for row, column in ((0, 0), (3, 7), (10, 2)):
        point = np.array([found.first.values[column], found.second.values[row], 1.0])
        assert found.costs[row, column] == evaluator.cost(point)
    assert np.all(np.isinf(found.costs[:, found.first.values > 4.4]))
    assert np.all(np.isfinite(found.costs[:, found.first.values <= 4.4]))


def test_one_minimum_per_period_is_counted(evaluator: Evaluator) -> None:
    found = cost_map(evaluator, ("a", "b"), grid=41, ranges={"a": (0.0, 4.0)})
    lowest = [m for m in found.minima if m.cost < 1e-9]
    assert sorted(m.first for m in lowest) == pytest.approx([0.0, 1.0, 2.0, 3.0, 4.0])
    assert all(m.second == pytest.approx(10.0) for m in lowest)
    assert sorted(m.first for m in lowest if m.at_edge) == [0.0, 4.0]
    costs = [m.cost for m in found.minima]
    assert costs == sorted(costs)


def test_other_parameters_are_held_where_asked(evaluator: Evaluator) -> None:
    found = cost_map(evaluator, ("a", "b"), grid=5, through={"c": -1.0, "a": 3.0, "elsewhere": 2})
    assert found.held == {"a": 3.0, "b": 1.0, "c": -1.0}
    point = np.array([found.first.values[1], found.second.values[2], -1.0])
    assert found.costs[2, 1] == evaluator.cost(point)
    assert found.start == {"a": 0.3, "b": 1.0, "c": 1.0}


@pytest.mark.parametrize(
    ("names", "options", "words"),
    [
        (("a", "bb"), {}, "no free parameter 'bb'"),
        (("a", "a"), {}, "given twice"),
        (("a", "b"), {"ranges": {"b": (0.0, 10.0)}}, "log scaling"),
        (("a", "b"), {"ranges": {"a": (2.0, 1.0)}}, "no grid"),
        (("a", "b"), {"ranges": {"a": (0.0, 6.0)}}, "leaves its bounds"),
    ],
)
def test_what_cannot_be_drawn_is_refused(evaluator, names, options, words) -> None:
    with pytest.raises(ProblemError, match=words) as caught:
        cost_map(evaluator, names, **options)
    assert caught.value.hint


def test_open_bounds_need_a_range() -> None:
    chosen = python_problem(
        {"y": TIMES},
        TIMES,
        [Parameter("a", 0.3, variable="a"), Parameter("b", 1.0, 0.0, 2.0, variable="b")],
    )

    def sum_of(times, inputs, a, b):
        return {"y": a * times + b}

    with Evaluator(chosen, PythonExecutor(chosen, sum_of)) as evaluator:
        with pytest.raises(ProblemError, match="'a' has the range") as caught:
            cost_map(evaluator, ("a", "b"))
        assert "--range a=LOW:HIGH" in (caught.value.hint or "")
        assert cost_map(evaluator, ("a", "b"), grid=5, ranges={"a": (0.0, 2.0)}).minima


def test_minima_are_lower_than_all_eight_neighbours() -> None:
    values = np.full((5, 6), 9.0)
    values += np.arange(30).reshape(5, 6) * 1e-3  # falls towards the first corner
    assert local_minima(values) == [(0, 0)]
    values[2, 3] = 1.0
    values[1, 4] = 2.0  # a diagonal neighbour that is lower: no minimum
    assert local_minima(values) == [(2, 3), (0, 0)]
    values[4, 5] = np.inf
    values[4, 0] = -1.0
    assert local_minima(values) == [(4, 0), (2, 3), (0, 0)]


def test_a_plateau_counts_once_unless_it_leads_down() -> None:
    values = np.full((5, 5), 3.0)
    assert local_minima(values) == [(0, 0)]
    values[2, 1:4] = 1.0
    assert local_minima(values) == [(2, 1)]
    values[2, 4] = 0.5
    assert local_minima(values) == [(2, 4)]
    assert local_minima(np.full((3, 3), np.inf)) == []


def test_pairs_make_a_triangle() -> None:
    assert pairs_of(["a", "b"]) == [("a", "b")]
    assert pairs_of(["a", "b", "c"]) == [("a", "b"), ("a", "c"), ("b", "c")]


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_a_picture_is_drawn(evaluator: Evaluator, tmp_path: Path, suffix: str) -> None:
    pairs = pairs_of(["a", "b", "c"])[: 3 if suffix == ".svg" else 1]
    maps: list[CostMap] = [cost_map(evaluator, pair, grid=9) for pair in pairs]
    path = tmp_path / f"cost{suffix}"
    draw_cost_maps(maps, path, result={"a": 1.0, "b": 10.0})
    head = path.read_bytes()[:300]
    assert {".png": b"PNG", ".svg": b"<svg", ".pdf": b"%PDF"}[suffix] in path.read_bytes()[:2000]
    assert len(head) == 300


def test_a_map_of_nothing_but_failures_is_drawn(evaluator: Evaluator, tmp_path: Path) -> None:
    found = cost_map(evaluator, ("a", "b"), grid=4, ranges={"a": (4.5, 5.0)})
    assert found.minima == ()
    draw_cost_maps([found], tmp_path / "cost.png")
    assert (tmp_path / "cost.png").stat().st_size > 1000
