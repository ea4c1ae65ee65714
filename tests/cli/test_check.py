"""``fmident check`` on an FMU of the library and on FMUs that misbehave."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import fmident
from fmident.cli import main
from fmident.errors import Diagnostic
from fmident.plugins import hookimpl, load_plugins
from fmident.plugins.registry import Origin

from ..study import Study
from .test_bad_input import _CRASH, CRASHING, FEEDTHROUGH, IGNORING, TROUBLE, fixture

pytestmark = pytest.mark.slow  # many builds or whole runs

Capture = pytest.CaptureFixture[str]


def test_a_sound_problem(study: Study, capsys: Capture) -> None:
    assert main(["check", "problem.toml", "--json", "out/check.json"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Can be estimated.\n")
    assert "All 3 parameters are identifiable." in shown.out
    assert "predicted +-" in shown.out
    stored = json.loads(Path("out/check.json").read_text())
    assert stored["can_be_estimated"] is True
    assert stored["findings"] == []
    assert [p["influence"] for p in stored["parameters"]] == ["yes"] * 3
    assert stored["parameters"][0]["unit"] == "kg"
    # Sensitivities come with the simulation at the point; differences take one each.
    assert stored["effort"]["simulations"] == 13
    differences = ["--set", "evaluation.difference=forward"]
    assert main(["check", "problem.toml", "--json", "out/differences.json", *differences]) == 0
    assert json.loads(Path("out/differences.json").read_text())["effort"]["simulations"] > 20
    assert stored["bounds"]["failed"] == 0
    assert stored["experiments"][0]["bandwidth"] == pytest.approx(2.996, rel=1e-3)


@pytest.mark.slow
def test_predictions_come_true(study: Study, measure: Callable[[int], pd.DataFrame]) -> None:
    measure(401).to_csv(study.data, index=False)
    problem = fmident.load_problem("problem.toml")
    report = fmident.check(problem)
    result = fmident.estimate(problem)
    for predicted, found in zip(report.parameters, result.estimates, strict=True):
        assert predicted.predicted_error == pytest.approx(found.standard_error, rel=1.0)
    assert result.simulations < 2 * report.effort.simulations


@pytest.mark.slow
def test_quick_takes_fewer_simulations(study: Study, capsys: Capture) -> None:
    problem = fmident.load_problem("problem.toml")
    quick, full = fmident.check(problem, quick=True), fmident.check(problem)
    assert quick.simulations < 0.5 * full.simulations
    assert quick.bounds is None
    assert main(["check", "problem.toml", "--quick"]) == 0
    assert "quick." in capsys.readouterr().out


@pytest.mark.slow
def test_estimate_takes_no_more_simulations_for_the_quick_part(study: Study) -> None:
    from fmident.checking import quick_findings
    from fmident.estimation.run import run_estimation
    from fmident.evaluation import Evaluator, make_executor

    problem = fmident.load_problem("problem.toml")
    estimator = load_plugins().estimators.get("least-squares")()
    with Evaluator(problem, make_executor(problem)) as evaluator:
        alone = run_estimation(problem, evaluator, estimator).simulations
    assert fmident.estimate(problem).simulations == alone
    with Evaluator(problem, make_executor(problem)) as evaluator:
        evaluator.residuals(problem.initial)
        assert quick_findings(problem, evaluator) == ()
        assert evaluator.simulations == 1


@pytest.mark.parametrize("command", ["check", "estimate"])
def test_a_parameter_that_the_fmu_ignores(study: Study, capsys: Capture, command: str) -> None:
    fixture("feedthrough.c", FEEDTHROUGH, IGNORING)(study)
    code = main([command, "problem.toml"])
    shown = capsys.readouterr()
    text = " ".join((shown.out + shown.err).split())
    assert code == (1 if command == "check" else 2)
    assert "no output changes with 'unused'" in text
    assert "the FMU accepts values for 'unused', but nothing that is measured depends on it" in text
    assert "problem.toml:5" in text
    if command == "check":
        assert shown.out.startswith("Cannot be estimated: no output changes with 'unused'")


@pytest.mark.slow
def test_native_code_that_crashes(study: Study, capsys: Capture) -> None:
    fixture("trouble.c", TROUBLE, CRASHING.format(kind=_CRASH))(study)
    assert main(["check", "problem.toml"]) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("Cannot be estimated: ")
    assert "SIGSEGV" in shown


@pytest.mark.slow
def test_data_in_millimetres(study: Study, capsys: Capture) -> None:
    table = pd.read_csv(study.data)
    table["position"] *= 1000.0
    table.to_csv(study.data, index=False)
    study.change("sigma = 2e-5", "sigma = 2e-2")
    study.change("initial = 2.5", "initial = 2.9")
    study.change("initial = 2.0", "initial = 3.8")
    study.change("initial = 300.0", "initial = 390.0")
    assert main(["check", "problem.toml"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Can be estimated, but the measured 'x' of experiment 'push'")
    assert "mm instead of m?" in " ".join(shown.split())
    assert "problem.toml:25 [unit-suspicious]" in shown
    # The estimation says so as well, before it starts.
    main(["estimate", "problem.toml", "-o", "out", "--set", "estimator.max_iterations=1"])
    assert "mm instead of m?" in capsys.readouterr().err


def test_what_cannot_be_used_at_all_is_bad_input(study: Study, capsys: Capture) -> None:
    study.change("[parameters.d]", "[parameters.dd]")
    assert main(["check", "problem.toml"]) == 2
    assert "dd" in capsys.readouterr().err
    assert main(["check", "nothing.toml"]) == 2


def test_overrides(study: Study, capsys: Capture) -> None:
    assert main(["check", "problem.toml", "--quick", "--set", "estimator.starts=3"]) == 0
    assert "should need " in " ".join(capsys.readouterr().out.split())


def test_plugins_have_a_say(study: Study) -> None:
    class Opinion:
        @hookimpl
        def fmident_check_problem(self, problem: object) -> list[Diagnostic]:
            return [Diagnostic("error", "this plugin objects", rule="opinion")]

    host = load_plugins()
    host.add((Origin("opinion"), Opinion))
    report = fmident.check(fmident.load_problem("problem.toml"), host=host, quick=True)
    assert [f.code for f in report.of("error")] == ["opinion"]
    assert report.headline == "Cannot be estimated: this plugin objects."


@pytest.mark.each_time("80")
@pytest.mark.parametrize("columns", [80, 120])
def test_the_page_fits_the_terminal(
    study: Study, capsys: Capture, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    study.change('[experiments.inputs]\nF = "force"\n', "")
    assert main(["check", "problem.toml"]) == 1
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= columns
    assert "no input ever changes" in " ".join(shown.split())


@pytest.mark.slow
def test_stages_are_checked_one_by_one(study: Study, capsys: Capture) -> None:
    text = study.problem.read_text()
    stages = """
[[stages]]
name = "elastic"
free = ["k"]
[stages.estimator]
name = "least-squares"

[[stages]]
name = "rest"
free = ["m", "d"]
[stages.estimator]
name = "least-squares"
"""
    study.problem.write_text(text.replace('[estimator]\nname = "least-squares"\n', stages))
    assert main(["check", "problem.toml", "--json", "check.json"]) == 0
    shown = capsys.readouterr().out
    assert "Stage 'elastic'\n" in shown
    assert "Stage 'rest'\n" in shown
    stored = json.loads(Path("check.json").read_text())
    free = [
        [p["name"] for p in s["parameters"] if p["influence"] == "yes"] for s in stored["stages"]
    ]
    assert free == [["k"], ["m", "d"]]
