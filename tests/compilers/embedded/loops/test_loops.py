"""Algebraic loops against closed forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmpy import extract, instantiate_fmu, read_model_description
from fmpy.validation import validate_fmu
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import lambertw

from fmident.arrays import F64
from fmident.compilers.base import Compiler
from fmident.compilers.embedded.frontend import load_model
from fmident.errors import Code, CompilationError, FmuError, SimulationError

from ....kept import library_fmu
from ....refused import refused
from ..simulation import table_of

SOURCE = Path(__file__).with_name("Loops.mo")
Compiled = Callable[[str], Path]
Run = Callable[..., list[F64]]


@pytest.fixture(scope="session")
def compiled(embedded_compiler: Compiler) -> Compiled:
    return lambda name: library_fmu(embedded_compiler, f"Loops.{name}", (SOURCE,))


def simulated(
    path: Path, times: F64, outputs: Sequence[str], *values: Any, **more: Any
) -> list[F64]:
    """Return the columns of :func:`table_of`."""
    return list(table_of(path, times, outputs, *values, **more).T)


@pytest.fixture(params=["co-simulation", "model-exchange"])
def run(request: pytest.FixtureRequest) -> Run:
    """Return :func:`simulated` by either interface."""
    tolerance = {"tolerance": 1e-11} if request.param == "model-exchange" else {}
    return partial(simulated, interface=request.param, **tolerance)


def test_an_equation_at_each_instant(compiled: Compiled, run: Run) -> None:
    times = np.linspace(0.0, 2.0, 81)
    anomaly = 10.0 * times
    (found,) = run(compiled("Kepler"), times, ["E"], {"e": 0.9}, inputs={"M": anomaly})
    expected = [brentq(lambda x, m=m: x - 0.9 * np.sin(x) - m, -1, 25, xtol=1e-15) for m in anomaly]
    assert found == pytest.approx(np.array(expected), rel=1e-13, abs=1e-14)


def diode(u: Any, saturation: Any, thermal: Any, resistance: Any) -> Any:
    """Return the current by Lambert's function (Corless and others, 1996)."""
    drop = resistance * saturation
    argument = drop / thermal * np.exp((u + drop) / thermal)
    return thermal / resistance * lambertw(argument) - saturation


def test_currents_far_below_one_and_their_derivatives(compiled: Compiled) -> None:
    voltage = np.linspace(-1.0, 1.0, 41)
    known = ("Is", "Vt", "R")
    i, *derivatives = simulated(
        compiled("DiodeResistor"),
        np.linspace(0.0, 1.0, 41),
        ["i"],
        known=known,
        inputs={"u": voltage},
    )
    point = [1e-12, 0.025, 1e5]
    assert i == pytest.approx(np.real(diode(voltage, *point)), rel=1e-9, abs=1e-26)
    for j, found in enumerate(derivatives):
        moved = [v * (1 + 1e-20j) if k == j else v for k, v in enumerate(point)]
        expected = np.imag(diode(voltage, *moved)) / (1e-20 * point[j])
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12 * np.abs(expected).max())


def slowing(end: float, k: float, x0: float) -> float:
    """Return y(end) where dt = -(1 + k exp(y)) / y dy."""

    def start(y: float) -> float:
        return y + k * np.exp(y) - x0

    y0 = brentq(start, -5, 5, xtol=1e-15)

    def lasted(y: float) -> float:
        return quad(lambda s: (1 + k * np.exp(s)) / s, y, y0, epsabs=1e-13, epsrel=1e-13)[0] - end

    return float(brentq(lasted, 1e-3, y0, xtol=1e-14))


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-9])
def test_states_behind_a_loop(compiled: Compiled, tolerance: float) -> None:
    times = np.array([0.0, 0.5, 1.0, 2.0])
    outputs = ["y", "double"]
    found = simulated(compiled("Slowing"), times, outputs, known=("k", "x0"), tolerance=tolerance)
    expected = np.array([slowing(t, 1.0, 3.0) for t in times])
    assert found[0] == pytest.approx(expected, abs=10 * tolerance)
    assert found[1] == pytest.approx(2 * expected, abs=20 * tolerance)
    step = 1e-3
    for column, (dk, dx) in ((2, (step, 0.0)), (4, (0.0, step))):
        two = [[slowing(t, 1.0 + s * dk, 3.0 + s * dx) for t in times] for s in (-2, -1, 1, 2)]
        low2, low, high, high2 = (np.array(v) for v in two)
        derivative = (8 * (high - low) - (high2 - low2)) / (12 * step)
        assert found[column] == pytest.approx(derivative, abs=10 * tolerance + 1e-9)


