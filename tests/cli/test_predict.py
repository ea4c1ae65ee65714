"""``fmident predict`` and ``fmident.predict`` on an FMU of the library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fmident
from fmident.cli import main
from fmident.errors import Code, EstimationError, ProblemError

from ..refused import refused
from ..study import Study
from .analyses import INLINE

pytestmark = pytest.mark.slow  # many builds or whole runs

Capture = pytest.CaptureFixture[str]


def content(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "prediction.json").read_text())
    return found


@pytest.mark.draws
def test_new_data(study: Study, estimated: Path, capsys: Capture, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    new = study.folder / "again.csv"
    new.write_bytes(study.data.read_bytes())
    capsys.readouterr()
    assert main(["predict", str(estimated), "--data", str(new), *INLINE]) == 0
    said = capsys.readouterr().out
    assert "new samples inside the 95 % band" in said
    assert max(map(len, said.split("\n\nresult:")[0].splitlines())) <= 80
    folder = study.folder / "estimate-prediction"
    assert {p.name for p in folder.iterdir()} == {
        "prediction.json", "prediction.html", "bands.csv", "figures", "problem.toml",
    }  # fmt: skip
    found = content(folder)
    outputs = {(o["experiment"], o["fitted"]): o for o in found["outputs"]}
    assert set(outputs) == {("again", False), ("push", True)}
    # The same data are predicted alike, whether they were fitted or not.
    assert outputs["again", False]["inside"] == outputs["push", True]["inside"]
    assert 0.9 < found["new_samples_inside"] / found["new_samples"] < 0.99
    bands = pd.read_csv(folder / "bands.csv")
    assert (bands["mean_low"] <= bands["predicted"]).all()
    assert (bands["new_low"] < bands["mean_low"]).all()
    assert (folder / "prediction.html").read_text().count('<figure class="chart"') == 2
    assert main(["predict", str(estimated), "--data", str(new), "--no-fitted", "-q", *INLINE]) == 0
    assert (study.folder / "estimate-prediction.1").exists()
    assert len(content(folder)["outputs"]) == 1


def test_new_data_without_outputs_are_predicted_alike(study: Study, estimated: Path) -> None:
    frame = pd.read_csv(study.data)
    inputs, empty = study.folder / "inputs.csv", study.folder / "empty.csv"
    left = [c for c in frame if not str(c).startswith("position")]
    frame[left].to_csv(inputs, index=False)
    frame.assign(position=np.nan).to_csv(empty, index=False)
    quiet = {"evaluation.executor": "inline"}
    whole = fmident.predict(estimated, data=study.data, overrides=quiet, fitted=False)
    folder = study.folder / "prediction"
    for file in (inputs, empty):
        found = fmident.predict(estimated, data=file, overrides=quiet, folder=folder, replace=True)
        assert (found.samples, found.inside) == (0, 0)
        assert "No sample of the new experiments was measured" in str(found)
        (band,) = found.new
        np.testing.assert_array_equal(band.predicted, whole.new[0].predicted)
        np.testing.assert_array_equal(band.new_high, whole.new[0].new_high)
        assert np.isnan(band.measured).all()
    assert str(fmident.load_result(folder)) == str(found)
    # The folder's problem is one that can be read.
    assert fmident.load_problem(folder / "problem.toml").validation == ()


def test_by_replicates_of_a_bootstrap(study: Study, estimated: Path) -> None:
    words = ["--result", str(estimated), "-n", "40", "-q", *INLINE]
    boot = study.folder / "boot"
    assert main(["bootstrap", str(study.problem), "-o", str(boot), *words]) == 0
    quiet = {"evaluation.executor": "inline"}
    linear = fmident.predict(estimated, overrides=quiet)
    drawn = fmident.predict(estimated, bootstrap=boot, overrides=quiet)
    assert (linear.source, drawn.source, drawn.draws) == ("linearised", "bootstrap", 40)
    widths = [(b.mean_high - b.mean_low).mean() for b in (linear.fitted[0], drawn.fitted[0])]
    assert widths[1] == pytest.approx(widths[0], rel=0.35)
    path = boot / "bootstrap.json"
    found = json.loads(path.read_text())
    found["parameters"]["k"]["value"] += 100.0
    path.write_text(json.dumps(found))
    with pytest.raises(EstimationError, match="is of another estimate: k is"):
        fmident.predict(estimated, bootstrap=boot, overrides=quiet)
    with refused(Code.UNKNOWN_NAME, EstimationError, match="there is no .*bootstrap.json"):
        fmident.predict(estimated, bootstrap=study.folder)


def test_experiments_for_validation_are_new(study: Study) -> None:
    (study.folder / "other.csv").write_bytes(study.data.read_bytes())
    second = """
[[experiments]]
name = "other"
role = "validation"
data = "other.csv"
time = "time"
inputs = { F = "force" }
outputs = { x = { column = "position", sigma = 2e-5 } }
"""
    study.problem.write_text(study.problem.read_text() + second)
    folder = study.folder / "estimate"
    assert main(["estimate", str(study.problem), "-o", str(folder), "-q", *INLINE]) == 0
    found = fmident.predict(folder, overrides={"evaluation.executor": "inline"})
    assert [b.experiment for b in found.new] == ["other"]
    assert [b.experiment for b in found.fitted] == ["push"]


def test_what_cannot_be_predicted_is_refused(study: Study, estimated: Path) -> None:
    quiet = {"evaluation.executor": "inline"}
    with pytest.raises(ProblemError, match="there is no new experiment"):
        fmident.predict(estimated, fitted=False, overrides=quiet)
    with refused(Code.UNKNOWN_NAME, ProblemError, match="no experiment 'shove'"):
        fmident.predict(estimated, data=study.data, like="shove", overrides=quiet)
    with pytest.raises(ProblemError, match="give them with --data"):
        fmident.predict(estimated, like="push", overrides=quiet)
    with pytest.raises(ProblemError, match="between 0 and 1"):
        fmident.predict(estimated, level=2.0, overrides=quiet)
    with refused(Code.UNKNOWN_NAME, EstimationError, match="there is no '.*nowhere'"):
        fmident.predict(study.folder / "nowhere", overrides=quiet)
    (estimated / "problem.toml").unlink()
    with refused(Code.UNKNOWN_NAME, EstimationError, match=r"has no problem\.toml"):
        fmident.predict(estimated, overrides=quiet)
