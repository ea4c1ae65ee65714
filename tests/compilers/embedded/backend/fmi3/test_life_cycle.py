"""FMI 3.0's life cycle: values, steps, inputs within steps, states of the FMU, what is refused."""

from __future__ import annotations

from ctypes import byref, c_size_t
from pathlib import Path
from typing import Any

import pytest
from fmpy.fmi1 import FMICallException

from fmident.compilers.embedded.backend.codegen import fmi3_code, generate
from fmident.compilers.embedded.backend.compiling import (
    all_sources,
    compile_binary,
    compiler_for,
    find_fmi_headers,
)
from fmident.compilers.embedded.backend.layout import make_layout
from fmident.compilers.embedded.frontend import load_model
from fmident.compilers.platforms import this_platform

from ..test_binary import linux_only, output_of
from .conftest import ALL, EVENTS, Builder3, Fmu3


def trajectory(fmu: Fmu3, steps: int = 20, size: float = 0.05, first: int = 0) -> list[list[float]]:
    found = []
    for i in range(first, first + steps):
        fmu.set(u=[0.1 * ((i * k) % 7) for k in (1, 2, 3)])
        fmu.step(i * size, size)
        found.append(fmu.get("x", "y", "time"))
    return found


def test_arrays_are_moved_as_a_whole(fmus3: Builder3) -> None:
    with fmus3.open("rows") as fmu:
        fmu.initialize(a=[1.0, 2.0, 3.0], x=[0.5, 0.25, 0.125], u=[1.0, 0.0, -1.0])
        assert fmu.get("x") == [0.5, 0.25, 0.125]
        assert fmu.get("a", "time") == [1.0, 2.0, 3.0, 0.0]
        assert fmu.get("y") == [0.5 + 0.0, 0.5 - 1.0, 0.375 + 1.0]
        assert fmu.get("der(x)") == [1.0 - 0.125, -2.0 * 0.25 * 0.125, -1.0 - 3.0 * 0.125 * 0.5]


def test_steps_say_where_they_have_come(fmus3: Builder3) -> None:
    with fmus3.open("rows") as fmu:
        fmu.initialize()
        assert fmu.step(0.0, 0.25) == (False, False, False, 0.25)
        assert fmu.get("time") == [0.25]
        with pytest.raises(FMICallException):
            fmu.step(1.0, 0.25)
        assert fmu.error().startswith("fmi3DoStep: the step starts at 1 but the FMU stands at 0.25")


def test_inputs_follow_lines_to_what_they_are_set_to_within_a_step(fmus3: Builder3) -> None:
    asked = []

    def line(fmu: Fmu3, time: float) -> None:
        asked.append(time)
        fmu.set(u=[2.0 * time])

    with fmus3.open("integrator", line, ["u"]) as fmu:
        fmu.initialize(1e-9)
        for i in range(4):
            fmu.step(0.5 * i, 0.5)
            time = 0.5 * (i + 1)
            # x is the integral of 2 t, and y = x + 10 u
            assert fmu.get("x", "y") == pytest.approx([time**2, time**2 + 20.0 * time], rel=1e-9)
            assert fmu.get("u") == pytest.approx([2.0 * time], rel=1e-15)
        assert asked == [0.5, 1.0, 1.5, 2.0]


def test_inputs_are_held_without_a_request_to_set_them(fmus3: Builder3) -> None:
    def never(fmu: Fmu3, time: float) -> None:
        raise AssertionError

    with fmus3.open("integrator", never) as fmu:
        fmu.initialize(u=[3.0])
        fmu.step(0.0, 2.0)
        assert fmu.get("x", "u") == pytest.approx([6.0, 3.0])


def test_nothing_but_inputs_is_set_within_a_step(fmus3: Builder3) -> None:
    refused = []

    def wrong(fmu: Fmu3, time: float) -> None:
        with pytest.raises(FMICallException):
            fmu.set(k=[2.0])
        refused.append(fmu.error())

    with fmus3.open("integrator", wrong, ["u"]) as fmu:
        fmu.initialize()
        fmu.step(0.0, 0.1)
    assert refused == ["fmi3SetFloat64: 'k' cannot be set within a step: it is not an input"]


@pytest.mark.parametrize("serialized", [False, True])
def test_a_state_of_the_fmu_brings_back_what_follows(fmus3: Builder3, serialized: bool) -> None:
    with fmus3.open("rows") as fmu, fmus3.open("rows") as other:
        fmu.initialize(a=[1.0, 2.0, 0.5])
        trajectory(fmu, 5)
        state = fmu.slave.getFMUState()
        expected = trajectory(fmu, 10, first=5)
        if serialized:
            kept = fmu.slave.serializeFMUState(state)
            other.initialize()
            again = other.slave.deserializeFMUState(kept)
            other.slave.setFMUState(again)
            assert trajectory(other, 10, first=5) == expected
            other.slave.freeFMUState(again)
        fmu.slave.setFMUState(state)
        assert trajectory(fmu, 10, first=5) == expected
        fmu.slave.freeFMUState(state)


def test_reset_forgets_and_instances_are_independent(fmus3: Builder3) -> None:
    with fmus3.open("rows") as fmu, fmus3.open("rows") as other:
        fmu.initialize()
        expected = trajectory(fmu)
        other.initialize(a=[3.0, 1.0, 2.0], x=[2.0, 1.0, 0.0])
        assert trajectory(other) != expected
        other.slave.reset()
        other.initialize()
        assert trajectory(other) == expected
        other.slave.terminate()


