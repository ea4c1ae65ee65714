"""Uncertainty of an estimate: covariance, intervals, identifiability, residuals."""

from fmident.statistics.identifiability import (
    DeterminedCombination,
    DirectionErrors,
    Identifiability,
    RankAnalysis,
    analyse_rank,
    scaled_jacobian_error,
)
from fmident.statistics.residuals import ResidualStatistics, residual_statistics
from fmident.statistics.uncertainty import ParameterStatistics, parameter_statistics

__all__ = [
    "DeterminedCombination",
    "DirectionErrors",
    "Identifiability",
    "ParameterStatistics",
    "RankAnalysis",
    "ResidualStatistics",
    "analyse_rank",
    "parameter_statistics",
    "residual_statistics",
    "scaled_jacobian_error",
]
