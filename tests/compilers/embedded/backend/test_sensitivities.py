"""Sensitivities that the FMU integrates itself, against closed forms."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from fmident.compilers.embedded.backend import codegen
from fmident.errors import Code, FmuError, SimulationError
from fmident.fmu import SimulationSetup, open_fmu
from fmident.fmu.sensitivities import differentiable

from .conftest import Builder, Fmu

Array = npt.NDArray[np.float64]
METHODS = ("auto", "explicit", "rosenbrock")
TIMES = np.linspace(0.0, 2.0, 41)


def simulate(path: Path, setup: SimulationSetup, **values: float) -> Array:
    with open_fmu(path) as fmu, fmu.simulator() as simulator:
        return simulator.simulate(setup, values)


def columns(found: Array, outputs: int) -> list[Array]:
    """Return outputs, then their derivatives with respect to each known."""
    return [found[:, k : k + outputs] for k in range(0, found.shape[1], outputs)]


def error(found: Array, expected: Array) -> float:
    scale = np.abs(expected).max(axis=0)
    return float((np.abs(found - expected) / np.where(scale > 0.0, scale, 1.0)).max())


def relaxation(k: float, a: float, b: float, z0: float) -> Array:
    """Return y, x, z, square in closed form for u = 1."""
    x = 1.0 + (a * b - 1.0) * np.exp(-k * TIMES)
    return np.column_stack([a**2 * x + b, x, z0 * np.exp(-k * TIMES), a**2 * x**2])


def by_complex_step(*values: float) -> list[Array]:
    found = []
    for j in range(len(values)):
        moved = [v + (1e-30j if i == j else 0.0) for i, v in enumerate(values)]
        found.append(np.imag(relaxation(*moved)) / 1e-30)  # type: ignore[arg-type]
    return found


def setup_of(
    known: Sequence[str], outputs: Sequence[str], times: Array = TIMES, **more: float
) -> SimulationSetup:
    return SimulationSetup(times, output_names=tuple(outputs), sensitivities=tuple(known), **more)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-9])
def test_agree_with_closed_forms(fmus: Builder, method: str, tolerance: float) -> None:
    known, outputs = ("k", "a", "b", "z"), ("y", "x", "z", "square")
    setup = replace(
        setup_of(known, outputs),
        input_names=("u",),
        inputs=np.ones((TIMES.size, 1)),
        tolerance=tolerance,
    )
    values, *derivatives = columns(simulate(fmus.path("relaxation", method), setup), 4)
    assert error(values, relaxation(2.0, 3.0, 0.25, 0.5)) < 10 * tolerance
    for found, expected in zip(derivatives, by_complex_step(2.0, 3.0, 0.25, 0.5), strict=True):
        assert error(found, expected) < 10 * tolerance


@pytest.mark.parametrize("method", METHODS)
def test_outputs_keep_their_bits(fmus: Builder, method: str) -> None:
    plain = SimulationSetup(TIMES, ("tau",), np.sin(9.0 * TIMES)[:, None], ("phi", "w", "power"))
    path = fmus.path("pendulum", method)
    without = simulate(path, plain)
    found = simulate(path, replace(plain, sensitivities=("l", "w0")))
    assert np.array_equal(columns(found, 3)[0], without)


@pytest.mark.parametrize("name", ["pendulum", "relaxation"])
def test_functions_in_parts_keep_their_bits(
    fmus: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A long function becomes several, which hand values over: here after five statements."""
    with open_fmu(fmus.path(name)) as fmu:
        variables = fmu.description.variables
    outputs = tuple(v.name for v in variables if v.causality == "output")
    known = tuple(v.name for v in variables if v.causality == "parameter")
    inputs = tuple(v.name for v in variables if v.causality == "input")
    signal = np.sin(np.outer(TIMES, 1.0 + np.arange(len(inputs))))
    setup = SimulationSetup(TIMES, inputs, signal, outputs, sensitivities=known)
    monkeypatch.setattr(codegen, "LONGEST_FUNCTION", 5)
    in_parts = Builder(tmp_path).path(name)
    assert np.array_equal(simulate(in_parts, setup), simulate(fmus.path(name), setup))


