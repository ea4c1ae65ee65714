"""What was applied in the experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.report.charts.signals.inputs import inputs_chart
from fmident.report.sections.html import fragment

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult, InputSignal

MOST_EXPERIMENTS, MOST_INPUTS = 24, 16


def inputs_section(result: EstimationResult, most: int | None = None) -> str:
    """Return one plot for each experiment; empty without inputs.

    Parameters
    ----------
    result
        What the run found.
    most
        Samples of a line; by default all.
    """
    experiments = inputs_of(result)
    drawn = list(experiments.items())[:MOST_EXPERIMENTS]
    plots = [
        (
            name + ("" if signals[0].fitted else ", not fitted"),
            inputs_chart(signals[:MOST_INPUTS]).html(most),
            max(0, len(signals) - MOST_INPUTS),
        )
        for name, signals in drawn
    ]
    left_out = len(experiments) - len(drawn)
    return fragment("inputs", plots=plots, left_out=left_out) if plots else ""


def inputs_of(result: EstimationResult) -> dict[str, list[InputSignal]]:
    """Return the inputs of each experiment that has any."""
    found: dict[str, list[InputSignal]] = {}
    for signal in result.inputs:
        if signal.times.size > 1:
            found.setdefault(signal.experiment, []).append(signal)
    return found
