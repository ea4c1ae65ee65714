"""``fmident check``: whether a problem can be estimated, and how accurately, before a run."""

from fmident.checking.problem_check import (
    check_problem,
    data_findings,
    quick_findings,
    refuse,
    start_findings,
)
from fmident.checking.result import (
    BoundsCheck,
    CheckReport,
    EffortCheck,
    ExperimentCheck,
    GlobalMethod,
    GlobalSensitivity,
    OutputCheck,
    OutputIndices,
    ParameterCheck,
    SensitivityCheck,
    in_stages,
)
from fmident.report.check import check_html, check_page

__all__ = [
    "BoundsCheck",
    "CheckReport",
    "EffortCheck",
    "ExperimentCheck",
    "GlobalMethod",
    "GlobalSensitivity",
    "OutputCheck",
    "OutputIndices",
    "ParameterCheck",
    "SensitivityCheck",
    "check_html",
    "check_page",
    "check_problem",
    "data_findings",
    "in_stages",
    "quick_findings",
    "refuse",
    "start_findings",
]
