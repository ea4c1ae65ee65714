"""What priors contributed: on the page, in result.json, and read back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmident.estimation import EstimationResult
from fmident.estimation.comparisons import PriorCheck, PriorKnowledge, ResidualCheck
from fmident.report.result_json import as_json, read_result
from fmident.report.verdict import verdict

from .conftest import section

Make = Callable[..., EstimationResult]

MASS = PriorCheck("mass", "kg", "normal, 90 +- 1", 0.05, 95.3, 0.11, 5.3, 1.2e-7)
OFFSET = PriorCheck("offset", "N", "normal, -3 +- 1", 0.999, np.nan, np.nan, np.nan, np.nan, True)
KNOWN = PriorKnowledge(
    (MASS, OFFSET), {"mass": 0.05, "friction": 0.3, "offset": 0.999}, 28.1, 1, 1.2e-7, ("offset",)
)


def test_the_page_shows_each_prior_beside_the_data(make_result: Make) -> None:
    page = section(make_result(priors=KNOWN), "Priors")
    for text in ("normal, 90 ± 1 kg", "95.30 ± 0.11", "+5.3", "friction 30 %"):
        assert text in page
    assert "Priors and data contradict each other" in page
    assert section(make_result(), "Priors") == ""


def test_they_are_read_back(make_result: Make, tmp_path: Path) -> None:
    result = make_result(priors=KNOWN)
    (tmp_path / "result.json").write_text(json.dumps(as_json(result, "1")))
    found = read_result(tmp_path).result.priors
    assert found is not None
    assert found.checks[0] == MASS
    assert found.checks[1].alone
    assert np.isnan(found.checks[1].data_value)
    assert (found.shares, found.left_open) == (KNOWN.shares, ("offset",))
    assert [c.name for c in found.conflict] == ["mass"]


@pytest.mark.parametrize("p_value", [0.2, 1.2e-7])
def test_a_conflict_is_a_doubt(make_result: Make, p_value: float) -> None:
    checks = (replace(MASS, p_value=p_value), OFFSET)
    judged = verdict(make_result(priors=replace(KNOWN, checks=checks, p_value=p_value)))
    said = "the data contradict the prior of mass" in judged.headline
    assert said == (p_value < 0.01)


def test_a_conflict_comes_before_noise_whose_colour_is_counted(make_result: Make) -> None:
    residuals = ResidualCheck(noise_ratio=1.0, autocorrelation=0.9)
    known = replace(KNOWN, checks=(replace(MASS, p_value=1e-9), OFFSET), p_value=1e-9)
    judged = verdict(make_result(priors=known, residuals=residuals))
    assert judged.headline.endswith(", but the data contradict the prior of mass.")
