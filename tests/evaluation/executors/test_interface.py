"""``[evaluation] interface``: an FMU that has both is simulated by the one that is asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fmident
from fmident.errors import Code, FmidentError
from fmident.evaluation import InProcessExecutor, ProcessExecutor, SimulationTask
from fmident.fmu import read_description
from fmident.problem import validate_problem

from ...fmu.build import compiler
from ...fmu.exchange import build_twin
from ...refused import refused

TIMES = np.linspace(0.0, 1.0, 6)
TRUE = 3.0
PROBLEM = """\
[model]
fmu = '{fmu}'
[parameters.k]
initial = 2.0
[[experiments]]
data = 'data.csv'
[experiments.inputs]
u = 'u'
[experiments.outputs]
x = {{ column = 'x', sigma = 0.01 }}
[estimator]
name = 'least-squares'
[evaluation]
executor = "inline"
interface = "{interface}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with data of the equations, which coarse Co-Simulation does not meet."""
    if compiler() is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("twin")
    data = {"time": TIMES, "u": 0.0 * TIMES + 1.0, "x": 1.0 - np.exp(-TRUE * TIMES)}
    pd.DataFrame(data).to_csv(folder / "data.csv", index=False)
    build_twin(folder).rename(folder / "twin.fmu")
    return folder


def problem_file(folder: Path, interface: str) -> Path:
    path = folder / f"{interface}.toml"
    path.write_text(PROBLEM.format(fmu=folder / "twin.fmu", interface=interface))
    return path


@pytest.mark.nightly
@pytest.mark.slow
def test_the_chosen_interface_is_estimated_from(folder: Path) -> None:
    found = {}
    for interface in ("auto", "co-simulation", "model-exchange"):
        problem = fmident.load_problem(problem_file(folder, interface))
        found[interface] = fmident.estimate(problem).parameters.value["k"]
    assert found["model-exchange"] == pytest.approx(TRUE, rel=1e-3)
    assert found["co-simulation"] == found["auto"]
    assert abs(found["auto"] - TRUE) > 0.1


def test_a_problem_is_judged_by_the_chosen_interface(folder: Path) -> None:
    """Whichever the description at hand stands for: Co-Simulation of the twin has no lines."""
    about = read_description(folder / "twin.fmu")
    problem = fmident.load_problem(problem_file(folder, "model-exchange"))
    exchange = replace(problem.evaluation, interpolation="linear")
    validate_problem(replace(problem, evaluation=exchange), about)
    steps = replace(exchange, interface="co-simulation")
    with refused(Code.NOT_SUPPORTED, FmidentError):
        validate_problem(replace(problem, evaluation=steps), about.with_interface("model-exchange"))


def test_processes_simulate_by_the_same_interface(folder: Path) -> None:
    problem = fmident.load_problem(problem_file(folder, "model-exchange"))
    tasks = [SimulationTask(0, {"k": TRUE})]
    with InProcessExecutor(problem) as inline, ProcessExecutor(problem) as processes:
        (one,), (two,) = inline.run_all(tasks), processes.run_all(tasks)
    assert isinstance(one, np.ndarray)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one[:, 0], 1.0 - np.exp(-TRUE * TIMES), atol=1e-4)


def test_an_interface_that_the_fmu_lacks_or_nobody_knows(folder: Path, fmu: Path) -> None:
    wanted = problem_file(folder, "model-exchange")
    text = wanted.read_text().replace(str(folder / "twin.fmu"), str(fmu))
    with refused(Code.NOT_SUPPORTED, FmidentError, match="toml:15: .*'model-exchange'"):
        fmident.load_problem(wanted, text=text)
    with pytest.raises(FmidentError, check=lambda e: e.code == Code.NOT_A_CHOICE):
        fmident.load_problem(problem_file(folder, "ME"))
