"""Inputs that switch: a Boolean or an Integer has no value between two others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fmident
from fmident.checking import CheckReport

from ..fmu.exchange import Exchange, Signal, build_exchange, states

_HEATER = Exchange(
    "heater.c",
    (
        *states("x"),
        Signal("u", 2, "input", 0.0),
        Signal("k", 3, "parameter", 2.0),
        Signal("on", 0, "input", 0, "Boolean"),
        Signal("step", 0, "input", 0, "Integer"),
    ),
)
_PROBLEM = """\
[model]
fmu = "{fmu}"
[parameters.k]
initial = 1.5
bounds = [0.5, 10.0]
[[experiments]]
data = "data.csv"
outputs = {{ x = {{ column = "x", sigma = 1e-3 }} }}
inputs = {{ {inputs} }}
[estimator]
name = "least-squares"
"""
_TIMES = np.arange(0.0, 10.0, 0.05)
_COLUMNS = {
    "u": np.sin(3.0 * _TIMES) + np.sin(0.7 * _TIMES),
    "on": _TIMES // 2 % 2,
    "step": 2.0 * (_TIMES // 1.5 % 3) - 1.0,
}


def report(folder: Path, version: int, names: tuple[str, ...]) -> CheckReport:
    fmu = build_exchange(_HEATER, version, folder)
    driving = np.sum([_COLUMNS[n] for n in names], axis=0)
    x = np.zeros(_TIMES.size)
    for i in range(_TIMES.size - 1):
        x[i + 1] = driving[i] + (x[i] - driving[i]) * np.exp(-2.0 * 0.05)
    table = np.column_stack([_TIMES, x, *(_COLUMNS[n] for n in names)])
    header = ",".join(("time", "x", *names))
    np.savetxt(folder / "data.csv", table, delimiter=",", header=header, comments="")
    inputs = ", ".join(f'{n} = "{n}"' for n in names)
    (folder / "problem.toml").write_text(_PROBLEM.format(fmu=fmu.name, inputs=inputs))
    return fmident.check(fmident.load_problem(folder / "problem.toml"))


@pytest.mark.each_time("3-names2")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "names"), [(2, ("on",)), (2, ("u", "on", "step")), (3, ("u", "step"))]
)
def test_the_finer_grid_is_simulated_all_the_same(
    version: int, names: tuple[str, ...], tmp_path: Path
) -> None:
    found = report(tmp_path, version, names)
    assert found.can_be_estimated
    (experiment,) = found.experiments
    assert 0.1 < experiment.bandwidth < 10.0
