"""The public functions of the library.

They back ``fmident.load_problem``, ``fmident.estimate`` and the others, and the command
line calls them. Each name is imported on first use, so a command loads only what it
needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident._lazy import lazy_face

if TYPE_CHECKING:
    from fmident.api.bootstraps import bootstrap
    from fmident.api.builds import build_class
    from fmident.api.checks import check, design
    from fmident.api.cross_validations import cross_validate
    from fmident.api.estimates import estimate
    from fmident.api.predictions import predict
    from fmident.api.problems import Report, load_problem, warn
    from fmident.api.profiles import profile
    from fmident.api.results import compare, load_result

__all__ = [
    "Report",
    "bootstrap",
    "build_class",
    "check",
    "compare",
    "cross_validate",
    "design",
    "estimate",
    "load_problem",
    "load_result",
    "predict",
    "profile",
    "warn",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "Report": "problems",
        "bootstrap": "bootstraps",
        "build_class": "builds",
        "check": "checks",
        "compare": "results",
        "cross_validate": "cross_validations",
        "design": "checks",
        "estimate": "estimates",
        "load_problem": "problems",
        "load_result": "results",
        "predict": "predictions",
        "profile": "profiles",
        "warn": "problems",
    },
)
