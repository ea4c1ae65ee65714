"""The estimation problem: parameters, experiments, measurement model, residuals.

Reading order: ``model`` (the data), ``file`` (from TOML), ``residuals`` (measurement
model), ``search_space`` (scaling), ``validate``.
"""

from fmident.problem.file import ModelResolver, load_problem, read_problem_file
from fmident.problem.model import (
    EstimatorSettings,
    EvaluationSettings,
    Parameter,
    Problem,
    Scaling,
)
from fmident.problem.residuals import (
    ResidualLayout,
    measurement_values,
    parameter_values,
    parameter_values_for,
    predict,
    predict_measurement,
    residual_layout,
    whitened_residuals,
)
from fmident.problem.search_space import SearchSpace
from fmident.problem.validate import validate_problem

__all__ = [
    "EstimatorSettings",
    "EvaluationSettings",
    "ModelResolver",
    "Parameter",
    "Problem",
    "ResidualLayout",
    "Scaling",
    "SearchSpace",
    "load_problem",
    "measurement_values",
    "parameter_values",
    "parameter_values_for",
    "predict",
    "predict_measurement",
    "read_problem_file",
    "residual_layout",
    "validate_problem",
    "whitened_residuals",
]
