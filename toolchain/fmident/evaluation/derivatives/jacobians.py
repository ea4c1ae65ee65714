"""Jacobians of a problem's residuals: steps chosen, columns computed, results remembered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fmident.arrays import F64
from fmident.evaluation.derivatives.curvature import longest_step
from fmident.evaluation.derivatives.differences import Columns, JacobianError, difference_columns
from fmident.evaluation.derivatives.directions import DirectionalDerivatives, longest_steps
from fmident.evaluation.derivatives.events import Crossing
from fmident.evaluation.derivatives.ladder import Ladder, LadderDerivatives
from fmident.evaluation.derivatives.neighbourhood import Neighbourhood
from fmident.evaluation.derivatives.noise import POINTS
from fmident.evaluation.derivatives.outliers import Flags
from fmident.evaluation.derivatives.places import Places
from fmident.evaluation.derivatives.steps import (
    Scheme,
    StepSizes,
    choose_steps,
    fixed_steps,
    parameter_size,
)
from fmident.evaluation.memory import Recent
from fmident.evaluation.runs import Runs
from fmident.evaluation.solver_error import can_compare_interfaces
from fmident.problem.search_space import SearchSpace

_STALE = 2.0
"""Steps are chosen anew when a parameter has moved by this many times its size, or shrunk to
this part of it."""

_UNUSED = 1e-6
"""Relative step in place of those that the parameters have themselves."""

_OTHERS = (1e-7, 1e-5)
"""Tolerances that show whether an FMU respects one at all, where its own, which may be one of
them, is not known."""

_CLIMBS = 4
_ENOUGH = 1e-3
"""Relative error of a derivative that needs no better step."""

_SETTLED, _TYPICAL = 0.1, 3.0
"""Part of a derivative, and times the disagreement of other rows, by which two rungs may disagree
on a row that an event may cross."""

_FAMILIAR = 4.0
"""Times the largest derivative of all rows, from which on the disagreement of two rungs is that of
a jump."""

_BENT = 0.006
"""Part of a column that curvature may add to a difference with a longer step, twice."""

_APART = 100.0
"""Ratio of the longest such step to the one used from which on a second one says something."""

_SHORTER, _QUIET = 0.03, 1e-5
"""A shorter step in place of a longer one, and part of the column that noise may be there."""

TIGHTER = 0.01
"""Tolerance at which the error of the integration is measured, in relation to the problem's."""

_SLOWEST, _FASTEST = 0.25, 1.5
"""Powers of the tolerance between which the error of an integrator falls."""

