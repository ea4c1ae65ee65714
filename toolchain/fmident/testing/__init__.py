"""Conformance checks for authors of estimators and executors.

:func:`check_estimator` runs all checks of an estimator; :func:`estimator_checks`
returns them for a parametrised test. :func:`check_executor` is for executors. pytest is
not imported.
"""

from fmident.testing.executor_checks import check_executor
from fmident.testing.problems import ConformanceProblem, conformance_problems
from fmident.testing.subject import ConformanceError, Subject
from fmident.testing.suite import Check, check_estimator, estimator_checks

__all__ = [
    "Check",
    "ConformanceError",
    "ConformanceProblem",
    "Subject",
    "check_estimator",
    "check_executor",
    "conformance_problems",
    "estimator_checks",
]
