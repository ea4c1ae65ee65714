"""Cost functions that come with fmident, registered like those of any other plugin."""

from __future__ import annotations

from fmident.plugins.hookspecs import hookimpl
from fmident.plugins.registry import Registry
from fmident.problem import Cost
from fmident.problem.cost import TimeDomain
from fmident_costs.correlation import Correlation
from fmident_costs.frequency import FrequencyDomain, SeparateSpectra, SmoothedSpectrum
from fmident_costs.maxima import SquaresAndMaxima

__all__ = [
    "Correlation",
    "FrequencyDomain",
    "SeparateSpectra",
    "SmoothedSpectrum",
    "SquaresAndMaxima",
    "fmident_register_costs",
]


@hookimpl
def fmident_register_costs(registry: Registry[type[Cost]]) -> None:
    """Register the cost functions."""
    for cost in (
        TimeDomain,
        FrequencyDomain,
        SmoothedSpectrum,
        SeparateSpectra,
        SquaresAndMaxima,
        Correlation,
    ):
        registry.add(cost.name, cost)