TIGHTEST = 1e-13
"""Integrators in double precision cannot respect a smaller tolerance."""

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
        self._known_errors: tuple[bytes, F64] | None = None
        self._integration: tuple[bytes, F64] | None = None
        self._ignores_tolerance = False
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
        self._places = other._places
        self._integration, self._ignores_tolerance = other._integration, other._ignores_tolerance

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
        return jacobian.copy()

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
        climb = self.climb(point, directions)
        for _ in range(_CLIMBS):
            found = climb.found()
            lengths = np.linalg.norm(found.differences, axis=0)
            crude = lengths > _ENOUGH * np.linalg.norm(found.values, axis=0)
            if not climb.refine([int(k) for k in np.flatnonzero(crude)]):
                break
        found = climb.found()
        lengths = np.linalg.norm(found.differences, axis=0)
        return DirectionalDerivatives(found.values, np.where(np.isnan(lengths), np.inf, lengths))

    def climb(
        self,
        point: F64,
        directions: F64,
        noise: float | None = None,
        tolerance: float | None = None,
    ) -> Climb:
        """Begin with derivatives along directions that verify themselves.

        Parameters
        ----------
        point
            Shape (n,).
        directions
            In physical parameters, shape (n, k).
        noise
            Root mean square per residual, if more is known of it than what was measured.
        tolerance
            Of the integrator, in place of that of the problem.

        Raises
        ------
        JacobianError
            The simulation fails at `point`, or all around it.
        """
        jacobian = self.jacobian(point)
        base, steps = self._base(point), self.measure_steps(point)
        if tolerance is not None:
            base = self._runs.probe(point[np.newaxis, :], tolerance)[0]
            if not bool(np.isfinite(base).all()):
                raise JacobianError(
                    f"the simulation fails at the tolerance {tolerance:g}: {self._runs.reason()}"
                )
        # Rows that an event crosses may have no difference along any step.
        crossed = np.zeros(base.size, dtype=np.bool_)
        for crossing in self._crossings(point):
            crossed[crossing.rows] = True
        known = jacobian @ directions
        expected = np.linalg.norm(known[~crossed], axis=0)
        z = self._space.from_physical(point)
        ways = directions / self._space.derivative(point)[:, np.newaxis]
        magnitude = self._runs.output_magnitude(base)
        visible = magnitude * np.sqrt(base.size) / np.maximum(expected, _EPS)
        reach = longest_steps(ways, self._parameter_size(z), visible)
        ladder = Ladder(
            lambda points: self._in_space(points, tolerance),
            base,
            z,
            ways,
            reach,
            expected,
            self._space.lower,
            self._space.upper,
            max(steps.noise_or_rounding, noise or 0.0),
            self._places.groups,
        )
        self._runs.counts.add(jacobians=1)
        return Climb(ladder, known, crossed)

    def other_columns(self, point: F64) -> F64 | None:
        """Return the Jacobian at `point` by other, far longer steps, one simulation per column.

        The same derivatives to first order in the steps, which are as long as the curvature that
        was measured allows, so that noise that the short steps mistake for a slope is seen. A
        column whose step is long already has a shorter one, where noise allows it.

        Returns
        -------
        numpy.ndarray or None
            Shape (m, n); NaN in columns for which no such step is known, or that fail; ``None``
            where the Jacobian was not computed here, or events cross rows, which no long step has.
        """
        if self._last is None or self._last[0] != point.tobytes() or self.steps is None:
            return None
        if self._last[1].crossings:
            return None
        base, z, steps = self._base(point), self._space.from_physical(point), self.steps
        columns, around = self._last[1], self._around(base, z)
        size, offsets, root = self._parameter_size(z), np.zeros(z.size), np.sqrt(base.size)
        longest = longest_step(around, size)
        for j in range(z.size):
            used = float(steps.steps[j])
            length = float(np.linalg.norm(columns.jacobian[:, j]))
            bend = float(np.nan_to_num(steps.curvature[j])) * root
            most = min(float(longest[j]), _BENT * length / bend if bend > 0.0 else np.inf)
            if most >= _APART * used:
                length = float(np.sqrt(used * most))
            elif steps.noise_or_rounding * root <= _QUIET * length * used:
                length = _SHORTER * used  # the step is the longest there is: almost no noise
            else:
                continue
            offset = around.inside(j, float(-np.sign(around.inside(j, used)) * length))
            offsets[j] = offset if abs(offset) > 0.5 * length else 0.0
        tried = [int(j) for j in np.flatnonzero(offsets)]
        found = np.full(columns.jacobian.shape, np.nan)
        samples = around.samples([(j, float(offsets[j])) for j in tried])
        for j, sample in zip(tried, samples, strict=True):
            if sample is not None:
                found[:, j] = sample.slope
        for crossing in columns.crossings:
            found[crossing.rows, crossing.column] = columns.jacobian[crossing.rows, crossing.column]
        jacobian: F64 = found / self._space.derivative(point)
        return jacobian

    def integration_error(self, point: F64) -> F64 | None:
        """Return what the integrator's tolerance leaves in the residuals at `point`, shape (m,).

        The residuals minus those at a hundredth of the tolerance.

        Returns
        -------
        numpy.ndarray or None
            Zero where the FMU ignores the tolerance; ``None`` where it respects one that is not
            known, or the simulation fails.
        """
        own = self._runs.tolerance
        known = own is not None and own * TIGHTER >= TIGHTEST
        if not known and not can_compare_interfaces(self._problem):
            return None
        key = point.tobytes()
        if self._integration is None or self._integration[0] != key:
            base = self._base(point)
            if self._ignores_tolerance:
                return np.zeros(base.size)
            others = (own * TIGHTER,) if own is not None and known else _OTHERS
            self._ignores_tolerance = True
            error = np.zeros(base.size)
            for tolerance in others:
                if self._ignores_tolerance:
                    error = base - self._runs.probe(point[np.newaxis, :], tolerance)[0]
                    self._ignores_tolerance = not error.any()
            self._integration = (key, error)
        error = self._integration[1]
        if not known and not self._ignores_tolerance:
            return None
        return error if bool(np.isfinite(error).all()) else None

    def integration_order(self, point: F64) -> float:
        """Return the power of the tolerance with which the error of the integration falls there.

        Takes one more simulation of each experiment.
        """
        own, coarse = self._runs.tolerance, self.integration_error(point)
        if own is None or coarse is None or not coarse.any():
            return float("nan")
        tightest = max(own * TIGHTER**2, TIGHTEST)
        near = self._base(point) - coarse
        far = self._runs.probe(point[np.newaxis, :], tightest)[0]
        left = float(np.linalg.norm(near - far))
        if not np.isfinite(left) or left == 0.0:
            return 1.0
        order = np.log(float(np.linalg.norm(coarse)) / left) / -np.log(TIGHTER)
        return float(np.clip(order, _SLOWEST, _FASTEST))

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

    def _in_space(self, points: F64, tolerance: float | None = None) -> F64:
        """Return residuals at points of the search space that are not candidates for the best."""
        physical = self._space.to_physical(points)
        inside = np.clip(physical, self._problem.lower, self._problem.upper)
        return self._runs.probe(inside, tolerance)


