"""Rules of FMI: what may be called when, set by whom, and what a refusal says."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Slave

from .conftest import Builder, Fmu


def refused(fmu: Fmu, call: Callable[[], object]) -> str:
    """Make a call that must fail and return the message that it left."""
    count = len(fmu.messages)
    with pytest.raises(FMICallException):
        call()
    assert len(fmu.messages) > count, "refused without a message"
    return fmu.error()


def test_calls_in_the_wrong_state(fmus: Builder) -> None:
    with fmus.open("oscillator") as fmu:
        s = fmu.slave
        assert "while the FMU is instantiated" in refused(fmu, lambda: fmu.step(0, 0.1))
        assert "fmi2ExitInitializationMode" in refused(fmu, s.exitInitializationMode)
        assert "fmi2Terminate" in refused(fmu, s.terminate)
        assert "before initialization mode" in refused(fmu, lambda: fmu.get("acceleration"))
        s.enterInitializationMode()
        assert "in initialization mode" in refused(fmu, s.setupExperiment)
        assert "in initialization mode" in refused(fmu, lambda: fmu.step(0, 0.1))
        s.exitInitializationMode()
        assert "while the FMU is initialized" in refused(fmu, s.enterInitializationMode)
        s.terminate()
        assert "while the FMU is terminated" in refused(fmu, lambda: fmu.set(f=1.0))
        assert "while the FMU is terminated" in refused(fmu, lambda: fmu.step(0, 0.1))
        assert fmu.get("s") == [0.1]  # results can still be read


def test_a_refused_call_changes_nothing(fmus: Builder) -> None:
    with fmus.open("oscillator") as fmu:
        fmu.initialize()
        refused(fmu, fmu.slave.enterInitializationMode)
        fmu.step(0, 0.1)


@pytest.mark.parametrize(
    ("time", "size", "message"),
    [
        (0.0, 0.0, "must be a positive number"),
        (0.0, -0.1, "must be a positive number"),
        (0.0, float("nan"), "must be a positive number"),
        (0.5, 0.1, "starts at 0.5 but the FMU stands at 0"),
    ],
)
def test_bad_steps(fmus: Builder, time: float, size: float, message: str) -> None:
    with fmus.open("oscillator") as fmu:
        fmu.initialize()
        assert message in refused(fmu, lambda: fmu.step(time, size))


def test_step_past_the_stop_time(fmus: Builder) -> None:
    with fmus.open("oscillator") as fmu:
        fmu.slave.setupExperiment(stopTime=1.0)
        fmu.slave.enterInitializationMode()
        fmu.slave.exitInitializationMode()
        fmu.step(0.0, 1.0 + 1e-12)  # rounding of the caller's grid is forgiven
        assert "past the stop time" in refused(fmu, lambda: fmu.step(1.0, 0.1))


@pytest.mark.parametrize("tolerance", [0.0, -1e-6, 1.0, 1e-15, float("nan")])
def test_unusable_tolerance(fmus: Builder, tolerance: float) -> None:
    with fmus.open("oscillator") as fmu:
        message = refused(fmu, lambda: fmu.slave.setupExperiment(tolerance=tolerance))
        assert "is not usable" in message


@pytest.mark.parametrize(
    ("model", "name", "reason"),
    [
        ("oscillator", "omega", "constant or calculated from other parameters"),
        ("oscillator", "two", "constant or calculated from other parameters"),
        ("oscillator", "acceleration", "calculated by the model"),
        ("oscillator", "der(v)", "calculated by the model"),
        ("oscillator", "energy", "calculated by the model"),
        ("pendulum", "w", "calculated from parameters or equations"),
    ],
)
def test_what_cannot_be_set(fmus: Builder, model: str, name: str, reason: str) -> None:
    with fmus.open(model) as fmu:
        message = refused(fmu, lambda: fmu.set(**{name: 1.0}))
        assert f"'{name}'" in message
        assert reason in message


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_not_finite(fmus: Builder, value: float) -> None:
    with fmus.open("oscillator") as fmu:
        assert "'m' cannot be set" in refused(fmu, lambda: fmu.set(m=value))
        reference = [fmu.references["f"]]
        message = refused(fmu, lambda: fmu.slave.setRealInputDerivatives(reference, [1], [value]))
        assert "the derivative of 'f' is not a finite number" in message


def test_unknown_value_references(fmus: Builder) -> None:
    with fmus.open("oscillator") as fmu:
        s = fmu.slave
        assert "value reference 4711" in refused(fmu, lambda: s.setReal([4711], [1.0]))
        assert "value reference 4711" in refused(fmu, lambda: s.getReal([4711]))
        assert "no Integer variable" in refused(fmu, lambda: s.getInteger([0]))
        assert "no Boolean variable" in refused(fmu, lambda: s.setBoolean([0], [True]))
        assert "no String variable" in refused(fmu, lambda: s.getString([0]))
        assert s.getInteger([]) == []


def test_input_derivatives_of_other_orders_or_variables(fmus: Builder) -> None:
    with fmus.open("oscillator") as fmu:
        s, f, m = fmu.slave, fmu.references["f"], fmu.references["m"]
        assert "order 2" in refused(fmu, lambda: s.setRealInputDerivatives([f], [2], [1.0]))
        assert "not an input" in refused(fmu, lambda: s.setRealInputDerivatives([m], [1], [1.0]))
        assert "not supported" in refused(fmu, lambda: s.getRealOutputDerivatives([f], [1]))


def test_start_values_can_be_set_until_the_run_begins(fmus: Builder) -> None:
    with fmus.open("oscillator") as fmu:
        assert fmu.get("s", "m", "f") == [0.1, 2.0, 0.0]
        fmu.set(s=0.3)
        fmu.slave.enterInitializationMode()
        fmu.set(v=-1.0)
        assert fmu.get("s", "v", "der(s)") == [0.3, -1.0, -1.0]
        fmu.slave.exitInitializationMode()
        message = refused(fmu, lambda: fmu.set(s=0.0))
        assert "'s' cannot be set: a state can be set before and during initialization" in message


def test_calculated_start_values_follow_parameters_and_inputs(fmus: Builder) -> None:
    with fmus.open("pendulum") as fmu:
        fmu.set(w0=4.0)
        fmu.slave.enterInitializationMode()
        assert fmu.get("phi", "w", "a") == [0.0, 4.0, 9.81 / 0.5]
        fmu.set(tau=20.0, w0=5.0, l=1.0)
        assert fmu.get("phi", "w", "a") == [0.2, 5.0, 9.81]
        fmu.slave.exitInitializationMode()
        fmu.set(tau=0.0)  # from now on the state has a life of its own
        assert fmu.get("phi", "w") == [0.2, 5.0]


def test_reset_returns_to_the_start(fmus: Builder) -> None:
    with fmus.open("oscillator") as fmu:

        def run() -> list[float]:
            fmu.initialize(1e-7, f=1.0)
            rows: list[float] = []
            for i in range(50):
                fmu.set(f=float(i % 7))
                fmu.step(i * 0.02, 0.02)
                rows += fmu.get("s", "v", "acceleration")
            return rows

        first = run()
        fmu.slave.reset()
        assert fmu.get("s", "m", "f") == [0.1, 2.0, 0.0]
        fmu.set(m=3.0, k=1.0, s=9.0)
        other = run()
        assert other != first
        fmu.slave.reset()
        assert run() == first  # to the last bit


def test_slopes_do_not_outlive_a_reset(fmus: Builder) -> None:
    with fmus.open("integrator") as fmu:
        fmu.initialize()
        fmu.slave.setRealInputDerivatives([fmu.references["u"]], [1], [1.0])
        fmu.slave.reset()
        fmu.initialize()
        fmu.step(0.0, 1.0)
        assert fmu.get("u", "x") == [0.0, 0.0]


def test_status_functions(fmus: Builder) -> None:
    with fmus.open("oscillator") as fmu:
        fmu.initialize()
        fmu.step(0.0, 0.25)
        last_successful_time, terminated = 2, 3
        assert fmu.slave.getRealStatus(last_successful_time) == 0.25
        assert not fmu.slave.getBooleanStatus(terminated)
        assert "there is none to cancel" in refused(fmu, fmu.slave.cancelStep)
        assert "not available" in refused(fmu, lambda: fmu.slave.getStatus(0))


def test_version_and_platform(fmus: Builder) -> None:
    with fmus.open("oscillator") as fmu:
        assert fmu.slave.getVersion() == "2.0"
        assert fmu.slave.getTypesPlatform() == "default"


def test_log_categories(fmus: Builder) -> None:
    with fmus.open("oscillator") as fmu:
        fmu.slave.setDebugLogging(True, ["logStatusError"])
        assert "no log category 'logAll'" in refused(
            fmu, lambda: fmu.slave.setDebugLogging(True, ["logAll"])
        )


def test_binary_of_another_description_is_refused(fmus: Builder) -> None:
    slave = FMU2Slave(
        guid="{another}",
        unzipDirectory=str(fmus.extracted("oscillator")),
        modelIdentifier="Test_Oscillator",
        instanceName="x",
    )
    with pytest.raises(Exception, match="Failed to instantiate"):
        slave.instantiate()
