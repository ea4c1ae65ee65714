"""The estimation problem: parameters, experiments, measurement model, residuals."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from fmident._lazy import lazy_face

if TYPE_CHECKING:
    from fmident.problem.constraints import Constraints
    from fmident.problem.cost import (
        Cost,
        EquidistantGrid,
        MeasuredSignal,
        SignalCost,
        TimeDomain,
    )
    from fmident.problem.dependent import (
        Dependence,
        measurement_derivatives,
        parameter_derivatives_for,
    )
    from fmident.problem.expressions import Constraint, Expression, read_constraint
    from fmident.problem.model import (
        EstimatorSettings,
        EvaluationSettings,
        Parameter,
        Prior,
        Problem,
        Scaling,
        SearchSpace,
        Stage,
    )
    from fmident.problem.priors import Priors
    from fmident.problem.proposal import Match, matched_columns, search_range, searchable
    from fmident.problem.reading.file import (
        ModelResolver,
        experiment_from_file,
        problem_from_file,
        read_problem_file,
    )
    from fmident.problem.residuals import (
        ResidualLayout,
        check_cost,
        cost_residuals,
        measured_output,
        measured_signals,
        measurement_values,
        parameter_values,
        parameter_values_for,
        predict,
        predict_measurement,
        residual_layout,
        whitened_residuals,
    )
    from fmident.problem.stages import continued, stage_of
    from fmident.problem.validate import validate_problem

__all__ = [
    "Constraint",
    "Constraints",
    "Cost",
    "Dependence",
    "EquidistantGrid",
    "EstimatorSettings",
    "EvaluationSettings",
    "Expression",
    "Match",
    "MeasuredSignal",
    "ModelResolver",
    "Parameter",
    "Prior",
    "Priors",
    "Problem",
    "ResidualLayout",
    "Scaling",
    "SearchSpace",
    "SignalCost",
    "Stage",
    "TimeDomain",
    "check_cost",
    "continued",
    "cost_residuals",
    "experiment_from_file",
    "matched_columns",
    "measured_output",
    "measured_signals",
    "measurement_derivatives",
    "measurement_values",
    "parameter_derivatives_for",
    "parameter_values",
    "parameter_values_for",
    "predict",
    "predict_measurement",
    "problem_from_file",
    "read_constraint",
    "read_problem_file",
    "residual_layout",
    "search_range",
    "searchable",
    "stage_of",
    "validate_problem",
    "whitened_residuals",
]

_face, __dir__ = lazy_face(
    __name__,
    {
        "check_cost": "residuals",
        "Constraint": "expressions",
        "Constraints": "constraints",
        "continued": "stages",
        "Cost": "cost",
        "cost_residuals": "residuals",
        "Dependence": "dependent",
        "EquidistantGrid": "cost",
        "EstimatorSettings": "model",
        "EvaluationSettings": "model",
        "experiment_from_file": "reading.file",
        "Expression": "expressions",
        "Match": "proposal",
        "matched_columns": "proposal",
        "measured_output": "residuals",
        "measured_signals": "residuals",
        "MeasuredSignal": "cost",
        "measurement_derivatives": "dependent",
        "measurement_values": "residuals",
        "ModelResolver": "reading.file",
        "Parameter": "model",
        "parameter_derivatives_for": "dependent",
        "parameter_values": "residuals",
        "parameter_values_for": "residuals",
        "predict": "residuals",
        "predict_measurement": "residuals",
        "Prior": "model",
        "Priors": "priors",
        "Problem": "model",
        "problem_from_file": "reading.file",
        "read_constraint": "expressions",
        "read_problem_file": "reading.file",
        "residual_layout": "residuals",
        "ResidualLayout": "residuals",
        "Scaling": "model",
        "search_range": "proposal",
        "searchable": "proposal",
        "SearchSpace": "model",
        "SignalCost": "cost",
        "Stage": "model",
        "stage_of": "stages",
        "TimeDomain": "cost",
        "validate_problem": "validate",
        "whitened_residuals": "residuals",
    },
)


def __getattr__(name: str) -> object:
    if name == "load_problem":
        text = "'fmident.problem.load_problem' is called 'problem_from_file'"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        name = "problem_from_file"
    return _face(name)
