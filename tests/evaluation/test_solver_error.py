"""What an FMU's own solver does to an estimate, where no tolerance can show it."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import fmident
from fmident.cli import main
from fmident.compilers.base import Compiler
from fmident.evaluation import Evaluator
from fmident.evaluation.executors.processes.executor import ProcessExecutor
from fmident.evaluation.solver_error import SolverError, interfaces_disagree, solver_error
from fmident.report.result_json import read_result

from ..fmu.build import Fixture, build, real
from ..fmu.exchange import Exchange, Signal, build_both
from ..kept import library_fmu

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
VARIABLES = "\n".join(
    [real("x", 0, "output"), real("u", 2, "input", start=1.0), real("k", 3, "parameter", start=K)]
)
EXPERIMENT = '<DefaultExperiment startTime="0" stopTime="8" tolerance="1e-5" stepSize="0.02"/>'
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

[evaluation]
workers = 1
"""

Capture = pytest.CaptureFixture[str]


pytestmark = pytest.mark.slow  # each estimation starts several processes


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A first-order lag whose Co-Simulation takes one Euler step per communication step."""
    folder = tmp_path_factory.mktemp("lag")
    fmu = build_both(LAG, "twin_cs.c", folder, experiment='tolerance="1e-6"')
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
    result: dict[str, Any] = json.loads((out / "result.json").read_text())
    return result


@pytest.fixture(scope="module")
def estimation(study: Path) -> tuple[dict[str, Any], str]:
    """What an estimate of the lag writes, and says."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        result = estimated(study)
    return result, " ".join(out.getvalue().split())


@pytest.fixture
def opened(study: Path, tmp_path: Path) -> Iterator[Callable[..., Evaluator]]:
    """Return a function to an evaluator of another FMU with the same data."""
    with contextlib.ExitStack() as stack:

        def evaluator_of(exchange: Exchange, slave: str, output: str = "x") -> Evaluator:
            path = built(tmp_path, study, exchange, slave) / "problem.toml"
            path.write_text(path.read_text().replace("x = { column", f"{output} = {{ column"))
            problem = fmident.load_problem(path)
            return stack.enter_context(Evaluator(problem, ProcessExecutor(problem)))

        yield evaluator_of


def error_of(evaluator: Evaluator) -> SolverError:
    p = evaluator.problem.initial
    residuals = evaluator.data_residuals(p)
    return solver_error(evaluator.problem, residuals, p, evaluator.activities)


def test_the_shift_of_the_estimate_by_the_solver_of_the_fmu(
    estimation: tuple[dict[str, Any], str],
) -> None:
    result, said = estimation
    k = result["parameters"]["k"]
    assert abs(k["value"] - EULER) < 3.0 * k["standard_error"]
    check = result["derivatives"]
    assert check["ignores_tolerance"]
    assert check["needed"] is None
    # To first order, as the statement is meant.
    assert check["shifts"]["k"] == pytest.approx((K - EULER) / k["standard_error"], rel=0.05)
    assert 'Set evaluation.interface to "model-exchange"' in said
    assert "The error of the FMU's own solver, which ignores the tolerance, moves" in said
    assert "disagree at the initial parameters" in said


def test_a_tolerance_that_is_not_known_is_ignored_if_no_tolerance_matters(
    opened: Callable[..., Evaluator],
) -> None:
    evaluator = opened(LAG, "twin_cs.c")
    p = evaluator.problem.initial
    assert evaluator.tolerance is None
    integration, error = evaluator.integration_error(p), error_of(evaluator).error
    assert integration is not None
    assert not integration.any()
    assert error is not None
    # The error is that of k: Euler's steps have the course of another one.
    slope = evaluator.data_jacobian(p)[:, 0]
    shift = -np.expm1(-p[0] * STEP) / STEP - p[0]
    assert float(slope @ error / (slope @ slope)) == pytest.approx(-shift, rel=0.05)


@pytest.mark.nightly
def test_the_advice_helps(study: Path, estimation: Any, capsys: Capture) -> None:
    _, said = estimation
    advice = said[said.index("Set evaluation.interface") :].partition(", or export")[0]
    pairs = re.findall(r'(evaluation\.\w+) to ("[^"]*"|[\d.e-]+)', advice)
    assert len(pairs) == 3
    words = [word for key, value in pairs for word in ("--set", f"{key}={value}")]
    result = estimated(study, *words)
    k = result["parameters"]["k"]
    assert abs(k["value"] - K) < 3.0 * k["standard_error"]
    assert not result["derivatives"]["shifts"]
    said = " ".join(capsys.readouterr().out.split())
    assert "model-exchange" not in said
    assert "delay" not in said


