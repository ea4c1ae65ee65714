"""Derivatives of Model Exchange FMUs against closed forms and references of 1e-12."""

from __future__ import annotations

import itertools
import threading
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import scipy.integrate

from fmident.arrays import F64
from fmident.errors import Code, FmuError, SimulationError
from fmident.fmu import SimulationSetup, open_fmu
from fmident.fmu.model_exchange.sensitivities import colours_of
from fmident.fmu.sensitivities import differentiable

from ..refused import refused
from . import closed_forms
from .closed_forms import Solution, derivatives
from .exchange import Exchange, Opened, Signal, build_exchange

TOLERANCES = (1e-4, 1e-6, 1e-9)
WORST = 10.0  # errors in units of the tolerance


def moving(*names: str, **starts: float) -> tuple[Signal, ...]:
    """Return states, whose start values can be set where they are given, and derivatives."""
    n = len(names)
    return (
        *(Signal(name, k, "output", starts.get(name)) for k, name in enumerate(names)),
        *(Signal(f"der({name})", n + k, derivative=name) for k, name in enumerate(names)),
    )


def parameters(first: int, **values: float) -> tuple[Signal, ...]:
    """Return parameters with references one after the other."""
    return tuple(Signal(n, first + k, "parameter", v) for k, (n, v) in enumerate(values.items()))


BALL = Exchange("ball.c", (*moving("h", "v", h=1.0), *parameters(4, g=9.81, e=0.8)), indicators=1)
STICK_SLIP = Exchange(
    "stick_slip.c",
    (*moving("x", "v", x=0.05), *parameters(4, k=40.0, m=1.0, fc=3.0, fs=5.0, belt=0.2)),
    indicators=2,
)
CONVERTER = Exchange(
    "converter.c",
    (
        *moving("i", "charge", i=1.0),
        *parameters(4, volts=12.0, r=2.0, l=0.1, period=0.05, peak=3.0, gain=1.5),
        Signal("opened", 13, "output"),
    ),
    indicators=1,
)
WALL = Exchange("wall.c", (*moving("x", "v", v=1.0), *parameters(4, wall=0.6, e=0.9)), indicators=1)
PENDULUM = Exchange(
    "pendulum.c",
    (
        *moving("angle", "speed", angle=0.5),
        *parameters(4, g=9.81, l=1.2, d=0.1, c=0.3),
        Signal("u", 8, "input", 0.0),
        Signal("tip", 9, "output"),
        Signal("kink", 11, "parameter", 0.0),
    ),
)

RACE = Exchange(
    "race.c",
    (*moving("x", "y"), *parameters(4, rate=1.25, a=0.5, b=1.0, at=1.2, limit=5.0)),
    indicators=2,
)
RELAY = Exchange("relay.c", (*moving("x", x=0.0), *parameters(2, level=0.5)))


@dataclass(frozen=True)
class Case:
    """An FMU with a solution in closed form, whose arguments are named as the parameters."""

    fixture: Exchange
    outputs: tuple[str, ...]
    solution: Solution
    values: dict[str, float]
    stop: float


CASES = {
    "ball": Case(BALL, ("h", "v"), closed_forms.ball, {"e": 0.8, "g": 9.81, "h": 1.0}, 2.0),
    "stick-slip": Case(
        STICK_SLIP,
        ("x", "v"),
        closed_forms.stick_slip,
        {"k": 40.0, "m": 1.0, "fc": 3.0, "fs": 5.0, "belt": 0.2, "x": 0.05},
        3.0,
    ),
    "converter": Case(
        CONVERTER,
        ("i", "charge"),
        closed_forms.converter,
        {"volts": 12.0, "r": 2.0, "l": 0.1, "period": 0.05, "peak": 3.0, "gain": 1.5, "i": 1.0},
        0.22,
    ),
    "wall": Case(WALL, ("x", "v"), closed_forms.wall, {"wall": 0.6, "e": 0.9, "v": 1.0}, 6.0),
}


def instants(stop: float) -> F64:
    """Return instants of which none is that of an event."""
    return np.linspace(0.0, stop, 62)[:-1] + np.r_[0.0, np.full(60, 0.0117 * stop)]


