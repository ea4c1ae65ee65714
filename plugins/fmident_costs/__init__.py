"""The costs that come with fmident, registered like a stranger's."""

from __future__ import annotations

from fmident.plugins import Registry, hookimpl
from fmident.problem import Cost, TimeDomain
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
    """Make the costs known."""
    costs: tuple[type[Cost], ...] = (
        TimeDomain,
        FrequencyDomain,
        SmoothedSpectrum,
        SeparateSpectra,
        SquaresAndMaxima,
        Correlation,
    )
    for cost in costs:
        registry.add(cost.name, cost)