class Climb:
    """Derivatives along directions that become better with every round of simulations.

    Parameters
    ----------
    ladder
        Of all rows.
    known
        Derivatives by the Jacobian, shape (m, k): right for rows that an event crosses.
    crossed
        Which rows these may be, shape (m,).
    """

    def __init__(self, ladder: Ladder, known: F64, crossed: Flags) -> None:
        self._ladder, self._known, self._crossed = ladder, known, crossed

    def refine(self, wanted: Sequence[int]) -> bool:
        """Simulate for these directions; return whether there was anything left to try."""
        return self._ladder.climb(wanted)

    def found(self) -> LadderDerivatives:
        """Return what is known so far, shape (m, k).

        A row that an event seems to cross may be one on a sharp bend, on which two rungs agree.
        """
        found = self._ladder.found()
        rows = np.flatnonzero(self._crossed)
        if rows.size == 0:
            return found
        values, differences = found.values.copy(), found.differences.copy()
        # The quotient of a jump is larger than all derivatives by about the width of a peak over
        # the step.
        familiar = np.max(np.abs(self._known), axis=0, initial=0.0)
        torn = rows[~(np.abs(differences[rows]) <= _FAMILIAR * familiar).all(axis=1)]
        typical = np.sqrt(np.mean(differences[~self._crossed] ** 2, axis=0))
        allowed = _SETTLED * np.abs(values[rows]) + _TYPICAL * typical
        open_ones = rows[~(np.abs(differences[rows]) <= allowed).all(axis=1)]
        # Until the rungs agree, the Jacobian that events were looked for in is as good.
        apart = np.maximum(np.abs(differences), np.abs(values - self._known))
        differences[open_ones] = apart[open_ones]
        values[open_ones] = self._known[open_ones]
        values[torn], differences[torn] = self._known[torn], 0.0
        return LadderDerivatives(values, differences, found.steps)
