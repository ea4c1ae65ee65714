"""What an FMU's own integrator leaves in the residuals, whatever tolerance it is asked for.

An FMU whose Co-Simulation has its tolerance fixed at the export, or a solver of fixed step, cannot
show its error by a second tolerance. If it has Model Exchange as well, its equations are
integrated here, precisely, and the two are compared.
"""

from __future__ import annotations

from dataclasses import replace
from zipfile import is_zipfile

import numpy as np

from fmident.arrays import F64
from fmident.errors import FmidentError
from fmident.evaluation.executors.processes.executor import ProcessExecutor
from fmident.evaluation.runs import Runs
from fmident.fmu.fmu import read_description
from fmident.fmu.setup import Interpolation
from fmident.problem.model import Problem

_PRECISE, _CONTROL = 1e-11, 1e-9
"""Tolerances of the two integrations that are compared with the FMU's."""

_SETTLED = 0.2
"""Part of the difference by which the two may disagree."""


def can_compare_interfaces(problem: Problem) -> bool:
    """Return whether a problem's FMU is simulated as Co-Simulation and has Model Exchange as well.

    Raises
    ------
    fmident.errors.FmuError
        The FMU cannot be read.
    """
    if not is_zipfile(problem.fmu):  # a function of Python
        return False
    description = read_description(problem.fmu)
    chosen = description.with_interface(problem.evaluation.interface).capabilities
    offered = {interface.kind for interface in description.interfaces}
    return chosen.kind == "co-simulation" and "model-exchange" in offered


def solver_error(problem: Problem, residuals: F64, point: F64) -> F64 | None:
    """Return what the FMU's own integrator leaves in the residuals at a point, shape (m,).

    Takes two simulations of each experiment; twice that where the FMU may follow inputs on lines.

    Parameters
    ----------
    problem
        Whose FMU ignores the tolerance.
    residuals
        Of its Co-Simulation at the point, shape (m,).
    point
        Free parameters, physical units, shape (n,).

    Returns
    -------
    numpy.ndarray or None
        The residuals minus those of the integrated equations; ``None`` where the FMU does not
        offer them (see :func:`can_compare_interfaces`), they cannot be simulated, or two tolerances
        of theirs do not agree.
    """
    if not can_compare_interfaces(problem):
        return None
    found = [
        _difference(problem, residuals, point, interpolation)
        for interpolation in _interpolations(problem)
    ]
    # Not every FMU follows the lines that it says it does. Inputs are not what is looked at.
    return min((e for e in found if e is not None), key=np.linalg.norm, default=None)


def _interpolations(problem: Problem) -> tuple[Interpolation, ...]:
    """Return how the inputs of the Co-Simulation may run between the instants."""
    asked = problem.evaluation.interpolation
    if asked in ("hold", "mean") or not any(e.inputs for e in problem.experiments):
        return (asked,)
    follows = read_description(problem.fmu).with_interface("co-simulation").capabilities
    return ("linear", "hold") if follows.can_interpolate_inputs else ("hold",)


def _difference(
    problem: Problem, residuals: F64, point: F64, interpolation: Interpolation
) -> F64 | None:
    evaluation = replace(
        problem.evaluation,
        interface="model-exchange",
        interpolation=interpolation,
        workers=1,
    )
    exchanged = replace(problem, evaluation=evaluation)
    try:
        # Another binary than the one that was tried: it may crash.
        with ProcessExecutor(exchanged) as executor:
            runs = Runs(exchanged, executor)
            precise, control = (
                runs.probe(point[np.newaxis, :], tolerance)[0] for tolerance in (_PRECISE, _CONTROL)
            )
    except FmidentError:
        return None
    error: F64 = residuals - precise
    disagreement = float(np.linalg.norm(precise - control))
    # A failed simulation is NaN.
    return error if disagreement <= _SETTLED * float(np.linalg.norm(error)) else None
