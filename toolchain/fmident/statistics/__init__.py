"""Uncertainty of an estimate: covariance, intervals, identifiability, residuals."""

from fmident.statistics.identifiability import (
    DeterminedCombination,
    DirectionErrors,
    Identifiability,
    RankAnalysis,
    analyse_rank,
    scaled_jacobian_error,
)
from fmident.statistics.local_model import LocalModel
from fmident.statistics.residuals import ResidualScores, ResidualStatistics, residual_statistics
from fmident.statistics.sequential import HeldValues, SequentialCovariance

__all__ = [
    "DeterminedCombination",
    "DirectionErrors",
    "HeldValues",
    "Identifiability",
    "LocalModel",
    "RankAnalysis",
    "ResidualScores",
    "ResidualStatistics",
    "SequentialCovariance",
    "analyse_rank",
    "residual_statistics",
    "scaled_jacobian_error",
]
