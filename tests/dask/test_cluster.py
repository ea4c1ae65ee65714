"""The Dask executor on a cluster that is there already."""

from __future__ import annotations

import _thread
import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from fmident.errors import Code, Diagnostic, EstimationError, FmuError
from fmident.evaluation import SimulationFailure, SimulationTask, make_executor
from fmident.evaluation.tasks import Simulated
from fmident.problem.model import Problem
from fmident_dask import DASK, DaskExecutor
from fmident_dask.executor import Batch

from ..evaluation.executors.faults import lives
from ..outcomes import run_heard
from ..refused import refused
from .study import (
    ABORT,
    CRASH,
    EXIT,
    HANG,
    Cluster,
    assert_same,
    inline,
    make_problem,
    slow_tasks,
    some_tasks,
)

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        found.start_scheduler()
        found.start_workers(2)
        yield found
    finally:
        found.stop()


@pytest.fixture
def lonely(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler of the test's own, without workers."""
    found = Cluster(tmp_path)
    try:
        found.start_scheduler()
        yield found
    finally:
        found.stop()


@pytest.fixture
def problem(trouble: Path, cluster: Cluster) -> Problem:
    return make_problem(trouble, scheduler=cluster.address, timeout=30.0)


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Any]:
    with distributed.Client(cluster.address, set_as_default=False) as found:
        found.wait_for_workers(2)  # one that was killed comes again
        yield found


def pids(client: Any) -> dict[str, int]:
    found: dict[str, int] = client.run(os.getpid)
    return found


def test_the_same_bits_in_the_same_order_as_inline(problem: Problem) -> None:
    tasks = some_tasks(150)
    tasks[40] = SimulationTask(1, {"a": 1.0, "kind": 1})
    told: list[tuple[int, Simulated]] = []
    with DaskExecutor(problem) as executor:
        found = run_heard(executor, tasks, lambda *of: told.append(of))
        assert executor.run_all([]) == []
        assert executor.simultaneous == 2
        assert executor.report().name == "dask"
    assert_same(found, inline(problem, tasks))
    assert all(f.flags.writeable for f in found if not isinstance(f, SimulationFailure))
    assert sorted(index for index, _ in told) == list(range(len(tasks)))
    assert all(outcome is found[index] for index, outcome in told)


def test_an_experiment_that_is_not_of_the_problem(problem: Problem) -> None:
    times = np.linspace(0.0, 1.0, 11)
    other = replace(problem.experiments[0], name="other", times=times)
    values = [{"a": float(k)} for k in range(9)]
    with DaskExecutor(problem) as executor:
        found = executor.run_other(other, ("x", "a"), values)
        again = executor.run_other(other, ("x", "a"), values)
        with pytest.raises(FmuError, match="nothing"):
            executor.run_other(other, ("nothing",), values)
    for k, outputs in enumerate(found):
        assert not isinstance(outputs, SimulationFailure)
        np.testing.assert_allclose(outputs[:, 0], k * times)
        assert (outputs[:, 1] == k).all()
    assert_same(again, found)


def test_the_fmu_is_sent_once_per_worker_and_goes_with_the_executor(
    problem: Problem, client: Any
) -> None:
    def look(dask_worker: Any) -> list[tuple[int, int]]:
        files = sorted(Path(dask_worker.local_directory).glob("fmident/*/*.fmu"))
        return [(f.stat().st_mtime_ns, f.parent.stat().st_mode & 0o777) for f in files]

    with DaskExecutor(problem) as executor:
        executor.run_all(slow_tasks(12, 0.1))
        first = client.run(look)
        executor.run_all(slow_tasks(12, 0.1))
        assert client.run(look) == first
    assert [len(files) for files in first.values()] == [1, 1]
    assert {mode for files in first.values() for _, mode in files} == {0o700}
    assert not any(client.run(look).values())


@pytest.mark.nightly
def test_workers_keep_no_process_when_the_executor_is_closed(problem: Problem, client: Any) -> None:
    def children() -> set[int]:
        return {c.pid for pid in pids(client).values() for c in psutil.Process(pid).children()}

    before = children()
    with DaskExecutor(problem) as executor:
        executor.run_all(some_tasks(8))
        assert children() > before
    assert children() == before


@pytest.mark.parametrize(
    ("kind", "words"), [(CRASH, "SIGSEGV"), (ABORT, "SIGABRT"), (EXIT, "exit")]
)
def test_a_crash_costs_one_simulation(problem: Problem, client: Any, kind: int, words: str) -> None:
    before = pids(client)
    tasks = some_tasks(20)
    tasks[7] = SimulationTask(0, {"a": 7.0, "kind": kind})
    with DaskExecutor(problem) as executor:
        found = executor.run_all(tasks)
        report = executor.report()
    failure = found.pop(7)
    assert isinstance(failure, SimulationFailure)
    assert words.lower() in str(failure).lower()
    assert failure.parameters == {"a": 7.0, "kind": kind}
    assert failure.experiment == "short"
    assert_same(found, inline(problem, [*tasks[:7], *tasks[8:]]))
    assert pids(client) == before
    assert report.crashes == 1


