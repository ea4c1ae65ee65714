"""Standard errors and ranks against exact ones, on models that are hard to differentiate."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmident.compilers.base import Compiler
from fmident.evaluation import Evaluator, SimulationFailure, make_executor
from fmident.problem.model import DifferenceScheme

from .bench import Finding, look_at
from .cases import BY_NAME, CASES, MODES, TOLERANCES, Case

Combination = tuple[str, float, DifferenceScheme]

QUICK: tuple[Combination, ...] = (
    ("jump", 1e-6, "forward"),
    ("coarse", 1e-4, "forward"),
    ("coarse", 1e-8, "central"),
    ("threshold", 1e-4, "auto"),
    ("staircase", 1e-6, "forward"),
    ("sum", 1e-8, "forward"),
)
POINTS = {"products": (1,), "bend": (0, 1), "jump": (0, 1)}
"""Where the grid looks at other points of the reference than the truth."""


def grid() -> list[object]:
    """Return all combinations; each change tries another one of each case."""
    combinations = list(itertools.product(TOLERANCES, MODES))
    return [
        pytest.param(
            case, tolerance, mode, id=f"{case.name}-{tolerance:.0e}-{mode}",
            marks=[] if k == number % len(combinations) else pytest.mark.nightly,
        )
        for number, case in enumerate(CASES)
        for k, (tolerance, mode) in enumerate(combinations)
    ]  # fmt: skip


@pytest.fixture(scope="session")
def case_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("derivative-cases")


@pytest.mark.parametrize(("name", "tolerance", "mode"), QUICK)
def test_a_case_that_is_well_posed_gets_all_its_intervals(
    name: str,
    tolerance: float,
    mode: DifferenceScheme,
    embedded_compiler: Compiler,
    case_folder: Path,
) -> None:
    case = BY_NAME[name]
    found = look_at(case, case.fmu(embedded_compiler, case_folder), tolerance, mode)
    assert found.faults == ()
    assert found.withheld == (), found.verdict
    assert found.rank == case.reference.points[0].rank


GOOD = Finding(1.0, "a", 2, 2, (), (), False, 10, "")


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"ratio": 0.96}, "0.96 of its standard error"),
        ({"ratio": 1.04}, "1.04 of its standard error"),
        ({"ratio": float("nan")}, "of its standard error"),
        ({"rank": 1}, "rank 1, not 2"),
        ({"rank": 3}, "rank 3, not 2"),
        ({"rank": 3, "undecided": True}, "rank 3, not 2"),
        ({"invented": ("b",)}, "intervals of b, which are open"),
        ({"bias": 0.6}, "nothing is said of the error of the integration"),
    ],
)
def test_the_bench_sees_what_is_wrong(changes: dict[str, Any], fault: str) -> None:
    assert GOOD.faults == ()
    assert any(fault in f for f in dataclasses.replace(GOOD, **changes).faults)


def test_what_is_withheld_is_not_wrong() -> None:
    assert dataclasses.replace(GOOD, bias=0.6, warned=True).faults == ()
    assert dataclasses.replace(GOOD, rank=1, undecided=True).faults == ()
    assert dataclasses.replace(GOOD, rank=1, withheld=("b",)).faults == ()


@pytest.mark.slow
@pytest.mark.parametrize(("case", "tolerance", "mode"), grid())
def test_every_standard_error_is_right_or_withheld(
    case: Case,
    tolerance: float,
    mode: DifferenceScheme,
    embedded_compiler: Compiler,
    case_folder: Path,
) -> None:
    fmu = case.fmu(embedded_compiler, case_folder)
    for point in POINTS.get(case.name, (0,)):
        found = look_at(case, fmu, tolerance, mode, point)
        assert found.faults == (), (point, found.verdict)
        if tolerance == min(TOLERANCES) and point == 0:
            assert found.withheld == (), (point, found.verdict)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_references_are_those_of_the_models(
    case: Case, embedded_compiler: Compiler, case_folder: Path
) -> None:
    """Simulated with a tight tolerance, each FMU gives the exact outputs."""
    problem = case.problem(case.fmu(embedded_compiler, case_folder), 1e-11, "forward")
    with Evaluator(problem, make_executor(problem)) as evaluator:
        assert not any(
            isinstance(s, SimulationFailure) for s in evaluator.simulate(problem.initial)
        )
        # In units of the noise.
        error = np.abs(evaluator.residuals(problem.initial)).max()
    assert error < (0.5 if case.name == "deaf" else 2e-3)
