"""Every report says which column's unit was assumed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fmident.api.estimates import assumed_units
from fmident.estimation.result import EstimationResult
from fmident.evaluation import python_problem
from fmident.problem.model import Parameter
from fmident.report.estimate import ESTIMATE
from fmident.report.result_json import as_json, read_result


def test_reports_list_the_columns(
    make_result: Callable[..., EstimationResult], tmp_path: Path
) -> None:
    times = np.linspace(0.0, 1.0, 5)
    problem = python_problem({"x": times}, times, [Parameter("a", 1.0, variable="a")])
    assert assumed_units(problem) == ()
    (first,) = problem.experiments
    known = dataclasses.replace(
        first, time_column="time", assumed_units={"time": "s", "force": "N"}
    )
    second = dataclasses.replace(known, name="again")
    said = assumed_units(dataclasses.replace(problem, experiments=(known, second)))
    assert said == (
        "'data', 'again': time: column 'time', no unit in its header: seconds assumed;"
        " column 'force', no unit in its header: N assumed",
    )
    result = dataclasses.replace(make_result(), assumed_units=said)
    assert said[0] in " ".join(ESTIMATE.text(result).split())
    assert "no unit in its header: seconds assumed" in ESTIMATE.render(result, "t", "1")
    (tmp_path / "result.json").write_text(json.dumps(as_json(result, "1")))
    assert read_result(tmp_path).result.assumed_units == said
