"""Experiments that are not fitted: predicted with the values that were found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fmident
from fmident.cli import main
from fmident.errors import Code, FmidentError
from fmident.report.result_json import read_result

from ..refused import refused
from ..study import NOISE, Study

Capture = pytest.CaptureFixture[str]

SECOND = """
[[experiments]]
name = "check"
role = "validation"
data = "check.csv"
inputs = { F = "force" }
outputs = { x = { column = "position", sigma = 2e-5 } }
"""


@pytest.fixture
def both(study: Study, measure: Callable[[int], pd.DataFrame]) -> Study:
    """Return a study with a second experiment for validation, of other samples and noise."""
    measure(151).to_csv("check.csv", index=False)
    study.problem.write_text(study.problem.read_text() + SECOND)
    return study


def values(folder: str) -> dict[str, float]:
    stored = json.loads(Path(folder, "result.json").read_text())
    return {name: p["value"] for name, p in stored["parameters"].items()}


def test_what_is_held_out_is_predicted_and_not_fitted(both: Study, capsys: Capture) -> None:
    assert main(["estimate", "problem.toml", "-o", "out"]) == 0
    printed = capsys.readouterr()
    assert "1 experiment and 1 for validation, 101 samples" in printed.err
    # The same values to the bit as without the second experiment.
    both.problem.write_text(both.problem.read_text().replace(SECOND, ""))
    assert main(["estimate", "problem.toml", "-o", "alone", "-q"]) == 0
    assert values("out") == values("alone")

    stored = json.loads(Path("out/result.json").read_text())
    (fitted,), (held,) = stored["experiments"], stored["validation"]["experiments"]
    assert (fitted["name"], held["name"]) == ("push", "check")
    assert stored["validation"]["failures"] == {}
    output = held["outputs"]["x"]
    assert output["samples"] == 151
    # The model is right: what is left is the noise, and as white.
    assert output["rms"] == pytest.approx(NOISE, rel=0.2)
    assert stored["validation"]["residuals"]["noise_ratio"] == pytest.approx(1.0, abs=0.2)
    assert stored["validation"]["residuals"]["autocorrelation"] == 0.0

    table = pd.read_csv("out/validation.csv")
    assert set(table["experiment"]) == {"check"}
    error = table["measured"] - table["fitted"]
    assert output["rms"] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-5)
    assert output["nrmse"] == pytest.approx(
        np.linalg.norm(error) / np.linalg.norm(table["measured"] - table["measured"].mean()),
        rel=1e-5,
    )
    assert output["vaf"] == pytest.approx(1.0 - error.var() / table["measured"].var(), rel=1e-9)
    assert output["relative_error"] == pytest.approx(
        np.linalg.norm(error) / np.linalg.norm(table["measured"]), rel=1e-5
    )
    assert "validation  check" in printed.out
    assert "Residuals of validation experiments:" in printed.out
    page = Path("out/report.html").read_text()
    assert "<h2>Validation</h2>" in page
    assert "check, not fitted" in page
    again = read_result(Path("out")).result.validation
    assert again is not None
    assert again.fits[0].vaf == output["vaf"]


def test_hold_out(both: Study, capsys: Capture) -> None:
    """The experiment that is held out may be the first one of the file."""
    both.problem.write_text(both.problem.read_text().replace('role = "validation"\n', ""))
    assert main(["estimate", "problem.toml", "-o", "out", "-q", "--hold-out", "push"]) == 0
    stored = json.loads(Path("out/result.json").read_text())
    assert [e["name"] for e in stored["experiments"]] == ["check"]
    assert [e["name"] for e in stored["validation"]["experiments"]] == ["push"]
    assert 'role = "validation"' in Path("out/problem.toml").read_text()
    capsys.readouterr()
    assert main(["estimate", "problem.toml", "--hold-out", "pusch"]) == 2
    assert "no experiment 'pusch'\n  hint: nearest experiment: 'push'" in capsys.readouterr().err
    assert main(["estimate", "problem.toml", "--hold-out", "push", "--hold-out", "check"]) == 2
    assert "none is left to fit" in capsys.readouterr().err


def test_a_wrong_model_shows(both: Study, measure: Callable[[int], pd.DataFrame]) -> None:
    table = measure(151).assign(position=lambda t: t["position"].mean() + 0.01 * (-1.0) ** t.index)
    table.to_csv("check.csv", index=False)
    result = fmident.estimate(fmident.load_problem("problem.toml"))
    assert result.validation is not None
    (fit,) = result.validation.fits
    assert fit.nrmse > 1.0
    assert fit.vaf < 0.0
    assert any("worse than the mean" in note for note in result.notes)
    assert result.validation.residuals is not None
    assert result.validation.residuals.noise_ratio > 100.0


def test_stages_have_it_too(both: Study) -> None:
    text = both.problem.read_text().replace('\n[estimator]\nname = "least-squares"\n', "\n")
    both.problem.write_text(text + '\n[[stages]]\nfree = ["k"]\n[[stages]]\n')
    result = fmident.estimate(fmident.load_problem("problem.toml"))
    assert result.validation is not None
    assert result.validation.fits[0].rms == pytest.approx(NOISE, rel=0.2)
    assert [s.experiments for s in result.stages] == [("push",), ("push",)]
    both.change('free = ["k"]', 'free = ["k"]\nexperiments = ["check"]')
    with refused(Code.INVALID_PROBLEM, FmidentError, match="'check', which is for validation only"):
        fmident.load_problem("problem.toml")


@pytest.mark.parametrize(
    ("old", "new", "code", "names"),
    [
        ('role = "validation"', 'role = "valid"', Code.NOT_A_CHOICE, r"\d: .*'role'.*'valid'"),
        ("initial = 2.0", 'initial = 2.0\nexperiments = ["check"]', Code.INVALID_PROBLEM, "'d'"),
        ('name = "push"', 'name = "push"\nrole = "validation"', Code.INVALID_PROBLEM, "to fit"),
    ],
)
def test_refused(old: str, new: str, code: Code, names: str, both: Study) -> None:
    both.change(old, new)
    with refused(code, FmidentError, match=names):
        fmident.load_problem("problem.toml")


def test_messages_name_the_line_of_the_experiment_that_is_meant(both: Study) -> None:
    """Experiments are counted otherwise in the file where the first one is not fitted."""
    text = both.problem.read_text()
    swapped = text.replace('name = "push"', 'name = "push"\nrole = "validation"')
    both.problem.write_text(swapped.replace('role = "validation"\ndata = "check', 'data = "check'))
    problem = fmident.load_problem("problem.toml")
    (experiment,) = problem.experiments
    assert experiment.name == "check"
    place = problem.where("experiments", 0, "data")
    assert place is not None
    assert place.line is not None
    assert both.problem.read_text().splitlines()[place.line - 1] == 'data = "check.csv"'


def test_a_simulation_that_fails_does_not_cost_the_estimate(
    both: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fmident.estimation import validation
    from fmident.evaluation import Evaluator, SimulationFailure

    class Failing(Evaluator):
        def simulate(self, p: np.ndarray) -> tuple[SimulationFailure, ...]:
            return (SimulationFailure("the pump runs dry"),)

    monkeypatch.setattr(validation, "Evaluator", Failing)
    result = fmident.estimate(fmident.load_problem("problem.toml"))
    assert result.status == "converged"
    assert result.validation is not None
    assert dict(result.validation.failures) == {"check": "the pump runs dry"}
    assert any("'check' for validation could not be simulated" in n for n in result.notes)
