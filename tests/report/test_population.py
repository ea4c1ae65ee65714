"""Table and plots of population methods."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fmident.estimation.contract import Generation
from fmident.estimation.result import StageResult
from fmident.report import sections as page_module
from fmident.report.estimate import ESTIMATE, CsvReporter, HtmlReporter
from fmident.report.figures.drawing import picture
from fmident.report.figures.search import (
    MOST_PARAMETERS,
    by_stage,
    generations_chart,
    population_chart,
)
from fmident.report.tables import population_table

pytestmark = pytest.mark.slow  # many builds or whole runs


def made_up(count: int = 5, width: int = 3, failed: bool = True) -> tuple[Generation, ...]:
    rng = np.random.default_rng(0)
    found = []
    for k in range(count):
        points = rng.uniform(0.0, 100.0, (1 if k == 0 else 12, width))
        costs = np.sum(points**2, axis=1) / (k + 1.0)
        if failed and k:
            costs[::5] = np.inf
        found.append(Generation.of(points, costs))
    return tuple(found)


def test_generations_are_copies_that_nobody_changes() -> None:
    points = np.ones((2, 3))
    generation = Generation.of(points, np.zeros(2))
    points[:] = 7.0
    assert np.all(generation.points == 1.0)
    with pytest.raises(ValueError, match="read-only"):
        generation.points[0, 0] = 1.0
    with pytest.raises(ValueError, match="shape"):
        Generation.of(points, np.zeros(3))


def test_the_table_has_a_row_per_vector() -> None:
    generations = made_up()
    table = population_table(generations, ["mass", "friction", "offset"])
    assert list(table.columns) == ["generation", "cost", "p:mass", "p:friction", "p:offset"]
    assert len(table) == 1 + 4 * 12
    assert table["generation"].value_counts().to_dict() == {0: 1, 1: 12, 2: 12, 3: 12, 4: 12}
    row = table.iloc[1 + 12 + 3]
    assert row["generation"] == 2
    assert row["cost"] == generations[2].costs[3]
    assert row["p:offset"] == generations[2].points[3, 2]


def test_population_csv_is_written_for_population_methods_only(
    make_result, problem, tmp_path: Path
) -> None:
    CsvReporter().write(make_result(), problem, tmp_path)
    assert not (tmp_path / "population.csv").exists()
    CsvReporter().write(make_result(generations=made_up()), problem, tmp_path)
    table = pd.read_csv(tmp_path / "population.csv")
    assert len(table) == 49
    assert np.isinf(table["cost"]).sum() == 12


def test_the_page_shows_the_population(make_result, problem, tmp_path: Path) -> None:
    HtmlReporter().write(make_result(generations=made_up()), problem, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "<h2>Population</h2>" in page
    assert "coloured by cost" in page
    plain = ESTIMATE.render(make_result(), title="x", version="1")
    assert "Population" not in plain


@pytest.mark.slow
def test_more_parameters_than_can_be_drawn_are_told(make_result) -> None:
    base = make_result().estimates[0]
    many = tuple(replace(base, name=f"p{k}", upper=100.0) for k in range(MOST_PARAMETERS + 2))
    result = make_result(
        estimates=many,
        generations=made_up(width=len(many)),
        correlation=np.eye(len(many)),
        history=(),
    )
    assert "2 more parameters are not drawn" in ESTIMATE.render(result, title="x", version="1")


def pairs_plot(generations: Sequence[Generation], parameters: Sequence[Any]) -> bytes:
    found = population_chart(generations, parameters)
    assert found is not None
    return picture(found[0])


def generations_plot(generations: Sequence[Generation]) -> bytes:
    found = generations_chart(generations)
    assert found is not None
    return picture(found)


def test_one_parameter_is_drawn_over_its_cost(make_result) -> None:
    (first, *_) = make_result().estimates
    svg = pairs_plot(made_up(width=1), [replace(first, lower=0.1, upper=100.0)])
    assert b"mass (kg)" in svg


def test_equal_runs_give_equal_bytes(make_result) -> None:
    free = make_result().estimates[:3]
    assert pairs_plot(made_up(), free) == pairs_plot(made_up(), free)
    assert generations_plot(made_up()) == generations_plot(made_up())


def test_the_size_of_the_plot_does_not_grow_with_the_population(make_result) -> None:
    points = np.random.default_rng(0).uniform(0.0, 1.0, (60_000, 3))
    sizes = []
    for count in (20_000, 60_000):
        generation = Generation.of(points[:count], np.sum(points[:count], axis=1))
        sizes.append(len(pairs_plot((generation,), make_result().estimates[:3])))
    assert sizes[1] == pytest.approx(sizes[0], rel=0.02)


@pytest.mark.parametrize("costs", [[0.0, 0.0], [-1.0, 2.0], [np.inf, 0.0], [5.0, 5.0]])
def test_costs_of_any_sign_are_drawn(costs: list[float], make_result) -> None:
    points = np.arange(6.0).reshape(2, 3)
    generations = (Generation.of(points, np.array(costs)),) * 3
    assert pairs_plot(generations, make_result().estimates[:3])
    assert generations_plot(generations)


def test_colours_are_explained(make_result) -> None:
    """Small numbers have the light end of the palette, in the page and in pictures."""
    generations = (Generation.of(np.arange(6.0).reshape(2, 3), np.array([1.0, 1000.0])),)
    _, words = population_chart(generations, make_result().estimates[:3])
    assert words == "Light: cost 1; dark: 980 and more."
    svg = pairs_plot(generations, make_result().estimates[:3]).decode()
    assert re.search(r">\s*cost\s*</text>", svg)
    script = (Path(page_module.__file__).parent / "templates" / "report.js").read_text()
    assert re.search(r'VIRIDIS = \["#fde725".*"#440154"\]', script, re.DOTALL)


def test_nothing_to_draw(make_result) -> None:
    failed = (Generation.of(np.ones((2, 3)), np.full(2, np.inf)),)
    assert population_chart(failed, make_result().estimates[:3]) is None
    assert generations_chart(failed) is None


@pytest.fixture
def staged(make_result):
    """Two stages: the first searches all at a cost of ten thousands, the second one parameter."""
    rng = np.random.default_rng(1)
    first, second = [], []
    for k in range(3):
        points = rng.uniform(1.0, 90.0, (8, 3))
        first.append(Generation.of(points, 1e4 + points.sum(axis=1) - k, "coarse"))
        points = np.tile([7.0, 0.0, 5.0], (6, 1))
        points[:, 1] = rng.uniform(0.0, 1.0, 6)
        second.append(Generation.of(points, points[:, 1], "fine"))
    estimates = make_result().estimates[:3]
    names = [e.name for e in estimates]

    def stage(name: str, parameters: dict[str, float]) -> StageResult:
        return StageResult(
            name=name,
            estimator="cma-es",
            cost="time-domain",
            cost_options={},
            cost_initial=2.0,
            cost_final=1.0,
            status="converged",
            message="",
            parameters=parameters,
            experiments=("a",),
            simulations=1,
            jacobians=0,
            seconds=1.0,
        )

    stages = (
        stage("coarse", dict.fromkeys(names, 7.0)),
        stage("fine", {names[1]: 0.25}),
    )
    return make_result(
        estimates=estimates, generations=(*first, *second), stages=stages, correlation=np.eye(3)
    )


def test_costs_of_different_stages_are_not_drawn_together(staged) -> None:
    coarse, fine = by_stage(staged)
    assert (coarse[0], fine[0]) == ("coarse", "fine")
    assert min(g.costs.min() for g in coarse[1]) > 9e3
    assert max(g.costs.max() for g in fine[1]) < 1.0
    assert [e.name for e in coarse[2]] == [e.name for e in staged.estimates]
    (only,) = fine[2]
    assert only.name == staged.estimates[1].name
    assert only.value == 0.25
    assert only.initial == fine[1][0].points[0, 0]
    assert all(g.points.shape == (6, 1) for g in fine[1])
    page = ESTIMATE.render(staged, title="x", version="1")
    assert page.count("Best cost so far") == 2
    assert "<strong>Stage coarse</strong>" in page


def test_the_table_counts_the_generations_of_each_stage(staged) -> None:
    table = population_table(staged.generations, ["a", "b", "c"])
    assert list(table.columns) == ["stage", "generation", "cost", "p:a", "p:b", "p:c"]
    assert table.groupby("stage")["generation"].max().to_dict() == {"coarse": 2, "fine": 2}


def test_without_stages_there_is_one_group(make_result) -> None:
    result = make_result(generations=made_up())
    ((name, generations, searched),) = by_stage(result)
    assert name == ""
    assert tuple(generations) == result.generations
    assert searched == [e for e in result.estimates if not e.fixed]
