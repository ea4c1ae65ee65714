"""Global sensitivities: against closed forms, over time, with failing simulations, as a page."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmident.checking import CheckReport, GlobalMethod, GlobalSensitivity, check_html, check_page
from fmident.cli import main
from fmident.errors import Code, ProblemError, SimulationError
from fmident.evaluation import python_problem
from fmident.problem.expressions import read_constraint
from fmident.problem.model import Parameter, Problem

from ..refused import refused
from .rig import only, rules

TIMES = np.linspace(0.0, 1.0, 33)
Check = Callable[..., CheckReport]


def problem_with(**bounds: tuple[float, float]) -> Problem:
    names = [
        Parameter(name, 0.5 * (low + high), low, high, variable=name)
        for name, (low, high) in bounds.items()
    ]
    return python_problem({"y": np.zeros(TIMES.size)}, TIMES, names, sigma=0.5)


def found_by(check: Check, problem: Problem, model: object, method: GlobalMethod) -> CheckReport:
    return check(problem, model, quick=True, global_method=method)


def indices(report: CheckReport) -> GlobalSensitivity:
    assert report.global_sensitivity is not None
    return report.global_sensitivity


def test_the_function_of_ishigami(check: Check) -> None:
    """Ishigami and Homma (1990): a = 7, b = 0.1; all indices in closed form."""

    def model(times: np.ndarray, _: object, x: float, y: float, z: float) -> dict[str, np.ndarray]:
        value = np.sin(x) + 7.0 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x)
        return {"y": np.full(times.size, value)}

    whole = (-np.pi, np.pi)
    report = found_by(
        check, problem_with(x=whole, y=whole, z=whole), model, GlobalMethod("sobol", 4096)
    )
    (output,) = indices(report).outputs
    first = 0.5 * (1.0 + 0.1 * np.pi**4 / 5.0) ** 2
    second = 7.0**2 / 8.0
    both = 8.0 * 0.1**2 * np.pi**8 / 225.0
    variance = first + second + both
    np.testing.assert_allclose(
        output.indices["S1"], np.array([first, second, 0.0]) / variance, atol=0.02
    )
    np.testing.assert_allclose(
        output.indices["ST"], np.array([first + both, second, both]) / variance, atol=0.02
    )
    assert output.spread == pytest.approx(np.sqrt(variance), rel=0.02)
    for key, truth in (("S1", first / variance), ("ST", (first + both) / variance)):
        assert abs(output.indices[key][0] - truth) < 2.0 * output.indices[f"{key}_conf"][0]


def test_the_spread_is_in_the_unit_of_the_output_whatever_its_weight(check: Check) -> None:
    """``y = a``, a even over [0, 2]: the standard deviation is 2/sqrt(12)."""

    def model(times: np.ndarray, _: object, a: float) -> dict[str, np.ndarray]:
        return {"y": np.full(times.size, a)}

    problem = problem_with(a=(0.0, 2.0))
    (experiment,) = problem.experiments
    (measurement,) = experiment.measurements
    for changes in ({"weight": 40.0, "sigma": None}, {"weight": 3.0}):
        weighed = replace(experiment, measurements=(replace(measurement, **changes),))
        report = found_by(
            check, replace(problem, experiments=(weighed,)), model, GlobalMethod("sobol", 512)
        )
        assert indices(report).outputs[0].spread == pytest.approx(2.0 / np.sqrt(12.0), rel=0.02)


def test_variances_are_summed_over_time(check: Check) -> None:
    """What moves the output much counts more than what moves it at quiet instants."""

    def model(times: np.ndarray, _: object, a: float, b: float) -> dict[str, np.ndarray]:
        return {"y": a * times + b * (1.0 - times) ** 3}

    report = found_by(
        check, problem_with(a=(0.0, 2.0), b=(-1.0, 1.0)), model, GlobalMethod("sobol", 2048)
    )
    (output,) = indices(report).outputs
    parts = np.array([np.sum(TIMES**2), np.sum((1.0 - TIMES) ** 6)])
    np.testing.assert_allclose(output.indices["ST"], parts / parts.sum(), atol=0.01)
    assert output.over_time[0] == pytest.approx([0.0, TIMES.size / parts.sum()], rel=0.03, abs=1e-9)
    assert output.over_time[-1] == pytest.approx(
        [TIMES.size / parts.sum(), 0.0], rel=0.03, abs=1e-9
    )


def test_elementary_effects_of_a_plane_are_its_slopes(check: Check) -> None:
    """Morris: mu* is the slope times the range; sigma, how much it differs, is zero."""

    def model(times: np.ndarray, _: object, a: float, b: float) -> dict[str, np.ndarray]:
        return {"y": 3.0 * a * times + b * times}

    report = found_by(
        check, problem_with(a=(0.0, 2.0), b=(0.0, 1.5)), model, GlobalMethod("morris", 12)
    )
    found = indices(report)
    (output,) = found.outputs
    rms = np.sqrt(np.mean(TIMES**2))
    expected = np.array([6.0, 1.5]) * rms
    np.testing.assert_allclose(output.indices["mu_star"] * output.spread, expected, rtol=1e-9)
    np.testing.assert_allclose(output.indices["sigma"], 0.0, atol=1e-9)
    assert (found.points, found.used, found.failed) == (36, 12, 0)


def test_what_does_not_matter_is_named_and_log_scaling_is_kept(check: Check) -> None:
    def model(times: np.ndarray, _: object, k: float, n: float) -> dict[str, np.ndarray]:
        return {"y": times * np.log10(k) + 1e-3 * n * times}

    problem = problem_with(k=(1e-3, 1e3), n=(0.0, 1.0))
    k, n = problem.parameters
    problem = replace(problem, parameters=(replace(k, initial=1.0, scaling="log"), n))
    for name in ("sobol", "morris"):
        report = found_by(check, problem, model, GlobalMethod(name, 256))  # type: ignore[arg-type]
        assert indices(report).negligible == ("n",)
        assert "global-sensitivity" in rules(report)
        # Evenly spread decades: the variance of a number between -3 and 3, times that of time.
        spread = indices(report).outputs[0].spread
        rms = np.sqrt(np.mean(TIMES**2))
        if name == "sobol":
            assert spread == pytest.approx(rms * np.sqrt(3.0), rel=0.01)


def test_what_fails_is_left_out_and_said(check: Check) -> None:
    def model(times: np.ndarray, _: object, a: float, b: float) -> dict[str, np.ndarray]:
        if a > 0.95:
            raise SimulationError("too stiff")
        return {"y": a * times + b}

    problem = problem_with(a=(0.0, 1.0), b=(0.0, 1.0))
    report = found_by(check, problem, model, GlobalMethod("sobol", 128))
    found = indices(report)
    assert 0 < found.failed < found.points
    assert 8 <= found.used < 128
    assert np.isfinite(found.outputs[0].indices["ST"]).all()
    assert {d.severity for d in report.findings if d.code == "global-sensitivity"} == {"note"}

    def fails(times: np.ndarray, _: object, a: float, b: float) -> dict[str, np.ndarray]:
        if (a, b) != (0.5, 0.5) and abs(a - 0.5) > 0.01:
            raise SimulationError("too stiff")
        return {"y": a * times + b}

    report = found_by(check, problem, fails, GlobalMethod("sobol", 16))
    assert indices(report).outputs == ()
    assert only(report, "global-sensitivity").severity == "warning"
    assert "(sobol)" not in check_page(report)


def test_what_constraints_tie_cannot_be_moved(check: Check) -> None:
    def model(times: np.ndarray, _: object, a: float, b: float) -> dict[str, np.ndarray]:
        return {"y": a * times + b}

    problem = problem_with(a=(0.0, 1.0), b=(0.0, 1.0))
    tied = replace(problem, constraints=read_constraint("order", "a <= b"))
    with refused(Code.INVALID_PROBLEM, ProblemError, match="move independently"):
        found_by(check, tied, model, GlobalMethod("morris"))


def test_an_output_that_no_parameter_moves_is_left_out(check: Check) -> None:
    problem = problem_with(a=(0.0, 1.0))
    two = python_problem(
        {"y": np.zeros(TIMES.size), "still": np.ones(TIMES.size)}, TIMES, problem.parameters
    )

    def model(times: np.ndarray, _: object, a: float) -> dict[str, np.ndarray]:
        return {"y": a * times, "still": np.ones(times.size)}

    (output,) = indices(found_by(check, two, model, GlobalMethod("sobol", 16))).outputs
    assert output.output == "y"
    assert output.indices["ST"] == pytest.approx([1.0], abs=0.15)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "sobl"}, "no method 'sobl'"),
        ({"samples": 4}, "4 samples are too few"),
        ({"seed": -1}, "seed"),
    ],
)
def test_settings_are_checked(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        GlobalMethod(**wrong)  # type: ignore[arg-type]


def test_the_seed_decides_and_samples_become_a_power_of_two(check: Check) -> None:
    def model(times: np.ndarray, _: object, a: float, b: float) -> dict[str, np.ndarray]:
        return {"y": a * b * times}

    problem = problem_with(a=(0.0, 1.0), b=(0.0, 1.0))
    assert GlobalMethod("sobol", 100).points(2) == 512
    first, again, other = (
        indices(found_by(check, problem, model, GlobalMethod("sobol", 32, seed))).largest
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_page_has_tables_and_charts(check: Check) -> None:
    def model(times: np.ndarray, _: object, a: float, b: float) -> dict[str, np.ndarray]:
        return {"y": a * times + b**2}

    problem = problem_with(a=(0.0, 1.0), b=(0.0, 1.0))
    report = found_by(check, problem, model, GlobalMethod("sobol", 64))
    text = check_page(report)
    assert "what moves y over the bounds (sobol)" in text
    assert "parameter" in text
    page = check_html(report)
    assert page.count('<figure class="chart"') == 1
    assert "Global sensitivities" in page
    assert "Global sensitivities" in report._repr_html_()
    plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert plain["global_sensitivity"]["outputs"][0]["indices"].keys() == {
        "S1", "ST", "S1_conf", "ST_conf",
    }  # fmt: skip


def test_options_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "problem.toml"
    file.write_text("")
    assert main(["check", str(file), "--samples", "64"]) == 2
    assert "--samples belongs to --global-method" in capsys.readouterr().err
    assert main(["check", str(file), "--global", "sobbol"]) == 2
    error = capsys.readouterr().err
    assert "no method 'sobbol'" in error
    assert "sobol" in error