def test_messages_name_the_functions_of_fmi_3(fmus3: Builder3) -> None:
    with fmus3.open("rows") as fmu:
        with pytest.raises(FMICallException):
            fmu.set(y=[1.0, 2.0, 3.0])
        reason = "fmi3SetFloat64: 'y[1]' cannot be set: it is calculated by the model"
        assert fmu.messages == [(3, "logStatusError", reason)]
        with pytest.raises(FMICallException):
            fmu.step(0.0, 0.1)
        assert fmu.error() == "fmi3DoStep cannot be called while the FMU is instantiated"
        with pytest.raises(FMICallException):
            fmu.slave.enterInitializationMode(tolerance=2.0)
        assert fmu.error().startswith("fmi3EnterInitializationMode: the tolerance 2 is not usable")
    with fmus3.open("algebraic") as fmu:
        with pytest.raises(FMICallException):
            fmu.initialize(u=[50.0, 1.0])
        assert fmu.error() == "time 0: assertion violated: u[1] is 100% too large"


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (2, "fmi3GetFloat64: the variables have 3 values together, not 2"),
        (4, "fmi3GetFloat64: the variables have 3 values together, not 4"),
    ],
)
def test_the_number_of_values_has_to_fit(fmus3: Builder3, count: int, message: str) -> None:
    with fmus3.open("rows") as fmu:
        fmu.initialize()
        with pytest.raises(FMICallException):
            fmu.slave.getFloat64([fmu.references["x"]], count)
        assert fmu.error() == message


def test_elements_have_no_references_of_their_own(fmus3: Builder3) -> None:
    with fmus3.open("rows") as fmu:
        fmu.initialize()
        for reference in (fmu.references["x"] + 1, fmu.references["time"] + 1, 2**32 - 1):
            with pytest.raises(FMICallException):
                fmu.slave.getFloat64([reference])
            assert f"no Float64 variable with value reference {reference}" in fmu.error()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.enterEventMode(), "the FMU was instantiated for Co-Simulation"),
        (lambda s: s.enterStepMode(), "fmi3EnterStepMode: there is no event mode"),
        (lambda s: s.enterConfigurationMode(), "there are no structural parameters"),
        (
            lambda s: s.fmi3GetNumberOfVariableDependencies(s.component, 0, byref(c_size_t())),
            "providesPerElementDependencies is false",
        ),
        (lambda s: s.getOutputDerivatives([0], [1]), "maxOutputDerivativeOrder is 0"),
        (lambda s: s.getInt32([0]), "there is no Int32 variable with value reference 0"),
        (lambda s: s.setInt32([0], [1]), "no variable of this type can be set"),
        (lambda s: s.getBoolean([0]), "there is no Boolean variable with value reference 0"),
        (lambda s: s.getFloat32([0]), "there is no Float32 variable with value reference 0"),
        (lambda s: s.setString([0], ["a"]), "there is no String variable with value reference 0"),
        (lambda s: s.getClock([0]), "there is no Clock variable with value reference 0"),
    ],
)
def test_what_is_not_there_is_an_error_with_a_reason(
    fmus3: Builder3, call: Any, message: str
) -> None:
    with fmus3.open("rows") as fmu:
        fmu.initialize()
        with pytest.raises(FMICallException):
            call(fmu.slave)
        assert message in fmu.error()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eventModeUsed": True}, "there is no event mode"),
        ({"requiredIntermediateVariables": [3]}, "only inputs can be set within a step"),
        ({"guid": "{0}"}, "the instantiation token is not the one of this binary"),
    ],
)
def test_instances_that_are_refused(
    fmus3: Builder3, arguments: dict[str, Any], message: str
) -> None:
    said = []
    with fmus3.open("rows") as fmu:
        slave, own = fmu.slave, (fmu.slave.component, fmu.slave.logMessage, fmu.slave.guid)
        slave.guid = arguments.pop("guid", slave.guid)
        with pytest.raises(Exception, match="Failed to instantiate"):
            slave.instantiate(
                logMessage=lambda e, s, c, text: said.append(text.decode()), **arguments
            )
        slave.component, slave.logMessage, slave.guid = own
    assert len(said) == 1
    assert said[0].startswith("fmi3InstantiateCoSimulation: ")
    assert message in said[0]


@linux_only
@pytest.mark.usefixtures("tools")
def test_exports_all_that_the_standard_declares(fmus3: Builder3) -> None:
    (binary,) = fmus3.extracted("rows").glob("binaries/*/*.so")
    lines = output_of("nm", "-D", "--defined-only", str(binary)).split("\n")
    names = {line.split()[-1] for line in lines if line}
    headers = find_fmi_headers()
    assert headers is not None
    text = (headers / "fmi3Functions.h").read_text()
    declared = {
        line.split()[-1].rstrip(";") for line in text.split("\n") if line.startswith("FMI3_Export")
    }
    assert len(declared) == 75
    assert {n for n in names if not n.startswith("fmident")} == declared


@pytest.mark.each_time("algebraic")
@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("name", ["chain", "algebraic", "Ball"])
def test_runtime_compiles_without_warnings(tmp_path: Path, name: str) -> None:
    model = ALL[name]() if name in ALL else load_model(f"Events.{name}", (EVENTS,))[0]
    layout = make_layout(model)
    code = generate(model, layout, guid="{0}", tolerance=1e-6, version="3.0")
    code |= fmi3_code(model, layout)
    warnings = ["-Wall", "-Wextra", "-Wshadow", "-Wno-type-limits", "-Wno-unused-parameter"]
    sources = all_sources("3.0", code)
    compiler = compiler_for(this_platform(), tmp_path)
    compile_binary(compiler, tmp_path, sources, "3.0", warnings=[*warnings, "-Werror"])
