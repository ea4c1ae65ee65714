"""Certified problems of NIST as Modelica models: exact sensitivities show the last digits.

All 27 of them: ``ci/certified FOLDER --modelica``.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.estimators.test_nist import MISRA1A, THURBER, Certified

import fmident

CI = Path(__file__).parents[2] / "ci"
QUICK = {"evaluation.executor": "inline", "evaluation.check": False}


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(CI))
    return importlib.import_module("certified_models")


@pytest.mark.each_time("Thurber")
@pytest.mark.slow
@pytest.mark.parametrize("case", [MISRA1A, THURBER], ids=lambda case: str(case.name))
def test_eight_digits_of_parameters_and_standard_deviations(
    models: ModuleType, case: Certified, tmp_path: Path
) -> None:
    """With the default options; a step of 1e-7, where a search may end, would leave seven."""
    for start in case.starts:
        file = models.write(
            tmp_path, case.name, [np.array(case.x)], np.array(case.y), np.array(start)
        )
        problem = fmident.load_problem(file, overrides=QUICK)
        result = fmident.estimate(problem)
        found = result.parameters
        assert result.status == "converged"
        np.testing.assert_allclose(found["value"], case.values, rtol=1e-8)
        np.testing.assert_allclose(found["standard_error"], case.deviations, rtol=1e-8)
