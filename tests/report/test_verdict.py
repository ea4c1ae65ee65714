from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from fmident.estimation.result import EstimationResult, Identifiability
from fmident.report.verdict import correlated_pairs, verdict

MakeResult = Callable[..., EstimationResult]


def with_first(result: EstimationResult, **changes: object) -> EstimationResult:
    first, *rest = result.estimates
    return replace(result, estimates=(replace(first, **changes), *rest))  # type: ignore[arg-type]


def test_good_when_nothing_speaks_against_it(make_result: MakeResult) -> None:
    judgement = verdict(make_result())
    assert judgement.grade == "good"
    assert judgement.headline.startswith("The estimation converged and every parameter")


@pytest.mark.parametrize("status", ["limit", "stopped", "interrupted"])
def test_doubtful_when_it_ended_early(make_result: MakeResult, status: str) -> None:
    judgement = verdict(make_result(status=status))
    assert judgement.grade == "doubtful"
    assert "converged and" not in judgement.headline


def test_bad_when_it_failed_or_has_no_cost(make_result: MakeResult) -> None:
    assert verdict(make_result(status="failed")).grade == "bad"
    assert verdict(make_result(cost_final=np.inf)).grade == "bad"


def test_doubtful_when_a_parameter_is_on_a_bound(make_result: MakeResult) -> None:
    judgement = verdict(with_first(make_result(), at_bound=True))
    assert judgement.grade == "doubtful"
    assert any("mass lies on a bound" in reason for reason in judgement.reasons)


def test_doubtful_when_a_parameter_has_no_uncertainty(make_result: MakeResult) -> None:
    result = with_first(make_result(), standard_error=np.nan, interval_95=(-np.inf, np.inf))
    judgement = verdict(result)
    assert judgement.grade == "doubtful"
    assert "There is no uncertainty for mass." in judgement.reasons


def test_doubtful_when_the_rank_is_too_low(make_result: MakeResult) -> None:
    lacking = Identifiability(np.array([1.0, 1.0, 0.0]), 2, "mass and offset act together")
    judgement = verdict(make_result(identifiability=lacking))
    assert judgement.grade == "doubtful"
    assert judgement.reasons[0] == "Mass and offset act together."


def test_names_pairs_that_are_strongly_correlated(make_result: MakeResult) -> None:
    matrix = np.eye(3)
    matrix[0, 2] = matrix[2, 0] = -0.995
    result = make_result(correlation=matrix)
    assert correlated_pairs(result) == [("mass", "offset", -0.995)]
    assert verdict(result).grade == "doubtful"


def test_nan_correlation_is_no_pair(make_result: MakeResult) -> None:
    assert correlated_pairs(make_result(correlation=np.full((3, 3), np.nan))) == []
