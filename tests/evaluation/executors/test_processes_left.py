"""FMUs that hang, wherever they do, and FMUs that start processes: neither outlives a run."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from fmident.errors import Code, FmuError, SimulationError
from fmident.evaluation import ProcessExecutor
from fmident.evaluation.executors.processes import executor as processes
from fmident.evaluation.executors.processes import worker
from fmident.fmu import SimulationSetup, check_survives
from fmident.fmu.processes import guard
from fmident.fmu.processes.guard import simulate_apart
from fmident.validation import children as checks
from fmident.validation import validate_fmu

from ...refused import refused
from . import faults
from .faults import BuildFaults, failure, lives, make_problem, task
from .hung import hurry

pytestmark = pytest.mark.slow

SETUP = SimulationSetup(np.linspace(0.0, 1.0, 5), output_names=("x",))
CALLS = ["LOAD", "INSTANTIATE", "SETUP", "STEP", "TERMINATE", "FREE"]


@pytest.fixture(autouse=True)
def passing_limits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hurry(monkeypatch, tmp_path, clocks=(guard, processes, worker, checks))
    monkeypatch.setattr(processes, "_LIFE_POLL", 0.02)  # how often it looks at the clock
    monkeypatch.setattr(processes, "STARTS", 1)


@pytest.fixture
def hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "pids"
    monkeypatch.setenv("FMIDENT_TEST_PIDS", str(file))
    return file


def started(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().split()]


def assert_gone(file: Path, least: int) -> None:
    """SIGKILL was sent; the end of a process may take a moment."""
    pids = started(file)
    assert len(pids) >= least
    deadline = time.monotonic() + 30.0
    while any(lives(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(lives(pid) for pid in pids)


@pytest.mark.each_time("LOAD", "STEP")
@pytest.mark.parametrize("call", CALLS)
def test_a_hang_ends_a_simulation_wherever_it_is(faulty: BuildFaults, call: str) -> None:
    path = faulty(f"HANG_ON_{call}")
    if call == "FREE":
        found = simulate_apart(path, SETUP, patience=30.0)
        assert found.failure is None
        assert "did not answer within 30 s, while it was being freed" in found.remark
    else:
        with refused(Code.TIMED_OUT, SimulationError):
            simulate_apart(path, SETUP, patience=30.0)
    with refused(Code.TIMED_OUT, SimulationError):
        check_survives(path, SETUP, timeout=30.0)


@pytest.mark.each_time("LOAD", "STEP")
@pytest.mark.parametrize("call", CALLS)
def test_a_hang_ends_the_checks_wherever_it_is(faulty: BuildFaults, call: str) -> None:
    found = validate_fmu(faulty(f"HANG_ON_{call}"), timeout=30.0)
    failed = [check.detail for check in found if not check.passed]
    assert any("within 30 s" in detail for detail in failed), failed


@pytest.mark.each_time("LOAD", "STEP", "FREE")
@pytest.mark.parametrize("call", CALLS)
def test_a_hang_ends_a_worker_wherever_it_is(faulty: BuildFaults, call: str) -> None:
    with ProcessExecutor(make_problem(faulty(f"HANG_ON_{call}"), timeout=30.0, workers=1)) as used:
        if call in ("LOAD", "INSTANTIATE"):
            with pytest.raises(FmuError, match="did not answer within 60 s"):
                used.run_all([task(1.0)])
        elif call == "FREE":
            used.run_all([task(1.0)])
        else:
            (found,) = used.run_all([task(1.0)])
            assert "did not answer within 30 s" in failure(found).message
    assert used.pids == ()


def test_processes_of_an_fmu_end_with_its_simulation(faulty: BuildFaults, hidden: Path) -> None:
    path = faulty("FORKS")
    assert simulate_apart(path, SETUP).failure is None
    assert_gone(hidden, 1)
    check_survives(path, SETUP)
    assert_gone(hidden, 2)


def test_processes_of_an_fmu_end_with_the_checks(faulty: BuildFaults, hidden: Path) -> None:
    assert validate_fmu(faulty("FORKS"))
    assert_gone(hidden, 1)


def test_processes_of_an_fmu_end_with_their_worker(faulty: BuildFaults, hidden: Path) -> None:
    problem = make_problem(faulty("FORKS"), workers=1, renew_after=2)
    with ProcessExecutor(problem) as executor:
        executor.run_all([task(1.0)] * 5)
        assert executor.report().renewals >= 1
        # One that dies of itself: what it has started holds the pipe to this process open.
        (lost,) = executor.run_all([task(1.0, kind=float(faults.CRASH))])
        assert "SIGSEGV" in failure(lost).message
        assert executor.run_all([task(1.0)])
    assert_gone(hidden, 3)
