"""Jacobians of a problem's residuals: exact columns and differences, put together and cached."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property, partial
from itertools import pairwise

import numpy as np

from fmident.arrays import F64, Flags
from fmident.evaluation.activity import DERIVATIVES
from fmident.evaluation.derivatives.differences import (
    NOTHING,
    POINTS,
    Columns,
    Crossing,
    Difference,
    JacobianError,
    Neighbourhood,
    StepSizes,
    choose_steps,
    difference_columns,
    fixed_steps,
    longest_step,
    parameter_size,
)
from fmident.evaluation.derivatives.exact import Exact, Linearised
from fmident.evaluation.memory import Recent
from fmident.evaluation.runs import Runs
from fmident.evaluation.solver_error import Integration
from fmident.problem.model import Problem, SearchSpace
from fmident.problem.residuals import DerivativeOrigin, ResidualLayout, residual_layout

_STALE = 2.0
"""Steps are chosen anew when a parameter has moved by this many times its size, or shrunk to
this part of it."""

_UNUSED = 1e-6
"""Relative step in place of those that the parameters have themselves."""

_EPS = float(np.finfo(np.float64).eps)

_SHOWN = 3  # samples of a note


class Derivatives:
    """Derivatives of the whitened residuals of the data with respect to the physical parameters.

    Finite-difference `steps` are in the search space, NaN for parameters that need none,
    and ``None`` before the first Jacobian that needs some.
    """

    def __init__(self, runs: Runs, space: SearchSpace, exact: Exact) -> None:
        self.runs, self.space, self.exact = runs, space, exact
        self.steps: StepSizes | None = None
        self.integration = Integration(runs, exact)
        self._problem = runs.problem
        self._places = Places(runs.problem)
        self._jacobians: Recent[F64] = Recent(1)
        self._last: tuple[bytes, Columns] | None = None
        self._differenced: tuple[int, ...] = exact.others
        self._given: tuple[bytes, F64] | None = None
        self._chosen_at: F64 = space.from_physical(runs.problem.initial)

    def branch(self, runs: Runs) -> Derivatives:
        """Return derivatives for other runs of the problem, with current steps and Jacobian."""
        branch = copy.copy(self)
        branch.runs, branch.exact = runs, self.exact.branch(runs)
        branch.integration = self.integration.branch(runs, branch.exact)
        branch._jacobians = self._jacobians.copy()
        return branch

    def knows(self, point: F64) -> bool:
        """Return whether :meth:`jacobian` at `point` would need no simulation."""
        return self._jacobians.get(point.tobytes()) is not None

    def jacobian(self, point: F64) -> F64:
        """Return the Jacobian at `point`, (n,) -> (m, n)."""
        key, settings, count = point.tobytes(), self._problem.evaluation, point.size
        known = self._jacobians.get(key)
        if known is not None:
            return known.copy()
        exact = self.exact.at(point)  # first: it simulates what residuals need as well
        base = self.base(point)
        self._refuse(base, exact)
        columns = Columns(np.zeros((base.size, count)), np.zeros(count), ())
        differenced = tuple(range(count)) if exact is None else self.exact.others
        if differenced:
            comparable = self._last is not None and self._differenced == differenced
            smooth = self._last[1].smooth if self._last is not None and comparable else None
            steps = self.measure_steps(point, differenced)
            points = len(differenced) * (1 + (settings.scheme == "central"))
            with self.runs.activities.during(DERIVATIVES, points):
                columns = difference_columns(
                    self.around(point, base),
                    steps,
                    [q.name for q in self._problem.free],
                    settings.scheme,
                    differenced,
                    self.runs.reason,
                    smooth,
                )
        slope = self.space.derivative(point)
        jacobian: F64 = columns.jacobian / slope
        if exact is not None:
            own = list(self.exact.columns)
            jacobian[:, own] = exact.jacobian
            columns.jacobian[:, own] = exact.jacobian * slope[own]
        self._differenced, self._last = differenced, (key, columns)
        self.runs.counts.add(jacobians=1)
        self._jacobians.put(key, jacobian)
        return jacobian.copy()

    def _refuse(self, base: F64, exact: Linearised | None) -> None:
        """Raise `JacobianError` where residuals or exact columns allow no Jacobian."""
        if not bool(np.isfinite(base).all()):
            raise JacobianError(
                f"there is no Jacobian where the simulation fails: {self.runs.reason()}",
                hint="start elsewhere, or narrow the bounds",
            )
        if exact is None and self._problem.evaluation.difference == "sensitivities":
            raise JacobianError(
                f"there are no sensitivities: {self.runs.sensitive.reason}",
                hint='use difference = "auto", which takes finite differences there',
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user about the Jacobians: rows crossed by events, fallbacks."""
        crossings = () if self._last is None else self._last[1].crossings
        return (*map(self._places.note, crossings), *self.runs.sensitive.notes)

    def origins(self) -> dict[str, DerivativeOrigin]:
        """Return the origin of the last derivatives by parameter; empty before a Jacobian."""
        if self._last is None:
            return {}
        origins = {}
        for j, q in enumerate(self._problem.free):
            if j not in self._differenced:
                origins[q.name] = self.exact.origin(j)
            elif j in self.exact.columns:
                origins[q.name] = DerivativeOrigin("differences", self.runs.sensitive.reason)
            else:
                origins[q.name] = DerivativeOrigin("differences", self.exact.why_not(j))
        return origins

    def last_at(self, point: F64) -> Columns | None:
        """Return the last Jacobian that was computed here, if it is that at `point`."""
        if self._last is None or self._last[0] != point.tobytes():
            return None
        return self._last[1]

    @property
    def last_differenced(self) -> list[int]:
        """Indices of the columns of the last Jacobian that are differences."""
        return list(self._differenced)

    @property
    def last_exact(self) -> list[int]:
        """Indices of the columns of the last Jacobian that are exact."""
        return [j for j in self.exact.columns if j not in self._differenced]

    def is_exact(self, point: F64) -> bool:
        """Return whether the Jacobian at `point`, if known, needed no differences."""
        known = self.last_at(point) is not None
        return known and not self._differenced and not self.is_given(point)

    def noise(self, point: F64) -> float:
        """Return the approximate error of the simulation in each residual, root mean square.

        It is the measured noise; without differences the measured integration error, or else
        the tolerance relative to the outputs; at least rounding.
        """
        if self.steps is not None:
            return self.steps.noise_or_rounding
        tolerance, measured = self.runs.tolerance, self.integration.size
        magnitude = self.runs.output_magnitude(self.base(point))
        if measured is None:
            guess = 0.0 if tolerance is None else tolerance * magnitude
            measured = guess if self.exact.needs_simulation else 0.0
        return max(measured, _EPS * magnitude)

    def influence(self, point: F64) -> tuple[Flags | None, float]:
        """Return which parameters change residuals at `point`, and the threshold of no change.

        The flags have shape (n,), ``None`` if not determined.
        """
        exact = self.exact.at(point)
        if exact is None:
            sizes = self.measure_steps(point)
            return sizes.influence, NOTHING * sizes.rounding
        base = self.base(point)
        nothing = NOTHING * _EPS * self.runs.output_magnitude(base)
        columns, others = list(self.exact.columns), list(self.exact.others)
        reach = longest_step(self.around(point, base), self.parameter_size(point))
        reach = (reach * np.abs(self.space.derivative(point)))[columns]
        acts = np.zeros(point.size, dtype=np.bool_)
        acts[columns] = np.sqrt(np.mean((exact.jacobian * reach) ** 2, axis=0)) > nothing
        if others:
            influence = self.measure_steps(point, others).influence
            acts[others] = False if influence is None else influence[others]
        return acts, nothing

    def is_given(self, point: F64) -> bool:
        """Return whether the Jacobian at `point` was supplied by a caller."""
        return self._given is not None and self._given[0] == point.tobytes()

    def remember(self, point: F64, jacobian: F64, column_errors: F64) -> None:
        """Store a Jacobian and the expected error of its columns."""
        key = point.tobytes()
        self._jacobians.put(key, jacobian)
        self._given = (key, column_errors)

    def measure_steps(self, point: F64, columns: Sequence[int] | None = None) -> StepSizes:
        """Return the steps at `point`, chosen again if the present ones do not apply there.

        They include those of `columns`, by default all that are not exact, or all.
        """
        needed = columns or self.exact.others or range(point.size)
        known = () if self.steps is None else np.flatnonzero(np.isfinite(self.steps.steps))
        stepped = {int(j) for j in known}
        if self.steps is not None and stepped.issuperset(needed) and not self._is_stale(point):
            return self.steps
        settings, wanted = self._problem.evaluation, sorted(stepped.union(needed))
        self._chosen_at = self.space.from_physical(point)
        base = self.base(point)
        size, magnitude = self.parameter_size(point), self.runs.output_magnitude(base)
        own, relative = self._own_steps(point), settings.relative_step
        if relative is not None or bool(np.isfinite(own[wanted]).all()):
            steps = fixed_steps(relative or _UNUSED, size, magnitude, settings.scheme)
        else:
            points = POINTS - 1 + 2 * len(wanted)
            with self.runs.activities.during("measuring the noise of the simulation", points):
                around = self.around(point, base)
                steps = choose_steps(around, size, magnitude, settings.scheme, wanted)
        difference: Difference = "central" if settings.difference == "central" else "forward"
        reasons = ["" if j in wanted else str(self.exact.origin(j)) for j in range(point.size)]
        self.steps = steps.with_own_steps(own, difference).only(wanted, reasons)
        return self.steps

    def _is_stale(self, point: F64) -> bool:
        size = self._size_at(self._chosen_at)
        z = self.space.from_physical(point)
        shrunk = self._size_at(z) < size / _STALE
        far = np.abs(z - self._chosen_at) > _STALE * size
        return bool((shrunk | far).any())

    def _own_steps(self, point: F64) -> F64:
        """Return the steps of the problem's parameters in the search space, NaN without one."""
        own = np.array([np.nan if q.step is None else q.step for q in self._problem.free])
        p = self.space.to_physical(self.space.from_physical(point))
        # With log scaling by how much the logarithm grows.
        steps: F64 = np.where(self.space.log, np.log1p(own / np.abs(p)), own / self.space.scale)
        return steps

    def column_errors(self, point: F64) -> F64 | None:
        """Return the expected error norm of each column at `point`, shape (n,)."""
        if self._given is not None and self.is_given(point):
            return self._given[1]
        if self._last is None and (self.steps is None or self.exact.columns):
            return None
        slope = self.space.derivative(point)
        entries = np.zeros(point.size) if self.steps is None else self.steps.errors
        if (last := self.last_at(point)) is not None:
            entries = last.errors
        rows = self.base(point).size
        errors: F64 = np.sqrt(rows) * entries / np.abs(slope)
        exact = self.last_exact
        if exact and self._last is not None:
            jacobian = self._last[1].jacobian[:, exact] / slope[exact]
            errors[exact] = self.exact.errors(point, jacobian, self.integration.tighter)
        return errors

    def base(self, point: F64) -> F64:
        """Return the residuals of the data at `point`, shape (m,)."""
        row: F64 = self.runs.residuals(point[np.newaxis, :])[0]
        return row

    def parameter_size(self, point: F64) -> F64:
        """Return the size of the parameters in the search space, shape (n,)."""
        return self._size_at(self.space.from_physical(point))

    def _size_at(self, z: F64) -> F64:
        return parameter_size(self.space, self.space.from_physical(self._problem.initial), z)

    def around(self, point: F64, base: F64, tolerance: float | None = None) -> Neighbourhood:
        """Return the search space around `point`; no point in it can become the best one."""
        residuals = partial(self.runs.probe, tolerance=tolerance, space=self.space)
        z, groups = self.space.from_physical(point), self._places.groups
        return Neighbourhood(residuals, base, z, self.space.lower, self.space.upper, groups)


