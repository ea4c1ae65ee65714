"""Inputs that run otherwise between samples than they are simulated, seen after the fit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fmident
from fmident.compilers.base import Compiler
from fmident.estimation import EstimationResult
from fmident.estimation.comparisons import OtherCourse
from fmident.estimation.diagnostics.input_courses import gathered_residuals, jumps
from fmident.problem.model import EstimatorSettings, Problem
from fmident.report.verdict import verdict

from ...kept import library_fmu

SOURCE = """
model LagOfFirstOrder
  parameter Real a = 1;
  parameter Real tau = 0.05;
  input Real u;
  output Real y(start=0, fixed=true);
equation
  tau*der(y) = a*u - y;
end LagOfFirstOrder;
"""
STEP, COUNT = 0.02, 300
TIMES = STEP * np.arange(COUNT)
TRUE = {"a": 2.0, "tau": 0.03}
RANDOM = np.random.default_rng(1)
STEPS = np.repeat(RANDOM.uniform(-1.0, 1.0, COUNT // 6 + 1), 6)[:COUNT]
SWITCHED = np.repeat(RANDOM.choice([0.0, 1.0], COUNT // 10 + 1), 10)[:COUNT]
INPUTS = {
    "steps": STEPS,
    "switched": SWITCHED,
    "noise": RANDOM.standard_normal(COUNT),
    "sine": np.sin(9.0 * TIMES),
    "ramps": np.interp(TIMES, [0.0, 1.0, 2.5, 3.0, 6.0], [0.0, 1.0, -1.0, 0.5, 0.0]),
    "multisine": sum(np.sin(2.0 * np.pi * k * TIMES / 6.0 + k**2) for k in range(1, 40)),
}


def lag(u: np.ndarray, course: str) -> np.ndarray:
    """Return the exact response to an input that is held, straight, or held from in between."""
    a, tau = TRUE["a"], TRUE["tau"]
    decay = np.exp(-STEP / tau)
    y = np.zeros(COUNT)
    for k in range(COUNT - 1):
        late = 0.0
        if course == "straight":
            late = 1.0 - tau / STEP * (1.0 - decay)
        elif course == "between":
            late = 1.0 - np.exp(-STEP * ((0.618 * k) % 1.0) / tau)
        else:
            y[k + 1] = decay * y[k] + a * (1.0 - decay) * u[k]
            continue
        y[k + 1] = decay * y[k] + a * ((1.0 - decay - late) * u[k] + late * u[k + 1])
    return y


@pytest.fixture(scope="module")
def fmu(embedded_compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("lag") / "LagOfFirstOrder.mo"
    source.write_text(SOURCE, encoding="utf-8")
    return library_fmu(embedded_compiler, "LagOfFirstOrder", (source,))


@pytest.fixture
def problem_of(fmu: Path) -> Callable[..., Problem]:
    def make(
        u: str,
        course: str,
        *,
        sigma: float | None = None,
        parameters: dict[str, Any] | None = None,
        **experiments: Any,
    ) -> Problem:
        def frame(u: np.ndarray, course: str) -> pd.DataFrame:
            noise = 0.01 * np.random.default_rng(0).standard_normal(COUNT)
            return pd.DataFrame({"time": TIMES, "u": u, "y": lag(u, course) + noise})

        frames = {"first": frame(INPUTS[u], course)}
        for name in experiments.keys() - frames:
            asked = experiments[name]
            frames[name] = frame(INPUTS[asked.pop("u")], asked.pop("course"))
        return Problem.from_frames(
            fmu,
            frames,
            parameters=parameters
            or {n: {"initial": 1.4 * x, "bounds": [0.01 * x, 100.0 * x]} for n, x in TRUE.items()},
            inputs={"u": "u"},
            outputs={"y": "y" if sigma is None else {"column": "y", "sigma": sigma}},
            experiments=experiments,
            evaluation={"executor": "inline", "check": False},
        )

    return make


def estimated(problem: Problem) -> EstimationResult:
    return fmident.estimate(problem)


@pytest.mark.parametrize("name", ["steps", "switched"])
def test_jumps_of_what_stays(name: str) -> None:
    large = np.abs(np.diff(INPUTS[name])) > 0.05 * np.ptp(INPUTS[name])
    np.testing.assert_array_equal(jumps(INPUTS[name])[1:], large)
    noisy = INPUTS[name] + 1e-3 * np.random.default_rng(0).standard_normal(COUNT)
    np.testing.assert_array_equal(jumps(noisy)[1:], large)


@pytest.mark.parametrize("name", ["noise", "sine", "ramps", "multisine"])
def test_what_runs_does_not_jump(name: str) -> None:
    assert not jumps(INPUTS[name]).any()


@pytest.mark.each_time("steps-0.01", "multisine-None")
@pytest.mark.parametrize(
    ("name", "sigma"),
    [("steps", 0.01), ("switched", None), ("noise", None), ("sine", 0.01), ("multisine", None)],
)
def test_held_inputs_prove_the_key(
    problem_of: Callable[..., Problem], name: str, sigma: float | None
) -> None:
    problem = problem_of(name, "held", sigma=sigma)
    result = estimated(problem)
    assert result.residuals is not None
    (course,) = result.residuals.courses
    assert (course.input, course.interpolation, course.experiments) == ("u", "hold", ("first",))
    assert course.proven
    assert result.residuals.delays == ()
    (finding,) = (f for f in result.findings if f.code == "input-course")
    assert "u = { column = ..." in finding.hint
    held = problem_of(name, "held", sigma=sigma, first={"interpolation": "hold"})
    right = estimated(held)
    # One simulation, with parameters corrected to first order, says what the cost becomes.
    assert course.cost_ratio * result.cost_final == pytest.approx(right.cost_final, rel=0.2)
    assert right.values["tau"] == pytest.approx(TRUE["tau"], rel=0.05)
    assert verdict(right).grade == "good"


@pytest.mark.parametrize("name", list(INPUTS))
def test_straight_inputs_raise_no_alarm(problem_of: Callable[..., Problem], name: str) -> None:
    result = estimated(problem_of(name, "straight"))
    assert result.residuals is not None
    assert result.residuals.course is None
    assert verdict(result).grade == "good"


def test_straight_inputs_that_are_held_prove_the_key(problem_of: Callable[..., Problem]) -> None:
    problem = problem_of("multisine", "straight", first={"interpolation": "hold"})
    result = estimated(problem)
    assert result.residuals is not None
    assert result.residuals.course is not None
    assert result.residuals.course.interpolation == "linear"


def test_an_experiment_for_validation(problem_of: Callable[..., Problem], tmp_path: Path) -> None:
    problem = problem_of(
        "steps",
        "held",
        first={"interpolation": "hold"},
        other={"u": "switched", "course": "held", "role": "validation"},
    )
    result = fmident.estimate(problem, folder=tmp_path / "result")
    assert result.validation is not None
    assert result.validation.residuals is not None
    (course,) = result.validation.residuals.courses
    assert (course.interpolation, course.experiments, course.proven) == ("hold", ("other",), True)
    failed = verdict(result).of("validation-failed")
    assert failed is not None
    assert "'other'" in failed.text
    assert 'with interpolation = "hold" the cost falls to' in failed.hint
    stored = fmident.load_result(tmp_path / "result")
    assert stored.validation is not None
    assert stored.validation.residuals == result.validation.residuals
    assert stored.validation.noise_ratios == result.validation.noise_ratios


def test_residuals_gather_where_inputs_jump_between_samples(
    problem_of: Callable[..., Problem],
) -> None:
    result = estimated(problem_of("switched", "between", sigma=0.01))
    assert result.residuals is not None
    (gathered,) = result.residuals.gathered
    assert (gathered.output, gathered.input) == ("y", "u")
    assert gathered.ratio > 2.0
    assert "gather at the jumps of 'u'" in str(verdict(result).findings)


def test_noise_does_not_gather(problem_of: Callable[..., Problem]) -> None:
    problem = problem_of("switched", "held")
    for seed in range(20):
        noise = np.random.default_rng(seed).standard_normal(COUNT)
        assert gathered_residuals(problem, noise) == ()


@pytest.mark.parametrize(
    "estimator",
    [
        EstimatorSettings("least-squares", {"max_iterations": 1}),
        EstimatorSettings("special-genetic", {"generations": 2, "seed": 1}),
        EstimatorSettings("particle-swarm", {"generations": 3, "seed": 1}),
    ],
    ids=lambda e: e.name,
)
def test_a_search_that_ended_early_is_no_evidence(
    problem_of: Callable[..., Problem], estimator: EstimatorSettings
) -> None:
    problem = replace(problem_of("switched", "straight"), estimator=estimator)
    result = estimated(problem)
    assert result.residuals is not None
    assert result.residuals.course is None


@pytest.mark.parametrize(("course", "found"), [("held", ["warning"]), ("straight", [])])
def test_check_says_it_before_the_run(
    problem_of: Callable[..., Problem], course: str, found: list[str]
) -> None:
    problem = problem_of("steps", course, other={"u": "steps", "course": course})
    report = fmident.check(problem, quick=True)
    of_it = [d for d in report.findings if d.code == "input-interpolation"]
    assert [d.severity for d in of_it] == found


@pytest.mark.each_time("steps-0.4", "switched-4.0")
@pytest.mark.parametrize("factor", [0.4, 1.2, 4.0])
@pytest.mark.parametrize("name", ["steps", "switched"])
def test_check_says_what_the_estimate_gains(
    problem_of: Callable[..., Problem], name: str, factor: float
) -> None:
    starts = {n: {"initial": factor * x, "bounds": [0.01 * x, 100.0 * x]} for n, x in TRUE.items()}
    problem = problem_of(name, "held", parameters=starts)
    right = estimated(problem_of(name, "held", parameters=starts, first={"interpolation": "hold"}))
    gain = 100.0 * right.cost_final / estimated(problem).cost_final
    (finding,) = (d for d in fmident.check(problem).findings if d.code == "input-interpolation")
    (share,) = re.findall(r"the cost falls to ([0-9.e-]+) %", finding.text)
    assert float(share) == pytest.approx(gain, rel=0.02)


def test_a_course_that_raises_the_cost_is_not_advised() -> None:
    moves = {"tau": 3.0}
    alike = OtherCourse("u", ("first",), "hold", 30, 1.05, -2.0, moves)
    assert alike.matters
    assert not replace(alike, cost_ratio=1.4).matters


def test_a_course_without_figures_says_that_the_input_jumps() -> None:
    course = OtherCourse("u", ("first",), "hold", 3, math.nan, math.nan)
    assert str(course) == (
        "The input 'u' jumps 3 times and is simulated on straight lines between samples"
    )
    assert not course.matters
