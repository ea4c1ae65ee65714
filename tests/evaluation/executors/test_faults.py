"""What FMUs do wrong costs the simulations in which they do it, and nothing else."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from fmident.errors import Code, EstimationError, FmuError
from fmident.evaluation import InProcessExecutor, ProcessExecutor, Simulated
from fmident.evaluation.executors import base
from fmident.evaluation.executors.processes import executor as processes
from fmident.operating_system import PrivateMemory

from ...refused import refused
from . import faults
from .faults import BuildFaults, failure, lives, make_problem, same, task

pytestmark = pytest.mark.slow

GOOD = [task(0.1 * k, k % 2) for k in range(10)]


@pytest.fixture(scope="module")
def reference(fmu: Path) -> list[Simulated]:
    with InProcessExecutor(make_problem(fmu)) as executor:
        return executor.run_all(GOOD)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (faults.CRASH, "SIGSEGV"),
        (faults.ABORT, "SIGABRT"),
        (faults.KILLED, "SIGKILL"),
        (faults.EXIT, "exit code 3"),
        (faults.QUIT, "exit code 4"),
    ],
)
def test_the_end_of_a_worker_costs_one_simulation(
    fmu: Path, reference: list[Simulated], kind: int, words: str
) -> None:
    with ProcessExecutor(make_problem(fmu)) as executor:
        found = executor.run_all([*GOOD[:5], task(7.0, kind=float(kind)), *GOOD[5:]])
        lost = failure(found.pop(5))
        assert same(found, reference)
        assert words in lost.message
        assert lost.parameters == {"a": 7.0, "b": 0.5, "kind": float(kind)}
        assert lost.experiment == "long"
        assert lost.time == pytest.approx(1.0)
        assert " at 1 s" in str(lost)
        assert lost.hint
        report = executor.report()
        assert report.crashes == 1
        assert same(executor.run_all(GOOD), reference)
        assert not any("[" in note for note in report.notes)
    assert executor.pids == ()


def test_crashes_for_some_parameters_only(fmu: Path, reference: list[Simulated]) -> None:
    problem = make_problem(fmu, start={"kind": float(faults.CRASH), "threshold": 5.0})
    with ProcessExecutor(problem) as executor:
        found = executor.run_all([*GOOD, *(task(6.0 + k) for k in range(4))])
        assert same(found[:10], reference)
        assert all("SIGSEGV" in failure(lost).message for lost in found[10:])
        assert executor.report().crashes == 4


class Deadly(float):
    """A start value that ends whoever unpickles it: a worker that takes a setup."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.abort, ()


def test_workers_that_die_of_a_setup_cost_what_they_would_have_run(fmu: Path) -> None:
    # Both learn the setup for the same task at the same time.
    problem = make_problem(fmu, start={"b": Deadly(0.5)})
    with ProcessExecutor(problem) as executor:
        found = executor.run_all([task(0.1 * k) for k in range(5)])
    assert all("SIGABRT" in failure(lost).message for lost in found)


def test_last_words_are_told(fmu: Path) -> None:
    with ProcessExecutor(make_problem(fmu)) as executor:
        (lost,) = executor.run_all([task(1.0, kind=float(faults.FATAL))])
        assert "out of everything" in failure(lost).message
        # A worker writes its messages to memory that outlives it, and what it prints to a pipe.
        (lost,) = executor.run_all([task(1.0, kind=float(faults.CRASH))])
        assert "SIGSEGV" in failure(lost).message


def test_a_hang_inside_one_call_ends_at_the_timeout(fmu: Path, reference: list[Simulated]) -> None:
    with ProcessExecutor(make_problem(fmu, timeout=3.0)) as executor:
        executor.run_all(GOOD)
        found = executor.run_all([task(1.0, kind=float(faults.HANG)), *GOOD])
        assert "did not answer within 3 s" in failure(found[0]).message
        assert "timeout" in (failure(found[0]).hint or "")
        assert same(found[1:], reference)
        assert executor.report().timeouts == 1
        assert executor.report().crashes == 0


