"""``fmident design`` on the slider-crank."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fmident.cli import main
from fmident.design import load_design
from fmident.errors import ProblemError

CLASS = "Mechanisms.Linkages.SliderCrankInverse"
EXAMPLE = Path(__file__).parents[2] / "examples" / "slider-crank" / "design.toml"


@pytest.fixture
def file(tmp_path: Path, build_fmu: Callable[[str], Path]) -> Path:
    text = EXAMPLE.read_text(encoding="utf-8")
    for old, new in (
        (f'class = "{CLASS}"', f'fmu = "{build_fmu(CLASS)}"'),
        ("harmonics = 8", "harmonics = 3\nstarts = 1\niterations = 3"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = tmp_path / "design.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_csv_that_a_controller_can_play(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["design", str(file)]) == 0
    rows = pd.read_csv(file.with_name("excitation.csv"))
    assert list(rows.columns) == ["time [s]", "q [rad]", "qd [rad/s]", "qdd [rad/s2]"]
    assert len(rows) == 5001
    assert np.abs(rows["qd [rad/s]"]).max() < 20.6 * 1.01
    said = capsys.readouterr().out
    assert "inertia1" in said
    assert "condition number" in said


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("tau = 0.01", "tua = 0.01", "tua"),
        ("tau = 0.01", "tau = -1.0", "positive"),
        ('position = "q"', 'position = "tau"', "not an input"),
        ("speed_limit = 20.6", "sped_limit = 20.6", "sped_limit"),
        ("period = 5.0", "", "period"),
        ('criterion = "determinant"', 'criterion = "trace"', "trace"),
        ("rate = 1000.0", "rate = 2.0", "too fast"),
    ],
)
def test_mistakes_name_their_line(file: Path, old: str, new: str, words: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ProblemError, match=words) as caught:
        load_design(file)
    assert caught.value.location is not None
    assert caught.value.location.line
