"""What is kept of a failed simulation."""

from __future__ import annotations

import pytest

from fmident.errors import SimulationError
from fmident.evaluation.tasks import SimulationFailure

SAID = "simulation failed; the FMU says: wall-clock sync lost at t = 3 s, took longer than 2 s"


@pytest.mark.parametrize("timed_out", [False, True])
def test_what_an_fmu_says_decides_nothing(timed_out: bool) -> None:
    error = SimulationError(SAID, time=4.5, timed_out=timed_out)
    found = SimulationFailure.of(error, {"k": 1.0})
    assert found.final is not timed_out
    assert found.timed_out is timed_out
    assert "at 4.5 s with k=1" in str(found)


def test_a_time_that_the_message_says_is_not_repeated() -> None:
    error = SimulationError("output 'y' is nan at t = 4.5 s", time=4.5, says_time=True)
    assert str(SimulationFailure.of(error, {})) == "output 'y' is nan at t = 4.5 s"
