"""FMI 3.0 Co-Simulation: what descriptions leave open, or say wrongly, is found out by trial."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fmident.fmu import SimulationSetup, open_fmu

from .slave3 import CONTACT, Slave3, build_slave3
from .updates import update_of

T = np.linspace(0.0, 1.0, 11)
LATE = """
<Float64 name="u" valueReference="1" causality="input" start="0"/>
<Float64 name="k" valueReference="2" causality="parameter" start="2"/>
<Float64 name="y" valueReference="3" causality="output"/>
<Float64 name="q" valueReference="4" causality="output"/>
"""


def late(folder: Path, *defines: str, structure: str = "", **flags: str) -> Path:
    return build_slave3(Slave3("late.c", LATE, flags, structure=structure, defines=defines), folder)


def test_outputs_that_are_computed_in_the_step_only(fmu_folder: Path) -> None:
    """pythonfmu3, for one, makes such FMUs: read after the inputs, they would lag a sample."""
    u = np.sin(3.0 * T)
    setup = SimulationSetup(T, ("u",), u[:, None], ("y", "q"))
    with open_fmu(late(fmu_folder, "LATE")) as fmu, fmu.simulator() as simulator:
        y, q = simulator.simulate(setup, {"k": 3.0}).T
        assert update_of(simulator, setup) == "before_step"
        assert "computes its outputs in fmi3DoStep only" in simulator.log[0].message
        np.testing.assert_allclose(y - q, 3.0 * u, atol=1e-15)
        np.testing.assert_array_equal(
            simulator.simulate(setup, {"k": 3.0}), np.column_stack([y, q])
        )


@pytest.mark.parametrize("case", ["at once", "no feedthrough", "declared", "fixed step", "asked"])
def test_outputs_are_read_after_the_inputs_otherwise(fmu_folder: Path, case: str) -> None:
    u = np.sin(3.0 * T)
    outputs = ("q",) if case in ("no feedthrough", "declared") else ("y", "q")
    setup = SimulationSetup(T, ("u",), u[:, None], outputs)
    declared = '<Output valueReference="4" dependencies=""/>' if case == "declared" else ""
    flags = {"canHandleVariableCommunicationStepSize": "false"} if case == "fixed step" else {}
    path = late(fmu_folder, *([] if case == "at once" else ["LATE"]), structure=declared, **flags)
    given = "after_step" if case == "asked" else "auto"
    with open_fmu(path) as fmu, fmu.simulator(input_update=given) as simulator:
        found = simulator.simulate(setup)
        assert update_of(simulator, setup) == "after_step"
        said = "; ".join(record.message for record in simulator.log)
    assert ("cannot be detected" in said) == (case == "fixed step")
    np.testing.assert_allclose(found[1:, -1], 0.1 * np.cumsum(u[:-1]), atol=1e-14)
    if case == "at once":
        np.testing.assert_allclose(found[:, 0] - found[:, 1], 2.0 * u, atol=1e-15)


def test_an_end_in_a_trial_step_does_not_spoil_the_run(fmu_folder: Path) -> None:
    """The last input is set after the last step, but tried in the first, where it ends the run."""
    u = np.where(T[-1] == T, -9.0, 1.0)
    setup = SimulationSetup(T, ("u",), u[:, None], ("q",))
    with open_fmu(late(fmu_folder, "LATE")) as fmu, fmu.simulator() as simulator:
        for _ in range(2):
            np.testing.assert_allclose(simulator.simulate(setup)[:, 0], T - T[0], atol=1e-12)
        assert update_of(simulator, setup) == "after_step"


def test_event_mode_that_is_offered_and_refused(fmu_folder: Path) -> None:
    """As by the FMU "Roberts" of the Modelica Association."""
    setup = SimulationSetup(np.linspace(0.0, 2.0, 21), output_names=("h",))
    flags = {"hasEventMode": "true"}
    refusing = build_slave3(
        Slave3("contact.c", CONTACT, flags, defines=("NO_EVENT_MODE",)), fmu_folder
    )
    silent = build_slave3(Slave3("contact.c", CONTACT), fmu_folder)
    with open_fmu(refusing) as one, open_fmu(silent) as other:
        with one.simulator() as simulator:
            found = simulator.simulate(setup)
            assert "refuses to be instantiated with it" in simulator.log[0].message
            assert simulator.statistics.instantiations == 1
        with other.simulator() as simulator:
            np.testing.assert_array_equal(simulator.simulate(setup), found)
