"""What an FMU's own solver does to an estimate, where no tolerance can show it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmident.cli import main

from ..fmu.exchange import Exchange, Signal, build_both

K, STEP, SIGMA = 2.0, 0.02, 1e-3
EULER = -np.expm1(-K * STEP) / STEP
"""The k with which Euler's steps follow the equation's own solution exactly."""

LAG = Exchange(
    "twin_me.c",
    (
        Signal("x", 0, "output"),
        Signal("der(x)", 1, derivative="x"),
        Signal("u", 2, "input", 1.0),
        Signal("k", 3, "parameter", K),
        Signal("y", 4, "output"),
    ),
)
PROBLEM = """\
[model]
fmu = "{fmu}"

[parameters.k]
initial = 1.5
bounds = [0.5, 10.0]

[[experiments]]
name = "wave"
data = "data.csv"
time = "time"

[experiments.inputs]
u = "u"

[experiments.outputs]
x = {{ column = "x", sigma = 1e-3 }}

[estimator]
name = "least-squares"
"""

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module", params=['tolerance="1e-6"', ""], ids=["tolerance", "no tolerance"])
def study(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A first-order lag whose Co-Simulation takes one Euler step per communication step."""
    folder = tmp_path_factory.mktemp("lag")
    fmu = build_both(LAG, "twin_cs.c", folder, experiment=request.param)
    times = np.arange(400) * STEP
    held = np.sin(1.3 * times) + 1.0
    x = np.zeros(times.size)
    for n in range(times.size - 1):
        x[n + 1] = held[n] + (x[n] - held[n]) * np.exp(-K * STEP)
    noisy = x + SIGMA * np.random.default_rng(5).normal(size=x.size)
    table = np.column_stack([times, held, noisy])
    np.savetxt(folder / "data.csv", table, delimiter=",", header="time,u,x", comments="")
    (folder / "problem.toml").write_text(PROBLEM.format(fmu=fmu.name))
    return folder


def estimated(study: Path, *arguments: str) -> dict[str, Any]:
    out = study / "out"
    assert main(["estimate", f"{study}/problem.toml", "-o", str(out), "--force", *arguments]) == 0
    found: dict[str, Any] = json.loads((out / "result.json").read_text())
    return found


def test_the_shift_of_the_estimate_by_the_solver_of_the_fmu(study: Path, capsys: Capture) -> None:
    found = estimated(study)
    said = " ".join(capsys.readouterr().out.split())
    k = found["parameters"]["k"]
    assert abs(k["value"] - EULER) < 3.0 * k["standard_error"]
    check = found["derivatives"]
    assert check["ignores_tolerance"]
    assert check["needed"] is None
    # To first order, as the statement is meant.
    assert check["shifts"]["k"] == pytest.approx((K - EULER) / k["standard_error"], rel=0.05)
    assert 'set evaluation.interface to "model-exchange"' in said
    assert "The error of the FMU's own solver, which ignores the tolerance, moves" in said


def test_the_advice_helps(study: Path, capsys: Capture) -> None:
    found = estimated(
        study,
        "--set",
        'evaluation.interface="model-exchange"',
        "--set",
        'evaluation.interpolation="hold"',
        "--set",
        "evaluation.tolerance=1e-9",
    )
    k = found["parameters"]["k"]
    assert abs(k["value"] - K) < 3.0 * k["standard_error"]
    assert not found["derivatives"]["shifts"]
    assert "model-exchange" not in capsys.readouterr().out


def test_check_says_it_beforehand(study: Path, capsys: Capture) -> None:
    assert main(["check", f"{study}/problem.toml"]) in (0, 1)
    said = " ".join(capsys.readouterr().out.split())
    assert "the error of the FMU's own solver" in said
    assert 'set evaluation.interface to "model-exchange"' in said


def test_a_model_exchange_that_fails_is_not_compared(
    tmp_path: Path, study: Path, capsys: Capture
) -> None:
    broken = Exchange(LAG.source, LAG.signals, defines=("FAIL",))
    fmu = build_both(broken, "twin_cs.c", tmp_path)
    (tmp_path / "data.csv").write_text((study / "data.csv").read_text())
    (tmp_path / "problem.toml").write_text(PROBLEM.format(fmu=fmu.name))
    found = estimated(tmp_path)
    assert found["derivatives"]["ignores_tolerance"]
    assert not found["derivatives"]["shifts"]
    assert "model-exchange" not in capsys.readouterr().out
