"""What commands import: by names, since times depend on the machine."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ..study import Study

RUN = """
import json, sys
from fmident.cli import main
code = main(sys.argv[1:])
print("\\n" + json.dumps([code, sorted(sys.modules)]))
"""

SLOW = (
    "matplotlib",
    "numba",
    "casadi",
    "bokeh",
    "plotly",
    "distributed",
    "scipy.signal",
    "scipy.stats",
)
"""Packages that take a tenth of a second and more to import; pandas carries every table."""


def imported(study: Study, *arguments: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        cwd=study.folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    code, modules = json.loads(run.stdout.splitlines()[-1])
    assert code == 0
    return set(modules)


def test_an_estimation_imports_what_it_uses_only(study: Study) -> None:
    found = imported(study, "estimate", "problem.toml", "-o", "out")
    assert found.isdisjoint(SLOW)
    assert "fmident_estimators.least_squares.estimator" in found
    assert not any(name.startswith("fmident_dask.executor") for name in found)
    assert "cma" not in found
    assert "fmident_estimators.linear_regression.estimator" not in found
    assert "fmident_readers.excel" not in found
    assert "fmident.report.figures.drawing" not in found
    assert "fmident.profiles" not in found


def test_a_quick_check_imports_what_it_uses_only(study: Study) -> None:
    found = imported(study, "check", "--quick", "problem.toml")
    assert found.isdisjoint(SLOW)


@pytest.mark.slow  # compiles a model
def test_a_build_imports_the_compiler_only(study: Study) -> None:
    found = imported(study, "build", "Mechanisms.FMUs.MassSpringDamper", "-o", "built.fmu")
    assert found.isdisjoint({*SLOW, "pandas", "pyarrow", "scipy"} - {"casadi"})
    assert not any(name.endswith(".estimator") for name in found)


def test_help_imports_no_numbers(study: Study) -> None:
    found = imported(study, "--help")
    assert found.isdisjoint({*SLOW, "numpy", "pandas", "pyarrow", "scipy", "pluggy"})
