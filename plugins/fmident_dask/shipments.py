"""What travels between the estimation and the workers of a cluster.

Everything large is a shipment: bytes named by their SHA-256 that a worker gets once and keeps.
Chunks, the tasks of the cluster, hold such names and the values of the parameters only.
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
    """A file that workers keep.

    Parameters
    ----------
    key
        SHA-256 of `content`, as hexadecimal digits.
    name
        Of the file, as messages should show it.
    content
        The bytes.
    """

    key: str
    name: str
    content: bytes

    @classmethod
    def of(cls, name: str, content: bytes) -> Shipment:
        """Return the shipment of a file's content."""
        return cls(hashlib.sha256(content).hexdigest(), Path(name).name, content)

    @property
    def is_sound(self) -> bool:
        """Whether the content is what the key promises."""
        return hashlib.sha256(self.content).hexdigest() == self.key


@dataclass(frozen=True)
class OtherExperiment:
    """An experiment that need not be one of the problem's, and the variables to record."""

    experiment: Experiment
    variables: tuple[str, ...]


@dataclass(frozen=True)
class Chunk:
    """Simulations that one worker runs one after the other.

    Parameters
    ----------
    fmu, problem
        Keys of the shipments with the FMU and the problem.
    other
        Key of the shipment with an :class:`OtherExperiment` that takes the place of the
        problem's, or ``None``.
    batch
        Names the batch, so that the rest of it can be called off.
    seconds
        Tasks that were not begun after this time are left for later.
    tasks
        What to run.
    """

    fmu: str
    problem: str
    other: str | None
    batch: str
    seconds: float
    tasks: tuple[SimulationTask, ...]

    @property
    def shipments(self) -> tuple[str, ...]:
        """Keys of all shipments it needs."""
        return tuple(key for key in (self.fmu, self.problem, self.other) if key is not None)


@dataclass(frozen=True)
class WorkerCounts:
    """What went on in the workers.

    Parameters
    ----------
    renewals, crashes, timeouts, notes, doubts
        As in :class:`~fmident.evaluation.executors.base.ExecutorReport`.
    again
        Chunks that were run again since a worker or a connection was lost.
    """

    renewals: int = 0
    crashes: int = 0
    timeouts: int = 0
    notes: tuple[str, ...] = ()
    again: int = 0
    doubts: tuple[str, ...] = ()

    @classmethod
    def between(cls, before: ExecutorReport, after: ExecutorReport) -> WorkerCounts:
        """Return what came between two reports of one executor."""
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
    """A chunk that was run.

    Parameters
    ----------
    outcomes
        One per task, fewer when time was up.
    seconds
        Time taken by the simulations, s.
    counts
        What went on.
    """

    outcomes: list[Simulated]
    seconds: float
    counts: WorkerCounts


@dataclass(frozen=True)
class Missing:
    """A chunk that was not run, since the worker lacks shipments."""

    worker: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Refused:
    """A chunk that cannot be run there, such as when the FMU has no binary for the machine."""

    worker: str
    error: FmidentError


Answer: TypeAlias = Ran | Missing | Refused


def pack_problem(problem: Problem) -> Shipment:
    """Return the shipment of what a worker needs of a problem."""
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
    """Return the shipment of an experiment that need not be one of the problem's."""
    slim = replace(experiment, measurements=(), notes=())
    return _pack("experiment", OtherExperiment(slim, tuple(variables)))


def unpack(content: bytes) -> Any:
    """Return the object of a shipment that is not an FMU."""
    return pickle.loads(content)


def _pack(name: str, thing: object) -> Shipment:
    return Shipment.of(f"{name}.pickle", pickle.dumps(thing, protocol=5))
