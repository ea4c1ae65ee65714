"""Which tasks a worker simulates side by side, where the FMU can do that."""

from __future__ import annotations

from pathlib import Path

from fmident.evaluation.executors.processes.batch import Batch
from fmident.evaluation.executors.processes.worker import Sent, Worker, split_values
from fmident.fmu.batches import SIDE_BY_SIDE, largest_batch, offers_batches
from fmident.fmu.life_cycle.reset_test import ResetVerdict
from fmident.problem.model import EvaluationSettings

FEWEST = 4
"""Simulations that are worth a batch."""


class Shares:
    """Gives workers their shares of what waits.

    Parameters
    ----------
    fmu
        The ``.fmu`` file.
    settings
        Where memory or runs of a worker are limited, each simulation runs alone.
    workers
        Among how many it is divided.
    """

    def __init__(self, fmu: Path, settings: EvaluationSettings, workers: int) -> None:
        limited = settings.renew_after is not None or settings.memory_limit is not None
        self._offered = not limited and offers_batches(fmu)
        self._workers = workers
        self._alone: set[int] = set()  # numbers of setups that it does little for

    def give(
        self, worker: Worker, batch: Batch, names: tuple[str, ...], verdict: ResetVerdict | None
    ) -> None:
        """Have a worker simulate its share of what waits, from the first task on, if it pays.

        Parameters
        ----------
        worker
            One that has nothing to do and knows the setup of the first task.
        batch
            With at least one task.
        names
            Of the values of that task.
        verdict
            Whether the FMU can be reset.
        """
        if not batch.waiting or not self._offered:
            return
        prepared, _ = batch.work[batch.waiting[0]]
        setup = prepared.setup
        if prepared.number in self._alone or prepared.number not in worker.known:
            return
        if setup.sensitivities or (verdict and (verdict.reinstantiate or verdict.new_process)):
            return
        most = largest_batch(setup.times.size, setup.columns)
        most = min(most, -(-len(batch.waiting) // self._workers))
        values: dict[int, list[float]] = {}
        for index in batch.waiting:
            other, chosen = batch.work[index]
            their_names, numbers, others = split_values(chosen)
            alike = other.number == prepared.number and their_names == names and not others
            if alike and len(values) < most:
                values[index] = numbers
        if len(values) < FEWEST:
            return
        for index in values:
            batch.withdraw(index)
        worker.reserved.extend(values)
        worker.run_together(prepared.number, names, list(values.values()))

    def learn(self, sent: Sent, succeeded: int) -> None:
        """Take note of how many simulations of a share have succeeded."""
        if 2 * succeeded < sent.count:
            self._alone.add(sent.setup)  # most are stiff, or fail: that costs more

    def end(self) -> None:
        """Give no more shares."""
        self._offered = False


def time_of(sent: Sent, limit: float) -> float:
    """Return the seconds that a share may take, if a simulation may take `limit`."""
    return max(1.0, sent.count / SIDE_BY_SIDE) * limit
