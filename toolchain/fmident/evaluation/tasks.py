"""Simulation tasks and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, SimulationError

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment

TaskKey: TypeAlias = tuple[int, tuple[tuple[str, float], ...], float | None, tuple[str, ...], int]
"""Key of a task, see :attr:`SimulationTask.key`."""


@dataclass(frozen=True, eq=False)
class OtherExperiment:
    """An experiment that may be foreign to the problem, and the FMU variables to record.

    Its times, inputs and start values count; its measurements are ignored.
    """

    experiment: Experiment
    variables: tuple[str, ...]


@dataclass(frozen=True)
class SimulationTask:
    """One experiment with one set of values of FMU variables.

    Parameters
    ----------
    experiment
        Its index in the problem; -1 with `other`.
    values
        Without those set by the experiment itself.
    tolerance
        Replaces that of the problem; ``None`` keeps it.
    sensitivities
        k FMU variables with respect to which the outputs are also differentiated. The
        outcome has (1 + k) times as many columns: the outputs, the derivatives of all
        outputs with respect to the first variable, then to the second, and so on.
    finer
        Number of steps of a Co-Simulation instead of one of the problem's.
    other
        Replaces the experiment of the problem.
    """

    experiment: int
    values: Mapping[str, float]
    tolerance: float | None = None
    sensitivities: tuple[str, ...] = ()
    finer: int = 1
    other: OtherExperiment | None = None

    @property
    def key(self) -> TaskKey:
        """Key that is equal for tasks of the problem with equal outcome."""
        values = tuple(sorted(self.values.items()))
        return self.experiment, values, self.tolerance, self.sensitivities, self.finer

    @property
    def plain(self) -> SimulationTask:
        """The same simulation without sensitivities, whose outputs are equal to the last bit."""
        return replace(self, sensitivities=()) if self.sensitivities else self


@dataclass(frozen=True)
class SimulationFailure:
    """A simulation without outputs.

    `message` is if possible in the FMU's own words; `time` is the simulation time, s, if
    known, and `says_time` whether the message includes it. `log` has the FMU's messages,
    oldest first. A failure that is not `final`, for example by a limit of time or memory,
    may not occur again and must not be stored. For `code` see :class:`fmident.errors.Code`.
    """

    message: str
    time: float | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    log: tuple[str, ...] = ()
    experiment: str = ""
    hint: str | None = None
    final: bool = True
    timed_out: bool = False
    says_time: bool = False
    code: str = Code.SIMULATION_FAILED

    @classmethod
    def of(
        cls, error: SimulationError, values: Mapping[str, float], experiment: str = ""
    ) -> SimulationFailure:
        """Return the failure for an exception of the FMU engine."""
        return cls(
            error.message,
            error.time,
            dict(values),
            error.log,
            experiment,
            error.hint,
            final=not error.timed_out,
            timed_out=error.timed_out,
            says_time=error.says_time,
            code=error.code,
        )

    def __str__(self) -> str:
        where = "" if self.time is None or self.says_time else f" at {self.time:g} s"
        which = f" in experiment '{self.experiment}'" if self.experiment else ""
        values = ", ".join(f"{name}={value:.6g}" for name, value in self.parameters.items())
        given = f" with {values}" if values else ""
        return f"{self.message}{where}{which}{given}"


Simulated: TypeAlias = F64 | SimulationFailure
"""Outputs of shape (n, number of outputs), or the failure; wider with sensitivities."""

Outcomes: TypeAlias = Iterator[tuple[int, Simulated]]
"""The index of a task in its batch, and its outcome, as soon as that is known."""

Done: TypeAlias = Callable[[int, Simulated], None]
"""What executors once took beside the tasks; the host does not pass it any more."""


def refuse_not_finite(
    outputs: Simulated,
    values: Mapping[str, float],
    experiment: str,
    count: int | None = None,
) -> Simulated:
    """Return a failure in place of outputs that contain NaN or infinity.

    `count` is the number of columns that are outputs, not sensitivities; all by default.
    """
    if isinstance(outputs, SimulationFailure) or bool(np.isfinite(outputs).all()):
        return outputs
    row, column = (int(k) for k in np.argwhere(~np.isfinite(outputs))[0])
    derivative = count is not None and bool(np.isfinite(outputs[:, :count]).all())
    what = (
        f"a derivative of output {column % count}" if count and derivative else f"output {column}"
    )
    return SimulationFailure(
        f"{what} is {outputs[row, column]} from sample {row} on",
        parameters=dict(values),
        experiment=experiment,
        code=Code.NOT_DIFFERENTIABLE if derivative else Code.NOT_FINITE,
    )
