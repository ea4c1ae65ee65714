"""Running an estimator: contract, options, checks, monitor, result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident._lazy import lazy_face
from fmident.evaluation.contract import Evaluator

if TYPE_CHECKING:
    from fmident.estimation.checks import check_influence, check_initial_simulation, check_survives
    from fmident.estimation.choices import suited
    from fmident.estimation.contract import (
        Draws,
        Ending,
        Estimate,
        Estimator,
        Iteration,
        Monitor,
        Requirement,
        Status,
        StopEstimation,
    )
    from fmident.estimation.monitor import Observer, RunMonitor
    from fmident.estimation.online.estimator import OnlineEstimator, Tracker
    from fmident.estimation.online.series import Flag, OnlineEstimate, TimeSeriesEstimate
    from fmident.estimation.options import build_options
    from fmident.estimation.population import Generation
    from fmident.estimation.result import (
        DrawnParameter,
        DrawnPosterior,
        EstimationResult,
        Identifiability,
        OtherCourse,
        OutputFit,
        ParameterEstimate,
        PriorCheck,
        PriorKnowledge,
        RepeatedResiduals,
        ResidualCheck,
        StageResult,
        StageUncertainty,
        UnmodelledDelay,
    )
    from fmident.estimation.run import FmuIdentity, run_estimation
    from fmident.estimation.stages.sequence import run_stages

__all__ = [
    "DrawnParameter",
    "DrawnPosterior",
    "Draws",
    "Ending",
    "Estimate",
    "EstimationResult",
    "Estimator",
    "Evaluator",
    "Flag",
    "FmuIdentity",
    "Generation",
    "Identifiability",
    "Iteration",
    "Monitor",
    "Observer",
    "OnlineEstimate",
    "OnlineEstimator",
    "OtherCourse",
    "OutputFit",
    "ParameterEstimate",
    "PriorCheck",
    "PriorKnowledge",
    "RepeatedResiduals",
    "Requirement",
    "ResidualCheck",
    "RunMonitor",
    "StageResult",
    "StageUncertainty",
    "Status",
    "StopEstimation",
    "TimeSeriesEstimate",
    "Tracker",
    "UnmodelledDelay",
    "build_options",
    "check_influence",
    "check_initial_simulation",
    "check_survives",
    "run_estimation",
    "run_stages",
    "suited",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "DrawnParameter": "result",
        "DrawnPosterior": "result",
        "Draws": "contract",
        "Ending": "contract",
        "Estimate": "contract",
        "EstimationResult": "result",
        "Estimator": "contract",
        "Flag": "online.series",
        "FmuIdentity": "run",
        "Generation": "population",
        "Identifiability": "result",
        "Iteration": "contract",
        "Monitor": "contract",
        "Observer": "monitor",
        "OnlineEstimate": "online.series",
        "OnlineEstimator": "online.estimator",
        "OtherCourse": "result",
        "OutputFit": "result",
        "ParameterEstimate": "result",
        "PriorCheck": "result",
        "PriorKnowledge": "result",
        "Requirement": "contract",
        "RepeatedResiduals": "result",
        "ResidualCheck": "result",
        "RunMonitor": "monitor",
        "StageResult": "result",
        "StageUncertainty": "result",
        "Status": "contract",
        "StopEstimation": "contract",
        "TimeSeriesEstimate": "online.series",
        "Tracker": "online.estimator",
        "UnmodelledDelay": "result",
        "build_options": "options",
        "check_influence": "checks",
        "check_initial_simulation": "checks",
        "check_survives": "checks",
        "run_estimation": "run",
        "run_stages": "stages.sequence",
        "suited": "choices",
    },
)
