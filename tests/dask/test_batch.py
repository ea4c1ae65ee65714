"""What a batch makes of the answers of a cluster, with a cluster that only answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
import pytest

from fmident.errors import Code, EstimationError, FmuError
from fmident.evaluation import SimulationFailure, SimulationTask
from fmident_dask.batch import Batch
from fmident_dask.local import ChunkSizes
from fmident_dask.shipments import Chunk, Missing, Ran, Refused, WorkerCounts

from ..refused import refused

distributed = pytest.importorskip("distributed")

Answer = Callable[[Chunk], Any]


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
    """Answers to chunks in place of a client."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.chunks: list[Chunk] = []
        self.supplied: list[tuple[str, tuple[str, ...]]] = []
        self.looks = 0
        self.called_off = 0

    def submit(self, _: object, chunk: Chunk, **options: object) -> Future:
        self.chunks.append(chunk)
        return Future(self.answer(chunk))

    def cancel(self, futures: Sequence[Future], **options: object) -> None:
        self.called_off += 1

    def run(self, *of: object, **options: object) -> None:
        self.called_off += 1

    def supply(self, worker: str, keys: Sequence[str]) -> None:
        self.supplied.append((worker, tuple(keys)))

    def look(self) -> None:
        self.looks += 1


def ran(chunk: Chunk, count: int | None = None) -> Ran:
    tasks = chunk.tasks[:count]
    return Ran([np.array([[task.values["a"]]]) for task in tasks], 1e-3, WorkerCounts(renewals=1))


def batch_of(
    cluster: Cluster,
    count: int,
    known: float | None = 1e-3,
    answered: Callable[[], None] = lambda: None,
    **more: Any,
) -> Batch:
    tasks = [SimulationTask(0, {"a": float(k)}) for k in range(count)]
    sizes = ChunkSizes([8])
    if known is not None:
        sizes.observe(tasks[:1], known)
    template = Chunk("fmu", "problem", None, "batch", 0.0, ())
    client: Any = cluster
    return Batch(
        client,
        template,
        tasks,
        sizes,
        lambda: 2,
        cluster.supply,
        cluster.look,
        answered,
        lambda _: None,
        **more,
    )


def numbers(outcomes: Sequence[Any]) -> list[float]:
    return [float(outcome[0, 0]) for outcome in outcomes]


def test_chunks_come_back_in_order() -> None:
    cluster = Cluster(ran)
    answers: list[None] = []
    batch = batch_of(cluster, 50, answered=lambda: answers.append(None))
    assert numbers(batch.run()) == list(range(50))
    # Each answer ends whatever trouble there was.
    assert len(answers) == len(cluster.chunks)
    assert batch.counts.renewals == len(cluster.chunks) < 50
    assert all(chunk.batch == "batch" and chunk.seconds > 0.0 for chunk in cluster.chunks)


def test_what_a_chunk_leaves_is_sent_again() -> None:
    cluster = Cluster(lambda chunk: ran(chunk, 1))
    assert numbers(batch_of(cluster, 20).run()) == list(range(20))
    assert len(cluster.chunks) == 20


def test_a_worker_that_lacks_something_gets_it() -> None:
    def answer(chunk: Chunk) -> object:
        return ran(chunk) if cluster.supplied else Missing("tcp://w", ("fmu",))

    cluster = Cluster(answer)
    assert numbers(batch_of(cluster, 9).run()) == list(range(9))
    assert set(cluster.supplied) == {("tcp://w", ("fmu",))}


def test_a_worker_that_never_keeps_what_it_gets_is_an_error() -> None:
    cluster = Cluster(lambda _: Missing("tcp://w", ("fmu",)))
    with refused(Code.EXECUTOR_LOST, EstimationError, match="tcp://w"):
        batch_of(cluster, 3).run()
    assert cluster.called_off


def test_a_cancelled_chunk_is_sent_again_after_a_look() -> None:
    def answer(chunk: Chunk) -> object:
        return CancelledError() if len(cluster.chunks) == 1 else ran(chunk)

    cluster = Cluster(answer)
    batch = batch_of(cluster, 9)
    assert numbers(batch.run()) == list(range(9))
    assert cluster.looks == 1
    assert batch.counts.again == 1


def test_a_simulation_that_takes_its_workers_along_is_found() -> None:
    def answer(chunk: Chunk) -> object:
        if any(task.values["a"] == 13.0 for task in chunk.tasks):
            return distributed.KilledWorker("task", None, 3)
        return ran(chunk)

    cluster = Cluster(answer)
    outcomes = batch_of(cluster, 30, name_of=lambda task: f"step {task.experiment}").run()
    failure = outcomes.pop(13)
    assert isinstance(failure, SimulationFailure)
    assert failure.parameters == {"a": 13.0}
    assert failure.experiment == "step 0"
    assert failure.code == Code.PROCESS_CRASHED
    assert numbers(outcomes) == [k for k in range(30) if k != 13]


@pytest.mark.parametrize("error", [FmuError("no binary"), FmuError("x", hint="y")])
def test_an_fmu_that_cannot_be_used_is_an_error(error: FmuError) -> None:
    with pytest.raises(FmuError, match=error.message):
        batch_of(Cluster(lambda _: Refused("tcp://w", error)), 3).run()


def test_an_unexpected_error_is_raised_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        batch_of(Cluster(lambda _: ZeroDivisionError()), 3).run()


def test_ctrl_c_calls_the_rest_off() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    cluster = Cluster(ran)
    with pytest.raises(KeyboardInterrupt):
        batch_of(cluster, 9, done=interrupt).run()
    assert cluster.called_off == 2


def test_a_client_that_is_closed_does_not_hide_why() -> None:
    class Closed(Cluster):
        def look(self) -> None:
            raise EstimationError("the Dask scheduler is gone")

        def cancel(self, futures: Sequence[Future], **options: object) -> None:
            raise distributed.client.ClosedClientError("Can't send cancel-keys message.")

    with pytest.raises(EstimationError, match="the Dask scheduler is gone"):
        batch_of(Closed(lambda _: CancelledError()), 3).run()
