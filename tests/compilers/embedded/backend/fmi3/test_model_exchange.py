"""Model Exchange of FMI 3.0: the numbers of that of FMI 2.0, and what is different."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_double
from pathlib import Path

import numpy as np
import pytest
from fmpy import extract, read_model_description, simulate_fmu
from fmpy.fmi1 import FMICallException
from fmpy.fmi3 import FMU3Model
from fmpy.validation import validate_fmu

from fmident.compilers.base import Compiler
from fmident.fmu import SimulationSetup, open_fmu, read_description
from fmident.fmu.model_description.description import InterfaceChoice

from .....kept import library_fmu
from .conftest import EVENTS, Builder3
from .test_simulate import driven, moving

CONSTRAINTS = Path(__file__).parents[2] / "loops" / "Constraints.mo"


def simulated(
    path: Path,
    interface: InterfaceChoice,
    outputs: tuple[str, ...] = (),
    known: tuple[str, ...] = (),
) -> tuple[tuple[str, ...], np.ndarray]:
    times = np.linspace(0.0, 2.0, 41)
    with open_fmu(path) as fmu, fmu.simulator(interface=interface) as simulator:
        names, inputs = driven(simulator.description, times)
        outputs = outputs or moving(simulator.description)
        setup = SimulationSetup(times, names, inputs, outputs, tolerance=1e-8, sensitivities=known)
        return outputs, simulator.simulate(setup, {})


@contextmanager
def opened(path: Path, messages: list[str]) -> Iterator[tuple[FMU3Model, dict[str, int]]]:
    description = read_model_description(str(path))
    fmu = FMU3Model(
        guid=description.guid,
        unzipDirectory=extract(str(path)),
        modelIdentifier=description.modelExchange.modelIdentifier,
        instanceName="test",
    )
    fmu.instantiate(logMessage=lambda e, s, c, text: messages.append(text.decode()))
    try:
        yield fmu, {v.name: v.valueReference for v in description.modelVariables}
    finally:
        fmu.fmi3FreeInstance(fmu.component)


@pytest.mark.parametrize("name", ["oscillator", "rows", "chain", "pendulum", "algebraic"])
def test_simulations_are_equal_to_the_last_bit(fmus3: Builder3, name: str) -> None:
    two, three = (
        simulated(fmus3.path(name, version), "model-exchange")  # type: ignore[arg-type]
        for version in ("2.0", "3.0")
    )
    order = [three[0].index(signal) for signal in two[0]]
    np.testing.assert_array_equal(three[1][:, order], two[1])


@pytest.mark.each_time("Thermostat", "Controller")
@pytest.mark.parametrize("name", ["Ball", "Thermostat", "Controller", "Times", "Stick", "Start"])
def test_events_are_the_same(embedded_compiler: Compiler, name: str) -> None:
    two, three = (
        simulated(
            library_fmu(embedded_compiler, f"Events.{name}", (EVENTS,), fmi=version),
            "model-exchange",
        )
        for version in ("2.0", "3.0")
    )
    assert two[0] == three[0]
    np.testing.assert_array_equal(three[1], two[1])


@pytest.mark.slow  # the host integrates the sensitivities
def test_sensitivities_of_the_host_agree_with_those_of_the_fmu(fmus3: Builder3) -> None:
    known, outputs = ("a[1]", "a[3]", "x[2]"), ("y[2]", "x[1]", "x[3]")
    path = fmus3.path("rows")
    _, own = simulated(path, "co-simulation", outputs, known)
    _, hosts = simulated(path, "model-exchange", outputs, known)
    assert own.shape == (41, 3 * 4)
    assert np.abs(own).max() > 1.0
    np.testing.assert_allclose(hosts, own, atol=2e-6 * np.abs(own).max())


@pytest.mark.parametrize("name", ["Ball", "Thermostat"])
def test_fmpy_simulates_them_alike(embedded_compiler: Compiler, name: str) -> None:
    runs = []
    for version in ("2.0", "3.0"):
        path = library_fmu(embedded_compiler, f"Events.{name}", (EVENTS,), fmi=version)
        assert validate_fmu(str(path)) == []
        runs.append(
            simulate_fmu(
                str(path),
                fmi_type="ModelExchange",
                stop_time=1.5,
                output_interval=0.01,
                relative_tolerance=1e-8,
            )
        )
    two, three = runs
    assert len(two) == len(three) > 150  # with the instants of events
    for field in two.dtype.names:
        np.testing.assert_array_equal(three[field], two[field])


def test_indicators_are_variables_in_both_interfaces(embedded_compiler: Compiler) -> None:
    path = library_fmu(embedded_compiler, "Events.Thermostat", (EVENTS,), fmi="3.0")
    description = read_description(path)
    names = [v.name for v in description.variables if v.name.startswith("eventIndicators")]
    count = len(names)
    assert count == 2
    assert description.indicator_references == (description.variable(names[0]).value_reference,)
    messages: list[str] = []
    with opened(path, messages) as (fmu, references):
        fmu.enterInitializationMode()
        fmu.exitInitializationMode()
        fmu.updateDiscreteStates()
        fmu.enterContinuousTimeMode()
        found = (c_double * count)()
        fmu.getEventIndicators(found, count)
        assert fmu.getFloat64([references["eventIndicators"]], count) == list(found)
        assert 0.0 not in found
        with pytest.raises(FMICallException):
            fmu.setFloat64([references["eventIndicators"]], list(found))
        assert "cannot be set" in messages[-1]
    assert not {v.name for v in description.recorded} & set(names)
    _, table = simulated(path, "co-simulation", tuple(names))
    assert np.isfinite(table).all()
    assert (np.sign(table[1:]) != np.sign(table[:-1])).any()


def test_each_interface_refuses_the_functions_of_the_other(fmus3: Builder3) -> None:
    messages: list[str] = []
    with opened(fmus3.path("rows"), messages) as (fmu, _):
        assert fmu.getNumberOfContinuousStates() == 3
        assert fmu.getNumberOfEventIndicators() == 0
        fmu.enterInitializationMode()
        fmu.exitInitializationMode()
        with pytest.raises(FMICallException):
            fmu.setTime(float("nan"))
        assert messages[-1] == "fmi3SetTime: the time is not a finite number"
        fmu.enterEventMode()
        with pytest.raises(FMICallException):
            fmu.enterContinuousTimeMode()
        assert messages[-1] == "fmi3EnterContinuousTimeMode: call fmi3UpdateDiscreteStates first"
    with fmus3.open("rows") as slave:
        slave.initialize()
        for call in (slave.slave.enterEventMode, slave.slave.updateDiscreteStates):
            with pytest.raises(FMICallException):
                call()
            assert slave.error().endswith("the FMU was instantiated for Co-Simulation")


def test_states_that_are_bound_have_no_model_exchange(embedded_compiler: Compiler) -> None:
    path = library_fmu(embedded_compiler, "Constraints.Pendulum", (CONSTRAINTS,), fmi="3.0")
    assert validate_fmu(str(path)) == []
    assert [i.kind for i in read_description(path).interfaces] == ["co-simulation"]