@pytest.mark.parametrize("method", METHODS)
def test_jump_where_the_state_derivatives_do(fmus: Builder, method: str) -> None:
    """s = line + behind*(t - line/before) behind the line: its derivatives jump there."""
    path = fmus.path("two_speeds", method)
    found = simulate(path, setup_of(("before", "behind", "line", "s"), ("s",)), before=2.0)
    _, before, behind, line, start = (c[:, 0] for c in columns(found, 1))
    after = TIMES > 0.5
    expected = [
        np.where(after, 0.5 / 4.0, TIMES),
        np.where(after, TIMES - 0.5, 0.0),
        np.where(after, 1.0 - 0.5 / 2.0, 0.0),
        np.where(after, 0.5 / 2.0, 1.0),
    ]
    elsewhere = TIMES != 0.5  # where they have no value
    for wanted, values in zip(expected, (before, behind, line, start), strict=True):
        assert values[elsewhere] == pytest.approx(wanted[elsewhere], abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-9])
def test_follow_a_kink(fmus: Builder, method: str, tolerance: float) -> None:
    """r' = -r*|s - line| with s = 2*t up to the line, and s = line + t/2 from there."""
    setup = replace(setup_of(("line",), ("r",)), tolerance=tolerance)
    r, found = (c[:, 0] for c in columns(simulate(fmus.path("two_speeds", method), setup), 1))
    first = np.minimum(TIMES, 0.5)
    rest = np.maximum(TIMES - 0.5, 0.0)
    assert r == pytest.approx(np.exp(-(first - first**2) - rest**2 / 4), abs=10 * tolerance)
    # The integral of |s - line| grows by `first`, then as the line is reached later.
    change = first - rest / 4
    assert found == pytest.approx(-r * change, abs=20 * tolerance)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("tolerance", "width"),
    [(1e-4, 1e-5), (1e-4, 1e-8), (1e-6, 1e-7), (1e-6, 1e-9), (1e-9, 1e-9)],
)
def test_bends_that_one_step_may_pass(
    fmus: Builder, method: str, tolerance: float, width: float
) -> None:
    """With the width 0: v = 1 + (F - mu)*t until it is 0 at t0, and (F + mu)*(t - t0) behind."""
    speeds, known = ("root", "tanh", "logistic"), ("F", "mu", "T", "root", "tanh", "logistic")
    setup = replace(setup_of(known, (*speeds, "driven")), tolerance=tolerance)
    found = simulate(fmus.path("bends", method), setup, width=width)
    _, by_force, by_mu, by_instant, *by_start = columns(found, 4)
    force, mu, instant = -2.0, 1.0, 0.73
    turn = 1.0 / (mu - force)
    behind, late = turn < TIMES, instant < TIMES
    allowed = 10 * tolerance + 10 * width
    expected = np.where(behind, TIMES - turn - (force + mu) * turn**2, TIMES)
    assert by_force == pytest.approx(np.column_stack([expected] * 3 + [TIMES]), abs=allowed)
    expected = np.where(behind, TIMES - turn + (force + mu) * turn**2, -TIMES)
    assert by_mu[:, :3] == pytest.approx(np.column_stack([expected] * 3), abs=allowed)
    assert by_instant[:, 3] == pytest.approx(np.where(late, -2.0 * mu, 0.0), abs=allowed)
    for k, values in enumerate(by_start):
        expected = np.where(behind, -(force + mu) * turn, 1.0)
        assert values[:, k] == pytest.approx(expected, abs=allowed)


def test_a_bend_too_sharp_for_the_time_to_resolve_has_none(fmus: Builder) -> None:
    with open_fmu(fmus.path("bends")) as fmu, fmu.simulator() as simulator:
        with pytest.raises(SimulationError, match=r"(at|near) 0\.3333") as raised:
            simulator.simulate(setup_of(("mu",), ("root",)), {"width": 1e-30})
        assert raised.value.code == Code.NOT_DIFFERENTIABLE


def test_where_the_solution_stays_on_a_jump_there_are_none(fmus: Builder) -> None:
    path = fmus.path("sliding")
    early = setup_of((), ("v",), TIMES[:10])
    assert simulate(path, early)[-1, 0] == pytest.approx(0.55)
    found = simulate(path, replace(early, sensitivities=("mu",)))
    assert found[:, 1] == pytest.approx(-TIMES[:10])
    with open_fmu(path) as fmu, fmu.simulator() as simulator:
        short = setup_of(("mu",), ("v",), np.linspace(0.0, 1.001, 20))
        with pytest.raises(SimulationError, match="stays there or only touches it") as raised:
            simulator.simulate(short)
        assert raised.value.code == Code.NOT_DIFFERENTIABLE
        assert simulator.simulate(replace(short, sensitivities=())).shape == (20, 1)


