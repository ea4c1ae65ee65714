"""Jacobians of a problem's residuals: steps chosen, columns computed, results remembered."""

from __future__ import annotations

import numpy as np

from fmident._types import F64
from fmident.evaluation.broyden import Basis, updated_basis
from fmident.evaluation.differences import Columns, JacobianError, difference_columns
from fmident.evaluation.directions import (
    DirectionalDerivatives,
    directional_derivatives,
    longest_steps,
)
from fmident.evaluation.events import Crossing
from fmident.evaluation.memory import Recent
from fmident.evaluation.neighbourhood import Neighbourhood
from fmident.evaluation.noise import POINTS
from fmident.evaluation.places import Places
from fmident.evaluation.runs import Runs
from fmident.evaluation.steps import Scheme, StepSizes, choose_steps, fixed_steps, parameter_size
from fmident.problem.search_space import SearchSpace

_STALE = 2.0
"""Steps are chosen anew when a parameter has moved by this many times its size, or shrunk to
this part of it."""

_UNUSED = 1e-6
"""Relative step in place of those that the parameters have themselves."""

_EVENT_REACH = 1.0
"""Longest step along a direction where there are events, in steps of the Jacobian."""

_EPS = float(np.finfo(np.float64).eps)


class Derivatives:
    """Derivatives of the whitened residuals with respect to the physical parameters.

    Parameters
    ----------
    runs
        Simulates the points.
    space
        The search space, in which steps are taken.

    Attributes
    ----------
    steps
        Steps of the finite differences; ``None`` before the first Jacobian.
    """

    def __init__(self, runs: Runs, space: SearchSpace) -> None:
        self.steps: StepSizes | None = None
        self._runs = runs
        self._problem = runs.problem
        self._space = space
        self._places = Places(runs.problem)
        self._jacobians: Recent[F64] = Recent(1)
        self._last: tuple[bytes, Columns] | None = None
        self._basis: Basis | None = None
        self._known_errors: tuple[bytes, F64] | None = None
        self._chosen_at: F64 = space.from_physical(runs.problem.initial)

    def branch(self, runs: Runs) -> Derivatives:
        """Return derivatives from other runs that begin with the steps and Jacobian known here.

        Parameters
        ----------
        runs
            Of the same problem.
        """
        found = Derivatives(runs, self._space)
        found.take_over(self)
        return found

    def take_over(self, other: Derivatives) -> None:
        """Go on with the steps and the last Jacobian of another of the same problem."""
        self.steps, self._chosen_at = other.steps, other._chosen_at
        self._jacobians = other._jacobians.copy()
        self._last, self._known_errors = other._last, other._known_errors
        self._basis = other._basis
        self._places = other._places

    def knows(self, point: F64) -> bool:
        """Return whether :meth:`jacobian` at `point` would cost nothing."""
        return self._jacobians.get(point.tobytes()) is not None

    def jacobian(self, point: F64) -> F64:
        """Return the Jacobian at `point`, (n,) -> (m, n).

        Raises
        ------
        JacobianError
            The simulation fails at `point`, or all around it.
        """
        known = self._jacobians.get(point.tobytes())
        if known is not None:
            return known.copy()
        base = self._base(point)
        if not bool(np.isfinite(base).all()):
            raise JacobianError(
                f"there is no Jacobian where the simulation fails: {self._runs.reason()}",
                hint="start elsewhere, or narrow the bounds",
            )
        steps = self.measure_steps(point)
        z = self._space.from_physical(point)
        found = difference_columns(
            self._around(base, z),
            steps,
            [q.name for q in self._problem.free],
            self._problem.evaluation.difference,
            self._runs.reason,
            None if self._last is None else self._last[1].smooth,
        )
        self._runs.counts.add(jacobians=1)
        self._last = (point.tobytes(), found)
        jacobian: F64 = found.jacobian / self._space.derivative(point)
        self._jacobians.put(point.tobytes(), jacobian)
        if self._problem.evaluation.broyden:
            self._basis = Basis(z, base, found.jacobian, 0, self._runs.candidates)
        return jacobian.copy()

    def updated(self, point: F64) -> F64 | None:
        """Return the Jacobian at `point` updated from the one before, (m, n).

        ``None`` when the problem wants no updates, when the Jacobian there is known anyway, or
        when an update would not do (see :func:`~fmident.evaluation.broyden.updated_basis`).
        """
        most = self._problem.evaluation.broyden
        if not most or self._basis is None or self.knows(point):
            return None
        base, z = self._base(point), self._space.from_physical(point)
        if np.array_equal(z, self._basis.z):
            found: Basis | None = self._basis
        else:
            movable = (self._space.lower < z) & (z < self._space.upper)
            found = updated_basis(self._basis, z, base, self._runs.candidates, most, movable)
            self._runs.counts.add(updates=int(found is not None))
        if found is None:
            return None
        self._basis = found
        jacobian: F64 = found.jacobian / self._space.derivative(point)
        return jacobian

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the last Jacobian: rows that events crossed."""
        if self._last is None:
            return ()
        return self._places.notes(self._last[1].crossings)

    def is_given(self, point: F64) -> bool:
        """Return whether the Jacobian at `point` was handed over, not computed here."""
        return self._known_errors is not None and self._known_errors[0] == point.tobytes()

    def remember(self, point: F64, jacobian: F64, column_errors: F64) -> None:
        """Take over a Jacobian and the expected error of its columns."""
        key = point.tobytes()
        self._jacobians.put(key, jacobian)
        self._known_errors = (key, column_errors)

    def measure_steps(self, point: F64) -> StepSizes:
        """Return the steps at `point`, chosen anew when those at hand mean little there."""
        z = self._space.from_physical(point)
        if self.steps is None or self._stale(z):
            self._chosen_at = z
            base = self._base(point)
            points = POINTS - 1 + 2 * z.size
            with self._runs.activities.during("measuring the noise of the simulation", points):
                self.steps = self._choose_steps(base, z)
        return self.steps

    def column_errors(self, point: F64) -> F64 | None:
        """Return the expected length of the error of each column at `point`, shape (n,)."""
        if self._known_errors is not None and self.is_given(point):
            return self._known_errors[1]
        if self.steps is None:
            return None
        entries = self.steps.errors
        if self._last is not None and self._last[0] == point.tobytes():
            entries = self._last[1].errors
        rows = self._base(point).size
        errors: F64 = np.sqrt(rows) * entries / np.abs(self._space.derivative(point))
        return errors

    def along(self, point: F64, directions: F64) -> DirectionalDerivatives:
        """Return derivatives along `directions`, (n, k), in physical parameters.

        Raises
        ------
        JacobianError
            The simulation fails at `point`, or all around it.
        """
        jacobian = self.jacobian(point)
        base, steps = self._base(point), self.measure_steps(point)
        # Rows that an event crosses have no difference along a long step.
        smooth = np.ones(base.size, dtype=np.bool_)
        for crossing in self._crossings(point):
            smooth[crossing.rows] = False
        expected = np.linalg.norm(jacobian[smooth] @ directions, axis=0)
        z = self._space.from_physical(point)
        ways = directions / self._space.derivative(point)[:, np.newaxis]
        magnitude = self._runs.output_magnitude(base)
        visible = magnitude * np.sqrt(base.size) / np.maximum(expected, _EPS)
        reach = longest_steps(ways, self._parameter_size(z), visible)
        if steps.events is not None and bool(steps.events.any()):
            # A long step would move the event across more samples than those that are left out.
            with np.errstate(divide="ignore"):
                near = np.min(steps.steps[:, np.newaxis] / np.abs(ways), axis=0)
            reach = np.minimum(reach, _EVENT_REACH * near)
        with self._runs.activities.during("computing the intervals", 4 * directions.shape[1]):
            found = directional_derivatives(
                lambda points: self._in_space(points)[:, smooth],
                base[smooth],
                z,
                ways,
                reach,
                self._space.lower,
                self._space.upper,
                steps.noise_or_rounding,
            )
        self._runs.counts.add(jacobians=1)
        values = jacobian @ directions
        values[smooth] = found.values
        return DirectionalDerivatives(values, found.errors)

    def _crossings(self, point: F64) -> tuple[Crossing, ...]:
        if self._last is None or self._last[0] != point.tobytes():
            return ()
        return self._last[1].crossings

    def _base(self, point: F64) -> F64:
        row: F64 = self._runs.residuals(point[np.newaxis, :])[0]
        return row

    def _stale(self, z: F64) -> bool:
        """Return whether the point is far from where the steps were chosen."""
        size = self._parameter_size(self._chosen_at)
        shrunk = self._parameter_size(z) < size / _STALE
        far = np.abs(z - self._chosen_at) > _STALE * size
        return bool((shrunk | far).any())

    def _choose_steps(self, base: F64, z: F64) -> StepSizes:
        settings = self._problem.evaluation
        size = self._parameter_size(z)
        magnitude = self._runs.output_magnitude(base)
        own = self._own_steps(z)
        scheme: Scheme = "central" if settings.difference == "central" else "one-sided"
        relative = settings.relative_step
        if relative is not None or bool(np.isfinite(own).all()):
            chosen = fixed_steps(relative or _UNUSED, size, magnitude, settings.difference)
        else:
            around = self._around(base, z)
            chosen = choose_steps(around, size, magnitude, settings.difference)
        return chosen.with_own_steps(own, scheme)

    def _own_steps(self, z: F64) -> F64:
        """Return the steps that the problem gives, in the search space; NaN where it does not."""
        own = np.array([np.nan if q.step is None else q.step for q in self._problem.free])
        p = self._space.to_physical(z)
        # With log scaling by how much the logarithm grows.
        return np.where(self._space.log, np.log1p(own / np.abs(p)), own / self._space.scale)

    def _parameter_size(self, z: F64) -> F64:
        return parameter_size(self._space, self._space.from_physical(self._problem.initial), z)

    def _around(self, base: F64, z: F64) -> Neighbourhood:
        lower, upper = self._space.lower, self._space.upper
        return Neighbourhood(self._in_space, base, z, lower, upper, self._places.groups)

    def _in_space(self, points: F64) -> F64:
        """Return residuals at points of the search space that are no candidates for the best."""
        physical = self._space.to_physical(points)
        return self._runs.probe(np.clip(physical, self._problem.lower, self._problem.upper))
