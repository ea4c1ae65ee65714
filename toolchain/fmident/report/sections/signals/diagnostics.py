"""The residuals of each output: distribution, correlation, spectrum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fmident.report.charts.signals.diagnostics import diagnostics_chart
from fmident.report.sections.html import fragment

if TYPE_CHECKING:
    from fmident.arrays import F64
    from fmident.estimation.result import EstimationResult, OutputFit

_MOST_OUTPUTS, MOST_INPUTS = 24, 6


def diagnostics_section(result: EstimationResult) -> str:
    """Return the residuals of each output, compared with the inputs; empty without any."""
    outputs = []
    held_out = () if result.validation is None else result.validation.fits
    fits = [
        *((fit, "") for fit in result.fits),
        *((fit, ", whitened by the model of the noise") for fit in result.whitened),
        *((fit, ", not fitted") for fit in held_out),
    ]
    for fit, remark in fits[:_MOST_OUTPUTS]:
        chart = diagnostics_chart(fit, inputs_at(fit, result), MOST_INPUTS)
        if chart is not None:
            outputs.append((fit.name, fit.experiment + remark, chart.html()))
    if not outputs:
        return ""
    left_out = max(0, len(fits) - _MOST_OUTPUTS)
    return fragment("diagnostics", outputs=outputs, left_out=left_out, inputs=MOST_INPUTS)


def inputs_at(fit: OutputFit, result: EstimationResult) -> dict[str, F64]:
    """Return the inputs of the experiment at the times of the output."""
    return {
        signal.name: np.interp(fit.times, signal.times, signal.values)
        for signal in result.inputs
        if signal.experiment == fit.experiment and signal.times.size and fit.times.size
    }
