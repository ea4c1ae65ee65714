"""Inputs as ramps: extra inputs that the engine feeds and the user does not see."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from fmident.compilers.base import Compiler
from fmident.errors import Code, FmuError
from fmident.fmu import SimulationSetup, open_fmu, read_description, with_ramps
from fmident.fmu.setup import InputRamps

from ..kept import library_fmu
from ..refused import refused

SOURCE = """
model Ramped "Integrator whose input follows a line"
  input Real u(start=0);
  input Real slope(start=0);
  input Real reference(start=0);
  input Real v(start=0);
  output Real x(start=0, fixed=true);
  output Real z(start=0, fixed=true);
  output Real y;
  output Real w = v;
equation
  der(z) = v;
  der(x) = u + slope*(time - reference);
  y = 2*(u + slope*(time - reference));
end Ramped;
"""
ANNOTATION = (
    '<VendorAnnotations><Tool name="fmident"><InputRamps version="1" referenceTime="{0}">'
    '<Ramp input="u" slope="slope"/></InputRamps></Tool></VendorAnnotations>'
)


def annotated(fmu: Path, target: Path, reference: str) -> Path:
    """Copy an FMU that neither interpolates nor lacks the annotation."""
    with zipfile.ZipFile(fmu) as source, zipfile.ZipFile(target, "w") as copy:
        for item in source.infolist():
            content = source.read(item)
            if item.filename == "modelDescription.xml":
                text = content.decode().replace(
                    'canInterpolateInputs="true"', 'canInterpolateInputs="false"'
                )
                content = text.replace(
                    "<ModelVariables>", ANNOTATION.format(reference) + "<ModelVariables>"
                ).encode()
            copy.writestr(item, content)
    return target


@pytest.fixture(scope="module")
def plain(embedded_compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("plain") / "Ramped.mo"
    source.write_text(SOURCE, encoding="utf-8")
    return library_fmu(embedded_compiler, "Ramped", (source,))


@pytest.fixture(scope="module")
def ramped(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return annotated(plain, tmp_path_factory.mktemp("ramped") / "Ramped.fmu", "reference")


def test_only_the_users_input_is_shown(ramped: Path) -> None:
    description = read_description(ramped)
    assert [v.name for v in description.inputs] == ["u", "v"]
    assert description.input_ramps == InputRamps("reference", {"u": "slope"})


def test_inputs_follow_straight_lines(ramped: Path) -> None:
    """The integral of a polygon is exact, and outputs belong to the input of their instant."""
    times = np.array([0.0, 0.1, 0.25, 0.3, 0.7, 1.0])
    u = np.array([1.0, -2.0, 0.5, 0.5, 3.0, -1.0])
    integral = np.concatenate([[0.0], np.cumsum(0.5 * (u[1:] + u[:-1]) * np.diff(times))])
    setup = SimulationSetup(times, ("u",), u[:, np.newaxis], ("x", "y"), tolerance=1e-10)
    with open_fmu(ramped) as fmu, fmu.simulator() as simulator:
        for _ in range(2):
            x, y = simulator.simulate(setup).T
            assert np.max(np.abs(x - integral)) < 1e-9
            assert np.max(np.abs(y - 2.0 * u)) < 1e-14
        held = SimulationSetup(times, ("u",), u[:, np.newaxis], ("x",), interpolation="hold")
        steps = np.concatenate([[0.0], np.cumsum(u[:-1] * np.diff(times))])
        assert np.max(np.abs(simulator.simulate(held)[:, 0] - steps)) < 1e-5


def test_an_input_beside_a_ramp_is_held(ramped: Path) -> None:
    """It acts on states from its instant on, and outputs belong to the input of their instant."""
    times = np.array([0.0, 0.1, 0.25, 0.3, 0.7, 1.0])
    u = np.array([1.0, -2.0, 0.5, 0.5, 3.0, -1.0])
    setup = SimulationSetup(
        times, ("u", "v"), np.column_stack([u, u]), ("x", "z", "y", "w"), tolerance=1e-10
    )
    with open_fmu(ramped) as fmu, fmu.simulator() as simulator:
        x, z, y, w = simulator.simulate(setup).T
    area = np.r_[0.0, np.cumsum(0.5 * (u[1:] + u[:-1]) * np.diff(times))]
    np.testing.assert_allclose(x, area, atol=1e-9)
    np.testing.assert_allclose(z, np.r_[0.0, np.cumsum(u[:-1] * np.diff(times))], atol=1e-9)
    np.testing.assert_allclose(np.column_stack([y, w]), np.column_stack([2.0 * u, u]), atol=1e-14)


def test_slopes_and_instants_of_a_setup() -> None:
    setup = SimulationSetup(np.array([0.0, 0.5, 2.0]), ("u",), np.array([[1.0], [2.0], [-1.0]]))
    found = with_ramps(setup, InputRamps("t0", {"u": "du", "w": "dw"}))
    assert found.input_names == ("u", "du", "t0")
    assert found.inputs is not None
    assert found.inputs.tolist() == [[1.0, 0.0, 0.0], [2.0, 2.0, 0.5], [-1.0, -2.0, 2.0]]


def test_an_annotation_that_does_not_fit_is_refused(plain: Path, tmp_path: Path) -> None:
    broken = annotated(plain, tmp_path / "broken.fmu", "missing")
    with refused(Code.UNUSABLE_FMU, FmuError, match="'missing'"):
        read_description(broken)
