"""``ci/standard-library``: what it calls equal."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[3] / "ci" / "standard_library.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("standard_library", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["standard_library"] = module
    spec.loader.exec_module(module)
    return module


TIMES = np.array([0.0, 0.5, 0.5, 1.0])
STEP = np.array([0.0, 0.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("own", "inside"),
    [
        (lambda t: np.where(t >= 0.5, 1.0, 0.0), True),
        (lambda t: np.where(t >= 0.501, 1.0, 0.0), True),
        (lambda t: np.where(t >= 0.51, 1.0, 0.0), False),
        (lambda t: np.where(t >= 0.5, 1.0019, -0.0019), True),
        (lambda t: np.where(t >= 0.5, 1.0, 0.0021), False),
        (lambda t: np.where(t >= 0.5, 1.0, np.nan), False),
    ],
)
def test_the_tube_around_a_step(script: ModuleType, own: object, inside: bool) -> None:
    assert callable(own)
    instants = np.linspace(0.0, 1.0, 1001)
    assert (script.distance(TIMES, STEP, instants, own(instants)) <= 1.0) is inside


def test_the_tube_around_a_constant(script: ModuleType) -> None:
    """Its width comes from its value; that of zero is small, not nothing."""
    for constant, good, bad in ((10.0, 10.01, 10.1), (0.0, 1e-9, 1e-3)):
        reference = np.full(4, constant)
        assert script.distance(TIMES, reference, TIMES, np.full(4, good)) <= 1.0
        assert script.distance(TIMES, reference, TIMES, np.full(4, bad)) > 1.0


def test_the_references_of_a_domain(script: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "Modelica" / "Blocks" / "Examples" / "One"
    folder.mkdir(parents=True)
    (folder / "comparisonSignals.txt").write_text("time\r\na\r\nnot.there\r\n")
    (folder / "One.csv").write_text('\ufeff"time","a","b"\n0,1,2\n1,3,4\n', encoding="utf-8")
    assert list(script.examples(tmp_path, ["Modelica.Blocks"])) == [
        ("Modelica.Blocks.Examples.One", folder)
    ]
    times, signals = script.read_reference(folder)
    assert times.tolist() == [0.0, 1.0]
    assert {n: c.tolist() for n, c in signals.items()} == {"a": [1.0, 3.0]}


def test_the_files_of_a_folder_are_counted(script: ModuleType, tmp_path: Path) -> None:
    """A file of a package is read with its package, one for itself alone."""
    (tmp_path / "Alone.mo").write_text("model Alone\n  Real x = time;\nend Alone;\n")
    (tmp_path / "Clocked.mo").write_text(
        "model Clocked\n  Real x = sample(time, Clock(0.1));\nend Clocked;\n"
    )
    package = tmp_path / "Own" / "Inner"
    package.mkdir(parents=True)
    (package.parent / "package.mo").write_text("package Own\n  constant Real c = 2;\nend Own;\n")
    (package / "package.mo").write_text("within Own;\npackage Inner\nend Inner;\n")
    (package / "User.mo").write_text(
        "within Own.Inner;\nmodel User\n  Real x = c*time;\nend User;\n"
    )
    found = {v.name: v.result for v in script.run_files(tmp_path)}
    assert found == {
        "Alone.mo": "accepted",
        "Clocked.mo": "refused",
        "Own/Inner/User.mo": "accepted",
    }
    assert script.package_of(package / "User.mo") == package.parent
    assert script.package_of(tmp_path / "Alone.mo") == tmp_path / "Alone.mo"
