"""A pose out of reach or beyond a joint limit is an error that names time and arm, not a NaN."""

from __future__ import annotations

import re

import numpy as np
import pytest
from machines import Workshop

from fmident.errors import Code, FmidentError, SimulationError

from ..refused import refused


@pytest.mark.parametrize("arm", [1, 2, 3])
def test_pose_out_of_reach_names_arm_and_time(workshop: Workshop, arm: int) -> None:
    """Short lower arms; at 0.5 s one arm swings up and away while the others hang down.

    The others hang at different angles, so that no two arms are equally far off.
    """
    times = np.linspace(0.0, 1.0, 101)
    inputs = {f"{n}[{i}]": np.zeros(101) for n in ("q", "qd", "qdd") for i in (1, 2, 3)}
    for i in (1, 2, 3):
        hanging = 1.4 if i == arm % 3 + 1 else 1.2
        inputs[f"q[{i}]"] = np.where((times > 0.495) & (i == arm), -0.9, hanging)
    machine = workshop.machine("FMUs.DeltaInverse")
    with pytest.raises(SimulationError) as caught:
        machine.simulate(times, inputs, ("tau[1]",), {"lowerArmLength": 0.27})
    message = str(caught.value)
    assert "out of reach" in message
    assert f"arm {arm} (q[{arm}])" in message
    assert "0.5 s" in message


def test_robot_simulates_again_after_the_error(workshop: Workshop) -> None:
    machine = workshop.machine("FMUs.DeltaInverse")
    times = np.array([0.0, 1.0])
    inputs = {f"q[{i}]": np.full(2, 0.6) for i in (1, 2, 3)}
    before = machine.simulate(times, inputs, ("tau[1]",))["tau[1]"]
    with pytest.raises(FmidentError, match="out of reach"):
        machine.simulate(times, inputs, ("tau[1]",), {"lowerArmLength": 0.2})
    after = machine.simulate(times, inputs, ("tau[1]",))["tau[1]"]
    assert np.array_equal(before, after)
    assert np.all(np.isfinite(after))


@pytest.mark.each_time("3-0.5")
@pytest.mark.slow
@pytest.mark.parametrize(("arm", "torque"), [(1, -0.5), (3, 0.5)])
def test_joint_limit_names_arm_and_time(workshop: Workshop, arm: int, torque: float) -> None:
    """From 0.25 s on one motor pushes its arm up or down, the others hold theirs."""
    times = np.linspace(0.0, 1.0, 101)
    inputs = {f"tau[{i}]": np.full(101, -0.1) for i in (1, 2, 3)}
    inputs[f"tau[{arm}]"] = np.where(times < 0.25, -0.1, torque)
    with pytest.raises(SimulationError) as caught:
        workshop.machine("FMUs.DeltaForward").simulate(times, inputs, ("q[1]",))
    message = str(caught.value)
    assert f"arm {arm} has passed a joint limit" in message
    assert re.search(r"t = 0\.[3-9]\d* s", message)


def test_arms_side_by_side_are_named(workshop: Workshop) -> None:
    """Base and platform of one size, two arms that hang: their lower arms coincide."""
    times = np.array([0.0, 1.0])
    inputs = {f"q[{i}]": np.full(2, q) for i, q in ((1, 0.5), (2, 0.5 * np.pi), (3, 0.5 * np.pi))}
    machine = workshop.machine("FMUs.DeltaInverse")
    with refused(Code.SIMULATION_FAILED, SimulationError, match="arms 2 and 3"):
        machine.simulate(times, inputs, ("tau[1]",), {"platformRadius": 0.2})
