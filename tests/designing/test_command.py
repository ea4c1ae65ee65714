"""``fmident design`` on the slider-crank."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fmident
from fmident.cli import main

from .files import assert_refused, copied

CLASS = "Mechanisms.FMUs.SliderCrankInverse"


@pytest.fixture
def file(tmp_path: Path, build_fmu: Callable[[str], Path]) -> Path:
    return copied(
        "slider-crank",
        tmp_path,
        (f'class = "{CLASS}"', f'fmu = "{build_fmu(CLASS)}"'),
        ("harmonics = 8", "harmonics = 3\nstarts = 1\niterations = 3"),
    )


def test_a_csv_that_a_controller_can_play(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["design", str(file)]) == 0
    rows = pd.read_csv(file.with_name("excitation.csv"))
    assert list(rows.columns) == ["time [s]", "q [rad]", "qd [rad/s]", "qdd [rad/s2]"]
    assert len(rows) == 5001
    assert np.abs(rows["qd [rad/s]"]).max() < 20.6 * 1.01
    said = capsys.readouterr().out
    assert "inertia1" in said
    assert "condition number" in said


def test_it_tells_how_far_it_is(file: Path) -> None:
    told: list[tuple[str, int, int]] = []
    fmident.design(file, listener=lambda *state: told.append(state))
    names = list(dict.fromkeys(text for text, _, _ in told))
    assert names == ["simulations", "random motions", "search 1 of 1"]
    motions = [(done, expected) for text, done, expected in told if text == "random motions"]
    assert motions == [(k, 7) for k in range(8)]  # the first of 8 has told what each takes
    search = [done for text, done, _ in told if text == "search 1 of 1"]
    assert search == list(range(search[-1] + 1))


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
    assert_refused(file, old, new, words)