def split(found: F64, outputs: int, known: int) -> tuple[F64, F64]:
    """Return outputs and derivatives, the latter of shape (n, known, outputs)."""
    return found[:, :outputs], found[:, outputs:].reshape(-1, known, outputs)


def errors(found: F64, exact: F64) -> F64:
    """Return the largest errors relative to the ranges of the columns."""
    ranges = np.ptp(exact, axis=0)
    return np.asarray(np.max(np.abs(found - exact), axis=0) / np.where(ranges > 0.0, ranges, 1.0))


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("name", CASES)
def test_sensitivities_jump_at_events_as_in_closed_form(
    opened: Opened, name: str, tolerance: float
) -> None:
    case = CASES[name]
    times, known = instants(case.stop), tuple(case.values)
    exact = derivatives(case.solution, times, list(case.values.values()))
    setup = SimulationSetup(times, output_names=case.outputs, tolerance=tolerance)
    with opened(case.fixture).simulator() as simulator:
        plain = simulator.simulate(setup, case.values)
        found = simulator.simulate(replace(setup, sensitivities=known), case.values)
    outputs, slopes = split(found, len(case.outputs), len(known))
    assert np.array_equal(outputs, plain)
    assert errors(slopes, exact[:, 1:]).max() < WORST * tolerance


def pendulum(times: F64, u: F64, known: dict[str, float]) -> F64:
    """Return angle, speed and tip with their derivatives, shape (n, 1 + known, 3), to 1e-12."""
    names = tuple(known)

    def slopes(t: float, y: F64) -> F64:
        angle, speed = y[:2]
        v, down = known, -known["g"] / known["l"]
        out = np.empty_like(y)
        pull = float(np.interp(t, times, u))
        out[:2] = speed, down * np.sin(angle) - v["d"] * speed + pull
        force = {
            "g": -np.sin(angle) / v["l"],
            "l": v["g"] / v["l"] ** 2 * np.sin(angle),
            "d": -speed,
        }
        for k, name in enumerate(names):
            s = y[2 + 2 * k : 4 + 2 * k]
            by_angle = down * np.cos(angle)
            out[2 + 2 * k] = s[1]
            out[3 + 2 * k] = by_angle * s[0] - v["d"] * s[1] + force.get(name, 0.0)
        return out

    start = np.zeros(2 + 2 * len(names))
    start[:2] = known["angle"], known["c"] * known["l"]
    for k, name in enumerate(names):
        start[2 + 2 * k] = name == "angle"
        start[3 + 2 * k] = {"c": known["l"], "l": known["c"]}.get(name, 0.0)
    rows = [start]
    for begin, end in itertools.pairwise(times):  # inputs have kinks
        found = scipy.integrate.solve_ivp(
            slopes, (begin, end), rows[-1], method="DOP853", rtol=1e-13, atol=1e-14
        )
        rows.append(found.y[:, -1])
    y = np.array(rows)
    states = y.reshape(len(times), 1 + len(names), 2)
    tip = known["l"] * np.cos(states[:, :1, 0]) * states[:, :, 0]
    tip[:, 0] = known["l"] * np.sin(states[:, 0, 0])
    tip[:, 1 + names.index("l")] += np.sin(states[:, 0, 0])
    return np.concatenate([states, tip[:, :, np.newaxis]], axis=2)


SWING = {"g": 9.81, "l": 1.2, "d": 0.1, "c": 0.3, "angle": 0.5}
DIRECTIONAL = {"providesDirectionalDerivative": "true"}


def swing(tolerance: float | None = None, known: tuple[str, ...] = tuple(SWING)) -> SimulationSetup:
    """Return a setup of the pendulum with an input on straight lines."""
    times = np.linspace(0.0, 4.0, 101)
    return SimulationSetup(
        times,
        input_names=("u",),
        inputs=np.sin(3.0 * times)[:, np.newaxis],
        output_names=("angle", "speed", "tip"),
        tolerance=tolerance,
        sensitivities=known,
    )


