"""``fmident estimate`` with stages and with another cost."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from fmident.cli import main
from fmident.estimation.monitor import RunPlan
from fmident.progress.watch import Watch
from fmident.report.result_json import read_result

from ..study import TRUE, Study

pytestmark = pytest.mark.slow  # many builds or whole runs

Capture = pytest.CaptureFixture[str]

STAGES = """
[[stages]]
name = "global"
free = ["k", "m"]

[stages.cost]
name = "smoothed-spectrum"
smoothing = 3

[stages.estimator]
name = "cma-es"
seed = 1
generations = 15

[[stages]]
name = "local"
"""


@pytest.fixture
def staged(study: Study) -> Study:
    study.problem.write_text(study.problem.read_text() + STAGES)
    return study


def test_global_then_least_squares(staged: Study, capsys: Capture) -> None:
    assert main(["estimate", "problem.toml", "-o", "out"]) == 0
    folder = staged.folder / "out"
    content = json.loads((folder / "result.json").read_text())
    assert content["status"] == "converged"
    assert content["estimator"] == "cma-es, least-squares"
    for name, true in TRUE.items():
        low, high = content["parameters"][name]["interval_95"]
        assert low < true < high
        assert content["parameters"][name]["stage"] == "local"
    first, second = content["stages"]
    assert (first["name"], second["name"]) == ("global", "local")
    assert (first["cost"]["name"], second["cost"]["name"]) == ("smoothed-spectrum", "time-domain")
    assert first["cost"]["options"] == {"band": None, "smoothing": 3, "window": "none"}
    assert set(first["parameters"]) == {"k", "m"}
    assert first["simulations"] + second["simulations"] + 2 == content["simulations"]
    history = pd.read_csv(folder / "history.csv")
    assert list(dict.fromkeys(history["stage"])) == ["global", "local"]
    assert {"p:m", "p:d", "p:k"} <= set(history.columns)
    page = (folder / "report.html").read_text()
    assert "<h2>Stages</h2>" in page
    assert "smoothed-spectrum" in page
    shown = capsys.readouterr()
    assert "stages global (cma-es), local (least-squares)" in shown.err
    assert "stage 'global'\n" in shown.err
    assert "stage 'local'\n" in shown.err
    assert "stage   estimator" in shown.out
    again = read_result(folder).result
    assert [s.name for s in again.stages] == ["global", "local"]
    assert again.stages[0].parameters == pytest.approx(first["parameters"])


@pytest.mark.slow
def test_the_problem_as_run_gives_the_same_again(staged: Study) -> None:
    assert main(["estimate", "problem.toml", "-o", "one", "-q"]) == 0
    as_run = staged.folder / "one" / "problem.toml"
    assert main(["estimate", str(as_run), "-o", "two", "-q"]) == 0
    one, two = (
        json.loads((staged.folder / name / "result.json").read_text()) for name in ("one", "two")
    )
    assert one["parameters"] == two["parameters"]


@pytest.mark.slow
def test_what_cannot_succeed_is_refused_before_the_first_stage(
    staged: Study, capsys: Capture
) -> None:
    content = pd.read_csv(staged.data)
    content.iloc[2:, content.columns.get_loc("position")] = np.nan
    content.to_csv(staged.data, index=False)
    assert main(["estimate", "problem.toml", "-o", "out"]) == 2
    shown = capsys.readouterr().err
    assert "stage 'local': 2 compared samples cannot determine 3 free" in " ".join(shown.split())
    assert "stage 'global'" not in shown  # with its two parameters it could have run


def test_units_are_looked_at_before_the_first_stage(staged: Study, capsys: Capture) -> None:
    content = pd.read_csv(staged.data)
    content["position"] *= 1000.0
    content.to_csv(staged.data, index=False)
    staged.change("sigma = 2e-5", "sigma = 2e-2")
    staged.change("initial = 2.5", "initial = 2.9")
    staged.change("initial = 2.0", "initial = 3.8")
    staged.change("initial = 300.0", "initial = 390.0")
    main(["estimate", "problem.toml", "-o", "out", "--set", "stages.0.estimator.generations=1"])
    shown = " ".join(capsys.readouterr().err.split())
    assert shown.count("mm instead of m?") == 1
    assert shown.index("mm instead of m") < shown.index("stage 'global'")


def test_a_key_of_a_stage_can_be_overridden(staged: Study, capsys: Capture) -> None:
    arguments = ["estimate", "problem.toml", "-o", "out", "-q", "--set"]
    assert main([*arguments, "stages.0.cost.smoothing=1"]) == 0
    content = json.loads((staged.folder / "out" / "result.json").read_text())
    assert content["stages"][0]["cost"]["options"]["smoothing"] == 1
    assert main([*arguments, "stages.0.cost.smoothing=-1"]) == 2
    assert "'smoothing' is -1" in capsys.readouterr().err


def test_a_stage_with_a_file_of_its_own(study: Study) -> None:
    own = study.problem.read_text().replace("bounds = [0.0, 50.0]", "fixed = true")
    (study.folder / "stiffness.toml").write_text(own)
    study.problem.write_text(
        study.problem.read_text()
        + '\n[[stages]]\nname = "stiffness"\nproblem = "stiffness.toml"\n\n[[stages]]\n'
    )
    assert main(["estimate", "problem.toml", "-o", "out", "-q"]) == 0
    content = json.loads((study.folder / "out" / "result.json").read_text())
    assert set(content["stages"][0]["parameters"]) == {"m", "k"}
    for name, true in TRUE.items():
        low, high = content["parameters"][name]["interval_95"]
        assert low < true < high
    assert [e["name"] for e in content["experiments"]] == ["push", "push (stage stiffness)"]
    assert len(set(pd.read_csv(study.folder / "out" / "fit.csv")["experiment"])) == 2
    # The folder holds the stage's file as it was run, whatever becomes of it.
    (study.folder / "stiffness.toml").unlink()
    assert main(["estimate", "out/problem.toml", "-o", "again", "-q"]) == 0
    again = json.loads((study.folder / "again" / "result.json").read_text())
    assert again["parameters"] == content["parameters"]
    assert (study.folder / "again" / "stage-1.toml").exists()


@pytest.mark.slow
def test_a_run_that_was_killed_in_a_stage_goes_on(
    staged: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """Nobody catches it, as nobody catches a signal."""

    def killed(self: Watch, plan: RunPlan) -> None:
        if plan.stage == "local":
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Watch, "planned", killed)
        with pytest.raises(Killed):
            main(["estimate", "problem.toml", "-o", "out"])
    assert not (staged.folder / "out").exists()
    assert main(["estimate", "problem.toml", "-o", "out", "--resume"]) == 0
    assert main(["estimate", "problem.toml", "-o", "whole"]) == 0
    one, two = (
        json.loads((staged.folder / name / "result.json").read_text()) for name in ("out", "whole")
    )
    assert one["parameters"] == two["parameters"]
    assert one["simulations"] == two["simulations"]
    served = one["settings"]["evaluation"]
    assert served["restored"] >= one["stages"][0]["simulations"] - 1
    assert served["simulated"] < two["settings"]["evaluation"]["simulated"]


def test_another_cost_is_told_and_gives_no_standard_errors(study: Study, capsys: Capture) -> None:
    study.problem.write_text(
        study.problem.read_text() + '\n[cost]\nname = "frequency-domain"\nband = [0, 20]\n'
    )
    assert main(["estimate", "problem.toml", "-o", "out"]) == 0
    content = json.loads((study.folder / "out" / "result.json").read_text())
    for name, true in TRUE.items():
        assert content["parameters"][name]["value"] == pytest.approx(true, rel=0.02)
        assert content["parameters"][name]["standard_error"] is None
    assert content["cost"]["name"] == "frequency-domain"
    assert content["cost"]["options"] == {"band": [0.0, 20.0]}
    shown = capsys.readouterr().out
    assert "The cost 'frequency-domain' fell" in " ".join(shown.split())
    assert "There are no standard errors" in " ".join(shown.split())
    page = (study.folder / "out" / "report.html").read_text()
    assert "frequency-domain: band 0, 20" in page


def test_missing_bounds_of_a_later_stage_are_told_with_its_line(
    staged: Study, capsys: Capture
) -> None:
    text = staged.problem.read_text() + (
        '\n[stages.parameters.k]\nbounds = [1.0, inf]\n\n[stages.estimator]\nname = "cma-es"\n'
    )
    staged.problem.write_text(text)
    line = len(text.splitlines()) - 1
    assert main(["estimate", "problem.toml", "-o", "out"]) == 2
    error = capsys.readouterr().err
    assert f"problem.toml:{line}: 'cma-es' searches inside finite bounds" in error
    assert "'k' [1.0, inf]" in error
    assert not (staged.folder / "out").exists()