@pytest.mark.parametrize("method", METHODS)
def test_where_a_signal_jumps_so_do_conditions_on_it(fmus: Builder, method: str) -> None:
    """The instant is that of the signal, not one where x < bound would pass through zero."""
    setup = setup_of(("t1", "bounded"), ("bounded", "driven"))
    path = fmus.path("together", method)
    _, by_t1, by_start = columns(simulate(path, setup, t3=1.1), 2)
    after = TIMES > 0.73
    assert by_t1 == pytest.approx(np.outer(after, [-2.0, -3.0]), abs=1e-6)
    assert by_start == pytest.approx(np.outer(np.ones(TIMES.size), [1.0, 0.0]), abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_an_angle_that_jumps_by_a_turn(fmus: Builder, method: str) -> None:
    found = simulate(fmus.path("together", method), setup_of(("w",), ("turned",)), t3=1.1)[:, 1]
    turn = np.pi / 3.0
    behind = turn < TIMES  # where the integral is w*t^2/2 - 2*pi*(t - pi/w)
    expected = TIMES**2 / 2 - np.where(behind, 2 * turn**2, 0.0)
    assert found == pytest.approx(expected, abs=1e-5)


def test_where_the_order_of_switches_matters_there_are_none(fmus: Builder) -> None:
    path = fmus.path("together")
    with open_fmu(path) as fmu, fmu.simulator() as simulator:
        with pytest.raises(SimulationError, match="which of them is first") as raised:
            simulator.simulate(setup_of(("t2",), ("both",)))
        assert raised.value.code == Code.NOT_DIFFERENTIABLE
        # The others of the states do not need it: with a parameter that has no part in it.
        found = simulator.simulate(setup_of(("t1",), ("both", "sum")))
        assert not found[:, 2:].any()
        found = simulator.simulate(setup_of(("t2",), ("both",)), {"t3": 0.5})[:, 1]
        assert found == pytest.approx(np.where(TIMES > 0.6, -1.0, 0.0), abs=1e-9)


def test_of_every_elementary_function(fmus: Builder) -> None:
    path = fmus.path("functions")
    names = tuple(f"{kind}{i}" for i in range(28) for kind in "yq")
    setup = setup_of((), names, np.linspace(0.0, 1.0, 11), tolerance=1e-11)
    with open_fmu(path) as fmu, fmu.simulator() as simulator:
        _, by_p, by_x = columns(
            simulator.simulate(replace(setup, sensitivities=("p", "x"))), len(names)
        )
        for name, value, found in (("p", 0.9, by_p), ("x", 0.3, by_x)):
            low, high = (simulator.simulate(setup, {name: value + h}) for h in (-1e-5, 1e-5))
            assert found == pytest.approx((high - low) / 2e-5, rel=1e-6, abs=1e-6)


def test_stateless(fmus: Builder) -> None:
    setup = SimulationSetup(
        TIMES, ("u[1]",), np.sin(TIMES)[:, None], ("y", "w"), sensitivities=("a",)
    )
    _, found = columns(simulate(fmus.path("algebraic"), setup), 2)
    assert found[:, 0] == pytest.approx(np.sin(TIMES))
    assert not found[:, 1].any()


def test_which_can_be_asked_for(fmus: Builder) -> None:
    assert differentiable(fmus.path("relaxation")) == {"k", "a", "b", "z"}
    assert differentiable(fmus.path("relaxation", "cvode")) == frozenset()
    with pytest.raises(FmuError, match="cannot be differentiated with respect to 'gain'"):
        simulate(fmus.path("relaxation"), setup_of(("gain",), ("y",)))


def test_many_knowns_are_taken_in_several_lanes(fmus: Builder) -> None:
    known = [f"T[{i + 1}]" for i in range(11)]
    setup = setup_of(known, ("T[1]", "T[2]"), np.linspace(0.0, 1e-4, 3))
    path = fmus.path("rod", "explicit")
    together = simulate(path, setup)
    for j, name in enumerate(known):
        alone = simulate(path, replace(setup, sensitivities=(name,)))
        assert columns(together, 2)[1 + j] == pytest.approx(columns(alone, 2)[1], abs=1e-5)


# The functions themselves.


class Extension:
    """The two functions of an instance."""

    def __init__(self, fmu: Fmu) -> None:
        self.fmu = fmu

    def ask(self, *names: str) -> int:
        known = (ctypes.c_uint * len(names))(*(self.fmu.references[n] for n in names))
        slave = self.fmu.slave
        status: int = slave.dll.fmidentSetSensitivityVariables(
            ctypes.c_void_p(slave.component), known, ctypes.c_size_t(len(names))
        )
        return status

    def get(self, names: Sequence[str], known: int) -> tuple[int, list[float]]:
        unknown = (ctypes.c_uint * len(names))(*(self.fmu.references[n] for n in names))
        values = (ctypes.c_double * (len(names) * known))()
        slave = self.fmu.slave
        status: int = slave.dll.fmidentGetSensitivities(
            ctypes.c_void_p(slave.component), unknown, ctypes.c_size_t(len(names)), values
        )
        return status, list(values)


def test_values_are_those_of_all_unknowns_for_each_known(fmus: Builder) -> None:
    with fmus.open("relaxation") as fmu:
        extension = Extension(fmu)
        assert extension.ask("a", "z") == 0
        fmu.initialize(1e-9)
        status, values = extension.get(["y", "x", "z", "der(z)", "square", "gain", "a", "u"], 2)
        assert status == 0
        # x = a*b = 0.75, gain = a^2
        by_a = [9.0 * 0.25 + 6.0 * 0.75, 0.25, 0.0, 0.0, 6.0 * 0.75**2 + 9.0 * 2 * 0.75 * 0.25]
        assert values[:8] == pytest.approx([*by_a, 6.0, 1.0, 0.0])
        assert values[8:] == pytest.approx([0.0, 0.0, 1.0, -2.0, 0.0, 0.0, 0.0, 0.0])


def test_refusals(fmus: Builder) -> None:
    with fmus.open("relaxation") as fmu:
        extension = Extension(fmu)
        assert extension.ask("x") == 3
        assert "'x' is neither a parameter nor the start value of a state" in fmu.error()
        assert extension.ask("y") == 3
        assert extension.ask("k") == 0
        fmu.initialize()
        assert extension.ask("k") == 3
        assert "cannot be called while the FMU is initialized" in fmu.error()


def test_forgotten_on_reset_and_on_request(fmus: Builder) -> None:
    with fmus.open("relaxation") as fmu:
        extension = Extension(fmu)
        assert extension.ask("k") == 0
        fmu.slave.reset()
        fmu.initialize()
        status, values = extension.get(["x"], 1)
        assert (status, values) == (0, [0.0])  # nothing is written
    with fmus.open("relaxation") as fmu:
        extension = Extension(fmu)
        assert extension.ask("k") == 0
        assert extension.ask() == 0
        fmu.initialize()
        fmu.step(0.0, 0.1)
        assert extension.get(["x"], 1) == (0, [0.0])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("serialise", [False, True])
def test_saved_and_restored_with_the_state(fmus: Builder, method: str, serialise: bool) -> None:
    def go_on(fmu: Fmu, extension: Extension) -> list[float]:
        found: list[float] = []
        for i in range(5, 10):
            fmu.step(0.1 * i, 0.1)
            status, values = extension.get(["y", "z"], 2)
            assert status == 0
            found += values
        return found

    with fmus.open("relaxation", method) as first, fmus.open("relaxation", method) as second:
        extension = Extension(first)
        assert extension.ask("k", "a") == 0
        first.initialize(1e-6)
        for i in range(5):
            first.step(0.1 * i, 0.1)
        state = first.slave.getFMUstate()
        if serialise:
            data = first.slave.serializeFMUstate(state)
            state_there = second.slave.deSerializeFMUstate(data)
            second.slave.setFMUstate(state_there)
            there = go_on(second, Extension(second))
        here = go_on(first, extension)
        first.slave.setFMUstate(state)
        assert go_on(first, extension) == here
        if serialise:
            assert there == here
            second.slave.freeFMUstate(state_there)
        first.slave.freeFMUstate(state)


def test_tunable_parameters_act_from_now_on(fmus: Builder) -> None:
    """x' = -k*x from 0.75: after k has become 4 at t = 0.5, x = 0.75 exp(-2*0.5 - 4*(t - 0.5))."""
    with fmus.open("relaxation") as fmu:
        extension = Extension(fmu)
        extension.ask("k")
        fmu.initialize(1e-9)
        for i in range(10):
            if i == 5:
                fmu.set(k=4.0)
            fmu.step(0.1 * i, 0.1)
        status, values = extension.get(["x"], 1)
        assert status == 0
        assert values[0] == pytest.approx(-0.75 * np.exp(-1.0 - 2.0), rel=1e-7)


def test_cvode_does_not_follow(fmus: Builder) -> None:
    with fmus.open("relaxation", "cvode") as fmu:
        extension = Extension(fmu)
        assert extension.ask("k") == 0
        fmu.initialize()
        fmu.step(0.0, 0.1)
        status, _ = extension.get(["x"], 1)
        assert status == 2
        assert "CVODE integrates the states" in fmu.error()