@pytest.fixture(scope="module")
def swinging() -> F64:
    setup = swing()
    assert setup.inputs is not None
    return pendulum(setup.times, setup.inputs[:, 0], SWING)


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("flags", [{}, DIRECTIONAL], ids=["differences", "directional"])
def test_smooth_models_with_inputs_and_initial_equations(
    opened: Opened, swinging: F64, flags: dict[str, str], tolerance: float
) -> None:
    setup = swing(tolerance)
    with opened(replace(PENDULUM, flags=flags)).simulator() as simulator:
        found = simulator.simulate(setup, SWING)
        plain = simulator.simulate(replace(setup, sensitivities=()), SWING)
        assert simulator.log == ()
    outputs, slopes = split(found, 3, len(SWING))
    assert np.array_equal(outputs, plain)
    assert errors(slopes, swinging[:, 1:]).max() < WORST * tolerance


def test_directional_derivatives_that_lie_are_found_out(opened: Opened, swinging: F64) -> None:
    fmu = opened(replace(PENDULUM, flags=DIRECTIONAL, defines=("LIE",)))
    with fmu.simulator() as simulator:
        _, slopes = split(simulator.simulate(swing(1e-6), SWING), 3, len(SWING))
        assert ["directional derivatives" in str(r) for r in simulator.log] == [True]
        simulator.simulate(swing(1e-6), SWING)
    assert errors(slopes, swinging[:, 1:]).max() < WORST * 1e-6


def test_equal_runs_have_equal_derivatives_whatever_ran_before(opened: Opened) -> None:
    fmu = opened(CONVERTER)
    case = CASES["converter"]
    setup = SimulationSetup(
        instants(case.stop), output_names=case.outputs, sensitivities=tuple(case.values)
    )
    with fmu.simulator() as simulator:
        first = simulator.simulate(setup, case.values)
        simulator.simulate(setup, case.values | {"peak": 2.5})
        again = simulator.simulate(setup, case.values)
        assert simulator.statistics.instantiations == 1
    with fmu.simulator(reuse="never") as simulator:
        anew = simulator.simulate(setup, case.values)
    assert np.array_equal(first, again)
    assert np.array_equal(first, anew)


def test_threads_do_not_disturb_each_other(opened: Opened) -> None:
    fmu = opened(PENDULUM)
    setups = [swing(1e-6, (name,)) for name in SWING]
    results: dict[int, F64] = {}

    def run(k: int) -> None:
        with fmu.simulator() as simulator:
            for _ in range(3):
                results[k] = simulator.simulate(setups[k], SWING)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(setups))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with fmu.simulator() as simulator:
        for k, setup in enumerate(setups):
            assert np.array_equal(results[k], simulator.simulate(setup, SWING))


def test_an_event_that_is_only_touched_is_refused(opened: Opened) -> None:
    setup = SimulationSetup(
        instants(4.0), output_names=("x",), tolerance=1e-4, sensitivities=("wall",)
    )
    with opened(WALL).simulator() as simulator:
        with pytest.raises(SimulationError, match=r"touches zero at t = 1\.57") as caught:
            simulator.simulate(setup, {"wall": 1.0 - 1e-9})
        assert caught.value.code == Code.NOT_DIFFERENTIABLE
        plain = simulator.simulate(replace(setup, sensitivities=()), {"wall": 1.0 - 1e-9})
        assert np.isfinite(plain).all()
        good = simulator.simulate(setup)
        assert np.isfinite(good).all()


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize(
    "order",
    [
        {"a": 0.5, "b": 1.0, "at": 1.2},
        {"a": 1.3, "b": 0.6, "at": 0.7},
        {"a": 1.0, "b": 1.01, "at": 0.3},
    ],
    ids=["a-b-time", "b-time-a", "time-a-b"],
)
def test_time_and_state_events_in_every_order(
    opened: Opened, order: dict[str, float], tolerance: float
) -> None:
    values = {"rate": 1.25, **order}
    times = instants(1.9)
    setup = SimulationSetup(
        times, output_names=("x", "y"), tolerance=tolerance, sensitivities=tuple(values)
    )
    with opened(RACE).simulator() as simulator:
        outputs, found = split(simulator.simulate(setup, values), 2, len(values))
    exact = derivatives(closed_forms.race, times, tuple(values.values()))
    assert np.abs(outputs - exact[:, 0]).max() <= WORST * tolerance
    assert errors(found, exact[:, 1:]).max() <= WORST * tolerance


