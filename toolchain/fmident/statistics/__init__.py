"""Uncertainty of an estimate: covariance, intervals, identifiability, residuals.

:mod:`~fmident.statistics.local_model` has the steps from residuals to intervals.
"""

from fmident.statistics.identifiability import DeterminedCombination, Identifiability
from fmident.statistics.local_model import LocalModel
from fmident.statistics.rank import (
    DirectionErrors,
    RankAnalysis,
    analyse_rank,
    scaled_jacobian_error,
)
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