def test_a_large_linear_loop(compiled: Compiled, run: Run) -> None:
    times = np.linspace(0.0, 1.0, 6)
    a = np.array([-0.4, 0.0, 0.3, 1.0, 5.0, 40.0])
    names = [f"z[{i}]" for i in range(1, 21)]
    found = np.array(run(compiled("Ladder"), times, names, inputs={"a": a}))
    for k, value in enumerate(a):
        matrix, right = np.zeros((20, 20)), 0.1 * np.arange(1.0, 21.0)
        for i in range(20):
            matrix[i, i] = 2 + (i + 1) * value
            if i > 0:
                matrix[i, i - 1] = -1
            if i < 19:
                matrix[i, i + 1] = -value
        matrix[0, 0], right[0] = 2 + value, 1.0
        matrix[19, 19], matrix[19, 0], right[19] = 3 + value, value, 1.0
        assert found[:, k] == pytest.approx(np.linalg.solve(matrix, right), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("a", [2.0, 5.0])
def test_rest_is_found_through_a_loop(compiled: Compiled, a: float) -> None:
    z = brentq(lambda z: z**3 + z - a + 2 * z, -5, 5, xtol=1e-15)
    (x, dx) = simulated(compiled("Rest"), np.array([0.0, 0.1]), ["x"], {"a": a}, known=("a",))
    assert x[0] == pytest.approx(2 * z, rel=1e-13)
    assert dx[0] == pytest.approx(2 / (3 * z**2 + 3), rel=1e-12)


def test_an_initial_equation_that_is_not_linear(compiled: Compiled, run: Run) -> None:
    times = np.array([0.0, 1.0])
    x, dx = run(compiled("Root"), times, ["x"], {"square": 9.0}, known=("square",))
    assert x == pytest.approx(3 * np.exp(-times), rel=1e-7)
    assert dx == pytest.approx(np.exp(-times) / 6, rel=1e-6)


@pytest.mark.parametrize("state", ["x", "y", "z"])
def test_a_start_from_which_others_follow_cannot_be_set(
    compiled: Compiled, run: Run, state: str
) -> None:
    times, names = np.array([0.0, 1.0]), ["x", "y", "z", "own"]
    values = np.array(run(compiled("Follows"), times, names, {"own": 5.0}))
    expected = np.outer([1.0, 2.0, np.sqrt(3.0), 5.0], np.exp(-times))
    assert values == pytest.approx(expected, rel=1e-6)
    with pytest.raises(FmuError, match=rf"'{state}' .* cannot be set"):
        run(compiled("Follows"), times, names, {state: 3.0})


def test_the_build_names_starts_from_which_others_follow() -> None:
    _, notes = load_model("Loops.Follows", [SOURCE])
    (note,) = (n for n in notes if n.rule == "start-decides")
    assert note.severity == "note"
    assert "'x'" in note.message


@pytest.mark.parametrize("name", ["Vanishing", "VanishingState"])
def test_no_solution_is_an_error_with_time_and_equation(
    compiled: Compiled, run: Run, name: str
) -> None:
    with pytest.raises(SimulationError, match=r"algebraic loop .* 'y'") as raised:
        run(compiled(name), np.linspace(0.0, 2.0, 21), ["y"])
    assert "y^2 = " in str(raised.value)
    (y,) = run(compiled(name), np.linspace(0.0, 0.99, 12), ["y"])
    assert y == pytest.approx(np.sqrt(1 - np.linspace(0.0, 0.99, 12)), rel=1e-6)


def test_equations_that_hold_but_determine_nothing(compiled: Compiled, run: Run) -> None:
    """Nothing is violated at the guess, so the error must not say that something is."""
    with refused(
        Code.SIMULATION_FAILED, SimulationError, match=r"no regular solution .* 'y'"
    ) as raised:
        run(compiled("Undetermined"), np.linspace(0.0, 1.0, 3), ["y"])
    assert "its equations hold there, but their Jacobian cannot be inverted" in str(raised.value)


@pytest.mark.parametrize("guess", [-1.0, 3.0, 1e-9])
def test_a_guess_chooses_among_solutions(compiled: Compiled, run: Run, guess: float) -> None:
    times = np.linspace(0.0, 1.0, 5)
    (y,) = run(compiled("Two"), times, ["y"], {"guess": guess})
    assert y == pytest.approx(np.sign(guess) * np.sqrt(4 + times), rel=1e-13)


def test_a_guess_from_which_newton_diverges(compiled: Compiled, run: Run) -> None:
    times = np.linspace(0.0, 1.0, 9)
    u = np.linspace(-1.5, 1.5, 9)
    (y,) = run(compiled("Far"), times, ["y"], inputs={"u": u})
    assert y == pytest.approx(np.tan(u), rel=1e-12, abs=1e-14)


def test_a_relation_in_a_loop_switches(compiled: Compiled, run: Run) -> None:
    times = np.linspace(0.0, 2.0, 41)
    y, opened = run(compiled("Limiter"), times, ["y", "open"])
    w = 1.0 - times
    expected = [
        brentq(lambda y, r=r: y + 0.1 * y**3 - r, -10, 10, xtol=1e-15)
        for r in np.where(w > 0, w, 4 * w)
    ]
    apart = np.abs(w) > 1e-12
    assert y[apart] == pytest.approx(np.array(expected)[apart], rel=1e-7, abs=1e-9)
    assert np.array_equal(opened[apart], (w > 0)[apart])


def test_an_equation_that_jumps_with_its_unknown_is_not_linear(
    compiled: Compiled, run: Run
) -> None:
    times, u = np.linspace(0.0, 1.0, 9), np.linspace(1.25, 3.25, 9)
    for sign in (-1.0, 1.0):
        (y,) = run(compiled("Jump"), times, ["y"], inputs={"u": sign * u})
        assert y == pytest.approx(sign * (u - 1), rel=1e-14)
    with pytest.raises(SimulationError, match=r"algebraic loop .* 'y'"):  # has no solution there
        run(compiled("Jump"), times, ["y"], inputs={"u": np.full(9, 0.5)})


def test_jumps_in_a_loop_that_is_torn(compiled: Compiled, run: Run) -> None:
    u = np.linspace(1.5, 4.5, 13)
    y, z = run(compiled("JumpElsewhere"), np.linspace(0.0, 1.0, 13), ["y", "z"], inputs={"u": u})
    assert y == pytest.approx(u - 1, rel=1e-14)
    assert z == pytest.approx(2 * (u - 1) - 0.1 * (u > 2), rel=1e-14)


def test_what_jumps_is_no_alias(compiled: Compiled, run: Run) -> None:
    a = np.linspace(-2.0, 2.0, 9)
    (b,) = run(compiled("NoAlias"), np.linspace(0.0, 1.0, 9), ["b"], inputs={"a": a})
    assert b == pytest.approx(a + np.sign(a), abs=1e-14)


def test_a_short_step_to_a_kink_is_not_the_solution(compiled: Compiled, run: Run) -> None:
    u = np.linspace(0.5, 1.0, 6)
    (y,) = run(compiled("SteepBefore"), np.linspace(0.0, 1.0, 6), ["y"], inputs={"u": u})
    assert y == pytest.approx(1 + u, rel=1e-14)


def test_a_loop_behind_another(compiled: Compiled, run: Run) -> None:
    u = np.linspace(-3.0, 3.0, 13)
    a, b = run(compiled("Chain"), np.linspace(0.0, 1.0, 13), ["a", "b"], inputs={"u": u})
    expected = u - np.real(lambertw(np.exp(u)))
    assert a == pytest.approx(expected, rel=1e-12, abs=1e-14)
    assert b == pytest.approx(expected - np.real(lambertw(np.exp(expected))), rel=1e-12, abs=1e-14)


def test_an_amplifier_with_narrow_limits(compiled: Compiled, run: Run) -> None:
    """i = y/1.05; y = 15000 (u - i) within the limits of 15."""
    u = np.linspace(-30.0, 30.0, 61)
    (y,) = run(compiled("Amplifier"), np.linspace(0.0, 1.0, 61), ["y"], inputs={"u": u})
    expected = np.clip(15000 * u / (1 + 15000 / 1.05), -15, 15)
    assert y == pytest.approx(expected, rel=1e-11, abs=1e-12)


def test_a_solution_near_a_guess_where_the_matrix_is_singular(compiled: Compiled, run: Run) -> None:
    u = np.linspace(0.5, -0.9, 15)
    (y,) = run(compiled("Flat"), np.linspace(0.0, 1.0, 15), ["y"], inputs={"u": u})
    assert np.abs(y) == pytest.approx(np.arccos(u), rel=1e-13)


def test_equations_that_repeat_each_other_are_refused() -> None:
    with pytest.raises(CompilationError) as raised:
        load_model("Loops.Floating", [SOURCE])
    assert [d.rule for d in raised.value.diagnostics] == ["singular-block"]


def test_the_build_says_what_is_iterated() -> None:
    model, notes = load_model("Loops.DiodeResistor", [SOURCE])
    assert model.loops.unknowns == 1
    (note,) = (n for n in notes if n.rule == "algebraic-loop")
    assert note.severity == "note"
    assert f"'{model.loops.running[0].names[0]}'" in note.message


def test_dependencies_pass_through_loops() -> None:
    model, _ = load_model("Loops.Chain", [SOURCE])
    assert model.output_dependencies == (("u",), ("u",))
    model, _ = load_model("Loops.Slowing", [SOURCE])
    assert model.output_dependencies == (("x",), ("x",))
    assert model.derivative_dependencies == (("x",),)


@pytest.mark.parametrize("name", ["Slowing", "Chain", "Limiter", "Rest"])
def test_the_fmu_is_valid(compiled: Compiled, name: str) -> None:
    assert validate_fmu(compiled(name)) == []


class _Opened:
    """An instance behind initialization mode, stepped by hand."""

    def __init__(self, path: Path) -> None:
        description = read_model_description(path)
        self.reference = {v.name: v.valueReference for v in description.modelVariables}
        self.slave = instantiate_fmu(extract(path), description, "CoSimulation")
        self.slave.setupExperiment(startTime=0.0, tolerance=1e-6)
        self.slave.enterInitializationMode()
        self.slave.exitInitializationMode()

    def get(self, *names: str) -> list[float]:
        return [float(v) for v in self.slave.getReal([self.reference[n] for n in names])]

    def go_on(self, first: int, count: int, *, reading: bool = True) -> list[float]:
        for k in range(first, first + count):
            self.slave.doStep(0.1 * k, 0.1)
            if reading:
                self.get("y", "double")
        return self.get("x", "y", "double")


def test_bits_depend_neither_on_reading_nor_on_a_saved_state(compiled: Compiled) -> None:
    one, two = _Opened(compiled("Slowing")), _Opened(compiled("Slowing"))
    one.go_on(0, 5)
    state = one.slave.getFMUstate()
    expected = one.go_on(5, 5)
    one.slave.setFMUstate(state)
    assert one.go_on(5, 5, reading=False) == expected
    assert two.go_on(0, 5, reading=False) != expected
    copy = two.slave.deSerializeFMUstate(one.slave.serializeFMUstate(state))
    two.slave.setFMUstate(copy)
    assert two.go_on(5, 5, reading=False) == expected


def test_directional_derivatives_follow_the_loop(compiled: Compiled) -> None:
    fmu = _Opened(compiled("Slowing"))
    fmu.go_on(0, 3)
    x, y = fmu.get("x", "y")
    unknown = [fmu.reference["y"], fmu.reference["der(x)"]]
    along_x = fmu.slave.getDirectionalDerivative(unknown, [fmu.reference["x"]], [1.0])
    along_k = fmu.slave.getDirectionalDerivative(unknown, [fmu.reference["k"]], [1.0])
    slope = 1 / (1 + np.exp(y))
    assert along_x == pytest.approx([slope, -slope], rel=1e-12)
    assert along_k == pytest.approx([-np.exp(y) * slope, np.exp(y) * slope], rel=1e-12)
    assert y + np.exp(y) == pytest.approx(x, rel=1e-14)
