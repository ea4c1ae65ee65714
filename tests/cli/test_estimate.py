"""``fmident estimate`` from problem file to result folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import fmident
from fmident.cli import main
from fmident.estimation.contract import Iteration
from fmident.progress.watch import Watch

from ..study import OSCILLATOR, TRUE, Study

Capture = pytest.CaptureFixture[str]


def result_of(folder: Path) -> dict[str, object]:
    content: dict[str, object] = json.loads((folder / "result.json").read_text())
    return content


@pytest.mark.draws
def test_finds_the_parameters(study: Study, capsys: Capture) -> None:
    arguments = ["estimate", "problem.toml", "-o", "out"]
    assert main(arguments) == 0
    content = result_of(study.folder / "out")
    assert content["status"] == "converged"
    assert content["fmident"] == fmident.__version__
    for name, true in TRUE.items():
        found = content["parameters"][name]
        low, high = found["interval_95"]
        assert low < true < high
        assert high - low < 0.05 * true
    assert content["fmu"]["name"] == OSCILLATOR
    assert content["experiments"][0]["name"] == "push"
    files = {p.name for p in (study.folder / "out").iterdir()}
    assert files == {
        "result.json", "parameters.csv", "fit.csv", "history.csv", "report.html", "problem.toml",
        "inputs.csv", "sensitivities.csv",
    }  # fmt: skip
    shown = capsys.readouterr()
    assert shown.out.startswith("\nThe estimation converged")
    assert "oscillator.fmu: 3 free parameters, 1 experiment, 101 samples of 1 output" in shown.err
    assert "iteration          cost" in shown.err


def test_problem_as_run_gives_the_same_result(study: Study) -> None:
    assert main(["estimate", "problem.toml", "-o", "one", "--set", "estimator.method=trf"]) == 0
    study.problem.write_text((study.folder / "one" / "problem.toml").read_text())
    assert main(["estimate", "problem.toml", "-o", "two"]) == 0
    one, two = (result_of(study.folder / name) for name in ("one", "two"))
    assert one["parameters"] == two["parameters"]
    assert one["settings"] == two["settings"]


def test_problem_in_the_result_folder_runs_again(study: Study) -> None:
    assert main(["estimate", "problem.toml", "-o", "out/one", "--set", "estimator.starts=1"]) == 0
    assert main(["estimate", "out/one/problem.toml", "-o", "again"]) == 0
    one, two = (result_of(study.folder / name) for name in ("out/one", "again"))
    assert one["parameters"] == two["parameters"]
    assert one["settings"] == two["settings"]


@pytest.mark.parametrize(
    ("override", "fragments"),
    [
        ("estimator.name=least-square", ("--set estimator.name: there is no estimator",)),
        ("estimator.methd=x", ("--set estimator.methd: ", "'method'")),
        ("estimator.method=dogbx", ("--set estimator.method: ", "'dogbox'")),
        ("evaluation.tolerence=1e-3", ("--set evaluation.tolerence: unknown key",)),
        ("experiments.0.window=[5,6]", ("--set experiments.0.window: the window",)),
        ("model.fmu=none.fmu", ("--set model.fmu: there is no FMU",)),
    ],
)
def test_wrong_overrides_are_told_before_anything_runs(
    study: Study, override: str, fragments: tuple[str, ...], capsys: Capture
) -> None:
    assert main(["estimate", "problem.toml", "--set", override]) == 2
    shown = capsys.readouterr().err
    assert "iteration" not in shown
    for fragment in fragments:
        assert fragment in shown


def test_place_of_a_wrong_option_in_the_file(study: Study, capsys: Capture) -> None:
    study.change('name = "least-squares"', 'name = "least-squares"\nmethod = "dogbx"')
    text = study.problem.read_text().splitlines()
    line = text.index('method = "dogbx"') + 1
    assert main(["estimate", "problem.toml", "--set", "parameters.m.initial=2.4"]) == 2
    assert f"problem.toml:{line}: [estimator]: option 'method'" in capsys.readouterr().err


def test_a_value_out_of_range_is_reported_with_its_line(study: Study, capsys: Capture) -> None:
    path = study.folder / "problem.toml"
    text = path.read_text().replace("[estimator]\n", "[estimator]\nseed = 3\nloss_scale = -1.0\n")
    path.write_text(text)
    line = text.splitlines().index("loss_scale = -1.0") + 1
    assert main(["estimate", str(path)]) == 2
    assert f"problem.toml:{line}: [estimator]" in capsys.readouterr().err


def test_the_same_in_python(study: Study) -> None:
    problem = fmident.load_problem("problem.toml")
    result = fmident.estimate(problem)
    assert isinstance(result.parameters, pd.DataFrame)
    assert list(result.parameters.index) == list(TRUE)
    assert result.converged()


def test_report_shows_the_same_again(study: Study, capsys: Capture) -> None:
    assert main(["estimate", "problem.toml", "-o", "out"]) == 0
    first = capsys.readouterr().out
    assert main(["report", "out"]) == 0
    again = capsys.readouterr().out
    assert first.split("result:")[0].strip() == again.split("plots:")[0].strip()


def test_default_folder_is_named_after_the_problem(study: Study) -> None:
    assert main(["estimate", "problem.toml", "--quiet"]) == 0
    assert (study.folder / "results" / "problem" / "report.html").exists()


def test_quiet_prints_where_the_result_is_only(study: Study, capsys: Capture) -> None:
    assert main(["estimate", "problem.toml", "-o", "out", "--quiet"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "result: out/result.json\nreport: out/report.html\n"
    assert shown.err == ""


def test_earlier_result_is_kept_or_replaced(study: Study, capsys: Capture) -> None:
    for _ in range(2):
        assert main(["estimate", "problem.toml", "-o", "out", "-q"]) == 0
    assert "the earlier result is kept as 'out.1'" in capsys.readouterr().err
    assert main(["estimate", "problem.toml", "-o", "out", "-q", "--force"]) == 0
    assert sorted(p.name for p in study.folder.glob("out*")) == ["out", "out.1"]


def test_a_run_that_fails_leaves_the_earlier_result(study: Study) -> None:
    assert main(["estimate", "problem.toml", "-o", "out", "-q"]) == 0
    before = (study.folder / "out" / "result.json").read_bytes()
    study.change('x = { column = "position"', 'y = { column = "position"')
    assert main(["estimate", "problem.toml", "-o", "out", "-q", "--force"]) == 2
    assert (study.folder / "out" / "result.json").read_bytes() == before
    assert [p.name for p in study.folder.glob("out*")] == ["out"]


def test_place_of_the_result_is_checked_before_the_run(study: Study, capsys: Capture) -> None:
    assert main(["estimate", "problem.toml", "-o", "."]) == 2
    shown = capsys.readouterr().err
    assert "holds other files than a result" in shown
    assert "iteration" not in shown


@pytest.mark.slow
def test_class_instead_of_fmu_is_built(study: Study, capsys: Capture) -> None:
    study.change('fmu = "oscillator.fmu"', f'class = "{OSCILLATOR}"')
    assert main(["estimate", "problem.toml", "-o", "out"]) == 0
    fmu = study.folder / "fmus" / f"{OSCILLATOR}.fmu"
    assert "built by fmident embedded" in capsys.readouterr().err
    built = fmu.stat().st_mtime_ns
    assert main(["estimate", "problem.toml", "-o", "out"]) == 0
    assert "built by" not in capsys.readouterr().err
    assert fmu.stat().st_mtime_ns == built


def test_interrupt_leaves_the_best_parameters(
    study: Study, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def interrupt(self: Watch, state: Iteration) -> None:
        if state.number == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Watch, "iteration", interrupt)
    assert main(["estimate", "problem.toml", "-o", "out"]) == 130
    content = result_of(study.folder / "out")
    assert content["status"] == "interrupted"
    assert content["cost"]["final"] < content["cost"]["initial"]
    assert content["parameters"]["m"]["value"] != 2.5
    assert (study.folder / "out" / "report.html").exists()
    assert "the result holds what was found so far" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.slow
def test_ctrl_c_of_a_real_process(study: Study) -> None:
    # A stopping rule that is never met keeps the run going until the signal.
    plugin = study.folder / "endless.py"
    plugin.write_text(ENDLESS)
    code = f"""
