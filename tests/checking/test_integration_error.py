"""What a parameter changes by the steps of the integrator alone is not an influence."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fmident
from fmident.compilers.base import Compiler
from fmident.errors import ProblemError

from ..kept import library_fmu

pytestmark = pytest.mark.slow  # an FMU is built

SOURCE = """
model Beside "What b moves is not measured"
  parameter Real a(unit="1/s") = 1;
  parameter Real b(unit="1/s") = 3;
  constant Real w(unit="1/s") = 1;
  Real z(start=0, fixed=true);
  output Real x(start=1, fixed=true);
equation
  der(x) = -a*x + w*sin(w*time);
  der(z) = -b*z + w*sin(20*w*time);
end Beside;
"""

PROBLEM = """
[model]
fmu = "Beside.fmu"
[parameters.a]
initial = 1.1
bounds = [0.01, 100.0]
[parameters.b]
initial = 2.5
bounds = [0.01, 100.0]
[[experiments]]
name = "e"
data = "e.csv"
time = "time"
[experiments.outputs]
x = { column = "x", sigma = 0.01 }
[estimator]
name = "least-squares"
[evaluation]
tolerance = 1e-4
executor = "inline"
"""


def test_a_parameter_that_changes_nothing_but_steps_acts_nowhere(
    tmp_path: Path, embedded_compiler: Compiler
) -> None:
    """Where all is fast the steps follow b, and x moves by its integration error."""
    (tmp_path / "Beside.mo").write_text(SOURCE)
    fmu = library_fmu(embedded_compiler, "Beside", (tmp_path / "Beside.mo",))
    shutil.copy(fmu, tmp_path / "Beside.fmu")
    times = np.linspace(0.0, 8.0, 801)
    x = 1.5 * np.exp(-times) + 0.5 * (np.sin(times) - np.cos(times))
    pd.DataFrame({"time": times, "x": x}).to_csv(tmp_path / "e.csv", index=False)
    (tmp_path / "problem.toml").write_text(PROBLEM)
    with pytest.raises(ProblemError) as error:
        fmident.estimate(fmident.load_problem(tmp_path / "problem.toml"))
    assert error.value.code == "parameter-without-influence"
    assert "'b'" in error.value.message
    assert "acts elsewhere" not in error.value.message
