"""What an FMU does to the floating-point state changes nothing else, not even in itself."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fmident.fmu import open_fmu
from fmident.fmu.native_code.floating import standard_floating_point

from .test_reuse import KINDS, forgetful, setup

PLACES = ["LOAD", "STEP_", "SET", "INSTANTIATE"]
FEGETROUND = ctypes.CDLL(None).fegetround

pytestmark = [
    pytest.mark.slow,  # many builds
    pytest.mark.skipif(
        platform.machine() not in ("x86_64", "AMD64"), reason="fixtures set the state of x86"
    ),
]


@pytest.fixture(autouse=True)
def standard() -> Iterator[None]:
    """Begin with the standard state: imports of other tests may have changed this process's."""
    c = ctypes.PyDLL(None)
    before = ctypes.create_string_buffer(64)  # fenv_t has 32 bytes
    c.fegetenv(before)
    c.fesetenv(ctypes.c_void_p(-1))  # FE_DFL_ENV
    yield
    c.fesetenv(before)


def is_standard() -> bool:
    """Whether denormal numbers are kept and sums are rounded to nearest, in both units."""
    tiny, one = np.full(3, 1e-310), np.ones(3)
    kept = bool(np.all(tiny * one == 1e-310)) and bool(np.all(tiny != 0.0))
    nearest = bool(np.all(one + 1e-17 == 1.0))
    long = bool(np.all(np.longdouble(1.0) + np.full(3, 1e-25, np.longdouble) == 1.0))
    return kept and nearest and long and FEGETROUND() == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_neither_the_host_nor_the_results_change(fmu_folder: Path, kind: str, place: str) -> None:
    given = setup(0.3)
    with open_fmu(forgetful(fmu_folder, kind, "NOTHING")) as fmu, fmu.simulator() as simulator:
        expected = simulator.simulate(given, {"k": 0.1})
    upset = forgetful(fmu_folder, kind, "NOTHING", f"UPSETS={place}")
    with open_fmu(upset) as fmu:
        fmu.load_library()
        assert is_standard()
        with fmu.simulator() as simulator:
            assert is_standard()
            for _ in range(3):
                found = simulator.simulate(given, {"k": 0.1})
                assert is_standard()
        assert is_standard()
    assert is_standard()
    # What it computes after a call of its own in which it changes the state is its own affair.
    if not (kind[:2] == "cs" and place == "STEP_"):
        np.testing.assert_array_equal(found, expected)


def test_each_step_begins_with_the_same_state(fmu_folder: Path) -> None:
    """Else results would depend on where the interpreter has looked in between."""
    path = forgetful(fmu_folder, "cs2", "NOTHING", "UPSETS=STEP_")
    given = setup(0.3)
    with open_fmu(path) as fmu:
        with fmu.simulator() as simulator:
            found = simulator.simulate(given, {"k": 0.1})
        with fmu.simulator(progress=lambda *_: None) as simulator:
            np.testing.assert_array_equal(simulator.simulate(given, {"k": 0.1}), found)


def test_simulations_do_not_depend_on_the_host_and_leave_its_state(fmu_folder: Path) -> None:
    path = forgetful(fmu_folder, "cs2", "NOTHING")
    setround = ctypes.PyDLL(None).fesetround
    getround = ctypes.PyDLL(None).fegetround
    given = setup(0.3)
    with open_fmu(path) as fmu, fmu.simulator(reuse="never") as simulator:
        expected = simulator.simulate(given, {"k": 0.1})
        setround(0x800)  # upwards
        try:
            found = simulator.simulate(given, {"k": 0.1})
            with standard_floating_point():
                assert getround() == 0
            assert getround() == 0x800
        finally:
            setround(0)
    np.testing.assert_array_equal(found, expected)


def test_an_fmu_linked_for_speed_changes_no_later_simulation(fmu_folder: Path) -> None:
    """In a process of its own: there it is loaded first, and with the loops."""
    upset = forgetful(fmu_folder, "cs3", "NOTHING", "UPSETS=LOAD")
    code = (
        "import numpy as np, sys; from fmident.fmu import open_fmu, SimulationSetup\n"
        "s = SimulationSetup(np.linspace(0, 1, 11), output_names=('x', 'y'))\n"
        "f = open_fmu(sys.argv[1]); f.simulator().simulate(s); f.close()\n"
        "print(np.full(2, 1e-310) * np.ones(2), np.ones(2) + 1e-17)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(upset)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[1.e-310 1.e-310] [1. 1.]"