@pytest.mark.parametrize(
    ("values", "known", "said"),
    [
        ({"a": 1.0, "b": 1.0}, ("a",), "become zero together"),
        ({"a": 1.0, "b": 1.0 + 1e-12}, ("a", "b"), "order"),
        ({"rate": 1.0, "a": 1.2, "b": 0.5}, ("a",), r"at t = 1\.2 s"),
        ({"rate": 1.0, "a": 1.2, "b": 0.5}, ("at",), r"at t = 1\.2 s"),
        ({"limit": 1.2}, ("limit",), "time event at .* does not happen with 'limit'"),
    ],
    ids=["two state events", "nearly", "state and time", "time and state", "no time event"],
)
def test_events_whose_order_or_existence_hangs_on_parameters_are_refused(
    opened: Opened, values: dict[str, float], known: tuple[str, ...], said: str
) -> None:
    setup = SimulationSetup(instants(1.9), output_names=("y",), tolerance=1e-6, sensitivities=known)
    with opened(RACE).simulator() as simulator:
        with pytest.raises(SimulationError, match=said) as caught:
            simulator.simulate(setup, values)
        assert caught.value.code == Code.NOT_DIFFERENTIABLE
        plain = simulator.simulate(replace(setup, sensitivities=()), values)
        assert np.isfinite(plain).all()
        assert np.isfinite(simulator.simulate(setup)).all()


def test_a_kink_in_a_parameter_is_refused(opened: Opened) -> None:
    setup = swing(known=("kink",))
    with opened(PENDULUM).simulator() as simulator:
        with pytest.raises(SimulationError, match="'kink' to the left and to the right") as caught:
            simulator.simulate(setup)
        assert caught.value.code == Code.NOT_DIFFERENTIABLE
        assert np.isfinite(simulator.simulate(setup, {"kink": 0.1})).all()


def test_what_can_be_differentiated_is_known_from_the_archive(
    fmu_folder: Path, version: int
) -> None:
    path = build_exchange(PENDULUM, version, fmu_folder)
    assert differentiable(path) == {"angle", "g", "l", "d", "c", "kink"}
    once = replace(PENDULUM, flags={"canBeInstantiatedOnlyOncePerProcess": "true"})
    path = build_exchange(once, version, fmu_folder)
    assert differentiable(path) == frozenset()
    with (
        open_fmu(path) as fmu,
        fmu.simulator() as simulator,
        pytest.raises(FmuError, match="one instance per process"),
    ):
        simulator.simulate(swing())


def test_inputs_and_outputs_have_no_derivatives_with_respect_to_them(opened: Opened) -> None:
    with opened(PENDULUM).simulator() as simulator:
        for name in ("u", "tip"):
            with refused(Code.NOT_SUPPORTED, FmuError, match=f"with respect to '{name}'"):
                simulator.simulate(swing(known=(name,)))


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6])
def test_a_jump_without_an_event_is_refused(opened: Opened, tolerance: float) -> None:
    setup = SimulationSetup(
        np.linspace(0.0, 1.0, 8),
        output_names=("x",),
        sensitivities=("level",),
        tolerance=tolerance,
    )
    with opened(RELAY).simulator() as simulator:
        with pytest.raises(SimulationError) as caught:
            simulator.simulate(setup)
        assert caught.value.code == Code.NOT_DIFFERENTIABLE
        assert caught.value.time == pytest.approx(0.5, abs=1e-3)
        assert np.isfinite(simulator.simulate(replace(setup, sensitivities=()))).all()


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("width", [1e-1, 1e-3])
def test_a_steep_change_is_followed(opened: Opened, width: float, tolerance: float) -> None:
    """Differences are taken over distances that suit the model, not the size of its values."""
    times = np.linspace(0.0, 1.0, 8)
    setup = SimulationSetup(
        times, output_names=("x",), sensitivities=("level", "x"), tolerance=tolerance
    )
    with opened(replace(RELAY, defines=(f"WIDTH={width}",))).simulator() as simulator:
        _, by_level, by_start = simulator.simulate(setup).T

    def slope(_: float, above: F64) -> F64:
        return np.asarray(0.65 - 0.35 * np.tanh(above / width))

    above = scipy.integrate.solve_ivp(
        slope, (0.0, 1.0), [-0.5], "DOP853", times, rtol=1e-13, atol=1e-16
    ).y[0]
    rate = slope(0.0, above)
    exact = rate / rate[0]
    assert errors(by_start, exact).max() < WORST * tolerance
    assert errors(by_level, 1.0 - exact).max() < WORST * tolerance


