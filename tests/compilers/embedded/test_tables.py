"""Lookup tables against closed forms, and against SciPy's curves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import Akima1DInterpolator, PchipInterpolator

from fmident.arrays import F64
from fmident.compilers.base import Compiler
from fmident.compilers.embedded.frontend import load_model
from fmident.errors import CompilationError
from fmident.fmu import SimulationSetup, open_fmu

from ...kept import library_fmu
from .frontend.conftest import Compiled

SOURCE = Path(__file__).with_name("Tables.mo")
X = np.array([-2.0, -0.5, 0.0, 1.0, 1.5, 3.0, 4.0])
Y = np.array([1.0, 1.5, 4.0, 4.5, 4.5, -1.0, 0.0])
TABLE = "[" + "; ".join(f"{x}, {y}" for x, y in zip(X, Y, strict=True)) + "]"


def compiled(folder: Path, text: str) -> Compiled:
    file = folder / "M.mo"
    file.write_text(text)
    return Compiled(*load_model("M", [file, SOURCE]))


def one(folder: Path, modifiers: str, table: str = TABLE) -> Compiled:
    given = f"table = {table}{', ' if modifiers else ''}{modifiers}"
    return compiled(
        folder,
        f"model M\n  Tables.One t({given});\n  output Real y = t.y[1];\n"
        "equation\n  t.u = time;\nend M;\n",
    )


def values(model: Compiled, at: F64) -> F64:
    return np.array([model.at(t=t).outputs["y"] for t in at])


def smoothness(name: str) -> str:
    return f"smoothness = Tables.Smoothness.{name}"


def extrapolation(name: str) -> str:
    return f"extrapolation = Tables.Extrapolation.{name}"


def test_lines_join_the_points_and_go_on(tmp_path: Path) -> None:
    model = one(tmp_path, "")
    inside = np.linspace(-2.0, 4.0, 25)
    assert values(model, inside) == pytest.approx(np.interp(inside, X, Y), abs=1e-13)
    assert values(model, np.array([-5.0, 6.0])) == pytest.approx([0.0, 2.0], abs=1e-13)
    assert model.at().calculated["t.u_min"] == -2.0
    assert model.at().calculated["t.u_max"] == 4.0


def test_objects_are_made_as_in_version_4_1_of_the_library(tmp_path: Path) -> None:
    source = tmp_path / "Tables.mo"
    text = SOURCE.read_text().replace("_init2(", "_init3(")
    source.write_text(text.replace("extrapolation, false)", 'extrapolation, false, ",", 0)'))
    file = tmp_path / "M.mo"
    file.write_text(
        f"model M\n  Tables.One t(table = {TABLE});\n  output Real y = t.y[1];\n"
        "equation\n  t.u = time;\nend M;\n"
    )
    model = Compiled(*load_model("M", [file, source]))
    assert values(model, X) == pytest.approx(Y, abs=1e-13)


def test_the_last_point_is_held(tmp_path: Path) -> None:
    model = one(tmp_path, extrapolation("HoldLastPoint"))
    assert values(model, np.array([-5.0, 9.0])) == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("kind", ["LinearSegments", "ContinuousDerivative"])
def test_a_table_repeats_itself(tmp_path: Path, kind: str) -> None:
    model = one(tmp_path, f"{extrapolation('Periodic')}, {smoothness(kind)}")
    at = np.linspace(-1.9, 3.9, 13)
    for periods in (-2, 1, 5):
        assert values(model, at + 6.0 * periods) == pytest.approx(values(model, at), abs=1e-10)
    # Both ends belong to the table.
    assert values(model, np.array([-2.0, 4.0])) == pytest.approx([1.0, 0.0], abs=1e-12)


def test_without_extrapolation_the_end_is_an_error(tmp_path: Path) -> None:
    model = one(tmp_path, extrapolation("NoExtrapolation"))
    assert all(model.at(t=4.0).asserts)
    assert not all(model.at(t=4.01).asserts)
    assert not all(model.at(t=-2.01).asserts)


def test_constant_segments_hold_the_value_of_the_point_before(tmp_path: Path) -> None:
    model = one(tmp_path, f"{smoothness('ConstantSegments')}, {extrapolation('HoldLastPoint')}")
    at = np.array([-3.0, -2.0, -0.6, -0.5, 0.5, 1.0, 3.9, 4.0, 5.0])
    expected = [1.0, 1.0, 1.0, 1.5, 4.0, 4.5, -1.0, 0.0, 0.0]
    assert values(model, at) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("kind", "method"),
    [("ContinuousDerivative", "akima"), ("ModifiedContinuousDerivative", "makima")],
)
def test_akima_curves_are_those_of_scipy(tmp_path: Path, kind: str, method: str) -> None:
    model = one(tmp_path, smoothness(kind))
    at = np.linspace(-2.0, 4.0, 61)
    theirs = Akima1DInterpolator(X, Y, method=method)  # type: ignore[arg-type]
    assert values(model, at) == pytest.approx(theirs(at), abs=1e-12)
    # It goes on along its tangents.
    slope = theirs.derivative()
    ahead = [float(Y[0] - 2.0 * slope(X[0])), float(Y[-1] + 3.0 * slope(X[-1]))]
    assert values(model, np.array([-4.0, 7.0])) == pytest.approx(ahead, abs=1e-12)


def test_fritsch_butland_is_scipys_between_the_outer_intervals(tmp_path: Path) -> None:
    model = one(tmp_path, smoothness("MonotoneContinuousDerivative1"))
    at = np.linspace(-0.5, 3.0, 36)
    assert values(model, at) == pytest.approx(PchipInterpolator(X, Y)(at), abs=1e-12)
    # At the ends the slope is that of the line.
    assert (values(model, np.array([-3.0])) - Y[0])[0] == pytest.approx(-1 / 3, abs=1e-12)


def test_steffens_slopes(tmp_path: Path) -> None:
    """At each inner point the slope is that of the parabola through three, within limits."""
    model = one(tmp_path, smoothness("MonotoneContinuousDerivative2"))
    m, h = np.diff(Y) / np.diff(X), np.diff(X)
    for i in range(1, len(X) - 1):
        parabola = (m[i - 1] * h[i] + m[i] * h[i - 1]) / (h[i - 1] + h[i])
        most = 2 * min(abs(m[i - 1]), abs(m[i]))
        expected = np.clip(parabola, -most, most) if m[i - 1] * m[i] > 0 else 0.0
        for side in (-1e-6, 1e-6):
            found = (values(model, np.array([X[i] + side]))[0] - Y[i]) / side
            assert found == pytest.approx(expected, abs=1e-4)


def test_points_are_parameters(tmp_path: Path) -> None:
    model = one(tmp_path, smoothness("ContinuousDerivative"))
    assert "t.table[3,2]" in [p.name for p in model.model.parameters]
    other = Y.copy()
    other[2] = 3.0
    at = [-0.3, 0.2, 1.2]
    found = [model.at(t=t, p={"t.table[3,2]": 3.0}).outputs["y"] for t in at]
    assert found == pytest.approx(Akima1DInterpolator(X, other)(at), abs=1e-12)
    assert not all(model.at(p={"t.table[3,1]": -1.0}).asserts)  # they must increase


def test_columns(tmp_path: Path) -> None:
    model = one(tmp_path, "columns = {3}", "[0, 1, 5; 1, 2, 7]")
    assert values(model, np.array([0.5])) == pytest.approx([6.0])


@pytest.mark.parametrize(
    ("block", "rule", "words"),
    [
        (f'One t(table = {TABLE}, fileName = "a.txt")', "unsupported", "file"),
        ("One t(final table = [0, 1; 0, 2])", "value", "must increase"),
        ("One t(table = [0, 1; 1, 2], columns = {3})", "value", "columns"),
    ],
)
def test_what_a_table_cannot_be(tmp_path: Path, block: str, rule: str, words: str) -> None:
    with pytest.raises(CompilationError) as caught:
        compiled(tmp_path, f"model M\n  Tables.{block};\nequation\n  t.u = time;\nend M;\n")
    first = caught.value.diagnostics[0]
    assert first.rule == rule
    assert words in first.message
    assert first.location is not None


def simulated(compiler: Compiler, name: str, times: F64, **parameters: float) -> F64:
    path = library_fmu(compiler, f"Tables.{name}", (SOURCE,))
    names = ("v",) if name == "Friction" else ("y", "x", "events")
    setup = SimulationSetup(times=times, output_names=names, tolerance=1e-9)
    given = {key.replace("__", "."): value for key, value in parameters.items()}
    with open_fmu(path) as fmu, fmu.simulator() as simulator:
        return np.asarray(simulator.simulate(setup, given))


@pytest.mark.slow
def test_a_table_of_time_is_integrated_piece_by_piece(embedded_compiler: Compiler) -> None:
    times = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
    y, x, events = simulated(embedded_compiler, "Integrated", times).T
    # 1 until 1 s, then from 3 by -4 per second, which goes on behind the end.
    assert y == pytest.approx([1.0, 1.0, 3.0, 1.0, -1.0, -5.0], abs=1e-12)
    assert x == pytest.approx([0.0, 0.5, 1.0, 2.0, 2.0, -1.0], abs=1e-10)
    assert events == pytest.approx([1, 1, 2, 2, 3, 3])


@pytest.mark.slow
def test_a_repeated_table_begins_later(embedded_compiler: Compiler) -> None:
    times = np.linspace(0.0, 100.0, 2001)
    y, x, events = simulated(embedded_compiler, "Repeated", times).T
    phase = np.mod(times - 0.1 + 1e-9, 1.0)
    triangle = np.interp(phase, [0, 0.25, 0.75, 1], [0, 1, -1, 0])
    expected = np.where(times < 0.3 - 1e-9, 0.0, triangle)
    assert y == pytest.approx(expected, abs=1e-7)
    assert events[-1] == 1 + 3 * 100  # the start, and three in each period

    def area(phase: F64) -> F64:  # from the beginning of a period
        return np.where(
            phase <= 0.25,
            2 * phase**2,
            np.where(phase <= 0.75, 0.25 - 2 * (phase - 0.5) ** 2, 2 * (1 - phase) ** 2),
        )

    exact = np.where(times < 0.3, 0.0, area(phase) - area(np.array(0.2)))
    assert x == pytest.approx(exact, abs=1e-7)


@pytest.mark.slow
def test_steps_repeat_themselves(embedded_compiler: Compiler) -> None:
    times = np.linspace(0.0, 50.0, 251)
    y, x, _ = simulated(embedded_compiler, "Steps", times).T
    phase = np.mod(times + 1e-9, 1.0)
    assert y == pytest.approx(np.where(phase < 0.4, 2.0, 5.0))
    whole = np.floor(times + 1e-9)
    inside = np.where(phase < 0.4, 2 * phase, 0.8 + 5 * (phase - 0.4))
    assert x == pytest.approx(3.8 * whole + inside, abs=1e-7)


@pytest.mark.slow
def test_events_at_jumps_only(embedded_compiler: Compiler) -> None:
    times = np.array([0.0, 0.5, 1.0, 2.0, 3.0, 4.0])
    y, x, events = simulated(embedded_compiler, "Jumps", times).T
    assert y == pytest.approx([0.0, 0.5, 5.0, 3.0, 1.0, 1.0], abs=1e-12)
    assert x == pytest.approx([0.0, 0.125, 0.5, 4.5, 6.5, 7.5], abs=1e-9)
    assert events[-1] == 3  # the beginning, the jump and the end


@pytest.mark.slow
def test_a_characteristic_has_parameters_to_be_found(embedded_compiler: Compiler) -> None:
    """The speed falls along straight lines of the characteristic: exponentials in time."""
    times = np.array([0.0, 0.2, 0.4])
    for end, slope in ((4.0, 1.0), (6.0, 3.0)):
        (v,) = simulated(
            embedded_compiler, "Friction", times, **{"characteristic__table[4,2]": end}
        ).T
        rest = 3.0 / slope - 1.0  # force = slope*(v + rest)
        assert v == pytest.approx((3.0 + rest) * np.exp(-slope / 2 * times) - rest, rel=1e-7)
