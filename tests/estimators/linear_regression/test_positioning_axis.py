"""The positioning axis by regression: the published figures, where the data are at hand."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import fmident

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "positioning-axis"
DATA = Path(
    os.environ.get(
        "FMIDENT_EMPS_DATA", ROOT.parent / "shared" / "data" / "emps" / "identification.csv"
    )
)
CLASS = "Mechanisms.FMUs.PositioningAxisInverse"

PUBLISHED = {
    "m": (95.1089, 0.1085),
    "viscousFriction": (203.5034, 1.1460),
    "coulombForce": (20.3935, 0.1012),
    "offset": (-3.1648, 0.0444),
}


@pytest.mark.skipif(not DATA.exists(), reason="FMIDENT_EMPS_DATA=path/to/identification.csv")
def test_published_figures(tmp_path: Path, build_fmu: Callable[[str], Path]) -> None:
    spec = importlib.util.spec_from_file_location("axis_prepare", EXAMPLE / "prepare.py")
    assert spec is not None
    assert spec.loader is not None
    prepare = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(prepare)
    rows = prepare.inverse_rows(prepare.read_measured(DATA))
    (tmp_path / "data").mkdir()
    rows.to_csv(tmp_path / "data" / "inverse.csv", index=False, float_format="%.15g")
    text = (EXAMPLE / "regression.toml").read_text(encoding="utf-8")
    file = tmp_path / "regression.toml"
    file.write_text(text.replace(f'class = "{CLASS}"', f'fmu = "{build_fmu(CLASS)}"'))
    result = fmident.estimate(fmident.load_problem(file))
    assert result.noise is not None
    for name, (value, deviation) in PUBLISHED.items():
        row = result.parameters.loc[name]
        assert row["value"] == pytest.approx(value, rel=1e-5), name
        # The residuals are correlated: the figures published are those for white noise.
        assert result.noise.white_errors[name] == pytest.approx(deviation, rel=2e-3), name
        assert row["standard_error"] > 1.5 * deviation, name
    assert result.fits[0].relative_error == pytest.approx(0.040834, abs=1e-6)
    assert result.simulations < 12