@pytest.mark.parametrize("lie", [False, True])
def test_dependencies_save_evaluations_and_are_checked(
    fmu_folder: Path, swinging: F64, lie: bool
) -> None:
    """The pendulum's angle depends on its speed alone; what is wrong is found out."""
    path = build_exchange(PENDULUM, 2, fmu_folder)
    other = fmu_folder / f"dependencies-{lie}.fmu"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name == "modelDescription.xml":
                for index, states in ((b"3", b"2"), (b"4", b"2" if lie else b"1 2")):
                    entry = b'<Unknown index="' + index + b'"'
                    data = data.replace(entry, entry + b' dependencies="' + states + b'"')
            target.writestr(name, data)
    with open_fmu(other) as fmu, fmu.simulator() as simulator:
        assert fmu.description.derivative_dependencies == ((1,), (1,) if lie else (0, 1))
        _, slopes = split(simulator.simulate(swing(1e-6), SWING), 3, len(SWING))
        assert ["dependencies" in str(r) for r in simulator.log] == [True] * lie
    assert errors(slopes, swinging[:, 1:]).max() < WORST * 1e-6


def test_states_depend_on_states_of_other_groups_only() -> None:
    colours, pattern = colours_of(((0, 1), (1, 2), (2, 3), (3,)), 4)
    assert colours.tolist() == [0, 1, 0, 1]
    assert pattern.sum() == 7
    assert colours_of((), 3)[0].tolist() == [0, 1, 2]


def test_a_time_limit_ends_a_run_with_sensitivities(opened: Opened) -> None:
    times = np.linspace(0.0, 500.0, 200_001)
    setup = replace(swing(), times=times, inputs=np.sin(times)[:, np.newaxis])
    with opened(PENDULUM).simulator() as simulator:
        with pytest.raises(SimulationError) as caught:
            simulator.simulate(setup, SWING, time_limit=0.05)
        assert caught.value.timed_out
        assert np.isfinite(simulator.simulate(swing(), SWING)).all()


def test_differences_are_one_sided_where_the_fmu_refuses_a_side(opened: Opened) -> None:
    free = SWING | {"d": 0.0}
    setup = swing(1e-6)
    assert setup.inputs is not None
    exact = pendulum(setup.times, setup.inputs[:, 0], free)
    with opened(PENDULUM).simulator() as simulator:
        _, slopes = split(simulator.simulate(setup, free), 3, len(SWING))
        again = simulator.simulate(setup, SWING)
    with opened(PENDULUM).simulator() as simulator:
        assert np.array_equal(again, simulator.simulate(setup, SWING))
    assert errors(slopes, exact[:, 1:]).max() < WORST * 1e-6


def test_a_start_value_and_its_alias_have_the_same_derivatives(opened: Opened) -> None:
    alias = replace(PENDULUM, signals=(*PENDULUM.signals, Signal("other", 0, "local", 0.5)))
    with opened(alias).simulator() as simulator:
        found = simulator.simulate(swing(known=("angle", "other")))
    _, slopes = split(found, 3, 2)
    assert np.array_equal(slopes[:, 0], slopes[:, 1])
    assert np.abs(slopes[:, 0]).max() > 0.5
