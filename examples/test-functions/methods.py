"""The methods that are compared, behind one signature: minimise a counted function."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
from functions import TestFunction

from fmident.arrays import F64
from fmident.estimation import Estimator, Monitor
from fmident.evaluation import python_problem
from fmident.problem.model import Parameter
from fmident_estimators.cma_es.estimator import CmaEs, CmaEsOptions
from fmident_estimators.differential_evolution.estimator import (
    DifferentialEvolution,
    DifferentialEvolutionOptions,
)
from fmident_estimators.particle_swarm.estimator import ParticleSwarm, ParticleSwarmOptions
from fmident_estimators.special_genetic.estimator import SpecialGenetic, SpecialGeneticOptions

TOLERANCE = 1e-4
BUDGET = 10_000
"""Cost evaluations of one run at most: 1000 iterations of a swarm of 10."""
SMALL_BUDGET = 980
"""Fewer than the 1000 of one run of exudyn's genetic optimiser with its defaults."""


class Spent(Exception):  # noqa: N818 - ends methods that have no such option
    """Nothing is left of the budget, or the tolerance has been reached."""


class Counted:
    """A test function that counts its evaluations and knows the best value.

    Parameters
    ----------
    function
        What to count.
    tolerance
        Value at which a method that has no such option is stopped; ``None``: never.
    budget
        Evaluations at most.
    """

    def __init__(
        self, function: TestFunction, tolerance: float | None = None, budget: int = BUDGET
    ) -> None:
        self.function = function
        self.budget = budget
        self.evaluations = 0
        self.best = np.inf
        self._tolerance = tolerance

    def __call__(self, points: F64) -> F64:
        """Return the values, (k, 2) -> (k,), as long as the budget allows.

        Raises
        ------
        Spent
            After the last batch that fits, or once the tolerance is reached.
        """
        if self.evaluations + len(points) > self.budget:
            raise Spent
        values = self.function.values(points)
        self.evaluations += len(points)
        self.best = min(self.best, float(np.min(values)))
        if self._tolerance is not None and self.best <= self._tolerance:
            raise Spent
        return values


class PlainEvaluator:
    """What a population method needs of an evaluator, around a function instead of simulations."""

    def __init__(self, counted: Counted) -> None:
        self._counted = counted

    def cost(self, point: F64) -> float:
        """Return the value at one point."""
        return float(self.costs(point[np.newaxis])[0])

    def costs(self, points: F64) -> F64:
        """Return the values at points, (k, 2) -> (k,)."""
        return self._counted(points)


class Silent(Monitor):
    """A monitor that nobody listens to: the methods of the contract, which do nothing."""


def _run(estimator: Estimator[Any], options: object, seed: int, counted: Counted) -> None:
    limit = counted.function.limit
    # The initial point is drawn like any other, so that it says nothing of the minimum.
    start = np.random.default_rng(10_000_000 + seed).uniform(-limit, limit, 2)
    parameters = [
        Parameter(name, float(value), -limit, limit, variable=name)
        for name, value in zip(("t1", "t2"), start, strict=True)
    ]
    problem = python_problem({"y": np.zeros(1)}, np.zeros(1), parameters)
    evaluator: Any = PlainEvaluator(counted)
    with contextlib.suppress(Spent):
        estimator.estimate(problem, evaluator, options, Silent())


def special_genetic(counted: Counted, seed: int) -> None:
    """Ours, with the same settings for all functions, found with seeds that the study does not use.

    A cycle ends when the costs of its survivors are within the tolerance; the run ends when
    all of them are below it.
    """
    options = SpecialGeneticOptions(
        initial_population=20,
        survivors=6,
        children=3,
        range_reduction=0.6,
        start_from_initial=False,
        cycles=BUDGET,
        generations=BUDGET,
        target_cost=TOLERANCE,
        cost_tolerance=TOLERANCE,
        parameter_tolerance=1e-5,
        seed=seed,
    )
    _run(SpecialGenetic(), options, seed, counted)


def special_genetic_small_budget(counted: Counted, seed: int) -> None:
    """Ours for fewer evaluations than one run of exudyn, the same settings for all functions.

    Its cycles end when the costs of three survivors are within 0.01, far above the tolerance, so
    that even few evaluations are enough for many cycles. Found with seeds that the study does
    not use, too.
    """
    counted.budget = SMALL_BUDGET
    options = SpecialGeneticOptions(
        initial_population=20,
        survivors=3,
        children=3,
        range_reduction=0.77,
        start_from_initial=False,
        cycles=BUDGET,
        cycle_range=(1e-5, 0.5),
        generations=BUDGET,
        target_cost=TOLERANCE,
        cost_tolerance=1e-2,
        parameter_tolerance=1e-6,
        seed=seed,
    )
    _run(SpecialGenetic(), options, seed, counted)


