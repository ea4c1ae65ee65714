"""The estimator ``particle-swarm``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from fmident.estimation.contract import Estimate
from fmident.options import NOT_NEGATIVE, POSITIVE, Range
from fmident.problem.model import Problem
from fmident_estimators.packages import imported
from fmident_estimators.population import PopulationEstimator, PopulationSearch, SettlingOptions


@dataclass(frozen=True)
class ParticleSwarmOptions(SettlingOptions):
    """Keys of the ``[estimator]`` table.

    Parameters
    ----------
    population
        Number of particles.
    adaptive
        Whether inertia and both accelerations are adapted to the distances between the
        particles; otherwise they are constant.
    inertia
        Factor on the velocity of the previous step.
    cognitive, social
        Largest acceleration towards the best point of the particle and of the swarm.
    largest_velocity
        Maximum step, as a fraction of the bounds.
    perturb_best
        Whether the best particle moves by a random mutation instead of its velocity, so
        that a swarm at rest continues.
    """

    population: Annotated[int, Range(least=2)] = 25
    adaptive: bool = True
    inertia: Annotated[float, NOT_NEGATIVE] = 0.9
    cognitive: Annotated[float, NOT_NEGATIVE] = 2.0
    social: Annotated[float, NOT_NEGATIVE] = 2.0
    largest_velocity: Annotated[float, POSITIVE] = 0.2
    perturb_best: bool = True


class ParticleSwarm(PopulationEstimator[ParticleSwarmOptions]):
    """The swarm of ``pymoo``, through its ask-and-tell interface."""

    name: ClassVar[str] = "particle-swarm"
    summary: ClassVar[str] = "particle swarm (pymoo), a generation as one batch"
    options_type: ClassVar[type[ParticleSwarmOptions]] = ParticleSwarmOptions

    def check_problem(self, problem: Problem, options: ParticleSwarmOptions) -> None:
        """Reject parameters without finite bounds, and a missing package."""
        imported("pymoo", self.name, "swarm")
        super().check_problem(problem, options)

    def expected_simulations(self, options: ParticleSwarmOptions, problem: Problem) -> int:
        """Return the points of all generations; the tolerances usually end the run earlier."""
        return options.generations * options.population * len(problem.experiments)

    def search(self, search: PopulationSearch, options: ParticleSwarmOptions) -> Estimate:
        """Search generation by generation and return the best point of all."""
        imported("pymoo", self.name, "swarm")
        from pymoo.algorithms.soo.nonconvex.pso import PSO
        from pymoo.core.problem import Problem as PymooProblem

        generator = np.random.default_rng(options.seed)
        swarm = PSO(
            pop_size=options.population,
            sampling=search.first_generation(options.population, generator),
            adaptive=options.adaptive,
            w=options.inertia,
            c1=options.cognitive,
            c2=options.social,
            max_velocity_rate=options.largest_velocity,
            pertube_best=options.perturb_best,
        )
        swarm.setup(
            PymooProblem(n_var=search.initial.size, n_obj=1, xl=0.0, xu=1.0),
            seed=int(generator.integers(2**31)),
            termination=("n_gen", options.generations + 1),
        )
        while search.generations < options.generations:
            particles = swarm.ask()
            costs = search.evaluate(np.clip(particles.get("X"), 0.0, 1.0))
            search.end_generation(costs)
            if search.reached(options.target_cost):
                return search.at_target(options.target_cost)
            for particle, cost in zip(particles, costs, strict=True):
                particle.set("F", np.array([cost]))
                particle.evaluated.update("FGH")
            swarm.tell(infills=particles)
            if reason := options.settled(swarm.pop.get("X"), swarm.pop.get("F")[:, 0]):
                return search.converged(reason)
        return search.at_limit(options.generations)
