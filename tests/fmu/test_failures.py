"""An FMU that fails: its own words, the time, and the next run is sound."""

from __future__ import annotations

import _thread
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from fmident.errors import Code, SimulationError
from fmident.fmu import SimulationSetup, Simulator, influence, open_fmu

from ..refused import refused
from .build import Fixture, build, real
from .conftest import Builder
from .updates import update_of

DISCARD, ERROR, FATAL, NAN, CRASH, WARN, PRINT, SLOW, HANG, EXIT, FLOOD, INIT, ABORT, START_NAN = (
    range(1, 15)
)
END, SHOUT, CLOSE, SCRIBBLE = 17, 18, 19, 20
SETUP = SimulationSetup(np.linspace(0.0, 2.0, 21), output_names=("x",))


@pytest.fixture
def simulator(trouble: Path) -> Iterator[Simulator]:
    with open_fmu(trouble) as fmu, fmu.simulator() as simulator:
        yield simulator


FAILURES = {
    DISCARD: (
        1.0,
        "step of 0.100 s at t = 1 does not converge after 7 iterations (norm too large)",
    ),
    ERROR: (1.0, "singular matrix at 1, 100% sure"),
    FATAL: (1.0, "out of everything"),
    INIT: (0.0, "initialisation failed: a = 1 a"),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_the_fmus_own_message_and_time(simulator: Simulator, kind: int) -> None:
    good = simulator.simulate(SETUP)
    at, words = FAILURES[kind]
    with pytest.raises(SimulationError) as caught:
        simulator.simulate(SETUP, {"kind": kind})
    error = caught.value
    assert error.time == pytest.approx(at)
    assert words in error.message
    assert "trouble" in error.message
    assert any(words in line for line in error.log)
    assert error.says_time is (" at t = " in error.message) is (kind != INIT)
    assert not error.timed_out
    np.testing.assert_array_equal(simulator.simulate(SETUP), good)
    renewed = kind != DISCARD
    assert simulator.statistics.instantiations == 1 + renewed
    assert simulator.statistics.failures == 1
    assert any("instantiated anew" in record.message for record in simulator.log) == renewed


def test_a_discarded_step_that_is_no_end(simulator: Simulator) -> None:
    with pytest.raises(
        SimulationError, match=r"returned Discard \(its last.* is 1\.\d+ s"
    ) as caught:
        simulator.simulate(SETUP, {"kind": DISCARD})
    assert caught.value.ended is None


def test_an_end_that_the_fmu_wants_is_told_and_the_next_run_is_sound(simulator: Simulator) -> None:
    """Even if the FMU goes on to want it after a reset, as those of the Modelica Association."""
    good = simulator.simulate(SETUP)
    with refused(Code.ENDED_BY_FMU, SimulationError, match=r"Discard .*1\.1 s") as caught:
        simulator.simulate(SETUP, {"kind": END})
    assert caught.value.ended == pytest.approx(1.1)
    assert any("terminated after its own end" in entry for entry in caught.value.log)
    np.testing.assert_array_equal(simulator.simulate(SETUP), good)
    assert simulator.statistics.instantiations == 2


@pytest.mark.parametrize("progress", [None, lambda *_: None], ids=["at once", "single steps"])
def test_an_end_that_the_fmu_wants_at_the_last_instant_is_no_failure(
    trouble: Path, progress: Callable[[str, float], None] | None
) -> None:
    setup = SimulationSetup(SETUP.times[:12], output_names=("x", "kind"))
    with open_fmu(trouble) as fmu, fmu.simulator(progress=progress) as simulator:
        for _ in range(2):
            found = simulator.simulate(setup, {"kind": END})
            np.testing.assert_allclose(found[:, 0], setup.times)
            np.testing.assert_array_equal(found[:, 1], END)
        assert "the FMU itself ended the last run" in simulator.log[0].message
        assert simulator.simulate(setup, {"kind": 0})[-1, 1] == 0


@pytest.mark.parametrize("update", ["after_step", "before_step"])
def test_inputs_are_not_set_after_the_step_in_which_the_fmu_ended(
    fmu_folder: Path, update: Literal["after_step", "before_step"]
) -> None:
    """FMI 2.0 forbids it (section 4.2.4, state stepFailed); the outputs can be read."""
    variables = real("a", 0, "input", start=0) + real("x", 1, "output")
    path = build(Fixture("trouble.c", variables, defines=("ENDS",)), fmu_folder, "ends")
    times = SETUP.times[:12]
    setup = SimulationSetup(times, ("a",), 1.0 + times[:, None], ("x",))
    with (
        open_fmu(path) as fmu,
        fmu.simulator(input_update=update) as simulator,
    ):
        for _ in range(2):
            found = simulator.simulate(setup)[:, 0]
            used = 1.0 + (times[:-1] if update == "after_step" else times[1:])
            np.testing.assert_allclose(found[1:], 0.1 * np.cumsum(used), rtol=1e-12)


def test_an_end_in_a_trial_step_does_not_spoil_the_run(fmu_folder: Path) -> None:
    """Whether outputs follow inputs is tried with inputs that come late in the run only."""
    variables = real("x", 1, "output") + real("at", 2, "input", start=9)
    path = build(Fixture("trouble.c", variables, defines=("ENDS",)), fmu_folder, "trial")
    times = SETUP.times[:6]
    at = np.array([9.0, 9.0, 9.0, 9.0, 9.0, -1.0])
    setup = SimulationSetup(times, ("at",), at[:, None], ("x",))
    with open_fmu(path) as fmu, fmu.simulator() as simulator:
        for _ in range(2):
            np.testing.assert_allclose(simulator.simulate(setup)[:, 0], times, atol=1e-12)
        assert update_of(simulator, setup) == "after_step"


def test_a_status_that_fmi_does_not_know(simulator: Simulator) -> None:
    with pytest.raises(SimulationError, match="fmi2DoStep returned the unknown status 42"):
        simulator.simulate(SETUP, {"kind": 16})
    assert np.isfinite(simulator.simulate(SETUP)).all()


@pytest.mark.parametrize(("kind", "row"), [(NAN, 11), (START_NAN, 0)])
def test_nan_names_output_and_time(simulator: Simulator, kind: int, row: int) -> None:
    with refused(Code.NOT_FINITE, SimulationError, match="'x' is nan") as caught:
        simulator.simulate(SETUP, {"kind": kind})
    assert caught.value.time == SETUP.times[row]
    assert np.isfinite(simulator.simulate(SETUP)).all()


def test_warnings_are_logged_and_the_run_goes_on(simulator: Simulator) -> None:
    good = simulator.simulate(SETUP)
    np.testing.assert_array_equal(simulator.simulate(SETUP, {"kind": WARN}), good)
    assert [r.status for r in simulator.log] == ["warning"] * 10
    assert simulator.log[0].category == "logStatusWarning"
    assert simulator.log[0].message == "step at 1 was hard"
    assert simulator.statistics.warnings == 10
    simulator.simulate(SETUP)
    assert simulator.log == ()


def test_a_flood_of_messages_is_bounded(simulator: Simulator) -> None:
    simulator.simulate(SETUP, {"kind": FLOOD})
    assert len(simulator.log) == 1001
    assert simulator.log[0].message == "5000 earlier messages were dropped"
    assert simulator.log[-1].message == "flood 2199"


def test_what_the_fmu_prints_goes_to_the_log_only(
    simulator: Simulator, capfd: pytest.CaptureFixture[str]
) -> None:
    simulator.simulate(SETUP, {"kind": PRINT})
    lines = [r.message for r in simulator.log if r.status == "output"]
    assert len(lines) == 21
    assert {"printed at start", "printed at 1", "on stderr at 1.9"} <= set(lines)
    os.write(1, b"mine\n")
    out, err = capfd.readouterr()
    assert (out, err) == ("mine\n", "")


def test_capturing_can_be_left_out(trouble: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with open_fmu(trouble) as fmu, fmu.simulator(capture_output=False) as simulator:
        simulator.simulate(SETUP, {"kind": PRINT})
        assert simulator.log == ()
    assert "on stderr at 1" in capfd.readouterr().err


def test_what_the_fmu_prints_is_bounded(simulator: Simulator) -> None:
    setup = SimulationSetup(np.linspace(0.0, 2.0, 100_001), output_names=("x",))
    simulator.simulate(setup, {"kind": PRINT, "at": 0.0})
    size = sum(len(record.message) + 1 for record in simulator.log)
    assert 30_000 < size < 2**17
    assert simulator.log[-1].message in {"printed at 1.99998", "on stderr at 1.99998"}


def test_debug_logging_gives_what_the_error_alone_does_not(simulator: Simulator) -> None:
    with pytest.raises(SimulationError) as caught:
        simulator.simulate(SETUP, {"kind": NAN})
    assert "outside what the model can compute" in (caught.value.hint or "")


def test_a_time_limit_ends_a_slow_run(simulator: Simulator) -> None:
    # To its end, the run would take 400 s.
    setup = SimulationSetup(np.linspace(0.0, 2.0, 40_001), output_names=("x",))
    began = time.perf_counter()
    with refused(Code.TIMED_OUT, SimulationError, match=r"0\.2 s") as caught:
        simulator.simulate(setup, {"kind": SLOW}, time_limit=0.2)
    assert caught.value.timed_out
    assert not caught.value.says_time
    assert time.perf_counter() - began < 100.0


def test_ctrl_c_is_served_while_a_slow_fmu_runs(simulator: Simulator) -> None:
    # To its end, the run would take 400 s.
    setup = SimulationSetup(np.linspace(0.0, 2.0, 40_001), output_names=("x",))
    simulator.simulate(SETUP, {"kind": SLOW, "speed": 0.001})

    def run_and_press() -> None:
        threading.Timer(0.3, _thread.interrupt_main).start()
        simulator.simulate(setup, {"kind": SLOW, "speed": 0.01})

    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        run_and_press()
    assert time.perf_counter() - began < 100.0
    assert np.isfinite(simulator.simulate(SETUP)).all()


def test_influence(trouble: Path, feedthrough: Builder) -> None:
    setup = SimulationSetup(np.linspace(0, 1, 5), ("u",), np.ones((5, 1)), ("z", "q"))
    with open_fmu(feedthrough()) as fmu, fmu.simulator() as simulator:
        ignored = influence(simulator, setup, "unused")
        assert not ignored.changed
        assert ignored.step == pytest.approx(0.01)
        used = influence(simulator, setup, "k", step=0.5)
        assert used.changed
        assert used.largest == {"z": 0.5, "q": 0.0}
    with open_fmu(trouble) as fmu, fmu.simulator() as simulator:
        fails = influence(simulator, SETUP, "kind")
        assert fails.changed
        assert "does not converge" in (fails.failure or "")


def test_importing_the_engine_does_not_load_the_compiler() -> None:
    code = (
        "import sys, fmident.fmu;"
        "print([m for m in ('numba', 'fmpy', 'pandas', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


STORM = """
import os, random, signal, sys
import numpy as np
from fmident.fmu import SimulationSetup, open_fmu

def interrupt(*_):
    raise KeyboardInterrupt

setup = SimulationSetup(np.linspace(0.0, 0.9, 10), output_names=("x",))
fmu = open_fmu(sys.argv[1])
simulator = fmu.simulator()
expected = simulator.simulate(setup)
terminal = os.fstat(1).st_ino, os.fstat(2).st_ino
signal.signal(signal.SIGALRM, interrupt)
interrupted = 0
for k in range(3000):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(2e-6, 120e-6))
        simulator.simulate(setup)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupted += 1
        assert (os.fstat(1).st_ino, os.fstat(2).st_ino) == terminal, k
signal.signal(signal.SIGALRM, signal.SIG_IGN)
assert np.array_equal(simulator.simulate(setup), expected)
# Between os.dup and noting its result lies one bytecode: about one signal in a hundred loses
# a descriptor there. A capture that forgot to close would lose one in each run.
print("interrupted", interrupted > 100, len(os.listdir("/proc/self/fd")) < 150)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts open files in /proc")
def test_ctrl_c_at_any_moment_leaves_terminal_and_simulator_whole(trouble: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STORM, str(trouble)], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout == "interrupted True True\n"
