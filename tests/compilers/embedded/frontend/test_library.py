"""Every model of modelica/Mechanisms that can run compiles, without a complaint about its units."""

from pathlib import Path

import numpy as np
import pytest

from fmident.compilers.embedded.frontend import load_model
from fmident.compilers.sources import read_tree

from .conftest import Compiled

pytestmark = pytest.mark.slow  # many builds or whole runs

LIBRARY = Path(__file__).parents[4] / "modelica" / "Mechanisms"


def models() -> list[str]:
    tree = read_tree(LIBRARY)
    return sorted(
        name
        for name, item in tree.classes.items()
        if item.keyword in ("model", "block")
        and "partial" not in {t.text for t in item.prefixes}
        and any(token.text == "experiment" for token in item.tokens)
    )


def test_the_library_has_models() -> None:
    assert "Mechanisms.FMUs.DeltaInverse" in models()
    assert "Mechanisms.FMUs.MassSpringDamper" in models()


@pytest.mark.each_time(
    "Mechanisms.FMUs.MassSpringDamper",
    "Mechanisms.FMUs.PositioningAxisInverse",
    "Mechanisms.FMUs.RotaryDriveWithEvents",
    "Mechanisms.Sources.FourierMotion",
    "Mechanisms.Sources.SumOfSines",
)
@pytest.mark.parametrize("name", models())
def test_compiles(name: str) -> None:
    compiled = Compiled(*load_model(name, [LIBRARY]))
    assert [str(d) for d in compiled.diagnostics if d.severity == "error"] == []
    assert [str(d) for d in compiled.diagnostics if d.rule == "unknown-unit"] == []
    if ".FMUs." in name:  # what nobody identifies is final
        assert [p.name for p in compiled.model.parameters if "." in p.name] == []
    if compiled.model.count_behind:
        return  # values between events and of loops are found at initialization: in the FMU
    point = compiled.at()
    assert all(np.isfinite(v) for v in point.x)
    assert all(np.isfinite(v) for v in point.rates.values())
    assert all(np.isfinite(v) for v in point.outputs.values())
    assert all(point.asserts)
