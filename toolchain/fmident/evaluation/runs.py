"""Simulations at points, with counts and cache, and the residuals computed from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64, root_mean_square
from fmident.errors import Code
from fmident.evaluation.activity import Activities
from fmident.evaluation.counts import Counts
from fmident.evaluation.executors.base import Executor, SubsetExecutor
from fmident.evaluation.journal.executor import RecordedExecutor
from fmident.evaluation.journal.journal import Journal, Population
from fmident.evaluation.journal.keys import identity_digest, population_key
from fmident.evaluation.memory import (
    Best,
    Earlier,
    Evaluated,
    Forgotten,
    Recent,
)
from fmident.evaluation.sensitivities import SensitivityRequests
from fmident.evaluation.setups import output_variables, own_tolerance, without_integration
from fmident.evaluation.side_by_side import in_callers_thread, whole_of
from fmident.evaluation.tasks import Outcomes, Simulated, SimulationFailure, SimulationTask
from fmident.problem.model import Problem, SearchSpace
from fmident.problem.priors import Priors
from fmident.problem.residuals import (
    cost_residuals,
    parameter_values_for,
    refuse_other_count,
)

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment


_REMEMBERED = 4
_REMEMBERED_BYTES = 32_000_000
"""Limit of the memory for residuals of large batches."""


class Runs:
    """Runs and caches the simulations of a problem.

    Points are free parameters in physical units, in the order of ``problem.free``. A failed
    simulation gives a row of NaN and never raises. A batch is one call of the `executor`.
    `best` is the point of least cost so far that was not a probe. Residuals are those of
    the data only; costs include the `priors`.
    """

    def __init__(self, problem: Problem, executor: Executor) -> None:
        self.problem = problem
        self.counts = Counts()
        self.best: Best | None = None
        self.activities = Activities(len(problem.experiments))
        self.sensitive = SensitivityRequests(problem)
        self.priors = Priors.of(problem)
        self._executor = executor
        self._recorder = recorder_of(executor)
        # Each with sensitivities and without.
        self._outputs: Recent[Simulated | Forgotten] = Recent(
            2 * _REMEMBERED * len(problem.experiments)
        )
        self._evaluated: Recent[Evaluated] = Recent(_REMEMBERED)
        self._size: int | None = None
        self._whole: Runs | None = None
        self._earlier: Earlier | None = None

    def branch(self, earlier: Earlier, executor: Executor) -> Runs:
        """Return runs of the same problem with a separate cache, initially `earlier`.

        Simulations and best point count here, too.
        """
        branch = Runs(self.problem, executor)
        branch.counts = Counts(self.counts)
        branch._size, branch._whole, branch._earlier = self._size, self, earlier
        branch.sensitive = self.sensitive.branch(self.problem)
        return branch

    def branch_bytes(self) -> int:
        """Return the approximate memory of a branch with its derivatives."""
        # Points, the Jacobian, and those that the derivatives keep for noise and events.
        rows = 2 * _REMEMBERED + 1 + 3 * len(self.problem.free)
        return 8 * self._residual_count() * rows

    def earlier(self) -> Earlier:
        """Return the present cache."""
        return Earlier(self.best, self._outputs, self._evaluated, self._earlier)

    def residuals(self, points: F64) -> F64:
        """Return the residuals of the data at candidates for the best point, (k, n) -> (k, m)."""
        known = [self._known_residuals(p) for p in points]
        new = [i for i, r in enumerate(known) if r is None]
        if new:
            self._expect(len(new))
            carries = self.sensitive.carries(len(new))
            if carries:
                self.sensitive.carried(used=False)
            tasks = self._tasks_of(points[new], sensitivities=carries)
            outcomes = self._simulate(tasks, remember=True)
            fresh = self._residuals_of(points[new], tasks, outcomes)
            for i, r in zip(new, fresh, strict=True):
                self._remember(points[i], Evaluated(self.priors.cost(points[i], r), r))
                known[i] = r
        return np.array(known)

    def costs(self, points: F64) -> F64:
        """Return the costs at candidates for the best point, as one batch, (k, n) -> (k,).

        A large journal has only costs; a resumed run repeats simulations for residuals.
        """
        recorder = self._recorder
        journal = None if recorder is None else recorder.thrifty_journal
        if recorder is None or journal is None:
            residuals = self.residuals(points)
            return self._costs_of(points, residuals)
        known = [self._known(p) for p in points]
        new = [i for i, item in enumerate(known) if item is None]
        costs = np.array([np.nan if item is None else item.cost for item in known])
        if new:
            key = population_key(self._digest, points[new])
            population = journal.find_population(key, len(new))
            if population is None:
                population = self._record(recorder, journal, points[new])
                journal.keep_population(key, population)
            else:
                self._restore(recorder, points[new], population)
            costs[new] = population.costs
        return costs

    def probe(
        self,
        points: F64,
        tolerance: float | None = None,
        finer: int = 1,
        space: SearchSpace | None = None,
    ) -> F64:
        """Return the residuals without caching, at another tolerance or with `finer` steps.

        With `space`, the points are those of the search space; they are moved into the bounds.
        """
        if space is not None:
            physical = space.to_physical(points)
            points = np.clip(physical, self.problem.lower, self.problem.upper)
        tasks = self._tasks_of(points, tolerance, finer=finer)
        return self._residuals_of(points, tasks, self._simulate(tasks, remember=False))

    @cached_property
    def tolerance(self) -> float | None:
        """Relative tolerance of the simulations; ``None`` if unknown."""
        return own_tolerance(self.problem)

    @cached_property
    def without_integration(self) -> bool:
        """Whether nothing is integrated, so that outputs are exact whatever the tolerance."""
        return without_integration(self.problem)

    def linearised(self, point: F64, tolerance: float | None = None) -> list[F64] | None:
        """Return outputs with their sensitivities, one item per experiment, or ``None``."""
        self.sensitive.carried(used=True)
        if not self._is_finite(point):
            return None
        tasks = self._tasks(point, tolerance, sensitivities=True)
        outcomes = self._simulate(tasks, remember=True)
        complete = [self.sensitive.has_them(t, y) for t, y in zip(tasks, outcomes, strict=True)]
        outputs = [y for y in outcomes if not isinstance(y, SimulationFailure)]
        return outputs if all(complete) else None

    def outputs(self, point: F64) -> tuple[Simulated, ...]:
        """Return the FMU's outputs at one point, shape (n,), one item per experiment."""
        return tuple(self._simulate(self._tasks(point), remember=True))

    def other_outputs(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        points: F64,
        sensitivities: Sequence[str] = (),
    ) -> F64:
        """Return variables in any experiment and their derivatives, shape (k, instants, v)."""
        width = len(variables) * (1 + len(sensitivities))
        outputs = np.full((len(points), experiment.times.size, width), np.nan)
        usable = [k for k, p in enumerate(points) if self._is_finite(p)]
        values = [parameter_values_for(self.problem, experiment, points[k]) for k in usable]
        outcomes = self._executor.run_other(experiment, variables, values, sensitivities)
        self.counts.add(simulations=self.activities.ran(len(outcomes)))
        failed = [i for i, y in enumerate(outcomes) if isinstance(y, SimulationFailure)]
        if sensitivities and failed:
            again = [values[i] for i in failed]
            self.counts.add(simulations=len(failed))
            plain = self._executor.run_other(experiment, variables, again)
            for i, outcome in zip(failed, plain, strict=True):
                outcomes[i] = self.sensitive.instead(outcomes[i], outcome)
        for k, outcome in zip(usable, outcomes, strict=True):
            if isinstance(outcome, SimulationFailure):
                self.counts.failed(outcome)
            else:
                outputs[k, :, : outcome.shape[1]] = outcome
        return outputs

    def output_magnitude(self, base: F64) -> float:
        """Return the root mean square of the whitened outputs that belong to residuals."""
        measured = self._zero_output_residuals()
        simulated = measured - base
        size = max(root_mean_square(measured), root_mean_square(simulated))
        return size if size > 0.0 else 1.0

    def reason(self) -> str:
        """Return why the last simulation failed."""
        failure = self.counts.last_failure
        return "residuals are not finite" if failure is None else str(failure)

    def _record(self, recorder: RecordedExecutor, journal: Journal, points: F64) -> Population:
        """Return the costs at unknown points, whose outputs the journal holds meanwhile."""
        failures, before = self.counts.failures, self.best
        with journal.population():
            residuals = self.residuals(points)
            costs = self._costs_of(points, residuals)
        failed = self.counts.failures - failures
        if self.best is not None and self.best is not before:
            with recorder.retaining():
                self._executor.run_all(self._tasks(self.best.parameters))
        return Population(costs, failed, self.counts.last_failure if failed else None)

    def _restore(self, recorder: RecordedExecutor, points: F64, population: Population) -> None:
        """Restore the state after :meth:`_record` in an earlier process."""
        self._expect(len(points))
        simulations = self.counts.simulations
        usable = points[np.isfinite(points).all(axis=1)]
        self._simulate(self._tasks_of(usable), remember=True, restored=True)
        recorder.served.restored += self.counts.simulations - simulations
        self.counts.failed(population.last_failure, population.failures)
        for p, cost in zip(points, population.costs, strict=True):
            self._remember(p, Evaluated(float(cost), None))

    def _costs_of(self, points: F64, residuals: F64) -> F64:
        return np.array([self.priors.cost(p, r) for p, r in zip(points, residuals, strict=True)])

    @cached_property
    def _digest(self) -> bytes:
        """Digest of everything but the points that costs depend on."""
        return identity_digest(self.problem)

    def _expect(self, count: int) -> None:
        most = _REMEMBERED_BYTES // (8 * max(self._residual_count(), 1))
        self._evaluated.hold(min(count, most))

    def _remember(self, p: F64, item: Evaluated) -> None:
        self._evaluated.put(p.tobytes(), item)
        if not np.isfinite(item.cost) or (self.best is not None and item.cost >= self.best.cost):
            return
        # The outputs are kept, so that a run that is interrupted can end at once.
        outputs: dict[object, Simulated | Forgotten] = {}
        for task in (*self._tasks(p), *self._tasks(p, sensitivities=True)):
            known = self._lookup(task.key)
            if known is not None:
                outputs[task.key] = known
        self._take_best(Best(p.copy(), item.cost, item.residuals, outputs))

    def _take_best(self, best: Best) -> None:
        if self.best is None or best.cost < self.best.cost:
            self.best = best
        if self._whole is not None:
            self._whole._take_best(best)

    def _tasks_of(
        self,
        points: F64,
        tolerance: float | None = None,
        sensitivities: bool = False,
        finer: int = 1,
    ) -> list[SimulationTask]:
        more = tolerance, sensitivities, finer
        return [task for p in points if self._is_finite(p) for task in self._tasks(p, *more)]

    def _residuals_of(
        self, points: F64, tasks: Sequence[SimulationTask], outcomes: Sequence[Simulated]
    ) -> F64:
        """Return the residuals of points from the outcomes of their tasks, (k, m).

        Rows are NaN where a simulation failed, or the point is not finite.
        """
        count = len(self.problem.experiments)
        rows = np.full((len(points), self._residual_count()), np.nan)
        outputs = [self.sensitive.plain(task, y) for task, y in zip(tasks, outcomes, strict=True)]
        for i, k in enumerate(np.flatnonzero(np.isfinite(points).all(axis=1))):
            rows[k] = self.whiten(points[k], outputs[i * count : (i + 1) * count])
        return rows

    def _is_finite(self, p: F64) -> bool:
        """Return whether the point is finite, as simulations require; record the reason if not."""
        if bool(np.isfinite(p).all()):
            return True
        values = {q.name: float(v) for q, v in zip(self.problem.free, p, strict=True)}
        not_finite = SimulationFailure(
            "a parameter is not finite", None, values, code=Code.NOT_FINITE
        )
        self.counts.failed(not_finite)
        return False

    def whiten(self, p: F64, outputs: Sequence[Simulated]) -> F64:
        """Return the residuals computed from outputs, shape (m,); NaN if one is a failure."""
        arrays = [o for o in outputs if not isinstance(o, SimulationFailure)]
        if len(arrays) < len(outputs):
            return np.full(self._residual_count(), np.nan)
        residuals = cost_residuals(self.problem, arrays, p)
        refuse_other_count(self.problem, residuals, self._residual_count())
        return residuals

    def _residual_count(self) -> int:
        if self._size is None:
            self._size = self._zero_output_residuals().size
        return self._size

    def _zero_output_residuals(self) -> F64:
        """Return the residuals for zero outputs: the whitened measurements."""
        zeros = [
            np.zeros((e.times.size, len(output_variables(e)))) for e in self.problem.experiments
        ]
        return cost_residuals(self.problem, zeros, self.problem.initial)

    def _tasks(
        self,
        p: F64,
        tolerance: float | None = None,
        sensitivities: bool = False,
        finer: int = 1,
    ) -> list[SimulationTask]:
        return [
            SimulationTask(
                i,
                parameter_values_for(self.problem, experiment, p),
                tolerance,
                self.sensitive.of(i) if sensitivities else (),
                finer,
            )
            for i, experiment in enumerate(self.problem.experiments)
        ]

    def _simulate(
        self,
        tasks: Sequence[SimulationTask],
        *,
        remember: bool,
        restored: bool = False,
        again: bool = False,
    ) -> list[Simulated]:
        """Run tasks, and count those that are not cached here.

        With `restored`, tasks of an earlier process are not run, with `again` they are
        repeated.
        """
        keys = [task.key for task in tasks]
        by_key = dict(zip(keys, tasks, strict=True))
        known = {key: self._lookup(key) for key in by_key}
        new = [key for key, outcome in known.items() if outcome is None]
        if restored:
            self.counts.add(simulations=len(new))
            for key in new:
                self._outputs.put(key, Forgotten())
            return []
        forgotten = [key for key, outcome in known.items() if isinstance(outcome, Forgotten)]
        outcomes = {
            k: y for k, y in known.items() if y is not None and not isinstance(y, Forgotten)
        }
        if forgotten:
            # They are counted already.
            for index, outcome in self._run_again([by_key[key] for key in forgotten]):
                outcomes[forgotten[index]] = outcome
                self._outputs.put(forgotten[index], outcome)
        self.counts.add(simulations=len(new))
        if new:
            run = self._run_again if again else self._run_counted
            asked = [by_key[key] for key in new]
            simulated = dict(run(asked))
            self.sensitive.fall_back(asked, simulated, run, self.counts)
            for index, task in enumerate(asked):
                outcome = simulated[index]
                outcomes[task.key] = outcome
                if isinstance(outcome, SimulationFailure):
                    self.counts.failed(outcome)
                if remember:
                    self._outputs.put(task.key, outcome)
                    if task.sensitivities:
                        self._outputs.put(task.plain.key, self.sensitive.plain(task, outcome))
        return [outcomes[key] for key in keys]

    def _run_counted(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        return self.activities.count(self._executor.run(tasks), len(tasks))

    def _run_again(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        """Repeat simulations of an earlier process of which only costs are known.

        They do not wait for other searches, which take the same turns only if their joint
        batches are those of the original run.
        """
        return enumerate(in_callers_thread(lambda: whole_of(self._executor).run_all(tasks)))

    def _lookup(self, key: object) -> Simulated | Forgotten | None:
        known = self._outputs.get(key)
        if known is None and self.best is not None:
            known = self.best.outputs.get(key)
        if known is None and self._earlier is not None:
            known = self._earlier.output(key)
        return known

    def _known(self, p: F64) -> Evaluated | None:
        best = self.best
        if best is not None and np.array_equal(p, best.parameters):
            return Evaluated(best.cost, best.residuals)
        known = self._evaluated.get(p.tobytes())
        if known is None and self._earlier is not None:
            known = self._earlier.point(p)
            if known is not None:
                self._remember(p, known)
        return known

    def _known_residuals(self, p: F64) -> F64 | None:
        item = self._known(p)
        if item is None or item.residuals is not None:
            return None if item is None else item.residuals
        return self._recall(p, item)

    def _recall(self, p: F64, item: Evaluated) -> F64:
        """Return the residuals at a point of which a journal has only the cost."""
        points = np.atleast_2d(p)
        with self.counts.paused():  # it was counted when the cost was restored
            tasks = self._tasks_of(points)
            outcomes = self._simulate(tasks, remember=False, again=True)
        residuals: F64 = self._residuals_of(points, tasks, outcomes)[0]
        if self.best is not None and np.array_equal(p, self.best.parameters):
            self.best = dataclasses.replace(self.best, residuals=residuals)
        else:
            self._evaluated.put(p.tobytes(), Evaluated(item.cost, residuals))
        return residuals


def recorder_of(executor: Executor) -> RecordedExecutor | None:
    """Return the executor with the journal, also if wrapped for some experiments."""
    inner = executor.whole if isinstance(executor, SubsetExecutor) else executor
    return inner if isinstance(inner, RecordedExecutor) else None
