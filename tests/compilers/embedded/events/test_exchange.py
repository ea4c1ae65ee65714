"""Model Exchange beside Co-Simulation: what may be called when, and what events say to the host."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import c_double
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from fmpy import extract, read_model_description, simulate_fmu
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import (
    FMU2Model,
    fmi2CallbackAllocateMemoryTYPE,
    fmi2CallbackFreeMemoryTYPE,
    fmi2CallbackFunctions,
    fmi2CallbackLoggerTYPE,
)
from fmpy.validation import validate_fmu

from fmident.compilers.embedded.backend.compiling import find_compiler, find_fmi_headers
from fmident.fmu import read_description
from fmident.fmu.sensitivities import differentiable

from ..simulation import table_of
from .conftest import Compiled
from .test_events import ball, started

DISCARD = 2


@dataclass
class Model:
    """An instance for Model Exchange, with what it logged."""

    fmu: FMU2Model
    references: dict[str, int]
    state_count: int
    indicator_count: int
    messages: list[tuple[int, str]]

    def initialize(self, start: float = 0.0, **values: float) -> tuple[Any, ...]:
        """Go to continuous-time mode; return what the events of the start said."""
        self.fmu.setupExperiment(startTime=start)
        self.set(**values)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()
        said = self.fmu.newDiscreteStates()
        self.fmu.enterContinuousTimeMode()
        return tuple(said)

    def event(self, **values: float) -> tuple[Any, ...]:
        self.fmu.enterEventMode()
        self.set(**values)
        said = self.fmu.newDiscreteStates()
        self.fmu.enterContinuousTimeMode()
        return tuple(said)

    def set(self, **values: float) -> None:
        self.fmu.setReal([self.references[n] for n in values], list(values.values()))

    def get(self, *names: str) -> list[float]:
        return list(self.fmu.getReal([self.references[n] for n in names]))

    def place(self, time: float, *states: float) -> None:
        self.fmu.setTime(time)
        self.fmu.setContinuousStates((c_double * len(states))(*states), len(states))

    def vector(self, function: Callable[..., object], count: int) -> list[float]:
        found = (c_double * count)()
        function(found, count)
        return list(found)

    @property
    def states(self) -> list[float]:
        return self.vector(self.fmu.getContinuousStates, self.state_count)

    @property
    def derivatives(self) -> list[float]:
        return self.vector(self.fmu.getDerivatives, self.state_count)

    @property
    def indicators(self) -> list[float]:
        return self.vector(self.fmu.getEventIndicators, self.indicator_count)

    def refused(self, call: Callable[[], object]) -> str:
        """Make a call that must fail and return the message that it left."""
        count = len(self.messages)
        with pytest.raises(FMICallException):
            call()
        assert len(self.messages) > count, "refused without a message"
        return self.messages[-1][1]


@contextmanager
def opened(path: Path) -> Iterator[Model]:
    description = read_model_description(path)
    messages: list[tuple[int, str]] = []

    def log(env: Any, instance: bytes, status: int, category: bytes, text: bytes) -> None:
        messages.append((status, text.decode()))

    callbacks = fmi2CallbackFunctions()
    callbacks.logger = fmi2CallbackLoggerTYPE(log)
    callbacks.allocateMemory = fmi2CallbackAllocateMemoryTYPE()
    callbacks.freeMemory = fmi2CallbackFreeMemoryTYPE()
    fmu = FMU2Model(
        guid=description.guid,
        unzipDirectory=extract(path),
        modelIdentifier=description.modelExchange.modelIdentifier,
        instanceName="test",
    )
    fmu.instantiate(callbacks=callbacks)
    references = {v.name: v.valueReference for v in description.modelVariables}
    states, count = description.numberOfContinuousStates, description.numberOfEventIndicators
    try:
        yield Model(fmu, references, states, count, messages)
    finally:
        fmu.freeInstance()


def test_calls_in_the_wrong_mode(compiled: Compiled) -> None:
    with opened(compiled("Reading")) as model:
        fmu, refused = model.fmu, model.refused

        def place() -> None:
            model.place(0.5, 0.0)

        steps = (fmu.enterEventMode, fmu.newDiscreteStates, fmu.enterContinuousTimeMode)
        for call in (*steps, fmu.completedIntegratorStep, place, lambda: model.derivatives):
            assert "while the FMU is instantiated" in refused(call)
        fmu.setupExperiment()
        fmu.enterInitializationMode()
        assert "while the FMU is in initialization mode" in refused(fmu.newDiscreteStates)
        assert model.states == [0.0]
        assert model.derivatives == [0.0]
        fmu.exitInitializationMode()
        assert "while the FMU is in event mode" in refused(fmu.completedIntegratorStep)
        assert "while the FMU is in event mode" in refused(lambda: model.place(0.5, 0.0))
        fmu.newDiscreteStates()
        fmu.enterContinuousTimeMode()
        for call in (
            fmu.newDiscreteStates,
            fmu.enterContinuousTimeMode,
            fmu.exitInitializationMode,
        ):
            assert "while the FMU is in continuous-time mode" in refused(call)
        assert "in event mode only" in refused(lambda: model.set(limit=1.0))
        assert "a state can be set before" in refused(lambda: model.set(x=1.0))
        place()
        model.set(u=0.25)
        assert model.get("y") == [0.25]
        fmu.enterEventMode()
        assert "call fmi2NewDiscreteStates first" in refused(fmu.enterContinuousTimeMode)
        model.set(limit=1.0)
        fmu.newDiscreteStates()
        fmu.enterContinuousTimeMode()
        fmu.terminate()
        assert model.get("y") == [0.25]
        for call in (fmu.enterEventMode, fmu.completedIntegratorStep, place):
            assert "while the FMU is terminated" in refused(call)
        fmu.reset()
        assert model.initialize(u=1.0)[4:] == (True, pytest.approx(0.1))


def test_wrong_counts_and_values(compiled: Compiled) -> None:
    with opened(compiled("Ball")) as model:
        model.initialize()
        counts = ((model.fmu.getDerivatives, 3), (model.fmu.getEventIndicators, 2))
        for function, count in counts:
            message = model.refused(lambda f=function, n=count: model.vector(f, n))
            assert f"{count} " in message
            assert "the FMU has" in message
        assert "'v' is not a finite" in model.refused(lambda: model.place(0.1, 1.0, math.nan))
        assert model.messages[-1][0] == DISCARD
        assert "the time is not" in model.refused(lambda: model.fmu.setTime(math.inf))
        assert model.states == [1.0, 0.0]


def test_each_interface_refuses_the_functions_of_the_other(compiled: Compiled) -> None:
    slave, _ = started(compiled("Ball"))
    with opened(compiled("Ball")) as model:
        model.initialize()
        own = model.fmu.component
        with pytest.raises(FMICallException):
            model.fmu.fmi2SetTime(slave.component, 0.5)
        slave.doStep(0.0, 0.1)
        message = model.refused(lambda: model.fmu.setFMUstate(slave.getFMUstate()))
        assert "of an instance for the other interface" in message
        message = model.refused(lambda: slave.fmi2DoStep(own, 0.0, 0.1, 1))
        assert message == "fmi2DoStep cannot be called: the FMU was instantiated for Model Exchange"
    slave.freeInstance()


def test_indicators_switch_where_relations_do(compiled: Compiled) -> None:
    """A relation is held until the event; the sign is the same before and after it."""
    with opened(compiled("Ball")) as model:
        model.initialize()
        for height in (1.0, 1e-3, 1e-200, 5e-324):
            model.place(0.1, height, -1.0)
            (above,) = model.indicators
            assert above == pytest.approx(height, abs=1e-11)
            assert above > 0.0
        for height in (0.0, -5e-324, -1e-3):
            model.place(0.1, height, -1.0)
            assert model.indicators[0] < 0.0
            assert model.get("h") == [height]
            assert model.fmu.getBoolean([model.references["low"]]) == [False]
        model.place(0.2, 0.0, -2.0)
        (before,) = model.indicators
        said = model.event()
        assert said == (False, False, False, True, False, 0.0)
        assert model.states == pytest.approx([0.0, 1.4])
        assert model.indicators == [before]
        assert model.fmu.getBoolean([model.references["low"]]) == [True]
        assert model.fmu.getInteger([model.references["impacts"]]) == [1]
        assert model.event()[3] is False  # nothing happens twice
        assert model.fmu.getInteger([model.references["impacts"]]) == [1]


def test_whole_numbers_change_the_sign_at_each_jump(compiled: Compiled) -> None:
    with opened(compiled("Times")) as model:
        model.initialize(u=0.5)
        for k in range(1, 6):
            model.set(u=k - 0.5)
            before = np.sign(model.indicators)
            model.set(u=k - 1e-9)
            assert (np.sign(model.indicators) == before).all()
            model.set(u=k + 1e-9)
            crossed = np.sign(model.indicators)
            assert (crossed != before).sum() >= 2  # n and up, saw and remainder every second time
            model.event()
            if k != 3:  # where sign(u - 3) goes from -1 to 1
                assert (np.sign(model.indicators) == crossed).all()
            assert model.fmu.getInteger([model.references["n"]]) == [k]


def test_time_events(compiled: Compiled) -> None:
    with opened(compiled("Reading")) as model:
        assert model.initialize() == (False, False, False, False, True, pytest.approx(0.1))

        def ticks() -> int:
            return int(model.fmu.getInteger([model.references["ticks"]])[0])

        assert ticks() == 1
        model.place(0.05, 0.0)
        assert model.event()[4:] == (True, pytest.approx(0.1))
        assert ticks() == 1
        model.place(0.1, 0.0)
        assert model.event()[4:] == (True, pytest.approx(0.2))
        assert ticks() == 2
        # Of a new interval the multiples count, besides the sample that is due now.
        model.place(0.2, 0.0)
        assert model.event(T=0.15)[4:] == (True, pytest.approx(0.3))
        assert ticks() == 3
        model.place(0.3, 0.0)
        assert model.event(T=0.3)[4:] == (True, pytest.approx(0.6))
        assert ticks() == 4


def test_events_of_inputs(compiled: Compiled) -> None:
    with opened(compiled("Reading")) as model:
        model.initialize()
        model.place(0.05, 0.0)
        said = model.event(u=1.0)
        assert said[3] is True
        assert model.states == [10.0]
        assert model.derivatives == [1.0]
        assert model.get("y") == [2.0]
        assert model.fmu.getInteger([model.references["rises"]]) == [1]


def test_states_of_the_fmu_are_kept_and_restored(compiled: Compiled) -> None:
    with opened(compiled("Reading")) as model:
        fmu = model.fmu

        def rest() -> list[Any]:
            said = fmu.newDiscreteStates()
            fmu.enterContinuousTimeMode()
            rows: list[Any] = [said]
            for k in range(1, 5):
                model.place(0.1 * k, 10.0 + k)
                rows += [model.event(u=float(k % 2)), model.states, model.derivatives]
                rows += [model.get("y"), fmu.getInteger([model.references["ticks"]])]
            return rows

        model.initialize()
        model.place(0.1, 0.0)
        fmu.enterEventMode()
        model.set(u=1.0, T=0.25)  # what follows is still to come
        state = fmu.getFMUstate()
        expected = rest()
        fmu.setFMUstate(fmu.deSerializeFMUstate(fmu.serializeFMUstate(state)))
        assert rest() == expected


def test_directional_derivatives_of_states_and_outputs(compiled: Compiled) -> None:
    with opened(compiled("Rectifier")) as model:
        model.initialize()
        model.place(0.3, 0.1, 0.3)
        names = ("der(q)", "der(q1)", "q")
        unknown = [model.references[n] for n in names]
        seed = [0.7, -0.4]
        states = [model.references[n] for n in ("q", "q1")]
        found = model.fmu.getDirectionalDerivative(unknown, states, seed)
        base = np.array([0.1, 0.3])
        rows = []
        for sign in (1.0, -1.0):
            model.place(0.3, *(base + sign * 1e-6 * np.array(seed)))
            rows.append(model.get(*names))
        expected = (np.array(rows[0]) - rows[1]) / 2e-6
        assert np.array(found) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("name", ["Ball", "Stick", "Controller", "Times", "Start", "Thermostat"])
def test_fmpy_agrees(compiled: Compiled, name: str) -> None:
    """FMPy integrates, too: with the same CVODE, but a loop of its own."""
    path = compiled(name)
    assert validate_fmu(str(path)) == []
    description = read_description(path)
    names = [v.name for v in description.outputs]
    times = np.arange(121) * 0.0125 + 0.0
    given = {v.name: 1.0 + times for v in description.inputs}
    columns = [("time", float), *((n, float) for n in given)]
    table = np.zeros(times.size, dtype=columns)
    for column, values in {"time": times, **given}.items():
        table[column] = values
    expected = table_of(path, times, names, inputs=given, interface="co-simulation")
    found = simulate_fmu(
        str(path),
        fmi_type="ModelExchange",
        stop_time=1.5,
        output_interval=0.0125,
        relative_tolerance=1e-10,
        input=table if given else None,
        output=names,
        record_events=False,
    )
    for k, column in enumerate(names):
        assert found[column].astype(float) == pytest.approx(expected[:, k], abs=1e-6), column


def test_the_instants_of_impacts(compiled: Compiled) -> None:
    """FMPy records each event: impacts of the ball are where the closed form has them."""
    found = simulate_fmu(
        str(compiled("Ball")),
        fmi_type="ModelExchange",
        stop_time=1.5,
        relative_tolerance=1e-11,
        output=["h", "impacts"],
    )
    instants = found["time"][1:][np.diff(found["impacts"]) > 0]
    first = math.sqrt(2 / 9.81)
    expected = [
        first + 2 * first * sum(0.7**i for i in range(1, k + 1)) for k in range(len(instants))
    ]
    assert len(instants) == ball(np.array([1.5]), 0.7)[1][0]
    assert instants == pytest.approx(expected, abs=1e-9)


def test_what_is_barely_true_at_the_instant_happens_a_moment_later(compiled: Compiled) -> None:
    """See the test of that name for Co-Simulation; the host stays where it is."""
    times = np.linspace(0.0, 3.0, 31)
    after = np.maximum(times - 1.0, 0.0)
    for m in (3.0, 100.0):
        found = table_of(
            compiled("BreakAway"),
            times,
            ["distance", "sliding"],
            {"m": m},
            tolerance=1e-12,
            interface="model-exchange",
        )
        assert found[:, 0] == pytest.approx(after**3 / (6 * m), rel=1e-6, abs=1e-11)
        assert np.array_equal(found[:, 1] > 0, times > 1.0 + 1e-9)


def test_the_host_goes_on_with_co_simulation(compiled: Compiled) -> None:
    path = compiled("Ball")
    description = read_description(path).with_interface("auto")
    assert description.capabilities.kind == "co-simulation"
    assert [i.kind for i in description.interfaces] == ["co-simulation", "model-exchange"]
    assert description.indicator_count == 1
    assert differentiable(path) == differentiable(path, "co-simulation") != frozenset()


def test_what_the_description_says(compiled: Compiled) -> None:
    description = read_model_description(compiled("Ball"))
    with zipfile.ZipFile(compiled("Ball")) as archive:
        elements = ElementTree.fromstring(archive.read("modelDescription.xml"))
    reinit = {
        v.get("name"): v[0].get("reinit")
        for v in elements.iterfind("ModelVariables/ScalarVariable")
    }
    assert {name for name, value in reinit.items() if value == "true"} == {"v"}
    exchange = description.modelExchange
    assert exchange.modelIdentifier == description.coSimulation.modelIdentifier
    assert exchange.providesDirectionalDerivative
    assert exchange.canGetAndSetFMUstate
    assert exchange.canSerializeFMUstate
    assert not exchange.needsCompletedIntegratorStep


@pytest.mark.parametrize(
    ("name", "known", "outputs"),
    [
        ("Ball", ("e", "g"), ("h",)),
        ("Stick", ("k", "Fc"), ("x", "v")),
        ("Controller", ("k", "Ti"), ("x", "u")),
    ],
)
def test_derivatives_of_both_interfaces(
    compiled: Compiled, name: str, known: tuple[str, ...], outputs: tuple[str, ...]
) -> None:
    """The FMU integrates its own sensitivities across events; of Model Exchange the host does."""
    times = np.linspace(0.0, 1.5, 31)
    given = {v.name: np.ones_like(times) for v in read_description(compiled(name)).inputs}
    own, exchanged = (
        table_of(
            compiled(name),
            times,
            outputs,
            known=known,
            inputs=given,
            tolerance=1e-10,
            interface=interface,
        )
        for interface in ("co-simulation", "model-exchange")
    )
    scale = np.max(np.abs(own), axis=0)
    assert (np.max(np.abs(exchanged - own), axis=0) <= 1e-5 * scale).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Ball", "Times", "Controller", "Stick", "Start"])
def test_valgrind_finds_no_error_and_no_leak(compiled: Compiled, name: str, tmp_path: Path) -> None:
    compiler, headers = find_compiler(), find_fmi_headers()
    if shutil.which("valgrind") is None or sys.platform != "linux":
        pytest.skip("valgrind is not installed")
    assert compiler is not None
    source, driver = Path(__file__).with_name("exchange_driver.c"), tmp_path / "driver"
    command = [*compiler, "-g", f"-I{headers}", str(source), "-o", str(driver), "-ldl"]
    subprocess.run(command, check=True)
    folder = Path(extract(compiled(name), unzipdir=str(tmp_path / "fmu")))
    about = read_model_description(folder)
    (library,) = (folder / "binaries").rglob("*.so")
    counts = (about.numberOfContinuousStates, about.numberOfEventIndicators)
    run = subprocess.run(
        [
            *("valgrind", "--leak-check=full", "--errors-for-leak-kinds=all", "--error-exitcode=9"),
            *("--show-leak-kinds=all", driver, library, about.guid, *map(str, counts)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
