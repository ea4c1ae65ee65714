"""``fmident bootstrap`` and ``fmident.bootstrap`` on an FMU of the library."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fmident
from fmident.cli import main
from fmident.errors import Code, FmidentError, ProblemError
from fmident.evaluation.executors.inline import InProcessExecutor

from ..refused import refused
from ..study import Study
from . import analyses
from .analyses import analysed

pytestmark = pytest.mark.slow  # many builds or whole runs

Capture = pytest.CaptureFixture[str]
bootstrapped = partial(analysed, "bootstrap")


def content(study: Study, name: str = "out") -> dict[str, Any]:
    return analyses.content(study, "bootstrap.json", name)


@pytest.mark.draws
def test_from_a_result(study: Study, estimated: Path, capsys: Capture, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    capsys.readouterr()
    words = ["--result", str(estimated), "-n", "60", "--method", "parametric"]
    assert bootstrapped(study, *words) == 0
    said = capsys.readouterr()
    assert "60 replicates: the standard errors agree with the linearised ones" in said.out
    assert max(map(len, said.out.split("\n\nresult:")[0].splitlines())) <= 80
    folder = study.folder / "out"
    assert {p.name for p in folder.iterdir()} == {
        "bootstrap.json", "replicates.csv", "bands.csv", "bootstrap.html", "problem.toml",
        "corner.png", "replicates.svg", "figures",
    }  # fmt: skip
    before = json.loads((estimated / "result.json").read_text())["parameters"]
    found = content(study)
    assert found["status"] == "complete"
    for name, p in found["parameters"].items():
        error = before[name]["standard_error"]
        assert p["standard_error"] == pytest.approx(error, rel=0.05)
        assert p["result_interval_95"] == before[name]["interval_95"]
        np.testing.assert_allclose(p["percentile"], before[name]["interval_95"], atol=error)
    table = pd.read_csv(folder / "replicates.csv")
    assert list(table.columns) == ["replicate", "cost", "m", "d", "k"]
    assert len(table) == 60
    bands = pd.read_csv(folder / "bands.csv")
    assert set(bands["output"]) == {"x"}
    page = (folder / "bootstrap.html").read_text()
    assert page.count('<figure class="chart"') == 3
    assert 'src="http' not in page
    assert (folder / "corner.png").read_bytes().startswith(b"\x89PNG")
    # The journal of a run that has ended is gone.
    assert not (study.folder / ".out.run").exists()


def test_an_interrupted_run_is_resumed(
    study: Study, estimated: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--result", str(estimated), "-n", "100"]
    assert bootstrapped(study, *words, "-q", out="whole") == 0
    whole = content(study, "whole")
    real, left = InProcessExecutor._run_one, [whole["simulations"] - 25]

    def pressed(self: Any, *arguments: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return real(self, *arguments)

    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr(InProcessExecutor, "_run_one", pressed)
        assert bootstrapped(study, *words) == 130
    said = capsys.readouterr()
    assert "Interrupted: " in said.out
    assert "to resume: fmident bootstrap" in said.err
    half = content(study)
    assert half["status"] == "interrupted"
    assert 20 <= half["replicates"] < 100
    assert bootstrapped(study, *words, "--resume") == 0
    assert "simulations in the journal" in capsys.readouterr().err
    assert content(study) == whole
    served = json.loads((study.folder / "out" / "bootstrap.json").read_text())
    assert served["settings"]["evaluation"]["restored"] > whole["simulations"] / 2
    assert not (study.folder / "out.1").exists()


def test_executors_give_the_same_to_the_last_bit(study: Study, estimated: Path) -> None:
    words = ["--result", str(estimated), "-q", "-n", "30"]
    assert bootstrapped(study, *words) == 0
    others = ["--set", "evaluation.executor=processes", "--set", "evaluation.workers=2"]
    assert main(["bootstrap", str(study.problem), "-o", str(study.folder / "two"), *others,
                 *words]) == 0  # fmt: skip
    assert content(study) == content(study, "two")


def test_from_python_it_estimates_first(study: Study) -> None:
    problem = fmident.load_problem(study.problem)
    done: list[tuple[int, int]] = []
    found = fmident.bootstrap(problem, replicates=20, listener=lambda *n: done.append(n))
    assert isinstance(found, fmident.BootstrapResult)
    assert done[-1] == (20, 20)
    assert list(found.intervals.index) == ["m", "d", "k"]
    with pytest.raises(ValueError, match="resume needs"):
        fmident.bootstrap(problem, resume=True)


def test_stages_and_robust_losses_are_refused(study: Study, estimated: Path) -> None:
    problem = fmident.load_problem(study.problem)
    path = estimated / "result.json"
    found = json.loads(path.read_text())
    found["settings"]["options"]["loss"] = "huber"
    path.write_text(json.dumps(found))
    with refused(Code.NOT_SUPPORTED, ProblemError, match="robust loss 'huber'"):
        fmident.bootstrap(problem, estimated)
    stages = '\n[[stages]]\nname = "first"\nfree = ["k"]\n\n[[stages]]\nname = "second"\n'
    study.problem.write_text(study.problem.read_text() + stages)
    staged = fmident.load_problem(study.problem)
    with refused(Code.NOT_SUPPORTED, ProblemError, match="a problem with stages"):
        fmident.bootstrap(staged)


def test_the_earlier_name_of_the_number_of_replicates_is_understood(tmp_path: Path) -> None:
    with (
        pytest.warns(DeprecationWarning, match="'count' is called 'replicates'"),
        pytest.raises(FmidentError, match=r"missing\.toml"),
    ):
        fmident.bootstrap(tmp_path / "missing.toml", count=20)