def test_check_says_it_beforehand(study: Path, capsys: Capture) -> None:
    assert main(["check", f"{study}/problem.toml"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the error of the FMU's own solver" in said
    assert 'set evaluation.interface to "model-exchange"' in said
    assert "[interfaces-disagree]" in said


def built(folder: Path, study: Path, exchange: Exchange, slave: str) -> Path:
    """Return a study of another FMU with the same data."""
    fmu = build_both(exchange, slave, folder)
    (folder / "data.csv").write_text((study / "data.csv").read_text())
    (folder / "problem.toml").write_text(PROBLEM.format(fmu=fmu.name))
    return folder


def test_the_comparison_is_shown_while_it_runs(study: Path) -> None:
    problem = fmident.load_problem(study / "problem.toml")
    heard = Mock()
    with Evaluator(problem, ProcessExecutor(problem)) as evaluator:
        evaluator.activities.listener = heard
        assert error_of(evaluator).error is not None
    lines = [call.args for call in heard.call_args_list]
    assert ("comparing with the FMU's Model Exchange", 2, 2) in lines


@pytest.mark.nightly
def test_a_model_exchange_that_fails_leaves_the_error_unknown(
    tmp_path: Path, study: Path, capsys: Capture
) -> None:
    broken = Exchange(LAG.source, LAG.signals, defines=("FAIL",))
    found = estimated(built(tmp_path, study, broken, "twin_cs.c"))
    assert found["derivatives"]["ignores_tolerance"]
    assert not found["derivatives"]["shifts"]
    said = " ".join(capsys.readouterr().out.split())
    assert "own solver moves the estimate: its Model Exchange fails" in said
    assert main(["check", f"{tmp_path}/problem.toml"]) in (0, 1)
    assert "is not known: its Model Exchange fails" in " ".join(capsys.readouterr().out.split())


def test_own_fmus_are_compared_where_short_steps_leave_nothing_to_the_tolerance(
    tmp_path: Path, embedded_compiler: Compiler, capsys: Capture
) -> None:
    source = tmp_path / "Lag.mo"
    source.write_text(
        "model Lag\n  parameter Real k = 2;\n  input Real u;\n"
        "  output Real x(start = 0, fixed = true);\nequation\n  der(x) = k*(u - x);\nend Lag;\n"
    )
    shutil.copy(library_fmu(embedded_compiler, "Lag", (source,)), tmp_path / "lag.fmu")
    times = np.arange(400) * 1e-3
    noisy = -np.expm1(-K * times) + SIGMA * np.random.default_rng(5).normal(size=times.size)
    table = np.column_stack([times, np.ones_like(times), noisy])
    np.savetxt(tmp_path / "data.csv", table, delimiter=",", header="time,u,x", comments="")
    (tmp_path / "problem.toml").write_text(PROBLEM.format(fmu="lag.fmu"))
    problem = fmident.load_problem(tmp_path / "problem.toml")
    with Evaluator(problem, ProcessExecutor(problem)) as evaluator:
        integration = evaluator.integration_error(problem.initial)
        assert integration is not None
        assert not integration.any()
        known = error_of(evaluator)
    assert known.error is not None
    assert float(np.abs(known.error).max()) < 1e-3
    assert interfaces_disagree(problem) == ()


def test_inputs_that_are_set_before_the_step_are_not_taken_for_the_solver(
    opened: Callable[..., Evaluator],
) -> None:
    """Exact between instants, but outputs come from the step: u(t_i+1) acts from t_i on."""
    evaluator = opened(Exchange(LAG.source, LAG.signals, defines=("FEEDS",)), "twin_exact.c", "y")
    known = error_of(evaluator)
    assert known.error is None
    assert "its outputs belong to the inputs of the step before" in known.reason
    assert interfaces_disagree(evaluator.problem) == ()


def test_a_tolerance_that_is_not_known_is_not_ignored(opened: Callable[..., Evaluator]) -> None:
    """Its own, 1e-7, is the first that is tried."""
    evaluator = opened(LAG, "twin_tolerant.c")
    assert evaluator.tolerance is None
    assert evaluator.integration_error(evaluator.problem.initial) is None


def test_results_of_earlier_versions_are_read(
    estimation: tuple[dict[str, Any], str], tmp_path: Path
) -> None:
    text = json.dumps(estimation[0])
    assert '"ignores_tolerance"' in text
    (tmp_path / "result.json").write_text(text.replace('"ignores_tolerance"', '"heedless"'))
    check = read_result(tmp_path).result.derivatives
    assert check is not None
    assert check.ignores_tolerance


def test_half_the_communication_step_shows_what_depends_on_it(
    study: Path, tmp_path: Path, capsys: Capture
) -> None:
    fmu = build(Fixture("twin_cs.c", VARIABLES), tmp_path)
    (tmp_path / "data.csv").write_bytes((study / "data.csv").read_bytes())
    (tmp_path / "problem.toml").write_text(PROBLEM.format(fmu=fmu.name))
    found = estimated(tmp_path)
    check, k = found["derivatives"], found["parameters"]["k"]
    # Half of what Euler's steps are worth, to first order.
    assert check["step_shifts"]["k"] == pytest.approx(
        0.5 * (K - EULER) / k["standard_error"], rel=0.05
    )
    assert f"Set evaluation.substeps to {check['substeps']}" in " ".join(
        capsys.readouterr().out.split()
    )
    assert main(["check", f"{tmp_path}/problem.toml"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "half of it will move the estimate: k by" in said
    assert "[communication-step]" in said
    helped = estimated(tmp_path, "--set", f"evaluation.substeps={check['substeps']}")
    assert helped["derivatives"]["step_shifts"] == {}
    found = helped["parameters"]["k"]
    assert abs(found["value"] - K) < 3.0 * found["standard_error"]


def test_an_error_that_is_most_of_the_residuals_is_told(
    study: Path, tmp_path: Path, capsys: Capture
) -> None:
    """It has no effect on a parameter that lies on its bound."""
    (tmp_path / "data.csv").write_bytes((study / "data.csv").read_bytes())
    fmu = build(Fixture("twin_tolerant.c", VARIABLES, experiment=EXPERIMENT), tmp_path)
    text = PROBLEM.format(fmu=fmu.name).replace(", sigma = 1e-3", "")
    (tmp_path / "problem.toml").write_text(text.replace("10.0]", "1.6]"))
    check = estimated(tmp_path)["derivatives"]
    said = " ".join(capsys.readouterr().out.split())
    # Each step adds 500 tolerances, of which exp(-k*h) is left after the next one.
    error = 500.0 * 1e-5 / -np.expm1(-K * STEP)
    assert error > 0.1
    assert 0.5 < check["share"] < 2.0
    assert "converged, but the error of the integration makes an error" in said
    assert "error of the integration at the tolerance 1e-05 makes an error" in said
    assert f"et evaluation.tolerance to {check['needed']:g}" in said
    assert main(["check", f"{tmp_path}/problem.toml"]) == 0
    assert "[integration-error]" in capsys.readouterr().out
    helped = estimated(tmp_path, "--set", f"evaluation.tolerance={check['needed']:g}")
    assert helped["derivatives"]["share"] == 0.0


def test_interfaces_that_agree_are_not_mentioned(opened: Callable[..., Evaluator]) -> None:
    assert interfaces_disagree(opened(LAG, "twin_exact.c").problem) == ()


def test_interfaces_that_disagree_are_told(study: Path) -> None:
    (text,) = interfaces_disagree(fmident.load_problem(study / "problem.toml"))
    table = np.loadtxt(study / "data.csv", delimiter=",", skiprows=1)
    exact, euler = np.zeros(len(table)), np.zeros(len(table))
    k = 1.5
    for n, u in enumerate(table[:-1, 1]):
        exact[n + 1] = u + (exact[n] - u) * np.exp(-k * STEP)
        euler[n + 1] = euler[n] + k * STEP * (u - euler[n])
    (difference,) = re.findall(r"'x' by ([0-9.e-]+)", text)
    assert float(difference) == pytest.approx(np.max(np.abs(exact - euler)), rel=0.01)
    assert "Co-Simulation is simulated" in text
