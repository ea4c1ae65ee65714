"""``fmident validate``: checks of any FMU, without a problem or data.

Native code runs in a child process per FMU, so that a crash or hang affects its own
checks only.
"""

from fmident.validation.children import validate, validate_fmu
from fmident.validation.fmu_plan import FmuPlan, Recording, plan_fmu, read_recording
from fmident.validation.result import Check, FmuReport, Outcome, write_junit

__all__ = [
    "Check",
    "FmuPlan",
    "FmuReport",
    "Outcome",
    "Recording",
    "plan_fmu",
    "read_recording",
    "validate",
    "validate_fmu",
    "write_junit",
]
