"""Models with events against solutions in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmpy import extract, instantiate_fmu, read_model_description
from fmpy.validation import validate_fmu
from scipy.linalg import expm

from fmident.arrays import F64
from fmident.compilers.base import BuildRequest, Compiler
from fmident.compilers.embedded.frontend import load_model
from fmident.errors import Code, CompilationError, SimulationError
from fmident.fmu import SimulationSetup, open_fmu
from fmident.fmu.model_description.description import InterfaceChoice

from ....refused import refused
from ..simulation import table_of
from .conftest import SOURCE, Compiled


def simulated(
    path: Path,
    times: F64,
    outputs: Sequence[str],
    values: Mapping[str, float] | None = None,
    *,
    inputs: Mapping[str, F64] | None = None,
    tolerance: float = 1e-8,
    interface: InterfaceChoice = "co-simulation",
) -> dict[str, F64]:
    table = table_of(
        path, times, outputs, values, inputs=inputs, tolerance=tolerance, interface=interface
    )
    return dict(zip(outputs, table.T, strict=True))


Run = Callable[..., dict[str, F64]]


@pytest.fixture(params=["co-simulation", "model-exchange"])
def run(request: pytest.FixtureRequest) -> Run:
    """Return :func:`simulated` by either interface.

    CVODE keeps the error of a step below the tolerance, the FMU itself that of the whole run.
    """
    if request.param == "co-simulation":
        return simulated
    return partial(simulated, interface=request.param, tolerance=1e-11)


def started(path: Path, **values: float) -> tuple[Any, dict[str, int]]:
    """Return an instance behind initialization mode, and its value references by name."""
    description = read_model_description(path)
    reference = {v.name: v.valueReference for v in description.modelVariables}
    slave = instantiate_fmu(extract(path), description, "CoSimulation")
    slave.setupExperiment(startTime=0.0, tolerance=1e-8)
    slave.enterInitializationMode()
    slave.setReal([reference[n] for n in values], list(values.values()))
    slave.exitInitializationMode()
    return slave, reference


def ball(times: F64, e: float, g: float = 9.81) -> tuple[F64, F64]:
    """Return height and number of impacts of a ball dropped from 1 m."""
    height, impacts = np.empty_like(times), np.zeros_like(times)
    for k, t in enumerate(times):
        start, flight, count = -math.sqrt(2 / g), 2 * math.sqrt(2 / g), 0
        while t >= start + flight:
            start, flight, count = start + flight, flight * e, count + 1
        s = t - start
        height[k] = 0.5 * g * s * (flight - s)
        impacts[k] = count
    return height, impacts


@pytest.mark.parametrize("e", [0.7, 0.85])
def test_impacts(compiled: Compiled, run: Run, e: float) -> None:
    times = np.linspace(0.0, 1.5, 151)
    found = run(compiled("Ball"), times, ["h", "impacts", "low"], {"e": e})
    height, impacts = ball(times, e)
    np.testing.assert_allclose(found["h"], height, atol=1e-9)
    np.testing.assert_array_equal(found["impacts"], impacts)
    assert not found["low"].any()


def test_what_happens_does_not_depend_on_communication_points(compiled: Compiled, run: Run) -> None:
    for count in (2, 7, 1000):
        times = np.linspace(0.0, 1.5, count)
        found = run(compiled("Ball"), times, ["h", "impacts"])
        height, impacts = ball(times[-1:], 0.7)
        assert found["h"][-1] == pytest.approx(height[0], abs=1e-9)
        assert found["impacts"][-1] == impacts[0]


def test_hysteresis(compiled: Compiled, run: Run) -> None:
    times = np.linspace(0.0, 8.0, 161)
    low, high = 21.5, 24.0
    found = run(compiled("Thermostat"), times, ["T", "on", "switches"], {"high": high, "low": low})
    expected = np.empty_like(times)
    switches, start, value, on = 0, 0.0, 20.0, True
    for k, t in enumerate(times):
        while True:
            end = 30.0 if on else 10.0
            limit = high if on else low
            lasts = 2 * math.log((value - end) / (limit - end))
            if start + lasts > t:
                break
            start, value, on, switches = start + lasts, limit, not on, switches + 1
        expected[k] = end + (value - end) * math.exp(-0.5 * (t - start))
    np.testing.assert_allclose(found["T"], expected, rtol=1e-8)
    assert found["switches"][-1] == switches
    assert found["on"][-1] == on


def test_sampled_controller(compiled: Compiled, run: Run) -> None:
    """Between two samples the plant is linear: its steps are those of the exponential."""
    period, gain, reset = 0.04, 2.5, 0.8
    times = np.arange(101) * 0.02
    found = run(
        compiled("Controller"),
        times,
        ["x", "u"],
        {"Ts": period, "k": gain, "Ti": reset},
        inputs={"w": np.ones_like(times)},
    )
    a = np.array([[0.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, 0.0]])
    step = expm(a * 0.02)
    z, integral = np.zeros(3), 0.0
    for k in range(times.size):
        if k % 2 == 0:
            integral += period / reset * (1.0 - z[0])
            z[2] = gain * (1.0 - z[0] + integral)
        assert found["x"][k] == pytest.approx(z[0], abs=1e-8)
        assert found["u"][k] == pytest.approx(z[2], abs=1e-7)
        z = step @ z


def test_without_states(compiled: Compiled, run: Run) -> None:
    times = np.linspace(0.0, 5.0, 21)
    names = ["late", "y", "n", "saw", "remainder", "whole", "up", "s", "edges"]
    u = times + 0.1
    found = run(compiled("Times"), times, names, {"T": 0.4}, inputs={"u": u})
    np.testing.assert_array_equal(found["late"], times > 0.4)
    np.testing.assert_array_equal(found["y"], np.where(times > 0.4, 2.0, 1.0))
    np.testing.assert_array_equal(found["n"], np.floor(u))
    np.testing.assert_allclose(found["saw"], np.mod(u, 2.0), atol=1e-12)
    np.testing.assert_allclose(found["remainder"], np.fmod(-u, 2.0), atol=1e-12)
    np.testing.assert_array_equal(found["whole"], np.trunc(-u / 2.0))
    np.testing.assert_array_equal(found["up"], np.ceil(u))
    np.testing.assert_array_equal(found["s"], np.sign(u - 3.0))
    np.testing.assert_array_equal(found["edges"], (times > 0.4).astype(int) + (u >= 3.0))


def test_time_events_are_at_their_instant(compiled: Compiled, run: Run) -> None:
    times = np.linspace(0.0, 1.0, 6)
    a, b = 0.3, 0.7123
    found = run(compiled("Switched"), times, ["x"], tolerance=1e-4)
    expected = np.minimum(times, a) - 2 * np.clip(times - a, 0.0, b - a) + 5 * np.fmax(times - b, 0)
    np.testing.assert_allclose(found["x"], expected, atol=1e-13)


def test_an_event_from_which_nothing_follows_at_once(compiled: Compiled, run: Run) -> None:
    times = np.linspace(0.0, 1.0, 8)
    found = run(compiled("Bend"), times, ["y"])
    expected = 0.5 * np.maximum(times - 0.51, 0.0) ** 2
    np.testing.assert_allclose(found["y"], expected, rtol=0, atol=1e-8)


def test_stick(compiled: Compiled, run: Run) -> None:
    times = np.linspace(0.0, 6.0, 61)
    found = run(compiled("Stick"), times, ["x", "v", "sticks"])
    moves = times < math.pi
    x = np.where(moves, 0.45 + 0.55 * np.cos(times), -0.1)
    np.testing.assert_allclose(found["x"], x, atol=1e-8)
    np.testing.assert_array_equal(found["v"][~moves], 0.0)
    np.testing.assert_array_equal(found["sticks"], ~moves)
    # With less friction it moves to and fro, each time less far by 2*Fc/k.
    found = run(compiled("Stick"), np.linspace(0.0, 12.0, 61), ["x", "sticks"], {"Fc": 0.19})
    assert found["x"][-1] == pytest.approx(-(1.0 - 6 * 0.19), abs=1e-8)
    assert found["sticks"][-1] == 1.0


def test_start_and_end(compiled: Compiled, run: Run) -> None:
    names = ["a", "b", "c", "first", "x", "ends"]
    found = run(compiled("Start"), np.array([0.0, 0.3, 0.6]), names)
    assert found["a"].tolist() == [13.0, 13.0, 23.0]  # initial(), and time > 0.5
    assert found["b"].tolist() == [5.0, 5.0, 5.0]  # time >= 0 holds from the start
    assert found["c"].tolist() == [7.0, 8.0, 10.0]  # at 0.2, 0.4 and 0.6
    assert found["x"].tolist() == [7.5, 7.5, 7.5]
    assert not found["first"].any()
    with open_fmu(compiled("Start")) as fmu, fmu.simulator() as simulator:
        simulator.simulate(SimulationSetup(np.array([0.0, 0.1]), output_names=("ends",)))


def test_initial_algorithm_and_parameters_that_are_free(compiled: Compiled, run: Run) -> None:
    times = 1.21 + np.arange(60) * 0.0237  # from 1.21 s on: the third pulse
    found = run(compiled("InitialAlgorithm"), times, ["y", "x", "count", "offset"], {"T": 1.0})
    np.testing.assert_allclose(found["x"], 3.0 * np.exp(-(times - 1.21)), rtol=1e-7)
    np.testing.assert_array_equal(found["count"], np.floor(times / 0.5))
    np.testing.assert_array_equal(found["offset"], 7.0)
    np.testing.assert_allclose(found["y"], 8.21 + (np.mod(times, 0.5) < 0.2), rtol=1e-12)


def test_named_arguments_of_operators(compiled: Compiled, run: Run) -> None:
    times = np.linspace(0.0, 2.0, 21)
    found = run(compiled("Operators"), times, ["y", "z", "n"])
    x = 1.0 - times
    np.testing.assert_allclose(found["y"], np.where(x >= 0, 2 * x, 3 * x), atol=1e-12)
    np.testing.assert_allclose(found["z"], 2 * x, atol=1e-12)
    np.testing.assert_array_equal(found["n"], np.floor((times + 0.25) / 0.5))


def test_ideal_diode(compiled: Compiled, run: Run) -> None:
    """The charge grows only while the source is above it: to the largest value it can reach."""
    times = np.linspace(0.0, 3.0, 301)
    found = run(compiled("Rectifier"), times, ["q", "i", "u", "off"])
    source = np.sin(10 * times)
    on = found["off"] == 0
    np.testing.assert_allclose(found["i"][on], 0.5 * (source - found["q"])[on], atol=1e-7)
    np.testing.assert_array_equal(found["i"][~on], 0.0)
    np.testing.assert_allclose(found["u"][~on], (source - found["q"])[~on], atol=1e-7)
    assert (source - found["q"])[on].min() > -1e-7
    assert (source - found["q"])[~on].max() < 1e-7
    # While it conducts, q' = (sin(10 t) - q)/2 from q = 0.
    first = times < 0.3
    a, w = 0.5, 10.0
    scale = a / (a * a + w * w)
    exact = scale * (a * np.sin(w * times) - w * np.cos(w * times) + w * np.exp(-a * times))
    np.testing.assert_allclose(found["q"][first], exact[first], atol=1e-8)


def test_one_event_causes_another_at_the_same_instant(compiled: Compiled, run: Run) -> None:
    found = run(compiled("Cascade"), np.array([0.0, 0.2, 0.6]), ["x", "a", "b", "y"])
    np.testing.assert_allclose(found["x"], [0.0, 0.2, 2.1], atol=1e-9)
    assert found["a"].tolist() == [0.0, 0.0, 1.0]
    assert found["b"].tolist() == [0.0, 10.0, 12.0]
    assert found["y"].tolist() == [0.0, -1.0, 1.0]


def test_stiff_between_events(compiled: Compiled, run: Run) -> None:
    times = np.linspace(0.0, 2.0, 201)
    found = run(compiled("Stiff"), times, ["x", "up"])
    expected = np.empty_like(times)
    start, value, up = 0.0, 1.0, False
    for k, t in enumerate(times):
        while True:
            lasts = 0.8 - value if up else math.log(value / 0.5)
            if start + lasts > t:
                break
            start, value, up = start + lasts, 0.8 if up else 0.5, not up
        s = t - start
        expected[k] = value + s if up else value * math.exp(-s)
    # z follows x within some 1e-6.
    np.testing.assert_allclose(found["x"], expected, atol=2e-5)


@pytest.mark.parametrize(
    ("name", "words"),
    [("Chatter", ("'x > 0'", "without getting on", "hysteresis")), ("Endless", ("does not end",))],
)
def test_events_without_end_are_refused(
    compiled: Compiled, name: str, words: tuple[str, ...]
) -> None:
    with pytest.raises(SimulationError) as caught:
        simulated(compiled(name), np.linspace(0.0, 2.0, 21), ["x"])
    for word in words:
        assert word in str(caught.value)


def test_restored_state_goes_on_with_the_same_bits(compiled: Compiled) -> None:
    slave, reference = started(compiled("Controller"), w=1.0)

    def steps(first: int) -> list[float]:
        rows = []
        for k in range(first, first + 20):
            slave.doStep(k * 0.03, 0.03)
            rows += slave.getReal([reference["x"], reference["u"]])
        return rows

    steps(0)
    state = slave.getFMUstate()
    expected = steps(20)
    slave.setFMUstate(slave.deSerializeFMUstate(slave.serializeFMUstate(state)))
    assert steps(20) == expected
    slave.terminate()
    slave.freeInstance()


def test_a_moment_after_long_steps_is_seen(compiled: Compiled) -> None:
    """It goes up for 1 ms after a fall in steps of seconds, and does not fall on."""
    fall, flight = math.sqrt(2000 / 9.81), 0.02 / 9.81
    found = simulated(compiled("Flat"), np.array([0.0, fall + 3.5 * flight]), ["h", "impacts"])
    assert found["impacts"][-1] == 4
    assert found["h"][-1] == pytest.approx(0.005**2 * 2 / 9.81, rel=1e-3)


def test_what_is_read_belongs_to_what_was_set(compiled: Compiled) -> None:
    """Events of what the host sets are seen at once, and happen when it steps."""
    slave, reference = started(compiled("Reading"))
    names = ("above", "rises", "level")

    def put(name: str, value: float) -> None:
        slave.setReal([reference[name]], [value])

    def read() -> tuple[float, ...]:
        reals = slave.getReal([reference["y"], reference["x"]])
        above = slave.getBoolean([reference["above"]])
        return (*reals, *above, *slave.getInteger([reference[n] for n in names[1:]]))

    before, after = (0.0, 0.0, False, 0, 1), (2.0, 10.0, True, 1, 2)
    slave.doStep(0.0, 0.05)
    assert read() == before
    for _ in range(3):
        put("u", 1.0)
        assert read() == after
        put("u", 0.0)
        assert read() == before
    put("u", 1.0)
    state = slave.getFMUstate()
    assert read() == after
    put("limit", 2.0)
    assert read() == (1.0, 0.0, False, 0, 1)
    slave.setFMUstate(state)
    assert read() == after
    slave.doStep(0.05, 0.05)
    assert read() == (2.0, pytest.approx(10.05), True, 1, 2)
    slave.terminate()
    slave.freeInstance()


def test_samples_after_a_new_interval_are_multiples_of_it(compiled: Compiled) -> None:
    slave, reference = started(compiled("Reading"))
    found = []
    for step, interval in ((1.0, 0.1), (1.0, 0.5), (0.05, 0.1), (0.1, 0.1)):
        slave.setReal([reference["T"]], [interval])
        slave.doStep(sum(s for s, _ in found), step)
        found.append((step, slave.getInteger([reference["ticks"]])[0]))
    assert [n for _, n in found] == [11, 13, 13, 14]
    slave.terminate()
    slave.freeInstance()


def test_description(compiled: Compiled) -> None:
    for name in ("Ball", "Times"):
        assert validate_fmu(str(compiled(name))) == []
    variables = {v.name: v for v in read_model_description(compiled("Ball")).modelVariables}
    assert variables["impacts"].type == "Integer"
    assert variables["low"].type == "Boolean"
    assert variables["low"].causality == "output"
    assert {variables[n].variability for n in ("impacts", "low")} == {"discrete"}


def test_continuous_equations_take_values_before_the_event(compiled: Compiled, run: Run) -> None:
    times = np.array([0.0, 1.0, 1.9, 2.1, 3.0])
    found = run(compiled("Stops"), times, ["v", "way"])
    assert found["v"] == pytest.approx([1.0, 0.5, 0.05, 0.0, 0.0], abs=1e-9)
    assert found["way"] == pytest.approx([1, 1, 1, 0, 0])
    faster = run(compiled("Stops"), times, ["v"], {"R": 1.5})
    assert faster["v"] == pytest.approx(np.maximum(1.0 - times, 0.0), abs=1e-9)


def test_relations_that_switch_each_other_have_values_that_agree(
    compiled: Compiled, run: Run
) -> None:
    times = np.array([0.0, 0.5, 1.5, 2.0])
    found = run(compiled("Sticks"), times, ["s", "x"])
    assert found["s"] == pytest.approx([5.0, 5.0, 0.5, 0.5])
    assert found["x"] == pytest.approx([0.0, 2.5, 5.25, 5.5], abs=1e-9)


def test_algorithm_sections(compiled: Compiled, run: Run) -> None:
    times = np.array([0.0, 0.25, 0.75, 1.125, 1.5])
    parts = [f"part[{i}]" for i in (1, 2, 3)]
    names = [*parts, "side", "n", "low", "last", "whole", "rest"]
    found = run(compiled("Algorithms"), times, names)
    for i, name in enumerate(parts, start=1):
        assert found[name] == pytest.approx(i * (1.0 - times), abs=1e-9)
    assert found["whole"] == pytest.approx([0.0, 0.0, 1.0, 1.0, 1.0], abs=1e-9)
    assert found["rest"] == pytest.approx([0.0, 0.0, -0.5, -0.5, -0.5], abs=1e-9)
    assert found["side"] == pytest.approx([1, 1, 2, 3, 3])
    assert found["n"] == pytest.approx([0, 0, 1, 2, 12])
    assert found["low"] == pytest.approx([0, 0, 1, 1, 0])
    assert found["last"] == pytest.approx([0.0, 0.0, 0.5, 0.0, 0.0], abs=1e-9)


def test_an_assert_at_the_start(compiled: Compiled, run: Run) -> None:
    times = np.array([0.0, 1.0, 2.0])
    assert run(compiled("Checked"), times, ["x"])["x"] == pytest.approx([1.0, 0.0, -1.0])
    with pytest.raises(SimulationError, match="x is too small at the start"):
        run(compiled("Checked"), times, ["x"], {"x0": 0.4})


def test_a_new_start_is_like_the_first(compiled: Compiled) -> None:
    times = np.linspace(0.0, 1.5, 16)
    setup = SimulationSetup(times, output_names=("h", "impacts"))
    with open_fmu(compiled("Ball")) as fmu, fmu.simulator() as simulator:
        first = simulator.simulate(setup, {"e": 0.6})
        simulator.simulate(setup, {"e": 0.9})
        np.testing.assert_array_equal(simulator.simulate(setup, {"e": 0.6}), first)


def test_cvode_is_refused(embedded_compiler: Compiler, tmp_path: Path) -> None:
    request = BuildRequest(
        "Events.Ball", (SOURCE,), tmp_path / "ball.fmu", options={"integrator": "cvode"}
    )
    with refused(Code.COMPILATION_FAILED, CompilationError, match="has events"):
        embedded_compiler.build(request)


def test_units_in_when_equations(tmp_path: Path) -> None:
    source = (
        'model M\n  Real x(unit="m", start=1, fixed=true);\n  Real v(unit="m/s");\nequation\n'
        "  der(x) = v;\n  v = -1;\n  when x < 0.5 then\n    reinit(x, v);\n  end when;\nend M;\n"
    )
    file = tmp_path / "M.mo"
    file.write_text(source)
    with pytest.raises(CompilationError) as caught:
        load_model("M", [file])
    (found,) = caught.value.diagnostics
    assert found.rule == "unit-mismatch"
    assert "reinit(x, v)" in found.message
    assert found.location is not None
    assert found.location.line == 8


def test_what_is_barely_true_at_the_instant_happens_a_moment_later(compiled: Compiled) -> None:
    """Behind u = 1 the relation reads 1 + (u - 1)/m > 1, which rounding makes false at first."""
    times = np.linspace(0.0, 3.0, 31)
    for m in (3.0, 1000.0, 1e6):
        found = simulated(compiled("BreakAway"), times, ["distance", "sliding"], {"m": m})
        after = np.maximum(times - 1.0, 0.0)
        assert found["distance"] == pytest.approx(after**3 / (6 * m), rel=1e-6, abs=1e-9 / m)
        assert np.array_equal(found["sliding"] > 0, times > 1.0 + 1e-9)


def test_events_without_effect_do_not_end_a_run(compiled: Compiled, run: Run) -> None:
    """The sign of rounding changes with every instant; it would matter behind 2 only."""
    times = np.linspace(0.0, 1.9, 20)
    assert not run(compiled("Noise"), times, ["both"])["both"].any()
