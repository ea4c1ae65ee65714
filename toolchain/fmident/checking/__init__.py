"""Before any run: whether a problem can be estimated, and what the data will tell."""

from fmident.checking.problem_check import (
    check_problem,
    data_findings,
    quick_findings,
    refuse,
    start_findings,
)
from fmident.checking.report import (
    BoundsCheck,
    CheckReport,
    EffortCheck,
    ExperimentCheck,
    OutputCheck,
    ParameterCheck,
    SensitivityCheck,
    in_stages,
)
from fmident.checking.text import check_page

__all__ = [
    "BoundsCheck",
    "CheckReport",
    "EffortCheck",
    "ExperimentCheck",
    "OutputCheck",
    "ParameterCheck",
    "SensitivityCheck",
    "check_page",
    "check_problem",
    "data_findings",
    "in_stages",
    "quick_findings",
    "refuse",
    "start_findings",
]
