"""The study of the five test functions: what is counted, and its figures in small."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "test-functions"
NAMES = ("functions", "methods", "study")


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    if find_spec("exudyn") is None:
        pytest.skip("exudyn is not installed")
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    import study

    yield study
    for name in NAMES:
        sys.modules.pop(name, None)


def test_all_minima_are_zero_and_nothing_is_lower(study) -> None:
    rng = np.random.default_rng(0)
    for function in study.FUNCTIONS:
        best = np.array([[1.0, 1.0]]) if function.name == "Rosenbrock" else np.zeros((1, 2))
        assert function.values(best)[0] == pytest.approx(0.0, abs=1e-14)
        points = rng.uniform(-function.limit, function.limit, (2000, 2))
        assert np.all(function.values(points) > 0.0)


def test_the_budget_is_never_exceeded(study) -> None:
    counted = study.Counted(study.FUNCTIONS[1])
    counted(np.ones((9_990, 2)))
    with pytest.raises(sys.modules["methods"].Spent):
        counted(np.ones((11, 2)))
    assert counted.evaluations == 9_990


def test_the_small_budget_is_below_one_run_of_exudyn(study) -> None:
    small = study.SMALL_BUDGET
    rastrigin = study.FUNCTIONS[3]
    assert rastrigin.name == "Rastrigin"
    counts = [
        int(study.one_run(rastrigin, f"{study.OURS}, {small} evaluations", seed)["evaluations"])
        for seed in range(5)
    ]
    assert max(counts) <= small < 1000
    assert max(counts) > small - 20, "it uses what it may"
    assert study.one_run(rastrigin, "exudyn, once", 0)["evaluations"] == 1000


def test_a_seed_gives_the_same_run(study) -> None:
    for name in ("special-genetic", "particle-swarm"):
        one, two = (study.one_run(study.FUNCTIONS[3], name, 5) for _ in range(2))
        assert one["evaluations"] == two["evaluations"]
        assert one["residual"] == two["residual"]
        assert study.one_run(study.FUNCTIONS[3], name, 6)["residual"] != one["residual"]


def evaluations(study: Any, function: str, method: str) -> float:
    (chosen,) = (f for f in study.FUNCTIONS if f.name == function)
    return float(np.mean([study.one_run(chosen, method, s)["evaluations"] for s in range(10)]))


def test_as_published_the_genetic_algorithm_needs_more_than_the_swarm(study) -> None:
    genetic, swarm = (
        evaluations(study, "sphere", m)
        for m in ("special-genetic, as published", "particle-swarm, constant factors")
    )
    assert genetic > 4.0 * swarm


def test_cycles_need_fewer_than_the_published_form(study) -> None:
    assert evaluations(study, "sphere", "special-genetic") < 0.25 * evaluations(
        study, "sphere", "special-genetic, as published"
    )


@pytest.mark.nightly
@pytest.mark.slow
def test_fewer_evaluations_and_lower_residuals_than_exudyn(study, tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    study.run_all(file, 15, ["special-genetic"], study.FUNCTIONS[:2])
    study.run_all(file, 3, ["exudyn, repeated"], study.FUNCTIONS[:2])
    small = f"special-genetic, {study.SMALL_BUDGET} evaluations"
    study.run_all(file, 15, [small, "exudyn, once"], study.FUNCTIONS[:2])
    found = study.table(file, 15)
    for function in study.FUNCTIONS[:2]:
        for pair in (("special-genetic", "exudyn, repeated"), (small, "exudyn, once")):
            ours, theirs = (found.loc[(function.name, m)] for m in pair)
            assert ours["evaluations"] < theirs["evaluations"]
            assert ours["mean_residual"] < theirs["mean_residual"]
    before = file.read_text()
    study.run_all(file, 15, ["special-genetic"], study.FUNCTIONS[:2])
    assert file.read_text() == before, "what is done is not done again"
