"""The picture of the page *Compare models*."""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import fmident
from fmident.cross_validation import summarised
from picturing.drawing import ROOT, Palette, picture

MODELS = ("coulomb", "direction", "stribeck", "stribeck-direction")


@picture("compare-models", height=2.7)
def models(figure: Figure, colours: Palette) -> None:
    """Draw what four friction models fit and predict of simulated Coulomb friction."""
    with tempfile.TemporaryDirectory() as scratch:
        found = _folds(Path(scratch))
    left, right = figure.subplots(1, 2)
    places = np.arange(len(MODELS))[::-1]
    fitted = [m.full.cost_final for m in found.models]
    left.plot(fitted[0] - np.array(fitted), places, "o", color=colours.measured)
    left.set_xlabel("fits better by (cost)")
    left.set_yticks(places, MODELS)
    for place, one in zip(places, summarised(found), strict=True):
        error = 0.0 if one.worse == 0.0 else one.worse_error
        right.errorbar(one.worse, place, xerr=error, fmt="o", color=colours.fitted)
    right.axvline(0.0, color=colours.quiet, lw=0.8)
    right.set_yticks(places, [""] * len(MODELS))
    right.set_xlabel("predicts worse by (log-likelihood per sample)")
    for axes in (left, right):
        axes.set_ylim(-0.5, len(MODELS) - 0.5)


def _folds(folder: Path) -> fmident.CrossValidation:
    study = ROOT / "examples" / "friction"
    for file in [*study.glob("*.toml"), *study.glob("*.mo")]:
        shutil.copy(file, folder)
    spec = importlib.util.spec_from_file_location("prepare", study / "prepare.py")
    assert spec is not None
    assert spec.loader is not None
    prepare = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(prepare)
    (folder / "data").mkdir()
    prepare.synthetic(1).to_csv(folder / "data" / "axis.csv", index=False)
    problems = {n: fmident.load_problem(folder / f"{n}.toml") for n in MODELS}
    return fmident.cross_validate(problems, by="blocks", folds=4, gap=0.1)
