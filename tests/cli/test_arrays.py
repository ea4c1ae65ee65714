"""Arrays whose size is a structural parameter, as a user meets them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fmident
from fmident.cli import main
from fmident.errors import FmidentError

from ..fmu.build import compiler
from ..fmu.slave3 import GRID, GRID_TYPES, Slave3, build_slave3

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="session")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an FMU of FMI 3.0 whose arrays have the size 'n', 2 by default."""
    if compiler() is None:
        pytest.skip("no C compiler")
    fixture = Slave3("grid.c", GRID, extra=GRID_TYPES)
    return build_slave3(fixture, tmp_path_factory.mktemp("grid"))


def test_elements_of_an_array_of_another_size(grid: Path, capsys: Capture) -> None:
    given = [f"--set=a[{k}]=2" for k in (1, 2, 3)]
    run = ["simulate", str(grid), "--stop-time", "1", "--set", "n=3", *given]
    assert main([*run, "--inputs", "u[3]=1", "--outputs", "x[3]"]) == 0
    assert capsys.readouterr().out.splitlines()[2].split() == ["x[3]", "0", "2", "0", "2", "m"]
    assert main(["simulate", str(grid), "--stop-time", "1", "--set", "n=0.5"]) == 2
    assert "structural parameter 'n' is 0.5" in capsys.readouterr().err


def test_a_problem_with_an_array_of_another_size(grid: Path, tmp_path: Path) -> None:
    t = np.linspace(0.0, 1.0, 11)
    table = pd.DataFrame({"time": t, "u": 0.0 * t + 1.0, "x": 4.0 * t})
    table.to_csv(tmp_path / "data.csv", index=False)
    problem = tmp_path / "problem.toml"
    problem.write_text(
        f"[model]\nfmu = '{grid}'\nstart_values = {{ n = 3, 'a[1]' = 1.0, 'a[2]' = 1.0,"
        " 'u[1]' = 0.0, 'u[2]' = 0.0, 'u[3]' = 0.0 }\n"
        "[parameters.a]\nvariable = 'a[3]'\ninitial = 1.0\n"
        "[[experiments]]\ndata = 'data.csv'\n[experiments.inputs]\n'u[3]' = 'u'\n"
        "[experiments.outputs]\n'x[3]' = { column = 'x', sigma = 0.1 }\n"
        "[estimator]\nname = 'least-squares'\n"
    )
    result = fmident.estimate(fmident.load_problem(problem))
    assert result.parameters.value["a"] == pytest.approx(4.0)
    problem.write_text(problem.read_text().replace("n = 3", "n = 2.5"))
    with pytest.raises(FmidentError, match=r"problem\.toml:3: .*'n' is 2\.5"):
        fmident.load_problem(problem)
