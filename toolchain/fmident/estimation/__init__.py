"""Running an estimator: contract, options, checks, monitor, result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident._lazy import lazy_face

if TYPE_CHECKING:
    from fmident.estimation.checks import (
        build_options,
        check_influence,
        check_initial_simulation,
        check_survives,
        suited,
    )
    from fmident.estimation.comparisons import (
        DrawnParameter,
        DrawnPosterior,
        OtherCourse,
        OutputFit,
        PriorCheck,
        PriorKnowledge,
        RepeatedResiduals,
        ResidualCheck,
        UnmodelledDelay,
    )
    from fmident.estimation.contract import (
        Draws,
        Ending,
        Estimate,
        Estimator,
        Flag,
        Generation,
        Iteration,
        Monitor,
        OnlineEstimate,
        Requirement,
        Status,
        StopEstimation,
        TimeSeriesEstimate,
    )
    from fmident.estimation.monitor import Observer, RunMonitor
    from fmident.estimation.online import OnlineEstimator, Tracker
    from fmident.estimation.result import (
        EstimationResult,
        ParameterEstimate,
        StageResult,
        StageUncertainty,
    )
    from fmident.estimation.run import FmuIdentity, run_estimation
    from fmident.estimation.stages.sequence import run_stages
    from fmident.evaluation import Evaluator
    from fmident.statistics.identifiability import Identifiability

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
        "build_options": "checks",
        "check_influence": "checks",
        "check_initial_simulation": "checks",
        "check_survives": "checks",
        "DrawnParameter": "comparisons",
        "DrawnPosterior": "comparisons",
        "Draws": "contract",
        "Ending": "contract",
        "Estimate": "contract",
        "EstimationResult": "result",
        "Estimator": "contract",
        "Evaluator": ".evaluation",
        "Flag": "contract",
        "FmuIdentity": "run",
        "Generation": "contract",
        "Identifiability": ".statistics.identifiability",
        "Iteration": "contract",
        "Monitor": "contract",
        "Observer": "monitor",
        "OnlineEstimate": "contract",
        "OnlineEstimator": "online",
        "OtherCourse": "comparisons",
        "OutputFit": "comparisons",
        "ParameterEstimate": "result",
        "PriorCheck": "comparisons",
        "PriorKnowledge": "comparisons",
        "RepeatedResiduals": "comparisons",
        "Requirement": "contract",
        "ResidualCheck": "comparisons",
        "run_estimation": "run",
        "run_stages": "stages.sequence",
        "RunMonitor": "monitor",
        "StageResult": "result",
        "StageUncertainty": "result",
        "Status": "contract",
        "StopEstimation": "contract",
        "suited": "checks",
        "TimeSeriesEstimate": "contract",
        "Tracker": "online",
        "UnmodelledDelay": "comparisons",
    },
)