def special_genetic_published(counted: Counted, seed: int) -> None:
    """Run the published algorithm: one cycle.

    Our copy of the paper has no Table 1, which holds its settings; survivors and children are
    those of its tripod.
    """
    options = SpecialGeneticOptions(
        initial_population=20,
        survivors=12,
        children=12,
        range_reduction=0.7,
        start_from_initial=False,
        generations=BUDGET,
        target_cost=TOLERANCE,
        seed=seed,
    )
    _run(SpecialGenetic(), options, seed, counted)


def cma_es(counted: Counted, seed: int) -> None:
    """Run CMA-ES with the package's recommended population and restarts (IPOP)."""
    options = CmaEsOptions(restarts=9, generations=BUDGET, target_cost=TOLERANCE, seed=seed)
    _run(CmaEs(), options, seed, counted)


def differential_evolution(counted: Counted, seed: int) -> None:
    """SciPy's recommended settings."""
    options = DifferentialEvolutionOptions(target_cost=TOLERANCE, seed=seed)
    _run(DifferentialEvolution(), options, seed, counted)


def particle_swarm(counted: Counted, seed: int, **settings: Any) -> None:
    """Run a swarm of 10 as in the paper, else with the package's settings."""
    options = ParticleSwarmOptions(
        population=10,
        generations=BUDGET,
        target_cost=TOLERANCE,
        parameter_tolerance=0.0,
        relative_tolerance=0.0,
        seed=seed,
        **settings,
    )
    _run(ParticleSwarm(), options, seed, counted)


def particle_swarm_constant(counted: Counted, seed: int) -> None:
    """Run the textbook's swarm: constant factors (Clerc and Kennedy 2002), no perturbation."""
    particle_swarm(
        counted,
        seed,
        adaptive=False,
        inertia=0.729,
        cognitive=1.494,
        social=1.494,
        perturb_best=False,
    )


def _exudyn(counted: Counted, seed: int, **settings: float) -> None:
    from exudyn.processing import GeneticOptimization

    def value(parameters: dict[str, float]) -> float:
        return float(counted(np.array([[parameters["t1"], parameters["t2"]]]))[0])

    limit = counted.function.limit
    ranges = {"t1": (-limit, limit), "t2": (-limit, limit)}
    GeneticOptimization(
        value, ranges, randomizerInitialization=seed, showProgress=False, **settings
    )


def exudyn_once(counted: Counted, seed: int) -> None:
    """Default settings: 10 generations of 100."""
    with contextlib.suppress(Spent):
        _exudyn(counted, seed)


def exudyn_repeated(counted: Counted, seed: int) -> None:
    """Run it again and again with other seeds until the tolerance is reached."""
    with contextlib.suppress(Spent):
        while True:
            _exudyn(counted, seed)
            seed += 1_000_000


def exudyn_single_minimum(counted: Counted, seed: int) -> None:
    """Run it repeatedly with distanceFactor 0, as its documentation advises for one minimum."""
    with contextlib.suppress(Spent):
        while True:
            _exudyn(counted, seed, distanceFactor=0.0)
            seed += 1_000_000


Method = Callable[[Counted, int], None]

METHODS: dict[str, tuple[Method, bool, int]] = {
    "special-genetic, as published": (special_genetic_published, False, 1000),
    "particle-swarm": (particle_swarm, False, 200),
    "particle-swarm, constant factors": (particle_swarm_constant, False, 200),
    "special-genetic": (special_genetic, False, 1000),
    f"special-genetic, {SMALL_BUDGET} evaluations": (special_genetic_small_budget, False, 1000),
    "cma-es": (cma_es, False, 100),
    "differential-evolution": (differential_evolution, False, 1000),
    "exudyn, once": (exudyn_once, True, 200),
    "exudyn, repeated": (exudyn_repeated, True, 100),
    "exudyn, one minimum": (exudyn_single_minimum, True, 200),
}
"""Name to method, whether it has to be stopped at the tolerance since it has no option, and how
often it runs: the slow ones less often."""
