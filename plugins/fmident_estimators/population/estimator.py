"""What the estimators that search with populations have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, TypeVar

from fmident.estimation.contract import Estimate, Estimator, Monitor
from fmident.evaluation.contract import Evaluator
from fmident.problem.model import Problem
from fmident_estimators.population.box import Box
from fmident_estimators.population.search import PopulationSearch

Options = TypeVar("Options")


class PopulationEstimator(Estimator[Options], Generic[Options]):
    """Searches the unit cube between the bounds, one generation after the other."""

    def check_problem(self, problem: Problem, options: Options) -> None:
        """Refuse parameters without finite bounds."""
        Box.of(problem, self.name)

    def estimate(
        self, problem: Problem, evaluator: Evaluator, options: Options, monitor: Monitor
    ) -> Estimate:
        """Search and return the best vector of all.

        Raises
        ------
        fmident.errors.ProblemError
            Parameters have no finite bounds.
        """
        return self.search(PopulationSearch(problem, evaluator, monitor, self.name), options)

    @abstractmethod
    def search(self, search: PopulationSearch, options: Options) -> Estimate:
        """Evaluate generations, and return what :meth:`PopulationSearch.finish` makes of them."""
