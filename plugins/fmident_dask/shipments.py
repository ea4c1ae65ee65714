"""Data sent between the estimation and the workers of a cluster.

Everything large is a shipment: bytes identified by their SHA-256 that a worker receives
once and keeps. Chunks, the tasks of the cluster, hold only such keys and parameter
values.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from fmident.errors import FmidentError
from fmident.evaluation.tasks import Simulated, SimulationTask
from fmident.problem.model import EstimatorSettings, Problem

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment
    from fmident.evaluation.executors.base import ExecutorReport


@dataclass(frozen=True)
class Shipment:
    """A file that workers keep; the key is its SHA-256, the name is for messages."""

    key: str
    name: str
    content: bytes

    @classmethod
    def of(cls, name: str, content: bytes) -> Shipment:
        """Return the shipment of a file's content."""
        return cls(hashlib.sha256(content).hexdigest(), Path(name).name, content)

    @property
    def is_sound(self) -> bool:
        """Whether the content has the SHA-256 of the key."""
        return hashlib.sha256(self.content).hexdigest() == self.key


@dataclass(frozen=True)
class OtherExperiment:
    """An experiment that need not belong to the problem, and the variables to record."""

    experiment: Experiment
    variables: tuple[str, ...]


@dataclass(frozen=True)
class Chunk:
    """Simulations that one worker runs one after the other.

    `fmu` and `problem` are keys of shipments, and so is `other`, an
    :class:`OtherExperiment` that replaces the problem's experiments. `batch` identifies the
    batch, so that the rest of it can be cancelled; after `seconds` no further task is
    started.
    """

    fmu: str
    problem: str
    other: str | None
    batch: str
    seconds: float
    tasks: tuple[SimulationTask, ...]

    @property
    def shipments(self) -> tuple[str, ...]:
        """Keys of all shipments that it needs."""
        return tuple(key for key in (self.fmu, self.problem, self.other) if key is not None)


@dataclass(frozen=True)
class WorkerCounts:
    """Events in the workers.

    `again` counts chunks that were run again because a worker or a connection was lost; the
    other fields are those of :class:`~fmident.evaluation.executors.base.ExecutorReport`.
    """

    renewals: int = 0
    crashes: int = 0
    timeouts: int = 0
    notes: tuple[str, ...] = ()
    again: int = 0
    doubts: tuple[str, ...] = ()

    @classmethod
    def between(cls, before: ExecutorReport, after: ExecutorReport) -> WorkerCounts:
        """Return the difference of two reports of one executor."""
        return cls(
            after.renewals - before.renewals,
            after.crashes - before.crashes,
            after.timeouts - before.timeouts,
            after.notes,
            doubts=after.doubts,
        )

    def __add__(self, other: WorkerCounts) -> WorkerCounts:
        return WorkerCounts(
            self.renewals + other.renewals,
            self.crashes + other.crashes,
            self.timeouts + other.timeouts,
            tuple(dict.fromkeys((*self.notes, *other.notes))),
            self.again + other.again,
            tuple(dict.fromkeys((*self.doubts, *other.doubts))),
        )


@dataclass(frozen=True)
class Ran:
    """A completed chunk: one outcome per task, fewer when the time was up."""

    outcomes: list[Simulated]
    seconds: float
    counts: WorkerCounts


@dataclass(frozen=True)
class Missing:
    """A chunk that was not run because the worker lacks shipments."""

    worker: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Refused:
    """A chunk that the worker cannot run, for instance without a binary for the machine."""

    worker: str
    error: FmidentError


Answer: TypeAlias = Ran | Missing | Refused


def pack_problem(problem: Problem) -> Shipment:
    """Return the shipment of the part of a problem that a worker needs."""
    # Nothing that simulations do not need, such as a cost, whose plugin a worker may lack.
    slim = Problem(
        Path(problem.fmu.name),
        problem.parameters,
        problem.experiments,
        EstimatorSettings("none"),
        replace(problem.evaluation, executor="processes", executor_options=None, workers=1),
        start_values=problem.start_values,
    )
    return _pack("problem", slim)


def pack_other(experiment: Experiment, variables: Sequence[str]) -> Shipment:
    """Return the shipment of an experiment that need not belong to the problem."""
    slim = replace(experiment, measurements=(), notes=())
    return _pack("experiment", OtherExperiment(slim, tuple(variables)))


def unpack(content: bytes) -> Any:
    """Return the object in a shipment other than the FMU."""
    return pickle.loads(content)


def _pack(name: str, thing: object) -> Shipment:
    return Shipment.of(f"{name}.pickle", pickle.dumps(thing, protocol=5))
