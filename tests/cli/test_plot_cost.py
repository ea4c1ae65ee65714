"""``fmident plot-cost`` on an FMU of the library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fmident.cli import main

from ..study import Study

Capture = pytest.CaptureFixture[str]


@pytest.mark.draws
def test_picture_table_and_minima(study: Study, tmp_path: Path, capsys: Capture) -> None:
    picture, table = tmp_path / "new" / "cost.png", tmp_path / "cost.csv"
    arguments = ["plot-cost", str(study.problem), "--parameters", "k", "m", "--grid", "9"]
    ranges = ["--range", "k=300:500", "--range", "m=2:4"]
    assert main([*arguments, *ranges, "-o", str(picture), "--csv", str(table)]) == 0
    said = capsys.readouterr().out
    assert "k, m: 81 points" in said
    assert "local minim" in said
    assert picture.read_bytes().startswith(b"\x89PNG")
    costs = pd.read_csv(table)
    assert len(costs) == 81
    assert set(costs["first"]) == {"k"}
    np.testing.assert_allclose(np.unique(costs["second_value"]), np.linspace(2.0, 4.0, 9))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--parameters", "k"], "needs two free parameters"),
        (["--parameters", "k", "mass"], "no free parameter 'mass'"),
        (["--parameters", "k", "k"], "names one twice"),
        (["--parameters", "k", "m", "--grid", "1"], "--grid must be at least"),
        (["--parameters", "k", "m", "-o", "cost.bmp"], "none of .png"),
        (["--parameters", "k", "m", "--range", "k=5"], "is not understood"),
        (["--parameters", "k", "m", "--result", "nowhere"], "there is no"),
    ],
)
def test_what_is_wrong_is_told(
    study: Study, words: list[str], message: str, capsys: Capture
) -> None:
    assert main(["plot-cost", str(study.problem), *words]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
