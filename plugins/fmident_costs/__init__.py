"""Cost functions that come with fmident, registered like those of any other plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident._lazy import lazy_face
from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.plugins.registry import Registry
    from fmident.problem.cost import Cost
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

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "Correlation": "correlation",
        "FrequencyDomain": "frequency",
        "SeparateSpectra": "frequency",
        "SmoothedSpectrum": "frequency",
        "SquaresAndMaxima": "maxima",
    },
)


@hookimpl
def fmident_register_costs(registry: Registry[type[Cost]]) -> None:
    """Register the cost functions."""
    registry.add_when_used("time-domain", "fmident.problem.cost:TimeDomain")
    registry.add_when_used("frequency-domain", "fmident_costs.frequency:FrequencyDomain")
    registry.add_when_used("smoothed-spectrum", "fmident_costs.frequency:SmoothedSpectrum")
    registry.add_when_used("separate-spectra", "fmident_costs.frequency:SeparateSpectra")
    registry.add_when_used("squares-and-maxima", "fmident_costs.maxima:SquaresAndMaxima")
    registry.add_when_used("correlation", "fmident_costs.correlation:Correlation")
