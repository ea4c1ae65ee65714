"""Derivatives of any variables of an FMU in an experiment that need not be the problem's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.evaluation.contract import Evaluator
from fmident.problem.chain_rule import moved_variables
from fmident.problem.relations.dependent import parameter_derivatives_for

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment


def differentiated_outputs(
    evaluator: Evaluator,
    experiment: Experiment,
    variables: Sequence[str],
    p: F64,
    starts: Sequence[str] = (),
) -> tuple[F64, F64] | None:
    """Return variables and their derivatives from one simulation with exact sensitivities.

    Parameters
    ----------
    evaluator
        Simulates.
    experiment
        Times, inputs and start values.
    variables
        FMU variables to record, v of them.
    p
        Free parameters, shape (n,).
    starts
        Further FMU variables with respect to which they are differentiated, s of them, such as
        start values that the experiment sets.

    Returns
    -------
    tuple or None
        Values, shape (instants, v), and derivatives with respect to `p`, then `starts`, shape
        (instants, v, n + s). ``None`` where the FMU offers no sensitivities for all of them, or the
        simulation has none.
    """
    problem = evaluator.problem
    moved = moved_variables(problem, experiment)
    names = tuple(dict.fromkeys([*(v for known in moved for v in known), *starts]))
    if not names or not evaluator.differentiable.issuperset(names):
        return None
    found = evaluator.simulate_outputs(experiment, variables, p[np.newaxis, :], names)[0]
    if not bool(np.isfinite(found).all()):
        return None
    blocks = found.reshape(experiment.times.size, 1 + len(names), len(variables))
    slopes = np.zeros((*blocks[:, 0].shape, p.size + len(starts)))
    for name, row in parameter_derivatives_for(problem, experiment, p).items():
        if row.any():
            slopes[..., : p.size] += blocks[:, 1 + names.index(name), :, np.newaxis] * row
    for k, name in enumerate(starts):
        slopes[..., p.size + k] = blocks[:, 1 + names.index(name)]
    return blocks[:, 0], slopes
