"""Exact sensitivities across events, against closed forms, whose derivatives are complex steps."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmpy import extract, instantiate_fmu, read_model_description
from scipy.linalg import expm

from fmident.arrays import F64
from fmident.compilers.base import Compiler
from fmident.compilers.embedded.backend.codegen import generate
from fmident.compilers.embedded.backend.compiling import (
    all_sources,
    compile_binary,
    compiler_for,
)
from fmident.compilers.embedded.backend.layout import make_layout
from fmident.compilers.embedded.frontend import load_model
from fmident.compilers.platforms import this_platform
from fmident.errors import Code, SimulationError
from fmident.fmu.sensitivities import differentiable

from ....kept import library_fmu
from ..simulation import table_of
from .conftest import Compiled

SOURCE = Path(__file__).with_name("Across.mo")
TOLERANCES = (1e-4, 1e-6, 1e-9)
Solution = Callable[..., np.ndarray[Any, Any]]
"""Times and the knowns, which may be complex, to a column for each output."""


@pytest.fixture(scope="session")
def across(embedded_compiler: Compiler) -> Compiled:
    """Return the FMU of a class of ``Across.mo``."""
    return lambda name: library_fmu(embedded_compiler, f"Across.{name}", (SOURCE,))


def simulate(
    path: Path,
    times: F64,
    outputs: Sequence[str],
    values: Mapping[str, float],
    known: Sequence[str] | None = None,
    *,
    inputs: Mapping[str, F64] | None = None,
    tolerance: float = 1e-6,
) -> list[F64]:
    """Return the outputs, and their derivatives with respect to each known."""
    by = tuple(values if known is None else known)
    table = table_of(path, times, outputs, values, known=by, inputs=inputs, tolerance=tolerance)
    return [table[:, k : k + len(outputs)] for k in range(0, table.shape[1], len(outputs))]


def check(
    path: Path,
    times: F64,
    outputs: Sequence[str],
    values: Mapping[str, float],
    solution: Solution,
    tolerance: float,
    *,
    inputs: Mapping[str, F64] | None = None,
) -> None:
    """Compare outputs and all derivatives with the solution."""
    found, *derivatives = simulate(path, times, outputs, values, inputs=inputs, tolerance=tolerance)
    assert error(found, np.real(solution(times, **values))) < 10 * tolerance
    for name, columns in zip(values, derivatives, strict=True):
        moved = {n: v + (1e-30j if n == name else 0.0) for n, v in values.items()}
        expected = np.imag(solution(times, **moved)) / 1e-30
        assert error(columns, expected) < 10 * tolerance, name


def error(found: F64, expected: F64) -> float:
    scale = np.abs(expected).max(axis=0)
    return float((np.abs(found - expected) / np.where(scale > 0.0, scale, 1.0)).max())


def central(
    path: Path,
    times: F64,
    outputs: Sequence[str],
    values: Mapping[str, float],
    name: str,
    inputs: Mapping[str, F64] | None = None,
) -> F64:
    step = 1e-6 * abs(values[name])
    low, high = (
        simulate(
            path,
            times,
            outputs,
            {**values, name: values[name] + sign * step},
            (),
            inputs=inputs,
            tolerance=1e-12,
        )[0]
        for sign in (-1, 1)
    )
    return (high - low) / (2 * step)


# Closed forms.


def ball(times: F64, e: complex, g: complex, h: complex) -> np.ndarray[Any, Any]:
    rows = []
    for t in times:
        start, flight = -np.sqrt(2 * h / g), 2 * np.sqrt(2 * h / g)
        while t >= np.real(start + flight):
            start, flight = start + flight, flight * e
        s = t - start
        rows.append([0.5 * g * s * (flight - s), 0.5 * g * flight - g * s])
    return np.array(rows)


def thermostat(times: F64, high: complex, low: complex, T: complex) -> np.ndarray[Any, Any]:
    rows = []
    for t in times:
        start, value, on = 0.0 * high, T, True
        while True:
            end, limit = (30.0, high) if on else (10.0, low)
            lasts = 2 * np.log((value - end) / (limit - end))
            if np.real(start + lasts) > t:
                break
            start, value, on = start + lasts, limit, not on
        rows.append([end + (value - end) * np.exp(-0.5 * (t - start))])
    return np.array(rows)


def relaxation(
    times: F64,
    R1: complex,
    R2: complex,
    C: complex,
    U: complex,
    high: complex,
    low: complex,
    v: complex,
) -> np.ndarray[Any, Any]:
    rows = []
    for t in times:
        start, value, charges = 0.0 * R1, v, True
        while True:
            end, limit, lag = (U, high, R1 * C) if charges else (0.0, low, R2 * C)
            lasts = lag * np.log((value - end) / (limit - end))
            if np.real(start + lasts) > t:
                break
            start, value, charges = start + lasts, limit, not charges
        now = end + (value - end) * np.exp(-(t - start) / lag)
        rows.append([now, (U - now) / R1 if charges else -now / R2])
    return np.array(rows)


def stick_slip(
    times: F64,
    k: complex,
    Fs: complex,
    Fc: complex,
    belt: complex,
) -> np.ndarray[Any, Any]:
    """Slipping lasts until the speed is that of the belt again, which is the mirror image."""
    w, held, middle = np.sqrt(k), Fs / k, Fc / k
    amplitude = held - middle
    slips = (2 * np.pi - 2 * np.arctan(amplitude * w / belt)) / w
    rows = []
    for t in times:
        start, x = 0.0 * k, 0.0 * k
        while True:
            sticks = (held - x) / belt
            if np.real(start + sticks) > t:
                rows.append([x + belt * (t - start), belt])
                break
            start += sticks
            if np.real(start + slips) > t:
                s = w * (t - start)
                rows.append(
                    [
                        middle + amplitude * np.cos(s) + belt / w * np.sin(s),
                        belt * np.cos(s) - amplitude * w * np.sin(s),
                    ]
                )
                break
            start, x = start + slips, middle - amplitude
    return np.array(rows)


def sampled(
    times: F64,
    Ts: complex,
    first: complex,
    k: complex,
    x: complex,
) -> np.ndarray[Any, Any]:
    rows = []
    for t in times:
        start, value, u, due = 0.0 * Ts, x, 0.0 * Ts, first
        while np.real(due) <= t:
            value = 2 * u + (value - 2 * u) * np.exp(-0.5 * (due - start))
            start, u, due = due, 0.2 * u - k * value, due + Ts
        rows.append([2 * u + (value - 2 * u) * np.exp(-0.5 * (t - start)), u])
    return np.array(rows)


def controller(times: F64, k: complex, Ti: complex) -> np.ndarray[Any, Any]:
    """Return the steps of the exponential, at half the period of the samples, 0.05 s."""
    step = expm(np.array([[0.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, 0.0]]) * 0.025)
    z, integral, rows = np.zeros(3, complex), 0.0 * k, []
    for n in range(times.size):
        if n % 2 == 0:
            integral = integral + 0.05 / Ti * (1.0 - z[0])
            z[2] = k * (1.0 - z[0] + integral)
        rows.append([z[0], z[2], integral])
        z = step @ z
    return np.array(rows)


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("e", [0.8, 0.55])
def test_ball(compiled: Compiled, tolerance: float, e: float) -> None:
    times = np.linspace(0.0, 1.23, 48)
    check(compiled("Ball"), times, ["h", "v"], {"e": e, "g": 9.81, "h": 1.0}, ball, tolerance)


@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_thermostat(compiled: Compiled, tolerance: float) -> None:
    values = {"high": 24.0, "low": 21.5, "T": 20.0}
    check(compiled("Thermostat"), np.linspace(0.0, 8.0, 161), ["T"], values, thermostat, tolerance)


@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_switched_circuit(across: Compiled, tolerance: float) -> None:
    values = {"R1": 2.0, "R2": 0.7, "C": 0.4, "U": 5.0, "high": 3.5, "low": 1.2, "v": 0.5}
    times = np.linspace(0.0, 5.0, 133)
    check(across("Relaxation"), times, ["v", "i"], values, relaxation, tolerance)


@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_stick_slip(across: Compiled, tolerance: float) -> None:
    values = {"k": 4.0, "Fs": 1.5, "Fc": 0.6, "belt": 0.3}
    times = np.linspace(0.0, 14.0, 203)
    check(across("StickSlip"), times, ["x", "v"], values, stick_slip, tolerance)


@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_sampled_controller(compiled: Compiled, tolerance: float) -> None:
    times = np.arange(161) * 0.025
    check(
        compiled("Controller"),
        times,
        ["x", "u", "i"],
        {"k": 2.5, "Ti": 0.8},
        controller,
        tolerance,
        inputs={"w": np.ones_like(times)},
    )


@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_period_of_samples(across: Compiled, tolerance: float) -> None:
    values = {"Ts": 0.131, "first": 0.0513, "k": 2.0, "x": 1.0}
    check(across("Sampled"), np.linspace(0.0, 1.7, 101), ["x", "u"], values, sampled, tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["explicit", "rosenbrock"])
def test_each_integrator(embedded_compiler: Compiler, integrator: str) -> None:
    path = library_fmu(embedded_compiler, "Across.StickSlip", (SOURCE,), integrator=integrator)
    values = {"k": 4.0, "Fs": 1.5, "Fc": 0.6, "belt": 0.3}
    check(path, np.linspace(0.0, 14.0, 203), ["x", "v"], values, stick_slip, 1e-6)


def ramp(times: F64) -> dict[str, F64]:
    return {"u": 4.7 * times}


@pytest.mark.each_time(
    "Starts-1.7-x c n-values3-None",
    "Balls-1.4-h1 h2 v1-values7-None",
    "Pull-12.0-x v mode-values8-<lambda>",
)
@pytest.mark.parametrize(
    ("name", "end", "outputs", "values", "inputs"),
    [
        ("Stored", 1.57, "x kept since sum ramp twice", {"t0": 0.412, "a": 1.7, "n": 3.0}, None),
        ("Chain", 1.0, "x z y w count", {"limit": 0.5, "b": 2.0, "x": 0.1}, None),
        ("Instant", 2.0, "y z above", {"t0": 0.33, "w": 3.0}, ramp),
        ("Starts", 1.7, "x c n", {"a": 2.0, "b": 0.5111}, None),
        (
            "Clutch",
            6.0,
            "w1 w2 phi mode",
            {"J1": 0.5, "J2": 1.1, "slip": 0.8, "peak": 1.3, "c": 3.0},
            lambda times: {"u": 2.2 * np.sin(1.3 * times)},
        ),
        ("Pulses", 0.1, "i begin", {"L": 0.01, "R": 1.0, "duty": 0.37, "T": 0.01003}, None),
        ("Steps", 3.0, "x y z", {"a": 2.3, "q": 0.17}, None),
        ("Balls", 1.4, "h1 h2 v1", {"e": 0.9, "m1": 1.0, "m2": 0.3, "h1": 1.0, "h2": 1.7}, None),
        (
            "Pull",
            12.0,
            "x v mode",
            {"m": 1.3, "Fc": 0.5, "Fs": 0.8, "d": 0.2},
            lambda times: {"F": 1.5 * np.sin(1.1 * times)},
        ),
    ],
)
def test_central_differences_say_the_same(
    across: Compiled,
    name: str,
    end: float,
    outputs: str,
    values: dict[str, float],
    inputs: Callable[[F64], dict[str, F64]] | None,
) -> None:
    times = np.linspace(0.0, end, 134)
    path, names = across(name), outputs.split()
    given = inputs(times) if inputs else None
    _, *derivatives = simulate(path, times, names, values, inputs=given)
    for known, found in zip(values, derivatives, strict=True):
        expected = central(path, times, names, values, known, given)
        scale = np.maximum(np.abs(expected).max(axis=0), 0.1)  # a column may be 0
        assert np.max(np.abs(found - expected) / scale) < 1e-6


def test_kink_between_events(across: Compiled) -> None:
    """Each time the level is met, 0.25 after a sample, r has been growing faster for less time."""
    times = np.linspace(0.0, 1.7, 101)
    _, by_k = simulate(across("Kinks"), times, ["r", "level"], {"k": 0.6})
    met = 0.25 + 0.4 * np.arange(5)
    passes = np.sum(times[:, None] > met, axis=1)
    expected = np.column_stack([-0.25 * passes, np.where(times > 0.1, 0.25, 0.0)])
    np.testing.assert_allclose(by_k, expected, atol=1e-5)


def test_outputs_keep_their_bits(compiled: Compiled) -> None:
    times = np.linspace(0.0, 8.0, 161)
    with_known = simulate(compiled("Thermostat"), times, ["T"], {"high": 24.0})
    without = simulate(compiled("Thermostat"), times, ["T"], {"high": 24.0}, ())
    np.testing.assert_array_equal(with_known[0], without[0])


def test_what_can_be_asked_for(across: Compiled) -> None:
    assert differentiable(across("StickSlip")) == {"k", "Fs", "Fc", "belt", "x"}


# Where there is no derivative.


def refused(path: Path, times: F64, output: str, **values: float) -> str:
    with pytest.raises(SimulationError) as caught:
        simulate(path, times, [output], values)
    assert caught.value.code is Code.NOT_DIFFERENTIABLE
    simulate(path, times, [output], values, ())  # without derivatives it is simulated
    return str(caught.value)


@pytest.mark.parametrize("amplitude", [1.0, 1.0 + 1e-9, 1.0 - 1e-9])
def test_grazing(across: Compiled, amplitude: float) -> None:
    message = refused(across("Graze"), np.linspace(0.0, 6.1, 50), "x", amplitude=amplitude)
    assert "'x > limit'" in message
    assert "whether it switches depends on the parameters" in message


def test_two_events_at_once(across: Compiled) -> None:
    times = np.linspace(0.0, 1.23, 50)
    assert "two events coincide" in refused(across("Together"), times, "x", a=0.5, b=0.5)
    near = refused(across("Together"), times, "x", a=0.5, b=0.5 + 1e-8)
    assert "is at its limit to the error of the states" in near
    by_a, by_b = simulate(across("Together"), times, ["y"], {"a": 0.4, "b": 0.5})[1:]
    late = times > 0.4
    np.testing.assert_allclose(by_a[:, 0], np.where(late, 2.0, 0.0), atol=1e-9)
    assert not by_b.any()


def test_bounces_without_end(compiled: Compiled) -> None:
    """All bounces with e = 0.5 are over after 3*sqrt(2/g) = 1.3546 s."""
    with pytest.raises(SimulationError) as caught:
        simulate(compiled("Ball"), np.linspace(0.0, 1.3545, 20), ["h"], {"e": 0.5}, tolerance=1e-4)
    assert "'h <= 0' only touches its limit" in str(caught.value)


def test_an_event_at_a_communication_point(compiled: Compiled) -> None:
    times = np.linspace(0.0, 1.0, 41)
    message = refused(compiled("Switched"), times, "x", a=0.5)
    assert "exactly at this communication point" in message
    (by_b,) = simulate(compiled("Switched"), times, ["x"], {"a": 0.5, "b": 0.71}, ("b",))[1:]
    np.testing.assert_allclose(by_b[:, 0], np.where(times > 0.71, -7.0, 0.0), atol=1e-9)


def test_exactly_at_the_limit_at_the_start(compiled: Compiled, across: Compiled) -> None:
    times = np.linspace(0.0, 0.5, 12)
    with pytest.raises(SimulationError, match="'h <= 0' is exactly at its limit at 0"):
        simulate(compiled("Ball"), times, ["v"], {"h": 0.0})
    assert "a sample whose instant" in refused(across("Sampled"), times, "x", first=0.0)


# Instances.


class Instance:
    """An instance with the functions of the extension."""

    def __init__(self, path: Path, known: Sequence[str], tolerance: float = 1e-6) -> None:
        description = read_model_description(path)
        self.references = {v.name: v.valueReference for v in description.modelVariables}
        self.count = len(known)
        self.slave = instantiate_fmu(extract(path), description, "CoSimulation")
        self.slave.setupExperiment(startTime=0.0, tolerance=tolerance)
        references = (ctypes.c_uint * len(known))(*(self.references[n] for n in known))
        assert not self.slave.dll.fmidentSetSensitivityVariables(
            ctypes.c_void_p(self.slave.component), references, ctypes.c_size_t(len(known))
        )
        self.slave.enterInitializationMode()

    def get(self, *names: str) -> list[float]:
        references = (ctypes.c_uint * len(names))(*(self.references[n] for n in names))
        values = (ctypes.c_double * (len(names) * self.count))()
        assert not self.slave.dll.fmidentGetSensitivities(
            ctypes.c_void_p(self.slave.component), references, ctypes.c_size_t(len(names)), values
        )
        return list(values)

    def set(self, name: str, value: float) -> None:
        self.slave.setReal([self.references[name]], [value])

    def step(self, begin: float, size: float) -> None:
        self.slave.doStep(currentCommunicationPoint=begin, communicationStepSize=size)


def test_saved_and_restored_with_the_state(across: Compiled) -> None:
    """What is held keeps its derivatives."""

    def go_on(one: Instance) -> list[float]:
        found = []
        for k in range(6, 14):
            one.step(0.07 * k, 0.07)
            found += one.get("x", "kept", "since", "sum", "twice")
        return found

    one = Instance(across("Stored"), ["a", "t0"])
    one.slave.exitInitializationMode()
    for k in range(6):
        one.step(0.07 * k, 0.07)
    state = one.slave.getFMUstate()
    data = one.slave.serializeFMUstate(state)
    first = go_on(one)
    assert any(first)
    one.slave.setFMUstate(state)
    assert go_on(one) == first
    other = Instance(across("Stored"), [])
    other.slave.exitInitializationMode()
    other.slave.setFMUstate(other.slave.deSerializeFMUstate(data))
    other.count = 2
    assert go_on(other) == first


def test_reading_does_not_count(compiled: Compiled) -> None:
    """What is read behind a jump of an input belongs to it, and is gone with it."""
    one, other = (Instance(compiled("Reading"), ["limit", "x"]) for _ in range(2))
    for each in (one, other):
        each.slave.exitInitializationMode()
        each.step(0.0, 0.03)
    assert one.get("x") == [0.0, 1.0]
    one.set("u", 1.0)
    assert one.get("x") == [0.0, 0.0]  # it is set anew
    one.set("u", 0.0)
    assert one.get("x") == [0.0, 1.0]
    for each in (one, other):
        each.set("u", 0.0)
        each.step(0.03, 0.04)
    assert one.get("x", "y") == other.get("x", "y")


def test_in_initialization_mode_and_after_it(across: Compiled) -> None:
    """With a = 2 and b = 0.5, c = 0.5*a^2 + x and x = a*b + a."""
    one = Instance(across("Starts"), ["a", "b"])
    expected = [1.5, 1.5 + 2.0, 2.0, 2.0]
    assert one.get("x", "c") == pytest.approx(expected)
    one.set("a", 3.0)
    expected = [1.5, 1.5 + 3.0, 3.0, 3.0]
    assert one.get("x", "c") == pytest.approx(expected)
    one.slave.exitInitializationMode()
    assert one.get("x", "c") == pytest.approx(expected)


@pytest.mark.each_time("Stored")
@pytest.mark.parametrize("name", ["Pull", "Instant", "Stored"])
def test_compiles_without_warnings(tmp_path: Path, name: str) -> None:
    model, *_ = load_model(f"Across.{name}", (SOURCE,))
    code = generate(model, make_layout(model), guid="{0}", tolerance=1e-6)
    warnings = ["-Wall", "-Wextra", "-Wshadow", "-Wno-type-limits", "-Wno-unused-parameter"]
    compiler = compiler_for(this_platform(), tmp_path)
    compile_binary(compiler, tmp_path, all_sources("2.0", code), warnings=[*warnings, "-Werror"])
