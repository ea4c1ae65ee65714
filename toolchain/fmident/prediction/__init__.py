"""Predictions of a model with the estimated parameters, and their uncertainty."""

from fmident.prediction.predict import Uncertainty, chosen_draws, covariance_of, predict
from fmident.prediction.result import (
    OutputBand,
    Prediction,
    Source,
    band_table,
    drawn_bands,
    normal_bands,
)

__all__ = [
    "OutputBand",
    "Prediction",
    "Source",
    "Uncertainty",
    "band_table",
    "chosen_draws",
    "covariance_of",
    "drawn_bands",
    "normal_bands",
    "predict",
]