@pytest.mark.nightly
def test_a_simulation_that_hangs_is_given_up(trouble: Path, cluster: Cluster) -> None:
    problem = make_problem(trouble, scheduler=cluster.address, timeout=2.0)
    tasks = [*some_tasks(3), SimulationTask(0, {"kind": HANG})]
    with DaskExecutor(problem) as executor:
        found = executor.run_all(tasks)
        assert executor.report().timeouts == 1
    assert isinstance(found[3], SimulationFailure)
    assert "2 s" in found[3].message
    assert_same(found[:3], inline(problem, tasks[:3]))


def test_a_worker_lost_in_the_middle_of_a_batch(problem: Problem, client: Any) -> None:
    tasks = slow_tasks(30, 0.1)
    victim = min(pids(client).values())

    def kill(index: int, _: object) -> None:
        if index == 9:
            os.kill(victim, signal.SIGKILL)

    with DaskExecutor(problem) as executor:
        found = run_heard(executor, tasks, kill)
    assert not lives(victim)
    assert_same(found, inline(problem, [replace(t, values={"a": t.values["a"]}) for t in tasks]))


def test_ctrl_c_stops_the_workers_as_well(trouble: Path, cluster: Cluster) -> None:
    problem = make_problem(trouble, scheduler=cluster.address, timeout=1200.0)
    long = slow_tasks(6, 600.0)
    with DaskExecutor(problem) as executor:
        executor.run_all(some_tasks(2))
        begin = time.monotonic()

        def run_and_interrupt() -> None:
            threading.Timer(1.0, _thread.interrupt_main).start()
            executor.run_all(long)

        with pytest.raises(KeyboardInterrupt):
            run_and_interrupt()
        tasks = some_tasks(10)
        assert_same(executor.run_all(tasks), inline(problem, tasks))
        # One of the long ones takes much longer.
        assert time.monotonic() - begin < 300.0


@pytest.mark.nightly
def test_a_scheduler_without_workers_is_waited_for_and_told_of(
    trouble: Path, lonely: Cluster
) -> None:
    told: list[Diagnostic] = []
    problem = make_problem(trouble, scheduler=lonely.address)
    with refused(Code.EXECUTOR_LOST, EstimationError) as caught:
        DaskExecutor(problem, patience=3.0, warn=told.append)
    assert f"dask worker {lonely.address}" in str(caught.value)
    assert "has no workers; waiting 3 s" in str(told[0])
    assert len(told) == 1


def test_warnings_go_to_whoever_asks_for_the_executor(
    trouble: Path, lonely: Cluster, recwarn: pytest.WarningsRecorder
) -> None:
    told: list[Diagnostic] = []

    def help_out(warning: Diagnostic) -> None:
        told.append(warning)
        lonely.start_workers(1, "--no-nanny")

    problem = make_problem(trouble, scheduler=lonely.address)
    logger = logging.getLogger("distributed.client")
    record = logging.makeLogRecord({"levelno": logging.ERROR})
    with make_executor(problem, {"dask": DASK}, warn=help_out):
        assert not logger.filter(record)
    assert logger.filter(record)
    assert len(told) == 1
    assert "has no workers" in told[0].message
    assert not any("has no workers" in str(w.message) for w in recwarn)


@pytest.mark.nightly
def test_workers_that_come_late_and_all_leave(trouble: Path, lonely: Cluster) -> None:
    problem = make_problem(trouble, scheduler=lonely.address)
    told: list[str] = []

    def help_out(warning: Diagnostic) -> None:
        told.append(str(warning))
        if len(told) < 3:
            lonely.start_workers(1, "--no-nanny")

    def kill_the_last_one(index: int, _: object) -> None:
        if index == 2:
            lonely.workers[-1].kill()

    tasks = slow_tasks(12, 0.2)
    plain = [replace(t, values={"a": t.values["a"]}) for t in tasks]
    with DaskExecutor(problem, patience=30.0, warn=help_out) as executor:
        # The second worker gets the FMU in the middle of the batch.
        assert_same(run_heard(executor, tasks, kill_the_last_one), inline(problem, plain))
        executor._trouble._limit = 3.0
        with refused(Code.EXECUTOR_LOST, EstimationError):
            run_heard(executor, tasks, kill_the_last_one)
    assert len(told) == 3
    assert all("has no workers; waiting" in words for words in told)


