"""Identify the parameters of Modelica models from measured data.

The same in three lines as on the command line::

    problem = fmident.load_problem("problem.toml")
    result = fmident.estimate(problem)
    result.parameters
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident._lazy import lazy_face
from fmident._version import __version__
from fmident.views import register

if TYPE_CHECKING:
    from fmident.api.bootstraps import bootstrap
    from fmident.api.builds import build_class, model_classes, model_fmu
    from fmident.api.checks import check
    from fmident.api.cross_validations import cross_validate
    from fmident.api.designs import design
    from fmident.api.estimates import estimate
    from fmident.api.predictions import predict
    from fmident.api.problems import load_problem
    from fmident.api.profiles import profile
    from fmident.api.proposals import propose, read_data
    from fmident.api.results import compare, load_result
    from fmident.checking import CheckReport
    from fmident.cross_validation import CrossValidation
    from fmident.errors import FmidentError
    from fmident.estimation.result import EstimationResult
    from fmident.fmu import Fmu, SimulationSetup, Simulator, open_fmu
    from fmident.plugins import load_plugins
    from fmident.prediction import Prediction
    from fmident.problem.model import Problem
    from fmident.profiles import ProfileResult
    from fmident.resampling import BootstrapResult

__all__ = [
    "BootstrapResult",
    "CheckReport",
    "CrossValidation",
    "EstimationResult",
    "FmidentError",
    "Fmu",
    "Prediction",
    "Problem",
    "ProfileResult",
    "SimulationSetup",
    "Simulator",
    "__version__",
    "bootstrap",
    "build_class",
    "check",
    "compare",
    "cross_validate",
    "design",
    "estimate",
    "load_plugins",
    "load_problem",
    "load_result",
    "model_classes",
    "model_fmu",
    "open_fmu",
    "predict",
    "profile",
    "propose",
    "read_data",
]

__getattr__, __dir__ = lazy_face(  # so that "import fmident" takes milliseconds
    __name__,
    {
        "BootstrapResult": "resampling",
        "CheckReport": "checking",
        "CrossValidation": "cross_validation",
        "EstimationResult": "estimation.result",
        "Fmu": "fmu",
        "FmidentError": "errors",
        "Prediction": "prediction",
        "Problem": "problem.model",
        "ProfileResult": "profiles",
        "SimulationSetup": "fmu",
        "Simulator": "fmu",
        "bootstrap": "api.bootstraps",
        "build_class": "api.builds",
        "check": "api.checks",
        "compare": "api.results",
        "cross_validate": "api.cross_validations",
        "design": "api.designs",
        "estimate": "api.estimates",
        "load_plugins": "plugins",
        "load_problem": "api.problems",
        "load_result": "api.results",
        "model_classes": "api.builds",
        "model_fmu": "api.builds",
        "open_fmu": "fmu",
        "predict": "api.predictions",
        "profile": "api.profiles",
        "propose": "api.proposals",
        "read_data": "api.proposals",
    },
)

register(
    {
        "fmident.api.problems": ("problem_in_memory", "write_problem"),
        "fmident.report.check": ("check_view",),
        "fmident.report.bootstrap": ("BOOTSTRAP",),
        "fmident.report.cross_validation": ("CROSS_VALIDATION",),
        "fmident.report.figures.plots": (
            "plot_bands",
            "plot_convergence",
            "plot_draws",
            "plot_draws_corner",
            "plot_fit",
            "plot_intervals",
            "plot_parameters",
            "plot_profile",
            "plot_replicates",
            "plot_replicates_corner",
            "plot_residuals",
            "plot_scores",
        ),
        "fmident.report.estimate": ("ESTIMATE", "problem_view"),
        "fmident.report.prediction": ("PREDICTION",),
        "fmident.report.profiles": ("PROFILES",),
    }
)
