"""Checks of an FMU before anyone relies on it.

Native code is run in a child process per FMU, so that one that crashes or hangs costs
its own checks only. Reading order: ``fmu_plan`` (what is to be checked), ``children`` (the parent),
``worker`` (the child), ``checks`` (the checks by name), then one module per check.
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
