"""The inputs of the experiments, as part of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.estimation.compared import InputSignal

if TYPE_CHECKING:
    from fmident.fmu.model_description.description import ModelDescription
    from fmident.problem.model import Problem


def input_signals(problem: Problem, description: ModelDescription) -> tuple[InputSignal, ...]:
    """Return the inputs of all experiments, those for validation included.

    Parameters
    ----------
    problem
        With the experiments.
    description
        Of its FMU, for the units.
    """
    chosen = description.with_interface(problem.evaluation.interface)
    return tuple(
        InputSignal(
            experiment.name,
            name,
            description.by_name[name].unit if name in description.by_name else None,
            experiment.times,
            values,
            chosen.holds_input(name, problem.interpolation_of(experiment, name)),
            experiment in problem.experiments,
        )
        for experiment in (*problem.experiments, *problem.validation)
        for name, values in experiment.inputs.items()
    )