@pytest.mark.nightly
def test_a_worker_with_two_threads_runs_two_at_once(trouble: Path, lonely: Cluster) -> None:
    lonely.start_workers(1, "--no-nanny", "--nthreads", "2")
    problem = make_problem(trouble, scheduler=lonely.address)
    tasks = [*slow_tasks(4, 0.3), *some_tasks(20)]
    plain = [replace(t, values={"a": t.values["a"]}) for t in tasks]
    with DaskExecutor(problem) as executor:
        assert executor.simultaneous == 2
        assert_same(executor.run_all(tasks), inline(problem, plain))
        children = psutil.Process(lonely.workers[0].pid).children()
        assert len(children) == 2
    with DaskExecutor(problem, workers=1) as executor:
        assert executor.simultaneous == 1


@pytest.mark.nightly
def test_a_scheduler_that_is_lost(trouble: Path, lonely: Cluster) -> None:
    problem = make_problem(trouble, scheduler=lonely.address)
    lonely.start_workers(1, "--no-nanny")

    def kill(index: int, _: object) -> None:
        assert lonely.scheduler is not None
        lonely.scheduler.kill()

    with (
        DaskExecutor(problem, patience=5.0) as executor,
        refused(Code.EXECUTOR_LOST, EstimationError),
    ):
        run_heard(executor, slow_tasks(40, 0.2), kill)


def test_a_client_that_closes_between_a_look_and_a_submission(problem: Problem) -> None:
    experiment = problem.experiments[0]
    with DaskExecutor(problem) as executor:
        executor.client.close()
        with refused(Code.EXECUTOR_LOST, EstimationError):
            executor.run_all(some_tasks(3))
        with refused(Code.EXECUTOR_LOST, EstimationError):
            executor.run_other(experiment, ("x",), [{"a": 1.0}])


@pytest.mark.nightly
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_scheduler_that_is_lost_while_it_has_no_workers(
    trouble: Path, lonely: Cluster, how: int
) -> None:
    def kill(_: Diagnostic) -> None:
        assert lonely.scheduler is not None
        lonely.scheduler.send_signal(how)

    problem = make_problem(trouble, scheduler=lonely.address)
    with refused(Code.EXECUTOR_LOST, EstimationError):
        DaskExecutor(problem, patience=4.0, warn=kill)


def fake_fmident(folder: Path, *, installed: bool) -> dict[str, str]:
    """Return the environment of workers that find another fmident first."""
    package = folder / "fake" / "fmident"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "0.0.1"\n')
    if installed:
        about = package.parent / "fmident-0.0.1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: fmident\nVersion: 0.0.1\n")
    return {"PYTHONPATH": str(package.parent)}


@pytest.mark.each_time(r"True-worker tcp://\\S+ has fmident 0\\.0\\.1, this process fmident")
@pytest.mark.parametrize(
    ("installed", "words"),
    [
        (True, r"worker tcp://\S+ has fmident 0\.0\.1, this process fmident"),
        (False, r"worker tcp://\S+ cannot load fmident .*No module named 'fmident\."),
    ],
)
def test_workers_with_another_fmident(
    trouble: Path, lonely: Cluster, installed: bool, words: str
) -> None:
    lonely.start_workers(1, "--no-nanny", **fake_fmident(lonely.folder, installed=installed))
    problem = make_problem(trouble, scheduler=lonely.address)
    with pytest.raises(EstimationError, match=words) as caught:
        DaskExecutor(problem)
    assert "pip install" in str(caught.value)


@pytest.mark.nightly
def test_workers_that_come_later_are_asked_for_their_version(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    # For the workers, this process is another version.
    monkeypatch.setattr("fmident_dask.worker.__version__", "9.9")
    with (
        DaskExecutor(problem) as executor,
        pytest.raises(EstimationError, match=r"has fmident \S+, this process fmident 9\.9"),
    ):
        executor.run_all(some_tasks(3))


@pytest.mark.nightly
def test_a_worker_that_cannot_import_fmident_is_left_out(trouble: Path, lonely: Cluster) -> None:
    lonely.start_workers(1, "--no-nanny")
    problem = make_problem(trouble, scheduler=lonely.address)
    with DaskExecutor(problem) as executor:
        executor.run_all(some_tasks(3))
        lonely.start_workers(1, "--no-nanny", **fake_fmident(lonely.folder, installed=False))
        # Dask itself ends a worker that cannot read what it is told to run.
        deadline = time.monotonic() + 300.0
        while lonely.workers[1].poll() is None:
            assert time.monotonic() < deadline
            assert all(isinstance(o, np.ndarray) for o in executor.run_all(slow_tasks(8, 0.1)))


def test_a_chunk_brings_back_what_it_has_when_its_time_is_up(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunks: list[tuple[int, int]] = []
    keep = Batch._keep

    def noted(self: Batch, part: Any, outcomes: Any) -> None:
        chunks.append((part.end - part.begin, len(outcomes)))
        keep(self, part, outcomes)

    monkeypatch.setattr(Batch, "_keep", noted)
    with DaskExecutor(problem) as executor:
        outcomes = executor.run_all(slow_tasks(24, 0.2))
    assert any(asked >= 6 and got < asked for asked, got in chunks)
    assert sum(got for _, got in chunks) == len(outcomes) == 24
