"""One simulation to run, and what is left of one that failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, SimulationError

TaskKey: TypeAlias = tuple[int, tuple[tuple[str, float], ...], float | None, tuple[str, ...], int]
"""Of a task, see :attr:`SimulationTask.key`."""


@dataclass(frozen=True)
class SimulationTask:
    """One experiment with one set of values.

    Parameters
    ----------
    experiment
        Index into the problem's experiments.
    values
        FMU variable to value; what the experiment itself sets is not repeated here.
    tolerance
        Of the integrator, in place of that of the problem; ``None`` leaves it.
    sensitivities
        FMU variables, parameters or start values of states, with respect to which the outputs are
        differentiated as well: k of them. The outcome has (1 + k) times as many columns then: the
        outputs, the derivatives of all outputs with respect to the first variable, then to the
        second, and so on.
    finer
        Steps that a Co-Simulation takes in place of one of the problem's.
    """

    experiment: int
    values: Mapping[str, float]
    tolerance: float | None = None
    sensitivities: tuple[str, ...] = ()
    finer: int = 1

    @property
    def key(self) -> TaskKey:
        """Equal for tasks with equal outcome."""
        values = tuple(sorted(self.values.items()))
        return self.experiment, values, self.tolerance, self.sensitivities, self.finer

    @property
    def plain(self) -> SimulationTask:
        """The same simulation without sensitivities, whose outputs are the same to the last bit."""
        return replace(self, sensitivities=()) if self.sensitivities else self


@dataclass(frozen=True)
class SimulationFailure:
    """A simulation that gave no outputs.

    Parameters
    ----------
    message
        What happened, in the FMU's own words where it gave some.
    time
        Simulation time at which it happened, s; ``None`` when unknown.
    parameters
        FMU variable to value, as it was run.
    log
        The FMU's log messages of this run, oldest first.
    experiment
        Name of the experiment.
    hint
        What to do next, if the engine knows.
    final
        Whether the same simulation would fail again. It may not when it took too long or too
        much memory, or when its worker was killed from outside: with other limits, or on
        another day, it may succeed, so nobody should remember it.
    timed_out
        Whether it took too long.
    says_time
        Whether the message says `time` already.
    code
        What kind of failure it is, see :class:`fmident.errors.Code`.
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
        """Return the failure that an exception of the FMU engine reports."""
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


def refuse_not_finite(
    outputs: Simulated,
    values: Mapping[str, float],
    experiment: str,
    count: int | None = None,
) -> Simulated:
    """Return a failure in place of outputs that hold NaN or infinity.

    Parameters
    ----------
    outputs
        Of one simulation.
    values, experiment
        FMU variable to value, and the experiment's name, for the message.
    count
        How many columns are outputs; the others are sensitivities. All by default.
    """
    if isinstance(outputs, SimulationFailure) or bool(np.isfinite(outputs).all()):
        return outputs
    row, column = (int(k) for k in np.argwhere(~np.isfinite(outputs))[0])
    if count is not None and bool(np.isfinite(outputs[:, :count]).all()):
        return SimulationFailure(
            f"a derivative of output {column % count} is {outputs[row, column]} from sample {row}"
            " on",
            None,
            dict(values),
            (),
            experiment,
            code=Code.NOT_DIFFERENTIABLE,
        )
    return SimulationFailure(
        f"output {column} is {outputs[row, column]} from sample {row} on",
        None,
        dict(values),
        (),
        experiment,
        code=Code.NOT_FINITE,
    )
