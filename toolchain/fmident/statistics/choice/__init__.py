"""Which of several models: information criteria, tests of nested models, coloured residuals."""

from fmident.statistics.choice.criteria import Criteria, Fit, akaike_weights, criteria
from fmident.statistics.choice.effective import inflation_of
from fmident.statistics.choice.modelled import ModelledLikelihood, modelled_likelihood
from fmident.statistics.choice.nested import LikelihoodRatio, likelihood_ratio

__all__ = [
    "Criteria",
    "Fit",
    "LikelihoodRatio",
    "ModelledLikelihood",
    "akaike_weights",
    "criteria",
    "inflation_of",
    "likelihood_ratio",
    "modelled_likelihood",
]
