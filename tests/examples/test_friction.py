"""The friction study: on simulated data the truth is found; on measured ones, where these are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import fmident
from fmident.cross_validation import verdict

ROOT = Path(__file__).parents[2]
DATA = Path(
    os.environ.get(
        "FMIDENT_EMPS_DATA", ROOT.parent / "shared" / "data" / "emps" / "identification.csv"
    )
)
STATIC = ("coulomb", "stribeck", "direction", "stribeck-direction")

pytestmark = pytest.mark.slow  # builds, and many estimations

Prepare = Callable[[Callable[[ModuleType], object]], Path]


@pytest.fixture
def study(
    study_folder: Callable[[str], Path], load_script: Callable[[Path], ModuleType]
) -> Prepare:
    def prepare(rows: Callable[[ModuleType], object]) -> Path:
        folder = study_folder("friction")
        (folder / "data").mkdir()
        table = rows(load_script(ROOT / "examples" / "friction" / "prepare.py"))
        table.to_csv(folder / "data" / "axis.csv", index=False)  # type: ignore[attr-defined]
        return folder

    return prepare


@pytest.mark.nightly
def test_simulated_coulomb_friction_is_taken_for_what_it_is(study: Prepare) -> None:
    folder = study(lambda script: script.synthetic(1))
    problems = {n: fmident.load_problem(folder / f"{n}.toml") for n in ("coulomb", "direction")}
    both = fmident.compare(*(fmident.estimate(p) for p in problems.values()), names=[*problems])
    assert both.tests["effective_p_value"][0] > 0.05
    assert both.figures["aicc"].idxmin() == "coulomb"
    found = fmident.cross_validate(problems, by="blocks", folds=4, gap=0.1)
    assert verdict(found).startswith("'coulomb' predicts best")
    truth = {"m": 95.0, "coulombForce": 20.0, "viscousFriction": 200.0, "offset": -3.0}
    for e in found.models[0].full.estimates:
        if e.name in truth:
            assert abs(e.value - truth[e.name]) < 3.5 * e.standard_error, e.name


@pytest.mark.nightly
@pytest.mark.skipif(
    not DATA.exists(),
    reason="the measured data (EMPS) are not here: they have no licence to be part of the project;"
    " FMIDENT_EMPS_DATA=path/to/identification.csv names them",
)
def test_the_measured_axis_needs_a_friction_that_differs_by_direction(study: Prepare) -> None:
    folder = study(lambda script: script.measured(DATA))
    results = [fmident.estimate(fmident.load_problem(folder / f"{n}.toml")) for n in STATIC]
    both = fmident.compare(*results, names=[*STATIC])
    assert both.figures["cost"].round().tolist() == [5914.0, 5525.0, 3434.0, 3050.0]
    assert len(both.tests) == 5
    assert np.all(both.tests["effective_p_value"] < 1e-10)
    assert both.figures["effective_aicc"].idxmin() == "stribeck-direction"
    # Friction rises with the speed: no Stribeck effect.
    assert results[3].values["staticForce"] < results[3].values["coulombForce"]
