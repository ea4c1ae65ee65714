"""Uncertainty of an estimate: covariance, intervals, identifiability, residuals."""

from fmident.statistics.identifiability import (
    DeterminedCombination,
    DirectionErrors,
    Identifiability,
    RankAnalysis,
    analyse_rank,
    scaled_jacobian_error,
)
from fmident.statistics.linearisation import Linearisation
from fmident.statistics.residuals import ResidualScores, ResidualStatistics, residual_statistics
from fmident.statistics.sequential import HeldValues, SequentialCovariance
from fmident.statistics.uncertainty import ParameterStatistics, parameter_statistics

__all__ = [
    "DeterminedCombination",
    "DirectionErrors",
    "HeldValues",
    "Identifiability",
    "Linearisation",
    "ParameterStatistics",
    "RankAnalysis",
    "ResidualScores",
    "ResidualStatistics",
    "SequentialCovariance",
    "analyse_rank",
    "parameter_statistics",
    "residual_statistics",
    "scaled_jacobian_error",
]
