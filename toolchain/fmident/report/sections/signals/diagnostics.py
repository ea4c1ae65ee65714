"""The residuals of each output: distribution, correlation, spectrum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fmident.report.charts.signals.diagnostics import diagnostics_chart
from fmident.report.sections.html import fragment

if TYPE_CHECKING:
    from fmident.arrays import F64
    from fmident.estimation.result import EstimationResult, OutputFit
    from fmident.problem.model import Problem

_MOST_OUTPUTS, _MOST_INPUTS = 24, 6


def diagnostics_section(result: EstimationResult, problem: Problem | None) -> str:
    """Return the residuals of each output; empty without any.

    Parameters
    ----------
    result
        What was found.
    problem
        Whose inputs are compared with the residuals; without it, none are.
    """
    outputs = []
    held_out = () if result.validation is None else result.validation.fits
    fits = [*((fit, "") for fit in result.fits), *((fit, ", not fitted") for fit in held_out)]
    for fit, remark in fits[:_MOST_OUTPUTS]:
        chart = diagnostics_chart(fit, _inputs(fit, problem), _MOST_INPUTS)
        if chart is not None:
            outputs.append((fit.name, fit.experiment + remark, chart.html()))
    if not outputs:
        return ""
    left_out = max(0, len(fits) - _MOST_OUTPUTS)
    return fragment("diagnostics", outputs=outputs, left_out=left_out, inputs=_MOST_INPUTS)


def _inputs(fit: OutputFit, problem: Problem | None) -> dict[str, F64]:
    """Return the inputs of the experiment at the times of the output."""
    if problem is None or fit.times.size == 0:
        return {}
    every = [*problem.experiments, *problem.validation]
    found = [e for e in every if e.name == fit.experiment]
    return {
        name: np.interp(fit.times, experiment.times, np.asarray(values, dtype=np.float64))
        for experiment in found[:1]
        for name, values in experiment.inputs.items()
    }