class Places:
    """Positions of a problem's residuals, with times if there is one residual per sample."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @cached_property
    def _layout(self) -> ResidualLayout | None:
        return residual_layout(self._problem) if self._problem.cost.gives_intervals else None

    @cached_property
    def groups(self) -> tuple[slice, ...]:
        """Rows of each measurement of each experiment, compared with each other to find events."""
        if not self._problem.cost.by_sample:
            return ()
        layout = self._layout
        if layout is None or layout.size == 0:
            return (slice(None),)
        changes = (np.diff(layout.experiment) != 0) | (np.diff(layout.measurement) != 0)
        edges = [0, *(np.flatnonzero(changes) + 1).tolist(), layout.size]
        return tuple(slice(a, b) for a, b in pairwise(edges))

    def note(self, crossing: Crossing) -> str:
        """Return a sentence or two on a parameter whose step moved an event."""
        name = self._problem.free[crossing.column].name
        count = crossing.rows.size
        text = f"a finite-difference step of '{name}' moves an event across "
        text += f"{count} sample{'' if count == 1 else 's'}"
        layout = self._layout
        if layout is not None:
            text += ": " + "; ".join(self._where(layout, int(r)) for r in crossing.rows[:_SHOWN])
            text += f" and {count - _SHOWN} more" if count > _SHOWN else ""
        unresolved = int(np.count_nonzero(~crossing.resolved))
        if unresolved == 0:
            return text + "; the derivatives there are taken from the side without the jump"
        return text + (
            f"; at {unresolved} of them neither side gives a derivative: leave out the samples "
            "around the event, or refine the sampling there"
        )

    def _where(self, layout: ResidualLayout, row: int) -> str:
        experiment = self._problem.experiments[int(layout.experiment[row])]
        output = experiment.measurements[int(layout.measurement[row])].name
        return f"'{output}' at {layout.time[row]:.6g} s in experiment '{experiment.name}'"