import sys
sys.path.insert(0, {str(study.folder)!r})
from importlib.metadata import EntryPoint
import fmident.plugins.host as host
found = host.entry_points
host.entry_points = lambda group: [*found(group=group), EntryPoint("endless", "endless", group)]
from fmident.cli import main
sys.exit(main(["estimate", "problem.toml", "-o", "out", "--set", "estimator.name=endless"]))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    lines = [""]
    # Which iterations have a line depends on where the cost falls; the first one has.
    while not lines[-1].strip()[:1].isdigit():
        lines.append(process.stderr.readline())
        assert lines[-1], "".join(lines)
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate()
    assert process.returncode == 130, "".join(lines) + rest
    assert "the result holds what was found so far" in rest
    assert "Traceback" not in rest
    assert result_of(study.folder / "out")["status"] == "interrupted"


ENDLESS = """
from dataclasses import dataclass
import numpy as np
from fmident.estimation.contract import Estimate, Estimator
from fmident.plugins import hookimpl

@dataclass(frozen=True)
class Options:
    pass

class Endless(Estimator):
    name = "endless"
    options_type = Options

    def estimate(self, problem, evaluator, options, monitor):
        generator = np.random.default_rng(0)
        best, cost = problem.initial, evaluator.cost(problem.initial)
        while True:
            point = generator.uniform(problem.lower, problem.upper)
            if (found := evaluator.cost(point)) < cost:
                best, cost = point, found
            monitor.iteration(best, cost)

@hookimpl
def fmident_register_estimators(registry):
    registry.add("endless", Endless)
"""
