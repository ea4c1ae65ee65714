"""FMUs that free the memory of all instances of their binary with the first that is freed.

OpenModelica makes them (1.26.9), and says that a process may hold several instances.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fmident.errors import Code, FmuError
from fmident.fmu import SimulationSetup, open_fmu, read_description
from fmident.validation import validate_fmu

from ..refused import refused
from .build import Fixture, build, real

TOOL = "OpenModelica Compiler v1.26.9-cmake"
T = np.linspace(0.0, 1.0, 11)
SETUP = SimulationSetup(T, ("u",), np.sin(T)[:, None], ("x", "y"))


@pytest.fixture(scope="module")
def pool(fmu_folder: Path) -> Path:
    variables = [
        real("u", 0, "input", start=0),
        real("x", 1, "output"),
        real("y", 2, "output"),
    ]
    return build(Fixture("pool.c", "\n".join(variables), tool=TOOL), fmu_folder)


def test_one_instance_at_a_time_whatever_the_description_says(pool: Path) -> None:
    assert read_description(pool).only_once_per_process
    with open_fmu(pool) as fmu, fmu.simulator() as simulator:
        first = simulator.simulate(SETUP)
        np.testing.assert_array_equal(simulator.simulate(SETUP), first)
        np.testing.assert_array_equal(simulator.simulate(SETUP), first)
        assert simulator.would_reset
        with refused(Code.NOT_SUPPORTED, FmuError):
            fmu.simulator()
    np.testing.assert_allclose(first[:, 1] - first[:, 0], np.sin(T), atol=1e-15)


@pytest.mark.slow
def test_all_checks_pass(pool: Path) -> None:
    checks = {check.name: check for check in validate_fmu(pool)}
    assert checks["repeatability"].passed, checks["repeatability"].detail
    assert checks["memory"].passed
    assert checks["step sizes"].passed
