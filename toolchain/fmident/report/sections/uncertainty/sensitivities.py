"""Which samples determine which parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fmident.report.charts.uncertainty.sensitivities import sensitivity_chart
from fmident.report.sections.html import fragment

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult

MOST_OUTPUTS = 24
_LEAST_SHARE = 0.001


@dataclass(frozen=True)
class _Cell:
    text: str
    color: str


def sensitivities_section(result: EstimationResult, most: int | None = None) -> str:
    """Return what each output says about each parameter, and its sensitivities over time.

    A sentence where there are none; empty where the run ended before any fit.

    Parameters
    ----------
    result
        What the run found.
    most
        Samples of a line; by default all.
    """
    every = result.sensitivities
    if not every:
        return "" if not result.fits else fragment("no-sensitivities", reason=_reason(result))
    columns = [_title(s.name, s.experiment, s.stage) for s in every]
    names = list(dict.fromkeys(name for s in every for name in s.parameters))
    rows = [
        (name, [_cell(_share(s.parameters, s.shares.tolist(), name)) for s in every])
        for name in names
    ]
    charts = [(s, sensitivity_chart(s)) for s in every[:MOST_OUTPUTS]]
    plots = [
        (s.name, ", ".join(filter(None, (s.experiment, s.stage))), chart.html(most))
        for s, chart in charts
        if chart is not None
    ]
    return fragment(
        "sensitivities",
        columns=columns,
        rows=rows,
        plots=plots,
        left_out=max(0, len(every) - MOST_OUTPUTS),
    )


def _reason(result: EstimationResult) -> str:
    if result.identifiability is None:
        return "the run computed no derivatives of the samples at its end"
    return "the result does not hold them"


def _title(name: str, experiment: str, stage: str) -> tuple[str, str]:
    return name, ", ".join(filter(None, (experiment, stage)))


def _share(parameters: tuple[str, ...], shares: list[float], name: str) -> float | None:
    return shares[parameters.index(name)] if name in parameters else None


def share_text(share: float) -> str:
    """Return a part of a whole in percent, to one decimal."""
    if 0.0 < share < _LEAST_SHARE:
        return f"< {100.0 * _LEAST_SHARE:g} %"
    return f"{100.0 * share:.1f} %"


def _cell(share: float | None) -> _Cell | None:
    if share is None:
        return None
    return _Cell(share_text(share), f"rgba(11,92,173,{0.55 * min(share, 1.0):.2f})")
