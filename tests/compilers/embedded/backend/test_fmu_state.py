"""Get, set and serialise the FMU's state."""

from __future__ import annotations

import pytest
from fmpy.fmi1 import FMICallException

from .conftest import Builder, Fmu


def go_on(fmu: Fmu, first: int, count: int) -> list[list[float]]:
    rows = []
    for i in range(first, first + count):
        fmu.set(f=float(i % 5))
        slope = [0.3 * (i % 3)]
        fmu.slave.setRealInputDerivatives([fmu.references["f"]], [1], slope)
        fmu.step(i * 0.05, 0.05)
        rows.append(fmu.get("s", "v", "acceleration", "energy", "omega", "f"))
    return rows


def test_restored_run_goes_on_with_the_same_bits(fmus: Builder) -> None:
    with fmus.open("oscillator") as fmu:
        fmu.initialize(1e-7, k=60.0)
        go_on(fmu, 0, 20)
        state = fmu.slave.getFMUstate()
        first = go_on(fmu, 20, 20)
        fmu.set(k=10.0)
        go_on(fmu, 40, 5)
        fmu.slave.setFMUstate(state)
        assert fmu.get("k") == [60.0]
        assert go_on(fmu, 20, 20) == first
        fmu.slave.freeFMUstate(state)


def test_state_travels_as_bytes_to_another_instance(fmus: Builder) -> None:
    with fmus.open("oscillator") as one, fmus.open("oscillator") as two:
        one.initialize(1e-7, k=60.0)
        go_on(one, 0, 20)
        state = one.slave.getFMUstate()
        data = one.slave.serializeFMUstate(state)
        expected = go_on(one, 20, 20)
        copy = two.slave.deSerializeFMUstate(data)
        two.slave.setFMUstate(copy)
        assert go_on(two, 20, 20) == expected
        two.slave.freeFMUstate(copy)
        one.slave.freeFMUstate(state)


def test_state_before_initialization_keeps_start_values(fmus: Builder) -> None:
    with fmus.open("oscillator") as fmu:
        fmu.set(s=0.7)
        state = fmu.slave.getFMUstate()
        fmu.slave.reset()
        fmu.slave.setFMUstate(state)
        fmu.initialize()
        assert fmu.get("s") == [0.7]
        fmu.slave.freeFMUstate(state)


def test_bytes_of_another_fmu_are_refused(fmus: Builder) -> None:
    with fmus.open("integrator") as one, fmus.open("oscillator") as two:
        state = one.slave.getFMUstate()
        data = one.slave.serializeFMUstate(state)
        with pytest.raises(FMICallException):
            two.slave.deSerializeFMUstate(data)
        assert "of another FMU" in two.error()
        whole = two.slave.serializeFMUstate(two.slave.getFMUstate())
        with pytest.raises(FMICallException):
            two.slave.deSerializeFMUstate(b"{other}\0" + whole[8:])
        assert "of another FMU" in two.error()
        for wrong in (whole[:-1], whole + b"\0", whole[:20]):
            with pytest.raises(FMICallException):
                two.slave.deSerializeFMUstate(wrong)
            assert "do not have the length" in two.error()
        one.slave.freeFMUstate(state)
