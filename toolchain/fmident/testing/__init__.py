"""What every estimator must do, as checks that authors of plugins run on their own.

:func:`check_estimator` runs all of them; :func:`estimator_checks` returns them for a
parametrised test. Nothing here imports pytest.
"""

from fmident.testing.problems import ConformanceProblem, conformance_problems
from fmident.testing.subject import ConformanceError, Subject
from fmident.testing.suite import Check, check_estimator, estimator_checks

__all__ = [
    "Check",
    "ConformanceError",
    "ConformanceProblem",
    "Subject",
    "check_estimator",
    "conformance_problems",
    "estimator_checks",
]
