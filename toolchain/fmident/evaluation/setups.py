"""From the problem's experiments to what the FMU engine simulates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment
    from fmident.fmu import SimulationSetup
    from fmident.problem.model import Problem


def output_variables(experiment: Experiment) -> tuple[str, ...]:
    """Return the FMU variables that the experiment's measurements need, each once."""
    return experiment.output_variables


def simulation_setups(problem: Problem) -> tuple[SimulationSetup, ...]:
    """Return one setup per experiment.

    Raises
    ------
    fmident.errors.FmuError
        Times or inputs that cannot be simulated.
    """
    return tuple(simulation_setup(problem, e, output_variables(e)) for e in problem.experiments)


def simulation_setup(
    problem: Problem, experiment: Experiment, variables: Sequence[str]
) -> SimulationSetup:
    """Return what the FMU engine simulates for one experiment.

    Parameters
    ----------
    problem
        Its settings and common start values.
    experiment
        One of the problem's, or another one.
    variables
        FMU variables to record.

    Raises
    ------
    fmident.errors.FmuError
        Times or inputs that cannot be simulated.
    """
    from fmident.fmu import SimulationSetup

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
    )
