"""Assertions, values that are not numbers, and the integrator's own failures."""

from __future__ import annotations

import math
import re

import pytest
from fmpy.fmi1 import FMICallException

from fmident.compilers.embedded.model import INTEGRATORS

from .conftest import Builder

WARNING, ERROR = 1, 3


def test_violated_assertion_stops_the_run_with_its_message(fmus: Builder) -> None:
    with fmus.open("algebraic") as fmu:
        fmu.initialize()
        fmu.step(0.0, 0.5)
        fmu.set(**{"u[1]": 11.0})
        with pytest.raises(FMICallException):
            fmu.step(0.5, 0.5)
        errors = [text for status, text in fmu.messages if status == ERROR]
        # '%' is doubled: the message is a printf format by FMI's rule
        assert errors == ["time 0.5: assertion violated: u[1] is 100%% too large"]
        with pytest.raises(FMICallException):
            fmu.step(0.5, 0.5)
        assert "in error: call fmi2Reset first" in fmu.error()
        fmu.slave.reset()
        fmu.initialize()
        fmu.step(0.0, 0.5)


def test_violated_assertion_when_an_output_is_read(fmus: Builder) -> None:
    with fmus.open("algebraic") as fmu:
        fmu.initialize()
        fmu.set(**{"u[1]": 11.0})
        with pytest.raises(FMICallException):
            fmu.get("y")
        assert "u[1] is 100%% too large" in fmu.error()
        fmu.set(**{"u[1]": 1.0})
        assert fmu.get("y") == [4.0]


def test_violated_assertion_at_initialization(fmus: Builder) -> None:
    with fmus.open("pendulum") as fmu:
        fmu.slave.setupExperiment(startTime=2.5)
        fmu.slave.enterInitializationMode()
        fmu.set(tau=400.0)
        with pytest.raises(FMICallException):
            fmu.slave.exitInitializationMode()
        assert fmu.error() == "time 2.5: assertion violated: the pendulum turned over"


def test_violated_assertion_between_communication_points(fmus: Builder) -> None:
    with fmus.open("pendulum") as fmu:
        fmu.initialize(tau=0.0, w0=30.0)
        with pytest.raises(FMICallException):
            fmu.step(0.0, 1.0)
        assert "the integration stopped: assertion violated at 0." in fmu.error()
        assert "the pendulum turned over" in fmu.error()


@pytest.mark.parametrize("integrator", ["auto", "explicit", "rosenbrock"])
def test_an_assertion_that_ends_the_run_is_named_at_its_instant(
    fmus: Builder, integrator: str
) -> None:
    """A million steps came ever nearer, and their number was the reason that was given."""
    with fmus.open("growing", integrator=integrator) as fmu:
        fmu.initialize()
        fmu.step(0.0, 2.0)
        fmu.step(2.0, 0.98)
        with pytest.raises(FMICallException):
            fmu.step(2.98, 0.02)
        found = re.search(r"stopped: assertion violated at (\S+): x is too large", fmu.error())
        assert found is not None, fmu.error()
        assert float(found[1]) == pytest.approx(math.log(20.0), abs=1e-6)


def test_explicit_steps_that_are_too_many_suggest_stiffness(fmus: Builder) -> None:
    with fmus.open("motor", integrator="explicit") as fmu:
        fmu.initialize(v=1.0)
        with pytest.raises(FMICallException):
            fmu.step(0.0, 50.0)
        assert "more than 1000000 steps were taken" in fmu.error()
        assert "or is it stiff?" in fmu.error()


def test_warning_is_given_once(fmus: Builder) -> None:
    with fmus.open("algebraic") as fmu:
        fmu.initialize()
        fmu.set(**{"u[1]": 6.0})
        for i in range(3):
            assert fmu.get("y") == [19.0]
            fmu.step(0.1 * i, 0.1)
        assert fmu.messages == [(WARNING, "time 0: assertion violated: u[1] is rather large")]


def test_output_that_is_not_a_number_is_an_error_that_names_it(fmus: Builder) -> None:
    with fmus.open("algebraic") as fmu:
        fmu.initialize()
        fmu.step(0.0, 0.25)
        fmu.set(**{"u[2]": -1.0})
        with pytest.raises(FMICallException):
            fmu.get("y")
        assert fmu.error() == "time 0.25: variable 'y' is not a number"
        assert fmu.get("w") == [0.25]  # what can be evaluated, is


def test_infinite_output_is_an_error_that_names_it(fmus: Builder) -> None:
    with fmus.open("draining") as fmu:
        fmu.initialize()
        with pytest.raises(FMICallException):
            fmu.get("inverse")
        assert fmu.error() == "time 0: variable 'inverse' is infinite"


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_right_side_without_a_value_ends_the_run_with_the_reason(
    fmus: Builder, integrator: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with fmus.open("draining", integrator) as fmu:
        fmu.initialize()
        fmu.step(0.0, 1.0)
        first = fmu.get("h")
        assert first == pytest.approx([0.25], rel=1e-2)
        with pytest.raises(FMICallException):
            fmu.step(1.0, 5.0)
        assert "time 1: the integration stopped: " in fmu.error()
        assert re.search(r"'der\(h\)'.* is not (a number|finite) at 1\.9", fmu.error())
        assert ("CVODE" in fmu.error()) == (integrator == "cvode")
        fmu.slave.reset()
        fmu.initialize()
        fmu.step(0.0, 1.0)
        assert fmu.get("h") == first  # the failure left no trace in the integrator
    assert capfd.readouterr() == ("", "")  # nothing on the console
