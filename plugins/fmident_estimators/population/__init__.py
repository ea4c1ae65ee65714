"""What the population methods share: the unit cube they search in, and book-keeping."""

from fmident_estimators.population.box import Box, without_bounds
from fmident_estimators.population.estimator import PopulationEstimator
from fmident_estimators.population.search import PopulationSearch

__all__ = ["Box", "PopulationEstimator", "PopulationSearch", "without_bounds"]
