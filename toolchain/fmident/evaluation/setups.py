"""From the problem's experiments to setups of the FMU engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from zipfile import is_zipfile

import numpy as np

from fmident.fmu import SimulationSetup
from fmident.fmu.fmu import read_description
from fmident.fmu.sensitivities import differentiable
from fmident.problem.residuals import parameter_values_for

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment
    from fmident.evaluation.tasks import OtherExperiment, SimulationTask
    from fmident.problem.model import Problem


def output_variables(experiment: Experiment) -> tuple[str, ...]:
    """Return the FMU variables that the experiment's measurements need, without duplicates."""
    return experiment.output_variables


def own_tolerance(problem: Problem) -> float | None:
    """Return the relative tolerance of a problem's simulations, or ``None`` if unknown."""
    if problem.evaluation.tolerance is not None or not is_zipfile(problem.fmu):
        return problem.evaluation.tolerance  # without an FMU, a function of Python
    return read_description(problem.fmu).default_tolerance


def without_integration(problem: Problem) -> bool:
    """Return whether the FMU is known to have no continuous states, so no tolerance matters."""
    if not is_zipfile(problem.fmu):
        return False
    interface = problem.evaluation.interface
    description = read_description(problem.fmu).with_interface(interface)
    return description.state_count == 0 and bool(differentiable(problem.fmu, interface))


def simulation_setups(problem: Problem) -> tuple[SimulationSetup, ...]:
    """Return one setup per experiment."""
    return tuple(simulation_setup(problem, e, output_variables(e)) for e in problem.experiments)


def simulation_setup(
    problem: Problem, experiment: Experiment, variables: Sequence[str]
) -> SimulationSetup:
    """Return the setup of the FMU engine for any experiment, recording `variables`."""
    names = tuple(experiment.inputs)
    inputs = np.column_stack(list(experiment.inputs.values())) if names else None
    return SimulationSetup(
        times=experiment.times,
        input_names=names,
        inputs=inputs,
        output_names=tuple(variables),
        start_values={**problem.start_values, **experiment.start_values},
        tolerance=problem.evaluation.tolerance,
        interpolation=problem.evaluation.interpolation,
        input_interpolation=experiment.interpolation,
        substeps=problem.evaluation.substeps,
    )


_OtherKey = tuple[int, tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class NumberedSetup:
    """A setup that executors identify by its number, which is not reused.

    `values` are FMU variables at the problem's initial parameters; there executors
    determine properties of the FMU, so that nothing depends on the order of tasks.
    """

    number: int
    setup: SimulationSetup
    values: Mapping[str, float]
    experiment: str


class SetupTable:
    """Setups of a problem's experiments and of other recent ones."""

    others_kept = 8
    changed_kept = 8
    """For each experiment: those with other tolerances or substeps, and with sensitivities."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._next = 0
        self.own = tuple(self._prepare(e, output_variables(e)) for e in problem.experiments)
        self._others: dict[_OtherKey, tuple[Experiment, NumberedSetup]] = {}
        self._changed: dict[tuple[object, ...], NumberedSetup] = {}

    def of(self, task: SimulationTask) -> NumberedSetup:
        """Return the setup of a task, including its tolerance and sensitivities."""
        if task.other is not None:
            return self._of_other(task.other, task.sensitivities)
        own = self.own[task.experiment]
        if task.tolerance is None and not task.sensitivities and task.finer == 1:
            return own
        key = (task.experiment, task.tolerance, task.sensitivities, task.finer)
        prepared = self._changed.pop(key, None)
        if prepared is None:
            tolerance = own.setup.tolerance if task.tolerance is None else task.tolerance
            setup = replace(
                own.setup,
                tolerance=tolerance,
                sensitivities=task.sensitivities,
                substeps=own.setup.substeps * task.finer,
            )
            prepared = NumberedSetup(self._next, setup, own.values, own.experiment)
            self._next += 1
        self._changed[key] = prepared
        while len(self._changed) > self.changed_kept * len(self.own):
            del self._changed[next(iter(self._changed))]
        return prepared

    def _of_other(self, other: OtherExperiment, sensitivities: tuple[str, ...]) -> NumberedSetup:
        key = (id(other.experiment), other.variables, sensitivities)
        # The experiment is kept along with it, so that its id means no other one.
        entry = self._others.pop(key, None)
        if entry is None:
            prepared = self._prepare(other.experiment, other.variables)
            if sensitivities:
                setup = replace(prepared.setup, sensitivities=sensitivities)
                prepared = replace(prepared, setup=setup)
            entry = other.experiment, prepared
        self._others[key] = entry
        while len(self._others) > self.others_kept:
            del self._others[next(iter(self._others))]
        return entry[1]

    @property
    def numbers(self) -> frozenset[int]:
        """Numbers that may be requested again."""
        others = (p for _, p in self._others.values())
        return frozenset(p.number for p in (*self.own, *others, *self._changed.values()))

    def _prepare(self, experiment: Experiment, variables: Sequence[str]) -> NumberedSetup:
        setup = simulation_setup(self._problem, experiment, variables)
        values = parameter_values_for(self._problem, experiment, self._problem.initial)
        self._next += 1
        return NumberedSetup(self._next - 1, setup, values, experiment.name)
