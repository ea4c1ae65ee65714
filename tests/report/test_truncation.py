"""What a truncated estimate says of itself, from the run to the stored folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem import Parameter
from fmident.report.choice import why_not
from fmident.report.estimate import ESTIMATE
from fmident.report.result_json import FILE_NAME, as_json, read_result
from fmident.report.verdict import verdict

from .conftest import section

TIMES = np.linspace(0.0, 1.0, 50)


def model(times: np.ndarray, inputs: object, a: float, b: float, c: float, d: float) -> dict:
    return {"y": a * b * np.exp(-c * times)}


PARAMETERS = [
    Parameter(n, v, variable=n, scale=v) for n, v in zip("abcd", (1.0, 4.0, 1.0, 7.0), strict=True)
]


@pytest.fixture(scope="module")
def found() -> EstimationResult:
    measured = 6.0 * np.exp(-1.5 * TIMES)
    measured += 0.01 * np.random.default_rng(3).standard_normal(TIMES.size)
    problem = python_problem({"y": measured}, TIMES, PARAMETERS, sigma=0.01)
    estimator = load_plugins().estimators.get("least-squares")()
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        return run_estimation(problem, evaluator, estimator, {"truncate": "auto"})


def test_the_verdict_says_what_was_held(found: EstimationResult) -> None:
    judged = verdict(found)
    assert judged.grade == "doubtful"
    assert "the data do not determine a, b and d" in judged.headline
    every = (*judged.reasons, *judged.more)
    (said,) = (f.sentence for f in judged.findings if f.text.startswith("Truncated"))
    assert said in every
    assert "moved along 2 of 4 directions" in said
    assert "D is where it started" in said
    assert "50 % of a" in said
    assert "50 % of b" in said
    assert "hold only if the start is right along what was held" in said
    # What acts on nothing is not to be fixed: it disturbs nobody.
    (first,) = (r for r in every if r.startswith("Fix first"))
    assert "d (collinearity" not in first


def test_the_tables_say_it_for_each_parameter(found: EstimationResult) -> None:
    text = ESTIMATE.text(found, 120)
    rows = {line.split()[0]: line for line in text.splitlines() if line[:2] in ("a ", "b ", "d ")}
    assert "95 % if the start holds" in text
    parameters = text[: text.index("from data")]
    assert parameters.count("partly from the start") == 2
    assert "at the start" in next(x for x in parameters.splitlines() if x.startswith("d "))
    assert "0 %" in rows["d"]
    page = section(found, "Parameters", charts=False)
    assert page.count("partly from the start") == 2
    held = section(found, "What was held at the start")
    assert "start of a" in held
    assert "start of d" not in held  # that is its own alone


def test_the_folder_keeps_it(found: EstimationResult, tmp_path: Path) -> None:
    content = as_json(found, "1")
    (tmp_path / FILE_NAME).write_text(json.dumps(content))
    stored = content["truncation"]
    assert stored["held"] == ["a", "b", "d"]
    assert stored["rank"] == 2
    assert content["parameters"]["a"]["standard_error"] is None
    again = read_result(tmp_path).result
    assert again.truncation is not None
    assert found.truncation is not None
    assert np.isnan(again.truncation.p_value)  # the data say nothing of what was held
    assert replace(again.truncation, p_value=0.5) == replace(found.truncation, p_value=0.5)
    assert again.identifiability is not None
    assert found.identifiability is not None
    assert again.identifiability.fixing == found.identifiability.fixing
    assert ESTIMATE.text(again) == ESTIMATE.text(found)


def test_the_report_ranks_parameters_for_fixing(found: EstimationResult) -> None:
    assert found.identifiability is not None
    (step,) = found.identifiability.fixing
    page = section(found, "Identifiability")
    assert "Which to fix first" in page
    assert f"<td>{step.name}</td>" in page
    other = "a" if step.name == "b" else "b"
    assert f"{other} -10 %" in page


def test_it_is_no_maximum_of_the_likelihood(found: EstimationResult) -> None:
    assert "held at the start" in why_not(found, None)


def test_c_alone_has_a_covariance(found: EstimationResult) -> None:
    known = np.isfinite(np.diag(found.covariance))
    np.testing.assert_array_equal(known, [False, False, True, False])


def test_nothing_held_needs_no_section() -> None:
    measured = 6.0 * np.exp(-1.5 * TIMES)
    two = [Parameter("a", 5.0, variable="a"), Parameter("c", 1.0, variable="c")]
    problem = python_problem({"y": measured}, TIMES, two, sigma=0.01)
    estimator = load_plugins().estimators.get("least-squares")()
    with Evaluator(
        problem, PythonExecutor(problem, lambda t, u, a, c: {"y": a * np.exp(-c * t)})
    ) as evaluator:
        result = run_estimation(problem, evaluator, estimator, {"truncate": "auto"})
    assert result.truncation is None
    assert section(result, "What was held at the start") == ""
    assert as_json(result, "1")["truncation"] is None
