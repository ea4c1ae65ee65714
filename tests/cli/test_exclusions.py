"""Outliers in a study: excluded, they change nothing; every command says how many there are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fmident.cli import main

from ..study import TRUE, Study

Capture = pytest.CaptureFixture[str]

OUT = [3, 17, 18, 40, 77]


@pytest.fixture
def spoilt(study: Study, measure: Callable[[int], pd.DataFrame]) -> Study:
    """Return a study with gross outliers, and a column of the logger that knows of them."""
    frame = measure(101).copy()
    frame.loc[OUT, "position"] += np.array([0.3, -2.0, 40.0, 0.05, -0.07])
    frame["fault"] = np.isin(np.arange(101), OUT).astype(int)
    frame.to_csv(study.data, index=False)
    return study


def stored(folder: str) -> dict[str, object]:
    content: dict[str, object] = json.loads(Path(folder, "result.json").read_text())
    return content


def with_prepare(study: Study, text: str) -> None:
    study.change("[experiments.inputs]", f"[experiments.prepare]\n{text}\n\n[experiments.inputs]")


def test_an_excluded_outlier_changes_nothing(spoilt: Study, capsys: Capture) -> None:
    with_prepare(spoilt, 'exclude = "fault == 1"')
    assert main(["check", "problem.toml", "--quick"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "5 of 101 samples of 'x' excluded (fault == 1)" in said
    assert main(["estimate", "problem.toml", "-o", "excluded"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "5 of 101 samples of 'x' excluded (fault == 1)" in said

    frame = pd.read_csv(spoilt.data)
    frame.loc[OUT, "position"] = np.nan
    frame.to_csv(spoilt.data, index=False)
    spoilt.change('exclude = "fault == 1"', 'exclude = "time > 1000"')
    assert main(["estimate", "problem.toml", "-o", "missing", "-q"]) == 0
    one, other = stored("excluded"), stored("missing")
    for key in ("parameters", "cost", "covariance", "residuals", "identifiability"):
        assert one[key] == other[key]
    assert one["experiments"][0]["outputs"]["x"]["samples"] == 96  # type: ignore[index]
    rows = pd.read_csv("excluded/excluded.csv")
    assert rows["time"].tolist() == pytest.approx(frame["time"].iloc[OUT].tolist())
    assert "excluded (fault == 1)" in Path("excluded/report.html").read_text()


@pytest.mark.parametrize("replace", ["false", "true"])
def test_a_hampel_filter_brings_back_the_truth(spoilt: Study, replace: str) -> None:
    with_prepare(spoilt, f'hampel = {{ columns = ["position"], samples = 5, replace = {replace} }}')
    assert main(["estimate", "problem.toml", "-o", "out", "-q"]) == 0
    content = stored("out")
    (excluded,) = content["experiments"][0]["outputs"]["x"]["excluded"]  # type: ignore[index]
    assert excluded["replaced"] == (replace == "true")
    assert set(OUT) <= set(np.round(pd.read_csv("out/excluded.csv")["time"] / 0.02).astype(int))
    for name, true in TRUE.items():
        found = content["parameters"][name]  # type: ignore[index]
        assert found["value"] == pytest.approx(true, rel=0.01)
