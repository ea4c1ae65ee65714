"""Checks of an FMU before it is used.

Native code runs in a child process per FMU, so that a crash or hang affects its own
checks only.
"""

from fmident.validation.check import Check, FmuReport, Outcome, write_junit
from fmident.validation.children import validate, validate_fmu
from fmident.validation.fmu_plan import FmuPlan, Trajectory, plan_fmu, read_trajectory

__all__ = [
    "Check",
    "FmuPlan",
    "FmuReport",
    "Outcome",
    "Trajectory",
    "plan_fmu",
    "read_trajectory",
    "validate",
    "validate_fmu",
    "write_junit",
]
