"""Global sensitivity analysis over the bounds: the methods of Morris and Sobol."""

from fmident.checking.global_sensitivity.result import (
    METHODS,
    GlobalMethod,
    GlobalSensitivity,
    OutputIndices,
    global_findings,
)

__all__ = ["METHODS", "GlobalMethod", "GlobalSensitivity", "OutputIndices", "global_findings"]