def test_a_hang_at_the_start_values_is_told_soon(
    fmu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The trial of the reset hangs first; loading has much more time than it has.
    assert processes.START_LIMIT >= 60.0
    monkeypatch.setattr(processes, "START_LIMIT", 600.0)
    problem = make_problem(fmu, timeout=1.0, workers=1, start={"kind": float(faults.HANG)})
    begun = time.monotonic()
    with ProcessExecutor(problem) as executor:
        found = executor.run_all([task(1.0), task(1.0, kind=float(faults.FINE))])
        assert failure(found[0]).code == Code.TIMED_OUT
        assert hasattr(found[1], "shape")
    assert time.monotonic() - begun < 300.0


@pytest.mark.parametrize("kind", [InProcessExecutor, ProcessExecutor])
def test_a_slow_simulation_is_given_up_between_two_steps(
    fmu: Path,
    kind: type[InProcessExecutor] | type[ProcessExecutor],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # However late this process is, it must not be the one that ends the simulation.
    monkeypatch.setattr(processes, "_GRACE", 600.0)
    with kind(make_problem(fmu, timeout=2.0)) as executor:
        executor.run_all(GOOD[:1])
        found = executor.run_all([task(1.0, pace=0.3), task(1.0)])
        assert failure(found[0]).code == Code.TIMED_OUT
        assert same(found[1:], executor.run_all([task(1.0)]))
        report = executor.report()
        assert (report.timeouts, report.crashes) == (1, 0)


@pytest.mark.parametrize("executor_kind", [InProcessExecutor, ProcessExecutor])
def test_what_the_fmu_reports_is_passed_on(
    fmu: Path,
    reference: list[Simulated],
    executor_kind: type[InProcessExecutor] | type[ProcessExecutor],
    subtests: pytest.Subtests,
) -> None:
    with executor_kind(make_problem(fmu)) as executor:
        for kind, words in (
            (faults.DISCARD, "no convergence at 1"),
            (faults.ERROR, "singular at 1"),
            (faults.FATAL, "out of everything"),
            (faults.NAN, "nan"),
            (faults.INF, "inf"),
        ):
            with subtests.test(words):
                found = executor.run_all([*GOOD, task(1.0, kind=float(kind)), *GOOD])
                lost = failure(found.pop(10))
                assert words in lost.message
                assert lost.time == pytest.approx(1.0, abs=0.11)
                assert same(found, [*reference, *reference])
                assert executor.report().crashes == 0


def test_a_leak_renews_the_worker(
    fmu: Path, reference: list[Simulated], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "GROWTH_LIMIT", 55_000_000)
    with ProcessExecutor(make_problem(fmu, workers=1)) as executor:
        found = executor.run_all([task(1.0, kind=float(faults.LEAK))] * 27)
        assert not any(isinstance(o, type(None)) for o in found)
        report = executor.report()
        # 55 MB of growth after the first run are reached with the seventh run of each worker;
        # an eighth may have been sent before that was seen. Both are three workers in 27 runs.
        assert report.renewals == 3
        assert same(executor.run_all(GOOD), reference)
    assert base.GROWTH_LIMIT == 256 * 1024 * 1024


def test_a_leak_that_frequent_new_experiments_hide_is_found(
    fmu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    from fmident.data.experiment import Experiment

    monkeypatch.setattr(processes, "GROWTH_LIMIT", 55_000_000)
    with ProcessExecutor(make_problem(fmu, workers=1)) as executor:
        for k in range(16):
            experiment = Experiment(f"e{k}", np.linspace(0.0, 2.0, 21), {}, ())
            executor.run_other(experiment, ["x"], [{"kind": float(faults.LEAK)}])
        # Each new experiment runs twice, to see whether a reset does for it.
        assert executor.report().renewals == 4


def test_renewal_after_a_number_of_runs(fmu: Path, reference: list[Simulated]) -> None:
    with ProcessExecutor(make_problem(fmu, workers=1, renew_after=4)) as executor:
        assert same(executor.run_all(GOOD), reference)
        assert executor.report().renewals == 2
    with InProcessExecutor(make_problem(fmu, renew_after=4)) as inline:
        assert same(inline.run_all(GOOD), reference)
        assert inline.report().renewals == 2


def test_inline_tells_of_a_leak_that_it_cannot_mend(
    fmu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fmident.evaluation.executors import inline as inline_module

    monkeypatch.setattr(inline_module, "GROWTH_LIMIT", 55_000_000)
    with InProcessExecutor(make_problem(fmu)) as executor:
        executor.run_all(GOOD)
        assert not executor.memory_grows
        executor.run_all([task(1.0, kind=float(faults.LEAK))] * 8)
        assert executor.memory_grows
        assert "leak memory" in executor.report().notes[0]


def test_memory_limit(fmu: Path, reference: list[Simulated]) -> None:
    problem = make_problem(fmu, memory_limit=600_000_000)
    with ProcessExecutor(problem) as executor:
        found = executor.run_all([*GOOD, task(2.0, kind=float(faults.GREEDY))])
        assert "took more memory than the limit of 600 MB" in failure(found[10]).message
        assert failure(found[10]).code == Code.OUT_OF_MEMORY
        assert failure(found[10]).parameters["a"] == 2.0
        assert "memory_limit_mb" in (failure(found[10]).hint or "")
        assert same(found[:10], reference)


def test_a_leak_below_a_memory_limit_costs_no_simulation(
    fmu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ProcessExecutor(make_problem(fmu, workers=1)) as executor:
        (right,) = executor.run_all([task(1.0)])
        limit = executor._workers[0].resident + 100_000_000
    leaks = [task(1.0, kind=float(faults.LEAK), pace=0.003)] * 40  # of 10 MB each
    with ProcessExecutor(make_problem(fmu, workers=2, memory_limit=limit)) as executor:
        assert same(executor.run_all(leaks[:30]), [right] * 30)
        # Half of the limit at most is used up.
        assert executor.report().renewals >= 4
        assert executor.report().crashes == 0
    # Where workers do not go before they are killed, each victim has a second chance.
    monkeypatch.setattr(ProcessExecutor, "_allowance", lambda *_: 1e12)
    for workers in (1, 2):
        # A worker has room for ten: without a second renewal they would do ten fewer.
        runs = 10 * (workers + 2)
        with ProcessExecutor(make_problem(fmu, workers=workers, memory_limit=limit)) as executor:
            assert same(executor.run_all(leaks[:runs]), [right] * runs)
            assert executor.report().renewals >= 2
            assert executor.report().crashes == 0


def test_what_no_worker_has_memory_for_is_run_twice_and_no_more(fmu: Path) -> None:
    with ProcessExecutor(make_problem(fmu, memory_limit=600_000_000)) as executor:
        executor.run_all(GOOD)
        greedy = [task(float(k), kind=float(faults.GREEDY)) for k in range(2)]
        found = executor.run_all([*greedy, *GOOD])
        assert all(failure(lost).code == Code.OUT_OF_MEMORY for lost in found[:2])
        assert executor.report().crashes == 2


def test_a_memory_limit_that_no_worker_can_keep_is_refused(fmu: Path) -> None:
    with (
        ProcessExecutor(make_problem(fmu, memory_limit=1_000_000)) as executor,
        refused(Code.OUT_OF_MEMORY, EstimationError) as caught,
    ):
        executor.run_all(GOOD)
    assert "memory_limit_mb" in (caught.value.hint or "")


def test_endless_output_fills_nothing(
    fmu: Path, reference: list[Simulated], capfd: pytest.CaptureFixture[str]
) -> None:
    with ProcessExecutor(make_problem(fmu, timeout=3.0)) as executor:
        executor.run_all(GOOD)
        before = PrivateMemory()()
        found = executor.run_all([task(1.0, kind=float(faults.FLOOD)), *GOOD])
        grown = PrivateMemory()() - before
    lost = failure(found[0])
    assert lost.code == Code.TIMED_OUT
    assert sum(map(len, lost.log)) < 200_000
    assert any("flood" in line for line in lost.log)
    assert grown < 20_000_000
    assert same(found[1:], reference)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", [InProcessExecutor, ProcessExecutor])
def test_an_fmu_that_prints_all_the_time_is_only_slower(
    fmu: Path,
    capfd: pytest.CaptureFixture[str],
    kind: type[InProcessExecutor] | type[ProcessExecutor],
) -> None:
    with kind(make_problem(fmu)) as executor:
        found = executor.run_all([task(1.0, kind=float(faults.CHATTER))] * 6 + [task(1.0)])
        assert same(found[:6], [found[6]] * 6)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", [InProcessExecutor, ProcessExecutor])
def test_a_changed_working_directory_does_no_harm(
    fmu: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[InProcessExecutor] | type[ProcessExecutor],
) -> None:
    monkeypatch.chdir(tmp_path)
    with kind(make_problem(fmu)) as executor:
        found = executor.run_all([task(1.0, kind=float(faults.CHDIR)), task(1.0)])
        assert Path.cwd() == tmp_path
        assert same(found[:1], found[1:])
    assert Path.cwd() == tmp_path


def test_a_worker_killed_from_outside(fmu: Path, reference: list[Simulated]) -> None:
    with ProcessExecutor(make_problem(fmu)) as executor:
        assert same(executor.run_all(GOOD), reference)
        # While it rests: nobody notices.
        victim = executor.pids[0]
        os.kill(victim, signal.SIGKILL)
        while lives(victim):
            time.sleep(0.01)
        assert same(executor.run_all(GOOD), reference)
        # While it works: that one simulation is lost.
        slow = [task(1.0, pace=0.1), task(1.5, pace=0.1)]
        # The one from before may still be listed, if its end has not been noticed.
        victim = next(w for w in executor._workers if lives(w.pid))
        before = victim.begun()

        def strike() -> None:
            while victim.begun() == before:
                time.sleep(0.005)
            os.kill(victim.pid, signal.SIGKILL)

        striker = threading.Thread(target=strike)
        striker.start()
        found = executor.run_all(slow)
        striker.join()
        lost = [o for o in found if not hasattr(o, "shape")]
        assert len(lost) == 1
        assert failure(lost[0]).code == Code.PROCESS_KILLED
        assert same(executor.run_all(GOOD), reference)


@pytest.mark.parametrize("define", ["CRASH_AT_LOAD", "CRASH_ON_LOAD"])
def test_an_fmu_that_cannot_be_loaded_ends_in_a_clear_error(
    faulty: BuildFaults, define: str
) -> None:
    path = faulty(define)
    with (
        ProcessExecutor(make_problem(path)) as executor,
        pytest.raises(FmuError, match=r"no worker process can load the FMU.*SIG(SEGV|ABRT)"),
    ):
        executor.run_all(GOOD)
    assert executor.pids == ()


def test_an_fmu_that_refuses_to_be_instantiated(faulty: BuildFaults) -> None:
    with (
        ProcessExecutor(make_problem(faulty("REFUSE"))) as executor,
        pytest.raises(FmuError, match="no licence for 3 seats"),
    ):
        executor.run_all(GOOD)


def test_a_crash_at_the_end_of_the_worker_disturbs_nobody(faulty: BuildFaults) -> None:
    path = faulty("CRASH_ON_FREE")
    with ProcessExecutor(make_problem(path, renew_after=3)) as executor:
        found = executor.run_all(GOOD[:4])
        assert all(hasattr(o, "shape") for o in found)
        # That of the trial of the reset; each simulation has a process of its own then.
        assert executor.report().crashes == 1
    assert executor.pids == ()


def test_no_process_memory_or_folder_is_left(
    fmu: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gc.collect()  # what other tests have left to be closed
    shared = set(Path("/dev/shm").iterdir())
    opened = len(list(Path("/proc/self/fd").iterdir()))
    executor = ProcessExecutor(make_problem(fmu))
    executor.run_all([*GOOD, task(1.0, kind=float(faults.CRASH))])
    pids = executor.pids
    assert pids
    executor.close()
    assert not any(lives(pid) for pid in pids)
    assert list(tmp_path.iterdir()) == []
    # Other processes of this machine may make some in between; those they take away again.
    deadline = time.monotonic() + 60.0
    while new := set(Path("/dev/shm").iterdir()) - shared:
        assert time.monotonic() < deadline, new
        time.sleep(0.1)
    assert len(list(Path("/proc/self/fd").iterdir())) <= opened


def test_the_time_limit_of_an_inline_run_holds_after_a_quick_one(fmu: Path) -> None:
    with InProcessExecutor(make_problem(fmu, timeout=2.0)) as executor:
        executor.run_all(GOOD)
        (lost,) = executor.run_all([task(1.0, pace=0.2)])
        assert failure(lost).code == Code.TIMED_OUT
