"""What a batch makes of the answers of a cluster, with a cluster that only answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
import pytest

from fmident.errors import Code, EstimationError, FmuError
from fmident.evaluation import SimulationFailure, SimulationTask

from ..refused import refused

distributed = pytest.importorskip("distributed")

from fmident_dask.executor import Batch  # noqa: E402 - needs distributed
from fmident_dask.worker import Ran  # noqa: E402

Tasks = Sequence[SimulationTask]
Answer = Callable[[Tasks], Any]


class Future:
    def __init__(self, answer: object) -> None:
        self.answer = answer

    def result(self) -> object:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def add_done_callback(self, callback: Callable[[Future], None]) -> None:
        callback(self)


class Cluster:
    """Answers to chunks in place of an executor with workers."""

    simultaneous = 2

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.chunks: list[Tasks] = []
        self.counts: Counter[str] = Counter()
        self.looks = self.called_off = self.explained = 0

    def submit(self, tasks: Tasks, other: object, batch: str) -> Future:
        self.chunks.append(tasks)
        return Future(self.answer(tasks))

    def call_off(self, futures: Sequence[Future], batch: str) -> None:
        self.called_off += 1

    def look(self) -> None:
        self.looks += 1

    def explain(self) -> None:
        self.explained += 1

    def take(self, counts: Counter[str], notes: object = (), doubts: object = ()) -> None:
        self.counts += counts


def ran(tasks: Tasks, count: int | None = None) -> Ran:
    outcomes: list[Any] = [np.array([[task.values["a"]]]) for task in tasks[:count]]
    return Ran(outcomes, Counter(renewals=1), (), ())


def batch_of(cluster: Cluster, count: int) -> Batch:
    tasks = [SimulationTask(0, {"a": float(k)}) for k in range(count)]
    executor: Any = cluster
    return Batch(executor, tasks, ["step 0"])


def run(cluster: Cluster, count: int) -> list[Any]:
    outcomes = dict(batch_of(cluster, count).run())
    return [outcomes[index] for index in range(count)]


def numbers(outcomes: Sequence[Any]) -> list[float]:
    return [float(outcome[0, 0]) for outcome in outcomes]


def test_chunks_come_back_in_order() -> None:
    cluster = Cluster(ran)
    assert numbers(run(cluster, 50)) == list(range(50))
    lengths = [len(chunk) for chunk in cluster.chunks]
    assert cluster.counts["renewals"] == len(lengths) < 50
    # As long as there is much left, and one by one in the end, so that no worker is idle.
    assert lengths == sorted(lengths, reverse=True)
    assert (lengths[0], lengths[-1]) == (13, 1)


def test_what_a_chunk_leaves_is_sent_again() -> None:
    cluster = Cluster(lambda tasks: ran(tasks, 1))
    assert numbers(run(cluster, 20)) == list(range(20))
    assert len(cluster.chunks) == 20


def test_workers_that_never_run_anything_are_an_error() -> None:
    cluster = Cluster(lambda tasks: ran(tasks, 0))
    with refused(Code.EXECUTOR_LOST, EstimationError):
        run(cluster, 3)
    assert cluster.called_off


def test_a_cancelled_chunk_is_sent_again_after_a_look() -> None:
    def answer(tasks: Tasks) -> object:
        return CancelledError() if len(cluster.chunks) == 1 else ran(tasks)

    cluster = Cluster(answer)
    assert numbers(run(cluster, 9)) == list(range(9))
    assert cluster.looks == 1
    assert cluster.counts["again"] == 1


def test_a_simulation_that_takes_its_workers_along_is_found() -> None:
    def answer(tasks: Tasks) -> object:
        if any(task.values["a"] == 13.0 for task in tasks):
            return distributed.KilledWorker("task", None, 3)
        return ran(tasks)

    outcomes = run(Cluster(answer), 30)
    failure = outcomes.pop(13)
    assert isinstance(failure, SimulationFailure)
    assert failure.parameters == {"a": 13.0}
    assert failure.experiment == "step 0"
    assert failure.code == Code.PROCESS_CRASHED
    assert numbers(outcomes) == [k for k in range(30) if k != 13]


@pytest.mark.parametrize("error", [FmuError("no binary"), ZeroDivisionError("x")])
def test_an_error_of_a_worker_is_raised_as_it_is(error: Exception) -> None:
    cluster = Cluster(lambda _: error)
    with pytest.raises(type(error), match=str(error)):
        run(cluster, 3)
    assert cluster.explained == isinstance(error, ZeroDivisionError)


def test_ctrl_c_calls_the_rest_off() -> None:
    cluster = Cluster(ran)
    outcomes: Any = batch_of(cluster, 9).run()
    next(outcomes)
    with pytest.raises(KeyboardInterrupt):
        outcomes.throw(KeyboardInterrupt)
    assert cluster.called_off == 1


def test_who_closes_a_batch_early_calls_the_rest_off() -> None:
    cluster = Cluster(ran)
    outcomes: Any = batch_of(cluster, 9).run()
    next(outcomes)
    outcomes.close()
    assert cluster.called_off == 1
